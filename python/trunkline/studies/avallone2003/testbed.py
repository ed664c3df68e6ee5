"""The testbed: one topology, one realisation of the traffic, four configurations of the routers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline import network as networks
from trunkline import scenario as scenarios
from trunkline.importers import read_tc
from trunkline.results import Results
from trunkline.scenario import Scenario
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.port import Port
from trunkline.study.execute import How
from trunkline.study.frames import Runs
from trunkline.study.measure import Values, of_function
from trunkline.study.perform import performed
from trunkline.study.plan import Plan, Point

NAME = "avallone2003"
TITLE = "DiffServ, MPLS, and DiffServ over MPLS on Linux routers"
FOLDER = Path(__file__).parent
Floats = NDArray[np.float64]

SCENARIOS = ("best-effort", "diffserv", "mpls", "diffserv-over-mpls")
"""In the order of the document's tables 1 to 4."""
FLOWS = ("EF", "AF11", "AF12", "DE")
MEASURES = {"mean": "s", "max": "s", "min": "s", "jitter": "s", "dropped": "packets"}
"""Rows of the tables and their units."""

TRAFFIC_NS = 30 * 10**9
"""Length of the traffic [ns]."""

LABEL_PAID = {"core_ethernet": "10 B"}
"""Four bytes less of link header where packets are labelled: as long on the wire as without."""

VARIANTS: dict[str, dict[str, str]] = {
    "sender without a tick": {"tick": "0 s"},
    "RED with the exact probability": {"age": "max-p"},
    "classes may borrow": {"bounded": "false"},
    "CBQ with ewma 5 everywhere": {"ewma_log": "5"},
    "CBQ with ewma 4 everywhere": {"ewma_log": "4"},
    "EF queue of 13 kB": {"ef_limit": "13 kB"},
    "frames of 1000 B": {"ethernet": "0 B", "core_ethernet": "0 B"},
}
"""What was fitted, and what another choice does."""


ROUTERS = {
    "best-effort": "today-best-effort.tc",
    "mpls": "today-best-effort.tc",
    "diffserv": "today.tc",
    "diffserv-over-mpls": "today.tc",
}
"""What would configure the routers on a kernel of today, by scenario: HTB in place of CBQ."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The scenarios under one reading of the document.

    Parameters
    ----------
    name : str
        The reading.
    seeds : tuple of int
        Seeds of the replications.
    values : dict of (scenario, measure, flow) to ndarray of shape (seeds,)
        Delays [s] and dropped packets.
    sent : dict of flow to ndarray of shape (seeds,)
        Packets sent.
    first : dict of scenario to Results
        Runs of the first seed.
    tables : dict of scenario to list of str
        Digest of the table of flows of each seed, to be compared.
    hashes : tuple of str
        Results hashes of all runs.
    packet_hops : int
        Packets sent on links, over all runs.
    """

    name: str
    seeds: tuple[int, ...]
    values: dict[tuple[str, str, str], Floats]
    sent: dict[str, Floats]
    first: dict[str, Results]
    tables: dict[str, list[str]]
    hashes: tuple[str, ...]
    packet_hops: int


def points(
    name: str,
    overrides: Mapping[str, str],
    seeds: int,
    *,
    scenarios: Sequence[str] = SCENARIOS,
    today: bool = False,
) -> list[Point]:
    """Runs of scenarios with seeds 1, 2 and so on, the same traffic in each.

    Parameters
    ----------
    name : str
        What the reading is called.
    overrides : mapping
        Parameters that differ; a scenario takes those it has.
    seeds : int
        Replications.
    scenarios : sequence of str
        Which of the four.
    today : bool, default False
        Whether the routers are those of :data:`ROUTERS`.
    """
    return [
        point
        for each in scenarios
        for point in _points(name, _loaded(each, overrides, today), each, range(1, seeds + 1))
    ]


def gather(name: str, runs: Runs) -> Measured:
    """Gather the scenarios under one reading from their runs.

    Parameters
    ----------
    name : str
        The reading.
    runs : Runs
        What :func:`points` gave, perhaps among others.
    """
    mine = runs.part(name)
    of = {each: mine.filter(mine["scenario"] == each) for each in mine["scenario"].unique()}
    values = {
        (each, measure, flow): its[f"{measure} {flow}"].to_numpy()
        for each, its in of.items()
        for measure in MEASURES
        for flow in FLOWS
    }
    some = of[mine["scenario"][0]]
    return Measured(
        name=name,
        seeds=tuple(some["seed"].to_list()),
        values=values,
        sent={flow: some[f"sent {flow}"].to_numpy() for flow in FLOWS},
        first={each: runs.kept(its["run"][0]) for each, its in of.items()},
        tables={each: its["flows"].to_list() for each, its in of.items()},
        hashes=tuple(mine["hash"]),
        packet_hops=int(mine["packet_hops"].sum()),
    )


def run(
    name: str,
    overrides: Mapping[str, str],
    seeds: int,
    *,
    scenarios: Sequence[str] = SCENARIOS,
    today: bool = False,
    threads: int | None = None,
) -> Measured:
    """Run scenarios by themselves.

    Parameters
    ----------
    name, overrides, seeds, scenarios, today
        As in :func:`points`.
    threads : int, optional
        Runs at once; all cores if left out.
    """
    plan = Plan(NAME, TITLE, points(name, overrides, seeds, scenarios=scenarios, today=today))
    with performed(plan, how=How(threads=threads)) as runs:
        return gather(name, runs)


def measure(results: Results) -> Values:
    """Delays [s], drops and packets sent of every flow, and a digest of the table of flows."""
    values: Values = {
        f"{each} {flow}": _measure(results, each, flow) for each in MEASURES for flow in FLOWS
    }
    for flow in FLOWS:
        values[f"sent {flow}"] = float(_row(results, flow)["packets_sent"])
    rows = repr(list(results.flows.rows()))
    return {**values, "flows": hashlib.sha256(rows.encode()).hexdigest()}


def arrivals(flow: str, seed: int, rate_bit_s: int, size: int) -> dict[str, Any]:
    """A Poisson flow of 30 s that sends as many packets as its rate makes of them.

    Given their number, the times of a Poisson process are independent and uniform. The document
    gives rates, not counts: AF1 needs 1.02 of its 1 Mbit/s, so that 2 % more of it, a standard
    deviation of the count, would say more than any parameter of the routers.

    Parameters
    ----------
    flow : str
        Its name; with the seed it says which realisation.
    seed : int
        Seed of the run.
    rate_bit_s, size : int
        Mean rate [bit/s of IP packets] and size [B of the IP packet].
    """
    count = round(rate_bit_s * (TRAFFIC_NS // 10**9) / (8 * size))
    # An extendable hash as the stream of (study, flow, seed): the same on every platform.
    stream = hashlib.shake_256(f"avallone2003/{flow}/{seed}".encode()).digest(8 * count)
    draws = (int.from_bytes(stream[i : i + 8], "big") for i in range(0, len(stream), 8))
    times = sorted(draw * TRAFFIC_NS >> 64 for draw in draws)
    return {"schedule": {"times_ns": times, "sizes": [size] * count}}


def _loaded(scenario: str, overrides: Mapping[str, str], today: bool) -> Scenario:
    file = FOLDER / f"{scenario}.yaml"
    plain = scenarios.load(file)
    if today:
        return with_routers(file, FOLDER / ROUTERS[scenario])
    mine = {key: value for key, value in overrides.items() if key in plain.parameters}
    return scenarios.load(file, overrides=mine)


def with_routers(file: Path, script: Path) -> Scenario:
    """A scenario whose routers are configured by a script of tc.

    Parameters
    ----------
    file : Path
        The scenario; its port `router` and its conditioner `edge` are replaced.
    script : Path
        Commands for eth0, where packets come in, and eth1, where they leave.
    """
    made = read_tc(script.read_text("utf-8"))
    plain = scenarios.load(file)
    ports = {**plain.ports, "router": Port.model_validate(made.ports["eth1"])}
    edges = {
        name: Conditioner.model_validate(made.conditioners["eth0-ingress"])
        for name in plain.conditioners
    }
    # The copy is loaded from its text again, so that it is checked like any other.
    return scenarios.load(plain.model_copy(update={"ports": ports, "conditioners": edges}).dump())


def _points(name: str, loaded: Scenario, scenario: str, seeds: Sequence[int]) -> list[Point]:
    data = json.loads(networks.compile(loaded).to_json())
    made = []
    for seed in seeds:
        for flow in data["flows"]:
            agent = flow["agent"]
            size = agent["size"]["fixed"]["bytes"]
            agent["arrivals"] = arrivals(flow["name"], seed, agent["rate_bit_s"], size)
        made.append(
            Point(
                json.dumps(data, sort_keys=True),
                (seed,),
                of_function(measure),
                part=name,
                labels={"scenario": scenario},
                scenario=loaded.dump,
                keep=int(seed == seeds[0]),
            )
        )
    return made


def _row(results: Results, flow: str) -> dict[str, Any]:
    return dict(results.flows.where(flow=flow))


def _measure(results: Results, measure: str, flow: str) -> float:
    row = _row(results, flow)
    if measure == "dropped":
        return float(row["packets_dropped"])
    if measure == "jitter":
        # The document's: the greatest delay less the least.
        return float(row["delay_max_s"]) - float(row["delay_min_s"])
    return float(row[f"delay_{measure}_s"])
