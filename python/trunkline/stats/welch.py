"""Difference of two separate means: Welch's interval and test.

Source: B. L. Welch, The generalization of Student's problem when several different population
variances are involved, Biometrika 34, 1947; degrees of freedom by F. E. Satterthwaite, Biometrics
Bulletin 2, 1946. Supposes that the runs of one side have nothing to do with those of the other.
"""

import math
from collections.abc import Sequence

from trunkline.stats.interval import Interval, check_confidence, mean_interval, student_quantile


def unpaired_difference(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Difference of means, ``first - second``, with its interval.

    Parameters
    ----------
    first, second : sequence of float
        Values of each side; at least one.
    confidence : float, default 0.95
        Probability that the interval holds the true difference, above 0 and below 1.

    Returns
    -------
    Interval
        Without ends if a side has one value; `n` is that of the side with fewer.
    """
    check_confidence(confidence)
    mean = mean_interval(first).mean - mean_interval(second).mean
    n = min(len(first), len(second))
    if n < 2:
        return Interval(mean, None, None, n)
    error, degrees = _compute_standard_error(first, second)
    half = student_quantile((1 + confidence) / 2, degrees) * error if error else 0.0
    return Interval(mean, mean - half, mean + half, n)


def compute_unpaired_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p-value of Welch's test that the means are equal.

    Returns
    -------
    float or None
        None if a side has fewer than two values; where neither side varies, 1 if they are equal
        and 0 if not.
    """
    from scipy.special import stdtr

    if min(len(first), len(second)) < 2:
        return None
    difference = mean_interval(first).mean - mean_interval(second).mean
    error, degrees = _compute_standard_error(first, second)
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(difference) / error))


def _compute_standard_error(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Standard error of the difference, and its degrees of freedom."""
    parts = []
    for values in (first, second):
        mean = math.fsum(values) / len(values)
        squares = math.fsum((value - mean) ** 2 for value in values)
        parts.append(squares / (len(values) - 1) / len(values))
    total = math.fsum(parts)
    if total == 0:
        return 0.0, 1.0
    shares = (
        (parts[0] / total) ** 2 / (len(first) - 1),
        (parts[1] / total) ** 2 / (len(second) - 1),
    )
    return math.sqrt(total), 1 / math.fsum(shares)
