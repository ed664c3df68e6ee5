"""``study fit``: inference of parameters that a document does not give, from its values."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trunkline.results import atomic_folder as folders
from trunkline.study.errors import StudyError
from trunkline.study.fit.cell_likelihood import TargetCell
from trunkline.study.fit.inference import (
    MIN_TRIALS,
    CellCheck,
    Inference,
    TableCheck,
    infer,
)
from trunkline.study.fit.parameter_space import FloatArray, ParameterSpace
from trunkline.study.fit.posterior import LIVE_POINTS
from trunkline.study.fit.trial_runs import (
    AS_STATED,
    TrialRuns,
    find_sources,
    list_free_parameters,
    list_target_cells,
    open_fit_folder,
)
from trunkline.study.language.catalogue import find_study
from trunkline.study.language.model import Study
from trunkline.study.run.execution import RunOptions
from trunkline.study.run.progress import Progress

_SIMULATED_SHARE = 0.7
"""Share of a time budget that trials may take; sampling and checks take the rest."""

NEAREST_TRIALS = 3  # Trials among which the best fit is chosen, with more runs.

MAX_MORE_RUNS = 5
"""Settings that are compared have the study's replications, or so many times those of a trial."""

Errors = dict[str, float]


@dataclass
class StudyFit:
    """Result of a fit of a study."""

    study: Study  # The study.
    inference: Inference  # Trials and posterior.
    runs: int  # Runs of the simulator, those of the checks among them.
    # Settings of the nearest trial; of those nearest, the one with the smallest error where they
    # were compared with the unchanged study, or those of the study where that has.
    best: dict[str, str]
    # Error of each table, as ``trunkline reproduce`` has it, of the unchanged study, at the
    # ``best fit``, and at the ``likeliest`` settings, which the emulator alone recommends; all run
    # with the study's seeds.
    errors: dict[str, Errors] = field(default_factory=dict)
    cell_checks: list[CellCheck] = field(default_factory=list)
    table_checks: list[TableCheck] = field(default_factory=list)
    sensitivity: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``trunkline study fit --json`` prints."""
        from trunkline.study.fit.fit_json import build_fit_json

        return build_fit_json(self)

    def render(self, *, width: int | None = None, colour: bool = False) -> str:
        """Render it as tables for a terminal."""
        from trunkline.study.fit.fit_tables import render_fit

        return render_fit(self, width=width, colour=colour)

    def write(self, folder: Path) -> None:
        """Write ``fit.json`` and the pictures into a folder."""
        from trunkline.study.fit.fit_files import write_fit_files

        write_fit_files(self, folder)


def fit_study(
    name: str | Study,
    *,
    trials: int | None = None,
    runs: int | None = None,
    budget_s: float | None = None,
    parameters: Sequence[str] = (),
    out: str | Path | None = None,
    options: RunOptions | None = None,
    create_progress: Callable[[str], Progress] = Progress,
    resume: bool = False,
    overwrite: bool = False,
    live_points: int = LIVE_POINTS,
    misfit: bool | None = None,
    check: bool = True,
    on_step: Callable[[str], None] = lambda text: None,
) -> StudyFit:
    """Infer what a document left unsaid from the values that it published.

    Parameters
    ----------
    name : str or Study
        A study of the package, or a study file, or a folder with a ``study.yaml``.
    trials : int, optional
        Settings to run; ten for each parameter if left out.
    runs : int, optional
        Runs of the simulator in all, in place of ``trials``.
    budget_s : float, optional
        Time that it may take [s], in place of ``trials``.
    parameters : sequence of str
        Only these are inferred; all with a prior or other values if empty.
    out : str or Path, optional
        Folder for the trials and their results.
    options : RunOptions, optional
        Where and within what limits.
    resume, overwrite : bool, default False
        Continue with the content of the folder, or replace it.
    live_points : int
        Points of the nested sampling.
    misfit : bool, optional
        Whether something may be left that no setting explains; as the study says if left out.
    check : bool, default True
        Whether tables are left out in turn, and the nearest trials are run once more, and the
        unchanged study with them.

    Raises
    ------
    StudyError
        There is nothing to fit or no published value, trials are too few or fail, or the folder
        holds something else.
    """
    study = find_study(name) if isinstance(name, str) else name
    free = list_free_parameters(study, parameters)
    cells = list_target_cells(study)
    space = ParameterSpace([parameter for parameter, _ in free])
    sources = find_sources(study, space.parameters, cells)
    with open_fit_folder(out) as folder:
        _prepare_folder(folder, resume=resume, overwrite=overwrite)
        trial_runs = TrialRuns(
            study,
            free,
            sources.places,
            folder / "trials",
            runs=study.fit.runs,
            options=options or RunOptions(),
            create_progress=create_progress,
            resume=True,
        )
        if runs is not None:
            trials = _count_trials(runs, trial_runs.count_runs_of_trial())
        inference = infer(
            space,
            cells,
            trial_runs.run_trials,
            trials=trials,
            plan_trials=None if budget_s is None else _plan_by_time(budget_s, folder),
            sources=sources,
            live_points=live_points,
            has_misfit=study.fit.misfit if misfit is None else misfit,
            on_step=on_step,
        )
        runs_made = trial_runs.ended * trial_runs.count_runs_of_trial()
        fit = StudyFit(study, inference, runs_made, inference.list_nearest_settings(1)[0])
        on_step("checking the fit")
        fit.cell_checks = inference.check_cells()
        fit.sensitivity = inference.compute_sensitivity()
        fit.warnings = inference.find_warnings()
        if check:
            fit.table_checks = inference.leave_tables_out()
            _choose_best(fit, trial_runs)
        if out is not None:
            fit.write(folder)
    return fit


def _prepare_folder(folder: Path, *, resume: bool, overwrite: bool) -> None:
    trials_folder = folder / "trials"
    if folder.exists() and any(folder.iterdir()):
        if not trials_folder.is_dir():
            raise StudyError(f"{folder} holds something else than a fit")
        if not (resume or overwrite):
            raise StudyError(
                f"{folder} holds a fit; continue with --resume, or replace it with --overwrite"
            )
        if overwrite and not resume:
            shutil.rmtree(trials_folder)
    trials_folder.mkdir(parents=True, exist_ok=True)


def _count_trials(runs: int, runs_of_trial: int) -> int:
    trials = runs // runs_of_trial
    if trials < MIN_TRIALS:
        raise StudyError(
            f"{runs} runs are {trials} trials of {runs_of_trial} runs each; "
            f"{MIN_TRIALS} trials at least, which are {MIN_TRIALS * runs_of_trial} runs"
        )
    return trials


def _plan_by_time(budget_s: float, folder: Path) -> Callable[[int], int]:
    """Plan how many trials fit into a time; the number is noted, so that a fit resumes alike."""
    began = time.monotonic()
    note = folder / "trials" / "count.txt"

    def plan(ended: int) -> int:
        if note.exists():
            return int(note.read_text("utf-8"))
        spent = max(time.monotonic() - began, 1e-3)
        count = max(int(budget_s * _SIMULATED_SHARE * ended / spent), ended)
        folders.write_text(note, f"{count}\n")
        return count

    return plan


def _choose_best(fit: StudyFit, trial_runs: TrialRuns) -> None:
    """Run the unchanged study, the nearest trials and the likeliest settings with the same seeds.

    The best fit is the one of the study and the trials with the smallest error: what is best of
    many trials of few runs is so by chance too, and must not be worse than what is there.
    """
    study, inference = fit.study, fit.inference
    seeds = list(range(1, min(study.runs, MAX_MORE_RUNS * study.fit.runs) + 1))
    as_stated = {parameter.name: parameter.held_at for parameter, _ in trial_runs.parameters}
    compared = {AS_STATED: as_stated} if all(as_stated.values()) else {}
    for number, chosen in enumerate(inference.list_nearest_settings(NEAREST_TRIALS), 1):
        compared[f"nearest trial {number}"] = chosen
    compared["likeliest"] = inference.likeliest_settings
    errors, overall = {}, {}
    for name, chosen in compared.items():
        values = trial_runs.run_once_more(chosen, seeds, name).mean(axis=0)
        point = inference.space.find_point(chosen)
        of_reading = inference.sources.of_reading[0]
        if point is not None:
            of_reading = inference.sources.find_places(point[None, :])[0]
        distances = _measure_errors(study, inference.cells, values[of_reading])
        tables = [cell.table for cell in inference.cells]
        errors[name] = {
            table: float(np.mean(distances[np.array(tables) == table]))
            for table in dict.fromkeys(tables)
        }
        overall[name] = float(distances.mean())
        fit.runs += len(seeds) * trial_runs.count_runs_of_trial() // study.fit.runs
    best = min((name for name in compared if name != "likeliest"), key=lambda name: overall[name])
    fit.best = compared[best]
    fit.errors = {
        name: errors[place]
        for name, place in ((AS_STATED, AS_STATED), ("best fit", best), ("likeliest", "likeliest"))
        if place in errors
    }


def _measure_errors(study: Study, cells: Sequence[TargetCell], values: FloatArray) -> FloatArray:
    """|ln(ours / published)| of each cell, or |ours - published| in studies that compare so."""
    published = np.array([cell.value for cell in cells])
    if study.error != "relative":
        return np.asarray(np.abs(values - published))
    least = np.array([cell.rounded_to for cell in cells]) / 2
    return np.asarray(np.abs(np.log(np.maximum(values, least) / np.maximum(published, least))))
