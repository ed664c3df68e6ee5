"""The first packet at which two runs diverge: when, where, and why.

Both runs are traced again, for longer and longer until their traces differ, so that memory is spent
only up to the first difference. Events of one instant are put in one order before they are
compared: which of two unrelated events an engine handles first is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trunkline.compare.raw import first_rows, traced
from trunkline.compare.side import Side
from trunkline.compare.why import differences, relevant

if TYPE_CHECKING:
    import polars as pl

PARTS = 64
"""The first look is at one part in so many of the run."""

# What follows from other columns or from the engine's own numbering.
_LEFT_OUT = ("time_s", "packet", "wait_ns", "wait_s")
# Order of the events of one packet at one instant.
_ORDER = {"sent": 0, "copied": 1, "arrived": 2, "queued": 3, "dropped": 4, "delivered": 5}
_PACKET = ("flow", "direction", "seq", "ack", "retransmission")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runs part.

    Parameters
    ----------
    seed_a, seed_b : int
        Seeds of the runs.
    time_ns : int
        Instant of the first event that one run has and the other has not [ns].
    side : str
        ``A`` or ``B``: the run that has it.
    event : dict
        Its row of the packets table.
    packet : str
        Flow, direction and number of the packet.
    other : str
        What the other run does with that packet.
    before : dict or None
        Last event of the packet that both runs have; None if there is none.
    why : list of str
        Differences between the two networks, those that concern the packet first.
    compared : int
        Events that are the same in both runs up to then.
    """

    seed_a: int
    seed_b: int
    time_ns: int
    side: str
    event: Row
    place: str
    packet: str
    other: str
    before: Row | None
    why: list[str]
    compared: int

    def to_json(self) -> dict[str, Any]:
        """As ``trunkline diff --json`` prints it."""
        return asdict(self)


def diverge(a: Side, b: Side, seed_a: int, seed_b: int | None = None) -> Divergence | None:
    """Find the first packet at which a run of each side differs.

    Parameters
    ----------
    a, b : Side
        Both with their networks, or with traces of the runs.
    seed_b : int, optional
        Seed of B's run; the same if left out.

    Returns
    -------
    Divergence or None
        None if all packets move alike.

    Raises
    ------
    ValueError
        A side has neither a trace nor a network to run again.
    """
    seed_b = seed_a if seed_b is None else seed_b
    kept = [side.runs.get(seed) for side, seed in ((a, seed_a), (b, seed_b))]
    if all(run is not None and len(run.packets) for run in kept):
        ordered = [_ordered(run.packets.to_polars()) for run in kept if run is not None]
        index = _index(*ordered)
        return None if index is None else _told(a, b, (seed_a, seed_b), ordered, index, index)
    for side in (a, b):
        if side.network is None:
            msg = f"{side.name} holds neither a trace nor the network to run it again"
            raise ValueError(msg)
    assert a.network is not None
    assert b.network is not None
    if seed_a == seed_b and not differences(a.network, b.network):
        return None  # One network, one seed, one engine: the runs would be the same.
    durations = [int(network["run"]["duration_ns"]) for network in (a.network, b.network)]
    alike, part = -1, PARTS
    while part:
        until = [min(max(1, max(durations) // part), its) for its in durations]
        traces = (
            traced(a.network, seed_a, until[0]),
            traced(b.network, seed_b, until[1]),
        )
        found = first_rows(*traces, alike)
        if found is not None:
            pairs = zip(traces, found[1:], strict=True)
            ordered = [_ordered(trace.decoded(rows)) for trace, rows in pairs]
            index = _index(*ordered)
            if index is not None:
                return _told(a, b, (seed_a, seed_b), ordered, index, found[0])
        # At its very end a run may be cut between the events of an instant.
        alike, part = min(until) - 1, part // 2
    return None


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in one order, whichever of two events at an instant an engine took up first."""
    import polars as pl

    frame = frame.drop(_LEFT_OUT, strict=False)
    names = ["time_ns", *_PACKET]
    others = [name for name in frame.columns if name not in names]
    rank = pl.col("event").replace_strict(_ORDER, default=len(_ORDER), return_dtype=pl.Int64)
    keys = [*(pl.col(name) for name in names), rank, *(pl.col(name) for name in others)]
    return frame.sort(keys, nulls_last=False).select(*names, *others)


def _index(a: pl.DataFrame, b: pl.DataFrame) -> int | None:
    """Number of rows that are the same at the beginning; None if all are."""
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


def _told(
    a: Side,
    b: Side,
    seeds: tuple[int, int],
    ordered: Sequence[pl.DataFrame],
    index: int,
    compared: int,
) -> Divergence:
    rows = [frame.row(index, named=True) if index < len(frame) else None for frame in ordered]
    side = _earlier(rows)
    event = rows[side]
    assert event is not None
    other = ordered[1 - side]
    before = _before(ordered[side], index, event)
    named = [it.network for it in (a, b)]
    why = []
    if seeds[0] != seeds[1]:
        why.append(f"the seeds differ, {seeds[0]} and {seeds[1]}: so does all that is random")
    if named[0] is not None and named[1] is not None:
        why += relevant(differences(named[0], named[1]), event, before)
    if not why:
        why.append("the networks and seeds are the same: the two were made by different engines")
    return Divergence(
        *seeds,
        int(event["time_ns"]),
        "AB"[side],
        event,
        _place(event),
        _packet(event),
        _fate(other, index, event),
        before,
        why,
        compared,
    )


def _earlier(rows: Sequence[Row | None]) -> int:
    """Which of two rows comes first in the order of both."""
    first, second = rows
    if first is None or second is None:
        return 0 if second is None else 1

    def key(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        keys = [row["time_ns"], *(row[name] for name in _PACKET), _ORDER.get(row["event"], 9)]
        return [(value is not None, value) for value in keys]

    return 0 if key(first) <= key(second) else 1


def _before(frame: pl.DataFrame, index: int, event: Row) -> Row | None:
    """Last event of the same packet before this row."""
    rows = _same_packet(frame.head(index), event)
    return rows.row(len(rows) - 1, named=True) if len(rows) else None


def _same_packet(frame: pl.DataFrame, event: Row) -> pl.DataFrame:
    import polars as pl

    return frame.filter(
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(event[name])) for name in _PACKET)
    )


def _fate(frame: pl.DataFrame, index: int, event: Row) -> str:
    """What the other run does with the packet from there on."""
    rest = _same_packet(frame.slice(index), event)
    if not len(rest):
        return "never has this packet again" if index else "never has this packet"
    for row in rest.iter_rows(named=True):
        if all(row[name] == event[name] for name in ("event", "link", "node")):
            late = (row["time_ns"] - event["time_ns"]) / 1e3
            if late:
                return f"does so {late:g} us later"
            changed = [
                f"{name} {_shown(row[name])} instead of {_shown(event[name])}"
                for name in row
                if row[name] != event[name]
            ]
            return f"does so with {', '.join(changed)}"
    return f"has it {describe(rest.row(0, named=True))} instead"


def describe(event: Row) -> str:
    """An event in words: what, where, when."""
    cause = f" ({event['cause']})" if event.get("cause") else ""
    return f"{event['event']}{cause} at {_place(event)} at {event['time_ns'] / 1e9:.9f} s"


def _place(event: Row) -> str:
    if event["link"] is not None:
        return f"link {event['link']}"
    return f"node {event['node']}"


def _packet(event: Row) -> str:
    again = ", sent again" if event["retransmission"] else ""
    number = f"number {event['seq']}"
    if event["direction"] == "reverse":
        number = f"acknowledgement {event['ack']}"
    return f"{event['flow']}, {event['direction']}, {number}{again}"


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
