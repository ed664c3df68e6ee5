"""Records of a run: datagrams that arrived, samples of TCP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trunkline.linux.plan import GOODPUT, RECEIVED, SAMPLE


class BrokenRecordsError(ValueError):
    """A file of records is missing or does not hold whole records."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A datagram that arrived.

    Parameters
    ----------
    sequence : int
        Its number in the flow, from 0.
    tos, ttl : int
        As it arrived.
    sent_ns, received_ns : int
        Since time zero.
    """

    sequence: int
    tos: int
    ttl: int
    sent_ns: int
    received_ns: int

    @property
    def delay_ns(self) -> int:
        """One-way delay [ns]."""
        return self.received_ns - self.sent_ns


@dataclass(frozen=True, slots=True)
class TcpSample:
    """A sample of ``TCP_INFO``; see `trunkline.linux.plan.SAMPLE`."""

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


def datagrams(folder: Path, flow: int) -> list[Arrival]:
    """Datagrams of a flow, in the order in which they arrived."""
    listed = RECEIVED.iter_unpack(_whole(folder / f"udp-{flow}.bin", RECEIVED.size))
    return [Arrival(seq, tos, ttl, sent, got) for seq, tos, ttl, _, sent, got in listed]


def samples(folder: Path, flow: int) -> tuple[list[TcpSample], list[tuple[int, int]]]:
    """Samples of a TCP flow's sender, and of its receiver: time [ns], bytes read."""
    sender = SAMPLE.iter_unpack(_whole(folder / f"tcp-{flow}.bin", SAMPLE.size))
    receiver = GOODPUT.iter_unpack(_whole(folder / f"tcp-{flow}.goodput", GOODPUT.size))
    return [TcpSample(*each) for each in sender], [(time, count) for time, count in receiver]


def _whole(path: Path, size: int) -> bytes:
    try:
        written = path.read_bytes()
    except FileNotFoundError:
        msg = f"the guest left no {path.name}"
        raise BrokenRecordsError(msg) from None
    if len(written) % size:
        msg = f"{path.name} of the guest has {len(written)} B, no multiple of {size}"
        raise BrokenRecordsError(msg)
    return written
