"""The two experiments: their runs and what is measured in them."""

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
from trunkline.engine.sim import Job, simulate_all
from trunkline.results import Results
from trunkline.study.runner import bar

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


def same_round_trip(
    seeds: Sequence[int], *, threads: int | None = None, progress: bool = False
) -> SameRoundTrip:
    """Run experiment a.

    Parameters
    ----------
    seeds : sequence of int
        Seeds; the starts of the flows are drawn from them.
    threads, progress
        As in ``reproduce``.
    """
    jobs = []
    for delay in DELAYS_A:
        scenario = scenarios.load(FOLDER / "a.yaml", overrides={"switch_delay": delay})
        written = networks.compile(scenario).to_json()
        jobs += [Job(written, seed, scenario.dump()) for seed in seeds]
    with bar("develder2003, experiment a", len(jobs), shown=progress) as step:
        runs = simulate_all(jobs, threads=threads, progress=step)
    goodput: dict[tuple[str, str], Floats] = {}
    links: dict[tuple[str, str, str], Floats] = {}
    recovering, timed_out = {}, {}
    for number, delay in enumerate(DELAYS_A):
        mine = runs[number * len(seeds) : (number + 1) * len(seeds)]
        series = [_by_target(each) for each in mine]
        for group in GROUPS:
            goodput[delay, group] = np.array([_total(each, "goodput", group) for each in series])
        for (measure, target), values in series[0].items():
            if measure in ("utilisation", "queue-packets"):
                links[delay, measure, target] = values
        states = np.array([_states(each) for each in series])
        recovering[delay] = (states == FAST_RECOVERY).mean(axis=(1, 2))
        timed_out[delay] = (states == TIMEOUT).any(axis=2).mean(axis=1)
    return SameRoundTrip(
        tuple(seeds),
        goodput,
        links,
        recovering,
        timed_out,
        _traces(seeds[0]),
        tuple(each.hash() for each in runs),
        sum(int(each.summary["packet_hops"] or 0) for each in runs),
    )


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


def _traces(seed: int) -> dict[str, Results]:
    """Packet traces of a run without delay and of one with 50 ms, to 2.5 s after the failure."""
    jobs = []
    for delay in DELAYS_A[:2]:
        changed = {"switch_delay": delay, "run.trace": "on", "run.duration": "12.5 s"}
        changed["run.warm_up"] = "9.8 s"
        scenario = scenarios.load(FOLDER / "a.yaml", overrides=changed)
        jobs.append(Job(networks.compile(scenario).to_json(), seed, scenario.dump()))
    return dict(zip(DELAYS_A[:2], simulate_all(jobs), strict=True))


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


def mixed_round_trips(
    name: str,
    overrides: Mapping[str, str],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
    progress: bool = False,
) -> MixedRoundTrips:
    """Run experiment b.

    Parameters
    ----------
    name : str
        The reading of the document.
    overrides : mapping of str to str
        Parameters of ``b.yaml`` that it changes.
    seeds : sequence of int
        Seeds.
    threads, progress
        As in ``reproduce``.
    """
    scenario = scenarios.load(FOLDER / "b.yaml", overrides=dict(overrides))
    network = json.loads(networks.compile(scenario).to_json())
    delays = [int(delay.split()[0]) for delay in DELAYS_B]
    text = scenario.dump()
    jobs = [Job(drawn(network, seed, ms), seed, text) for seed in seeds for ms in delays]
    label = f"develder2003, experiment b, {name}"
    with bar(label, len(jobs), shown=progress) as step:
        runs = simulate_all(jobs, threads=threads, progress=step)
    goodput = np.array([_after_failure(each) for each in runs])
    return MixedRoundTrips(
        name,
        tuple(seeds),
        goodput.reshape(len(seeds), len(delays), len(GROUPS)),
        tuple(each.hash() for each in runs),
        sum(int(each.summary["packet_hops"] or 0) for each in runs),
    )


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


def sweep(
    name: str,
    overrides: Mapping[str, str],
    seeds: Sequence[int],
    *,
    threads: int | None = None,
    progress: bool = False,
) -> Sweep:
    """Run the network of experiment b with delays from 0 to 2 s.

    Parameters
    ----------
    name, overrides, seeds, threads, progress
        As in ``mixed_round_trips``.
    """
    longest = {"repair": "20 s", "duration": "10.2 s"}
    scenario = scenarios.load(FOLDER / "b.yaml", overrides={**longest, **overrides})
    network = json.loads(networks.compile(scenario).to_json())
    text = scenario.dump()
    jobs = [Job(drawn(network, seed, ms), seed, text) for seed in seeds for ms in SWEEP_MS]
    with bar(f"develder2003, sweep, {name}", len(jobs), shown=progress) as step:
        runs = simulate_all(jobs, threads=threads, progress=step)
    ratios = {}
    for window_s in SWEEP_WINDOWS_S:
        totals = np.array([sum(_after_failure(each, window_s)) for each in runs])
        by_seed = totals.reshape(len(seeds), len(SWEEP_MS))
        ratios[window_s] = by_seed / by_seed[:, :1]
    hashes = tuple(each.hash() for each in runs)
    hops = sum(int(each.summary["packet_hops"] or 0) for each in runs)
    return Sweep(name, SWEEP_MS, ratios, hashes, hops)


def _after_failure(results: Results, window_s: float = WINDOW_S) -> list[float]:
    """Bytes delivered in order in the seconds after the failure, by group."""
    series = results.series
    at = series.column("time_ns").array()
    value = series.column("value").array()
    switched = series.column("probe").array() < 10
    within = (at > FAILED_B_S * 1e9) & (at <= (FAILED_B_S + window_s) * 1e9)
    # A sample is the mean rate of the half second that ends with it.
    return [float(value[within & group].sum() * 0.5 / 8) for group in (switched, ~switched)]


def digest(hashes: Sequence[str]) -> str:
    """SHA-256 over results hashes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()
