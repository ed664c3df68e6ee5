"""A study's outcome: ours beside what was published, claims judged, fitted values with reasons."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trunkline import rich_form
from trunkline.results import Results, folder as folders
from trunkline.stats import mean_absolute_percentage, mean_interval, mean_log_ratio
from trunkline.study.errors import Refused
from trunkline.study.language.catalogue import find
from trunkline.study.language.claims import Tables, Verdict
from trunkline.study.language.formula import Values
from trunkline.study.language.model import Study
from trunkline.study.language.parts import Reading, Table
from trunkline.study.outcome import files
from trunkline.study.outcome.cells import Cell, Judged, TableError
from trunkline.study.run import runner
from trunkline.study.run.execute import How
from trunkline.study.run.frames import Runs
from trunkline.study.run.perform import performed
from trunkline.study.run.progress import Progress, seen


class Reproduction:
    """A study that was run.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the replications.
    measured : Measured
        What the runs gave, for all tables or for some.
    runs : Runs, optional
        The runs themselves, of which those that are kept are read.
    """

    def __init__(
        self,
        study: Study,
        seeds: Sequence[int],
        measured: runner.Measured,
        runs: Runs | None = None,
    ) -> None:
        self.study = study
        self.seeds = tuple(seeds)
        self.measured = measured
        self.tables = {table.name: table for table in study.tables()}
        self.said = {
            (table.name, one.row, one.column): one
            for one in study.published
            for table in self.tables.values()
            if table.base == one.table
        }
        self.cells = [
            self._cell(table, row, name)
            for table in self.tables.values()
            for row in table.rows
            for name in table.columns
            if (table.name, name) in measured.columns and not study.column(table, row, name).hidden
        ]
        # Read at once: the folder of the runs may go away before anything is drawn.
        self._kept = {} if runs is None else self._read_kept(runs)

    def _cell(self, table: Table, row: str, name: str) -> Cell:
        values = self.measured.columns[table.name, name][list(table.rows).index(row)].tolist()
        one = self.said.get((table.name, row, name))
        return Cell(
            table.name,
            row,
            name,
            self.study.unit(table, row, name),
            one.value if one else None,
            mean_interval(values),
            one.doubt if one else "",
            table.case.published_runs,
        )

    @functools.cached_property
    def claims(self) -> list[Judged]:
        """The study's claims, each with its outcome."""
        ours = self._speaks_of(self.measured.columns)
        theirs = self._speaks_of(self._published_columns())
        theirs = replace(theirs, chance=False)
        judged = []
        for claim in self.study.claims:
            verdict = claim.judge(ours)
            if verdict is None:
                verdict = Verdict("undecided", "a value that it speaks of is not known")
            detail = verdict.detail
            said = claim.judge(theirs)
            if said is not None:
                detail += f"; published: {said.detail}{'' if said.held else ', not held'}"
            judged.append(Judged(claim.name, claim.says, verdict.outcome, detail))
        return judged

    def _speaks_of(self, columns: Mapping[tuple[str, str], Values]) -> Tables:
        tables = self.tables.values()
        return Tables(
            columns,
            {table.name: tuple(table.rows) for table in tables},
            {table.name: self.study.offered(table)[0] for table in tables},
            next(iter(self.tables)),
        )

    def _published_columns(self) -> dict[tuple[str, str], Values]:
        """Published values as columns of a single seed; not-a-number where there is none.

        A variant asks for what was not published, so that it has none.
        """
        columns = {
            (table, column): np.full((len(values), 1), np.nan)
            for (table, column), values in self.measured.columns.items()
        }
        for (name, row, column), one in self.said.items():
            if self.tables[name].variant is not None:
                continue
            columns[name, column][list(self.tables[name].rows).index(row), 0] = one.value
        for table in self.tables.values():
            runner.derive(self.study, table, columns)
        return columns

    def _read_kept(self, runs: Runs) -> dict[str, list[Results]]:
        places = runs.table["run"].to_list()
        found = {}
        for name, table in self.tables.items():
            if table.case.keep and table.variant is None:
                first = self.measured.first[name]
                count = runner.runs_of(self.study, table, len(self.seeds))
                wanted = [places[first + n * count] for n in range(len(table.points))]
                found[name] = [runs.kept(run) for run in wanted]
        return found

    def kept(self, table: str) -> list[Results]:
        """Runs of the first seed of a table, point by point.

        Raises
        ------
        Refused
            They were not kept.
        """
        if table not in self._kept:
            raise Refused(f"a picture needs runs of table {table}: say keep: 1 in its case")
        return self._kept[table]

    def judged(self, table: str) -> list[Cell]:
        """Cells of a table that count in its error."""
        rows = self.study.judged
        compared = [c for c in self.cells if c.table == table and c.published is not None]
        return [c for c in compared if not rows or c.row in rows]

    def error_of(self, row: str, tables: Iterable[str]) -> float:
        """Mean ``|ours - published|`` of a row over tables."""
        off = [
            abs(cell.difference)
            for cell in self.cells
            if cell.row == row and cell.table in tables and cell.difference is not None
        ]
        return float(np.mean(off)) if off else float("nan")

    def mean_absolute_error(self, reading: Reading | None = None) -> float:
        """Mean ``|ours - published|`` of all published cells, in the unit of the columns.

        Parameters
        ----------
        reading : Reading, optional
            Which tables count, and which are compared with others of ours; all as they are if left
            out.
        """
        ours = {(c.table, c.row, c.column): c.ours.mean for c in self.cells}
        instead = {} if reading is None else reading.instead
        counted = self.study.cases if reading is None else reading.tables or self.study.cases
        differences = [
            abs(ours[instead.get(one.table, one.table), one.row, one.column] - one.value)
            for one in self.study.published
            if one.table in counted and (not self.study.judged or one.row in self.study.judged)
        ]
        return float(np.mean(differences)) if differences else float("nan")

    def errors(self) -> dict[str, TableError]:
        """Errors of each table that has published values."""
        found = {table: self._error(self.judged(table)) for table in self.tables}
        return {table: error for table, error in found.items() if error is not None}

    def errors_by_row(self) -> dict[tuple[str, str], TableError]:
        """Errors of each row of each table, where rows are measures of their own."""
        if not self.study.measures:
            return {}
        found = {
            (name, row): self._error([c for c in self.cells if (c.table, c.row) == (name, row)])
            for name, table in self.tables.items()
            for row in table.rows
        }
        return {place: error for place, error in found.items() if error is not None}

    def _error(self, cells: Sequence[Cell]) -> TableError | None:
        compared = [cell for cell in cells if cell.published is not None]
        kept = [cell for cell in compared if not cell.doubt]
        if not kept:
            return None

        def pair(cells: list[Cell]) -> tuple[list[float], list[float]]:
            return [c.ours.mean for c in cells], [float(c.published or 0) for c in cells]

        relative = self.study.error == "relative"
        return TableError(
            len(kept),
            len(compared) - len(kept),
            float(np.mean([abs(c.difference or 0) for c in kept])),
            mean_absolute_percentage(*pair(kept)) if relative else None,
            mean_absolute_percentage(*pair(compared)) if relative else None,
            mean_log_ratio(*pair(kept)) if relative else None,
            sum(c.inside for c in kept),
        )

    def to_json(self) -> dict[str, Any]:
        """As the object ``trunkline reproduce --json`` prints."""
        from trunkline.study.outcome.record import to_json

        return to_json(self)

    def _repr_html_(self) -> str:
        return rich_form.html("reproduction", self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return rich_form.bundle("reproduction", self)

    def render(self, *, width: int | None = None, colour: bool = False) -> str:
        """As tables for a terminal; see :func:`trunkline.study.outcome.render.render`."""
        from trunkline.study.outcome.render import render

        return render(self, width=width, colour=colour)

    def write(self, out: str | Path, *, overwrite: bool = False, pdf: bool = False) -> Path:
        """Write JSON, values and pictures into a new folder, which is whole or not there.

        Parameters
        ----------
        overwrite : bool, default False
            Replace an earlier reproduction there.
        pdf : bool, default False
            Draw each picture as ``.pdf`` too, beside ``.png`` and ``.svg``.

        Returns
        -------
        Path
            The folder; the same study and seeds give the same bytes.
        """
        fill = functools.partial(files.fill, self, pdf=pdf)
        return folders.replace(out, fill, marker=files.STUDY, overwrite=overwrite)

    def add_to(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Write them into the folder of the runs; see `study.outcome.files.add_to`."""
        files.add_to(self, folder, pdf=pdf)


class Subject:
    """A study: what it runs, and what comes of the runs.

    Parameters
    ----------
    name : str
        A study of the package, or a study file, or a folder with a ``study.yaml``.
    runs : int, optional
        Replications of each point, with seeds 1, 2, ...; the study's own number if left out.
    kernel : bool, default False
        With the values that the study has for the Linux kernel.

    Raises
    ------
    LookupError
        There is no such study.
    ScenarioError
        Its file, or one of its scenarios, is wrong.
    """

    def __init__(self, name: str, *, runs: int | None = None, kernel: bool = False) -> None:
        found = find(name)
        self.study = found.for_kernel() if kernel else found
        self.seeds = range(1, (runs or self.study.runs) + 1)
        self.plan = runner.plan(self.study, self.seeds)

    def outcome(self, runs: Runs) -> Reproduction:
        """What comes of the runs, all of which have ended."""
        return Reproduction(self.study, self.seeds, runner.measured(self.study, runs), runs)


def reproduce(
    name: str,
    *,
    runs: int | None = None,
    out: str | Path | None = None,
    progress: bool | Progress = True,
    threads: int | None = None,
    how: How | None = None,
    resume: bool = False,
    overwrite: bool = False,
    pdf: bool = False,
) -> Reproduction:
    """Run a study and compare it with what was published.

    Parameters
    ----------
    name : str
        A study of the package, or a study file, or a folder with a ``study.yaml``.
    runs : int, optional
        Replications of each point, with seeds 1, 2, ...; the study's own number if left out.
    out : str or Path, optional
        Folder for the runs and what comes of them.
    progress : bool or Progress, default True
        Draw a progress bar in a notebook, or if standard error is a terminal.
    threads : int, optional
        Runs at once; all cores if left out.
    how : How, optional
        Where and within what limits, in place of ``threads``.
    resume, overwrite : bool, default False
        Go on with what is in the folder, or replace it.
    pdf : bool, default False
        Draw each picture as ``.pdf`` too, beside ``.png`` and ``.svg``.

    Returns
    -------
    Reproduction
        Cells, claims and errors.

    Raises
    ------
    LookupError
        There is no such study.
    Incomplete
        Some runs failed.
    """
    subject = Subject(name, runs=runs)
    if isinstance(progress, bool):
        name = subject.plan.name
        progress = seen(name) if progress else Progress(name)
    chosen = how or How(threads=threads)
    kept = {"resume": resume, "overwrite": overwrite}
    with performed(subject.plan, out=out, how=chosen, progress=progress, **kept) as ended:
        done = subject.outcome(ended)
        if out is not None:
            done.add_to(out, pdf=pdf)
    return done
