"""Two results beside each other: statistics over runs, and the first packet that differs."""

from trunkline.compare.difference import (
    DEFAULT_COMPARED_METRICS,
    Comparison,
    MetricDifference,
    compare_operands,
    compare_until_precise,
)
from trunkline.compare.divergence import Divergence, find_divergence
from trunkline.compare.operand import ComparisonOperand

__all__ = [
    "DEFAULT_COMPARED_METRICS",
    "Comparison",
    "ComparisonOperand",
    "Divergence",
    "MetricDifference",
    "compare_operands",
    "compare_until_precise",
    "find_divergence",
]
