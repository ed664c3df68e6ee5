"""Studies that replicate each point until its values are sure enough.

Runs are made in stages: ten of every point, then of each point as many more as its intervals are
likely to need, and so on. A stage is a study of its own in a folder beside the one that is wanted,
so that it goes on after an interruption like any other; what it is made of follows from the values
of the stages before it. In the end all runs become one study, the same byte for byte as if their
numbers had been known from the start.
"""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trunkline.results.folder import flush
from trunkline.stats import Precision, precision, runs_wanted
from trunkline.study.errors import Refused
from trunkline.study.run.disk import checked
from trunkline.study.run.execute import Failed, How
from trunkline.study.run.frames import records
from trunkline.study.run.journal import Record
from trunkline.study.run.measure import agreements
from trunkline.study.run.merge import copy_run
from trunkline.study.run.perform import working
from trunkline.study.run.plan import Plan, Point
from trunkline.study.run.progress import Progress
from trunkline.study.run.store import DATA, MANIFEST, RUNS, Store, manifest

STAGES = ".stages"
"""What the folder of the stages ends in."""

_Done = dict[tuple[int, int], tuple[Record, Path]]


@dataclass(frozen=True, slots=True)
class Reached:
    """How sure a point is.

    Parameters
    ----------
    point : Point
        Which, with the seeds that were run.
    precision : Precision
        How many runs it took, and which value is the least sure.
    """

    point: Point
    precision: Precision


def until(
    plan: Plan,
    folder: Path,
    target: float,
    *,
    most: int,
    how: How,
    progress: Callable[[], Progress],
    resume: bool = False,
    overwrite: bool = False,
) -> tuple[list[Reached], list[Failed]]:
    """Replicate every point until all its values are sure, or the cap is reached.

    Parameters
    ----------
    plan : Plan
        Points, those of a shard if it is one; their seeds are disregarded.
    target : float
        Half of the 95 % interval over the mean, above 0 and below 1.
    most : int
        Maximum number of runs of a point, with seeds from 1.
    resume : bool, default False
        Go on with stages that are there; add to a study that is complete.
    overwrite : bool, default False
        Replace an earlier study.

    Returns
    -------
    list of Reached, list of Failed
        Every point; and runs that failed, in which case the study is not complete.

    Raises
    ------
    Refused
        The folder holds a study, and it is neither to be gone on with nor replaced.
    """
    stages = folder.with_name(folder.name + STAGES)
    done: _Done = {}
    if folder.exists() and not (folder / MANIFEST).exists() and any(folder.iterdir()):
        raise Refused(f"{folder} holds something else than a study of this kind")
    if (folder / MANIFEST).exists():
        if not (resume or overwrite):
            msg = f"{folder} holds a study; go on with --resume, or replace it with --overwrite"
            raise Refused(msg)
        if resume:
            done = _held(plan, folder)
    if stages.exists() and not (resume or overwrite):
        msg = f"{stages} holds a study that was begun; go on with --resume, or use --overwrite"
        raise Refused(msg)
    if overwrite and not resume:
        shutil.rmtree(stages, ignore_errors=True)
    counts = [0] * len(plan.points)
    for stage in range(1, most + 2):
        looks = [
            _look(done, place, count, target, plan.points[place].measure)
            if count
            else Precision(0, False, "", None)
            for place, count in enumerate(counts)
        ]
        wanted = [runs_wanted(look, target, most=most) for look in looks]
        if wanted == counts:
            break
        missing = {
            place: seeds
            for place, (had, want) in enumerate(zip(counts, wanted, strict=True))
            if (seeds := [s for s in range(had + 1, want + 1) if (place, s) not in done])
        }
        if missing:
            failed = _run(plan, missing, stages / str(stage), done, how, progress(), resume=resume)
            if failed:
                return [], failed
        counts = wanted
    points = _with_seeds(plan.points, dict(enumerate(counts)))
    whole = Plan(plan.name, plan.title, points, share=plan.share)
    _publish(whole, folder, done)
    shutil.rmtree(stages, ignore_errors=True)
    return [Reached(p, look) for p, look in zip(whole.points, looks, strict=True)], []


def _look(done: _Done, place: int, count: int, target: float, measured: str) -> Precision:
    """How sure the first runs of a point are."""
    values: dict[str, list[float]] = {}
    agreed = agreements([measured])  # A share of runs is no mean of theirs that could be sure.
    for seed in range(1, count + 1):
        for name, value in done[place, seed][0].values.items():
            if name not in agreed and isinstance(value, float | int) and not math.isnan(value):
                values.setdefault(name, []).append(float(value))
    look = precision(values, target)
    return replace(look, runs=count, reached=look.reached or not values)


def _run(
    plan: Plan,
    missing: Mapping[int, Sequence[int]],
    folder: Path,
    done: _Done,
    how: How,
    progress: Progress,
    *,
    resume: bool,
) -> list[Failed]:
    points = [replace(plan.points[place], seeds=tuple(seeds)) for place, seeds in missing.items()]
    store = Store(folder, Plan(plan.name, plan.title, points), resume=resume)
    with working(store, how, progress) as failed:
        if not failed:
            places = list(missing)
            for task in store.mine:
                where = folder / RUNS / str(task.number)
                done[places[task.place], task.seed] = (store.records[task.number], where)
        return failed


def _held(plan: Plan, folder: Path) -> _Done:
    """Runs of a complete study of the same points."""
    said, wanted = manifest(folder), plan.to_json()
    names = [name for name in said.get("files", {}) if name.startswith(DATA)]
    if not names:
        raise Refused(f"{folder} holds a study that is not complete; resume it as it was begun")
    seeds = [point["seeds"] for point in said["points"]]
    consecutive = all(isinstance(its, dict) and its["from"] == 1 for its in seeds)
    if _without_seeds(said) != _without_seeds(wanted) or not consecutive:
        msg = f"{folder} holds another study: its points, values, version or seeds are others"
        raise Refused(msg)
    found = [r for name in names for r in records(checked(folder / name, said["files"][name]))]
    places = [(place, seed) for place, its in enumerate(seeds) for seed in range(1, its["to"] + 1)]
    return {places[r.run]: (r, folder / RUNS / str(r.run)) for r in found}


def _without_seeds(said: Mapping[str, Any]) -> list[Any]:
    bare = [{key: its for key, its in point.items() if key != "seeds"} for point in said["points"]]
    names = ("study", "version", "engine", "measures", "share")
    return [*(said.get(name) for name in names), bare]


def _with_seeds(points: Sequence[Point], counts: Mapping[int, int]) -> list[Point]:
    return [
        replace(point, seeds=tuple(range(1, counts[place] + 1)))
        for place, point in enumerate(points)
    ]


def _publish(plan: Plan, folder: Path, done: _Done) -> None:
    """Write all runs as one study, beside its place first if an earlier one is there."""
    made = folder.with_name(folder.name + STAGES) / "whole"
    shutil.rmtree(made, ignore_errors=True)
    store = Store(made, plan)
    try:
        ended = []
        for task in plan.tasks():
            record, where = done[task.place, task.seed]
            if task.kept:
                copy_run(where, made / RUNS / str(task.number))
            ended.append(replace(record, run=task.number))
        store.append(ended)
        store.finish()
    finally:
        store.close()
    if folder.exists():
        folder.rename(made.with_name("before"))
    made.rename(folder)
    flush(folder.parent)
