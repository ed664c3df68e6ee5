"""Measured traffic: captures as schedules of flows, records of flows as demands."""

from trunkline.importers.traffic.capture_files import CaptureError
from trunkline.importers.traffic.captured_packets import CapturedPacket, read_packets
from trunkline.importers.traffic.flow_record_files import RecordError
from trunkline.importers.traffic.flow_records import build_demand_table
from trunkline.importers.traffic.replayed_flows import ReplayedFlow, collect_flows, prove_flows

__all__ = [
    "CaptureError",
    "CapturedPacket",
    "RecordError",
    "ReplayedFlow",
    "build_demand_table",
    "collect_flows",
    "prove_flows",
    "read_packets",
]
