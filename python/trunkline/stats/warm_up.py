"""End of the warm-up: MSER-5.

Source: K. P. White, An Effective Truncation Heuristic for Bias Reduction in Simulation Output,
Simulation 69(6), 1997; in the form MSER-5 of White, Cobb and Spratt, Winter Simulation Conference
2000. The values that are left after the cut should give the mean the least standard error: what is
cut must have been far from it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

MSER_BATCH_SIZE = 5


@dataclass(frozen=True, slots=True)
class WarmUpCut:
    """Place at which to cut a series.

    Parameters
    ----------
    left_out : int
        Values to leave out at the beginning.
    total : int
        Values of the series.
    is_settled : bool
        Whether the least lies in the first half, as the rule demands. If not, the series is too
        short to show where it settles.
    """

    left_out: int
    total: int
    is_settled: bool


def mser5(values: Sequence[float]) -> WarmUpCut:
    """End of the warm-up of one series in equal steps of time.

    The series is replaced by the means of 5 neighbours. Of all cuts *d* within the first half, that
    one is taken for which (sum over the rest of (x - their mean)^2) / (number of the rest)^2 is
    least.

    Parameters
    ----------
    values : sequence of float
        In order of time; at least 20. The mean of several replications, value by value, shows the
        cut more clearly than one of them.
    """
    if len(values) < 4 * MSER_BATCH_SIZE:
        raise ValueError(f"MSER-5 needs at least {4 * MSER_BATCH_SIZE} values, not {len(values)}")
    count = len(values) // MSER_BATCH_SIZE
    means = [
        math.fsum(values[MSER_BATCH_SIZE * i : MSER_BATCH_SIZE * (i + 1)]) / MSER_BATCH_SIZE
        for i in range(count)
    ]
    # Deviations from the last value, whose own is 0: sums of squares of large numbers would lose
    # their digits.
    shift = means[-1]
    best, best_statistic = 0, math.inf
    late_statistic = math.inf
    total = squares = 0.0
    for cut in reversed(range(count - 1)):
        value = means[cut] - shift
        total += value
        squares += value * value
        remaining = count - cut
        statistic = max(0.0, squares - total * total / remaining) / remaining**2
        if cut > count // 2:
            # The last few values often lie close together by chance: five at least count.
            late_statistic = (
                min(late_statistic, statistic) if remaining >= MSER_BATCH_SIZE else late_statistic
            )
        elif statistic <= best_statistic:
            best, best_statistic = cut, statistic
    return WarmUpCut(best * MSER_BATCH_SIZE, len(values), not late_statistic < best_statistic)
