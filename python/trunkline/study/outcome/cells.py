"""Cells of a study's tables, and how far they are from what was published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trunkline.stats import Interval


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

    @property
    def error(self) -> float | None:
        """Relative error of ours, signed; None if nothing, or zero, was published."""
        return None if not self.published else self.ours.mean / self.published - 1

    @property
    def difference(self) -> float | None:
        """Ours less the published value; None if nothing was published."""
        return None if self.published is None else self.ours.mean - self.published

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
    held: bool
    detail: str


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
    inside : int
        Judged cells whose published value lies in our 95 % interval.
    """

    cells: int
    doubtful: int
    mean_absolute: float
    mape_percent: float | None
    mape_percent_all: float | None
    mean_log_ratio: float | None
    inside: int
