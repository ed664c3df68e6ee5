"""Intervals of quantiles from order statistics, without supposing a distribution.

Source: H. A. David and H. N. Nagaraja, Order Statistics, section 7.1: the number of values below
the quantile is binomial, so that two order statistics enclose it with a known probability. The
values must be independent: replications are, packets of one run are not.
"""

import bisect
from collections.abc import Sequence

from trunkline.stats.interval import Interval, check_confidence
from trunkline.stats.quantile import quantile


def find_enclosing_ranks(
    n: int, probability: float, confidence: float = 0.95
) -> tuple[int, int] | None:
    """Ranks, from 1, of the order statistics that enclose a quantile.

    n: Number of values.
    probability: Which quantile, above 0 and below 1.
    confidence: Minimum probability that the quantile lies between them; each tail holds at most
        half of the rest.
    Returns: None if there are too few values for any such pair, e.g. fewer than 6 for the median.
    """
    from scipy.special import bdtr

    check_confidence(confidence)
    if not 0 < probability < 1:
        raise ValueError(f"probability must be above 0 and below 1, not {probability}")
    tail = (1 - confidence) / 2

    def find_probability(below: int) -> float:
        """Probability that at most so many values are below the quantile."""
        return float(bdtr(below, n, probability))

    # P(value of rank r is above the quantile) = P(fewer than r values are below it).
    low = bisect.bisect_right(range(n), tail, key=find_probability)
    high = bisect.bisect_left(range(n), 1 - tail, key=find_probability) + 1
    return (low, high) if low >= 1 and high <= n else None


def quantile_interval(
    values: Sequence[float], probability: float, *, confidence: float = 0.95
) -> Interval:
    """Quantile of independent values with an interval between two of them.

    Parameters
    ----------
    values : sequence of float
        One a replication; at least one.
    probability : float
        Which quantile, above 0 and below 1.
    confidence : float, default 0.95
        Minimum probability that the interval holds the true quantile.

    Returns
    -------
    Interval
        ``mean`` holds the quantile of the sample; no interval if there are too few values.
    """
    enclosing_ranks = find_enclosing_ranks(len(values), probability, confidence)
    point = quantile(values, probability)
    if enclosing_ranks is None:
        return Interval(point, None, None, len(values))
    ordered = sorted(values)
    return Interval(
        point, ordered[enclosing_ranks[0] - 1], ordered[enclosing_ranks[1] - 1], len(values)
    )
