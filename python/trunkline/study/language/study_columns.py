"""Columns of a study file: columns of results, series, formulas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema, model_validator

from trunkline.scenario.fields import PlainInteger, PositiveTime, Switch, Time, make_invalid_error
from trunkline.scenario.probe import Measure
from trunkline.study.language import formula
from trunkline.study.language.formula import FormulaError
from trunkline.study.language.part import StudyPart

UNITS = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "%": 1e-2,
    "packets": 1.0,
    "1": 1.0,
}
"""Units of cells, as multiples of the base unit that results are in."""

DigitCount = Annotated[int, PlainInteger("the digits that are shown", 0, 9)]


class ProbeSeries(StudyPart):
    """A number out of a series of samples, as probes make them.

    Parameters
    ----------
    measure : str
        Measure of the probe, e.g. ``goodput``.
    after, to : int
        Samples that end after the one and until the other [ns]; the whole run if left out.
    equals : float, optional
        Each sample counts as 1 where it has this value, and as 0 else.
    time : {"mean", "max", "min", "all"}
        What is made of the samples of a target; ``all`` keeps them, for pictures.
    targets : {"sum", "mean", "max"}
        What is made of several targets.
    precedence : int, optional
        Drop precedence that the probe asks for; left out where it asks for none.
    """

    measure: Measure
    after: Time = 0
    to: PositiveTime | None = None
    equals: float | None = None
    time: Literal["mean", "max", "min", "all"] = "mean"
    targets: Literal["sum", "mean", "max"] = "sum"
    precedence: Annotated[int, PlainInteger("a drop precedence", 0, 15)] | None = None


class StudyColumn(StudyPart):
    """A column of a table, or a row where a table has a row for each measure.

    Parameters
    ----------
    measure : str, optional
        Column of the results `table`, e.g. ``throughput_bit_s``.
    table : str
        Table of results.
    where : dict of str to str
        Names that pick the row of the results table; ``name[*]`` stands for all replicas of a flow,
        ``name*`` for all that begin so. In ``drops`` all rows that fit count, and none is 0.
    over : str, optional
        What is taken over the rows of ``name*``; counts and rates are summed if left out, and
        other measures need it.
    series : ProbeSeries, optional
        A number out of samples, in place of `measure`.
    of : str
        Target of the series: a flow or a link, or ``name*`` for all that begin so.
    value : str, optional
        Formula over the other columns, in place of `measure`.
    unit : str
        Unit of the cells.
    digits : int
        Digits after the point that are shown.
    hidden : bool
        Whether the column is there for formulas and pictures only.
    """

    measure: str | None = None
    table: str = "flows"
    where: dict[str, str] = {}
    over: Literal["sum", "mean", "min", "max", "p95"] | None = None
    series: ProbeSeries | None = None
    of: str = ""
    value: str | None = None
    unit: Annotated[str, WithJsonSchema({"enum": ["", *UNITS]})] = ""
    digits: DigitCount = 2
    hidden: Switch = False

    @model_validator(mode="after")
    def _check_unit(self) -> StudyColumn:
        if self.unit and self.unit not in UNITS:
            listed = ", ".join(UNITS)
            message = f"unit {self.unit!r} is not one of {listed}"
            raise make_invalid_error(
                "choice", message, given=self.unit, allowed=listed, at=("unit",)
            )
        return self

    @model_validator(mode="after")
    def _check_formula(self) -> StudyColumn:
        if self.value is not None:
            try:
                formula.parse_formula(self.value, claim=False)
            except FormulaError as error:
                raise make_invalid_error(
                    "expression", str(error), given=self.value, at=("value",)
                ) from None
        return self

    def merge_measure(self, measure: StudyColumn) -> StudyColumn:
        """Merge a measure with this column's choice."""
        own_fields = self.model_dump(exclude_defaults=True)
        return StudyColumn.model_validate(measure.model_dump(exclude_defaults=True) | own_fields)

    def describe_fault(self) -> str:
        """Describe what is missing or too much; empty if nothing is."""
        kinds = [key for key in ("measure", "series", "value") if getattr(self, key) is not None]
        if len(kinds) != 1:
            return "has measure, series or value, one of them" if kinds else "measure is missing"
        if not self.unit:
            return "unit is missing"
        if kinds == ["measure"] and not self.where:
            return "where is missing"
        if kinds == ["series"] and not self.of:
            return "of is missing"
        return ""

    @property
    def is_sample_list(self) -> bool:
        """Whether a cell is a list of samples."""
        return self.series is not None and self.series.time == "all"

    def to_measure(self) -> dict[str, Any]:
        """Build its part of the text of a measure; see `run_measures.build_measure`."""
        spec: dict[str, Any] = {"unit": self.unit, "scale": UNITS[self.unit]}
        if self.series is not None:
            return {**spec, "series": self.series.model_dump(exclude_defaults=True), "of": self.of}
        spec |= {"table": self.table, "measure": self.measure, "where": self.where}
        return spec if self.over is None else {**spec, "over": self.over}
