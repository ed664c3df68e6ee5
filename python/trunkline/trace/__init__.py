"""Packet traces: captures for other tools, and the story of a packet, a flow or a path."""

from trunkline.trace.capture import UnknownPlace, Untraced, points, write_capture

__all__ = ["UnknownPlace", "Untraced", "points", "write_capture"]
