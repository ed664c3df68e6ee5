"""A study's outcome: ours beside what was published, claims judged, fitted values with reasons."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trunkline.stats import Interval, mean_absolute_percentage, mean_interval, mean_log_ratio
from trunkline.study import runner
from trunkline.study.catalogue import Reproduced, find, program
from trunkline.study.claims import Cells, Values, Verdict
from trunkline.study.criteria import Judgement, judge
from trunkline.study.execute import How
from trunkline.study.files import Written
from trunkline.study.frames import Runs
from trunkline.study.model import Published, Reading, Study
from trunkline.study.perform import performed
from trunkline.study.progress import Progress
from trunkline.study.progress import progress as progress_of

JSON_SCHEMA = 1


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

    def to_dict(self) -> dict[str, Any]:
        """As one cell of the JSON object."""
        return {
            "table": self.table,
            "row": self.row,
            "column": self.column,
            "unit": self.unit,
            "published": self.published,
            "ours": _number(self.ours.mean),
            "low": _number(self.ours.low),
            "high": _number(self.ours.high),
            "note": self.doubt,
        }


def _number(value: float | None) -> float | None:
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


class Reproduction(Written):
    """A study that was run.

    Parameters
    ----------
    study : Study
        What was run.
    seeds : sequence of int
        Seeds of the replications.
    measured : Measured
        What the runs gave.
    """

    def __init__(self, study: Study, seeds: Sequence[int], measured: runner.Measured) -> None:
        self.study = study
        self.seeds = tuple(seeds)
        self.measured = measured
        self.cells = self._cells()
        self.criteria = self._criteria()
        self.claims = self._claims()

    def _cells(self) -> list[Cell]:
        said = {(p.table, p.row, p.column): p for p in self.study.published}
        cells = []
        for table in self.study.cases:
            for number, row in enumerate(self.study.rows(table)):
                for name, column in self.study.columns.items():
                    values = self.measured.columns[table, name][number].tolist()
                    one: Published | None = said.get((table, row, name))
                    cells.append(
                        Cell(
                            table,
                            row,
                            name,
                            column.unit,
                            one.value if one else None,
                            mean_interval(values),
                            one.doubt if one else "",
                        )
                    )
        return cells

    def _claims(self) -> list[Judged]:
        offered = np.array(self.study.offered())
        ours = Cells(self.measured.columns, offered)
        theirs = self.published_cells()
        judged = []
        for claim in self.study.claims:
            verdict = claim.judge(ours)
            detail = verdict.detail
            if theirs is not None:
                said: Verdict = claim.judge(theirs)
                detail += f"; published: {said.detail}{'' if said.held else ', not held'}"
            judged.append(Judged(claim.name, claim.says, verdict.held, detail))
        return judged

    def published_cells(self) -> Cells | None:
        """Make the published values cells of a single seed; None unless there is one for each."""
        columns = self._published_columns()
        if any(np.isnan(values).any() for values in columns.values()):
            return None
        return Cells(columns, np.array(self.study.offered()))

    def _published_columns(self) -> dict[tuple[str, str], Values]:
        """Published values as columns of a single seed; not-a-number where there is none."""
        columns = {
            (table, column): np.full((len(values), 1), np.nan)
            for (table, column), values in self.measured.columns.items()
        }
        for one in self.study.published:
            row = list(self.study.rows(one.table)).index(one.row)
            columns[one.table, one.column][row, 0] = one.value
        return columns

    def _criteria(self) -> list[Judgement]:
        criteria = self.study.criteria
        if criteria is None:
            return []
        rows = dict(zip(self.study.rows(), self.study.offered(), strict=True))
        return judge(criteria, rows, self.measured.columns, self._published_columns())

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
            if one.table in counted
        ]
        return float(np.mean(differences)) if differences else float("nan")

    def errors(self) -> dict[str, TableError]:
        """Errors of each table that has published values."""
        errors = {}
        for table in self.study.cases:
            compared = [c for c in self.cells if c.table == table and c.published is not None]
            kept = [c for c in compared if not c.doubt]
            if not kept:
                continue

            def pair(cells: list[Cell]) -> tuple[list[float], list[float]]:
                return [c.ours.mean for c in cells], [float(c.published or 0) for c in cells]

            inside = sum(
                c.ours.low is not None
                and c.ours.high is not None
                and c.ours.low <= float(c.published or 0) <= c.ours.high
                for c in kept
            )
            relative = self.study.error == "relative"
            errors[table] = TableError(
                len(kept),
                len(compared) - len(kept),
                float(np.mean([abs(c.difference or 0) for c in kept])),
                mean_absolute_percentage(*pair(kept)) if relative else None,
                mean_absolute_percentage(*pair(compared)) if relative else None,
                mean_log_ratio(*pair(kept)) if relative else None,
                inside,
            )
        return errors

    def to_json(self) -> dict[str, Any]:
        """As the object ``trunkline reproduce --json`` prints."""
        tables = {
            table: {
                "cells": error.cells,
                "doubtful": error.doubtful,
                "mean_absolute": error.mean_absolute,
                "mape_percent": error.mape_percent,
                "mape_percent_all": error.mape_percent_all,
                "mean_log_ratio": error.mean_log_ratio,
                "published_inside_interval": error.inside,
            }
            for table, error in self.errors().items()
        }
        return {
            "schema": JSON_SCHEMA,
            "study": self.study.name,
            "seeds": len(self.seeds),
            "cells": [cell.to_dict() for cell in self.cells],
            "claims": [
                {"name": c.name, "held": c.held, "detail": f"{c.says}: {c.detail}"}
                for c in self.claims
            ],
            "criteria": [_criterion(each) for each in self.criteria],
            "fitted": [
                item.model_dump(include={"parameter", "value", "reason"})
                for item in self.study.fitted
            ],
            "summary": {
                "tables": tables,
                "claims_held": sum(claim.held for claim in self.claims),
                "claims": len(self.claims),
                "mean_absolute_error": self.mean_absolute_error(),
                "readings": {
                    each.says: self.mean_absolute_error(each) for each in self.study.readings
                },
                "criteria_agreed": sum(each.agrees for each in self.criteria),
                "criteria": len(self.criteria),
                "runs": len(self.seeds) * sum(len(self.study.rows(t)) for t in self.study.cases),
                "packet_hops": self.measured.packet_hops,
                "hash": self.measured.hash,
            },
        }

    def render(self, *, width: int | None = None, colour: bool = False) -> str:
        """As tables for a terminal; see :func:`trunkline.study.render.render`."""
        from trunkline.study.render import render

        return render(self, width=width, colour=colour)

    def fill(self, folder: Path) -> None:
        """Write JSON, values and pictures; see :func:`trunkline.study.files.fill`."""
        from trunkline.study.files import fill

        fill(self, folder)


def _criterion(each: Judgement) -> dict[str, Any]:
    return each.answer.model_dump() | {
        "statistic": each.ours.mean,
        "low": each.ours.low,
        "high": each.ours.high,
        "statistic_of_published": each.theirs,
        "at_least": each.at_least,
        "ours": "yes" if each.yes else "no",
        "agrees": each.agrees,
    }


class Subject:
    """A study of either kind: what it runs, and what comes of the runs.

    Parameters
    ----------
    name : str
        A study of the package, or a study file, or a folder with a ``study.yaml``.
    seeds : int, optional
        Replications of each point, with seeds 1, 2, ...; the study's own number if left out.

    Raises
    ------
    LookupError
        There is no such study.
    ScenarioError
        Its file, or one of its scenarios, is wrong.
    """

    def __init__(self, name: str, *, seeds: int | None = None) -> None:
        self._program = program(name)
        if self._program is not None:
            self.plan = self._program.plan(seeds=seeds)
            return
        self.study = find(name)
        self.seeds = range(1, (seeds or self.study.seeds) + 1)
        self.plan = runner.plan(self.study, self.seeds)

    def outcome(self, runs: Runs) -> Reproduced:
        """What comes of the runs, all of which have ended."""
        if self._program is not None:
            return self._program.outcome(runs)
        return Reproduction(self.study, self.seeds, runner.measured(self.study, runs))


def reproduce(
    name: str,
    *,
    seeds: int | None = None,
    out: str | Path | None = None,
    progress: bool | Progress = True,
    threads: int | None = None,
    how: How | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> Reproduced:
    """Run a study and compare it with what was published.

    Parameters
    ----------
    name : str
        A study of the package, or a study file, or a folder with a ``study.yaml``.
    seeds : int, optional
        Replications of each point, with seeds 1, 2, ...; the study's own number if left out.
    out : str or Path, optional
        Folder for the runs and what comes of them.
    progress : bool or Progress, default True
        Draw a progress bar if standard error is a terminal.
    threads : int, optional
        Runs at once; all cores if left out.
    how : How, optional
        Where and within what limits, in place of ``threads``.
    resume, overwrite : bool, default False
        Go on with what is in the folder, or replace it.

    Returns
    -------
    Reproduction, or what the study's own program makes
        Cells, claims and errors.

    Raises
    ------
    LookupError
        There is no such study.
    Incomplete
        Some runs failed.
    """
    subject = Subject(name, seeds=seeds)
    if isinstance(progress, bool):
        shown = progress and sys.stderr.isatty()
        progress = progress_of("bar" if shown else "none", subject.plan.name)
    chosen = how or How(threads=threads)
    kept = {"resume": resume, "overwrite": overwrite}
    with performed(subject.plan, out=out, how=chosen, progress=progress, **kept) as runs:
        done = subject.outcome(runs)
        if out is not None:
            done.add_to(out)
    return done
