"""A study's outcome: our values next to the published ones, claims, fitted values."""

import functools
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trunkline import notebook_form
from trunkline.results import Results, atomic_folder as folders
from trunkline.stats import mean_absolute_percentage, mean_interval, mean_log_ratio
from trunkline.study.errors import StudyError
from trunkline.study.language.catalogue import find_study
from trunkline.study.language.claims import ClaimOutcome, ClaimVerdict
from trunkline.study.language.formula import SeedValues
from trunkline.study.language.model import Study
from trunkline.study.language.parts import DocumentReading, StudyTable
from trunkline.study.outcome import reproduction_files
from trunkline.study.outcome.claim_precision import ClaimReplication, SureClaims
from trunkline.study.outcome.compared_cells import (
    ClaimResult,
    ComparedCell,
    TableError,
    to_json_number,
)
from trunkline.study.run import runner
from trunkline.study.run.data_set import Runs, read
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.progress import Progress, choose_progress
from trunkline.study.run.replication import replicate_in_stages
from trunkline.study.run.session import IncompleteStudy, perform_plan


def _compute_mean(values: Sequence[float]) -> float | None:
    """Compute the mean of values; None without any, or where one is not a number."""
    return to_json_number(float(np.mean(values))) if values else None


class Reproduction:
    """A study that was run.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the replications.
    measured : StudyValues
        What the runs gave, for all tables or for some.
    runs : Runs, optional
        The runs themselves, of which those that are kept are read.
    precision : ClaimReplication, optional
        How sure its claims are, if that decided the number of runs.
    """

    def __init__(
        self,
        study: Study,
        seeds: Sequence[int],
        values: runner.StudyValues,
        runs: Runs | None = None,
        precision: ClaimReplication | None = None,
    ) -> None:
        self.study = study
        self.precision = precision
        self.seeds = tuple(seeds)
        self.measured = values
        self.tables = {table.name: table for table in study.list_tables()}
        self.published_values = {
            (table.name, published_value.row, published_value.column): published_value
            for published_value in study.published
            for table in self.tables.values()
            if table.base == published_value.table
        }
        self.cells = [
            self._build_cell(table, row, name)
            for table in self.tables.values()
            for row in table.rows
            for name in table.columns
            if (table.name, name) in values.columns
            and not study.find_column(table, row, name).hidden
        ]
        # Read at once: the folder of the runs may go away before anything is drawn.
        self._kept_runs = {} if runs is None else self._read_kept_runs(runs)

    def _build_cell(self, table: StudyTable, row: str, name: str) -> ComparedCell:
        values = self.measured.columns[table.name, name][list(table.rows).index(row)].tolist()
        published_value = self.published_values.get((table.name, row, name))
        return ComparedCell(
            table.name,
            row,
            name,
            self.study.get_unit(table, row, name),
            published_value.value if published_value else None,
            mean_interval(values),
            published_value.doubt if published_value else "",
            table.case.published_runs,
        )

    @functools.cached_property
    def claims(self) -> list[ClaimResult]:
        """The study's claims, each with its outcome as stated."""
        simulated_tables = runner.build_table_values(self.study, self.measured.columns)
        published_tables = runner.build_table_values(self.study, self._build_published_columns())
        published_tables = replace(published_tables, is_seed_dependent=False)
        results = []
        for claim in self.study.claims:
            verdict = claim.judge(simulated_tables)
            if verdict is None:
                verdict = ClaimVerdict("undecided", "a value that it uses is not known")
            detail = verdict.detail
            published_verdict = claim.judge(published_tables)
            if published_verdict is not None:
                detail += (
                    f"; published: {published_verdict.detail}"
                    f"{'' if published_verdict.is_held else ', not held'}"
                )
            results.append(ClaimResult(claim.name, claim.says, verdict.outcome, detail))
        return results

    def judge_as_read(self, reading: DocumentReading) -> dict[str, ClaimOutcome]:
        """Judge the claims by name on the tables of a fitted reading.

        Claims that use none of its tables are left out: they are as stated. So are those that use a
        table of a variant, which differs from what is stated, not from the reading.
        """
        columns = dict(self.measured.columns)
        replaced = set()
        for name, table in self.tables.items():
            if table.variant is None:
                source = self._find_table_as_read(reading, name)
                replaced |= {name} if source != name else set()
                columns |= {
                    (name, each): columns[source, each]
                    for each in table.columns
                    if (source, each) in columns
                }
        scope = runner.build_table_values(self.study, columns)
        outcomes: dict[str, ClaimOutcome] = {}
        for claim in self.study.claims:
            used = claim.list_tables(scope.default_table)
            if used & replaced and all(self.tables[name].variant is None for name in used):
                verdict = claim.judge(scope)
                outcomes[claim.name] = "undecided" if verdict is None else verdict.outcome
        return outcomes

    def _find_table_as_read(self, reading: DocumentReading, table: str) -> str:
        """The table of ours in place of one: that of the reading's variant, if it has it."""
        of_variant = f"{table}, {reading.variant}"
        return of_variant if of_variant in self.tables else table

    def _build_published_columns(self) -> dict[tuple[str, str], SeedValues]:
        """Published values as columns of a single seed; not-a-number where there is none.

        A variant asks for what was not published, so that it has none.
        """
        columns = {
            (table, column): np.full((len(values), 1), np.nan)
            for (table, column), values in self.measured.columns.items()
        }
        for (name, row, column), published_value in self.published_values.items():
            if self.tables[name].variant is not None:
                continue
            columns[name, column][list(self.tables[name].rows).index(row), 0] = (
                published_value.value
            )
        for table in self.tables.values():
            runner.compute_derived_values(self.study, table, columns)
        return columns

    def _read_kept_runs(self, runs: Runs) -> dict[str, list[Results]]:
        recorded_runs = runs.table["run"].to_list()
        runs_by_table = {}
        for name, table in self.tables.items():
            if table.case.keep and table.variant is None:
                first, count = self.measured.first_runs[name], self.measured.run_counts[name]
                run_numbers = [recorded_runs[first + n * count] for n in range(len(table.points))]
                runs_by_table[name] = [runs.read_kept_run(run) for run in run_numbers]
        return runs_by_table

    def get_kept_runs(self, table: str) -> list[Results]:
        """Return the runs of the first seed of a table, point by point.

        Raises
        ------
        StudyError
            They were not kept.
        """
        if table not in self._kept_runs:
            raise StudyError(f"a picture needs runs of table {table}: say keep: 1 in its case")
        return self._kept_runs[table]

    def list_judged_cells(self, table: str) -> list[ComparedCell]:
        """List the cells of a table that count in its error."""
        rows = self.study.judged
        compared = [c for c in self.cells if c.table == table and c.published is not None]
        return [c for c in compared if not rows or c.row in rows]

    def error_of(self, row: str, tables: Iterable[str]) -> float | None:
        """Mean ``|ours - published|`` of a row over tables; None where one has no value."""
        differences = [
            abs(cell.ours.mean - cell.published)
            for cell in self.cells
            if cell.row == row and cell.table in tables and cell.published is not None
        ]
        return _compute_mean(differences)

    def mean_absolute_error(self, reading: DocumentReading | None = None) -> float | None:
        """Mean ``|ours - published|`` of the cells that are judged, in the unit of the columns.

        Parameters
        ----------
        reading : DocumentReading, optional
            Which tables count, and which are compared with others of ours; all unchanged if left
            out.

        Returns
        -------
        float or None
            None where nothing is published, or ours has no value somewhere.
        """
        differences = [
            math.nan if cell.difference is None else abs(cell.difference)
            for cell in self.list_cells_as_read(reading)
            if not cell.doubt and (not self.study.judged or cell.row in self.study.judged)
        ]
        return _compute_mean(differences)

    def list_cells_as_read(self, reading: DocumentReading | None = None) -> list[ComparedCell]:
        """List the published cells, each with what a reading compares it with.

        reading: As `mean_absolute_error` has it.
        """
        reading = reading or DocumentReading(says="as published")
        counted_tables = reading.tables or self.study.cases
        cells = []
        for published_value in self.study.published:
            if published_value.table in counted_tables:
                place = (published_value.table, published_value.row, published_value.column)
                table, row, column = reading.find_source(*place)
                source = self._build_cell(
                    self.tables[self._find_table_as_read(reading, table)], row, column
                )
                cells.append(
                    replace(
                        source,
                        table=published_value.table,
                        column=published_value.column,
                        published=published_value.value,
                        doubt=published_value.doubt,
                        runs=self.tables[published_value.table].case.published_runs,
                    )
                )
        return cells

    def errors_as_read(self, reading: DocumentReading | None = None) -> dict[str, TableError]:
        """Errors by which readings are set side by side.

        By table; where rows are measures of their own, by table and measure. Several tables in one
        unit have an error together, ``all``.

        reading: As `mean_absolute_error` has it.
        """
        cells_by_name: dict[str, list[ComparedCell]] = {}
        for cell in self.list_cells_as_read(reading):
            if self.study.measures:
                name = f"{cell.table}, {cell.row} [{cell.unit}]"
            elif self.study.judged and cell.row not in self.study.judged:
                continue
            else:
                name = cell.table
            cells_by_name.setdefault(name, []).append(cell)
        cells = [cell for group in cells_by_name.values() for cell in group]
        if len(cells_by_name) > 1 and len({cell.unit for cell in cells}) == 1:
            cells_by_name["all"] = cells
        found = {name: self._compute_table_error(cells) for name, cells in cells_by_name.items()}
        return {name: error for name, error in found.items() if error is not None}

    def errors(self) -> dict[str, TableError]:
        """Errors of each table that has published values."""
        found = {
            table: self._compute_table_error(self.list_judged_cells(table)) for table in self.tables
        }
        return {table: error for table, error in found.items() if error is not None}

    def errors_by_row(self) -> dict[tuple[str, str], TableError]:
        """Errors of each row of each table, where rows are measures of their own."""
        if not self.study.measures:
            return {}
        found = {
            (name, row): self._compute_table_error(
                [c for c in self.cells if (c.table, c.row) == (name, row)]
            )
            for name, table in self.tables.items()
            for row in table.rows
        }
        return {place: error for place, error in found.items() if error is not None}

    def _compute_table_error(self, cells: Sequence[ComparedCell]) -> TableError | None:
        compared = [cell for cell in cells if cell.published is not None]
        undoubted = [cell for cell in compared if not cell.doubt]
        if not undoubted:
            return None

        def pair(cells: list[ComparedCell]) -> tuple[list[float], list[float]]:
            return [c.ours.mean for c in cells], [float(c.published or 0) for c in cells]

        relative = self.study.error == "relative"
        positive = all(c.ours.mean > 0 for c in undoubted)
        return TableError(
            len(undoubted),
            len(compared) - len(undoubted),
            _compute_mean([abs(a - b) for a, b in zip(*pair(undoubted), strict=True)]),
            to_json_number(mean_absolute_percentage(*pair(undoubted))) if relative else None,
            to_json_number(mean_absolute_percentage(*pair(compared))) if relative else None,
            mean_log_ratio(*pair(undoubted)) if relative and positive else None,
            sum(c.is_inside_prediction for c in undoubted),
        )

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``trunkline reproduce --json`` prints."""
        from trunkline.study.outcome.reproduction_json import build_reproduction_json

        return build_reproduction_json(self)

    def _repr_html_(self) -> str:
        return notebook_form.render_html("reproduction", self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return notebook_form.build_mime_bundle("reproduction", self)

    def render(self, *, width: int | None = None, colour: bool = False) -> str:
        """Render it as tables for a terminal."""
        from trunkline.study.outcome.reproduction_tables import render_reproduction

        return render_reproduction(self, width=width, colour=colour)

    def write(self, out: str | Path, *, overwrite: bool = False, pdf: bool = False) -> Path:
        """Write JSON, values and pictures into a new folder, which is whole or not there.

        Parameters
        ----------
        overwrite : bool, default False
            Replace an earlier reproduction there.
        pdf : bool, default False
            Draw each picture as ``.pdf`` too, besides ``.png`` and ``.svg``.

        Returns
        -------
        Path
            The folder; the same study and seeds give the same bytes.
        """
        fill = functools.partial(reproduction_files.write_reproduction_files, self, pdf=pdf)
        return folders.write_folder(
            out, fill, marker=reproduction_files.STUDY_JSON, overwrite=overwrite
        )

    def add_to(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Write them into the folder of the runs; see `study.outcome.files.add_to`."""
        reproduction_files.add_reproduction_files(self, folder, pdf=pdf)


class StudySubject:
    """A study: its runs and their results.

    name: A study of the package, or a study file, or a folder with a ``study.yaml``.
    runs: Replications of each point, with seeds 1, 2, ...; the study's own number if left out.
    kernel: With the values that the study has for the Linux kernel.
    Raises LookupError: There is no such study.
    Raises ScenarioError: Its file, or one of its scenarios, is wrong.
    """

    def __init__(self, name: str, *, runs: int | None = None, kernel: bool = False) -> None:
        study = find_study(name)
        self.study = study.with_kernel_values() if kernel else study
        self.seeds = range(1, (runs or self.study.runs) + 1)
        self.plan = runner.build_plan(self.study, self.seeds)

    def build_reproduction(
        self, runs: Runs, precision: ClaimReplication | None = None
    ) -> Reproduction:
        """Build the reproduction from the runs, all of which have ended.

        precision: How sure the claims are, if that decided the number of runs.
        """
        values = runner.read_study_values(self.study, runs)
        most_runs = max(values.run_counts.values())
        seeds = self.seeds if precision is None else range(1, most_runs + 1)
        return Reproduction(self.study, seeds, values, runs, precision)

    @contextmanager
    def replicate_until_sure(
        self,
        target: float,
        *,
        max_runs: int,
        options: RunOptions,
        progress: Callable[[], Progress],
        out: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Iterator[Reproduction]:
        """Replicate until all that the study's claims compare is sure.

        target: Half of the 95 % interval of each difference over the larger of the two sides,
            above 0 and below 1.
        max_runs: Maximum number of runs of a point.
        out: Folder of the study; one that is removed in the end if left out.
        resume, overwrite: Action if the folder holds a study.
        Raises IncompleteStudy: Some runs failed.
        Raises StudyError: The study has no claims.
        """
        if not self.study.claims:
            raise StudyError(f"study {self.study.name} has no claims that could be made sure")
        goal = SureClaims(self.study, self.plan, target, max_runs=max_runs)
        with tempfile.TemporaryDirectory(prefix="trunkline-") as scratch:
            folder = Path(scratch) / "study" if out is None else Path(out)
            full_plan, failed = replicate_in_stages(
                self.plan,
                folder,
                goal,
                options=options,
                progress=progress,
                resume=resume,
                overwrite=overwrite,
            )
            if failed:
                raise IncompleteStudy(failed, len(full_plan))
            runs = read(folder)
            yield self.build_reproduction(runs, goal.summarise(runs))


def reproduce(
    name: str,
    *,
    runs: int | None = None,
    out: str | Path | None = None,
    progress: bool | Progress = True,
    threads: int | None = None,
    options: RunOptions | None = None,
    resume: bool = False,
    overwrite: bool = False,
    pdf: bool = False,
    until_ci: float | None = None,
    max_runs: int = 1000,
) -> Reproduction:
    """Run a study and compare it with what was published.

    Parameters
    ----------
    name : str
        A study of the package, or a study file, or a folder with a ``study.yaml``.
    runs : int, optional
        Replications of each point, with seeds 1, 2, ...; the study's own number if left out.
    out : str or Path, optional
        Folder for the runs and their results.
    progress : bool or Progress, default True
        Draw a progress bar in a notebook, or if standard error is a terminal.
    threads : int, optional
        Runs at once; all cores if left out.
    options : RunOptions, optional
        Where and within what limits, in place of ``threads``.
    resume, overwrite : bool, default False
        Continue with the content of the folder, or replace it.
    pdf : bool, default False
        Draw each picture as ``.pdf`` too, besides ``.png`` and ``.svg``.
    until_ci : float, optional
        In place of ``runs``: replicate until half of the 95 % interval of each difference that a
        claim is about is within this share of the larger of the two sides; above 0 and below 1.
    max_runs : int, default 1000
        Maximum number of runs of a point with ``until_ci``.

    Returns
    -------
    Reproduction
        Cells, claims and errors; with ``until_ci`` how sure the claims are (``precision``).

    Raises
    ------
    LookupError
        There is no such study.
    IncompleteStudy
        Some runs failed.
    """
    study_subject = StudySubject(name, runs=runs)

    def make_progress() -> Progress:
        if isinstance(progress, Progress):
            return progress
        name = study_subject.plan.name
        return choose_progress(name) if progress else Progress(name)

    run_options = options or RunOptions(threads=threads)
    folder_policy = {"resume": resume, "overwrite": overwrite}
    if until_ci is not None:
        if runs is not None:
            raise ValueError("runs and until_ci exclude each other")
        with study_subject.replicate_until_sure(
            until_ci,
            max_runs=max_runs,
            options=run_options,
            progress=make_progress,
            out=out,
            **folder_policy,
        ) as reproduction:
            if out is not None:
                reproduction.add_to(out, pdf=pdf)
        return reproduction
    with perform_plan(
        study_subject.plan, out=out, options=run_options, progress=make_progress(), **folder_policy
    ) as ended_runs:
        reproduction = study_subject.build_reproduction(ended_runs)
        if out is not None:
            reproduction.add_to(out, pdf=pdf)
    return reproduction
