"""Cells of a study's tables, and how far they are from what was published."""

import math
from dataclasses import dataclass
from typing import Any

from trunkline.stats import Interval
from trunkline.study.language.claims import Outcome

WIDEST = 0.5
"""Half of an interval over the published value above which it holds too much to say anything."""


def inside(low: float | None, published: float, high: float | None) -> bool:
    """Whether a published value is in an interval that is narrow enough to say so."""
    if low is None or high is None or not low <= published <= high:
        return False
    return (high - low) / 2 <= WIDEST * abs(published)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: ours and, if there is one, the published value."""

    table: str
    row: str
    column: str
    unit: str
    published: float | None
    ours: Interval
    doubt: str
    runs: int = 1
    """Runs that the published value is the mean of."""

    @property
    def error(self) -> float | None:
        """Relative error of ours, signed; None if nothing, or zero, was published."""
        return None if not self.published else self.ours.mean / self.published - 1

    @property
    def difference(self) -> float | None:
        """Ours less the published value; None if nothing was published."""
        return None if self.published is None else self.ours.mean - self.published

    @property
    def expected(self) -> Interval:
        """What the mean of as many runs as were published is, with 95 % probability."""
        return self.ours.of_next(self.runs)

    @property
    def inside(self) -> bool:
        """Whether the published value is one that as many runs of ours may give.

        Judged by the prediction interval; it says nothing if that is too wide.
        """
        its = self.expected
        return self.published is not None and inside(its.low, self.published, its.high)

    def text(self, digits: int) -> str:
        """Ours with half of its interval."""
        half = self.ours.half_width
        return f"{self.ours.mean:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")

    def to_dict(self) -> dict[str, Any]:
        """As one cell of the JSON object."""
        return {
            "table": self.table,
            "row": self.row,
            "column": self.column,
            "unit": self.unit,
            "published": self.published,
            "ours": number(self.ours.mean),
            "low": number(self.ours.low),
            "high": number(self.ours.high),
            "expected_low": number(self.expected.low),
            "expected_high": number(self.expected.high),
            "note": self.doubt,
        }


def number(value: float | None) -> float | None:
    """JSON has no not-a-number: a measure that was null in some run has no mean."""
    return None if value is None or math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim and how it came out."""

    name: str
    says: str
    outcome: Outcome
    detail: str

    @property
    def held(self) -> bool:
        """Whether it held."""
        return self.outcome == "held"


@dataclass(frozen=True, slots=True)
class TableError:
    """How far a table is from the published one.

    Parameters
    ----------
    cells, doubtful : int
        Published cells that are judged, and those set apart as doubtful.
    mean_absolute : float
        Mean ``|ours - published|`` of the cells that are judged, in their unit.
    mape_percent : float or None
        Mean absolute percentage error of the cells that are judged; None where the study compares
        by difference.
    mape_percent_all : float or None
        The same with the doubtful ones.
    mean_log_ratio : float or None
        Mean ``|ln(ours / published)|`` of the cells that are judged.
    published_inside_prediction : int
        Judged cells whose published value lies in the 95 % prediction interval of as many runs, its
        half `WIDEST` at most.
    """

    cells: int
    doubtful: int
    mean_absolute: float
    mape_percent: float | None
    mape_percent_all: float | None
    mean_log_ratio: float | None
    published_inside_prediction: int
