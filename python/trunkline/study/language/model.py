"""A study file, and the tables, points and settings that follow from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trunkline.scenario.fields import PlainInteger, make_invalid_error
from trunkline.study.language import grid as grids
from trunkline.study.language.claims import Claim
from trunkline.study.language.grid import Axis, LatinHypercubeSample, ParameterZip
from trunkline.study.language.part import ParameterText, StudyPart
from trunkline.study.language.parts import (
    DocumentReading,
    DocumentSentence,
    FitSettings,
    FittedParameter,
    GivenParameter,
    Overview,
    PublishedValue,
    RunCount,
    SourceDocument,
    StudyCase,
    StudyTable,
    StudyVariant,
)
from trunkline.study.language.pictures import Picture
from trunkline.study.language.random_draws import RandomDraw
from trunkline.study.language.study_columns import UNITS, StudyColumn

FIT_JSON = "fit.json"  # File of a fit, in its folder and in that of a study.

STUDY_FORMAT = 1  # Version of the form of study files.


class StudyFile(StudyPart):
    """A study: its runs, its measures, its claims.

    Parameters
    ----------
    study : int
        Version of this form: 1.
    name, title : str
        Short name of the study; a line that says what it is about.
    source : SourceDocument, optional
        The document whose values are compared; left out if there is nothing to compare with.
    runs : int
        Replications of each point unless asked otherwise; their seeds are 1, 2, ...
    scenario : str, optional
        File next to the study file, where there is but one case.
    cases : dict of str to StudyCase
        Tables by their name in the document.
    variants : list of StudyVariant
        Cases once more with something changed.
    draws : list of RandomDraw
        What is drawn again for each seed.
    grid : dict of str to list of str
        Parameters of the scenarios, each to a list of values or a range.
    zip : list of dict of str to list of str
        Groups of parameters whose values go side by side.
    sample : LatinHypercubeSample, optional
        A Latin hypercube. Points are the product of grid, groups and sample, in this order.
    row_title : str
        What the rows are, e.g. ``UDP source rate``.
    columns : dict of str to StudyColumn
        What each column of a table holds.
    measures : dict of str to StudyColumn
        Rows of tables that have a row for each measure; columns then say where it is taken.
    stated, fitted : list
        Parameters that the document gives, and those it leaves unsaid with a reason each. All
        are set in every case.
    sentences : list of DocumentSentence
        Every sentence of the document about its results, with the claims that judge it.
    claims : list of Claim
        What the document says of its tables, as formulas.
    readings : list of DocumentReading
        Other ways to read the document, each with an error of its own.
    fit : FitSettings
        How the fitted parameters are inferred from the published values.
    error : {"relative", "absolute"}
        How cells are compared: by ratio, or by difference where some are zero or nearly so.
    judged : list of str
        Rows whose cells count in the errors; all if empty.
    overviews : list of Overview
        Tables over several tables.
    pictures : dict of str to Picture, optional
        What is drawn; a picture of each table if left out.
    kernel : dict of str to str
        Fitted values that others replace where the Linux kernel runs the study as well as the
        simulator, as the kernel lacks them.
    notes : list of str
        Remarks.
    """

    study: Annotated[int, PlainInteger("the version of this form", STUDY_FORMAT, STUDY_FORMAT)]
    name: str
    title: str
    source: SourceDocument | None = None
    runs: RunCount = 10
    scenario: str | None = None
    cases: Annotated[dict[str, StudyCase], Field(min_length=1)]
    variants: list[StudyVariant] = []
    draws: list[RandomDraw] = []
    grid: dict[str, Axis] = {}
    zip: list[ParameterZip] = []
    sample: LatinHypercubeSample | None = None
    row_title: str = ""
    columns: dict[str, StudyColumn] = {}
    measures: dict[str, StudyColumn] = {}
    stated: list[GivenParameter] = []
    fitted: list[FittedParameter] = []
    sentences: list[DocumentSentence] = []
    claims: list[Claim] = []
    readings: list[DocumentReading] = []
    fit: FitSettings = FitSettings()
    error: Literal["relative", "absolute"] = "relative"
    judged: list[str] = []
    overviews: list[Overview] = []
    pictures: dict[str, Picture] | None = None
    kernel: dict[str, ParameterText] = {}
    notes: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _wrap_single_case(cls, document: Any) -> Any:
        """A scenario of the study is its only case."""
        if not isinstance(document, dict) or "scenario" not in document:
            return document
        if "cases" in document:
            message = "a study has either a scenario or cases"
            raise make_invalid_error("relation", message, at=("scenario",))
        # A value that is no text is reported at its own place.
        case = {
            key: document[key]
            for key in ("title", "scenario")
            if isinstance(document.get(key), str)
        }
        return {**document, "cases": {"1": {"title": "", "scenario": "", **case}}}

    @model_validator(mode="after")
    def _check_grid(self) -> StudyFile:
        grids.check_grid(self.grid, self.zip, self.sample)
        return self


class Study(StudyFile):
    """A study file with the files next to it.

    Parameters
    ----------
    published : list of PublishedValue
        Lines of ``published.csv``; none if there is no such file.
    file : Path
        The study file.
    document : mapping
        What it holds, with the places of all keys and values.
    """

    published: list[PublishedValue] = []
    file: Path
    document: Mapping[str, Any] = {}

    def with_kernel_values(self) -> Study:
        """Copy the study with the values that the Linux kernel can run."""
        fitted = [
            each.model_copy(update={"value": self.kernel.get(each.parameter, each.value)})
            for each in self.fitted
        ]
        return self.model_copy(update={"fitted": fitted})

    @property
    def folder(self) -> Path:
        """Folder of the study file."""
        return self.file.parent

    def read_stored_fit(self) -> dict[str, Any] | None:
        """Read the fit that is stored as ``fit.json`` in the folder of the study file.

        None where there is no such file.
        """
        path = self.folder / FIT_JSON
        return json.loads(path.read_text("utf-8")) if path.is_file() else None

    def list_fitted_readings(self) -> list[DocumentReading]:
        """List the readings whose values of parameters are those of a variant."""
        return [reading for reading in self.readings if reading.variant]

    def list_tables(self) -> list[StudyTable]:
        """List every table: the cases, then what varies them."""
        tables = [self._build_table(name, name, None) for name in self.cases]
        for variant in self.variants:
            for name in variant.cases or self.cases:
                tables.append(self._build_table(f"{name}, {variant.name}", name, variant))
        return tables

    def find_table(self, name: str) -> StudyTable:
        """Find one table."""
        if name in self.cases:
            return self._build_table(name, name, None)
        return next(table for table in self.list_tables() if table.name == name)

    def _build_table(self, name: str, base: str, variant: StudyVariant | None) -> StudyTable:
        case = self.cases[base]
        points = self._list_case_points(case)
        rows = {label: (label, "") for label in points}
        columns = self.columns if case.columns is None else case.columns
        if self.measures and case.columns is None:
            rows = {
                measure if len(points) == 1 else f"{label}, {measure}": (label, measure)
                for label in points
                for measure in self.measures
            }
        title = case.title if variant is None else f"{case.title}; {variant.name}"
        runs = (variant.runs if variant else None) or case.runs or self.runs
        return StudyTable(name, title, base, case, variant, points, rows, columns, runs)

    def _list_case_points(self, case: StudyCase | None) -> dict[str, dict[str, str]]:
        if case is not None and case.rows is not None:
            return case.rows
        if case is not None and case.grid is not None:
            point_values = grids.list_points(case.grid)
        else:
            point_values = grids.list_points(self.grid, self.zip, self.sample)
        points: dict[str, dict[str, str]] = {}
        label_counts: Counter[str] = Counter()
        for point in point_values:
            label = ", ".join(point.values()) or "as stated"
            label_counts[label] += 1
            # Steps of a sampled range may meet in a point twice.
            points[label if label_counts[label] == 1 else f"{label} #{label_counts[label]}"] = point
        return points

    def list_points(self, table: str | None = None) -> dict[str, dict[str, str]]:
        """List the points by label: what is set in each; of a table, or of the grid."""
        return self._list_case_points(None) if table is None else self.find_table(table).points

    def get_row_parameters(self, table: StudyTable | None = None) -> tuple[list[float], str]:
        """Give the first parameter of the points, row by row, and its unit.

        That is the unit of the first column where the parameter is of its kind, else the one it is
        written with. A value that is no number with a known unit counts as the number of its row.
        """
        table = table or self.find_table(next(iter(self.cases)))
        value_parts = [
            next(iter(table.points[point].values()), "").partition(" ")
            for point, _ in table.rows.values()
        ]
        units = {name for _, _, name in value_parts}
        if not units <= set(UNITS):
            return [float(number) for number in range(len(value_parts))], ""
        column_unit = next((column.unit for column in table.columns.values()), "")
        unit = (
            column_unit
            if _unit_kind(column_unit) in {_unit_kind(name) for name in units}
            else value_parts[0][2]
        )
        return [float(number) * UNITS[name] / UNITS[unit] for number, _, name in value_parts], unit

    def get_settings(self, table: StudyTable) -> dict[str, str]:
        """Return the parameters that are the same in every row of a table."""
        given = {item.parameter: item.value for item in self.stated}
        fitted = [
            item
            for item in self.fitted
            if item.set and (item.cases is None or table.base in item.cases)
        ]
        values = given | {item.parameter: item.value for item in fitted}
        return values | table.case.set

    def get_unit(self, table: StudyTable, row: str, column: str) -> str:
        """Unit of a cell."""
        return self.find_column(table, row, column).unit

    def find_column(self, table: StudyTable, row: str, column: str) -> StudyColumn:
        """Find the definition of a column."""
        measure = table.rows[row][1]
        own_column = table.columns[column]
        return own_column.merge_measure(self.measures[measure]) if measure else own_column


def _unit_kind(unit: str) -> str:
    return "bit/s" if unit.endswith("bit/s") else "s" if unit in ("s", "ms", "us") else unit
