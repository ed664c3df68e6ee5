"""The posterior of the parameters, by nested sampling, and the verdicts from it.

Nested sampling (Skilling, Nested Sampling for General Bayesian Computation, Bayesian Analysis 1,
2006), as the package dynesty has it, copes with several modes and with readings, which are steps of
the unit cube, and gives the evidence, which weighs a freedom against what it explains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trunkline.study.fit.parameter_space import FloatArray, ParameterSpace
from trunkline.study.fit.quantity_text import shorten_quantity
from trunkline.study.language.priors import ParameterPrior

LIVE_POINTS = 300
"""Points of the nested sampling; the error of its results falls with their root."""

EVIDENCE_LEFT = 0.05
"""Sampling ends when the rest can add at most this to the log of the evidence."""

_TIE_STEP = 1e-6
"""Largest change of a log likelihood by the order among equally likely points."""

DETERMINED_WIDTH = 0.5
"""A parameter is determined if its 95 % interval is half as wide as that of its prior, or less."""

UNDETERMINED_WIDTH = 0.8
"""Share of the prior; the values determine no parameter with a wider interval."""

EDGE_SHARE = 0.03
"""This share of the prior's probability at either end is its edge."""

EDGE_EXCESS = 5.0
"""Probability at the edge over the prior's; above this the prior may exclude the truth."""

MAX_EDGE_MASS = 0.9
"""More than that at an end is worth a warning, however few steps the range has."""

POSITIVE_FACTOR = 3.0
"""Odds below 3 are not worth more than a bare mention (Kass and Raftery, Bayes Factors, JASA 90,
1995, section 3.2)."""

STRONG_FACTOR = 20.0
"""Odds of 20 and more are strong (the same)."""


@dataclass(frozen=True)
class PosteriorSamples:
    """Points of the unit cube with their weights.

    Parameters
    ----------
    points : ndarray of shape (n, dimensions)
        The parameters, then the misfit.
    weights : ndarray of shape (n,)
        Their sum is 1.
    log_likelihoods : ndarray of shape (n,)
        Of each point.
    log_evidence, log_evidence_error : float
        Log of the mean likelihood over the prior, and its standard deviation.
    calls : int
        Evaluations of the likelihood.
    """

    points: FloatArray
    weights: FloatArray
    log_likelihoods: FloatArray
    log_evidence: float
    log_evidence_error: float
    calls: int

    @property
    def effective_count(self) -> float:
        """Number of independent draws with the same information (Kish)."""
        return float(1.0 / np.sum(self.weights**2))

    def draw(self, count: int, seed: int = 1) -> FloatArray:
        """Draw points by their weights, systematically."""
        offsets = (np.random.default_rng(seed).random() + np.arange(count)) / count
        places = np.searchsorted(np.cumsum(self.weights), offsets).clip(max=len(self.weights) - 1)
        drawn: FloatArray = self.points[places]
        return drawn

    def reweigh(self, log_likelihoods: FloatArray) -> PosteriorSamples:
        """The posterior by another likelihood, from the same points.

        Points of nested sampling stand for shares of the prior, and any likelihood can weigh them
        (Skilling 2006). This needs no further evaluation, but `effective_count` is small
        where the two likelihoods have little in common.

        Parameters
        ----------
        log_likelihoods : ndarray of shape (n,)
            The other likelihood, of each point.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) - self.log_likelihoods + log_likelihoods
        highest = logs.max()
        weights = np.exp(logs - highest)
        log_sum = float(highest + np.log(weights.sum()))
        return PosteriorSamples(
            self.points,
            weights / weights.sum(),
            log_likelihoods,
            self.log_evidence + log_sum,
            self.log_evidence_error,
            self.calls,
        )

    def find_quantiles(self, dimension: int, shares: tuple[float, ...]) -> list[float]:
        """Find the quantiles of a dimension, as shares of its prior's probability."""
        order = np.argsort(self.points[:, dimension])
        cumulated = np.cumsum(self.weights[order]) - self.weights[order] / 2
        found = np.interp(shares, cumulated, self.points[order, dimension])
        return [float(each) for each in found]

    def find_masses(self, dimension: int, bins: int) -> FloatArray:
        """Probability of equal parts of a dimension, of shape (bins,)."""
        masses: FloatArray = np.histogram(
            self.points[:, dimension], bins=bins, range=(0, 1), weights=self.weights
        )[0]
        return masses

    def find_mean(self, dimension: int) -> tuple[float, float]:
        """Mean and standard deviation of a dimension, as shares of its prior's probability."""
        column = self.points[:, dimension]
        mean = float(self.weights @ column)
        return mean, float(np.sqrt(self.weights @ (column - mean) ** 2))


def sample_posterior(
    likelihood: Callable[[FloatArray], float],
    dimensions: int,
    *,
    live_points: int = LIVE_POINTS,
    seed: int = 1,
) -> PosteriorSamples:
    """Sample the posterior over the unit cube.

    Parameters
    ----------
    likelihood : callable
        Log likelihood of a point.
    dimensions : int
        Of the cube, on which the prior is uniform.
    live_points : int
        Points of the nested sampling.
    seed : int
        The same seed gives the same points.
    """
    import dynesty

    # Where readings alone count, many points are equally likely; an order among them keeps the
    # volumes right (Fowlie, Handley and Su, Nested Sampling with Plateaus, MNRAS 503, 2021).
    directions = np.random.default_rng(0).uniform(1e3, 1e4, dimensions)

    def break_ties(point: FloatArray) -> float:
        return likelihood(point) + _TIE_STEP * float((point @ directions) % 1.0)

    sampler = dynesty.NestedSampler(
        break_ties,
        lambda point: point,
        dimensions,
        nlive=max(live_points, 2 * dimensions + 2),
        bound="multi",
        sample="rwalk",
        rstate=np.random.default_rng(seed),
    )
    sampler.run_nested(dlogz=EVIDENCE_LEFT, print_progress=False)
    results = sampler.results
    weights = np.exp(results.logwt - results.logz[-1])
    return PosteriorSamples(
        np.asarray(results.samples),
        weights / weights.sum(),
        np.asarray(results.logl),
        float(results.logz[-1]),
        float(results.logzerr[-1]),
        int(np.sum(results.ncall)),
    )


@dataclass(frozen=True)
class ReadingOdds:
    """Odds of a reading against the other readings of its parameter.

    Parameters
    ----------
    reading : str
        Its value.
    probability : float
        Of the posterior.
    odds : float
        Of the best reading against it, as each was as likely at first: the Bayes factor, which has
        the penalty for freedom in it. Infinite where no sample has it.
    """

    reading: str
    probability: float
    odds: float


@dataclass(frozen=True)
class ParameterVerdict:
    """Verdict on a parameter by the published values.

    Parameters
    ----------
    name : str
        Parameter.
    verdict : str
        ``determined``, ``partly determined``, ``not determined``; of readings ``determined``,
        ``favoured`` or ``cannot be told apart``.
    low, median, high : str
        Bounds of the 95 % interval and the middle, as a scenario file has them; empty for the
        readings of a list.
    width : float
        Width of the interval over that of the prior; of readings, the posterior's entropy over that
        of the prior.
    edge : str
        ``lower`` or ``upper`` where the posterior lies at an end of the prior, which may exclude
        the truth.
    readings : tuple of ReadingOdds
        The likeliest first; empty for a range.
    """

    name: str
    verdict: str
    low: str
    median: str
    high: str
    width: float
    edge: str
    readings: tuple[ReadingOdds, ...]

    @property
    def is_determined(self) -> bool:
        """Whether the published values determine it."""
        return self.verdict == "determined"


def judge_parameters(space: ParameterSpace, samples: PosteriorSamples) -> list[ParameterVerdict]:
    """Judge each parameter by the posterior."""
    return [_judge_parameter(space, samples, place) for place in range(len(space))]


def _judge_parameter(
    space: ParameterSpace, samples: PosteriorSamples, place: int
) -> ParameterVerdict:
    parameter = space.parameters[place]
    prior = parameter.prior
    low, median, high = samples.find_quantiles(place, (0.025, 0.5, 0.975))
    if prior.is_range:
        width = (high - low) / 0.95
        verdict = (
            "determined"
            if width <= DETERMINED_WIDTH
            else "partly determined"
            if width <= UNDETERMINED_WIDTH
            else "not determined"
        )
        column = samples.points[:, place]
        # The edge of a range with few steps is its first or last one.
        edge_share = max(EDGE_SHARE, 1 / len(prior.readings) if prior.readings else 0.0)
        below = float(samples.weights[column < edge_share].sum())
        above = float(samples.weights[column > 1 - edge_share].sum())
        is_at_edge = max(below, above) > min(EDGE_EXCESS * edge_share, MAX_EDGE_MASS)
        edge = ("lower" if below > above else "upper") if is_at_edge else ""
        texts = _format_all(prior, (low, median, high))
        return ParameterVerdict(parameter.name, verdict, *texts, width, edge, ())
    numbers = [prior.find_reading(share) for share in samples.points[:, place]]
    probabilities = np.bincount(numbers, weights=samples.weights, minlength=len(prior.readings))
    best = float(probabilities.max())
    odds = sorted(
        (
            ReadingOdds(
                reading, float(probability), best / probability if probability > 0 else np.inf
            )
            for reading, probability in zip(prior.readings, probabilities, strict=True)
        ),
        key=lambda each: -each.probability,
    )
    second = odds[1].odds if len(odds) > 1 else np.inf
    verdict = (
        "determined"
        if second >= STRONG_FACTOR
        else "favoured"
        if second >= POSITIVE_FACTOR
        else "cannot be told apart"
    )
    positive = probabilities[probabilities > 0]
    entropy = float(-(positive @ np.log(positive)) / max(np.log(len(probabilities)), 1e-12))
    return ParameterVerdict(parameter.name, verdict, "", "", "", entropy, "", tuple(odds))


def _format_all(prior: ParameterPrior, shares: tuple[float, float, float]) -> tuple[str, str, str]:
    low, median, high = (shorten_quantity(prior.format_at(share)) for share in shares)
    return low, median, high


def profile_likelihood(
    samples: PosteriorSamples, dimension: int, bins: int = 20
) -> tuple[FloatArray, FloatArray]:
    """Highest log likelihood in each part of a dimension, less the highest of all.

    Returns
    -------
    middles, heights : ndarray of shape (bins,) each
        The middle of each part as a share of the prior's probability; not-a-number where no sample
        is.
    """
    number = np.minimum((samples.points[:, dimension] * bins).astype(int), bins - 1)
    heights = np.full(bins, -np.inf)
    np.maximum.at(heights, number, samples.log_likelihoods)
    heights -= samples.log_likelihoods.max()
    return (np.arange(bins) + 0.5) / bins, np.where(np.isfinite(heights), heights, np.nan)
