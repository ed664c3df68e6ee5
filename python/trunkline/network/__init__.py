"""The compiled network: plain numbers and indices, every default written out."""

from trunkline.network.compile import compile
from trunkline.network.network import Network

__all__ = ["Network", "compile"]
