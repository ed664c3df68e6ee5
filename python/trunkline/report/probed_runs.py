"""Repeat runs with probes and a trace, for values that the tables of a run do not have.

Probes and traces only look: a repeated run gives the same tables, and that is checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.engine.packet_engine import Job, simulate_jobs
from trunkline.results import Results

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData, Run


PROBE_STEPS = 300  # Steps that a run is cut into.

MAX_RUN_SAMPLES = 400_000  # Samples of one run; where there would be more, the steps become longer.

MAX_REPEATED_HOPS = 30_000_000
"""Packets sent on links, over all repeated runs: some seconds of computing."""

MAX_REPEATED_RUNS = 8  # Runs that are repeated, for bands over seeds.

MAX_TRACED_HOPS = 150_000  # Packets sent on links that a trace may cost before its window begins.

ALLOWED_STEPS_NS = tuple(
    digit * 10**power for power in range(3, 14) for digit in (1, 2, 5)
)  # 1 us to 50 000 s

LINK_MEASURES = ("utilisation", "queue-packets", "drops")
TCP_MEASURES = ("goodput", "cwnd", "delay")
FLOW_MEASURES = ("throughput", "delay")
"""Measures of flows that are not TCP: UDP, echo, messages of routing and signalling."""


@dataclass(frozen=True, slots=True)
class ProbedRuns:
    """Runs that were repeated with probes."""

    runs: list[Results]  # The repeated runs; empty if that was too long.
    first_probe: int  # Number of the first probe that the report added.
    step_ns: int  # Step of those probes [ns].
    refusal_reason: str = ""  # Why no run was repeated; empty if some were.


def repeat_with_probes(network: NetworkData, runs: Sequence[Results]) -> ProbedRuns:
    """Repeat the first runs of a scenario with probes on every busy link and every flow.

    Raises RuntimeError: A repeated run differs: the results are of another version or were
        changed.
    """
    kernel = runs[0].provenance.kernel
    if kernel:
        reason = f"Linux {kernel} ran it, and the report repeats runs of the simulator alone"
        return ProbedRuns([], len(network["probes"]), 0, reason)
    if runs[0].provenance.engine in ("fluid", "decomposed"):
        reason = f"a {runs[0].provenance.engine} run has no packets to repeat"
        return ProbedRuns([], len(network["probes"]), 0, reason)
    hops = max(estimate_hops(network, run) for run in runs)
    run_count = min(len(runs), MAX_REPEATED_RUNS, int(MAX_REPEATED_HOPS // max(hops, 1)))
    first = len(network["probes"])
    if run_count == 0:
        reason = (
            f"a run sends {hops / 1e6:.0f} million packets on links, and the report repeats "
            f"up to {MAX_REPEATED_HOPS / 1e6:.0f} million"
        )
        return ProbedRuns([], first, 0, reason)
    probed_network, step = add_probes(network, runs[0])
    network_json = _to_json(probed_network)
    chosen = runs[:run_count]
    repeated = simulate_jobs(
        [Job(network_json, run.seed, run.provenance.scenario) for run in chosen]
    )
    for before, after in zip(chosen, repeated, strict=True):
        if _list_counts(before) != _list_counts(after):
            raise RuntimeError(
                f"the run with seed {before.seed} does not repeat: its results were changed, or "
                f"made by another build than this one ({before.provenance.version}, "
                f"{after.provenance.version} here)"
            )
    return ProbedRuns(repeated, first, step)


def add_probes(network: NetworkData, run: Results) -> tuple[NetworkData, int]:
    """The network with probes on every flow and every link that a run used, and their step [ns].

    The probes follow those of the scenario. The packets of a traced run are in its results
    already, so that the network is not traced.
    """
    probes = _build_probes(network, run)
    step = _choose_step_ns(network, len(probes))
    added = [{**probe, "step_ns": step} for probe in probes]
    untraced: Run = {**network["run"], "trace": False}
    probed_network: Any = {**network, "run": untraced, "probes": [*network["probes"], *added]}
    return probed_network, step


def estimate_hops(network: NetworkData, run: Results) -> float:
    """Estimate packets sent on links from the start to the end, the warm-up estimated."""
    counted = float(run.summary["packet_hops"] or 0)
    length = network["run"]["duration_ns"]
    measured = length - network["run"]["warmup_ns"]
    return float(counted * length / max(measured, 1))


def repeat_with_trace(network: NetworkData, run: Results, until_ns: int) -> Results | None:
    """Repeat the beginning of a run with a trace of its packets.

    until_ns: Where to stop [ns].
    Returns: None if so many packets come before that the trace would be long, or a kernel ran it.
    """
    length = network["run"]["duration_ns"]
    if network["run"]["trace"] and len(run.packets):
        return run
    if (
        run.provenance.engine != "sim"
        or estimate_hops(network, run) * until_ns / length > MAX_TRACED_HOPS
    ):
        return None
    warm_up = min(network["run"]["warmup_ns"], until_ns - 1)
    shortened_run: Run = {
        **network["run"],
        "duration_ns": until_ns,
        "warmup_ns": warm_up,
        "trace": True,
    }
    network_json = _to_json({**network, "run": shortened_run, "probes": []})
    return simulate_jobs([Job(network_json, run.seed, run.provenance.scenario)])[0]


def _to_json(network: NetworkData) -> str:
    return json.dumps(network, sort_keys=True, separators=(",", ":"))


def _build_probes(network: NetworkData, run: Results) -> list[dict[str, Any]]:
    probes: list[dict[str, Any]] = []
    for number, flow in enumerate(network["flows"]):
        # Connections that come and go have a window each, and the flow none.
        windowed = flow["agent"]["protocol"] == "tcp" and "transfers" not in flow
        for measure in TCP_MEASURES if windowed else FLOW_MEASURES:
            probes.append({"measure": measure, "target": number})
    busy = {
        link
        for link, offered in zip(run.ports["link"], run.ports["packets_offered"], strict=True)
        if offered
    }
    for number, link in enumerate(network["links"]):
        if link["name"] not in busy:
            continue
        probes += [{"measure": measure, "target": number} for measure in LINK_MEASURES]
        classes = network["ports"][link["port"]]["classes"]
        if len(classes) > 1:
            probes += [
                {"measure": "queue-packets", "target": number, "class": index}
                for index in range(len(classes))
            ]
    return [{"class": None, "precedence": None, **probe} for probe in probes]


def _choose_step_ns(network: NetworkData, probes: int) -> int:
    steps = min(PROBE_STEPS, MAX_RUN_SAMPLES // max(probes, 1))
    min_step_ns = int(network["run"]["duration_ns"]) / max(steps, 20)
    return int(
        next((step for step in ALLOWED_STEPS_NS if step >= min_step_ns), ALLOWED_STEPS_NS[-1])
    )


def _list_counts(run: Results) -> list[tuple[str, list[Any]]]:
    """All counts, except series and the columns of a trace."""
    return [
        (f"{name}.{field.name}", table[field.name])
        for name, table in run.tables.items()
        if name not in ("series", "packets", "messages")
        for field in table.fields
        if field.in_hash
    ]
