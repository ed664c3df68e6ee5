"""The two experiments: their runs and what is measured in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline import network as networks
from trunkline import scenario as scenarios
from trunkline.results import Results
from trunkline.study.execute import How
from trunkline.study.frames import Runs
from trunkline.study.measure import Measure, Values, of_function
from trunkline.study.perform import performed
from trunkline.study.plan import Plan, Point

NAME = "develder2003"
TITLE = "Influence of recovery time on TCP behaviour"
FOLDER = Path(__file__).parent
Floats = NDArray[np.float64]

DELAYS_A = ("0 ms", "50 ms", "1000 ms")
DELAYS_B = ("0 ms", "50 ms", "250 ms", "500 ms", "1000 ms")
FAILED_A_S = 10.0
FAILED_B_S = 5.0
WINDOW_S = 1.5
"""Goodput of experiment b is that of this long after the failure [s]."""

GROUPS = ("switched", "fixed")
FAST_RECOVERY, TIMEOUT = 2, 3
"""Numbers of the states in the series of the measure `state`."""

VARIANTS: dict[str, dict[str, str]] = {
    "fast shared access": {"access": "100 Mbit/s"},
    "slow sources": {"source": "0.9 Mbit/s", "access": "10 Mbit/s"},
    "500 B packets": {"packet": "460 B"},
    "minimum RTO 1 s": {"rto_min": "1 s"},
    "Reno": {"variant": "reno"},
    "Reno, 500 B packets": {"variant": "reno", "packet": "460 B"},
}
"""What the document leaves open, and what it does to experiment b."""

SWEEP_MS = (*range(0, 200, 20), *range(200, 2001, 100))
"""Delays of the switch in the sweep [ms]."""

SWEEP_WINDOWS_S = (1.5, 5.0)
"""Seconds after the failure whose goodput the sweep compares."""

TCPS: dict[str, dict[str, str]] = {
    "NewReno, window 30 (2003)": {},
    "SACK, window 1000 (today)": {
        "variant": "sack",
        "window": "1000 packets",
        "initial_window": "10 packets",
        "timestamps": "on",
        "tick": "1 ms",
    },
}
"""The TCPs of the sweep."""


@dataclass(frozen=True, slots=True)
class SameRoundTrip:
    """Experiment a.

    Parameters
    ----------
    seeds : tuple of int
        Seeds of the replications.
    goodput : dict of (delay, group) to ndarray of shape (seeds, bins)
        Goodput in bins of 0.1 s [bit/s].
    links : dict of (delay, measure, link) to ndarray of shape (bins,)
        Utilisation and queue of the first seed.
    recovering, timed_out : dict of delay to ndarray of shape (seeds,)
        Of the switched flows in the 1.5 s after the failure: share of time in fast recovery, and
        share of the flows whose timer ran out.
    traces : dict of delay to Results
        Traced runs of the first seed around the failure.
    hashes : tuple of str
        Results hashes of all runs.
    packet_hops : int
        Packets sent on links, over all runs.
    """

    seeds: tuple[int, ...]
    goodput: dict[tuple[str, str], Floats]
    links: dict[tuple[str, str, str], Floats]
    recovering: dict[str, Floats]
    timed_out: dict[str, Floats]
    traces: dict[str, Results]
    hashes: tuple[str, ...]
    packet_hops: int

    def gains(self, delay: str) -> Floats:
        """Gain of a delay over none, total goodput of the first second, by seed [%]."""

        def total(of: str) -> Floats:
            bins = slice(int(FAILED_A_S * 10), int(FAILED_A_S * 10) + 10)
            both: Floats = np.sum([self.goodput[of, g][:, bins].sum(axis=1) for g in GROUPS], 0)
            return both

        return 100 * (total(delay) / total(DELAYS_A[0]) - 1)


@dataclass(frozen=True, slots=True)
class MixedRoundTrips:
    """Experiment b under one reading of the document.

    Parameters
    ----------
    name : str
        The reading.
    seeds : tuple of int
        Seeds of the replications.
    goodput : ndarray of shape (seeds, delays, groups)
        Bytes delivered in order in the 1.5 s after the failure.
    hashes, packet_hops
        As in experiment a.
    """

    name: str
    seeds: tuple[int, ...]
    goodput: Floats
    hashes: tuple[str, ...]
    packet_hops: int

    def ratios(self) -> Floats:
        """f(x) of the document by seed and delay, that of 0 ms left out."""
        total = self.goodput.sum(axis=2)
        ratios: Floats = total[:, 1:] / total[:, :1]
        return ratios


def points_of_a(seeds: Sequence[int]) -> list[Point]:
    """Runs of experiment a: each delay with all seeds, and traces around the failure.

    Parameters
    ----------
    seeds : sequence of int
        Seeds; the starts of the flows are drawn from them.
    """
    points = []
    for delay in DELAYS_A:
        points.append(_point_of_a("a", delay, {}, seeds, measure_a))
    for delay in DELAYS_A[:2]:
        # To 2.5 s after the failure.
        traced = {"run.trace": "on", "run.duration": "12.5 s", "run.warm_up": "9.8 s"}
        points.append(_point_of_a("trace", delay, traced, seeds[:1], measure_nothing))
    return points


def _point_of_a(
    part: str, delay: str, more: Mapping[str, str], seeds: Sequence[int], measured: Measure
) -> Point:
    scenario = scenarios.load(FOLDER / "a.yaml", overrides={"switch_delay": delay, **more})
    return Point(
        networks.compile(scenario).to_json(),
        tuple(seeds),
        of_function(measured),
        part=part,
        labels={"delay": delay},
        scenario=scenario.dump,
        keep=1,
    )


def measure_a(results: Results) -> Values:
    """Goodput in bins of 0.1 s by group [bit/s]; what became of the switched flows [1]."""
    series = _by_target(results)
    states = _states(series)
    goodput = {f"goodput {g}": _total(series, "goodput", g).tolist() for g in GROUPS}
    return {
        **goodput,
        "recovering": float((states == FAST_RECOVERY).mean()),
        "timed out": float((states == TIMEOUT).any(axis=1).mean()),
    }


def measure_nothing(_results: Results) -> Values:
    """Of a run that is kept, nothing more needs to be measured."""
    return {}


def experiment_a(runs: Runs) -> SameRoundTrip:
    """Gather experiment a from its runs.

    Parameters
    ----------
    runs : Runs
        What :func:`points_of_a` gave, perhaps among others.
    """
    mine = runs.part("a")
    goodput: dict[tuple[str, str], Floats] = {}
    links: dict[tuple[str, str, str], Floats] = {}
    recovering, timed_out = {}, {}
    for delay in DELAYS_A:
        rows = mine.filter(mine["delay"] == delay)
        for group in GROUPS:
            goodput[delay, group] = np.array(rows[f"goodput {group}"].to_list())
        recovering[delay] = rows["recovering"].to_numpy()
        timed_out[delay] = rows["timed out"].to_numpy()
        for (measure, target), values in _by_target(runs.kept(rows["run"][0])).items():
            if measure in ("utilisation", "queue-packets"):
                links[delay, measure, target] = values
    traced = runs.part("trace")
    traces = {
        delay: runs.kept(run) for delay, run in zip(traced["delay"], traced["run"], strict=True)
    }
    return SameRoundTrip(
        tuple(rows["seed"].to_list()),
        goodput,
        links,
        recovering,
        timed_out,
        traces,
        tuple(mine["hash"]),
        int(mine["packet_hops"].sum()),
    )


def same_round_trip(seeds: Sequence[int], *, threads: int | None = None) -> SameRoundTrip:
    """Run experiment a alone.

    Parameters
    ----------
    seeds, threads
        As in :func:`points_of_a` and ``reproduce``.
    """
    with performed(Plan(NAME, TITLE, points_of_a(seeds)), how=How(threads=threads)) as runs:
        return experiment_a(runs)


def _by_target(results: Results) -> dict[tuple[str, str], Floats]:
    """Series by measure and target."""
    series = results.series
    probe = series.column("probe").array()
    values = series.column("value").array()
    measures, targets = series["measure"], series["target"]
    found = {}
    for number in range(int(probe.max()) + 1):
        rows = np.flatnonzero(probe == number)
        found[str(measures[rows[0]]), str(targets[rows[0]])] = values[rows]
    return found


def _total(series: Mapping[tuple[str, str], Floats], measure: str, group: str) -> Floats:
    total: Floats = np.sum(
        [
            values
            for (what, target), values in series.items()
            if what == measure and target.startswith(group)
        ],
        axis=0,
    )
    return total


def _states(series: Mapping[tuple[str, str], Floats]) -> Floats:
    """States of the switched flows in the 1.5 s after the failure: flow by sample."""
    first = int(FAILED_A_S * 10)
    after = slice(first, first + int(WINDOW_S * 10))
    return np.array(
        [
            values[after]
            for (what, target), values in series.items()
            if what == "state" and target.startswith("switched")
        ]
    )


def draws(seed: int) -> tuple[list[int], list[int]]:
    """Delays of the first links and starts of the flows, of one seed.

    Parameters
    ----------
    seed : int
        The seed: the same draws for every delay of the switch and every reading.

    Returns
    -------
    tuple of list of int
        Uniform on [1, 100) ms and on [0.1, 2.1) s, both [ns]; ten switched flows, then ten fixed.
    """
    random = np.random.Generator(np.random.Philox(key=seed))
    delays = (1e6 * (1 + 99 * random.random(20))).astype(int).tolist()
    starts = (1e9 * (0.1 + 2 * random.random(20))).astype(int).tolist()
    return delays, starts


def drawn(network: dict[str, Any], seed: int, delay_ms: int) -> str:
    """Put the draws of a seed and the delay of the switch into a compiled network; its JSON."""
    delays, starts = draws(seed)
    link_of = {link["name"]: link for link in network["links"]}
    for number, delay in enumerate(delays):
        source = f"{'SF'[number // 10]}{number % 10}"
        router = "AC"[number // 10]
        for name in (f"{source}->{router}", f"{router}->{source}"):
            link_of[name]["delay_ns"] = delay
    for flow, start in zip(network["flows"], starts, strict=True):
        flow["start_ns"] = start
    for protection in network["recovery"]["protections"]:
        protection["detection"] = {"kind": "fixed", "delay_ns": delay_ms * 1_000_000}
    return json.dumps(network, sort_keys=True, separators=(",", ":"))


def points_of_b(name: str, overrides: Mapping[str, str], seeds: Sequence[int]) -> list[Point]:
    """Runs of experiment b under one reading: each seed with all delays.

    Parameters
    ----------
    name : str
        The reading of the document.
    overrides : mapping of str to str
        Parameters of ``b.yaml`` that it changes.
    seeds : sequence of int
        Seeds.
    """
    delays = [int(delay.split()[0]) for delay in DELAYS_B]
    return _points_of_b(f"b, {name}", overrides, seeds, delays, measure_b)


def _points_of_b(
    part: str,
    overrides: Mapping[str, str],
    seeds: Sequence[int],
    delays_ms: Sequence[int],
    measured: Measure,
) -> list[Point]:
    scenario = scenarios.load(FOLDER / "b.yaml", overrides=dict(overrides))
    network = json.loads(networks.compile(scenario).to_json())
    return [
        Point(
            drawn(network, seed, ms),
            (seed,),
            of_function(measured),
            part=part,
            labels={"delay": f"{ms} ms"},
            scenario=scenario.dump,
        )
        for seed in seeds
        for ms in delays_ms
    ]


def measure_b(results: Results) -> Values:
    """Bytes delivered in order in the 1.5 s after the failure, by group."""
    return dict(zip(GROUPS, _after_failure(results), strict=True))


def experiment_b(name: str, runs: Runs) -> MixedRoundTrips:
    """Gather experiment b under one reading from its runs.

    Parameters
    ----------
    name : str
        The reading.
    runs : Runs
        What :func:`points_of_b` gave, perhaps among others.
    """
    mine = runs.part(f"b, {name}")
    goodput = np.array([mine[group].to_list() for group in GROUPS]).T
    return MixedRoundTrips(
        name,
        tuple(mine["seed"].unique(maintain_order=True).to_list()),
        goodput.reshape(-1, len(DELAYS_B), len(GROUPS)),
        tuple(mine["hash"]),
        int(mine["packet_hops"].sum()),
    )


def mixed_round_trips(
    name: str,
    overrides: Mapping[str, str],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
) -> MixedRoundTrips:
    """Run experiment b alone.

    Parameters
    ----------
    name, overrides, seeds, threads
        As in :func:`points_of_b` and ``reproduce``.
    """
    plan = Plan(NAME, TITLE, points_of_b(name, overrides, seeds))
    with performed(plan, how=How(threads=threads)) as runs:
        return experiment_b(name, runs)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Goodput against the delay of the switch, in fine steps.

    Parameters
    ----------
    name : str
        The TCP.
    delays_ms : tuple of int
        Delays of the switch [ms], 0 first.
    ratios : dict of float to ndarray of shape (seeds, delays)
        Goodput of so many seconds after the failure over that of a switch without delay.
    hashes, packet_hops
        As in experiment a.
    """

    name: str
    delays_ms: tuple[int, ...]
    ratios: dict[float, Floats]
    hashes: tuple[str, ...]
    packet_hops: int


def points_of_sweep(name: str, overrides: Mapping[str, str], seeds: Sequence[int]) -> list[Point]:
    """Runs of the network of experiment b with delays from 0 to 2 s.

    Parameters
    ----------
    name, overrides, seeds
        As in :func:`points_of_b`.
    """
    longest = {"repair": "20 s", "duration": "10.2 s"}
    changed = {**longest, **overrides}
    return _points_of_b(f"sweep, {name}", changed, seeds, SWEEP_MS, measure_sweep)


def measure_sweep(results: Results) -> Values:
    """Bytes delivered in order in the seconds after the failure."""
    return {_in(window): sum(_after_failure(results, window)) for window in SWEEP_WINDOWS_S}


def _in(window_s: float) -> str:
    return f"goodput in {window_s:g} s"


def sweep(name: str, runs: Runs) -> Sweep:
    """Gather a sweep from its runs.

    Parameters
    ----------
    name : str
        The TCP.
    runs : Runs
        What :func:`points_of_sweep` gave, perhaps among others.
    """
    mine = runs.part(f"sweep, {name}")
    ratios = {}
    for window_s in SWEEP_WINDOWS_S:
        by_seed = mine[_in(window_s)].to_numpy().reshape(-1, len(SWEEP_MS))
        ratios[window_s] = by_seed / by_seed[:, :1]
    return Sweep(name, SWEEP_MS, ratios, tuple(mine["hash"]), int(mine["packet_hops"].sum()))


def _after_failure(results: Results, window_s: float = WINDOW_S) -> list[float]:
    """Bytes delivered in order in the seconds after the failure, by group."""
    series = results.series
    at = series.column("time_ns").array()
    value = series.column("value").array()
    switched = series.column("probe").array() < 10
    within = (at > FAILED_B_S * 1e9) & (at <= (FAILED_B_S + window_s) * 1e9)
    # A sample is the mean rate of the half second that ends with it.
    return [float(value[within & group].sum() * 0.5 / 8) for group in (switched, ~switched)]
