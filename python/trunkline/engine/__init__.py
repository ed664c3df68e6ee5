"""Engines: run a compiled network and return results."""

from trunkline.engine.sim import simulate

__all__ = ["simulate"]
