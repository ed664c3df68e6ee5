"""What a study file says: cases, points, values, what was published, claims, pictures."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from trunkline import network as networks
from trunkline import scenario as scenarios
from trunkline.scenario.diagnostic import Problems, ScenarioError, nearest
from trunkline.scenario.explain import explain
from trunkline.scenario.fields import invalid
from trunkline.scenario.loader import place_all
from trunkline.scenario.text import parse
from trunkline.study import formula
from trunkline.study import grid as grids
from trunkline.study.claims import Claim
from trunkline.study.criteria import Answer, Criteria
from trunkline.study.draws import Draw, drawn, written
from trunkline.study.errors import Refused
from trunkline.study.formula import FormulaError
from trunkline.study.grid import Axis, Sample, Zip
from trunkline.study.parts import (
    Case,
    Fitted,
    Overview,
    Published,
    Reading,
    Source,
    Stated,
    Table,
    Variant,
)
from trunkline.study.pictures import Picture
from trunkline.study.values import UNITS, Column, Part

Place = tuple[str | int, ...]


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
    variants : list of Variant
        Cases once more with something changed.
    draws : list of Draw
        What is drawn anew for each seed.
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
    measures : dict of str to Column
        Rows of tables that have a row for each measure; columns then say where it is taken.
    stated, fitted : list
        Parameters that the document gives, and those it leaves unsaid with a reason each. All
        are set in every case.
    claims : list of Claim
        What the document says of its tables, as formulas.
    criteria : Criteria or None
        The document's yes-or-no table; its answers are read from ``criteria.csv``.
    readings : list of Reading
        Other ways to read the document, each with an error of its own.
    error : {"relative", "absolute"}
        How cells are compared: by ratio, or by difference where some are zero or nearly so.
    judged : list of str
        Rows whose cells count in the errors; all if empty.
    overviews : list of Overview
        Tables over several tables.
    pictures : dict of str to Picture
        What is drawn; a picture of each table if left out.
    published : list of Published
        Filled from ``published.csv`` beside the study file.
    """

    study: Annotated[int, Field(ge=1, le=1)]
    name: str
    title: str
    source: Source | None = None
    seeds: Annotated[int, Field(ge=1)] = 10
    cases: Annotated[dict[str, Case], Field(min_length=1)]
    variants: list[Variant] = []
    draws: list[Draw] = []
    grid: dict[str, Axis] = {}
    zip: list[Zip] = []
    sample: Sample | None = None
    row_title: str = ""
    columns: dict[str, Column] = {}
    measures: dict[str, Column] = {}
    stated: list[Stated] = []
    fitted: list[Fitted] = []
    claims: list[Claim] = []
    criteria: Criteria | None = None
    readings: list[Reading] = []
    error: Literal["relative", "absolute"] = "relative"
    judged: list[str] = []
    overviews: list[Overview] = []
    pictures: dict[str, Picture] | None = None
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
            # In a file, times must have units.
            return cls.model_validate({**_with_cases(said), **added}, context={"text": True})
        except ValidationError as error:
            problems = Problems()
            explain(error, said, problems, set())
            raise ScenarioError(place_all(problems.found, said, str(file)), content) from None

    @model_validator(mode="after")
    def _points_can_be_made(self) -> Study:
        grids.check(self.grid, self.zip, self.sample)
        for case in self.cases.values():
            grids.check(case.grid or {}, (), None)
        return self

    @model_validator(mode="after")
    def _cases_exist(self) -> Study:
        parts: dict[str, Sequence[Variant | Draw | Fitted]]
        parts = {"variants": self.variants, "draws": self.draws, "fitted": self.fitted}
        for key, items in parts.items():
            for index, item in enumerate(items):
                for name in item.cases or ():
                    if name not in self.cases:
                        raise _absent(name, self.cases, at=(key, index, "cases"))
        names = [*self.cases]
        for each in self.variants:
            names += [f"{name}, {each.name}" for name in each.cases or self.cases]
        for name in names:
            if names.count(name) > 1:
                raise invalid("duplicate-name", f"two tables are called {name!r}", at=("variants",))
        return self

    @model_validator(mode="after")
    def _draws_fit(self) -> Study:
        for index, draw in enumerate(self.draws):
            for name in draw.cases or self.cases:
                table = self.table(name)
                values = self.settings(table) | next(iter(table.points.values()))
                scenario = scenarios.load(self.folder / table.case.scenario, overrides=values)
                try:
                    drawn(networks.compile(scenario).to_json(), written(self.name, [draw]), 1)
                except Refused as error:
                    raise invalid("reference", str(error), at=("draws", index)) from None
        return self

    @model_validator(mode="after")
    def _values_are_known(self) -> Study:
        if not self.columns and any(case.columns is None for case in self.cases.values()):
            raise invalid("missing-key", "columns is missing", at=("columns",))
        for at, measures, columns in self._families():
            formulas = {n: its.value for n, its in (measures or columns).items() if its.value}
            try:
                formula.in_order(formulas)
            except FormulaError as error:
                raise invalid("expression", str(error), at=at) from None
            for name, column in columns.items():
                pairs = [(at, name, column)]
                if measures:
                    pairs = [
                        (("measures",), key, column.over(its)) for key, its in measures.items()
                    ]
                for place, key, its in pairs:
                    if its.fault():
                        message = f"{key}: {its.fault()}"
                        raise invalid("missing-key", message, at=(*place, key))
                    known = {formula.identifier(each) for each in measures or columns}
                    for _, wanted, _ in _spoken(its.value):
                        if wanted not in known:
                            raise _absent(wanted, known, at=(*place, key, "value"))
        return self

    def _families(self) -> Iterator[tuple[Place, dict[str, Column], dict[str, Column]]]:
        """Place, measures and columns of the study and of each case that has its own."""
        yield ("columns",), self.measures, self.columns
        for name, case in self.cases.items():
            if case.columns is not None:
                yield ("cases", name, "columns"), {}, case.columns

    @model_validator(mode="after")
    def _published_cells_exist(self) -> Study:
        known = self.published and {
            (name, row, column)
            for name in self.cases
            for table in [self.table(name)]
            for row in table.rows
            for column in table.columns
        }
        for cell in self.published:
            if (cell.table, cell.row, cell.column) not in known:
                msg = f"published cell {cell.table}, {cell.row}, {cell.column} is not in the study"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _claims_speak_of_cells(self) -> Study:
        tables = {table.name: table for table in self.tables()} if self.claims else {}
        for index, claim in enumerate(self.claims):
            at: Place = ("claims", index)
            own = claim.table or next(iter(tables))
            if own not in tables:
                raise _absent(own, tables, at=(*at, "table"))
            tree = formula.parse(claim.that, claim=True)
            for name, column, rows in formula.references(tree):
                if (name or own) not in tables:
                    raise _absent(name or own, tables, at=(*at, "that"))
                table = tables[name or own]
                known = {formula.identifier(each) for each in table.columns} | {formula.EVERY}
                if column not in known:
                    raise _absent(column, known, at=(*at, "that"))
                for row in rows:
                    if row not in table.rows:
                        raise _absent(row, table.rows, at=(*at, "that"))
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

    def tables(self) -> list[Table]:
        """Every table: the cases, then what varies them."""
        tables = [self._table(name, name, None) for name in self.cases]
        for variant in self.variants:
            for name in variant.cases or self.cases:
                tables.append(self._table(f"{name}, {variant.name}", name, variant))
        return tables

    def table(self, name: str) -> Table:
        """One table."""
        if name in self.cases:
            return self._table(name, name, None)
        return next(table for table in self.tables() if table.name == name)

    def _table(self, name: str, base: str, variant: Variant | None) -> Table:
        case = self.cases[base]
        points = self._points(case)
        rows = {label: (label, "") for label in points}
        columns = self.columns if case.columns is None else case.columns
        if self.measures and case.columns is None:
            rows = {
                measure if len(points) == 1 else f"{label}, {measure}": (label, measure)
                for label in points
                for measure in self.measures
            }
        title = case.title if variant is None else f"{case.title}; {variant.name}"
        seeds = (variant.seeds if variant else None) or case.seeds or self.seeds
        return Table(name, title, base, case, variant, points, rows, columns, seeds)

    def _points(self, case: Case | None) -> dict[str, dict[str, str]]:
        if case is not None and case.rows is not None:
            return case.rows
        if case is not None and case.grid is not None:
            made = grids.rows(case.grid)
        else:
            made = grids.rows(self.grid, self.zip, self.sample)
        points: dict[str, dict[str, str]] = {}
        for point in made:
            label = ", ".join(point.values()) or "as it is"
            # Steps of a sampled range may meet in a point twice.
            again = (
                sum(label == other.partition(" #")[0] for other in points) if label in points else 0
            )
            points[f"{label} #{again + 1}" if again else label] = point
        return points

    def rows(self, table: str | None = None) -> dict[str, dict[str, str]]:
        """Points by label: what is set in each; of a table, or of the grid."""
        return self._points(None) if table is None else self.table(table).points

    def offered(self, table: Table | None = None) -> tuple[list[float], str]:
        """Give the first parameter of the points, row by row, and its unit.

        That is the unit of the first column where the parameter is of its kind, else the one it is
        written with. A value that is no number with a known unit counts as the number of its row.
        """
        table = table or self.table(next(iter(self.cases)))
        said = [
            next(iter(table.points[point].values()), "").partition(" ")
            for point, _ in table.rows.values()
        ]
        units = {name for _, _, name in said}
        if not units <= set(UNITS):
            return [float(number) for number in range(len(said))], ""
        own = next((column.unit for column in table.columns.values()), "")
        unit = own if _kind(own) in {_kind(name) for name in units} else said[0][2]
        return [float(number) * UNITS[name] / UNITS[unit] for number, _, name in said], unit

    def settings(self, table: Table) -> dict[str, str]:
        """Parameters that are the same in every row of a table."""
        given = {item.parameter: item.value for item in self.stated}
        fitted = [
            item
            for item in self.fitted
            if item.set and (item.cases is None or table.base in item.cases)
        ]
        values = given | {item.parameter: item.value for item in fitted}
        return values | table.case.set

    def unit(self, table: Table, row: str, column: str) -> str:
        """Unit of a cell."""
        return self.column(table, row, column).unit

    def column(self, table: Table, row: str, column: str) -> Column:
        """How a cell is got."""
        measure = table.rows[row][1]
        its = table.columns[column]
        return its.over(self.measures[measure]) if measure else its


def _kind(unit: str) -> str:
    return "bit/s" if unit.endswith("bit/s") else "s" if unit in ("s", "ms", "us") else unit


def _spoken(value: str | None) -> Iterator[tuple[str | None, str, list[str]]]:
    if value is not None:
        yield from formula.references(formula.parse(value, claim=False))


def _absent(name: str, known: Iterable[str], *, at: Place) -> Exception:
    listed = list(known)
    return invalid(
        "reference",
        f"there is no {name!r} here",
        given=name,
        allowed=", ".join(listed),
        hint=nearest(name, listed),
        at=at,
    )


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
