"""Ties: events at one port so close together that either may be first in the other engine.

A queue or scheduler without a clock of its own acts on arrivals and departures alone, in their
order. So until two events of different packets come within the tolerance of time, both engines do
the same to every packet, and the first packet that differs has met a tie. Tokens of a meter grow
with time: a packet that comes when a bucket holds nearly its length is a tie as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.linux.judge import tolerance
from trunkline.network.types import Conditioner, NetworkData
from trunkline.results.decode.columns import read_int_columns

Ints = NDArray[np.int64]

MAX_TIE_NS: Final = 1_000_000
"""Gap above which two events change places on no machine in virtual time [ns]."""

METER: Final = -1
"""In place of the other packet's flow: the tokens of a meter."""

_QUEUED, _ARRIVED, _DROPPED = map(_core.PACKET_EVENTS.index, ("queued", "arrived", "dropped"))
_QUEUE_CAUSES = [
    _core.CAUSES.index(name) for name in tolerance.COMPETING_CAUSES if name != "policed"
]
_POLICED = _core.CAUSES.index("policed")
_FIRST_TC = 64  # Column of a classifier for TC 0; those before are of the DSCPs.
_TOKENS_PER_BYTE: Final = 8 * 10**9  # Tokens are bit ns / s.


@dataclass(frozen=True)
class CloseEvents:
    """Events at ports and meters that have one of another packet near, as arrays."""

    time_ns: Ints
    link: Ints  # Number of the link whose port, or the meter at whose end, it is.
    # flow, number: The packet: number of its flow, and its number in it.
    flow: Ints
    number: Ints
    is_arrival: Ints  # Whether the packet arrives; else it departs.
    gap_ns: Ints  # To the event of the other packet.
    # other_flow, other_number: The other packet; `METER` for tokens.
    other_flow: Ints
    other_number: Ints
    # When the port began to be busy without a pause; the time of the event for a meter [ns].
    busy_from_ns: Ints

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """All events of several."""
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in parts])
                for field in fields(cls)
            )
        )

    def select(self, chosen: NDArray[np.bool_]) -> Self:
        """Those events that are chosen."""
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))


NO_CLOSE_EVENTS: Final = CloseEvents(*(np.zeros(0, dtype=np.int64) for _ in fields(CloseEvents)))


def find_close_events(
    network: NetworkData, packets: Mapping[str, tuple[str, bytes]]
) -> CloseEvents:
    """Find them in a run without TCP.

    packets: The engine's raw trace.
    """
    columns = read_int_columns(
        packets,
        *("event", "flow", "seq", "time_ns", "cause", "packet", "link", "wait_ns"),
        *("ip_bytes", "dscp", "stack_1"),
    )
    parts = [NO_CLOSE_EVENTS]
    origin = _find_origins(columns)
    is_offered = (columns["event"] == _QUEUED) | (
        (columns["event"] == _DROPPED) & np.isin(columns["cause"], _QUEUE_CAUSES)
    )
    for link in range(len(network["links"])):
        rows = np.flatnonzero(is_offered & (columns["link"] == link))
        if len(rows):
            parts.append(_find_at_port(network, link, columns, rows, origin))
        ingress = network["links"][link].get("ingress")
        if ingress is not None:
            parts.append(_find_at_meter(network["conditioners"][ingress], link, columns))
    return CloseEvents.concatenate(parts)


def find_decided_times(
    network: NetworkData, packets: Mapping[str, tuple[str, bytes]], sent: Mapping[int, int]
) -> dict[int, Ints]:
    """Find by when the fate and delay of each packet of a run without TCP are certain.

    They are when it comes to the queue of its last port, which loses it or sends it in turn; or,
    where a port may choose others before it, when it leaves that queue.

    packets: The engine's raw trace.
    sent: Packets of each flow, by its number.
    Returns: Times by flow and number [ns]; 0 for a packet that came to no port.
    """
    event, link, time, wait, flow, seq = read_int_columns(
        packets, "event", "link", "time_ns", "wait_ns", "flow", "seq"
    ).values()
    may_choose = np.array(
        [len(network["ports"][each["port"]]["classes"]) > 1 for each in network["links"]]
    )
    rows = np.flatnonzero(((event == _QUEUED) | (event == _DROPPED)) & (link >= 0))
    decided = time[rows] + np.where(may_choose[link[rows]], np.maximum(wait[rows], 0), 0)
    times = {index: np.zeros(count, dtype=np.int64) for index, count in sent.items()}
    for index, by_number in times.items():
        is_of_flow = flow[rows] == index
        np.maximum.at(by_number, seq[rows][is_of_flow], decided[is_of_flow])
    return times


def _find_origins(columns: Mapping[str, Ints]) -> Ints:
    """Find by which way each line's packet came: the link of its line before, or a flow."""
    order = np.lexsort((np.arange(len(columns["packet"])), columns["packet"]))
    origin = -2 - columns["flow"]
    packet, link = columns["packet"][order], columns["link"][order]
    is_onward = (packet[1:] == packet[:-1]) & (link[:-1] >= 0)
    origin[order[1:][is_onward]] = link[:-1][is_onward]
    return origin


def _find_at_port(
    network: NetworkData, link: int, columns: Mapping[str, Ints], rows: Ints, origin: Ints
) -> CloseEvents:
    """Find the arrivals near another packet's arrival by another way, or near its departure."""
    arrived = columns["time_ns"][rows]
    has_left = columns["wait_ns"][rows] >= 0
    left = arrived[has_left] + columns["wait_ns"][rows][has_left]
    here = network["links"][link]
    bits = 8 * (columns["ip_bytes"][rows][has_left] + here["header_bytes"])
    ends = np.maximum.accumulate(left + bits * 10**9 // here["rate_bit_s"])
    # Idle when a packet arrives: all before it have been sent.
    before = np.searchsorted(arrived[has_left], arrived, side="left") - 1
    is_start = (before < 0) | (arrived >= ends[np.maximum(before, 0)]) if len(ends) else before < 0
    starts = np.maximum.accumulate(np.where(is_start, arrived, arrived[0]))
    at = np.concatenate([arrived, left])
    is_arrival = np.concatenate([np.ones_like(arrived), np.zeros_like(left)])
    row = np.concatenate([rows, rows[has_left]])
    way = np.concatenate([origin[rows], np.full(len(left), METER)])  # A departure has none.
    busy = np.concatenate([starts, starts[has_left]])
    order = np.argsort(at, kind="stable")
    at, row, way, busy, is_arrival = (each[order] for each in (at, row, way, busy, is_arrival))
    packet = columns["packet"][row]
    gap = np.full(len(at), np.iinfo(np.int64).max)
    other = np.full(len(at), -1)
    # A packet has two events at a port, which may lie between those of two others.
    for step in (1, 2, 3):
        late, early = slice(step, None), slice(None, -step)
        between = at[late] - at[early]
        is_tie = (packet[late] != packet[early]) & (way[late] != way[early])
        for one, two in ((late, early), (early, late)):
            is_nearer = is_tie & (between < gap[one])
            gap[one] = np.where(is_nearer, between, gap[one])
            other[one] = np.where(is_nearer, row[two], other[one])
    near = gap <= MAX_TIE_NS
    return CloseEvents(
        at[near],
        np.full(int(near.sum()), link),
        columns["flow"][row[near]],
        columns["seq"][row[near]],
        is_arrival[near],
        gap[near],
        columns["flow"][other[near]],
        columns["seq"][other[near]],
        busy[near],
    )


def _find_at_meter(conditioner: Conditioner, link: int, columns: Mapping[str, Ints]) -> CloseEvents:
    """Find the packets that came when a bucket held nearly their length."""
    is_here = (columns["link"] == link) & (
        (columns["event"] == _ARRIVED)
        | ((columns["event"] == _DROPPED) & (columns["cause"] == _POLICED))
    )
    rows = np.flatnonzero(is_here)
    # Its mark before the meter is that with which it was queued.
    marks = {
        int(columns["packet"][row]): (int(columns["dscp"][row]), int(columns["stack_1"][row]))
        for row in np.flatnonzero((columns["link"] == link) & (columns["event"] == _QUEUED))
    }
    classifier = conditioner["classifier"]
    buckets = [_BucketLevels(profile["meter"]) for profile in conditioner["profiles"]]
    found: list[tuple[int, ...]] = []
    for row in rows.tolist():
        dscp, label = marks.get(int(columns["packet"][row]), (0, -1))
        if label >= 0:
            continue  # Conditioners of labelled packets are not for the kernel.
        flow = int(columns["flow"][row])
        by_flow = classifier["flow_rows"]
        entries = classifier["rows"][by_flow[flow] if by_flow else 0]
        profile = entries[dscp][0] - 1
        if profile < 0:
            continue
        at = int(columns["time_ns"][row])
        gap = buckets[profile].measure_gap(at, int(columns["ip_bytes"][row]))
        if gap <= MAX_TIE_NS:
            found.append((at, link, flow, int(columns["seq"][row]), 1, gap, METER, 0, at))
    table = np.array(found, dtype=np.int64).reshape(-1, len(fields(CloseEvents)))
    return CloseEvents(*table.T)


class _BucketLevels:
    """The buckets of a meter, filled and emptied as the engine's are."""

    def __init__(self, meter: Mapping[str, Any]) -> None:
        self.kind = str(meter["kind"])
        names = {
            "token-bucket": (
                ("peak_rate_bit_s", "peak_burst_bytes"),
                ("rate_bit_s", "burst_bytes"),
            ),
            "trtcm": (("pir_bit_s", "pbs_bytes"), ("cir_bit_s", "cbs_bytes")),
            "rfc4115": (("cir_bit_s", "cbs_bytes"), ("eir_bit_s", "ebs_bytes")),
        }.get(self.kind, ())
        # Rate and depth of each bucket, in the order in which they are asked.
        self.buckets = [
            (int(meter[rate]), int(meter[depth])) for rate, depth in names if meter[rate]
        ]
        self.levels = [depth * _TOKENS_PER_BYTE for _, depth in self.buckets]
        self.last_ns = 0

    def measure_gap(self, at: int, size: int) -> int:
        """Measure the time by which a packet misses another colour, early or late [ns]."""
        gap = np.iinfo(np.int64).max
        need = size * _TOKENS_PER_BYTE
        holds = []
        for index, (rate, depth) in enumerate(self.buckets):
            level = min(depth * _TOKENS_PER_BYTE, self.levels[index] + (at - self.last_ns) * rate)
            self.levels[index] = level
            gap = min(gap, abs(level - need) // rate)
            holds.append(level >= need)
        self.last_ns = at
        for index in _list_taken(self.kind, holds):
            self.levels[index] -= need
        return int(gap)


def _list_taken(kind: str, holds: Sequence[bool]) -> Iterator[int]:
    """List the buckets from which a packet takes, given which of them hold its length."""
    if kind == "token-bucket":
        # Of both or of none.
        yield from range(len(holds)) if all(holds) else ()
    elif kind == "trtcm":
        # The peak bucket, and the committed one if it can.
        yield from [index for index in range(len(holds)) if holds[0] and holds[index]]
    elif True in holds:
        # The first that can.
        yield holds.index(True)
