"""Cells of a study's tables, and their errors against the published values."""

import math
from dataclasses import dataclass
from typing import Any

from trunkline.stats import Interval
from trunkline.study.language.claims import ClaimOutcome

MAX_RELATIVE_HALF_WIDTH = 0.5
"""Half of an interval over the published value above which it holds too much to say anything."""


def is_inside(low: float | None, published: float, high: float | None) -> bool:
    """Whether a published value is in an interval that is narrow enough to say so."""
    if low is None or high is None or not low <= published <= high:
        return False
    return (high - low) / 2 <= MAX_RELATIVE_HALF_WIDTH * abs(published)


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """One cell of a table: ours and, if there is one, the published value."""

    table: str
    row: str
    column: str
    unit: str
    published: float | None
    ours: Interval
    doubt: str
    runs: int = 1  # Runs that the published value is the mean of.

    @property
    def error(self) -> float | None:
        """Relative error of ours, signed; None if nothing, or zero, was published, or ours is."""
        if not self.published or math.isnan(self.ours.mean):
            return None
        return self.ours.mean / self.published - 1

    @property
    def difference(self) -> float | None:
        """Ours less the published value; None if nothing was published, or ours has no value."""
        if self.published is None or math.isnan(self.ours.mean):
            return None
        return self.ours.mean - self.published

    @property
    def prediction_interval(self) -> Interval:
        """Interval that has the mean of as many runs as were published, with 95 % probability."""
        return self.ours.predict(self.runs)

    @property
    def is_inside_prediction(self) -> bool:
        """Whether the published value is one that as many runs of ours may give.

        Judged by the prediction interval; it says nothing if that is too wide.
        """
        interval = self.prediction_interval
        return self.published is not None and is_inside(interval.low, self.published, interval.high)

    def format_value(self, digits: int) -> str:
        """Ours with half of its interval; a dash where it has no value."""
        if math.isnan(self.ours.mean):
            return "–"
        half_width = self.ours.half_width
        return f"{self.ours.mean:.{digits}f}" + (
            "" if half_width is None else f" ± {half_width:.{digits}f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Build one cell of the JSON object."""
        return {
            "table": self.table,
            "row": self.row,
            "column": self.column,
            "unit": self.unit,
            "published": self.published,
            "ours": to_json_number(self.ours.mean),
            "low": to_json_number(self.ours.low),
            "high": to_json_number(self.ours.high),
            "expected_low": to_json_number(self.prediction_interval.low),
            "expected_high": to_json_number(self.prediction_interval.high),
            "note": self.doubt,
        }


def to_json_number(value: float | None) -> float | None:
    """A number that is known: a measure that was null in some run has no mean."""
    return None if value is None or math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim and its outcome."""

    name: str
    says: str
    outcome: ClaimOutcome
    detail: str

    @property
    def is_held(self) -> bool:
        """Whether it held."""
        return self.outcome == "held"


@dataclass(frozen=True, slots=True)
class TableError:
    """Error of a table against the published one."""

    # cells, doubtful: Published cells that are judged, and those set apart as doubtful.
    cells: int
    doubtful: int
    # Mean ``|ours - published|`` of the cells that are judged, in their unit; as the other means
    # None where ours has no value in one of them.
    mean_absolute: float | None
    # Mean absolute percentage error of the cells that are judged; None where the study compares by
    # difference.
    mape_percent: float | None
    mape_percent_all: float | None  # The same with the doubtful ones.
    # Mean ``|ln(ours / published)|`` of the cells that are judged; None where one of ours is 0.
    mean_log_ratio: float | None
    # Judged cells whose published value lies in the 95 % prediction interval of as many runs, its
    # half `MAX_RELATIVE_HALF_WIDTH` at most.
    published_inside_prediction: int
