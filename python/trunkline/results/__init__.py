"""Results: the measures of a run in tables that name their units, and how to repeat the run."""

from trunkline.lazy_imports import make_lazy_getattr
from trunkline.results.results import Provenance, Results
from trunkline.results.schemas import SCHEMAS, Field
from trunkline.results.store import read_results, write_results
from trunkline.results.table import Column, Table

__all__ = [
    "SCHEMAS",
    "Column",
    "Field",
    "Provenance",
    "Results",
    "Table",
    "read_results",
    "write_results",
]


__getattr__ = make_lazy_getattr(
    __name__,
    {},
    renamed={
        "read": "read_results",
        "write": "write_results",
    },
)
