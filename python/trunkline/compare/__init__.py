"""Comparison of two results: statistics over runs, and the first packet that differs."""

from trunkline.compare.difference import (
    DEFAULT_COMPARED_METRICS,
    Comparison,
    MetricDifference,
    compare_operands,
    compare_until_precise,
)
from trunkline.compare.divergence import Divergence, find_divergence
from trunkline.compare.operand import ComparisonOperand
from trunkline.lazy_imports import make_lazy_getattr

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


__getattr__ = make_lazy_getattr(
    __name__,
    {},
    renamed={
        "Difference": "MetricDifference",
        "Side": "ComparisonOperand",
        "USUAL": "DEFAULT_COMPARED_METRICS",
        "compare": "compare_operands",
        "compare_until": "compare_until_precise",
        "diverge": "find_divergence",
    },
)
