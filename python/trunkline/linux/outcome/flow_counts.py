"""Counts of one flow in the kernel."""

from dataclasses import dataclass, field


@dataclass
class FlowCounts:
    """Counts of one flow, from the warm-up on; None is unknown."""

    packets_sent: int = 0
    bytes_sent: int = 0
    packets_delivered: int = 0
    bytes_delivered: int = 0
    goodput_bytes: int = 0
    packets_dropped: int = 0
    undecided: int = 0
    retransmissions: int = 0
    timeouts: int | None = 0
    fast_retransmits: int | None = 0
    acks_sent: int = 0
    reordered: int | None = 0
    delays: list[int] = field(default_factory=list)
    jitter_ns: float = 0.0
    start_ns: int = 0
    finished_ns: int = -1
