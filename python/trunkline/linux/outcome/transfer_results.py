"""Transfers in the kernel: the result of each, and their tables in the simulator's form."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from trunkline.linux.outcome.flow_counts import FlowCounts
from trunkline.linux.outcome.raw_tables import RawTable, make_raw_table_from_rows
from trunkline.linux.outcome.records import BrokenRecordsError, read_records
from trunkline.linux.plan.compiled_plan import CompiledPlan
from trunkline.linux.plan.dry_run import PlannedTransfer, list_exchanges
from trunkline.linux.plan.guest_plan import TRANSFER_RESULT_RECORD, TRANSFER_TOTALS_RECORD
from trunkline.linux.plan.traffic import TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES
from trunkline.results.decode.transfers import ALL_SIZES, PAGE_ROW, SIZE_BIN

_NEVER: Final = 2**64 - 1
_UNBOUNDED: Final = -1
_QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_BUCKETS_PER_OCTAVE: Final = 64  # Buckets of an octave, as the simulator's histograms have them.


@dataclass(frozen=True, slots=True)
class TransferResult:
    """Result of a transfer."""

    planned: PlannedTransfer  # When and how large, by the schedule.
    # finish_ns, acknowledged_ns: When its last byte was read, and when that was acknowledged; None:
    # not before the end.
    finish_ns: int | None
    acknowledged_ns: int | None

    @property
    def fct_ns(self) -> int | None:
        """Flow completion time [ns]."""
        return None if self.finish_ns is None else self.finish_ns - self.planned.start_ns

    @property
    def slowdown(self) -> float | None:
        """Completion time over the least time; None where that is not known."""
        completion_ns, floor_ns = self.fct_ns, self.planned.floor_ns
        return None if completion_ns is None or not floor_ns else completion_ns / floor_ns


@dataclass(frozen=True, slots=True)
class TransferTotals:
    """A flow's transfers together; see `trunkline.linux.plan.guest_plan.TRANSFER_TOTALS_RECORD`."""

    time_ns: int = 0
    sent: int = 0
    retransmitted: int = 0
    unacknowledged: int = 0
    received: int = 0
    acks_sent: int = 0
    bytes_read: int = 0


def read_transfer_results(compiled: CompiledPlan, folder: Path, index: int) -> list[TransferResult]:
    """Read the result of each transfer of a flow, in the order of their schedule.

    Raises BrokenRecordsError: The guest left records of another number of transfers, or has used
        up those that a user may ask for.
    """
    records = list(
        TRANSFER_RESULT_RECORD.iter_unpack(
            read_records(folder / f"transfers-{index}.bin", TRANSFER_RESULT_RECORD.size)
        )
    )
    planned = _list_planned(compiled, index, records)
    if len(records) != len(planned):
        msg = f"transfers-{index}.bin of the guest has {len(records)} of {len(planned)} transfers"
        raise BrokenRecordsError(msg)
    end = compiled.network["run"]["duration_ns"]
    return [
        TransferResult(
            each,
            *(
                None if time_ns == _NEVER or time_ns > end else time_ns
                for time_ns in (arrived, acknowledged)
            ),
        )
        for each, (_, arrived, acknowledged) in zip(planned, records, strict=True)
    ]


def _list_planned(
    compiled: CompiledPlan, index: int, records: Sequence[tuple[int, int, int]]
) -> list[PlannedTransfer]:
    """List the transfers of a flow; those of a user who waits began when the guest says."""
    for answers, requests in list_exchanges(compiled.network).items():
        if index in (answers, requests):
            exchanges = compiled.dry_run.exchanges[answers]
            sides = [each.answer if index == answers else each.request for each in exchanges]
            if sides and len(records) == len(sides) and records[-1][1] != _NEVER:
                msg = f"the kernel's user has used up the {len(sides)} requests that were drawn"
                raise BrokenRecordsError(msg)
            return [
                replace(side, start_ns=began)
                for side, (began, _, _) in zip(sides, records, strict=False)
            ]
    return compiled.dry_run.transfers[index]


def read_transfer_totals(folder: Path, index: int) -> list[TransferTotals]:
    """Read the sums of a flow's transfers, in order of time."""
    path = folder / f"transfers-{index}.tally"
    return [
        TransferTotals(*each)
        for each in TRANSFER_TOTALS_RECORD.iter_unpack(
            read_records(path, TRANSFER_TOTALS_RECORD.size)
        )
    ]


def count_transfer_flow(compiled: CompiledPlan, folder: Path, index: int) -> FlowCounts:
    """Count the packets of a flow of transfers."""
    flow_config = compiled.network["flows"][index]
    agent, warmup = flow_config["agent"], compiled.network["run"]["warmup_ns"]
    assert agent["protocol"] == "tcp"
    header = TCP_HEADER_BYTES + (TIMESTAMP_OPTION_BYTES if agent["timestamps"] else 0)
    totals = read_transfer_totals(folder, index)
    last = totals[-1]
    warmup_totals = next(
        (each for each in reversed(totals) if warmup and each.time_ns <= warmup), TransferTotals()
    )
    counts = FlowCounts(start_ns=compiled.traffic.tcp_starts[index], reordered=None)
    counts.timeouts = counts.fast_retransmits = None
    counts.goodput_bytes = last.bytes_read - warmup_totals.bytes_read
    counts.packets_sent = last.sent - warmup_totals.sent
    counts.retransmissions = last.retransmitted - warmup_totals.retransmitted
    counts.packets_delivered = last.received - warmup_totals.received
    counts.bytes_delivered = counts.goodput_bytes + counts.packets_delivered * header
    # Packets that have not arrived have the mean size of those that have.
    mean = counts.bytes_delivered / max(1, counts.packets_delivered)
    counts.bytes_sent = counts.bytes_delivered + round(
        mean * max(0, counts.packets_sent - counts.packets_delivered)
    )
    counts.acks_sent = last.acks_sent - warmup_totals.acks_sent
    in_flight = last.unacknowledged - warmup_totals.unacknowledged
    counts.packets_dropped = max(0, counts.packets_sent - counts.packets_delivered - in_flight)
    return counts


def make_transfer_tables(compiled: CompiledPlan, folder: Path) -> dict[str, RawTable]:
    """Raw tables of transfers, as those of the simulator."""
    network = compiled.network
    warmup = network["run"]["warmup_ns"]
    recorded: list[tuple[int, TransferResult]] = []
    bins: list[tuple[int, int, int, list[TransferResult]]] = []
    for index, flow_config in enumerate(network["flows"]):
        transfers_config = flow_config.get("transfers")
        if transfers_config is None:
            continue
        results = [
            fate
            for fate in read_transfer_results(compiled, folder, index)
            if fate.planned.start_ns >= warmup
        ]
        if transfers_config["record"]:
            recorded += [(index, fate) for fate in results]
        bins.append((index, ALL_SIZES, _UNBOUNDED, results))
        bins += [
            (index, SIZE_BIN, *size_bin)
            for size_bin in _group_by_size(results, transfers_config["bins_bytes"])
        ]
        if (requests := list_exchanges(network).get(index)) is not None:
            pages = _join_pages(
                read_transfer_results(compiled, folder, requests),
                read_transfer_results(compiled, folder, index),
            )
            bins.append(
                (
                    index,
                    PAGE_ROW,
                    _UNBOUNDED,
                    [each for each in pages if each.planned.start_ns >= warmup],
                )
            )
    if not bins:
        return {}
    return {
        "transfers": _make_transfer_table(recorded),
        "completions": _make_completion_table(bins),
        "completion_times": _make_time_table(bins),
    }


def _join_pages(
    requests: Sequence[TransferResult], answers: Sequence[TransferResult]
) -> list[TransferResult]:
    """Join each request with its answer, a page of one object; without the least time."""
    pages = []
    for number, request in enumerate(requests):
        answer = answers[number] if number < len(answers) else None
        size = answer.planned.bytes if answer else 0
        planned = PlannedTransfer(request.planned.start_ns, size, 0)
        pages.append(TransferResult(planned, answer.finish_ns if answer else None, None))
    return pages


def _group_by_size(
    results: Sequence[TransferResult], upper_sizes: Sequence[int]
) -> Iterator[tuple[int, list[TransferResult]]]:
    """The largest size of each bin [B], and its transfers."""
    groups: list[list[TransferResult]] = [[] for _ in range(len(upper_sizes) + 1)]
    for fate in results:
        groups[bisect_left(upper_sizes, fate.planned.bytes)].append(fate)
    yield from zip((*upper_sizes, _UNBOUNDED), groups, strict=True)


def _make_transfer_table(rows: Sequence[tuple[int, TransferResult]]) -> RawTable:
    return make_raw_table_from_rows(
        ("flow", "size_bytes", "start_ns", "finish_ns", "floor_ns"),
        [
            (
                *(index, fate.planned.bytes, fate.planned.start_ns),
                *(-1 if fate.finish_ns is None else fate.finish_ns, fate.planned.floor_ns),
            )
            for index, fate in rows
        ],
    )


def _make_completion_table(bins: Sequence[tuple[int, int, int, list[TransferResult]]]) -> RawTable:
    rows: list[tuple[float, ...]] = []
    for index, kind, upper, results in bins:
        finished = [fate for fate in results if fate.fct_ns is not None]
        times = sorted(fate.fct_ns for fate in finished if fate.fct_ns is not None)
        slowdowns = sorted(fate.slowdown for fate in finished if fate.slowdown is not None)
        bytes_ = sum(fate.planned.bytes for fate in finished)
        ends = (times[0], times[-1]) if times else (-1, -1)
        rows.append(
            (
                *(index, kind, upper, len(results), len(finished), bytes_, len(finished), *ends),
                *_rank_quantiles(times),
                *_rank_quantiles([round(1000 * each) for each in slowdowns]),
                len(slowdowns),
                *(
                    sum(values) / len(values) if values else math.nan
                    for values in (times, slowdowns)
                ),
            )
        )
    names = ["flow", "kind", "upper_bytes", "started", "finished", "finished_bytes", "objects"]
    names += ["fct_min_ns", "fct_max_ns", *(f"fct_{name}_ns" for name in _QUANTILES)]
    names += [*(f"slowdown_{name}_milli" for name in _QUANTILES), "slowdowns"]
    names += ["fct_mean_ns", "slowdown_mean"]
    return make_raw_table_from_rows(names, rows)


def _rank_quantiles(ordered: Sequence[int]) -> list[int]:
    """Rank the percentiles of ordered values; -1 where there is none."""
    ranks = [math.ceil(share * len(ordered)) - 1 for share in _QUANTILES.values()]
    return [ordered[rank] if ordered else -1 for rank in ranks]


def _make_time_table(bins: Sequence[tuple[int, int, int, list[TransferResult]]]) -> RawTable:
    rows = []
    for index, kind, upper, results in bins:
        counts: dict[int, int] = {}
        for fate in results:
            if fate.fct_ns is not None:
                end = find_bucket_end(fate.fct_ns)
                counts[end] = counts.get(end, 0) + 1
        rows += [(index, kind, upper, end, counts[end]) for end in sorted(counts)]
    return make_raw_table_from_rows(("flow", "kind", "upper_bytes", "upper_ns", "count"), rows)


def find_bucket_end(value: int) -> int:
    """Greatest value of the bucket that a value falls into."""
    width = 1 << max(0, value.bit_length() - _BUCKETS_PER_OCTAVE.bit_length())
    return value // width * width + width - 1
