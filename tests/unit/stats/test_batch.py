"""Batch means on processes whose mean and variance are known."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from trunkline.stats import batch_means, mean_interval
from trunkline.stats.batch import compute_lag1_correlation, is_correlated


def ar1(phi: float, n: int, seed: int) -> list[float]:
    """A stationary autoregression of mean 10: x' = 10 + phi (x - 10) + N(0, 1)."""
    draw = random.Random(seed)
    value = draw.gauss(0, 1 / math.sqrt(1 - phi * phi))
    values = []
    for _ in range(n):
        values.append(10 + value)
        value = phi * value + draw.gauss(0, 1)
    return values


def test_the_half_width_is_that_of_the_known_variance_of_an_autoregression() -> None:
    # Variance of the mean of n values of AR(1): 1 / ((1 - phi)^2 n) to first order, so for
    # phi = 0.8, n = 8000: deviation sqrt(25 / 8000) = 0.0559. With k batches the mean half width is
    # close to t(0.975, k - 1) times that: 2.04 * 0.0559 = 0.114 for k = 32, 0.132 for k = 8.
    found = [batch_means(ar1(0.8, 8000, seed)) for seed in range(60)]
    widths = [each.interval.half_width or 0 for each in found]
    assert 0.105 < sum(widths) / len(widths) < 0.14
    # As if the values were independent: 1.96 * sqrt(1 / (1 - 0.64) / 8000) = 0.0365.
    assert min(widths) > 0.0365


def test_the_interval_covers_the_mean_of_an_autoregression() -> None:
    # 400 runs: deviation of the share sqrt(0.05 * 0.95 / 400) = 1.1 %; three of them below 95 %.
    covered = 0
    for seed in range(400):
        interval = batch_means(ar1(0.8, 2000, seed)).interval
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 10 <= interval.high
    assert 0.917 < covered / 400 < 0.983


def test_a_run_shorter_than_its_memory_is_said_to_be_too_short() -> None:
    # phi = 0.999 remembers about 1000 values; 8 batches of 40 are far within that.
    found = [batch_means(ar1(0.999, 320, seed)) for seed in range(20)]
    assert sum(not each.enough for each in found) >= 15
    assert all(each.enough or each.interval.n <= 16 for each in found)


def test_independent_values_keep_32_batches_nine_times_in_ten() -> None:
    # The test of correlation is at level 0.1: 40 of 400 are expected to double, deviation 6.
    draw = random.Random(2)
    kept = sum(
        batch_means([draw.gauss(0, 1) for _ in range(320)]).interval.n == 32 for _ in range(400)
    )
    assert 342 <= kept <= 378


def test_what_is_left_over_is_dropped_at_the_beginning() -> None:
    # 35 values: 32 batches of one; the first three go.
    found = batch_means([1000.0, 1000.0, 1000.0, *([1.0, 3.0] * 16)])
    assert (found.interval.mean, found.size) == (2.0, 1)


def test_weights_make_the_mean_a_ratio() -> None:
    # Delays 1 and 3 with 3 and 1 packets: (3 * 1 + 1 * 3) / 4 = 1.5, not 2. A weight of 0 drops
    # its value, even if it is not a number.
    found = batch_means([1.0, 3.0] * 16 + [math.nan] * 2, weights=[3.0, 1.0] * 16 + [0.0] * 2)
    assert found.interval.mean == pytest.approx(1.5, rel=0.01)
    even = batch_means([1.0, 3.0] * 16, weights=[3.0, 1.0] * 16)
    assert even.interval.mean == pytest.approx(1.5)


def test_lag_1_correlation_by_hand() -> None:
    # 1 2 3 4: mean 2.5, deviations -1.5 -0.5 0.5 1.5; products 0.75 - 0.25 + 0.75 = 1.25 over 5.
    assert compute_lag1_correlation([1, 2, 3, 4]) == pytest.approx(0.25)
    assert compute_lag1_correlation([7, 7, 7]) == 0
    # 0.25 - 0.25 + 0.25 over squares of 1.
    assert compute_lag1_correlation([0.5, 0.5, -0.5, -0.5]) == 0.25
    assert is_correlated(list(range(32)))
    assert not is_correlated([1, -1] * 16)
    assert not is_correlated([5.0] * 32)


def test_too_few_values_and_empty_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 8 values, not 7"):
        batch_means([1.0] * 7)
    with pytest.raises(ValueError, match="weights are all zero"):
        batch_means([1.0] * 8, weights=[0.0] * 8)


@pytest.mark.parametrize("n", [8, 9, 16, 31, 32])
def test_von_neumann_1941_neighbours_are_correlated_above_the_quantile_of_his_ratio(n: int) -> None:
    """Series on both sides of the bound, found by his ratio, which has no lag-1 correlation in it.

    With the ratio E = sum of squared differences over sum of squared deviations, C = 1 - E / 2 has
    the mean 0 and the variance (n - 2) / (n^2 - 1) (Fishman 1978, section 3.5): correlated if C is
    above 1.2815516, the normal 90th percentile, of its deviations.
    """

    def statistic(values: list[float]) -> float:
        mean = sum(values) / n
        differences = sum((after - before) ** 2 for before, after in itertools.pairwise(values))
        return 1 - differences / (2 * sum((value - mean) ** 2 for value in values))

    bound = 1.2815515655446004 * math.sqrt((n - 2) / (n**2 - 1))
    draw = random.Random(n)
    for _ in range(20):
        noise = [(-1) ** index + draw.gauss(0, 0.3) for index in range(n)]
        trend = [index + draw.gauss(0, 0.3) for index in range(n)]
        # Alternating values are below the bound, rising ones above it.
        low, high = 0.0, 1.0
        while high - low > 1e-9:
            share = (low + high) / 2
            mixed = [share * a + (1 - share) * b for a, b in zip(trend, noise, strict=True)]
            low, high = (low, share) if statistic(mixed) > bound else (share, high)
        for share, expected in ((low - 1e-7, False), (high + 1e-7, True)):
            mixed = [share * a + (1 - share) * b for a, b in zip(trend, noise, strict=True)]
            assert is_correlated(mixed) is expected


def test_fishman_1978_batches_begin_at_32_and_halve_to_8_and_leave_out_the_oldest() -> None:
    """Rising values are correlated in any batches, alternating ones in none."""

    def describe(values: list[float]) -> tuple[int, int, bool, float | None]:
        found = batch_means(values)
        return found.interval.n, found.size, found.enough, found.interval.mean

    alternating = [float((-1) ** index) for index in range(70)]
    # 70 values: 32 batches of 2 and 6 left out, means all 0; 31: 16 of 1, 15 left out.
    assert describe(alternating) == (32, 2, True, 0)
    assert describe([5.0, *alternating[:32]]) == (32, 1, True, 0)
    assert describe(alternating[:32]) == (32, 1, True, 0)
    assert describe([9.0, *alternating[:31][1:]]) == (16, 1, True, 0)
    # 70 rising ones: 8 batches of 8, the oldest six left out: the mean of 6 to 69.
    assert describe([float(index) for index in range(70)]) == (8, 8, False, 37.5)
    assert describe([float(index) for index in range(8)]) == (8, 1, False, 3.5)
    with pytest.raises(ValueError, match="at least 8 values, not 7"):
        batch_means([float(index) for index in range(7)])


def test_equal_weights_change_neither_mean_nor_interval() -> None:
    draw = random.Random(4)
    # 32 batches of 2, and 3 values are left out.
    values = [draw.gauss(5, 1) for _ in range(67)]
    plain = batch_means(values).interval
    weighted = batch_means(values, weights=[3.0] * 67).interval
    assert weighted.mean == pytest.approx(plain.mean)
    assert weighted.half_width == pytest.approx(plain.half_width)
    # Weights of 1 and 3: the linearised values are 3 + w (x - 3) / 2 about the mean of 3.
    uneven = [value for pair in zip([0.0] * 16, [4.0] * 16, strict=True) for value in pair]
    found = batch_means(uneven, weights=[1.0, 3.0] * 16).interval
    by_hand = mean_interval([3 + 1 * (0 - 3) / 2, 3 + 3 * (4 - 3) / 2] * 16)
    assert (found.mean, found.half_width) == pytest.approx((by_hand.mean, by_hand.half_width))
