"""Results: what a run measured, in tables that name their units, and how to get them again."""

from trunkline.results.results import Provenance, Results
from trunkline.results.store import read, write
from trunkline.results.table import Column, Table
from trunkline.results.tables import SCHEMAS, Field

__all__ = ["SCHEMAS", "Column", "Field", "Provenance", "Results", "Table", "read", "write"]
