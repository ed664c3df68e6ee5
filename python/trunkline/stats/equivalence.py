"""Equivalence by two one-sided tests: inside a margin, outside it, or not decided yet.

Sources: D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach
for assessing the equivalence of average bioavailability, J. Pharmacokinetics and Biopharmaceutics
15(6), 1987: two means are equivalent if the interval of their difference lies inside the margin.
R. L. Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24(4), 1982:
where all of several measures have to be equivalent, each is tested at the full level, and no
correction is needed. To differ is the other way round: one of many measures is enough, so that
each has its share of the level (Bonferroni).
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from trunkline.stats.interval import Interval, mean_interval, student_quantile

EquivalenceOutcome = Literal["agrees", "differs", "undecided"]

EQUIVALENCE_CONFIDENCE: Final = 0.95
"""Confidence of the interval that has to be inside the margin: 2.5 % at each end."""
FALSE_ALARM_PROBABILITY: Final = 0.01
"""Probability at most that any of several comparisons differs by chance."""
MIN_PAIRS: Final = 5
"""Pairs below which the spread of random values is not known well enough to decide."""
MAX_PAIRS: Final = 1_000
"""Pairs beyond which more are no help: a kernel takes seconds for each."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Estimate of a mean difference from pairs of values."""

    # The interval is inside the margin, the wider one of `FALSE_ALARM_PROBABILITY` is outside it,
    # or neither.
    outcome: EquivalenceOutcome
    interval: Interval  # Interval of the mean difference, `EQUIVALENCE_CONFIDENCE`.
    # Pairs more that are likely to decide; None where it is decided, or `MAX_PAIRS` would not.
    more_pairs: int | None


def judge_equivalence(
    differences: Sequence[float], margin: float, *, comparisons: int = 1
) -> Equivalence:
    """Whether the mean of random differences is inside a margin.

    differences: One a pair of independent runs; at least one.
    margin: Greatest size of the mean difference that makes no difference, 0 or more, in their unit.
    comparisons: Measures that are compared, any of which may differ by chance.
    """
    interval = mean_interval(differences, confidence=EQUIVALENCE_CONFIDENCE)
    pairs = len(differences)
    if pairs < MIN_PAIRS:
        return Equivalence("undecided", interval, MIN_PAIRS - pairs)
    wide = mean_interval(differences, confidence=1 - FALSE_ALARM_PROBABILITY / comparisons)
    assert interval.ends is not None
    assert wide.ends is not None
    if all(abs(end) <= margin for end in interval.ends):
        return Equivalence("agrees", interval, None)
    if all(end > margin for end in wide.ends) or all(end < -margin for end in wide.ends):
        return Equivalence("differs", interval, None)
    return Equivalence(
        "undecided", interval, _estimate_more_pairs(differences, margin, comparisons)
    )


def _estimate_more_pairs(
    differences: Sequence[float], margin: float, comparisons: int
) -> int | None:
    """Estimate the pairs that bring an interval of the present spread to one side of the margin."""
    pairs = len(differences)
    mean = math.fsum(differences) / pairs
    variance = math.fsum((value - mean) ** 2 for value in differences) / (pairs - 1)
    room = abs(margin - abs(mean))
    level = (
        EQUIVALENCE_CONFIDENCE if abs(mean) < margin else 1 - FALSE_ALARM_PROBABILITY / comparisons
    )

    def has_room(count: int) -> bool:
        quantile = student_quantile((1 + level) / 2, count - 1)
        return quantile * math.sqrt(variance / count) <= room

    # The width falls with the number of pairs.
    counts = range(pairs, MAX_PAIRS + 1)
    more_pairs = bisect.bisect_left(counts, True, key=has_room)
    return max(1, more_pairs) if more_pairs < len(counts) else None
