"""What a study file says: cases, grid, columns, published values, claims, fitted values."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trunkline.scenario.diagnostic import Problems, ScenarioError
from trunkline.scenario.explain import explain
from trunkline.scenario.loader import place_all
from trunkline.scenario.text import parse
from trunkline.study import grid as grids
from trunkline.study.claims import Claim
from trunkline.study.criteria import Answer, Criteria
from trunkline.study.grid import Axis, Sample, Zip

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


class Part(BaseModel):
    """A part of a study file: unknown keys are errors, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Part):
    """The document whose values are compared."""

    document: str
    date: str
    about: str


class Case(Part):
    """One scenario, which gives one table."""

    title: str
    scenario: str
    """File beside the study file."""
    set: dict[str, str] = {}
    """Parameters that this table sets besides those of the study."""
    rows: dict[str, dict[str, str]] | None = None
    """Rows of its own: label to parameters; None: those of the grid."""


class Column(Part):
    """One column of every table: a measure of a flow, class, port or path."""

    measure: str
    """Column of the results table, e.g. ``throughput_bit_s``."""
    unit: str
    table: str = "flows"
    where: dict[str, str]
    """Names that pick the row of the results table; over the rows of ``name[*]``, which stands for
    all replicas of a flow, the measure is summed."""

    @model_validator(mode="after")
    def _known_unit(self) -> Column:
        if self.unit not in UNITS:
            msg = f"unit {self.unit!r} is not one of {', '.join(UNITS)}"
            raise ValueError(msg)
        return self


class Stated(Part):
    """A parameter that the document gives."""

    parameter: str
    value: str
    where: str


class Fitted(Part):
    """A parameter that the document leaves unsaid."""

    parameter: str
    value: str
    reason: str
    cases: list[str] | None = None
    """Tables whose scenarios have the parameter; all if left out."""
    others: list[str] = []
    """Other values worth trying, to see how much hangs on it."""


class Published(Part):
    """A published value."""

    table: str
    row: str
    column: str
    value: float
    doubt: str = ""
    """Why the value is thought to be a misprint or an accident; empty if it is not."""


class Reading(Part):
    """Another way to read the document, with an error of its own."""

    says: str
    instead: dict[str, str] = {}
    """Published table to the table of ours that it is compared with."""
    tables: list[str] | None = None
    """Published tables that count; None: all."""


class Study(Part):
    """A study: what to run, what to measure, what it should show.

    Parameters
    ----------
    study : int
        Version of this form: 1.
    name, title : str
        Short name of the study; a line that says what it is about.
    source : Source or None
        The document; None if there is nothing to compare with.
    seeds : int
        Replications of each point unless asked otherwise; seeds are 1, 2, ...
    cases : dict of str to Case
        Tables by their name in the document; a file with a single scenario says ``scenario``.
    grid : dict of str to list of str
        Parameter of the scenarios to its values, which the file gives as a list or a range.
    zip : list of dict of str to list of str
        Groups of parameters whose values go side by side.
    sample : Sample or None
        A Latin hypercube. Points are the product of grid, groups and sample, in this order.
    row_title : str
        What the rows are, e.g. ``"UDP source rate"``.
    columns : dict of str to Column
        What each column of a table holds.
    stated, fitted : list
        Parameters that the document gives, and those it leaves unsaid with a reason each. All
        are set in every case.
    claims : list of Claim
        What the document says of its tables, as predicates.
    criteria : Criteria or None
        The document's yes-or-no table; its answers are read from ``criteria.csv``.
    readings : list of Reading
        Other ways to read the document, each with an error of its own.
    error : {"relative", "absolute"}
        How cells are compared: by ratio, or by difference where some are zero or nearly so.
    published : list of Published
        Filled from ``published.csv`` beside the study file.
    """

    study: Annotated[int, Field(ge=1, le=1)]
    name: str
    title: str
    source: Source | None = None
    seeds: Annotated[int, Field(ge=1)] = 10
    cases: Annotated[dict[str, Case], Field(min_length=1)]
    grid: dict[str, Axis] = {}
    zip: list[Zip] = []
    sample: Sample | None = None
    row_title: str = ""
    columns: Annotated[dict[str, Column], Field(min_length=1)]
    stated: list[Stated] = []
    fitted: list[Fitted] = []
    claims: list[Claim] = []
    criteria: Criteria | None = None
    readings: list[Reading] = []
    error: Literal["relative", "absolute"] = "relative"
    notes: list[str] = []
    published: list[Published] = []
    folder: Path = Path()

    @classmethod
    def load(cls, path: Path) -> Study:
        """Read a study file, and the published values beside it.

        Parameters
        ----------
        path : Path
            The file, or a folder with a ``study.yaml``. ``published.csv`` and ``criteria.csv`` in
            the same folder belong to it.

        Raises
        ------
        ScenarioError
            The file is not YAML, or says something a study cannot be; each fault with its line.
        """
        file = path / "study.yaml" if path.is_dir() else path
        folder = file.parent
        content = file.read_text("utf-8")
        said, _ = parse(content, str(file))
        if not isinstance(said, Mapping):
            said = {}
        added: dict[str, Any] = {"published": _read(folder / "published.csv"), "folder": folder}
        if isinstance(said.get("criteria"), Mapping):
            answers = _read(folder / "criteria.csv")
            added["criteria"] = {**said["criteria"], "answers": answers}
        try:
            return cls.model_validate({**_with_cases(said), **added})
        except ValidationError as error:
            problems = Problems()
            explain(error, said, problems, set())
            raise ScenarioError(place_all(problems.found, said, str(file)), content) from None

    @model_validator(mode="after")
    def _points_can_be_made(self) -> Study:
        grids.check(self.grid, self.zip, self.sample)
        return self

    @model_validator(mode="after")
    def _published_cells_exist(self) -> Study:
        known = {
            cell
            for table in self.cases
            for cell in itertools.product([table], self.rows(table), self.columns)
        }
        for cell in self.published:
            if (cell.table, cell.row, cell.column) not in known:
                msg = f"published cell {cell.table}, {cell.row}, {cell.column} is not in the study"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _claims_speak_of_cells(self) -> Study:
        for claim in self.claims:
            tables, columns = claim.speaks_of()
            for table in tables - set(self.cases):
                msg = f"claim {claim.name}: there is no table {table!r}"
                raise ValueError(msg)
            for column in columns - set(self.columns):
                msg = f"claim {claim.name}: there is no column {column!r}"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _criteria_speak_of_cells(self) -> Study:
        for answer in self.criteria.answers if self.criteria else ():
            fault = self._fault(self.criteria, answer)
            if fault:
                msg = f"criterion {answer.criterion} of {answer.case}: there is no {fault}"
                raise ValueError(msg)
        return self

    def _fault(self, criteria: Criteria | None, answer: Answer) -> str:
        """What an answer speaks of that is not there."""
        assert criteria is not None
        definition = criteria.definitions.get(answer.criterion)
        if definition is None:
            return f"definition {answer.criterion!r}"
        if answer.group not in criteria.groups:
            return f"group {answer.group!r}"
        columns = {*criteria.columns, *criteria.groups[answer.group]}
        missing = [f"table {name!r}" for name in answer.tables.split() if name not in self.cases]
        missing += [f"column {name!r}" for name in sorted(columns - set(self.columns))]
        missing += [f"row {name!r}" for name in definition.rows if name not in self.rows()]
        return missing[0] if missing else ""

    def rows(self, table: str | None = None) -> dict[str, dict[str, str]]:
        """Rows by label: what is set in each; of a table, or of the grid."""
        own = None if table is None else self.cases[table].rows
        if own is not None:
            return own
        rows: dict[str, dict[str, str]] = {}
        for point in grids.rows(self.grid, self.zip, self.sample):
            label = ", ".join(point.values()) or "as it is"
            # Steps of a sampled range may meet in a point twice.
            again = sum(label == other.partition(" #")[0] for other in rows) if label in rows else 0
            rows[f"{label} #{again + 1}" if again else label] = point
        return rows

    def offered(self) -> list[float]:
        """Give the first parameter of the grid, row by row, in the unit of the first column.

        A value that is no number with a known unit counts as the number of its row.
        """
        unit = UNITS[next(iter(self.columns.values())).unit]
        numbers = []
        for index, values in enumerate(self.rows().values()):
            number, _, name = next(iter(values.values()), "").partition(" ")
            known = name in UNITS
            numbers.append(float(number) * UNITS[name] / unit if known else float(index))
        return numbers

    def settings(self, table: str) -> dict[str, str]:
        """Parameters that are the same in every row of a table."""
        given = {item.parameter: item.value for item in self.stated}
        fitted = [item for item in self.fitted if item.cases is None or table in item.cases]
        values = given | {item.parameter: item.value for item in fitted}
        return values | self.cases[table].set


def _with_cases(said: Mapping[str, Any]) -> dict[str, Any]:
    """What a study file says, a single scenario put as the only case."""
    if "scenario" not in said or "cases" in said:
        return dict(said)
    case = {"title": said.get("title", ""), "scenario": said["scenario"]}
    return {key: value for key, value in said.items() if key != "scenario"} | {"cases": {"1": case}}


def _read(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
