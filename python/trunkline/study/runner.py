"""Running the points of a study: each case and row with every seed, on all cores."""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from trunkline import network as networks
from trunkline import scenario as scenarios
from trunkline.engine.sim import Job, simulate_all
from trunkline.results import Results
from trunkline.study.claims import Values
from trunkline.study.model import UNITS, Study

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Point:
    """One scenario with all its parameters set."""

    table: str
    row: str
    scenario: str
    network_json: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What the runs of a study gave.

    Parameters
    ----------
    columns : dict of (table, column) to ndarray of shape (rows, seeds)
        Values in the unit of the column.
    hash : str
        SHA-256 over the results hashes of all runs, in the order of points and seeds.
    packet_hops : int
        Packets sent on links, over all runs.
    """

    columns: dict[tuple[str, str], Values]
    hash: str
    packet_hops: int


def points(study: Study) -> list[Point]:
    """Compile every point of a study, tables first, then rows.

    Raises
    ------
    ScenarioError
        A scenario of the study, or a value set in it, is wrong.
    """
    made = []
    for table, case in study.cases.items():
        for row, values in study.rows(table).items():
            overrides = study.settings(table) | values
            scenario = scenarios.load(study.folder / case.scenario, overrides=overrides)
            written = networks.compile(scenario).to_json()
            made.append(Point(table, row, scenario.dump(), written))
    return made


def run(
    study: Study, seeds: Sequence[int], *, threads: int | None = None, progress: bool = False
) -> Measured:
    """Run every point with every seed.

    The same seeds are used in every point, so that points share their random numbers.

    Parameters
    ----------
    study : Study
        What to run.
    seeds : sequence of int
        Seeds of the replications.
    threads : int, optional
        Runs at once; all cores if left out. Results do not depend on it.
    progress : bool, default False
        Draw a progress bar on standard error if that is a terminal.
    """
    grid = points(study)
    jobs = [Job(point.network_json, seed, point.scenario) for point in grid for seed in seeds]
    with bar(study.name, len(jobs), shown=progress) as step:
        runs = simulate_all(jobs, threads=threads, progress=step)
    rows = {
        (table, label): number
        for table in study.cases
        for number, label in enumerate(study.rows(table))
    }
    columns = {
        (table, column): np.full((len(study.rows(table)), len(seeds)), np.nan)
        for table in study.cases
        for column in study.columns
    }
    for number, results in enumerate(runs):
        point, seed = grid[number // len(seeds)], number % len(seeds)
        for name in study.columns:
            columns[point.table, name][rows[point.table, point.row], seed] = measure(
                study, name, results
            )
    digest = hashlib.sha256("\n".join(results.hash() for results in runs).encode()).hexdigest()
    hops = sum(int(results.summary["packet_hops"] or 0) for results in runs)
    return Measured(columns, digest, hops)


def measure(study: Study, name: str, results: Results) -> float:
    """Value of a column in one run, in the column's unit; not-a-number where it is null."""
    column = study.columns[name]
    table = results.tables[column.table]
    if not any(value.endswith(_REPLICAS) for value in column.where.values()):
        value = table.where(**column.where)[column.measure]
        return float("nan") if value is None else float(value) / UNITS[column.unit]
    values = [
        row[column.measure]
        for row in table.rows()
        if all(_is(str(row[key]), wanted) for key, wanted in column.where.items())
    ]
    if not values:
        msg = f"{column.table} has no row with {column.where}"
        raise KeyError(msg)
    return math.fsum(float("nan") if v is None else float(v) for v in values) / UNITS[column.unit]


_REPLICAS = "[*]"


def _is(name: str, wanted: str) -> bool:
    stem = wanted.removesuffix(_REPLICAS)
    return (
        name == wanted
        if stem == wanted
        else re.fullmatch(r"\[\d+\]", name.removeprefix(stem)) is not None
    )


@contextmanager
def bar(name: str, total: int, *, shown: bool) -> Iterator[Step | None]:
    """Draw a progress bar on standard error, if that is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{name}: runs", total=total)
        yield lambda done: bar.update(task, completed=done)
