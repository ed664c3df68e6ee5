"""The points of a study file, and the tables of values from their runs."""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trunkline import network as networks
from trunkline.scenario import Scenario
from trunkline.scenario.sla import SlaBound, get_row_of_dscp
from trunkline.study.language import formula
from trunkline.study.language.claims import TableValues
from trunkline.study.language.formula import SeedValues
from trunkline.study.language.model import Study
from trunkline.study.language.parts import StudyTable
from trunkline.study.language.point_scenarios import dump_point_scenario, load_point_scenario
from trunkline.study.language.random_draws import serialise_draws
from trunkline.study.language.study_columns import StudyColumn
from trunkline.study.run.data_set import Runs
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.run_measures import build_measure
from trunkline.study.run.run_plan import RunPlan, StudyPoint
from trunkline.study.run.session import perform_plan

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class StudyValues:
    """Values from the runs of a study."""

    # shape (rows, seeds): Values in the unit of the cell.
    columns: dict[tuple[str, str], SeedValues]
    hash: str  # SHA-256 over the results hashes of all runs, in the order of points and seeds.
    packet_hops: int  # Packets sent on links, over all runs.
    runs: int = 0
    # shape (rows, seeds, samples): Columns that keep all samples of a series.
    samples: dict[tuple[str, str], SeedValues] = field(default_factory=dict)
    first_runs: dict[str, int] = field(default_factory=dict)  # Number of each table's first run.
    run_counts: dict[str, int] = field(default_factory=dict)  # Runs of each of a table's points.


def build_table_values(study: Study, columns: Mapping[tuple[str, str], SeedValues]) -> TableValues:
    """Build what the formulas of a study's claims refer to from the columns of its tables."""
    tables = study.list_tables()
    return TableValues(
        columns,
        {table.name: tuple(table.rows) for table in tables},
        {table.name: study.get_row_parameters(table)[0] for table in tables},
        tables[0].name,
    )


def count_table_runs(study: Study, table: StudyTable, requested: int) -> int:
    """Replications of a table's points, in proportion where others than the study's are asked for.

    Two are the least that have an interval.
    """
    if table.runs == study.runs:
        return requested
    return max(min(2, table.runs), table.runs * requested // study.runs)


def build_plan(study: Study, seeds: Sequence[int]) -> RunPlan:
    """Compile every point of a study, tables first, then rows.

    The same seeds are used in every point, so that points share their random numbers.

    Raises ScenarioError: A scenario of the study, or a value set in it, is wrong.
    """
    tables = study.list_tables()
    points = []
    for table in tables:
        run_count = count_table_runs(study, table, len(seeds))
        # A table with more replications than the study continues after the study's last seed.
        table_seeds = [*seeds, *range(max(seeds) + 1, max(seeds) + 1 + run_count - len(seeds))][
            :run_count
        ]
        for point in build_table_points(study, table, table_seeds):
            name = {"table": table.name} if len(tables) > 1 else {}
            points.append(replace(point, labels={**name, **point.labels}))
    return RunPlan(study.name, study.title, points)


def build_table_points(
    study: Study, table: StudyTable, seeds: Sequence[int]
) -> Iterator[StudyPoint]:
    """Compile the points of a table, row after row.

    Raises ScenarioError: The scenario, or a value set in it, is wrong.
    """
    columns = _list_measures(study, table)
    draws_text = serialise_draws(
        study.name, [d for d in study.draws if d.cases is None or table.base in d.cases]
    )
    for label, values in table.points.items():
        scenario = load_point_scenario(study, table, values)
        network, failing = networks.compile(scenario), _list_failing(scenario)
        bounds = scenario.list_sla_bounds()
        dscps = _group_agreements_by_dscp(network, bounds) if scenario.failures else None
        yield StudyPoint(
            network.to_json(),
            tuple(seeds),
            sys.intern(build_measure(columns, bounds, dscps)),
            labels=dict(values) if table.case.rows is None else {"row": label},
            scenario=functools.partial(dump_point_scenario, study, table, values),
            keep=table.case.keep if table.variant is None else 0,
            draws=draws_text,
            failing=failing,
        )


def _list_failing(scenario: Scenario) -> tuple[str, ...]:
    """List the elements that fail while a scenario runs: links, and nodes as ``node NAME``."""
    found: dict[str, None] = {}
    for failure in scenario.failures.values():
        if all(each.at >= scenario.run.duration for each in failure.times) and failure.times:
            continue
        found |= dict.fromkeys((*failure.link, *(f"node {node}" for node in failure.node)))
    return tuple(found)


def _group_agreements_by_dscp(
    network: networks.Network, bounds: Sequence[SlaBound]
) -> dict[str, list[str]]:
    """Group agreements by DSCP: those about it or about its flows."""
    dscps: dict[str, set[str]] = {}
    for flow in network.flows:
        dscps.setdefault(get_row_of_dscp(flow["dscp"]), set()).add(str(flow["name"]))
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


def _list_measures(study: Study, table: StudyTable) -> dict[str, Mapping[str, object]]:
    """List the measures in each run of a table, by their names in the data set."""
    return {
        name: column.to_measure()
        for _, _, name, column in _iterate_columns(study, table)
        if column.value is None
    }


def _iterate_columns(
    study: Study, table: StudyTable
) -> Iterator[tuple[str, str, str, StudyColumn]]:
    """Measure, column, name in the data set, and how it is got."""
    for name, column in table.columns.items():
        for measure in dict.fromkeys(measure for _, measure in table.rows.values()):
            if measure:
                merged = column.merge_measure(study.measures[measure])
                yield measure, name, f"{measure} {name}", merged
            else:
                yield "", name, name, column


def read_study_values(study: Study, runs: Runs) -> StudyValues:
    """Read the values of a study whose runs have all ended.

    runs: The results, in the order of :func:`build_plan`.
    """
    study_values = StudyValues(
        {}, digest_hashes(runs.table["hash"]), int(runs.table["packet_hops"].sum()), len(runs.table)
    )
    counts = runs.table["point"].value_counts().sort("point")["count"].to_list()
    row = place = 0
    for table in study.list_tables():
        count = len(table.points) * counts[place]
        study_values.first_runs[table.name] = row
        study_values.run_counts[table.name] = counts[place]
        read_table_values(study, table, runs.table.slice(row, count), study_values)
        row, place = row + count, place + len(table.points)
    return study_values


def read_table_values(
    study: Study, table: StudyTable, block: pl.DataFrame, study_values: StudyValues
) -> None:
    """Read the values of a table.

    block: Its runs, which have all ended, in the order of :func:`build_plan`.
    study_values: Takes them in; has those of the tables before it, of which a formula may speak.
    """
    points = len(table.points)
    seeds = len(block) // points
    for name in table.columns:
        study_values.columns[table.name, name] = np.full((len(table.rows), seeds), np.nan)
    for number, (_, column, name, column_spec) in enumerate(_iterate_columns(study, table)):
        if column_spec.is_sample_list:
            samples = np.array(block[name].to_list(), dtype=np.float64)
            study_values.samples[table.name, column] = samples.reshape(points, seeds, -1)
            del study_values.columns[table.name, column]
        elif column_spec.value is None:
            step = len(table.rows) // points
            values = block[name].to_numpy().reshape(points, seeds)
            study_values.columns[table.name, column][number % step :: step] = values
    compute_derived_values(study, table, study_values.columns)


def compute_derived_values(
    study: Study, table: StudyTable, columns: dict[tuple[str, str], SeedValues]
) -> None:
    """Compute columns of formulas, where nothing is known yet.

    columns: Values so far; those of the table are filled in.
    """
    measures = study.measures if any(measure for _, measure in table.rows.values()) else {}
    family = measures or table.columns
    formulas = {
        name: column_spec.value
        for name, column_spec in family.items()
        if column_spec.value is not None
    }
    if not formulas:
        return
    rows = {each.name: tuple(each.rows) for each in study.list_tables()}
    numbers = {table.name: study.get_row_parameters(table)[0]}
    for name in formula.order_by_dependency(formulas):
        tree = formula.parse_formula(formulas[name], claim=False)
        if not measures:
            _fill_unknown(
                columns[table.name, name], tree, TableValues(columns, rows, numbers, table.name)
            )
            continue
        # A formula of measures is worked out at each column for itself.
        step, place = len(measures), list(measures).index(name)
        for column in table.columns:
            column_cells = columns[table.name, column]
            sibling_columns = {("", each): column_cells[n::step] for n, each in enumerate(measures)}
            _fill_unknown(
                column_cells[place::step],
                tree,
                TableValues(sibling_columns, {"": tuple(table.points)}),
            )


def shuffle_seeds(
    study: Study, columns: Mapping[tuple[str, str], SeedValues], random: np.random.Generator
) -> dict[tuple[str, str], SeedValues]:
    """Give each point its seeds in another order, as if it had been run with seeds of its own.

    Columns of formulas are computed anew from the shuffled ones.

    columns: Values of all tables.
    """
    shuffled: dict[tuple[str, str], SeedValues] = {}
    for table in study.list_tables():
        step = len(table.rows) // len(table.points)
        orders: list[NDArray[np.intp]] = []
        for number, (_, column, _, column_spec) in enumerate(_iterate_columns(study, table)):
            if (table.name, column) not in columns:
                continue
            values = columns[table.name, column]
            if not orders:
                orders = [random.permutation(values.shape[1]) for _ in table.points]
            made = shuffled.setdefault((table.name, column), np.full(values.shape, np.nan))
            rows = slice(number % step, None, step)
            if column_spec.value is None:
                made[rows] = np.take_along_axis(values[rows], np.array(orders), axis=1)
        compute_derived_values(study, table, shuffled)
    return shuffled


def _fill_unknown(cells: SeedValues, tree: ast.expr, scope: TableValues) -> None:
    computed = np.broadcast_to(formula.evaluate_formula(tree, scope).values, cells.shape)
    np.copyto(cells, computed, where=np.isnan(cells))


def digest_hashes(hashes: Iterable[str]) -> str:
    """SHA-256 over results hashes, in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def run_in_memory(study: Study, seeds: Sequence[int], *, threads: int | None = None) -> StudyValues:
    """Run every point with every seed and keep nothing on disk.

    threads: Runs at once; all cores if left out. Results do not depend on it.
    """
    with perform_plan(build_plan(study, seeds), options=RunOptions(threads=threads)) as runs:
        return read_study_values(study, runs)
