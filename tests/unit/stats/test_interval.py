"""Means and intervals against Student's own data and against their definition."""

from __future__ import annotations

import math
import random

import pytest

from trunkline.stats import Interval, mean_interval, paired_difference
from trunkline.stats.interval import student_quantile

# Student 1908, section IX: hours of sleep gained by ten patients under two drugs.
DEXTRO = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
LAEVO = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_student1908_s9_means_of_the_two_drugs() -> None:
    assert mean_interval(DEXTRO).mean == pytest.approx(0.75)
    assert mean_interval(LAEVO).mean == pytest.approx(2.33)


def test_student1908_s9_paired_difference_of_the_sleep_data() -> None:
    # Differences 1.2 2.4 1.3 1.3 0 1.0 1.8 0.8 4.6 1.4: mean 1.58; sum of squares of deviations
    # 13.616, s^2 = 13.616 / 9 = 1.51289, s / sqrt(10) = 0.388959; t(0.975, 9) = 2.262157.
    # 1.58 -+ 2.262157 * 0.388959 = 0.700114 and 2.459886.
    difference = paired_difference(LAEVO, DEXTRO)
    assert difference.mean == pytest.approx(1.58)
    assert difference.low == pytest.approx(0.7001142, abs=1e-6)
    assert difference.high == pytest.approx(2.4598858, abs=1e-6)


def test_pairing_narrows_the_interval_of_the_sleep_data() -> None:
    paired = paired_difference(LAEVO, DEXTRO).half_width
    # Of two separate means: t(0.975, 18) * sqrt(s1^2/10 + s2^2/10) = 2.10092 * 0.849091 = 1.78387.
    assert paired is not None
    assert paired < 1.78387 / 2


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.7062), (4, 2.7764), (9, 2.2622), (30, 2.0423)]
)
def test_quantiles_equal_the_printed_table(degrees: int, quantile: float) -> None:
    # Two-sided 95 % column of the usual table of Student's distribution.
    assert student_quantile(0.975, degrees) == pytest.approx(quantile, abs=5e-5)


def test_95_percent_interval_covers_the_mean_95_times_in_100() -> None:
    # 2000 samples: the count is binomial with deviation sqrt(0.05 * 0.95 / 2000) = 0.49 %,
    # so 3 deviations are 1.5 %.
    draw = random.Random(1)
    covered = 0
    for _ in range(2000):
        interval = mean_interval([draw.gauss(3.0, 2.0) for _ in range(5)])
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 3.0 <= interval.high
    assert 0.935 < covered / 2000 < 0.965


def test_one_value_has_no_interval() -> None:
    interval = mean_interval([4.0])
    assert (interval.mean, interval.low, interval.high, interval.n) == (4.0, None, None, 1)
    assert interval.half_width is None


def test_no_value_and_a_wild_confidence_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval([])
    with pytest.raises(ValueError, match="confidence must be above 0 and below 1, not 95"):
        mean_interval([1, 2], confidence=95)
    with pytest.raises(ValueError, match="not 2 and 1"):
        paired_difference([1, 2], [1])


def test_the_wider_half_of_a_lopsided_interval_counts() -> None:
    """1 to 5 about 4: 3 below, 1 above."""
    for lopsided in (Interval(4.0, 1.0, 5.0, 3), Interval(-4.0, -5.0, -1.0, 3)):
        assert (lopsided.wider_half_width, lopsided.relative_half_width) == (3.0, 0.75)
    assert Interval(0.0, -1.0, 1.0, 3).relative_half_width == math.inf
    assert Interval(0.0, 0.0, 0.0, 3).relative_half_width == 0.0
    assert Interval(4.0, None, None, 1).relative_half_width is None


def test_an_interval_is_widened_at_the_ends_that_are_too_near() -> None:
    lopsided = Interval(4.0, 1.0, 5.0, 3)
    for least, ends in ((1.0, (1.0, 5.0)), (2.0, (1.0, 6.0)), (3.5, (0.5, 7.5))):
        assert lopsided.at_least(least) == Interval(4.0, *ends, 3)
    assert Interval(4.0, None, None, 1).at_least(2.0) == Interval(4.0, None, None, 1)
