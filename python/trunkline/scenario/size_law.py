"""Laws of sizes as engines read them, and their means: what makes a load into a rate of arrivals.

A law is a mapping of its name to its parameters, as `Sizes` of ``crates/agent/src/workload``.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Law = dict[str, Any]
MOST_TERMS = 100_000
"""Segments up to which the expected number of them is summed term by term."""


def lognormal(mean: float, sd: float, least: float, most: float) -> Law:
    """A lognormal law by its mean and standard deviation before truncation.

    Parameters
    ----------
    mean, sd : float
        Of the law without bounds [B].
    least, most : float
        Bounds; draws outside are drawn again [B].
    """
    variance = math.log1p((sd / mean) ** 2)
    return {
        "lognormal": {
            "mu": math.log(mean) - variance / 2,
            "sigma": math.sqrt(variance),
            "least_bytes": float(least),
            "most_bytes": float(most),
        }
    }


def mean(law: Law) -> float:
    """Mean size [B], of a truncated law after truncation."""
    ((kind, its),) = law.items()
    if kind == "fixed":
        return float(its["bytes"])
    if kind == "exponential":
        return float(its["mean_bytes"])
    if kind == "pareto":
        return _pareto_mean(its["shape"], its["least_bytes"], its["most_bytes"])
    if kind == "lognormal":
        mu, sigma = its["mu"], its["sigma"]
        low, high = _bounds(its)
        share = _normal(high) - _normal(low)
        moved = _normal(high - sigma) - _normal(low - sigma)
        return math.exp(mu + sigma**2 / 2) * moved / share
    if kind == "weibull":
        return float(its["scale_bytes"] * math.gamma(1 + 1 / its["shape"]))
    pairs = list(zip(its["bytes"], its["shares"], strict=True))
    return math.fsum(
        (share - before) * (low + high) / 2 for (low, before), (high, share) in pairwise(pairs)
    )


def mean_segments(law: Law, mss: int) -> float:
    """Mean number of segments of `mss` bytes that a transfer takes, the last not always full."""
    # E ceil(X / m) is the sum of P(X > k m); far out it is E X / m + 1/2 of a smooth law.
    above = survival(law)
    total = 0.0
    for k in range(MOST_TERMS):
        share = above(k * mss)
        if share <= 0:
            return total
        total += share
    return max(1.0, mean(law) / mss + 0.5)


def survival(law: Law) -> Callable[[float], float]:
    """The share of sizes above a size, as a function of it [B]."""
    ((kind, its),) = law.items()
    if kind == "fixed":
        return lambda x: 1.0 if x < its["bytes"] else 0.0
    if kind == "exponential":
        return lambda x: math.exp(-x / its["mean_bytes"])
    if kind == "weibull":
        return lambda x: math.exp(-((x / its["scale_bytes"]) ** its["shape"]))
    if kind == "pareto":
        shape, least, most = its["shape"], its["least_bytes"], its["most_bytes"]

        def above(x: float) -> float:
            end = (least / most) ** shape
            here = (least / min(max(x, least), most)) ** shape
            return float((here - end) / (1 - end)) if end < 1 else float(x < least)

        return above
    if kind == "lognormal":
        low, high = _bounds(its)
        mu, sigma = float(its["mu"]), float(its["sigma"])
        share = _normal(high) - _normal(low)

        def above(x: float) -> float:
            if x <= its["least_bytes"]:
                return 1.0
            if x >= its["most_bytes"] or not sigma:
                return 1.0 if x < its["most_bytes"] and math.log(x) < mu else 0.0
            return (_normal(high) - _normal((math.log(x) - mu) / sigma)) / share

        return above
    sizes, shares = its["bytes"], its["shares"]
    return lambda x: _above_table(sizes, shares, x)


def _pareto_mean(shape: float, least: float, most: float) -> float:
    if most <= least:
        return least
    if shape == 1:
        return math.log(most / least) * least / (1 - least / most)
    whole = shape / (shape - 1) * least * (1 - (least / most) ** (shape - 1))
    return float(whole / (1 - (least / most) ** shape))


def _bounds(its: dict[str, float]) -> tuple[float, float]:
    """Bounds of a lognormal law in standard deviations of the logarithm."""

    def deviations(size: float) -> float:
        if size <= 0:
            return -math.inf
        return (math.log(size) - its["mu"]) / its["sigma"]

    if not its["sigma"]:
        return -math.inf, math.inf
    return deviations(its["least_bytes"]), deviations(its["most_bytes"])


def _normal(x: float) -> float:
    """Distribution function of the standard normal."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _above_table(sizes: list[float], shares: list[float], x: float) -> float:
    if x < sizes[0]:
        return 1.0
    pairs = list(zip(sizes, shares, strict=True))
    for (low, before), (high, share) in pairwise(pairs):
        if x < high:
            return 1 - before - (share - before) * (x - low) / (high - low)
    return 0.0
