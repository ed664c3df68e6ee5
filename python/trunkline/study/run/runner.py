"""The points of a study file, and what their runs gave as tables of values."""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trunkline import network as networks
from trunkline.scenario import Scenario
from trunkline.scenario.sla import Bound, row_of_dscp
from trunkline.study.language import formula
from trunkline.study.language.claims import Tables
from trunkline.study.language.draws import written
from trunkline.study.language.formula import Values
from trunkline.study.language.loading import scenario_of, text_of
from trunkline.study.language.model import Study
from trunkline.study.language.parts import Table
from trunkline.study.language.values import Column
from trunkline.study.run.execute import How
from trunkline.study.run.frames import Runs
from trunkline.study.run.measure import of_columns
from trunkline.study.run.perform import performed
from trunkline.study.run.plan import Plan, Point

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Measured:
    """What the runs of a study gave.

    Parameters
    ----------
    columns : dict of (table, column) to ndarray of shape (rows, seeds)
        Values in the unit of the cell.
    hash : str
        SHA-256 over the results hashes of all runs, in the order of points and seeds.
    packet_hops : int
        Packets sent on links, over all runs.
    samples : dict of (table, column) to ndarray of shape (rows, seeds, samples)
        Columns that keep all samples of a series.
    first : dict of str to int
        Number of each table's first run.
    """

    columns: dict[tuple[str, str], Values]
    hash: str
    packet_hops: int
    runs: int = 0
    samples: dict[tuple[str, str], Values] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)


def runs_of(study: Study, table: Table, asked: int) -> int:
    """Replications of a table's points, in proportion where others than the study's are asked for.

    Two are the least that have an interval.
    """
    if table.runs == study.runs:
        return asked
    return max(min(2, table.runs), table.runs * asked // study.runs)


def plan(study: Study, seeds: Sequence[int]) -> Plan:
    """Compile every point of a study, tables first, then rows.

    The same seeds are used in every point, so that points share their random numbers.

    Raises
    ------
    ScenarioError
        A scenario of the study, or a value set in it, is wrong.
    """
    tables = study.tables()
    points = []
    for table in tables:
        columns = _measured(study, table)
        wanted = runs_of(study, table, len(seeds))
        # A table with more replications than the study goes on after the study's last seed.
        own = [*seeds, *range(max(seeds) + 1, max(seeds) + 1 + wanted - len(seeds))][:wanted]
        drawn = written(
            study.name, [d for d in study.draws if d.cases is None or table.base in d.cases]
        )
        for label, values in table.points.items():
            scenario = scenario_of(study, table, values)
            labels = dict(values) if table.case.rows is None else {"row": label}
            if len(tables) > 1:
                labels = {"table": table.name, **labels}
            network, failing = networks.compile(scenario), _failing(scenario)
            bounds = scenario.bounds()
            dscps = _dscps(network, bounds) if scenario.failures else None
            points.append(
                Point(
                    network.to_json(),
                    tuple(own),
                    sys.intern(of_columns(columns, bounds, dscps)),
                    labels=labels,
                    scenario=functools.partial(text_of, study, table, values),
                    keep=table.case.keep if table.variant is None else 0,
                    draws=drawn,
                    failing=failing,
                )
            )
    return Plan(study.name, study.title, points)


def _failing(scenario: Scenario) -> tuple[str, ...]:
    """What fails while a scenario runs: its links, and its nodes with that word before them."""
    found: dict[str, None] = {}
    for failure in scenario.failures.values():
        if all(each.at >= scenario.run.duration for each in failure.times) and failure.times:
            continue
        found |= dict.fromkeys((*failure.link, *(f"node {node}" for node in failure.node)))
    return tuple(found)


def _dscps(network: networks.Network, bounds: Sequence[Bound]) -> dict[str, list[str]]:
    """Each DSCP of a scenario, and the agreements about it or about its flows."""
    dscps: dict[str, set[str]] = {}
    for flow in network.flows:
        dscps.setdefault(row_of_dscp(flow["dscp"]), set()).add(str(flow["name"]))
    return {
        name: list(
            dict.fromkeys(
                bound.sla
                for bound in bounds
                if (name in bound.rows if bound.table == "aggregates" else flows & set(bound.rows))
            )
        )
        for name, flows in dscps.items()
    }


def _measured(study: Study, table: Table) -> dict[str, Mapping[str, object]]:
    """What is measured in each run of a table, by the name it has in the data set."""
    return {name: its.to_measure() for _, _, name, its in _cells(study, table) if its.value is None}


def _cells(study: Study, table: Table) -> Iterator[tuple[str, str, str, Column]]:
    """Measure, column, name in the data set, and how it is got."""
    for name, column in table.columns.items():
        for measure in dict.fromkeys(measure for _, measure in table.rows.values()):
            if measure:
                its = column.picks(study.measures[measure])
                yield measure, name, f"{measure} {name}", its
            else:
                yield "", name, name, column


def measured(study: Study, runs: Runs) -> Measured:
    """Values of a study whose runs have all ended.

    Parameters
    ----------
    runs : Runs
        The results, in the order of :func:`plan`.
    """
    made = Measured(
        {}, digest(runs.table["hash"]), int(runs.table["packet_hops"].sum()), len(runs.table)
    )
    counts = runs.table["point"].value_counts().sort("point")["count"].to_list()
    row = place = 0
    for table in study.tables():
        count = len(table.points) * counts[place]
        made.first[table.name] = row
        read_table(study, table, runs.table.slice(row, count), made)
        row, place = row + count, place + len(table.points)
    return made


def read_table(study: Study, table: Table, block: pl.DataFrame, made: Measured) -> None:
    """Read the values of a table.

    Parameters
    ----------
    block : polars.DataFrame
        Its runs, which have all ended, in the order of :func:`plan`.
    made : Measured
        Takes them in; has those of the tables before it, of which a formula may speak.
    """
    points = len(table.points)
    seeds = len(block) // points
    for name in table.columns:
        made.columns[table.name, name] = np.full((len(table.rows), seeds), np.nan)
    for number, (_, column, name, its) in enumerate(_cells(study, table)):
        if its.listed:
            kept = np.array(block[name].to_list())
            made.samples[table.name, column] = kept.reshape(points, seeds, -1)
            del made.columns[table.name, column]
        elif its.value is None:
            step = len(table.rows) // points
            values = block[name].to_numpy().reshape(points, seeds)
            made.columns[table.name, column][number % step :: step] = values
    derive(study, table, made.columns)


def derive(study: Study, table: Table, columns: dict[tuple[str, str], Values]) -> None:
    """Work out what is given by formulas, where nothing is known yet.

    Parameters
    ----------
    columns : dict of (table, column) to ndarray
        Values so far; those of the table are filled in.
    """
    measured = study.measures if any(measure for _, measure in table.rows.values()) else {}
    family = measured or table.columns
    formulas = {name: its.value for name, its in family.items() if its.value is not None}
    if not formulas:
        return
    rows = {each.name: tuple(each.rows) for each in study.tables()}
    numbers = {table.name: study.offered(table)[0]}
    for name in formula.in_order(formulas):
        tree = formula.parse(formulas[name], claim=False)
        if not measured:
            _fill(columns[table.name, name], tree, Tables(columns, rows, numbers, table.name))
            continue
        # A formula of measures is worked out at each column for itself.
        step, place = len(measured), list(measured).index(name)
        for column in table.columns:
            own = columns[table.name, column]
            beside = {("", each): own[n::step] for n, each in enumerate(measured)}
            _fill(own[place::step], tree, Tables(beside, {"": tuple(table.points)}))


def _fill(cells: Values, tree: ast.expr, scope: Tables) -> None:
    made = np.broadcast_to(formula.value(tree, scope).values, cells.shape)
    np.copyto(cells, made, where=np.isnan(cells))


def digest(hashes: Iterable[str]) -> str:
    """SHA-256 over results hashes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def run(study: Study, seeds: Sequence[int], *, threads: int | None = None) -> Measured:
    """Run every point with every seed and keep nothing on disk.

    Parameters
    ----------
    threads : int, optional
        Runs at once; all cores if left out. Results do not depend on it.
    """
    with performed(plan(study, seeds), how=How(threads=threads)) as runs:
        return measured(study, runs)
