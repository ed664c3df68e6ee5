"""Traffic of others: captures as schedules of flows, records of flows as demands."""

from trunkline.importers.traffic.capture import CaptureError, Packet, packets
from trunkline.importers.traffic.flows import Replayed, prove_flows, replay
from trunkline.importers.traffic.records import RecordError, demands

__all__ = [
    "CaptureError",
    "Packet",
    "RecordError",
    "Replayed",
    "demands",
    "packets",
    "prove_flows",
    "replay",
]
