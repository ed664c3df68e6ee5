"""Transfers in the kernel: what became of each, and their tables as the simulator has them."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trunkline.linux.outcome.arrivals import BrokenRecordsError, whole
from trunkline.linux.outcome.flow import Flow
from trunkline.linux.outcome.raw import Table, raw_rows
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.flows import TCP_HEADERS, TIMESTAMPS
from trunkline.linux.plan.plan import FATE, TALLY
from trunkline.linux.plan.rehearsal import Transfer
from trunkline.results.decode.transfers import ALL, BIN

_NEVER: Final = 2**64 - 1
_UNBOUNDED: Final = -1
_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_SUB: Final = 64
"""Buckets of an octave, as the simulator's histograms have them."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a transfer.

    Parameters
    ----------
    asked : Transfer
        When and how large, by the schedule.
    finish_ns, acknowledged_ns : int or None
        When its last byte was read, and when that was acknowledged; None: not before the end.
    """

    asked: Transfer
    finish_ns: int | None
    acknowledged_ns: int | None

    @property
    def fct_ns(self) -> int | None:
        """Flow completion time [ns]."""
        return None if self.finish_ns is None else self.finish_ns - self.asked.start_ns

    @property
    def slowdown(self) -> float | None:
        """That over the least time; None where that is not known."""
        taken, least = self.fct_ns, self.asked.floor_ns
        return None if taken is None or not least else taken / least


@dataclass(frozen=True, slots=True)
class Tally:
    """A flow's transfers together; see `trunkline.linux.plan.plan.TALLY`."""

    time_ns: int = 0
    sent: int = 0
    again: int = 0
    unacknowledged: int = 0
    received: int = 0
    answers: int = 0
    read: int = 0


def fates(compiled: Compiled, folder: Path, index: int) -> list[Fate]:
    """What became of each transfer of a flow, in the order of their schedule.

    Raises
    ------
    BrokenRecordsError
        The guest left records of another number of transfers.
    """
    asked = compiled.rehearsal.transfers[index]
    found = list(FATE.iter_unpack(whole(folder / f"transfers-{index}.bin", FATE.size)))
    if len(found) != len(asked):
        msg = f"transfers-{index}.bin of the guest has {len(found)} of {len(asked)} transfers"
        raise BrokenRecordsError(msg)
    end = compiled.network["run"]["duration_ns"]
    return [
        Fate(each, *(None if at == _NEVER or at > end else at for at in (arrived, acknowledged)))
        for each, (_, arrived, acknowledged) in zip(asked, found, strict=True)
    ]


def tallies(folder: Path, index: int) -> list[Tally]:
    """Sums of a flow's transfers, in order of time."""
    path = folder / f"transfers-{index}.tally"
    return [Tally(*each) for each in TALLY.iter_unpack(whole(path, TALLY.size))]


def flow(compiled: Compiled, folder: Path, index: int) -> Flow:
    """Counts of a flow of transfers."""
    its = compiled.network["flows"][index]
    agent, warmup = its["agent"], compiled.network["run"]["warmup_ns"]
    assert agent["protocol"] == "tcp"
    header = TCP_HEADERS + (TIMESTAMPS if agent["timestamps"] else 0)
    summed = tallies(folder, index)
    last = summed[-1]
    base = next((each for each in reversed(summed) if warmup and each.time_ns <= warmup), Tally())
    made = Flow(start_ns=compiled.traffic.tcp_starts[index], reordered=None)
    made.timeouts = made.fast_retransmits = None
    made.goodput_bytes = last.read - base.read
    made.packets_sent = last.sent - base.sent
    made.retransmissions = last.again - base.again
    made.packets_delivered = last.received - base.received
    made.bytes_delivered = made.goodput_bytes + made.packets_delivered * header
    # What was sent and has not arrived has the mean size of what has.
    mean = made.bytes_delivered / max(1, made.packets_delivered)
    made.bytes_sent = made.bytes_delivered + round(
        mean * max(0, made.packets_sent - made.packets_delivered)
    )
    made.acks_sent = last.answers - base.answers
    inside = last.unacknowledged - base.unacknowledged
    made.packets_dropped = max(0, made.packets_sent - made.packets_delivered - inside)
    return made


def raw(compiled: Compiled, folder: Path) -> dict[str, Table]:
    """Raw tables of transfers, as those of the simulator."""
    data = compiled.network
    warmup = data["run"]["warmup_ns"]
    each: list[tuple[int, Fate]] = []
    bins: list[tuple[int, int, int, list[Fate]]] = []
    for index, its in enumerate(data["flows"]):
        opened = its.get("transfers")
        if opened is None:
            continue
        found = [fate for fate in fates(compiled, folder, index) if fate.asked.start_ns >= warmup]
        if opened["record"]:
            each += [(index, fate) for fate in found]
        bins.append((index, ALL, _UNBOUNDED, found))
        bins += [(index, BIN, *of) for of in _by_size(found, opened["bins_bytes"])]
    if not bins:
        return {}
    return {
        "transfers": _transfers(each),
        "completions": _completions(bins),
        "completion_times": _times(bins),
    }


def _by_size(found: Sequence[Fate], uppers: Sequence[int]) -> Iterator[tuple[int, list[Fate]]]:
    """The largest size of each bin [B], and its transfers."""
    parts: list[list[Fate]] = [[] for _ in range(len(uppers) + 1)]
    for fate in found:
        parts[bisect_left(uppers, fate.asked.bytes)].append(fate)
    yield from zip((*uppers, _UNBOUNDED), parts, strict=True)


def _transfers(rows: Sequence[tuple[int, Fate]]) -> Table:
    return raw_rows(
        ("flow", "size_bytes", "start_ns", "finish_ns", "floor_ns"),
        [
            (
                *(index, fate.asked.bytes, fate.asked.start_ns),
                *(-1 if fate.finish_ns is None else fate.finish_ns, fate.asked.floor_ns),
            )
            for index, fate in rows
        ],
    )


def _completions(bins: Sequence[tuple[int, int, int, list[Fate]]]) -> Table:
    rows: list[tuple[float, ...]] = []
    for index, kind, upper, found in bins:
        done = [fate for fate in found if fate.fct_ns is not None]
        times = sorted(fate.fct_ns for fate in done if fate.fct_ns is not None)
        slowdowns = sorted(fate.slowdown for fate in done if fate.slowdown is not None)
        bytes_ = sum(fate.asked.bytes for fate in done)
        ends = (times[0], times[-1]) if times else (-1, -1)
        rows.append(
            (
                *(index, kind, upper, len(found), len(done), bytes_, len(done), *ends),
                *_ranked(times),
                *_ranked([round(1000 * each) for each in slowdowns]),
                *(sum(its) / len(its) if its else math.nan for its in (times, slowdowns)),
            )
        )
    names = ["flow", "kind", "upper_bytes", "started", "finished", "finished_bytes", "objects"]
    names += ["fct_min_ns", "fct_max_ns", *(f"fct_{name}_ns" for name in _SHARES)]
    names += [*(f"slowdown_{name}_milli" for name in _SHARES), "fct_mean_ns", "slowdown_mean"]
    return raw_rows(names, rows)


def _ranked(ordered: Sequence[int]) -> list[int]:
    """Percentiles of ordered values; -1 where there is none."""
    ranks = [math.ceil(share * len(ordered)) - 1 for share in _SHARES.values()]
    return [ordered[rank] if ordered else -1 for rank in ranks]


def _times(bins: Sequence[tuple[int, int, int, list[Fate]]]) -> Table:
    rows = []
    for index, kind, upper, found in bins:
        counts: dict[int, int] = {}
        for fate in found:
            if fate.fct_ns is not None:
                end = upper_end(fate.fct_ns)
                counts[end] = counts.get(end, 0) + 1
        rows += [(index, kind, upper, end, counts[end]) for end in sorted(counts)]
    return raw_rows(("flow", "kind", "upper_bytes", "upper_ns", "count"), rows)


def upper_end(value: int) -> int:
    """Greatest value of the bucket that a value falls into."""
    width = 1 << max(0, value.bit_length() - _SUB.bit_length())
    return value // width * width + width - 1
