"""Records of a run: datagrams that arrived, samples of TCP, marks of its segments."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trunkline.linux.plan.guest_plan import ARRIVAL_RECORD, GOODPUT_RECORD, TCP_INFO_RECORD


class BrokenRecordsError(ValueError):
    """A file of records is missing or does not hold whole records."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A datagram that arrived."""

    sequence: int  # Its number in the flow, from 0.
    tos: int
    ttl: int
    # sent_ns, received_ns: Since time zero.
    sent_ns: int
    received_ns: int

    @property
    def delay_ns(self) -> int:
        """One-way delay [ns]."""
        return self.received_ns - self.sent_ns


@dataclass(frozen=True, slots=True)
class TcpSample:
    """A sample of ``TCP_INFO``; see `trunkline.linux.plan.guest_plan.TCP_INFO_RECORD`."""

    time_ns: int
    cwnd: int
    ssthresh: int
    srtt_us: int
    retransmitted: int
    unacked: int
    lost: int
    state: int
    rto_us: int
    acked_bytes: int
    segments_sent: int
    held: int
    resent: int
    pace_bytes_s: int


def read_arrivals(folder: Path, flow: int) -> list[Arrival]:
    """Read the datagrams of a flow, in the order in which they arrived."""
    records = ARRIVAL_RECORD.iter_unpack(
        read_records(folder / f"udp-{flow}.bin", ARRIVAL_RECORD.size)
    )
    return [Arrival(seq, tos, ttl, sent, received) for seq, tos, ttl, _, sent, received in records]


def read_tcp_samples(folder: Path, flow: int) -> tuple[list[TcpSample], list[tuple[int, int]]]:
    """Read the samples of a TCP flow's sender, and of its receiver: time [ns], bytes read."""
    sender = TCP_INFO_RECORD.iter_unpack(
        read_records(folder / f"tcp-{flow}.bin", TCP_INFO_RECORD.size)
    )
    receiver = GOODPUT_RECORD.iter_unpack(
        read_records(folder / f"tcp-{flow}.goodput", GOODPUT_RECORD.size)
    )
    return [TcpSample(*each) for each in sender], [(time, count) for time, count in receiver]


def read_segment_counts(
    folder: Path, warmup_ns: int
) -> list[tuple[int, int, int, int, int, int]] | None:
    """TCP segments that arrived after the warm-up, by flow and marks.

    Returns: Flow, direction (1: acknowledgements without data), DSCP, ECN field, TTL and segments;
        None if the guest did not count them or missed some.
    """
    path = folder / "tcp-marks.json"
    if not path.exists():
        return None
    snapshots = json.loads(path.read_text())
    counts: Counter[tuple[int, int, int, int]] = Counter()
    for snapshot in snapshots:
        if snapshot["missed"]:
            return None
        if snapshot["time_ns"] <= warmup_ns and warmup_ns:
            counts.subtract(_read_counts(snapshot))
    counts.update(_read_counts(snapshots[-1]))
    return [
        (flow, reverse, tos >> 2, tos & 3, ttl, packets)
        for (flow, reverse, tos, ttl), packets in counts.items()
    ]


def _read_counts(snapshot: dict[str, Any]) -> dict[tuple[int, int, int, int], int]:
    return {
        (flow, reverse, tos, ttl): packets
        for flow, reverse, tos, ttl, packets in snapshot["segments"]
    }


def read_records(path: Path, size: int) -> bytes:
    """Read the records of one size that a guest left.

    Raises BrokenRecordsError: There is no such file, or it ends within a record.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        msg = f"the guest left no {path.name}"
        raise BrokenRecordsError(msg) from None
    if len(content) % size:
        msg = f"{path.name} of the guest has {len(content)} B, no multiple of {size}"
        raise BrokenRecordsError(msg)
    return content


def list_lost_datagrams(
    sent: Sequence[tuple[int, int]], arrived: Sequence[Arrival], warmup_ns: int, end_ns: int
) -> list[int]:
    """Sequence numbers of datagrams that were lost, and not on their way when the run ended.

    sent: Time [ns] and IP bytes of each datagram.
    warmup_ns, end_ns: Only those sent from the warm-up on; when the run ended.
    """
    arrived_numbers = {each.sequence for each in arrived}
    last = max(arrived_numbers, default=-1)
    longest = max((each.delay_ns for each in arrived), default=0)
    return [
        number
        for number, (time, _) in enumerate(sent)
        if number not in arrived_numbers
        and warmup_ns <= time < end_ns
        and (number < last or time + longest < end_ns)
    ]
