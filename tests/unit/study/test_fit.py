"""Unstated parameters inferred: against closed forms, conjugate posteriors and brute force."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.optimize import check_grad
from scipy.stats import kstest, multivariate_normal, norm

from trunkline.report.fit_page import write_fit_page
from trunkline.scenario import ScenarioError, load
from trunkline.scenario.expression import parse_scalar
from trunkline.scenario.fields import Rate
from trunkline.study.errors import StudyError
from trunkline.study.fit.cell_likelihood import (
    CellLikelihood,
    CellSources,
    TargetCell,
    compute_misfit,
    measure_distances,
)
from trunkline.study.fit.emulator import Emulator, GaussianProcess
from trunkline.study.fit.inference import Inference, TrialOutcomes, infer
from trunkline.study.fit.parameter_space import FloatArray, FreeParameter, ParameterSpace
from trunkline.study.fit.posterior import PosteriorSamples, judge_parameters, sample_posterior
from trunkline.study.fit.quantity_text import shorten_quantity
from trunkline.study.fit.study_fit import StudyFit, fit_study
from trunkline.study.fit.trial_runs import list_free_parameters, list_target_cells
from trunkline.study.language.catalogue import find_study, list_study_names
from trunkline.study.language.priors import ParameterPrior
from trunkline.study.language.study_files import load_study

RATE = ParameterPrior({"from": 2, "to": 10})
SIZE = ParameterPrior({"from": 500, "to": 1500})


def make_cell(name: str, value: float, *, rounded_to: float = 0.001, runs: int = 1) -> TargetCell:
    return TargetCell("t", name, "wait", "ms", value, rounded_to, runs, abs(value))


def wait_of_md1(rate: float, capacity: float, size: float) -> float:
    """Mean wait [ms] by Pollaczek and Khinchine; rates in Mbit/s, the size in B."""
    load = rate / capacity
    return load / (2 * (1 - load)) * 8 * size / capacity / 1000


# The sampler


def test_nested_sampling_gives_the_conjugate_posterior_and_evidence() -> None:
    # A normal mean with a prior that is level from 0 to 1: the posterior is the normal law of the
    # sample mean, and the evidence its density over the values, both in closed form.
    values, deviation = np.array([0.42, 0.47, 0.55, 0.50]), 0.1

    def log_likelihood(point: FloatArray) -> float:
        return float(norm.logpdf(values, point[0], deviation).sum())

    found = sample_posterior(log_likelihood, 1, live_points=150)
    mean, spread = found.find_mean(0)
    expected_spread = deviation / np.sqrt(len(values))
    assert mean == pytest.approx(values.mean(), abs=4 * expected_spread / np.sqrt(300))
    assert spread == pytest.approx(expected_spread, rel=0.15)
    exact = norm.logpdf(values, values.mean(), deviation).sum() + np.log(
        expected_spread * np.sqrt(2 * np.pi)
    )
    assert found.log_evidence == pytest.approx(exact, abs=4 * found.log_evidence_error)


@pytest.mark.parametrize(("offset", "wins"), [(0.0, "fixed"), (0.25, "free")])
def test_the_odds_of_readings_have_the_penalty_for_freedom(offset: float, wins: str) -> None:
    # Reading "fixed" says the mean is 0.5, reading "free" that it is anywhere from 0 to 1. Both
    # evidences are closed forms: where 0.5 is right the free reading pays for its freedom.
    space = ParameterSpace(
        [
            FreeParameter("mean", ParameterPrior({"from": 0, "to": 1})),
            FreeParameter("reading", ParameterPrior(["fixed", "free"])),
        ]
    )
    value, deviation = 0.5 + offset, 0.08

    def log_likelihood(point: FloatArray) -> float:
        mean = 0.5 if point[1] < 0.5 else point[0]
        return float(norm.logpdf(value, mean, deviation))

    verdict = judge_parameters(space, sample_posterior(log_likelihood, 2, live_points=150))[1]
    fixed = norm.pdf(value, 0.5, deviation)
    free = norm.cdf(1, value, deviation) - norm.cdf(0, value, deviation)
    odds = max(fixed, free) / min(fixed, free)
    assert verdict.readings[0].reading == wins
    assert verdict.readings[1].odds == pytest.approx(odds, rel=0.4)
    assert verdict.verdict == ("determined" if verdict.readings[1].odds >= 20 else "favoured")


# The emulator


def test_the_gradient_of_the_score_is_its_slope() -> None:
    rng = np.random.default_rng(3)
    coordinates = rng.random((12, 3))
    process = GaussianProcess(coordinates, np.array([0, 1, 1]), rng.standard_normal(12))
    at = np.array([0.3, -0.4, 0.2, -1.0, -0.7])
    slope = check_grad(lambda x: process.score(x)[0], lambda x: process.score(x)[1], at)
    assert slope < 1e-4


def test_each_left_out_trial_is_predicted_as_by_a_process_without_it() -> None:
    # Rasmussen and Williams 2006, equations 2.25, 2.26 and 5.12: brute force, trial by trial.
    rng = np.random.default_rng(4)
    coordinates = rng.random((10, 2))
    values = np.sin(3 * coordinates[:, 0]) + 0.1 * rng.standard_normal(10)
    process = GaussianProcess(coordinates, np.array([0, 1]), values)
    squared = sum(
        (coordinates[:, None, d] - coordinates[None, :, d]) ** 2 / process.lengths[d] ** 2
        for d in range(2)
    )
    root = np.sqrt(5 * squared)
    centred = coordinates - 0.5
    signal = process.variance * (1 + root + root**2 / 3) * np.exp(-root)
    signal += process.linear * centred @ centred.T
    mean, variance = process.left_out
    for place in range(10):
        others = np.delete(np.arange(10), place)
        noisy = signal[np.ix_(others, others)] + process.noise * np.eye(9)
        solved = np.linalg.solve(noisy, signal[others, place])
        assert mean[place] == pytest.approx(solved @ values[others], abs=1e-6)
        expected = signal[place, place] - solved @ signal[others, place]
        assert variance[place] == pytest.approx(expected, abs=1e-5)


def test_predictions_come_back_at_the_trials_and_follow_orders_of_magnitude() -> None:
    space = ParameterSpace([FreeParameter("capacity", RATE), FreeParameter("size", SIZE)])
    points = space.spread_points(32)
    capacities, sizes = 2 + 8 * points[:, 0], 500 + 1000 * points[:, 1]
    waits = np.array([[wait_of_md1(1.9, c, s), s] for c, s in zip(capacities, sizes, strict=True)])
    outcomes = np.repeat(waits[:, None, :], 2, axis=1)
    emulator = Emulator(space.to_coordinates(points), space.groups, outcomes)
    # The waits at a load near 1 are a hundred times those at a low load.
    assert waits[:, 0].max() / waits[:, 0].min() > 50
    new = space.spread_points(16, 64)
    predicted = emulator.predict(space.to_coordinates(new)).mean
    for point, (wait, size) in zip(new, predicted, strict=True):
        exact = wait_of_md1(1.9, 2 + 8 * point[0], 500 + 1000 * point[1])
        assert wait == pytest.approx(exact, rel=0.15)
        assert size == pytest.approx(500 + 1000 * point[1], rel=0.02)
    assert emulator.explained_shares.min() > 0.9


def test_any_two_readings_that_are_no_numbers_are_as_far_from_each_other() -> None:
    space = ParameterSpace(
        [
            FreeParameter("tcp", ParameterPrior(["tahoe", "reno", "sack"])),
            FreeParameter("queue", ParameterPrior(["10 packets", "20 packets", "50 packets"])),
        ]
    )
    coordinates = space.to_coordinates(np.array([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]]))
    assert space.groups.tolist() == [0, 0, 0, 1]
    for first, second in itertools.combinations(coordinates[:, :3], 2):
        assert np.sum((first - second) ** 2) == pytest.approx(1.0)
    assert coordinates[:, 3].tolist() == [0.0, 0.5, 1.0]


# The likelihood


def build_wait_emulator(space: ParameterSpace, spread: float, seed: int = 5) -> Emulator:
    """Trials of an M/D/1 queue at three rates by its closed form, with noise from run to run."""
    rng = np.random.default_rng(seed)
    points = space.spread_points(48)
    return Emulator(space.to_coordinates(points), space.groups, draw_waits(points, spread, rng))


def draw_waits(points: FloatArray, spread: float, rng: np.random.Generator) -> FloatArray:
    exact = np.array(
        [
            [wait_of_md1(rate, 5 + 5 * c, 500 + 1000 * s) for rate in (1.0, 3.0, 4.5)]
            for c, s in points[:, :2]
        ]
    )
    noise = rng.standard_normal((len(points), 2, 3))
    return np.asarray(exact[:, None, :] * (1 + spread * noise))


CAPACITY = FreeParameter("capacity", ParameterPrior({"from": 5, "to": 10}))
SIZE_PARAMETER = FreeParameter("size", SIZE)


def test_the_likelihood_is_the_normal_law_with_the_whole_covariance() -> None:
    # Brute force: the covariance written out, and scipy's multivariate normal density.
    space = ParameterSpace([CAPACITY, SIZE_PARAMETER])
    emulator = build_wait_emulator(space, 0.05)
    cells = [make_cell(str(n), value, runs=4) for n, value in enumerate((0.2, 0.9, 2.5))]
    likelihood = CellLikelihood(space, emulator, cells)
    for point in ([0.4, 0.6, 0.5], [0.9, 0.1, 0.9], [0.1, 0.9, 0.1]):
        found = emulator.predict(space.to_coordinates(np.array([point[:2]])))
        misfit = compute_misfit(np.array(point[2])) * np.array([0.2, 0.9, 2.5])
        own = found.roughness[0] + found.run_variance[0] / 4 + misfit**2 + 0.001**2 / 12
        covariance = np.diag(own) + found.loadings[0].T @ found.loadings[0]
        exact = multivariate_normal.logpdf([0.2, 0.9, 2.5], found.mean[0], covariance)
        assert likelihood(np.array(point)) == pytest.approx(exact + 3 * np.log(0.001), rel=1e-9)
        some = np.array([True, False, True])
        part = likelihood.compute_log_probabilities(np.array([point]), some)[0]
        kept = multivariate_normal.logpdf(
            [0.2, 2.5], found.mean[0][some], covariance[np.ix_(some, some)]
        )
        assert part == pytest.approx(kept + 2 * np.log(0.001), rel=1e-9)


def test_the_spread_of_a_published_mean_falls_with_the_number_of_its_runs() -> None:
    space = ParameterSpace([CAPACITY, SIZE_PARAMETER])
    emulator = build_wait_emulator(space, 0.2)
    point = np.array([[0.5, 0.5, 0.0]])
    variances = []
    for runs in (1, 100):
        cells = [make_cell(str(n), 1.0, runs=runs) for n in range(3)]
        likelihood = CellLikelihood(space, emulator, cells)
        variances.append(likelihood.predict(point, with_misfit=False)[1][0])
    run_variance = emulator.predict(space.to_coordinates(point[:, :2])).run_variance[0]
    assert variances[0] - variances[1] == pytest.approx(run_variance * 0.99, rel=1e-9)


# Known truth


def sample_on_grid(likelihood: CellLikelihood, side: int = 60) -> PosteriorSamples:
    """The posterior of two parameters by brute force: weights on a grid."""
    middles = (np.arange(side) + 0.5) / side
    points = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = likelihood.compute_log_probabilities(points)
    weights = np.exp(logs - logs.max())
    evidence = float(np.log(weights.mean()) + logs.max())
    return PosteriorSamples(points, weights / weights.sum(), logs, evidence, 0.0, len(points))


@pytest.mark.slow
def test_nested_sampling_agrees_with_a_grid() -> None:
    space = ParameterSpace([CAPACITY, SIZE_PARAMETER])
    emulator = build_wait_emulator(space, 0.05)
    cells = [make_cell(str(n), wait_of_md1(r, 7, 900)) for n, r in enumerate((1.0, 3.0, 4.5))]
    likelihood = CellLikelihood(space, emulator, cells, has_misfit=False)
    exact = sample_on_grid(likelihood)
    found = sample_posterior(likelihood, 2, live_points=80)
    for dimension in range(2):
        mean, spread = exact.find_mean(dimension)
        assert found.find_mean(dimension)[0] == pytest.approx(mean, abs=0.35 * spread)
        assert found.find_mean(dimension)[1] == pytest.approx(spread, rel=0.25)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=4 * found.log_evidence_error)


def test_a_posterior_weighed_anew_agrees_with_a_grid_of_the_other_likelihood() -> None:
    # The cell that is left out contradicts the others, so that the posterior moves without it.
    space = ParameterSpace([CAPACITY, SIZE_PARAMETER])
    emulator = build_wait_emulator(space, 0.05)
    waits = [wait_of_md1(1.0, 7, 900), wait_of_md1(3.0, 7, 900), wait_of_md1(4.5, 7.5, 1000)]
    cells = [make_cell(str(n), wait) for n, wait in enumerate(waits)]
    others = np.array([True, True, False])
    every, part = (
        CellLikelihood(space, emulator, cells, counted, has_misfit=False)
        for counted in (None, others)
    )
    exact = sample_on_grid(part)
    samples = sample_posterior(every, 2, live_points=80)
    found = samples.reweigh(part.compute_log_probabilities(samples.points))
    for dimension in range(2):
        mean, spread = exact.find_mean(dimension)
        moved = abs(samples.find_mean(dimension)[0] - mean)
        assert found.find_mean(dimension)[0] == pytest.approx(mean, abs=0.35 * spread)
        assert found.find_mean(dimension)[1] == pytest.approx(spread, rel=0.25)
        assert moved > 0.35 * spread
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=4 * found.log_evidence_error)


def test_the_posterior_covers_a_known_truth_at_the_nominal_rate() -> None:
    # Talts et al., Validating Bayesian Inference Algorithms with Simulation-Based Calibration,
    # 2018: truths drawn from the prior have level ranks in their posteriors.
    space = ParameterSpace([CAPACITY, SIZE_PARAMETER])
    spread = 0.03
    emulator = build_wait_emulator(space, spread)
    rng = np.random.default_rng(11)
    covered, ranks = 0, []
    for _ in range(60):
        truth = rng.random((1, 2))
        published = draw_waits(truth, spread, rng)[0, 0]
        cells = [make_cell(str(n), round(float(v), 3)) for n, v in enumerate(published)]
        found = sample_on_grid(CellLikelihood(space, emulator, cells, has_misfit=False))
        for dimension in range(2):
            low, high = found.find_quantiles(dimension, (0.05, 0.95))
            covered += low <= truth[0, dimension] <= high
            below = found.points[:, dimension] < truth[0, dimension]
            ranks.append(float(found.weights[below].sum()))
    # Of 120 intervals of 90 %, 108 are expected; the binomial law leaves this with 1 %.
    assert 99 <= covered <= 116
    assert kstest(ranks, "uniform").pvalue > 0.01


SCENARIO = """
trunkline: 1
parameters: {rate: 3 Mbit/s, capacity: 8 Mbit/s, size: 1000 B, delay: 1 ms}
nodes: [S, R]
links: {S-R: {rate: $capacity, delay: $delay, port: endless}}
ports: {endless: {queue: {limit: none}}}
flows: {f: {agent: udp, from: S, to: R, arrivals: poisson, rate: $rate, size: $size}}
run: {duration: 15 s, warm_up: 1 s}
"""
STUDY = """
study: 1
name: wait
title: Waits of an M/D/1 queue
scenario: queue.yaml
runs: 3
grid: {rate: [2 Mbit/s, 4 Mbit/s, 6 Mbit/s]}
columns:
  wait: {table: ports, where: {link: S->R}, measure: wait_mean_s, unit: ms}
fitted:
  - parameter: capacity
    value: 9 Mbit/s
    prior: {from: 7 Mbit/s, to: 12 Mbit/s}
    reason: The document does not say.
  - parameter: size
    value: 800 B
    prior: {from: 500 B, to: 1500 B, step: 50 B}
    reason: Nor this.
  - parameter: delay
    value: 1 ms
    others: [5 ms]
    reason: No wait depends on it.
"""


@pytest.fixture
def write_study(tmp_path: Path) -> Callable[..., Path]:
    """A study of an M/D/1 queue with 8 Mbit/s and packets of 1000 B, published to 3 digits."""

    def write(study: str = STUDY, scenario: str = SCENARIO, published: str = "") -> Path:
        (tmp_path / "queue.yaml").write_text(scenario)
        (tmp_path / "study.yaml").write_text(study)
        lines = published or "".join(
            f"1,{rate} Mbit/s,wait,{wait_of_md1(rate, 8, 1000):.3f}\n" for rate in (2, 4, 6)
        )
        (tmp_path / "published.csv").write_text("table,row,column,value\n" + lines)
        return tmp_path

    return write


@pytest.fixture(scope="module")
def fitted_queue(tmp_path_factory: pytest.TempPathFactory) -> StudyFit:
    folder = tmp_path_factory.mktemp("md1")
    (folder / "queue.yaml").write_text(SCENARIO)
    (folder / "study.yaml").write_text(STUDY)
    rows = [f"1,{rate} Mbit/s,wait,{wait_of_md1(rate, 8, 1000):.3f}" for rate in (2, 4, 6)]
    (folder / "published.csv").write_text("\n".join(["table,row,column,value", *rows]) + "\n")
    return fit_study(str(folder), trials=24, live_points=60, out=folder / "out")


def test_a_study_finds_the_parameters_behind_pollaczek_and_khinchine(
    fitted_queue: StudyFit,
) -> None:
    verdicts = {each.name: each for each in fitted_queue.inference.verdicts}
    capacity = verdicts["capacity"]
    rate = TypeAdapter(Rate)
    low, high = (rate.validate_python(text) for text in (capacity.low, capacity.high))
    assert low < 8e6 < high
    assert verdicts["capacity"].is_determined
    size_low, size_high = (read_number(getattr(verdicts["size"], end)) for end in ("low", "high"))
    assert size_low <= read_number("1000 B") <= size_high
    assert fitted_queue.errors["best fit"]["1"] < 0.05 < fitted_queue.errors["as stated"]["1"]


def test_a_parameter_that_no_value_depends_on_is_not_determined(fitted_queue: StudyFit) -> None:
    delay = next(each for each in fitted_queue.inference.verdicts if each.name == "delay")
    assert delay.verdict == "cannot be told apart"
    assert "cannot tell" in fitted_queue.render(width=140)
    assert fitted_queue.sensitivity["1"]["delay"][1] < 0.05


@pytest.mark.slow
def test_a_fit_is_the_same_again_from_its_folder(fitted_queue: StudyFit) -> None:
    folder = fitted_queue.study.folder
    again = fit_study(str(folder), trials=24, live_points=60, out=folder / "out", resume=True)
    assert again.to_json() == fitted_queue.to_json()
    assert (folder / "out" / "fit.json").exists()
    assert (folder / "out" / "pairs.svg").stat().st_size > 1000


def test_the_page_of_a_fit_stands_alone(fitted_queue: StudyFit) -> None:
    folder = fitted_queue.study.folder / "out"
    write_fit_page(fitted_queue.to_json(), folder)
    page = (folder / "fit.html").read_text("utf-8")
    assert page.count("data:image/") == 2
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", page)
    for row in ("2 Mbit/s", "4 Mbit/s", "6 Mbit/s"):
        assert f">{row}<" in page
    assert "cannot be told apart" in page
    for prior in ("7 Mbit/s to 12 Mbit/s", "500 B to 1500 B in steps of 50 B"):
        assert f">{prior}<" in page
    assert f">{shorten_quantity(fitted_queue.best['capacity'])}<" in page


def test_a_published_value_is_rounded_at_its_last_digit(write_study: Callable[..., Path]) -> None:
    folder = write_study(
        published="1,2 Mbit/s,wait,1.50\n1,4 Mbit/s,wait,2\n1,6 Mbit/s,wait,1e-2\n"
    )
    cells = list_target_cells(load_study(folder))
    assert [cell.rounded_to for cell in cells] == [0.01, 1.0, 0.01]


# The search around the nearest trial


def run_bowl(settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
    """Trials of cells that are all 1 where every parameter is 0.7."""
    points = np.array([[float(each[f"x{n}"]) for n in range(6)] for each in settings])
    steps = points - 0.7
    values = 1 + steps**2 + 0.1 * np.abs(steps) * np.roll(points, 1, axis=1)
    return TrialOutcomes(np.repeat(values[:, None, :], 2, axis=1))


def build_bowl_space(held_at: str) -> ParameterSpace:
    prior = ParameterPrior({"from": 0, "to": 1})
    return ParameterSpace([FreeParameter(f"x{n}", prior, held_at) for n in range(6)])


@pytest.mark.slow
def test_the_search_comes_nearer_than_trials_spread_over_the_priors() -> None:
    space, cells = build_bowl_space(""), [make_cell(str(n), 1.0) for n in range(6)]
    found = infer(space, cells, run_bowl, trials=32, live_points=25)
    distances = measure_distances(cells, found.outcomes.mean(axis=1))
    assert distances[-8:].min() < 0.5 * distances[:24].min()
    nearest = found.list_nearest_settings(1)[0]
    assert measure_distances(cells, run_bowl([nearest]).values[:, 0])[0] == distances.min()


def test_the_values_of_a_study_are_its_first_trial_and_never_lost() -> None:
    # They are exact, so that no other trial can be as near.
    space, cells = build_bowl_space("0.7"), [make_cell(str(n), 1.0) for n in range(6)]
    found = infer(space, cells, run_bowl, trials=16, live_points=25)
    nearest = found.list_nearest_settings(1)[0]
    assert all(float(value) == pytest.approx(0.7, abs=1e-3) for value in nearest.values())


# Readings of the document


@pytest.mark.parametrize(
    ("offset", "verdict"),
    [(0.7, "determined"), pytest.param(0.0, "cannot be told apart", marks=pytest.mark.slow)],
)
def test_a_reading_is_what_a_published_value_is_compared_with(offset: float, verdict: str) -> None:
    # A run has x + 1 and x + 1 + offset, and x is at most 1, so that no first value is 2.2. Where
    # the two are the same nothing tells them apart.
    published, x_found = (2.2, 0.5) if offset else (1.4, 0.4)

    def run(settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
        x = np.array([float(each["x"]) for each in settings])
        values = np.stack([x + 1, x + 1 + offset], axis=1)
        return TrialOutcomes(np.repeat(values[:, None, :], 2, axis=1))

    space = ParameterSpace(
        [
            FreeParameter("x", ParameterPrior({"from": 0, "to": 1})),
            FreeParameter("reading", ParameterPrior(["first", "second"]), is_run=False),
        ]
    )
    sources = CellSources((("t", "a", "first"), ("t", "a", "second")), np.array([[0], [1]]), 1)
    cells = [make_cell("a", published)]
    found = infer(space, cells, run, trials=16, sources=sources, live_points=60, has_misfit=False)
    reading = found.verdicts[1]
    assert reading.verdict == verdict
    if offset:
        assert reading.readings[0].reading == "second"
    low, high = found.samples.find_quantiles(0, (0.025, 0.975))
    assert low < x_found < high
    assert high - low < 0.1


READING_STUDY = STUDY.replace(
    "unit: ms}\n",
    "unit: ms}\n  with transmission: {value: wait + 1, unit: ms, hidden: true}\n",
).replace(
    "fitted:",
    """readings:
  - {says: waits have the transmission in them, columns: {wait: with transmission}}
fit:
  points: [2 Mbit/s, 6 Mbit/s]
  set: {run.duration: 8 s}
  parameters:
    - {parameter: variant, value: none, prior: [none, 2 packets], reason: Unsaid.}
fitted:""",
)


@pytest.mark.slow
def test_a_fit_chooses_the_column_and_the_mechanism_behind_published_values(
    write_study: Callable[..., Path],
) -> None:
    # Published are waits of an endless M/D/1 queue by Pollaczek and Khinchine, and the 1 ms that
    # 1000 B take at 8 Mbit/s; the row of 4 Mbit/s is not fitted, so that its value may be wrong.
    # The parameter of the buffer is called as the choice among variants of a study is.
    folder = write_study(
        READING_STUDY,
        SCENARIO.replace("delay: 1 ms}", "delay: 1 ms, variant: none}").replace(
            "limit: none", "limit: $variant"
        ),
        "1,2 Mbit/s,wait,1.167\n1,4 Mbit/s,wait,99.0\n1,6 Mbit/s,wait,2.500\n",
    )
    found = fit_study(str(folder), trials=24, live_points=40, check=False)
    verdicts = {each.name: each for each in found.inference.verdicts}
    assert verdicts["reading"].readings[0].reading == "waits have the transmission in them"
    assert verdicts["variant"].readings[0].reading == "none"
    assert found.runs == 24 * 2 * 2


# Bad input


def run_formula(
    formula: Callable[[float], float], fails: Callable[[float], bool] = lambda share: False
) -> Callable[[Sequence[Mapping[str, str]]], TrialOutcomes]:
    """Trials of one cell that depends on x from 0 to 1, with noise."""
    rng = np.random.default_rng(2)

    def run(settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
        values = np.full((len(settings), 2, 1), np.nan)
        failures = []
        for place, chosen in enumerate(settings):
            share = float(chosen["x"])
            if fails(share):
                failures.append(f"x {chosen['x']}: the queue has no room")
            else:
                values[place] = formula(share) + 0.01 * rng.standard_normal((2, 1))
        return TrialOutcomes(values, failures)

    return run


def infer_x(
    run: Callable[[Sequence[Mapping[str, str]]], TrialOutcomes], value: float, trials: int = 16
) -> Inference:
    space = ParameterSpace([FreeParameter("x", ParameterPrior({"from": 0, "to": 1}))])
    return infer(space, [make_cell("a", value)], run, trials=trials, live_points=30)


def test_trials_that_fail_are_left_out_and_told() -> None:
    found = infer_x(run_formula(lambda x: 1 + x, lambda x: x > 0.8), 1.3)
    low, high = found.samples.find_quantiles(0, (0.025, 0.975))
    assert low < 0.3 < high
    warning = next(text for text in found.find_warnings() if "failed" in text)
    assert "trials failed and are left out" in warning
    assert "the queue has no room" in warning


def test_too_many_trials_that_fail_end_the_fit() -> None:
    with pytest.raises(StudyError, match=r"trials failed, too many .* the queue has no room"):
        infer_x(run_formula(lambda x: 1 + x, lambda x: x > 0.2), 1.3)


def test_parameters_that_change_nothing_end_the_fit() -> None:
    def run(settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
        return TrialOutcomes(np.ones((len(settings), 2, 1)))

    with pytest.raises(StudyError, match="none of x changes any of the values"):
        infer_x(run, 1.3)


def infer_from_many(values: Sequence[float]) -> Inference:
    """Cells that are all 1 + x in the model."""
    rng = np.random.default_rng(7)

    def run(settings: Sequence[Mapping[str, str]]) -> TrialOutcomes:
        x = np.array([float(each["x"]) for each in settings])[:, None, None]
        noise = 0.01 * rng.standard_normal((len(settings), 2, len(values)))
        return TrialOutcomes(1 + x + noise)

    space = ParameterSpace([FreeParameter("x", ParameterPrior({"from": 0, "to": 1}))])
    cells = [make_cell(str(n), value) for n, value in enumerate(values)]
    return infer(space, cells, run, trials=16, live_points=30)


@pytest.mark.slow
def test_a_prior_that_excludes_the_truth_is_told() -> None:
    warnings = infer_from_many([2.2] * 6).find_warnings()
    assert any("x lies at the upper end of its prior" in text for text in warnings)


@pytest.mark.slow
def test_values_that_no_setting_explains_are_told() -> None:
    # They move together in the model, and not in the document.
    found = infer_from_many([1.1, 1.9] * 4)
    text = next(each for each in found.find_warnings() if "no setting" in each)
    assert "lie outside their prediction interval" in text
    assert found.misfit[0] > 0.05


def test_a_posterior_that_still_moves_has_not_converged() -> None:
    found = infer_x(run_formula(lambda x: 1 + x), 1.3)
    assert not any("not converged" in text for text in found.find_warnings())
    assert found.previous is not None
    found.previous.points[:, 0] = 0.9
    text = next(each for each in found.find_warnings() if "not converged" in each)
    assert "moved x by up to" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("    prior: {from: 7 Mbit/s, to: 12 Mbit/s}\n", ""), ""),
        (("to: 12 Mbit/s", "to: 12 ms"), "to and from of a range must be of one kind"),
        (("{from: 7 Mbit/s, to: 12 Mbit/s}", "7 Mbit/s"), "a prior is a range, a list of values"),
        (("{from: 7 Mbit/s, to: 12 Mbit/s}", "{mean: 7 Mbit/s}"), "a normal law needs deviation"),
        (
            ("{from: 7 Mbit/s, to: 12 Mbit/s}", "{mean: 7 Mbit/s, deviation: 0 Mbit/s}"),
            "the deviation must be above zero",
        ),
        (
            ("{from: 7 Mbit/s, to: 12 Mbit/s}", "{mean: 7 Mbit/s, sd: 1 Mbit/s}"),
            "there is no key sd in a normal law",
        ),
        (("runs: 3\n", "runs: 3\nfit: {tables: [two]}\n"), "there is no 'two' here"),
        (("runs: 3\n", "runs: 3\nfit: {variants: [b]}\n"), "there is no 'b' here"),
        (("runs: 3\n", "runs: 3\nfit: {runs: 1}\n"), "the replications of a trial"),
    ],
)
def test_a_study_file_is_refused_with_its_place(
    write_study: Callable[..., Path], change: tuple[str, str], message: str
) -> None:
    folder = write_study(STUDY.replace(*change))
    if not message:
        load_study(folder)
        return
    with pytest.raises(ScenarioError) as caught:
        load_study(folder)
    diagnostic = caught.value.diagnostics[0]
    assert message in str(caught.value)
    assert diagnostic.line > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": ["rate"]}, "'rate' is no parameter .* capacity, size, delay"),
        (
            {"runs": 50},
            "50 runs are 8 trials of 6 runs each; 16 trials at least, which are 96 runs",
        ),
    ],
)
def test_a_fit_that_cannot_be_is_refused(
    write_study: Callable[..., Path], options: dict[str, object], message: str
) -> None:
    folder = write_study()
    with pytest.raises(StudyError, match=message):
        fit_study(str(folder), **options)


def test_a_study_without_published_values_or_priors_is_refused(
    write_study: Callable[..., Path],
) -> None:
    folder = write_study(STUDY.partition("fitted:")[0])
    with pytest.raises(StudyError, match="has nothing to fit: give entries of fitted a prior"):
        fit_study(str(folder))
    folder = write_study(published="\n")
    with pytest.raises(StudyError, match="has no published values to fit"):
        fit_study(str(folder))


def test_a_name_with_two_meanings_is_refused(write_study: Callable[..., Path]) -> None:
    variants = "variants: [{name: slow, set: {capacity: 7 Mbit/s}}]\nfit:\n  variants: [slow]\n"
    folder = write_study(
        READING_STUDY.replace("fit:\n", variants),
        SCENARIO.replace("delay: 1 ms}", "delay: 1 ms, variant: none}"),
    )
    with pytest.raises(StudyError, match="needs the name 'variant' for what it compares"):
        fit_study(str(folder))


def test_a_folder_with_something_else_is_left_alone(
    write_study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = write_study()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(StudyError, match="holds something else than a fit"):
        fit_study(str(folder), out=other)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (["reno", "sack"], "reno, sack"),
        ({"from": "1 ms", "to": "9 ms", "scale": "log"}, "1 ms to 9 ms, any ratio as likely"),
        ({"mean": "10 ms", "deviation": "2 ms"}, "10 ms ± 2 ms"),
    ],
)
def test_a_prior_is_described_as_it_was_given(spec: Any, text: str) -> None:
    assert ParameterPrior(spec).describe() == text


def test_a_step_of_a_range_is_found_whatever_its_unit() -> None:
    prior = ParameterPrior({"from": "8 kB", "to": "18 kB", "step": "1 kB"})
    # The third of eleven steps.
    assert prior.find_share("10 kB") == prior.find_share("10000 B") == 2.5 / 11
    assert prior.find_share("10.5 kB") is None
    assert prior.find_share("10 packets") is None


def test_a_normal_prior_is_that_law_cut_at_four_deviations() -> None:
    prior = ParameterPrior({"mean": "10 ms", "deviation": "2 ms"})
    for share in (0.025, 0.5, 0.841):
        value = float(prior.format_at(share).split()[0])
        unit = prior.format_at(share).split()[1]
        scale = {"us": 1e-3, "ms": 1.0, "ns": 1e-6}[unit]
        assert value * scale == pytest.approx(norm.ppf(share, 10, 2), rel=1e-2)
    assert prior.find_share("10 ms") == pytest.approx(0.5, abs=0.01)
    assert prior.find_share("30 ms") is None


@pytest.mark.parametrize("name", list_study_names())
def test_the_values_of_each_study_of_the_package_are_in_its_priors(name: str) -> None:
    # So that the search begins at what the study has, and `reproduce` runs what a fit calls so.
    study = find_study(name)
    if not (study.fit.parameters or any(each.find_prior() for each in study.fitted)):
        return
    for parameter, _ in list_free_parameters(study):
        share = parameter.prior.find_share(parameter.held_at)
        assert share is not None, parameter.name
        found, held = (
            read_number(each) for each in (parameter.prior.format_at(share), parameter.held_at)
        )
        assert found == (held if isinstance(held, str) else pytest.approx(held, rel=2e-3))
    for item in study.fit.parameters:
        for case in item.cases or study.cases:
            scenario = load(study.folder / study.cases[case].scenario)
            held = scenario.parameters[item.parameter]
            switch = {True: {"true", "on"}, False: {"false", "off"}}
            known = switch[held] if isinstance(held, bool) else {str(held)}
            assert item.value in known, item.parameter


def read_number(text: str) -> float | str:
    found = parse_scalar(text)
    with contextlib.suppress(ValueError):
        return float(text) if found is None else float(found.value)
    return text
