"""Studies that replicate each point until what is asked of them is sure enough.

Runs are made in stages: ten of every point, then of each point as many more as its intervals are
likely to need, and so on. A stage is a study of its own in a folder next to the target,
so that it continues after an interruption like any other; its content follows from the values
of the stages before it. In the end all runs become one study, the same byte for byte as if their
numbers had been known from the start.
"""

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from trunkline.results.atomic_folder import flush_to_disk
from trunkline.stats import Precision, assess_precision, plan_runs
from trunkline.stats.control_variates import ControlledValues
from trunkline.study.errors import StudyError
from trunkline.study.run.checked_files import (
    DATA_FOLDER,
    MANIFEST_FILE,
    read_manifest,
    verify_digest,
)
from trunkline.study.run.data_set import (
    Runs,
    build_frame,
    list_labels,
    list_run_places,
    read_records,
)
from trunkline.study.run.execution import RunFailure, RunOptions
from trunkline.study.run.journal import RunRecord
from trunkline.study.run.merge import copy_run
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_measures import (
    list_agreements,
    list_controls,
    select_value_controls,
)
from trunkline.study.run.run_plan import RunPlan, StudyPoint
from trunkline.study.run.session import hold_and_execute
from trunkline.study.run.store import RUNS_FOLDER, StudyStore

STAGES_SUFFIX = ".stages"  # Suffix of the folder of the stages.

EndedRuns = dict[tuple[int, int], tuple[RunRecord, Path]]
"""Runs that have ended, with the folder of their tables, by number of the point and seed."""


class ReplicationGoal(Protocol):
    """The rule by which the runs of a study are enough."""

    def plan_counts(self, counts: Sequence[int], ended_runs: EndedRuns) -> list[int]:
        """Plan how many runs each point has next; as many as now if these are enough.

        counts: Runs that each point has, with seeds from 1; zeros at first.
        """
        ...


@dataclass(frozen=True, slots=True)
class PrecisionReached:
    """Precision of a point."""

    point: StudyPoint  # Which, with the seeds that were run.
    precision: Precision  # How many runs it took, and which value is the least sure.


class _SurePoints:
    """The goal that all values of each point are sure, or it has the most runs that it may have."""

    def __init__(self, plan: RunPlan, target: float, *, max_runs: int) -> None:
        self._plan, self._target, self._max_runs = plan, target, max_runs
        self.precisions: list[Precision] = []  # Of each point, by the runs that it had last.

    def plan_counts(self, counts: Sequence[int], ended_runs: EndedRuns) -> list[int]:
        """Plan the runs of each point by its own intervals."""
        self.precisions = [
            _assess_point(ended_runs, place, count, self._target, self._plan.points[place].measure)
            if count
            else Precision(0, False, "", None)
            for place, count in enumerate(counts)
        ]
        return [plan_runs(each, self._target, max_runs=self._max_runs) for each in self.precisions]


def replicate_until_precise(
    plan: RunPlan, folder: Path, target: float, *, max_runs: int, **how: Any
) -> tuple[list[PrecisionReached], list[RunFailure]]:
    """Replicate every point until all its values are sure, or the cap is reached.

    target: Half of the 95 % interval over the mean, above 0 and below 1.
    max_runs: Maximum number of runs of a point, with seeds from 1.
    how: As `replicate_in_stages` takes it.
    Returns: Every point; and runs that failed, in which case the study is not complete.
    """
    goal = _SurePoints(plan, target, max_runs=max_runs)
    full_plan, failed = replicate_in_stages(plan, folder, goal, **how)
    if failed:
        return [], failed
    return [
        PrecisionReached(point, precision)
        for point, precision in zip(full_plan.points, goal.precisions, strict=True)
    ], []


def replicate_in_stages(
    plan: RunPlan,
    folder: Path,
    goal: ReplicationGoal,
    *,
    options: RunOptions,
    progress: Callable[[], Progress],
    resume: bool = False,
    overwrite: bool = False,
) -> tuple[RunPlan, list[RunFailure]]:
    """Replicate points until a goal is reached, and write all runs as one study.

    plan: Points, those of a shard if it is one; their seeds are disregarded.
    resume: Continue existing stages; add to a study that is complete.
    overwrite: Replace an earlier study.
    Returns: The plan with the seeds that were run; and runs that failed, in which case the study is
        not complete.
    Raises StudyError: The folder holds a study, and it is neither to be gone on with nor replaced.
    """
    stages = folder.with_name(folder.name + STAGES_SUFFIX)
    ended_runs: EndedRuns = {}
    if folder.exists() and not (folder / MANIFEST_FILE).exists() and any(folder.iterdir()):
        raise StudyError(f"{folder} holds something else than a study of this kind")
    if (folder / MANIFEST_FILE).exists():
        if not (resume or overwrite):
            msg = f"{folder} holds a study; continue with --resume, or replace it with --overwrite"
            raise StudyError(msg)
        if resume:
            ended_runs = _read_complete_runs(plan, folder)
    if stages.exists() and not (resume or overwrite):
        msg = f"{stages} holds a study that was begun; continue with --resume, or use --overwrite"
        raise StudyError(msg)
    if overwrite and not resume:
        shutil.rmtree(stages, ignore_errors=True)
    counts = [0] * len(plan.points)
    for stage in itertools.count(1):
        run_counts = goal.plan_counts(counts, ended_runs)
        if run_counts == counts:
            break
        missing = {
            place: seeds
            for place, (done_count, wanted_count) in enumerate(zip(counts, run_counts, strict=True))
            if (
                seeds := [
                    s
                    for s in range(done_count + 1, wanted_count + 1)
                    if (place, s) not in ended_runs
                ]
            )
        }
        if missing:
            failed = _run_stage(
                plan, missing, stages / str(stage), ended_runs, options, progress(), resume=resume
            )
            if failed:
                return plan, failed
        counts = run_counts
    full_plan = plan.set_run_counts(counts)
    _write_complete_study(full_plan, folder, ended_runs)
    shutil.rmtree(stages, ignore_errors=True)
    return full_plan, []


def read_ended_runs(plan: RunPlan, ended_runs: EndedRuns) -> Runs:
    """Read the runs of a plan, all of which have ended, as those of one study."""
    manifest = plan.to_json()
    places = list_run_places(manifest)
    records = {number: ended_runs[place][0] for number, place in enumerate(places)}
    return Runs(build_frame(manifest, records, places, list_labels(manifest)), manifest, Path())


def _assess_point(
    ended_runs: EndedRuns, place: int, count: int, target: float, measured: str
) -> Precision:
    """Assess how sure the first runs of a point are."""
    runs = [
        {
            name: float(value)
            for name, value in ended_runs[place, seed][0].values.items()
            if isinstance(value, float | int)
        }
        for seed in range(1, count + 1)
    ]
    controls = list_controls(measured)
    # A share of runs is no mean of theirs that could be sure.
    left_out = {*list_agreements([measured]), *controls}
    values: dict[str, list[float] | ControlledValues] = {}
    for name in dict.fromkeys(name for run in runs for name in run if name not in left_out):
        known = [run for run in runs if name in run]
        numbers = [run[name] for run in known]
        if controls:
            of_known = {each: [run[each] for run in known] for each in controls}
            deviations = select_value_controls(measured, name, of_known)
            values[name] = ControlledValues(numbers, deviations)
        else:
            values[name] = numbers
    point_precision = assess_precision(values, target)
    return replace(point_precision, runs=count, reached=point_precision.reached or not values)


def _run_stage(
    plan: RunPlan,
    missing: Mapping[int, Sequence[int]],
    folder: Path,
    ended_runs: EndedRuns,
    options: RunOptions,
    progress: Progress,
    *,
    resume: bool,
) -> list[RunFailure]:
    points = [replace(plan.points[place], seeds=tuple(seeds)) for place, seeds in missing.items()]
    store = StudyStore(folder, RunPlan(plan.name, plan.title, points), resume=resume)
    with hold_and_execute(store, options, progress) as failed:
        if not failed:
            places = list(missing)
            for task in store.own_tasks:
                run_folder = folder / RUNS_FOLDER / str(task.number)
                ended_runs[places[task.point_number], task.seed] = (
                    store.records[task.number],
                    run_folder,
                )
        return failed


def _read_complete_runs(plan: RunPlan, folder: Path) -> EndedRuns:
    """Read the runs of a complete study of the same points."""
    stored_manifest, planned_manifest = read_manifest(folder), plan.to_json()
    names = [name for name in stored_manifest.get("files", {}) if name.startswith(DATA_FOLDER)]
    if not names:
        raise StudyError(f"{folder} holds an incomplete study; resume it with its first options")
    seeds = [point["seeds"] for point in stored_manifest["points"]]
    consecutive = all(
        isinstance(seed_range, dict) and seed_range["from"] == 1 for seed_range in seeds
    )
    if _strip_seeds(stored_manifest) != _strip_seeds(planned_manifest) or not consecutive:
        msg = f"{folder} holds another study: its points, values, version or seeds are others"
        raise StudyError(msg)
    found = [
        r
        for name in names
        for r in read_records(verify_digest(folder / name, stored_manifest["files"][name]))
    ]
    places = [
        (place, seed)
        for place, seed_range in enumerate(seeds)
        for seed in range(1, seed_range["to"] + 1)
    ]
    return {places[r.run]: (r, folder / RUNS_FOLDER / str(r.run)) for r in found}


def _strip_seeds(plan_manifest: Mapping[str, Any]) -> list[Any]:
    seedless_points = [
        {key: value for key, value in point.items() if key != "seeds"}
        for point in plan_manifest["points"]
    ]
    names = ("study", "version", "engine", "measures", "share")
    return [*(plan_manifest.get(name) for name in names), seedless_points]


def _write_complete_study(plan: RunPlan, folder: Path, ended_runs: EndedRuns) -> None:
    """Write all runs as one study, next to its place first if an earlier one is there."""
    temporary_folder = folder.with_name(folder.name + STAGES_SUFFIX) / "whole"
    shutil.rmtree(temporary_folder, ignore_errors=True)
    store = StudyStore(temporary_folder, plan)
    try:
        ended = []
        for task in plan.iterate_tasks():
            record, run_folder = ended_runs[task.point_number, task.seed]
            if task.is_kept:
                copy_run(run_folder, temporary_folder / RUNS_FOLDER / str(task.number))
            ended.append(replace(record, run=task.number))
        store.append_records(ended)
        store.finish_data_set()
    finally:
        store.close()
    if folder.exists():
        folder.rename(temporary_folder.with_name("before"))
    temporary_folder.rename(folder)
    flush_to_disk(folder.parent)
