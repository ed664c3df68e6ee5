"""Order-statistic intervals against the printed table and by counting."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from trunkline.stats import quantile_interval
from trunkline.stats.order_statistics import find_enclosing_ranks


@pytest.mark.parametrize(
    ("n", "low", "high"), [(6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10), (20, 6, 15), (30, 10, 21)]
)
def test_ranks_of_the_median_equal_the_printed_table(n: int, low: int, high: int) -> None:
    # The usual table of the sign test: 95 % interval of the median from rank to rank.
    assert find_enclosing_ranks(n, 0.5) == (low, high)


def test_five_values_are_too_few_for_a_median_and_296_the_fewest_for_p99() -> None:
    # Five: P(all on one side) = 2 / 2^5 = 6.25 %. P99 from above needs 0.99^n <= 0.025, so
    # n >= ln 0.025 / ln 0.99 = 367.04.
    assert find_enclosing_ranks(5, 0.5) is None
    assert find_enclosing_ranks(367, 0.99) is None
    assert find_enclosing_ranks(368, 0.99) is not None
    assert quantile_interval([1.0] * 5, 0.5).low is None


def test_the_interval_covers_the_quantile_at_least_95_times_in_100() -> None:
    draw = random.Random(4)
    covered = 0
    for _ in range(1000):
        found = quantile_interval([draw.expovariate(1) for _ in range(100)], 0.9)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 2.302585 <= found.high  # ln 10
    # By the binomial the coverage of these ranks is 0.953 to 0.975; deviation 0.7 %.
    assert 0.935 < covered / 1000 < 0.99


def test_a_quantile_at_the_end_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0 and below 1, not 1"):
        find_enclosing_ranks(10, 1.0)


def test_below_the_least_value_there_is_no_end_of_an_interval() -> None:
    """The least of 10 is above the 10th percentile with probability 0.9^10 = 0.35, that of 36 with
    0.9^36 = 0.0225, which is below 2.5 %."""
    assert find_enclosing_ranks(10, 0.1, 0.95) is None
    assert find_enclosing_ranks(10, 0.9, 0.95) is None
    ranks = find_enclosing_ranks(36, 0.1, 0.95)
    assert ranks is not None
    assert ranks[0] == 1


@pytest.mark.parametrize(("n", "probability"), [(6, 0.5), (30, 0.5), (50, 0.9), (80, 0.05)])
def test_the_ends_of_an_interval_are_the_values_of_its_ranks(n: int, probability: float) -> None:
    """Of the whole numbers from 1 on, in any order, each is its own rank."""
    values = [float(value) for value in range(1, n + 1)]
    random.Random(n).shuffle(values)
    found = quantile_interval(values, probability)
    assert (found.low, found.high) == find_enclosing_ranks(n, probability)


@pytest.mark.parametrize("probability", [0.25, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.95])
def test_david2003_s7_1_ranks_are_the_nearest_that_enclose_a_quantile_often_enough(
    probability: float, confidence: float
) -> None:
    """By search, with the binomial distribution summed in whole numbers."""
    p, tail = Fraction(probability), (1 - Fraction(confidence)) / 2
    for n in range(1, 25):
        terms = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        above = [sum(terms[:rank]) for rank in range(n + 2)]
        lows = [rank for rank in range(1, n + 1) if above[rank] <= tail]
        highs = [rank for rank in range(1, n + 1) if above[rank] >= 1 - tail]
        expected = (lows[-1], highs[0]) if lows and highs else None
        assert find_enclosing_ranks(n, probability, confidence) == expected
    # Of two values each is on either side of the median with a probability of just a quarter.
    assert find_enclosing_ranks(2, 0.5, 0.5) == (1, 2)
