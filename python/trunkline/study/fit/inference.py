"""Trials in rounds, and the inference from them: the same for a study, a scenario or a formula.

Half of the trials are spread over the prior. A quarter goes where the posterior of the trials
before it lies, in rounds: there the emulator has to be right. The last quarter looks for settings
nearer to the published values, around the nearest trial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from trunkline.study.errors import StudyError
from trunkline.study.fit.cell_likelihood import (
    CellLikelihood,
    CellSources,
    TargetCell,
    compute_misfit,
    measure_distances,
)
from trunkline.study.fit.emulator import Emulator
from trunkline.study.fit.local_search import propose_points
from trunkline.study.fit.parameter_space import FloatArray, ParameterSpace
from trunkline.study.fit.posterior import (
    LIVE_POINTS,
    ParameterVerdict,
    PosteriorSamples,
    judge_parameters,
    sample_posterior,
)

REFINING_ROUNDS = 2  # Rounds after the first that go where the posterior lies.

SEARCHING_SHARE = 0.25
"""Share of the trials that search around the nearest one."""

SEARCHING_BATCH = 6  # Trials of a round of that search.

TRIALS_A_PARAMETER = 10
"""Trials for each parameter where no number is asked for (Loeppky, Sacks and Welch, Choosing the
Sample Size of a Computer Experiment, Technometrics 51, 2009)."""

MIN_TRIALS = 16
MAX_FAILED_SHARE = 0.5
MAX_SHIFT = 1.0
"""A parameter that the last round moved by more of its deviations has not converged."""

MAX_MISFIT = 0.03  # A misfit that is above this with 97.5 % probability is worth a warning.

MIN_EFFECTIVE_COUNT = 100.0
"""A posterior that has fewer independent draws after it was weighed anew is sampled anew."""

MIN_EXPLAINED = 0.5
"""An emulator that predicts less of the variance of a table's cells is not to be trusted there."""


@dataclass(frozen=True)
class TrialOutcomes:
    """Values and seeds of trials."""

    values: FloatArray  # shape (trials, runs, places): Not-a-number where a trial failed.
    failures: list[str] = field(default_factory=list)  # A line for each trial that failed.


TrialRunner = Callable[[Sequence[Mapping[str, str]]], TrialOutcomes]
"""Runs settings, in this order after those before."""


@dataclass(frozen=True)
class TableCheck:
    """Prediction of a table by the others, or of half of the tables by the other half."""

    left_out: str  # Name of the tables left out.
    # cells, inside: Its cells, and those inside their 95 % prediction interval.
    cells: int
    inside: int
    log_score: float  # Log probability of its published values as predicted.
    # The same by each reading of each parameter that has readings.
    log_score_of: dict[str, dict[str, float]]
    # How far it moves the median of each parameter, as a share of the prior's probability.
    median_shift: dict[str, float]


@dataclass(frozen=True)
class CellCheck:
    """A published value and its prediction by the fit, without misfit."""

    cell: TargetCell  # Which.
    # mean, low, high: Mean of the prediction, and its 95 % interval for a value of as many runs.
    mean: float
    low: float
    high: float

    @property
    def is_inside(self) -> bool:
        """Whether the rounding interval of the published value meets the prediction interval."""
        half = self.cell.rounded_to / 2
        return self.low <= self.cell.value + half and self.cell.value - half <= self.high


@dataclass
class Inference:
    """Trials, the emulator that learnt from them, and the posterior."""

    space: ParameterSpace
    cells: tuple[TargetCell, ...]
    # shape (trials, parameters): Points of the unit cube; trials that failed are not among them.
    points: FloatArray
    outcomes: FloatArray  # shape (trials, runs, places): Their values.
    failures: list[str]  # Trials that failed.
    emulator: Emulator
    samples: PosteriorSamples
    previous: PosteriorSamples | None  # Posterior before the last round of refining.
    sources: CellSources  # Places of the outcomes, and which cell is compared with which.
    live_points: int = LIVE_POINTS
    has_misfit: bool = True

    def build_likelihood(self, counted: NDArray[np.bool_] | None = None) -> CellLikelihood:
        """Build the likelihood of the cells that count, of all if left out."""
        return CellLikelihood(
            self.space,
            self.emulator,
            self.cells,
            counted,
            sources=self.sources,
            has_misfit=self.has_misfit,
        )

    @property
    def verdicts(self) -> list[ParameterVerdict]:
        """Verdict on each parameter by the published values."""
        return judge_parameters(self.space, self.samples)

    @property
    def best_point(self) -> FloatArray:
        """The likeliest point, the misfit in it."""
        point: FloatArray = self.samples.points[int(np.argmax(self.samples.log_likelihoods))]
        return point

    @property
    def likeliest_settings(self) -> dict[str, str]:
        """Values of the parameters there, as the emulator has it: they were not run."""
        return self.space.format_settings(self.best_point[: len(self.space)].tolist())

    def list_nearest_settings(self, count: int) -> list[dict[str, str]]:
        """Settings of the trials whose values are nearest to what was published."""
        distances = _measure_trials(self.cells, self.sources, self.points, self.outcomes)
        places = np.argsort(distances, kind="stable")[:count]
        return [self.space.format_settings(self.points[place].tolist()) for place in places]

    @property
    def misfit(self) -> tuple[float, float, float]:
        """Median and 95 % interval of the share that no setting explains; zeros without it."""
        if not self.has_misfit:
            return 0.0, 0.0, 0.0
        low, median, high = self.samples.find_quantiles(len(self.space), (0.025, 0.5, 0.975))
        found = compute_misfit(np.array([median, low, high]))
        return float(found[0]), float(found[1]), float(found[2])

    def check_cells(self, count: int = 400) -> list[CellCheck]:
        """Check each published value with its prediction, without misfit."""
        likelihood = self.build_likelihood()
        draws = likelihood.draw_values(self.samples.draw(count), with_misfit=False)
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        return [
            CellCheck(cell, float(draws[:, place].mean()), float(low[place]), float(high[place]))
            for place, cell in enumerate(self.cells)
        ]

    def leave_tables_out(self) -> list[TableCheck]:
        """Fit without each table and predict it; then each half of the tables from the other."""
        tables = list(dict.fromkeys(cell.table for cell in self.cells))
        if len(tables) < 2:
            return []
        parts = [(name, {name}) for name in tables]
        if len(tables) > 2:
            parts += [
                (", ".join(tables[::2]), set(tables[::2])),
                (", ".join(tables[1::2]), set(tables[1::2])),
            ]
        return [self._leave_out(name, part) for name, part in parts]

    def _leave_out(self, name: str, tables: set[str]) -> TableCheck:
        is_left_out = np.array([cell.table in tables for cell in self.cells])
        likelihood = self.build_likelihood(~is_left_out)
        found = self.samples.reweigh(likelihood.compute_log_probabilities(self.samples.points))
        if found.effective_count < MIN_EFFECTIVE_COUNT:
            found = sample_posterior(
                likelihood, likelihood.dimensions, live_points=max(self.live_points // 2, 25)
            )
        points = found.draw(400)
        scores = likelihood.compute_log_probabilities(points, is_left_out)
        draws = likelihood.draw_values(points)[:, is_left_out]
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        values = np.array([cell.value for cell in self.cells])[is_left_out]
        score_of: dict[str, dict[str, float]] = {}
        for place, parameter in enumerate(self.space.parameters):
            prior = parameter.prior
            if prior.is_range:
                continue
            number = np.array([prior.find_reading(share) for share in points[:, place]])
            score_of[parameter.name] = {
                reading: log_mean_exp(scores[number == each])
                for each, reading in enumerate(prior.readings)
                if (number == each).sum() >= 5
            }
        shift = {
            parameter.name: found.find_quantiles(place, (0.5,))[0]
            - self.samples.find_quantiles(place, (0.5,))[0]
            for place, parameter in enumerate(self.space.parameters)
        }
        inside = int(np.sum((low <= values) & (values <= high)))
        return TableCheck(
            name, int(is_left_out.sum()), inside, log_mean_exp(scores), score_of, shift
        )

    def compute_sensitivity(self, count: int = 256) -> dict[str, dict[str, tuple[float, float]]]:
        """Sobol indices of each parameter, by table: first order and total.

        Means over the cells of a table, weighted by their variances over the prior (Saltelli et
        al., Computer Physics Communications 181, 2010, as ``scipy.stats.sobol_indices`` has it).
        """
        from scipy.stats import sobol_indices

        def evaluate(points: FloatArray) -> FloatArray:
            found = self.emulator.predict(self.space.to_coordinates(points.T)).mean
            return self.sources.pick(points.T, found).T

        if len(self.space) < 2:
            only = self.space.names[0]
            tables = dict.fromkeys(cell.table for cell in self.cells)
            return {table: {only: (1.0, 1.0)} for table in tables}
        with np.errstate(invalid="ignore", divide="ignore"):  # cells that nothing changes
            found = sobol_indices(
                func=evaluate,
                n=count,
                dists=cast("Any", [_Uniform()] * len(self.space)),
                rng=np.random.default_rng(1),
            )
        spread = evaluate(self.space.spread_points(count).T).var(axis=1)
        spread = spread / np.array([cell.scale for cell in self.cells]) ** 2
        indices: dict[str, dict[str, tuple[float, float]]] = {}
        for table in dict.fromkeys(cell.table for cell in self.cells):
            weight = np.where([cell.table == table for cell in self.cells], spread, 0.0)
            weight = weight / max(weight.sum(), 1e-300)
            first = np.nan_to_num(found.first_order).T @ weight
            total = np.nan_to_num(found.total_order).T @ weight
            indices[table] = {
                name: (float(first[place]), float(total[place]))
                for place, name in enumerate(self.space.names)
            }
        return indices

    def find_warnings(self) -> list[str]:
        """Find sentences that a reader of the posterior must know."""
        warnings = []
        if self.failures:
            total = len(self.points) + len(self.failures)
            warnings.append(
                f"{len(self.failures)} of {total} trials failed and are left out, so that nothing "
                f"is known there; the first: {self.failures[0]}"
            )
        for verdict in self.verdicts:
            if verdict.edge:
                warnings.append(
                    f"{verdict.name} lies at the {verdict.edge} end of its prior, which may "
                    "exclude the truth: widen it"
                )
        checks = self.check_cells()
        outside = sum(not check.is_inside for check in checks)
        if outside > max(1.0, 0.2 * len(checks)) or self.misfit[1] > MAX_MISFIT:
            warnings.append(
                f"no setting in the priors explains the published values: {outside} of "
                f"{len(checks)} lie outside their prediction interval, and a misfit of "
                f"{100 * self.misfit[0]:.3g} % is left; a prior excludes the truth, or the "
                "scenario lacks a mechanism"
            )
        shifts = self.find_shifts()
        moved = [name for name, shift in shifts.items() if shift > MAX_SHIFT]
        if moved:
            warnings.append(
                f"not converged: the last round moved {', '.join(moved)} by up to "
                f"{max(shifts.values()):.2g} of their standard deviations; give more trials"
            )
        for table, share in self.explained_by_table().items():
            if share < MIN_EXPLAINED:
                warnings.append(
                    f"the emulator predicts {100 * max(share, 0):.0f} % of the variance of table "
                    f"{table or '1'} over the trials: either it needs more trials, or what is "
                    "fitted hardly changes that table"
                )
        return warnings

    def find_shifts(self) -> dict[str, float]:
        """Find how far the last round moved the mean of each parameter, in standard deviations."""
        if self.previous is None:
            return {}
        found = {}
        for place, name in enumerate(self.space.names):
            mean, deviation = self.samples.find_mean(place)
            earlier, earlier_deviation = self.previous.find_mean(place)
            found[name] = abs(mean - earlier) / max(deviation, earlier_deviation, 1e-9)
        return found

    def explained_by_table(self) -> dict[str, float]:
        """Share of the variance of each table's cells that the emulator predicts, left out."""
        usual = self.sources.of_reading[0]
        shares = self.emulator.explained_shares[usual]
        found = {}
        for table in dict.fromkeys(cell.table for cell in self.cells):
            chosen = [
                share
                for share, cell, constant in zip(
                    shares, self.cells, self.emulator.is_constant[usual], strict=True
                )
                if cell.table == table and not constant
            ]
            found[table] = float(np.median(chosen)) if chosen else 1.0
        return found


class _Uniform:
    """The prior of a share, as ``sobol_indices`` asks for it."""

    def ppf(self, share: FloatArray) -> FloatArray:
        """The share itself."""
        return share


def log_mean_exp(values: FloatArray) -> float:
    """Log of the mean of exponentials."""
    highest = float(values.max())
    return highest + float(np.log(np.mean(np.exp(values - highest))))


def infer(
    space: ParameterSpace,
    cells: Sequence[TargetCell],
    run_trials: TrialRunner,
    *,
    trials: int | None = None,
    plan_trials: Callable[[int], int] | None = None,
    sources: CellSources | None = None,
    live_points: int = LIVE_POINTS,
    has_misfit: bool = True,
    on_step: Callable[[str], None] = lambda text: None,
) -> Inference:
    """Run trials in rounds and infer the parameters.

    cells: Published values.
    run_trials: Runs the settings of a round.
    trials: How many; ten for each parameter if left out, at least 16.
    plan_trials: Gives the number of trials after the first sixteen have ended, in place of
        ``trials``.
    sources: Values of a trial, and which of them each cell is compared with; one for each cell, in
        their order, if left out.
    live_points: Points of the nested sampling.
    has_misfit: Whether something may be left that no setting explains.
    on_step: Is given a line for each step.
    Raises StudyError: More than half of the trials failed, or all cells are the same in all trials.
    """
    total = trials or max(MIN_TRIALS, TRIALS_A_PARAMETER * len(space))
    begun = total // 2
    if plan_trials is not None:
        begun = MIN_TRIALS
    points = _put_first(space, space.spread_points(begun))
    outcomes = _run_points(space, run_trials, points)
    if plan_trials is not None:
        total = max(plan_trials(begun), begun)
        more = space.spread_points(max(total // 2 - begun, 0), begun)
        if len(more):
            outcomes = _join(outcomes, _run_points(space, run_trials, more))
            points = np.concatenate([points, more])
    previous = None
    sources = sources or CellSources.as_published(cells)

    def build_likelihood() -> CellLikelihood:
        emulator = _learn(space, points, outcomes)
        return CellLikelihood(space, emulator, cells, sources=sources, has_misfit=has_misfit)

    refined = total - round(SEARCHING_SHARE * total)
    for left in range(REFINING_ROUNDS, 0, -1):
        count = (refined - len(points)) // left
        if count < 1:
            continue
        on_step(f"{len(points)} trials have ended; finding where to try next")
        likelihood = build_likelihood()
        previous = sample_posterior(
            likelihood, likelihood.dimensions, live_points=max(live_points // 3, 25)
        )
        chosen = previous.draw(count, seed=left)[:, : len(space)]
        outcomes = _join(outcomes, _run_points(space, run_trials, chosen))
        points = np.concatenate([points, chosen])
    while len(points) < total:
        on_step(f"{len(points)} trials have ended; searching around the nearest")
        emulator = _learn(space, points, outcomes)
        distances = _measure_trials(cells, sources, points, outcomes.values)

        def measure(candidates: FloatArray, emulator: Emulator = emulator) -> FloatArray:
            found = emulator.predict(space.to_coordinates(candidates)).mean
            return measure_distances(cells, sources.pick(candidates, found))

        chosen = propose_points(
            space,
            points[int(np.nanargmin(distances))],
            measure,
            min(SEARCHING_BATCH, total - len(points)),
            seed=len(points),
        )
        outcomes = _join(outcomes, _run_points(space, run_trials, chosen))
        points = np.concatenate([points, chosen])
    on_step(f"{len(points)} trials have ended; sampling the posterior")
    likelihood = build_likelihood()
    samples = sample_posterior(likelihood, likelihood.dimensions, live_points=live_points)
    is_ended = ~np.isnan(outcomes.values).any(axis=(1, 2))
    return Inference(
        space,
        tuple(cells),
        points[is_ended],
        outcomes.values[is_ended],
        outcomes.failures,
        likelihood.emulator,
        samples,
        previous,
        sources,
        live_points,
        has_misfit,
    )


def _measure_trials(
    cells: Sequence[TargetCell], sources: CellSources, points: FloatArray, outcomes: FloatArray
) -> FloatArray:
    """Distances of trials from what was published; not-a-number of those that failed."""
    return measure_distances(cells, sources.pick(points, outcomes.mean(axis=1)))


def _put_first(space: ParameterSpace, points: FloatArray) -> FloatArray:
    """The points with the values that are held now in place of the first, if they can be."""
    if any(not parameter.held_at for parameter in space.parameters):
        return points
    now = space.find_point({each.name: each.held_at for each in space.parameters})
    return points if now is None else np.concatenate([now[None, :], points[1:]])


def _run_points(
    space: ParameterSpace, run_trials: TrialRunner, points: FloatArray
) -> TrialOutcomes:
    return run_trials([space.format_settings(point) for point in points.tolist()])


def _join(first: TrialOutcomes, second: TrialOutcomes) -> TrialOutcomes:
    return TrialOutcomes(
        np.concatenate([first.values, second.values]), first.failures + second.failures
    )


def _learn(space: ParameterSpace, points: FloatArray, outcomes: TrialOutcomes) -> Emulator:
    is_ended = np.asarray(~np.isnan(outcomes.values).any(axis=(1, 2)))
    if is_ended.sum() < max(4, (1 - MAX_FAILED_SHARE) * len(points)):
        first = outcomes.failures[0] if outcomes.failures else "a cell has no value"
        raise StudyError(
            f"{int((~is_ended).sum())} of {len(points)} trials failed, too many to learn from the "
            f"others; narrow the priors; the first: {first}"
        )
    values = outcomes.values[is_ended]
    emulator = Emulator(space.to_coordinates(points[is_ended]), space.groups, values)
    if emulator.is_constant.all():
        raise StudyError(
            f"none of {', '.join(space.names)} changes any of the values: nothing can be inferred"
        )
    return emulator
