"""Quantiles of a sample."""

import math
from collections.abc import Sequence


def quantile(values: Sequence[float], probability: float) -> float:
    """Quantile of a sample by linear interpolation between order statistics.

    Source: Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician
    50(4), 1996, definition 7: position ``(n - 1) p`` in the sorted sample, counted from 0.

    Parameters
    ----------
    values : sequence of float
        The sample; at least one value.
    probability : float
        From 0 (least) to 1 (greatest).
    """
    if not values:
        raise ValueError("a quantile needs at least one value")
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must be from 0 to 1, not {probability}")
    ordered = sorted(values)
    place = (len(ordered) - 1) * probability
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
