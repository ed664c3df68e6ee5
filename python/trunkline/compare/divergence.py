"""The first packet at which two runs diverge: when, where, and why.

Both runs are traced again, for longer and longer until their traces differ, so that memory is spent
only up to the first difference. Events of one instant are put in one order before they are
compared: which of two unrelated events an engine handles first is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trunkline.compare.network_difference import list_network_differences, select_relevant
from trunkline.compare.operand import ComparisonOperand
from trunkline.compare.raw_trace import find_differing_rows, run_traced

if TYPE_CHECKING:
    import polars as pl

FIRST_PART = 64  # The first look is at one part in so many of the run.

# Columns that follow from others or from the engine's own numbering.
_IGNORED_COLUMNS = ("time_s", "packet", "wait_ns", "wait_s")
# Order of the events of one packet at one instant.
_EVENT_ORDER = {"sent": 0, "copied": 1, "arrived": 2, "queued": 3, "dropped": 4, "delivered": 5}
_PACKET_COLUMNS = ("flow", "direction", "seq", "ack", "retransmission")
PacketRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first packet that differs between two runs."""

    # seed_a, seed_b: Seeds of the runs.
    seed_a: int
    seed_b: int
    time_ns: int  # Instant of the first event that one run has and the other has not [ns].
    side: str  # ``A`` or ``B``: the run that has it.
    event: PacketRow  # Its row of the packets table.
    place: str
    packet: str  # Flow, direction and number of the packet.
    other: str  # Further events of that packet in the other run.
    before: PacketRow | None  # Last event of the packet that both runs have; None if there is none.
    why: list[str]  # Differences between the two networks, those that concern the packet first.
    compared: int  # Events that are the same in both runs up to then.

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``trunkline diff --json`` prints."""
        return asdict(self)


def find_divergence(
    a: ComparisonOperand, b: ComparisonOperand, seed_a: int, seed_b: int | None = None
) -> Divergence | None:
    """Find the first packet at which a run of each side differs.

    a, b: Both with their networks, or with traces of the runs.
    seed_b: Seed of B's run; the same if left out.
    Returns: None if all packets move alike.
    Raises ValueError: A side has neither a trace nor a network to run again.
    """
    seed_b = seed_a if seed_b is None else seed_b
    stored_runs = [side.runs.get(seed) for side, seed in ((a, seed_a), (b, seed_b))]
    if all(run is not None and len(run.packets) for run in stored_runs):
        ordered = [_order_events(run.packets.to_polars()) for run in stored_runs if run is not None]
        index = _count_equal_rows(*ordered)
        return (
            None
            if index is None
            else _build_divergence(a, b, (seed_a, seed_b), ordered, index, index)
        )
    for side in (a, b):
        if side.network is None:
            raise ValueError(f"{side.name} holds neither a trace nor the network to run it again")
    assert a.network is not None
    assert b.network is not None
    if seed_a == seed_b and not list_network_differences(a.network, b.network):
        return None  # One network, one seed, one engine: the runs would be the same.
    durations = [int(network["run"]["duration_ns"]) for network in (a.network, b.network)]
    equal_until_ns, part_count = -1, FIRST_PART
    while part_count:
        until = [min(max(1, max(durations) // part_count), duration) for duration in durations]
        traces = (
            run_traced(a.network, seed_a, until[0]),
            run_traced(b.network, seed_b, until[1]),
        )
        found = find_differing_rows(*traces, equal_until_ns)
        if found is not None:
            pairs = zip(traces, found[1:], strict=True)
            ordered = [_order_events(trace.decode_rows(rows)) for trace, rows in pairs]
            index = _count_equal_rows(*ordered)
            if index is not None:
                return _build_divergence(a, b, (seed_a, seed_b), ordered, index, found[0])
        # At its very end a run may be cut between the events of an instant.
        equal_until_ns, part_count = min(until) - 1, part_count // 2
    return None


def _order_events(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in one order, whichever of two events at an instant an engine took up first."""
    import polars as pl

    frame = frame.drop(_IGNORED_COLUMNS, strict=False)
    names = ["time_ns", *_PACKET_COLUMNS]
    others = [name for name in frame.columns if name not in names]
    rank = pl.col("event").replace_strict(
        _EVENT_ORDER, default=len(_EVENT_ORDER), return_dtype=pl.Int64
    )
    keys = [*(pl.col(name) for name in names), rank, *(pl.col(name) for name in others)]
    return frame.sort(keys, nulls_last=False).select(*names, *others)


def _count_equal_rows(a: pl.DataFrame, b: pl.DataFrame) -> int | None:
    """Count rows that are the same at the beginning; None if all are."""
    import polars as pl

    shorter = min(len(a), len(b))
    names = [name for name in a.columns if name in b.columns]
    same = pl.DataFrame(
        {name: a[name].head(shorter).eq_missing(b[name].head(shorter)) for name in names}
    )
    wrong = same.select((~pl.all_horizontal(pl.all())).arg_true()).to_series()
    if len(wrong):
        return int(wrong[0])
    return shorter if len(a) != len(b) else None


def _build_divergence(
    a: ComparisonOperand,
    b: ComparisonOperand,
    seeds: tuple[int, int],
    ordered: Sequence[pl.DataFrame],
    index: int,
    compared: int,
) -> Divergence:
    rows = [frame.row(index, named=True) if index < len(frame) else None for frame in ordered]
    side = _find_earlier(rows)
    event = rows[side]
    assert event is not None
    other = ordered[1 - side]
    before = _find_previous_event(ordered[side], index, event)
    networks = [operand.network for operand in (a, b)]
    why = []
    if seeds[0] != seeds[1]:
        why.append(f"the seeds differ, {seeds[0]} and {seeds[1]}: so does all that is random")
    if networks[0] is not None and networks[1] is not None:
        why += select_relevant(list_network_differences(networks[0], networks[1]), event, before)
    if not why:
        why.append("the networks and seeds are the same: the two were made by different engines")
    return Divergence(
        *seeds,
        int(event["time_ns"]),
        "AB"[side],
        event,
        _describe_place(event),
        _describe_packet(event),
        _describe_other_run(other, index, event),
        before,
        why,
        compared,
    )


def _find_earlier(rows: Sequence[PacketRow | None]) -> int:
    """Find which of two rows comes first in the order of both."""
    first, second = rows
    if first is None or second is None:
        return 0 if second is None else 1

    def key(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        keys = [
            row["time_ns"],
            *(row[name] for name in _PACKET_COLUMNS),
            _EVENT_ORDER.get(row["event"], 9),
        ]
        return [(value is not None, value) for value in keys]

    return 0 if key(first) <= key(second) else 1


def _find_previous_event(frame: pl.DataFrame, index: int, event: PacketRow) -> PacketRow | None:
    """Last event of the same packet before this row."""
    rows = _filter_same_packet(frame.head(index), event)
    return rows.row(len(rows) - 1, named=True) if len(rows) else None


def _filter_same_packet(frame: pl.DataFrame, event: PacketRow) -> pl.DataFrame:
    import polars as pl

    return frame.filter(
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(event[name])) for name in _PACKET_COLUMNS)
    )


def _describe_other_run(frame: pl.DataFrame, index: int, event: PacketRow) -> str:
    """Describe the further events of the packet in the other run."""
    later_rows = _filter_same_packet(frame.slice(index), event)
    if not len(later_rows):
        return "never has this packet again" if index else "never has this packet"
    for row in later_rows.iter_rows(named=True):
        if all(row[name] == event[name] for name in ("event", "link", "node")):
            late = (row["time_ns"] - event["time_ns"]) / 1e3
            if late:
                return f"does so {late:g} us later"
            changed = [
                f"{name} {_format_value(row[name])} instead of {_format_value(event[name])}"
                for name in row
                if row[name] != event[name]
            ]
            return f"does so with {', '.join(changed)}"
    return f"has it {describe_event(later_rows.row(0, named=True))} instead"


def describe_event(event: PacketRow) -> str:
    """Describe an event in words: what, where, when."""
    cause = f" ({event['cause']})" if event.get("cause") else ""
    return f"{event['event']}{cause} at {_describe_place(event)} at {event['time_ns'] / 1e9:.9f} s"


def _describe_place(event: PacketRow) -> str:
    if event["link"] is not None:
        return f"link {event['link']}"
    return f"node {event['node']}"


def _describe_packet(event: PacketRow) -> str:
    again = ", sent again" if event["retransmission"] else ""
    number = f"number {event['seq']}"
    if event["direction"] == "reverse":
        number = f"acknowledgement {event['ack']}"
    return f"{event['flow']}, {event['direction']}, {number}{again}"


def _format_value(value: object) -> str:
    return "none" if value is None else str(value)
