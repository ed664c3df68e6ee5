"""What must hold of the tables of every run: whatever averages nothing is null."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trunkline.results import SCHEMAS, Results, Table

MARKS = {("series", "precedence"), ("packets", "seq"), ("packets", "seq_bytes")} | {
    ("calls", "r_factor")
}
"""Columns that may be negative: all precedences together, a SYN, R of ITU-T G.107 (annex B)."""


def find_invalid_values(results: Results) -> list[str]:
    """Each number that is none, or that stands where nothing was averaged."""
    # The fluid engine has means of what flows, and counts no packets.
    counts = results.provenance.engine != "fluid"
    tables = results.tables.values()
    return [fault for table in tables for fault in _find_invalid_in_table(table, counts=counts)]


def _find_invalid_in_table(table: Table, *, counts: bool) -> Iterator[str]:
    for field in SCHEMAS[table.name]:
        if field.kind == "str":
            continue
        bases = [table[name] for name in field.base]
        for index, value in enumerate(table[field.name]):
            place = f"{table.name}.{field.name} of row {index}: {value}"
            if value is None:
                continue
            if not math.isfinite(float(value)):
                yield f"{place} is no number"
            # Times, counts, rates and shares: none is below nothing.
            elif float(value) < 0 and (table.name, field.name) not in MARKS:
                yield f"{place} is negative"
            elif counts and bases and not any(base[index] for base in bases):
                yield f"{place} averages nothing: {', '.join(field.base)} are 0"
