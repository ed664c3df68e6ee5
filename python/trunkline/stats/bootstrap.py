"""Bootstrap intervals of replications, bias-corrected and accelerated (BCa).

Source: B. Efron, Better Bootstrap Confidence Intervals, Journal of the American Statistical
Association 82(397), 1987; worked out by ``scipy.stats.bootstrap``. It supposes independent values
and nothing about their distribution; below ten values it is too narrow, as any bootstrap is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.stats.interval import Interval, check_confidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 9999
"""Resamples: the ends then lie on whole ranks of the bootstrap distribution at 95 %."""

Statistic = Callable[..., Any]


def bootstrap_interval(
    values: Sequence[float],
    *,
    statistic: Statistic | None = None,
    confidence: float = 0.95,
    seed: int = 1,
    resamples: int = RESAMPLES,
) -> Interval:
    """Mean, or another statistic, of independent values with its BCa interval.

    Parameters
    ----------
    values : sequence of float
        One a replication; at least one.
    statistic : callable, optional
        Takes an array and ``axis``, e.g. ``numpy.median``; the mean if left out.
    confidence : float, default 0.95
        Probability that the interval holds the true value, above 0 and below 1.
    seed : int, default 1
        Seed of the resampling: the same values and seed give the same interval.
    resamples : int, default 9999
        Samples drawn from the values.

    Returns
    -------
    Interval
        Not symmetric about ``mean``, which holds the statistic of the values. No interval for one
        value; one of no width where all values are alike.
    """
    import numpy as np

    check_confidence(confidence)
    data: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("an interval needs at least one value")
    chosen_statistic = statistic or np.mean
    point = float(chosen_statistic(data, axis=0))
    if data.size == 1:
        return Interval(point, None, None, data.size)
    if data.min() == data.max():
        return Interval(point, point, point, data.size)
    from scipy.stats import bootstrap

    resampled = bootstrap(
        (data,),
        chosen_statistic,
        confidence_level=confidence,
        n_resamples=resamples,
        method="BCa",
        vectorized=True,
        axis=0,
        rng=seed,
    )
    ends = resampled.confidence_interval
    if not np.isfinite(ends).all():  # a statistic that no left-out value moves
        return Interval(point, None, None, data.size)
    return Interval(point, float(ends.low), float(ends.high), data.size)
