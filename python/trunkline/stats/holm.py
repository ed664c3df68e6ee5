"""Several comparisons at once: Holm's procedure.

Source: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
Statistics 6(2), 1979. Of twenty comparisons of things that do not differ, one is expected to show
a difference at the 5 % level; by Holm's procedure the probability of even one is at most 5 %,
whatever their dependence.
"""

import math
from collections.abc import Sequence

from trunkline.stats.interval import mean_interval


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given: below the level where a difference is shown.

    The smallest of *m* is multiplied by *m*, the next by *m* - 1, and so on; none falls below the
    one before it, none exceeds 1.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    lower_limit = 0.0
    for place, index in enumerate(order):
        lower_limit = max(lower_limit, min(1.0, (len(order) - place) * p_values[index]))
        adjusted[index] = lower_limit
    return adjusted


def compute_paired_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p-value of Student's paired test that the mean difference is zero.

    Parameters
    ----------
    first, second : sequence of float
        Values of the same seeds in the same order.

    Returns
    -------
    float or None
        None for fewer than two pairs; 1 where all pairs are alike, 0 where all differ by one and
        the same amount.
    """
    from scipy.special import stdtr

    differences = [a - b for a, b in zip(first, second, strict=True)]
    n = len(differences)
    if n < 2:
        return None
    mean = mean_interval(differences).mean
    spread = math.fsum((each - mean) ** 2 for each in differences) / (n - 1)
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(n - 1, -abs(mean) / math.sqrt(spread / n)))
