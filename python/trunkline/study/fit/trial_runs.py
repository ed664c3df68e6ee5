"""Trials of a study: its published tables at settings, run like any study."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trunkline.scenario import ScenarioError
from trunkline.study.errors import StudyError
from trunkline.study.fit.cell_likelihood import CellSources, TargetCell
from trunkline.study.fit.inference import TrialOutcomes
from trunkline.study.fit.parameter_space import FloatArray, FreeParameter
from trunkline.study.language import formula
from trunkline.study.language.model import Study
from trunkline.study.language.parts import (
    DocumentReading,
    FittedParameter,
    PublishedValue,
    StudyTable,
)
from trunkline.study.language.priors import ParameterPrior
from trunkline.study.run import runner
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.journal import RunRecord
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_plan import RunPlan, StudyPoint
from trunkline.study.run.session import hold_and_execute
from trunkline.study.run.store import StudyStore

TRIALS_A_FOLDER = 16
"""Trials that are compiled and stored together; a compiled network takes some 10 kB."""

VARIANT = "variant"  # Name of the parameter that chooses one of the variants.

READING = "reading"  # Name of the parameter that chooses one of the readings of the document.

AS_STATED = "as stated"


def list_free_parameters(
    study: Study, names: Sequence[str] = ()
) -> list[tuple[FreeParameter, FittedParameter | None]]:
    """List the parameters that a fit infers, each with its entry of the study file.

    names: Only these; all with a prior or other values if empty.
    Raises StudyError: There are none, or a name is not among them.
    """
    found: list[tuple[FreeParameter, FittedParameter | None]] = []
    items = [item for item in [*study.fitted, *study.fit.parameters] if item.set]
    inferred = [(item, prior) for item in items if (prior := item.find_prior()) is not None]
    counts = [item.parameter for item, _ in inferred]
    for item, prior in inferred:
        cases = f" ({', '.join(item.cases)})" if item.cases else ""
        name = item.parameter + (cases if counts.count(item.parameter) > 1 else "")
        found.append((FreeParameter(name, prior, item.value), item))
    if study.fit.variants:
        prior = ParameterPrior([AS_STATED, *study.fit.variants])
        found.append((FreeParameter(VARIANT, prior, AS_STATED), None))
    if readings := _list_compared_readings(study):
        prior = ParameterPrior([AS_STATED, *(reading.says for reading in readings)])
        found.append((FreeParameter(READING, prior, AS_STATED, is_run=False), None))
    known = [parameter.name for parameter, _ in found]
    for name in (VARIANT, READING):
        if known.count(name) > 1:
            raise StudyError(
                f"a fit of study {study.name} needs the name {name!r} for what it compares: "
                "rename the parameter of the scenarios"
            )
    for name in names:
        if name not in known:
            raise StudyError(
                f"{name!r} is no parameter that study {study.name} can fit; it has: "
                f"{', '.join(known) or 'none'}"
            )
    if not found:
        raise StudyError(
            f"study {study.name} has nothing to fit: give entries of fitted a prior, or others"
        )
    return [each for each in found if not names or each[0].name in names]


def _list_compared_readings(study: Study) -> list[DocumentReading]:
    """Readings by which a published value of the fit is compared with another value of ours."""
    counted = study.cases if study.fit.tables is None else study.fit.tables
    return [
        reading
        for reading in study.readings
        if not reading.variant
        and (reading.columns or any(table in counted for table in reading.instead))
    ]


def find_sources(
    study: Study, parameters: Sequence[FreeParameter], cells: Sequence[TargetCell]
) -> CellSources:
    """The values of ours that published ones are compared with, by each reading.

    parameters: Those that are inferred, in the order of the unit cube.
    """
    readings = [DocumentReading(says=AS_STATED)]
    chooses = [number for number, parameter in enumerate(parameters) if not parameter.is_run]
    if chooses:
        readings += _list_compared_readings(study)
    wanted = [
        [reading.find_source(cell.table, cell.row, cell.column) for cell in cells]
        for reading in readings
    ]
    places = list(dict.fromkeys(place for each in wanted for place in each))
    order = {place: number for number, place in enumerate(places)}
    return CellSources(
        tuple(places),
        np.array([[order[place] for place in each] for each in wanted]),
        chooses[0] if chooses else 0,
    )


def list_target_cells(study: Study) -> list[TargetCell]:
    """Published values that a fit is to explain: no doubtful ones, of the tables of the fit.

    Raises StudyError: There are none.
    """
    tables = {name: study.find_table(name) for name in study.cases}
    fit = study.fit
    rows = study.judged if fit.rows is None else fit.rows
    chosen = [
        value
        for value in study.published
        if not value.doubt
        and (fit.tables is None or value.table in fit.tables)
        and (fit.points is None or tables[value.table].rows[value.row][0] in fit.points)
        and (not rows or value.row in rows)
    ]
    if not chosen:
        raise StudyError(f"study {study.name} has no published values to fit: see published.csv")
    units = [study.get_unit(tables[value.table], value.row, value.column) for value in chosen]
    sizes: dict[str, list[float]] = {}
    for value, unit in zip(chosen, units, strict=True):
        sizes.setdefault(unit, []).append(abs(value.value))

    def find_scale(value: PublishedValue, unit: str) -> float:
        size = abs(value.value) if study.error == "relative" else float(np.mean(sizes[unit]))
        return max(size, value.rounded_to or 0.0)

    return [
        TargetCell(
            value.table,
            value.row,
            value.column,
            unit,
            value.value,
            value.rounded_to or 1e-9,
            study.cases[value.table].published_runs,
            find_scale(value, unit),
        )
        for value, unit in zip(chosen, units, strict=True)
    ]


def apply_settings(
    study: Study,
    parameters: Sequence[tuple[FreeParameter, FittedParameter | None]],
    settings: Mapping[str, str],
) -> Study:
    """The study with its fitted values replaced."""
    changed = {
        id(item): settings[parameter.name] for parameter, item in parameters if item is not None
    }
    fitted = [
        item.model_copy(update={"value": changed.get(id(item), item.value)})
        for item in [*study.fitted, *study.fit.parameters]
        if id(item) in changed or item in study.fitted
    ]
    return study.model_copy(update={"fitted": fitted})


class TrialRuns:
    """Runs trials of a study, a folder for every few of them, and continues stored ones.

    parameters: Parameters to set.
    places: Table, row and column of each value that is taken from the runs.
    folder: Where they are stored.
    runs: Replications of each point; no two trials share a seed.
    create_progress: Gives the display of the progress of runs with such a name.
    """

    def __init__(
        self,
        study: Study,
        parameters: Sequence[tuple[FreeParameter, FittedParameter | None]],
        places: Sequence[tuple[str, str, str]],
        folder: Path,
        *,
        runs: int,
        options: RunOptions,
        create_progress: Callable[[str], Progress],
        resume: bool = False,
    ) -> None:
        self.study, self.parameters, self.places = study, list(parameters), list(places)
        self.folder, self.runs, self.options = folder, runs, options
        self.create_progress, self.resume = create_progress, resume
        self.ended = 0
        self.names = self._list_needed_tables()

    def _list_needed_tables(self) -> list[str]:
        """Tables of the values, and those that their formulas refer to, in the study's order."""
        needed = {table for table, _, _ in self.places}
        for name in list(needed):
            table = self.study.find_table(name)
            family = [*table.columns.values(), *self.study.measures.values()]
            for column in family:
                if column.value is not None:
                    tree = formula.parse_formula(column.value, claim=False)
                    needed |= {each for each, _, _ in formula.iterate_references(tree) if each}
        tables = (table.name for table in self.study.list_tables())
        return [name for name in tables if name in needed]

    def count_runs_of_trial(self) -> int:
        """Runs of the simulator that a trial takes."""
        return self.runs * self._count_points()

    def list_trial_tables(self, settings: Mapping[str, str]) -> list[StudyTable]:
        """Tables of a trial, each with the variant that is chosen, under the name of its case."""
        # A parameter of the scenarios may have that name too.
        is_chosen = any(item is None and each.name == VARIANT for each, item in self.parameters)
        chosen = settings[VARIANT] if is_chosen else AS_STATED
        variants = {each.name: each.cases for each in self.study.variants}
        tables = []
        for name in self.names:
            has_variant = chosen != AS_STATED and name in (variants[chosen] or self.study.cases)
            table = self.study.find_table(f"{name}, {chosen}" if has_variant else name)
            tables.append(self._set_in_trials(replace(table, name=name)))
        return tables

    def _set_in_trials(self, table: StudyTable) -> StudyTable:
        """A table with the parameters that trials alone have."""
        settings = {**table.case.set, **self.study.fit.set}
        return replace(table, case=table.case.model_copy(update={"set": settings}))

    def _list_run_points(self, table: StudyTable) -> dict[str, dict[str, str]]:
        """Points of a table that trials run."""
        chosen = self.study.fit.points
        return {
            label: each for label, each in table.points.items() if chosen is None or label in chosen
        }

    def run_trials(self, settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
        """Run settings after those before."""
        parts = []
        for first in range(0, len(settings), TRIALS_A_FOLDER):
            parts.append(self._run_folder(settings[first : first + TRIALS_A_FOLDER]))
        return TrialOutcomes(
            np.concatenate([part.values for part in parts]),
            [failure for part in parts for failure in part.failures],
        )

    def _run_folder(self, settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
        first = self.ended + 1
        self.ended += len(settings)
        values = np.full((len(settings), self.runs, len(self.places)), np.nan)
        failures: dict[int, str] = {}
        points: list[StudyPoint] = []
        planned: list[int] = []
        for place, chosen in enumerate(settings):
            try:
                points += self._build_points(first + place, chosen)
                planned.append(place)
            except ScenarioError as error:
                message = error.diagnostics[0].message
                failures[place] = f"{describe_settings(chosen)}: {message}"
        if points:
            name = f"{self.study.name}, trials {first} to {self.ended}"
            plan = RunPlan(name, self.study.title, points)
            store = StudyStore(self.folder / f"trials-{first:05}", plan, resume=self.resume)
            with hold_and_execute(store, self.options, self.create_progress(name)) as failed:
                records = dict(store.records)
                reasons = {failure.task.number: failure.text for failure in failed}
            runs_of_trial = self.count_runs_of_trial()
            for order, place in enumerate(planned):
                numbers = range(order * runs_of_trial, (order + 1) * runs_of_trial)
                missing = [number for number in numbers if number not in records]
                if missing:
                    text = reasons.get(missing[0], "a run is missing")
                    failures[place] = f"{describe_settings(settings[place])}: {text}"
                    continue
                outcome = self._read_cells(settings[place], [records[number] for number in numbers])
                unknown = np.flatnonzero(np.isnan(outcome).any(axis=0))
                if len(unknown):
                    text = f"cell {', '.join(self.places[int(unknown[0])])} has no value"
                    failures[place] = f"{describe_settings(settings[place])}: {text}"
                    continue
                values[place] = outcome
        return TrialOutcomes(values, [failures[place] for place in sorted(failures)])

    def _build_points(self, trial: int, settings: Mapping[str, str]) -> list[StudyPoint]:
        study = apply_settings(self.study, self.parameters, settings)
        first_seed = 1 + (trial - 1) * self.runs
        seeds = range(first_seed, first_seed + self.runs)
        return [
            replace(point, labels={"trial": str(trial), "table": table.name}, keep=0)
            for table in self.list_trial_tables(settings)
            for point in self._build_table_points(study, table, seeds)
        ]

    def _build_table_points(
        self, study: Study, table: StudyTable, seeds: Sequence[int]
    ) -> Iterator[StudyPoint]:
        shortened = replace(table, points=self._list_run_points(table))
        return runner.build_table_points(study, shortened, seeds)

    def _read_cells(self, settings: Mapping[str, str], records: Sequence[RunRecord]) -> FloatArray:
        """Values of shape (runs, places) of a trial whose runs have all ended."""
        study_values = self.read_tables(settings, records)
        tables = {table.name: table for table in self.list_trial_tables(settings)}
        rows = {name: list(table.rows) for name, table in tables.items()}
        return np.stack(
            [
                study_values.columns[table, column][rows[table].index(row)]
                for table, row, column in self.places
            ],
            axis=1,
        )

    def read_tables(
        self, settings: Mapping[str, str], records: Sequence[RunRecord]
    ) -> runner.StudyValues:
        """Read the values of the tables of a trial, by the names of their cases."""
        import polars as pl

        study = apply_settings(self.study, self.parameters, settings)
        study_values = runner.StudyValues(
            {}, runner.digest_hashes(record.hash for record in records), 0, len(records)
        )
        seeds = len(records) // self._count_points()
        place = 0
        for table in self.list_trial_tables(settings):
            run_points = self._list_run_points(table)
            own: list[Mapping[str, Any]] = []
            for label in table.points:
                if label not in run_points:
                    own += [{}] * seeds
                    continue
                own += [record.values for record in records[place : place + seeds]]
                place += seeds
            names = dict.fromkeys(name for values in own for name in values)
            block = pl.DataFrame(
                {name: [values.get(name) for values in own] for name in names}, strict=False
            )
            runner.read_table_values(study, table, block, study_values)
        return study_values

    def _count_points(self) -> int:
        tables = map(self.study.find_table, self.names)
        return sum(len(self._list_run_points(table)) for table in tables)

    def run_once_more(
        self, settings: Mapping[str, str], seeds: Sequence[int], name: str
    ) -> FloatArray:
        """Run one setting with these seeds, and give its values, of shape (seeds, places).

        Raises StudyError: A run failed.
        """
        study = apply_settings(self.study, self.parameters, settings)
        points = [
            replace(point, labels={"trial": name, "table": table.name}, keep=0)
            for table in self.list_trial_tables(settings)
            for point in self._build_table_points(study, table, seeds)
        ]
        plan = RunPlan(f"{self.study.name}, {name}", self.study.title, points)
        folder = self.folder / name.replace(" ", "-")
        store = StudyStore(folder, plan, resume=self.resume)
        with hold_and_execute(store, self.options, self.create_progress(plan.name)) as failed:
            if failed:
                raise StudyError(f"{name}: {failed[0].description}")
            return self._read_cells(settings, [store.records[n] for n in sorted(store.records)])


def describe_settings(settings: Mapping[str, str]) -> str:
    """Describe the settings in a line."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


@contextmanager
def open_fit_folder(out: str | Path | None) -> Iterator[Path]:
    """The folder of a fit, or one that goes away in the end."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="trunkline-") as scratch:
        yield Path(scratch) / "fit"
