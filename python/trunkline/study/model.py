"""What a study file says: cases, grid, columns, published values, claims, fitted values."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trunkline.scenario.diagnostic import Problems, ScenarioError
from trunkline.scenario.explain import explain
from trunkline.scenario.loader import place_all
from trunkline.scenario.text import parse
from trunkline.study.claims import Claim

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


class Column(Part):
    """One column of every table: a measure of a flow, class, port or path."""

    measure: str
    """Column of the results table, e.g. ``throughput_bit_s``."""
    unit: str
    table: str = "flows"
    where: dict[str, str]
    """Names that pick the row of the results table."""

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


class Study(Part):
    """A study: what to run, what to measure, what it should show.

    Parameters
    ----------
    study : int
        Version of this form: 1.
    name, title : str
        Short name of the study; a line that says what it is about.
    source : Source
        The document.
    seeds : int
        Replications of each point unless asked otherwise; seeds are 1, 2, ...
    cases : dict of str to Case
        Tables by their name in the document.
    grid : dict of str to list of str
        Parameter of the scenarios to its values; points are their product, in order.
    row_title : str
        What the rows are, e.g. ``"UDP source rate"``.
    columns : dict of str to Column
        What each column of a table holds.
    stated, fitted : list
        Parameters that the document gives, and those it leaves unsaid with a reason each. All
        are set in every case.
    claims : list of Claim
        What the document says of its tables, as predicates.
    published : list of Published
        Filled from ``published.csv`` beside the study file.
    """

    study: Annotated[int, Field(ge=1, le=1)]
    name: str
    title: str
    source: Source
    seeds: Annotated[int, Field(ge=1)]
    cases: dict[str, Case]
    grid: dict[str, list[str]]
    row_title: str
    columns: dict[str, Column]
    stated: list[Stated]
    fitted: list[Fitted]
    claims: list[Claim]
    notes: list[str] = []
    published: list[Published] = []
    folder: Path = Path()

    @classmethod
    def load(cls, folder: Path) -> Study:
        """Read ``study.yaml`` and ``published.csv`` of a folder.

        Raises
        ------
        ScenarioError
            The file is not YAML, or says something a study cannot be; each fault with its line.
        """
        file = folder / "study.yaml"
        content = file.read_text("utf-8")
        said, _ = parse(content, str(file))
        if not isinstance(said, Mapping):
            said = {}
        table = folder / "published.csv"
        published: list[dict[str, str]] = []
        if table.exists():
            with table.open(encoding="utf-8", newline="") as lines:
                published = list(csv.DictReader(lines))
        try:
            return cls.model_validate({**said, "published": published, "folder": folder})
        except ValidationError as error:
            problems = Problems()
            explain(error, said, problems, set())
            raise ScenarioError(place_all(problems.found, said, str(file)), content) from None

    @model_validator(mode="after")
    def _published_cells_exist(self) -> Study:
        known = set(itertools.product(self.cases, self.rows(), self.columns))
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

    def rows(self) -> dict[str, dict[str, str]]:
        """Rows by label: the values of the grid's parameters in each."""
        product = itertools.product(*self.grid.values())
        return {", ".join(values): dict(zip(self.grid, values, strict=True)) for values in product}

    def offered(self) -> list[float]:
        """Give the first parameter of the grid, row by row, in the unit of the first column.

        A value that is no number with a known unit counts as the number of its row.
        """
        first = next(iter(self.grid))
        unit = UNITS[next(iter(self.columns.values())).unit]
        numbers = []
        for index, values in enumerate(self.rows().values()):
            number, _, name = values[first].partition(" ")
            known = name in UNITS
            numbers.append(float(number) * UNITS[name] / unit if known else float(index))
        return numbers

    def settings(self, table: str) -> dict[str, str]:
        """Parameters that are the same in every row of a table."""
        given = {item.parameter: item.value for item in self.stated}
        fitted = [item for item in self.fitted if item.cases is None or table in item.cases]
        return given | {item.parameter: item.value for item in fitted}
