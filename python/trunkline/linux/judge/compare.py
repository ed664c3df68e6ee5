"""Comparisons: one row a measure, with what both engines say and how far they may be apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trunkline.linux import engine
from trunkline.linux.judge import tolerance
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.routing import next_links
from trunkline.results import Results

Packets = tuple[dict[int, int], dict[int, int], set[int], set[int]]
"""Delays [ns] by sequence number in simulator and kernel, and the numbers that each lost."""


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
        Kernel less simulator; of single packets, the greatest or the number that differ. Where
        ports have classes or other packets were lost, some may differ: `tolerance.left_out`.
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
class Pair:
    """One seed in both engines.

    Parameters
    ----------
    simulator, kernel : Results
        Tables of both.
    compiled : Compiled
        The plan.
    runner : str
        What ran the kernel.
    packets : dict of int to tuple
        `Packets` of each flow; empty where they are not compared one by one.
    """

    simulator: Results
    kernel: Results
    compiled: Compiled
    runner: str
    packets: dict[int, Packets]


def packets(pairs: Sequence[Pair]) -> list[Row]:
    """Comparisons of single packets, two a flow: those lost, and the delays of the others."""
    rows = []
    compiled = pairs[0].compiled
    emulated = 0 if pairs[0].runner == engine.UNHURRIED else len(compiled.network["flows"])
    arrived = sum(len(theirs) for pair in pairs for _, theirs, _, _ in pair.packets.values())
    gap = compiled.plan.duration_ns * len(pairs) / max(1, arrived)
    found = [each for pair in pairs for each in pair.packets.values()]
    chooses = any(len(leaves) > 1 for leaves in compiled.leaves)
    others = any(first != second for _, _, first, second in found)
    for index, flow in enumerate(compiled.network["flows"]):
        hops = max(1, len(_links_crossed(compiled, index)))
        allowed = tolerance.delay_ns(hops, arrived // len(pairs), emulated)
        mine = [pair.packets[index] for pair in pairs]
        lost = _lost(flow["name"], mine, allowed, gap)
        rows.append(lost)
        both = [
            (ours[number], theirs[number])
            for ours, theirs, _, _ in mine
            for number in ours.keys() & theirs.keys()
        ]
        if both:
            worst = sorted(both, key=lambda each: -abs(each[1] - each[0]))
            skipped = tolerance.left_out(len(worst), allowed, gap, others=others)
            chosen = worst[skipped if others or chooses else 0]
            ours = sum(each[0] for each in both) / len(both) / 1e9
            theirs = sum(each[1] for each in both) / len(both) / 1e9
            difference = (chosen[1] - chosen[0]) / 1e9
            rows.append(
                Row(
                    flow["name"], "delay, each packet", "s", ours, theirs, difference, allowed / 1e9
                )
            )
    return rows


def _lost(
    flow: str,
    mine: Sequence[Packets],
    allowed_ns: int,
    gap_ns: float,
) -> Row:
    ours, theirs = (sum(len(each[side]) for each in mine) for side in (2, 3))
    unlike = sum(len(first ^ second) for _, _, first, second in mine)
    size = len(mine)
    limit = tolerance.unlike(max(ours, theirs), allowed_ns, gap_ns)
    return Row(flow, "lost, each packet", "packets", ours / size, theirs / size, unlike, limit)


def _links_crossed(compiled: Compiled, index: int) -> list[int]:
    """Links of the shortest path of a flow, or of the longest label-switched path beside it."""
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


def means(pairs: Sequence[Pair], *, emulated: bool = False) -> list[Row]:
    """Comparisons of flows and classes by their means over the seeds.

    Parameters
    ----------
    pairs : sequence of Pair
        One a seed.
    emulated : bool, default False
        The kernel's processor took time: see `trunkline.linux.judge.tolerance`.
    """
    rows: list[Row] = []
    data = pairs[0].compiled.network
    tcp = [flow["name"] for flow in data["flows"] if flow["agent"]["protocol"] == "tcp"]
    alone = len(tcp) == 1 and not engine.is_random(pairs[0].compiled)
    if tcp:
        subject = tcp[0] if len(tcp) == 1 else f"{len(tcp)} TCP flows"
        rows.append(_total(pairs, tcp, subject, "goodput_bit_s", "goodput", "bit/s"))
        rows.append(_dropped(pairs, subject))
        if alone:
            rows += _window(pairs, tcp[0])
        elif len(tcp) > 1:
            rows.append(_fairness(pairs, tcp))
    by_class: dict[str, list[str]] = {}
    rows_of = pairs[0].simulator.flows
    for name, dscp in zip(rows_of["flow"], rows_of["dscp"], strict=True):
        if str(name) not in tcp:
            by_class.setdefault(str(dscp), []).append(str(name))
    for dscp, members in by_class.items():
        shown = members[0] if len(members) == 1 else f"{len(members)} flows of {dscp}"
        rows += _datagrams(pairs, members, shown, emulated=emulated)
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
) -> Row:
    parts = [_values(pairs, flow, column) for flow in flows]
    sums = tuple(
        [sum(part[side][seed] for part in parts) for seed in range(len(pairs))] for side in (0, 1)
    )
    allowed = tolerance.GOODPUT
    return _row(subject, measure, unit, (sums[0], sums[1]), lambda mean: allowed * mean)


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


def _datagrams(
    pairs: Sequence[Pair], flows: Sequence[str], shown: str, *, emulated: bool
) -> list[Row]:
    """Loss and delay of the UDP flows of one class together."""
    lost: tuple[list[float], list[float]] = ([], [])
    mean: tuple[list[float], list[float]] = ([], [])
    most: tuple[list[float], list[float]] = ([], [])
    for pair in pairs:
        for side, results in enumerate((pair.simulator, pair.kernel)):
            found = [results.flows.where(flow=flow) for flow in flows]
            arrived = [_number(row["packets_delivered"]) for row in found]
            delays = [_number(row["delay_mean_s"]) for row in found]
            total = sum(count * delay for count, delay in zip(arrived, delays, strict=True))
            lost[side].append(sum(_number(row["packets_dropped"]) for row in found))
            mean[side].append(total / max(1.0, sum(arrived)))
            most[side].append(max(_number(row["delay_max_s"]) for row in found))
    compiled = pairs[0].compiled
    names = [flow["name"] for flow in compiled.network["flows"]]
    hops = max(len(_links_crossed(compiled, names.index(flow))) for flow in flows)
    more = hops * tolerance.EMULATED_HOP_NS / 1e9 if emulated else 0.0
    rows = [
        _row(
            shown,
            "packets lost",
            "packets",
            lost,
            lambda each: tolerance.drops(each, emulated=emulated),
        ),
        _row(shown, "mean delay", "s", mean, lambda each: tolerance.SHARED * each + more),
    ]
    if not emulated:
        rows.append(
            _row(shown, "greatest delay", "s", most, lambda each: tolerance.GREATEST * each)
        )
    return rows


def _number(value: object) -> float:
    return float(str(value)) if value is not None else 0.0
