"""The fluid engine: rates, utilisation, shares and mean waits of a network, without packets."""

from trunkline.fluid.engine import simulate

__all__ = ["simulate"]
