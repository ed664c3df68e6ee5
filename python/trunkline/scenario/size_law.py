"""Laws of sizes as engines read them, and their means, which turn a load into a rate of arrivals.

A law is a mapping of its name to its parameters, as `Sizes` of ``crates/agent/src/workload``.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

SizeLaw = dict[str, Any]
MAX_TERMS = 100_000  # Segments up to which the expected number of them is summed term by term.


def make_lognormal_law(mean: float, sd: float, lower: float, upper: float) -> SizeLaw:
    """Make a lognormal law by its mean and standard deviation before truncation.

    mean, sd: Mean and deviation of the law without bounds [B].
    lower, upper: Bounds; draws outside are drawn again [B].
    """
    variance = math.log1p((sd / mean) ** 2)
    return {
        "lognormal": {
            "mu": math.log(mean) - variance / 2,
            "sigma": math.sqrt(variance),
            "least_bytes": float(lower),
            "most_bytes": float(upper),
        }
    }


def compute_mean(law: SizeLaw) -> float:
    """Mean size [B], of a truncated law after truncation."""
    ((kind, parameters),) = law.items()
    if kind == "fixed":
        return float(parameters["bytes"])
    if kind == "exponential":
        return float(parameters["mean_bytes"])
    if kind == "pareto":
        return _compute_pareto_mean(
            parameters["shape"], parameters["least_bytes"], parameters["most_bytes"]
        )
    if kind == "lognormal":
        mu, sigma = parameters["mu"], parameters["sigma"]
        low, high = _standardise_bounds(parameters)
        share = _normal_cdf(high) - _normal_cdf(low)
        shifted_share = _normal_cdf(high - sigma) - _normal_cdf(low - sigma)
        return math.exp(mu + sigma**2 / 2) * shifted_share / share
    if kind == "weibull":
        return float(parameters["scale_bytes"] * math.gamma(1 + 1 / parameters["shape"]))
    pairs = list(zip(parameters["bytes"], parameters["shares"], strict=True))
    return math.fsum(
        (share - before) * (low + high) / 2 for (low, before), (high, share) in pairwise(pairs)
    )


def compute_mean_segments(law: SizeLaw, mss: int) -> float:
    """Mean number of segments of `mss` bytes that a transfer takes, the last not always full."""
    # E ceil(X / m) is the sum of P(X > k m); far out it is E X / m + 1/2 of a smooth law.
    above = make_survival_function(law)
    total = 0.0
    for k in range(MAX_TERMS):
        share = above(k * mss)
        if share <= 0:
            return total
        total += share
    return max(1.0, compute_mean(law) / mss + 0.5)


def make_survival_function(law: SizeLaw) -> Callable[[float], float]:
    """Make the share of sizes above a size, as a function of it [B]."""
    ((kind, parameters),) = law.items()
    if kind == "fixed":
        return lambda x: 1.0 if x < parameters["bytes"] else 0.0
    if kind == "exponential":
        return lambda x: math.exp(-x / parameters["mean_bytes"])
    if kind == "weibull":
        return lambda x: math.exp(-((x / parameters["scale_bytes"]) ** parameters["shape"]))
    if kind == "pareto":
        shape = parameters["shape"]
        lower = parameters["least_bytes"]
        upper = parameters["most_bytes"]

        def above(x: float) -> float:
            end = (lower / upper) ** shape
            tail = (lower / min(max(x, lower), upper)) ** shape
            return float((tail - end) / (1 - end)) if end < 1 else float(x < lower)

        return above
    if kind == "lognormal":
        low, high = _standardise_bounds(parameters)
        mu, sigma = float(parameters["mu"]), float(parameters["sigma"])
        share = _normal_cdf(high) - _normal_cdf(low)

        def above(x: float) -> float:
            if x <= parameters["least_bytes"]:
                return 1.0
            if x >= parameters["most_bytes"] or not sigma:
                return 1.0 if x < parameters["most_bytes"] and math.log(x) < mu else 0.0
            return (_normal_cdf(high) - _normal_cdf((math.log(x) - mu) / sigma)) / share

        return above
    sizes, shares = parameters["bytes"], parameters["shares"]
    return lambda x: _compute_share_above(sizes, shares, x)


def _compute_pareto_mean(shape: float, lower: float, upper: float) -> float:
    if upper <= lower:
        return lower
    if shape == 1:
        return math.log(upper / lower) * lower / (1 - lower / upper)
    untruncated = shape / (shape - 1) * lower * (1 - (lower / upper) ** (shape - 1))
    return float(untruncated / (1 - (lower / upper) ** shape))


def _standardise_bounds(parameters: dict[str, float]) -> tuple[float, float]:
    """Bounds of a lognormal law in standard deviations of the logarithm."""

    def deviations(size: float) -> float:
        if size <= 0:
            return -math.inf
        return (math.log(size) - parameters["mu"]) / parameters["sigma"]

    if not parameters["sigma"]:
        return -math.inf, math.inf
    return deviations(parameters["least_bytes"]), deviations(parameters["most_bytes"])


def _normal_cdf(x: float) -> float:
    """Distribution function of the standard normal."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _compute_share_above(sizes: list[float], shares: list[float], x: float) -> float:
    if x < sizes[0]:
        return 1.0
    pairs = list(zip(sizes, shares, strict=True))
    for (low, before), (high, share) in pairwise(pairs):
        if x < high:
            return 1 - before - (share - before) * (x - low) / (high - low)
    return 0.0
