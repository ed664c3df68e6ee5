"""Two results beside each other: statistics over runs, and the first packet that differs."""

from trunkline.compare.difference import USUAL, Comparison, Difference, compare, compare_until
from trunkline.compare.divergence import Divergence, diverge
from trunkline.compare.side import Side

__all__ = [
    "USUAL",
    "Comparison",
    "Difference",
    "Divergence",
    "Side",
    "compare",
    "compare_until",
    "diverge",
]
