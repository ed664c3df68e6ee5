"""The points of a study file, and what their runs gave as tables of values."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trunkline import network as networks
from trunkline import scenario as scenarios
from trunkline.study.claims import Values
from trunkline.study.frames import Runs
from trunkline.study.measure import of_columns
from trunkline.study.model import UNITS, Study
from trunkline.study.perform import performed
from trunkline.study.plan import Plan, Point


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


def plan(study: Study, seeds: Sequence[int]) -> Plan:
    """Compile every point of a study, tables first, then rows.

    The same seeds are used in every point, so that points share their random numbers.

    Raises
    ------
    ScenarioError
        A scenario of the study, or a value set in it, is wrong.
    """
    columns = {
        name: {
            "table": column.table,
            "measure": column.measure,
            "where": column.where,
            "unit": column.unit,
            "scale": UNITS[column.unit],
        }
        for name, column in study.columns.items()
    }
    several = len(study.cases) > 1
    points = []
    for table, case in study.cases.items():
        file = study.folder / case.scenario
        for row, values in study.rows(table).items():
            overrides = study.settings(table) | values
            scenario = scenarios.load(file, overrides=overrides)
            labels = dict(values) if case.rows is None else {"row": row}
            if several:
                labels = {"table": table, **labels}
            points.append(
                Point(
                    networks.compile(scenario).to_json(),
                    tuple(seeds),
                    sys.intern(of_columns(columns, scenario.bounds())),
                    labels=labels,
                    scenario=_text(file, overrides),
                )
            )
    return Plan(study.name, study.title, points)


def _text(file: Path, overrides: dict[str, str]) -> Callable[[], str]:
    return lambda: scenarios.load(file, overrides=overrides).dump()


def measured(study: Study, runs: Runs) -> Measured:
    """Values of a study whose runs have all ended.

    Parameters
    ----------
    study : Study
        What was run.
    runs : Runs
        What came of it, in the order of :func:`plan`.
    """
    columns = {}
    first = 0
    sizes = [len(study.rows(table)) for table in study.cases]
    seeds = len(runs.table) // sum(sizes)
    for table, rows in zip(study.cases, sizes, strict=True):
        block = runs.table.slice(first, rows * seeds)
        first += rows * seeds
        for name in study.columns:
            columns[table, name] = block[name].to_numpy().reshape(rows, seeds)
    return Measured(columns, digest(runs.table["hash"]), int(runs.table["packet_hops"].sum()))


def digest(hashes: Iterable[str]) -> str:
    """SHA-256 over results hashes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def run(study: Study, seeds: Sequence[int], *, threads: int | None = None) -> Measured:
    """Run every point with every seed and keep nothing on disk.

    Parameters
    ----------
    study : Study
        What to run.
    seeds : sequence of int
        Seeds of the replications.
    threads : int, optional
        Runs at once; all cores if left out. Results do not depend on it.
    """
    from trunkline.study.execute import How

    with performed(plan(study, seeds), how=How(threads=threads)) as runs:
        return measured(study, runs)
