"""BCa intervals against published ones and where the answer is known."""

from __future__ import annotations

import random

import numpy as np
import pytest

from trunkline.stats import bootstrap_interval, mean_interval
from trunkline.stats.bootstrap import RESAMPLES

# Efron and Tibshirani, An Introduction to the Bootstrap, table 14.1: 26 children's scores, whose
# variance (divisor n) is 171.5.
SPATIAL_A = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41]
SPATIAL_A += [24, 26, 30, 41]


def variance(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.asarray(np.var(values, axis=axis))


def test_efron1993_table14_2_bca_interval_of_a_variance() -> None:
    # Table 14.2: nominal 90 % interval of the variance by BCa is (115.8, 259.6) from 2000
    # resamples; the plain percentile interval was (100.8, 233.9), so the correction is large.
    found = bootstrap_interval(SPATIAL_A, statistic=variance, confidence=0.9)
    assert found.mean == pytest.approx(171.5, abs=0.1)
    assert found.low == pytest.approx(115.8, rel=0.04)
    assert found.high == pytest.approx(259.6, rel=0.04)


def test_the_interval_of_a_skewed_sample_leans_to_its_long_side() -> None:
    draw = random.Random(3)
    values = [draw.expovariate(1.0) for _ in range(30)]
    found = bootstrap_interval(values)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.mean > 1.1 * (found.mean - found.low)


def test_of_a_skewed_population_bca_misses_less_lopsidedly_than_student() -> None:
    # Means of 20 exponentials: Student's interval lies too low. Of 400 samples the mean 1 should be
    # above and below the interval equally often.
    draw = random.Random(5)
    above = {"t": 0, "bca": 0}
    below = {"t": 0, "bca": 0}
    for _ in range(400):
        values = [draw.expovariate(1.0) for _ in range(20)]
        for name, found in (
            ("t", mean_interval(values)),
            ("bca", bootstrap_interval(values, resamples=999)),
        ):
            assert found.low is not None
            assert found.high is not None
            above[name] += found.high < 1.0
            below[name] += found.low > 1.0
    assert above["bca"] - below["bca"] < above["t"] - below["t"]
    # 90.5 to 96 % of 400: three deviations of sqrt(0.05 * 0.95 / 400) = 1.1 % about 94 %.
    assert 16 <= above["bca"] + below["bca"] <= 40


def test_the_same_values_and_seed_give_the_same_interval() -> None:
    values = [1.0, 4.0, 2.0, 8.0, 5.0]
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval(values, seed=2) != bootstrap_interval(values)


def test_efron1987_the_ends_of_95_percent_are_whole_ranks_of_the_resamples() -> None:
    """Rank 0.025 (B + 1) of B resamples."""
    assert (RESAMPLES + 1) * 25 % 1000 == 0


def test_alike_values_give_no_width_and_one_value_no_interval() -> None:
    same = bootstrap_interval([2.0, 2.0, 2.0])
    assert (same.mean, same.low, same.high) == (2.0, 2.0, 2.0)
    assert bootstrap_interval([2.0]).low is None
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_interval([])
