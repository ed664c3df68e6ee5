"""Packet traces: captures for other tools, and the story of a packet, a flow or a path."""

from trunkline.trace.capture import UnknownPlace, Untraced, points, write_capture
from trunkline.trace.flow import flow_story
from trunkline.trace.packet import packet_story
from trunkline.trace.path import path_story

__all__ = [
    "UnknownPlace",
    "Untraced",
    "flow_story",
    "packet_story",
    "path_story",
    "points",
    "write_capture",
]
