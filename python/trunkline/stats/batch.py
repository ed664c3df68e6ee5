"""Batch means: the interval of a mean over one long run.

Neighbouring values of one run are correlated, so that Student's interval of the values themselves
is far too narrow. Means of long batches hardly are, and are close to normal.

Source: G. S. Fishman, Grouping Observations in Digital Simulation, Management Science 24(5), 1978
(batches doubled until von Neumann's ratio shows no correlation); A. M. Law, Simulation Modeling
and Analysis, section 9.5.3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from trunkline.stats.interval import Interval, mean_interval

MAX_BATCHES = 32
MIN_BATCHES = 8
_TEST_LEVEL = 0.1  # Level of the test: it should rather double once too often than once too seldom.


@dataclass(frozen=True, slots=True)
class BatchMeans:
    """A mean over one run with its interval.

    Parameters
    ----------
    interval : Interval
        Its ``n`` is the number of batches.
    size : int
        Values in a batch.
    lag1 : float
        Correlation of neighbouring batch means (lag 1), from -1 to 1.
    enough : bool
        Whether the batch means pass as uncorrelated. If not, even the fewest batches are shorter
        than the memory of the process: the run is too short, and the interval too narrow.
    """

    interval: Interval
    size: int
    lag1: float
    enough: bool


def batch_means(
    values: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> BatchMeans:
    """Mean of one run's values, taken in equal steps of time, with its interval.

    Begins with 32 batches, or 16 or 8 if there are fewer values, and halves their number while
    the means of neighbouring batches are correlated, down to 8. The rest at the beginning,
    nearest to the warm-up, is not used.

    Parameters
    ----------
    values : sequence of float
        In order of time; at least 8.
    weights : sequence of float, optional
        How much each value stands for, e.g. packets behind a mean delay; not negative. The mean
        is then the weighted one, a ratio of two means, whose interval follows from its
        linearisation.
    confidence : float, default 0.95
        Probability that the interval holds the true mean.

    Raises
    ------
    ValueError
        Fewer than 8 values, or weights that are all zero.
    """
    series = [float(value) for value in values]
    if len(series) < MIN_BATCHES:
        raise ValueError(f"batch means need at least {MIN_BATCHES} values, not {len(series)}")
    if weights is not None:
        series = _linearise(series, [float(weight) for weight in weights])
    count = MAX_BATCHES
    while count > len(series):
        count //= 2
    while True:
        size = len(series) // count
        used = series[len(series) - count * size :]
        means = [math.fsum(used[i * size : (i + 1) * size]) / size for i in range(count)]
        is_still_correlated = is_correlated(means)
        if not is_still_correlated or count // 2 < MIN_BATCHES:
            interval = mean_interval(means, confidence=confidence)
            return BatchMeans(
                interval, size, compute_lag1_correlation(means), not is_still_correlated
            )
        count //= 2


def compute_lag1_correlation(values: Sequence[float]) -> float:
    """Correlation of each value with the next; 0 where all are alike."""
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    if spread == 0:
        return 0.0
    return math.fsum((a - mean) * (b - mean) for a, b in pairwise(values)) / spread


def is_correlated(values: Sequence[float]) -> bool:
    """Whether von Neumann's ratio shows positive correlation of neighbours, at level 0.1.

    With *r* the lag-1 correlation, C = *r* + ((first - mean)^2 + (last - mean)^2) / (2 times the
    sum of squares) is normal about 0 with variance (n - 2) / (n^2 - 1) if the values are
    independent (J. von Neumann 1941; Fishman 1978).
    """
    from scipy.special import ndtri

    n = len(values)
    mean = math.fsum(values) / n
    spread = math.fsum((value - mean) ** 2 for value in values)
    if spread == 0:
        return False
    ends = (values[0] - mean) ** 2 + (values[-1] - mean) ** 2
    ratio = compute_lag1_correlation(values) + ends / (2 * spread)
    return bool(ratio > ndtri(1 - _TEST_LEVEL) * math.sqrt((n - 2) / (n * n - 1)))


def _linearise(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Values whose plain mean is the weighted one and whose spread is that of the ratio.

    The ratio of means R = mean(w x) / mean(w) differs from its true value by the mean of
    w (x - R) / mean(w), but for terms of second order.
    """
    pairs = [(x, w) if w > 0 else (0.0, 0.0) for x, w in zip(values, weights, strict=True)]
    total = math.fsum(w for _, w in pairs)
    if total <= 0:
        raise ValueError("the weights are all zero")
    ratio = math.fsum(w * x for x, w in pairs) / total
    mean = total / len(pairs)
    return [ratio + w * (x - ratio) / mean for x, w in pairs]
