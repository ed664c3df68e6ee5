"""Engines: run a compiled network and return results."""

from trunkline.engine.packet_engine import simulate

__all__ = ["simulate"]
