"""Trials of a study: its published tables at settings, run like any study."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from trunkline.scenario import ScenarioError
from trunkline.study.errors import StudyError
from trunkline.study.fit.cell_likelihood import TargetCell
from trunkline.study.fit.inference import TrialOutcomes
from trunkline.study.fit.parameter_space import FloatArray, FreeParameter
from trunkline.study.language import formula
from trunkline.study.language.model import Study
from trunkline.study.language.parts import FittedParameter, PublishedValue, StudyTable
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

NO_VARIANT = "as it is"


def list_free_parameters(
    study: Study, names: Sequence[str] = ()
) -> list[tuple[FreeParameter, FittedParameter | None]]:
    """List the parameters that a fit infers, each with its entry of the study file.

    names: Only these; all with a prior or other values if empty.
    Raises StudyError: There are none, or a name is not among them.
    """
    found: list[tuple[FreeParameter, FittedParameter | None]] = []
    counts = [item.parameter for item in study.fitted]
    for item in study.fitted:
        prior = item.find_prior()
        if prior is None or not item.set:
            continue
        cases = f" ({', '.join(item.cases)})" if item.cases else ""
        name = item.parameter + (cases if counts.count(item.parameter) > 1 else "")
        found.append((FreeParameter(name, prior, item.value), item))
    if study.fit.variants:
        prior = ParameterPrior([NO_VARIANT, *study.fit.variants])
        found.append((FreeParameter(VARIANT, prior, NO_VARIANT), None))
    known = [parameter.name for parameter, _ in found]
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


def list_target_cells(study: Study) -> list[TargetCell]:
    """Published values that a fit is to explain: no doubtful ones, of the tables of the fit.

    Raises StudyError: There are none.
    """
    chosen = [
        value
        for value in study.published
        if not value.doubt
        and (study.fit.tables is None or value.table in study.fit.tables)
        and (not study.judged or value.row in study.judged)
    ]
    if not chosen:
        raise StudyError(f"study {study.name} has no published values to fit: see published.csv")
    tables = {name: study.find_table(name) for name in study.cases}
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
        item.model_copy(update={"value": changed[id(item)]}) if id(item) in changed else item
        for item in study.fitted
    ]
    return study.model_copy(update={"fitted": fitted})


class TrialRuns:
    """Runs trials of a study, a folder for every few of them, and continues stored ones.

    parameters: Values of parameters.
    cells: Cells to read from the runs.
    folder: Where they are stored.
    runs: Replications of each point; no two trials share a seed.
    create_progress: Gives the display of the progress of runs with such a name.
    """

    def __init__(
        self,
        study: Study,
        parameters: Sequence[tuple[FreeParameter, FittedParameter | None]],
        cells: Sequence[TargetCell],
        folder: Path,
        *,
        runs: int,
        options: RunOptions,
        create_progress: Callable[[str], Progress],
        resume: bool = False,
    ) -> None:
        self.study, self.parameters, self.cells = study, list(parameters), list(cells)
        self.folder, self.runs, self.options = folder, runs, options
        self.create_progress, self.resume = create_progress, resume
        self.ended = 0
        self.names = self._list_needed_tables()

    def _list_needed_tables(self) -> list[str]:
        """Tables of the cells, and those that their formulas speak of, in the study's order."""
        needed = {cell.table for cell in self.cells}
        for name in list(needed):
            table = self.study.find_table(name)
            family = [*table.columns.values(), *self.study.measures.values()]
            for column in family:
                if column.value is not None:
                    tree = formula.parse_formula(column.value, claim=False)
                    needed |= {each for each, _, _ in formula.iterate_references(tree) if each}
        return [name for name in self.study.cases if name in needed]

    def count_runs_of_trial(self) -> int:
        """Count the runs of the simulator that a trial takes."""
        return self.runs * sum(len(self.study.find_table(name).points) for name in self.names)

    def list_trial_tables(self, settings: Mapping[str, str]) -> list[StudyTable]:
        """Tables of a trial, each with the variant that is chosen, under the name of its case."""
        chosen = settings.get(VARIANT, NO_VARIANT)
        variants = {each.name: each.cases for each in self.study.variants}
        tables = []
        for name in self.names:
            has_variant = chosen != NO_VARIANT and name in (variants[chosen] or self.names)
            table = self.study.find_table(f"{name}, {chosen}" if has_variant else name)
            tables.append(replace(table, name=name))
        return tables

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
        values = np.full((len(settings), self.runs, len(self.cells)), np.nan)
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
                    cell = self.cells[int(unknown[0])]
                    text = f"cell {cell.label} has no value"
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
            for point in runner.build_table_points(study, table, seeds)
        ]

    def _read_cells(self, settings: Mapping[str, str], records: Sequence[RunRecord]) -> FloatArray:
        """Read the values of shape (runs, cells) of a trial whose runs have all ended."""
        study_values = self.read_tables(settings, records)
        tables = {table.name: table for table in self.list_trial_tables(settings)}
        rows = {name: list(table.rows) for name, table in tables.items()}
        return np.stack(
            [
                study_values.columns[cell.table, cell.column][rows[cell.table].index(cell.row)]
                for cell in self.cells
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
        place = 0
        for table in self.list_trial_tables(settings):
            count = len(table.points) * len(records) // self._count_points()
            own = records[place : place + count]
            place += count
            names = dict.fromkeys(name for record in own for name in record.values)
            block = pl.DataFrame(
                {name: [record.values.get(name) for record in own] for name in names},
                strict=False,
            )
            runner.read_table_values(study, table, block, study_values)
        return study_values

    def _count_points(self) -> int:
        return sum(len(self.study.find_table(name).points) for name in self.names)

    def run_tables(
        self, settings: Mapping[str, str], seeds: Sequence[int], name: str
    ) -> runner.StudyValues:
        """Run the tables at one setting with these seeds, and read their values.

        Raises StudyError: A run failed.
        """
        study = apply_settings(self.study, self.parameters, settings)
        points = [
            replace(point, labels={"trial": name, "table": table.name}, keep=0)
            for table in self.list_trial_tables(settings)
            for point in runner.build_table_points(study, table, seeds)
        ]
        plan = RunPlan(f"{self.study.name}, {name}", self.study.title, points)
        folder = self.folder / name.replace(" ", "-")
        store = StudyStore(folder, plan, resume=self.resume)
        with hold_and_execute(store, self.options, self.create_progress(plan.name)) as failed:
            if failed:
                raise StudyError(f"{name}: {failed[0].description}")
            return self.read_tables(settings, [store.records[n] for n in sorted(store.records)])


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
