"""Packet traces: captures for other tools, and the story of a packet, a flow or a path."""

from trunkline.trace.capture import UnknownPlaceError, UntracedRunError, points, write_capture
from trunkline.trace.flow_story import flow_story
from trunkline.trace.packet_story import packet_story
from trunkline.trace.path_story import path_story

__all__ = [
    "UnknownPlaceError",
    "UntracedRunError",
    "flow_story",
    "packet_story",
    "path_story",
    "points",
    "write_capture",
]
