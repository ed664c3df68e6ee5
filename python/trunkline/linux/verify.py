"""Simulator against kernel: the same schedules through both, measure by measure.

Where no port tosses coins and nothing but UDP is sent, packets are compared one by one; else flows
are, by their means over the seeds.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trunkline.engine.sim import simulate
from trunkline.linux import engine, tolerance
from trunkline.linux.arrivals import datagrams
from trunkline.linux.compile import Compiled
from trunkline.results import Results

PROBE_NS: Final = 10_000_000
"""Step at which congestion windows are compared [ns]."""
MOST_PROBED: Final = 16
"""Flows whose windows are compared: beyond, the series would be the larger part of a run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison.

    Parameters
    ----------
    subject : str
        Flow, class or link.
    measure : str
        What is compared.
    unit : str
        Unit of the numbers.
    simulator, kernel : float
        Means over the seeds.
    difference : float
        Kernel less simulator; of single packets, the greatest or the number that differ.
    tolerance : float
        Greatest difference that agrees.
    """

    subject: str
    measure: str
    unit: str
    simulator: float
    kernel: float
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.difference) <= self.tolerance


@dataclass(frozen=True)
class Verdict:
    """What came of it.

    Parameters
    ----------
    rows : tuple of Row
        Comparisons.
    notes : tuple of str
        What the kernel does differently, known beforehand.
    seeds : tuple of int
        Seeds of the runs.
    exact : bool
        Whether packets were compared one by one.
    kernel : str
        Version and runner.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    seeds: tuple[int, ...]
    exact: bool
    kernel: str

    @property
    def agrees(self) -> bool:
        """Whether all agree."""
        return all(row.agrees for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """As ``trunkline verify --json`` prints it."""
        return {
            "schema": 1,
            "agrees": self.agrees,
            "kernel": self.kernel,
            "seeds": list(self.seeds),
            "packet_by_packet": self.exact,
            "rows": [asdict(row) | {"agrees": row.agrees} for row in self.rows],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Pair:
    """One seed in both engines.

    Parameters
    ----------
    simulator, kernel : Results
        Tables of both.
    compiled : Compiled
        The plan.
    packets : dict of int to tuple
        For each UDP flow, delays [ns] by sequence number in the simulator and in the kernel, and
        the sequence numbers that each lost; empty where packets are not compared.
    """

    simulator: Results
    kernel: Results
    compiled: Compiled
    packets: dict[int, tuple[dict[int, int], dict[int, int], set[int], set[int]]]


def verify(
    network_json: str,
    seeds: Sequence[int],
    *,
    runner: str | None = None,
    progress: Callable[[int], object] | None = None,
) -> Verdict:
    """Runs a network in both engines and compares what came of it.

    Parameters
    ----------
    network_json : str
        Canonical JSON of the compiled network.
    seeds : sequence of int
        Seeds, one run each in both engines.
    runner : str, optional
        As in `trunkline.linux.engine.run`.
    progress : callable, optional
        Called with the number of seeds done.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks.
    """
    data = json.loads(network_json)
    _probe(data)
    pairs = []
    for seed in seeds:
        pairs.append(_pair(data, seed, runner))
        if progress is not None:
            progress(len(pairs))
    first = pairs[0]
    exact = _is_exact(first.compiled)
    rows = _packets(pairs) if exact else _means(pairs)
    return Verdict(
        tuple(rows),
        first.compiled.notes,
        tuple(seeds),
        exact,
        first.kernel.provenance.version,
    )


def _probe(data: dict[str, Any]) -> None:
    """Watches the windows of TCP, in place of the scenario's own probes."""
    tcp = [index for index, flow in enumerate(data["flows"]) if flow["agent"]["protocol"] == "tcp"]
    data["probes"] = [
        {
            "measure": "cwnd",
            "target": index,
            "class": None,
            "precedence": None,
            "step_ns": PROBE_NS,
        }
        for index in tcp[:MOST_PROBED]
        if len(tcp) <= MOST_PROBED
    ]


def _is_exact(compiled: Compiled) -> bool:
    return not compiled.plan.tcp and not engine.is_random(compiled)


def _pair(data: Mapping[str, Any], seed: int, runner: str | None) -> Pair:
    written = json.dumps(data, sort_keys=True, separators=(",", ":"))
    with tempfile.TemporaryDirectory(prefix="trunkline-") as folder:
        done = engine.run(written, seed, Path(folder), runner=runner)
        exact = _is_exact(done.compiled)
        traced = json.dumps({**data, "run": {**data["run"], "trace": exact}})
        (simulated,) = simulate(traced, seeds=[seed])
        found = _by_packet(done.compiled, simulated, Path(folder)) if exact else {}
    return Pair(simulated, done.results, done.compiled, found)


def _by_packet(
    compiled: Compiled, simulated: Results, folder: Path
) -> dict[int, tuple[dict[int, int], dict[int, int], set[int], set[int]]]:
    table = simulated.packets
    sent: dict[tuple[str, int], int] = {}
    delays: dict[str, dict[int, int]] = {}
    lost: dict[str, set[int]] = {}
    rows = zip(table["event"], table["flow"], table["seq"], table["time_ns"], strict=True)
    for event, flow, seq, time in rows:
        key = (str(flow), int(seq or 0))
        if event == "sent":
            sent[key] = int(time or 0)
        elif event == "delivered":
            delays.setdefault(key[0], {})[key[1]] = int(time or 0) - sent[key]
        elif event == "dropped":
            lost.setdefault(key[0], set()).add(key[1])
    found = {}
    for index, flow in enumerate(compiled.network["flows"]):
        ours = delays.get(flow["name"], {})
        dropped = lost.get(flow["name"], set())
        end = compiled.network["run"]["duration_ns"]
        theirs = {
            each.sequence: each.delay_ns
            for each in datagrams(folder, index)
            if each.received_ns < end
        }
        # A packet that one engine delivers within the last moments is under way in the other.
        near = _near_end(compiled, index, ours, theirs)
        missing = set(range(len(compiled.traffic.sent[index]))) - set(theirs) - near
        inside = {each for each in missing if each not in ours and each not in dropped}
        found[index] = (ours, theirs, dropped - near, missing - inside)
    return found


def _near_end(
    compiled: Compiled, index: int, ours: Mapping[int, int], theirs: Mapping[int, int]
) -> set[int]:
    """Packets whose arrival is so near the end of the run that either engine may miss it."""
    end = compiled.network["run"]["duration_ns"]
    margin = tolerance.delay_ns(len(compiled.network["links"]))
    sent = compiled.traffic.sent[index]
    return {
        number
        for delays in (ours, theirs)
        for number, delay in delays.items()
        if abs(sent[number][0] + delay - end) <= margin
    }


def _packets(pairs: Sequence[Pair]) -> list[Row]:
    rows = []
    flows = pairs[0].compiled.network["flows"]
    for index, flow in enumerate(flows):
        hops = max(1, len(_links_crossed(pairs[0].compiled, index)))
        allowed = tolerance.delay_ns(hops)
        mine = [pair.packets[index] for pair in pairs]
        unlike = sum(len(ours ^ theirs) for _, _, ours, theirs in mine)
        size = len(mine)
        rows.append(
            Row(
                flow["name"],
                "packets lost, each",
                "packets",
                sum(len(ours) for _, _, ours, _ in mine) / size,
                sum(len(theirs) for _, _, _, theirs in mine) / size,
                unlike,
                0,
            )
        )
        both = [
            (ours[number], theirs[number])
            for ours, theirs, _, _ in mine
            for number in ours.keys() & theirs.keys()
        ]
        if both:
            worst = max(both, key=lambda each: abs(each[1] - each[0]))
            rows.append(
                Row(
                    flow["name"],
                    "delay of each packet",
                    "s",
                    sum(ours for ours, _ in both) / len(both) / 1e9,
                    sum(theirs for _, theirs in both) / len(both) / 1e9,
                    (worst[1] - worst[0]) / 1e9,
                    allowed / 1e9,
                )
            )
    return rows


def _links_crossed(compiled: Compiled, index: int) -> list[int]:
    """Links of the shortest path of a flow, or of the longest label-switched path beside it."""
    from trunkline.linux.routing import next_links

    data = compiled.network
    flow = data["flows"][index]
    chosen = next_links(len(data["nodes"]), data["links"], flow["dst"])
    crossed: list[int] = []
    node = flow["src"]
    while (link := chosen[node]) is not None:
        crossed.append(link)
        node = data["links"][link]["to"]
    longest = max((len(path["links"]) for path in data["paths"]), default=0)
    return crossed + [0] * (longest if flow["fec"] else 0)


def _means(pairs: Sequence[Pair]) -> list[Row]:
    rows: list[Row] = []
    data = pairs[0].compiled.network
    names = [flow["name"] for flow in data["flows"]]
    tcp = [flow["name"] for flow in data["flows"] if flow["agent"]["protocol"] == "tcp"]
    alone = len(tcp) == 1 and not engine.is_random(pairs[0].compiled)
    if tcp:
        share = tolerance.GOODPUT if alone else tolerance.SHARED
        subject = tcp[0] if len(tcp) == 1 else f"{len(tcp)} TCP flows"
        rows.append(_total(pairs, tcp, subject, "goodput_bit_s", "goodput", "bit/s", share))
        rows.append(_dropped(pairs, subject))
        if alone:
            rows += _window(pairs, tcp[0])
        elif len(tcp) > 1:
            rows.append(_fairness(pairs, tcp))
    for name in names:
        if name not in tcp:
            rows += _datagrams(pairs, name)
    return rows


def _values(pairs: Sequence[Pair], flow: str, column: str) -> tuple[list[float], list[float]]:
    both: tuple[list[float], list[float]] = ([], [])
    for pair in pairs:
        for values, results in zip(both, (pair.simulator, pair.kernel), strict=True):
            found = results.flows.where(flow=flow)[column]
            values.append(float(found) if found is not None else math.nan)
    return both


def _row(
    subject: str,
    measure: str,
    unit: str,
    both: tuple[Sequence[float], Sequence[float]],
    allowed: Callable[[float], float],
) -> Row:
    ours, theirs = (sum(values) / len(values) for values in both)
    limit = allowed(ours) + tolerance.spread(*both)
    return Row(subject, measure, unit, ours, theirs, theirs - ours, limit)


def _total(
    pairs: Sequence[Pair],
    flows: Sequence[str],
    subject: str,
    column: str,
    measure: str,
    unit: str,
    share: float,
) -> Row:
    parts = [_values(pairs, flow, column) for flow in flows]
    sums = tuple(
        [sum(part[side][seed] for part in parts) for seed in range(len(pairs))] for side in (0, 1)
    )
    return _row(subject, measure, unit, (sums[0], sums[1]), lambda mean: share * mean)


def _dropped(pairs: Sequence[Pair], subject: str) -> Row:
    """Packets dropped at all ports: the kernel tells them by queue."""
    both = tuple(
        [
            float(sum(int(count or 0) for count in results.ports["packets_dropped"]))
            for results in (getattr(pair, side) for pair in pairs)
        ]
        for side in ("simulator", "kernel")
    )
    return _row(subject, "packets dropped", "packets", (both[0], both[1]), tolerance.drops)


def _window(pairs: Sequence[Pair], flow: str) -> list[Row]:
    """Greatest window of the second half, when the start is over."""
    peaks: tuple[list[float], list[float]] = ([], [])
    for pair in pairs:
        half = pair.compiled.plan.duration_ns // 2
        for values, results in zip(peaks, (pair.simulator, pair.kernel), strict=True):
            table = results.series
            rows = zip(table["target"], table["time_ns"], table["value"], strict=True)
            values.append(
                max(
                    (
                        float(value or 0)
                        for target, time, value in rows
                        if target == flow and int(time or 0) >= half
                    ),
                    default=0.0,
                )
            )
    return [
        _row(flow, "greatest window", "segments", peaks, lambda _: float(tolerance.CWND_SEGMENTS))
    ]


def _fairness(pairs: Sequence[Pair], flows: Sequence[str]) -> Row:
    """Jain's index of goodputs: (sum x)^2 / (n sum x^2)."""
    parts = [_values(pairs, flow, "goodput_bit_s") for flow in flows]
    both = tuple(
        [_jain([part[side][seed] for part in parts]) for seed in range(len(pairs))]
        for side in (0, 1)
    )
    return _row(
        f"{len(flows)} TCP flows", "fairness", "", (both[0], both[1]), lambda _: tolerance.SHARED
    )


def _jain(values: Sequence[float]) -> float:
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _datagrams(pairs: Sequence[Pair], flow: str) -> list[Row]:
    lost = _values(pairs, flow, "packets_dropped")
    rows = [_row(flow, "packets lost", "packets", lost, tolerance.drops)]
    for column, measure in (("delay_mean_s", "mean delay"), ("delay_max_s", "greatest delay")):
        both = _values(pairs, flow, column)
        if not any(math.isnan(value) for values in both for value in values):
            rows.append(_row(flow, measure, "s", both, lambda mean: tolerance.SHARED * mean))
    return rows
