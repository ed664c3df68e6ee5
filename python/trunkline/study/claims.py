"""Claims: what a document says of its tables, as predicates that the computer judges.

A claim is judged on the values of every seed, so that chance is told from effect: where it speaks
of a rise, a fall or a difference, the 95 % interval over seeds must lie on the right side of
zero. With a single seed, as with the published values themselves, the mean alone is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from trunkline.stats import Interval, mean_interval

Values = NDArray[np.float64]
"""Values of one column of one table: a row of the table by a seed."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The values that claims are judged on.

    Parameters
    ----------
    columns : dict of (table, column) to ndarray of shape (rows, seeds)
        Values in the unit of the column.
    offered : ndarray of shape (rows,)
        What varies from row to row, in the unit of the columns where it has one.
    """

    columns: dict[tuple[str, str], Values]
    offered: Values

    def total(self, table: str) -> Values:
        """Sum of all columns of a table, by row and seed."""
        values = [v for (name, _), v in self.columns.items() if name == table]
        total: Values = np.stack(values).sum(axis=0)
        return total


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a claim held, and the numbers that say so."""

    held: bool
    detail: str


class Predicate(BaseModel):
    """What all claims have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    says: str
    """The claim in words of one's own."""
    table: str

    def speaks_of(self) -> tuple[set[str], set[str]]:
        """Tables and columns that it needs."""
        return {self.table}, set()

    def judge(self, cells: Cells) -> Verdict:
        """Judge it."""
        raise NotImplementedError


class Falls(Predicate):
    """A column falls from row to row: its least-squares slope is below zero."""

    kind: Literal["falls"]
    column: str

    def speaks_of(self) -> tuple[set[str], set[str]]:
        """Tables and columns that it needs."""
        return {self.table}, {self.column}

    def judge(self, cells: Cells) -> Verdict:
        """Judge it by the interval of the slope over seeds."""
        slope = _slope(cells.columns[self.table, self.column], cells.offered)
        held = (slope.mean if slope.high is None else slope.high) < 0
        return Verdict(held, f"slope {_interval(slope)}")


class Flat(Predicate):
    """A column is the same in every row: no row's mean is further than ``within`` from theirs."""

    kind: Literal["flat"]
    column: str
    within: Annotated[float, Field(gt=0, lt=1)]

    def speaks_of(self) -> tuple[set[str], set[str]]:
        """Tables and columns that it needs."""
        return {self.table}, {self.column}

    def judge(self, cells: Cells) -> Verdict:
        """Judge it by the greatest deviation of a row's mean."""
        means = cells.columns[self.table, self.column].mean(axis=1)
        off = float(np.abs(means / means.mean() - 1).max())
        return Verdict(
            off <= self.within,
            f"within {100 * off:.1f} % of the mean, {100 * self.within:g} % allowed",
        )


class Below(Predicate):
    """A column is below ``times`` another, in every row or in the mean of the rows."""

    kind: Literal["below"]
    column: str
    than_table: str | None = None
    than_column: str | None = None
    times: Annotated[float, Field(gt=0)] = 1.0
    rows: Literal["every", "mean"] = "every"

    def speaks_of(self) -> tuple[set[str], set[str]]:
        """Tables and columns that it needs."""
        return {self.table, self.than_table or self.table}, {
            self.column,
            self.than_column or self.column,
        }

    def judge(self, cells: Cells) -> Verdict:
        """Judge it by differences, seed by seed."""
        other = (self.than_table or self.table, self.than_column or self.column)
        ours, theirs = cells.columns[self.table, self.column], cells.columns[other]
        if self.rows == "mean":
            ours = ours.mean(axis=0, keepdims=True)
            theirs = theirs.mean(axis=0, keepdims=True)
        return _all_above(self.times * theirs - ours, ours.mean(axis=1) / theirs.mean(axis=1))


class TotalAbove(Predicate):
    """The sum of all columns is above that of another table, in every row."""

    kind: Literal["total-above"]
    than_table: str

    def speaks_of(self) -> tuple[set[str], set[str]]:
        """Tables and columns that it needs."""
        return {self.table, self.than_table}, set()

    def judge(self, cells: Cells) -> Verdict:
        """Judge it by paired differences, row by row."""
        ours, theirs = cells.total(self.table), cells.total(self.than_table)
        return _all_above(ours - theirs, ours.mean(axis=1) / theirs.mean(axis=1))


class HeldBack(Predicate):
    """A column rises by at most ``share`` of what the row's parameter rises."""

    kind: Literal["held-back"]
    column: str
    share: Annotated[float, Field(gt=0, lt=1)]

    def speaks_of(self) -> tuple[set[str], set[str]]:
        """Tables and columns that it needs."""
        return {self.table}, {self.column}

    def judge(self, cells: Cells) -> Verdict:
        """Judge it by the interval of the slope over seeds."""
        slope = _slope(cells.columns[self.table, self.column], cells.offered)
        held = (slope.mean if slope.high is None else slope.high) < self.share
        return Verdict(held, f"{_interval(slope)} of the rise, {self.share:g} allowed")


Claim = Annotated[Falls | Flat | Below | TotalAbove | HeldBack, Field(discriminator="kind")]


def _slope(values: Values, offered: Values) -> Interval:
    """Least-squares slope over the rows, its mean and interval over seeds."""
    x = offered - offered.mean()
    slopes: Sequence[float] = (x @ values / (x @ x)).tolist()
    return mean_interval(slopes)


def _all_above(differences: Values, ratios: Values) -> Verdict:
    """Whether the difference is above zero in every row."""
    intervals = [mean_interval(row.tolist()) for row in differences]
    sure = [(i.mean if i.low is None else i.low) > 0 for i in intervals]
    spread = f"ratio {ratios.min():.2f} to {ratios.max():.2f}"
    if len(sure) == 1:
        return Verdict(sure[0], f"ratio {ratios[0]:.2f}")
    if all(sure):
        return Verdict(True, f"all {len(sure)} rows, {spread}")
    return Verdict(False, f"{sum(sure)} of {len(sure)} rows, {spread}")


def _interval(interval: Interval) -> str:
    if interval.half_width is None:
        return f"{interval.mean:.3f}"
    return f"{interval.mean:.3f} ± {interval.half_width:.3f}"
