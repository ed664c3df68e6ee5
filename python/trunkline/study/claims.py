"""Claims: what a document says of its tables, as formulas that the computer judges.

A claim is judged on the values of every seed, so that chance is told from effect: what is said to
be above or below (``>``, ``<``) is so in every cell by the 95 % interval of the difference over
paired seeds; ``>=`` and ``<=`` compare means, where a limit is given. With a single seed, as with
the published values themselves, the mean alone is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from pydantic import model_validator

from trunkline.scenario.fields import invalid
from trunkline.study import formula
from trunkline.study.formula import Cells, FormulaError, Values, Verdict
from trunkline.study.values import Part

__all__ = ["Cells", "Claim", "Tables", "Values", "Verdict"]


class Claim(Part):
    """A claim.

    Parameters
    ----------
    name, says : str
        Its name; the claim in words of one's own.
    table : str, optional
        Table that its columns are of, where they name none; the first table if left out.
    that : str
        The claim as a formula.
    unit : str
        Unit of what it compares, for whoever reads the numbers.
    """

    name: str
    says: str
    table: str | None = None
    that: str
    unit: str = ""

    @model_validator(mode="after")
    def _formula(self) -> Claim:
        try:
            formula.parse(self.that, claim=True)
        except FormulaError as error:
            raise invalid("expression", str(error), given=self.that, at=("that",)) from None
        return self

    def judge(self, tables: Tables) -> Verdict | None:
        """Judge it; None if a value that it speaks of is not known."""
        scope = tables if self.table is None else replace(tables, own=self.table)
        verdict = formula.judge(formula.parse(self.that, claim=True), scope)
        if verdict is None or not self.unit:
            return verdict
        return replace(verdict, detail=f"{verdict.detail} [{self.unit}]")


@dataclass(frozen=True)
class Tables:
    """The values that formulas speak of.

    Parameters
    ----------
    values : mapping of (table, column) to ndarray of shape (rows, seeds)
        Values in the unit of the cell.
    rows : mapping of str to sequence of str
        Names of each table's rows.
    numbers : mapping of str to sequence of float
        What varies from row to row of a table.
    own : str
        Table of columns that name none.
    errors : callable, optional
        Mean distance of ours from what was published, of a row.
    """

    values: Mapping[tuple[str, str], Values]
    rows: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    own: str = ""
    errors: Callable[[str], float] = lambda _: float("nan")

    def columns(self, table: str | None) -> list[str]:
        """Names of a table's columns."""
        return [column for name, column in self.values if name == (table or self.own)]

    def cells(self, table: str | None, column: str) -> Cells:
        """Rows of a column."""
        name = table or self.own
        return Cells(self.values[name, column], tuple(self.rows[name]))

    def offered(self, table: str | None) -> Values:
        """Give what varies from row to row."""
        return np.array(self.numbers[table or self.own])

    def error(self, row: str) -> float:
        """Mean distance of ours from what was published."""
        return self.errors(row)
