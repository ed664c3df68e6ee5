"""MSER-5 on series whose transient is known."""

from __future__ import annotations

import math
import random

import pytest

from trunkline.stats import WarmUpCut, mser5


def series(transient: int, n: int, seed: int, *, height: float = 10.0) -> list[float]:
    """Noise about 5 after a ramp down from `height` above it."""
    draw = random.Random(seed)
    return [
        5 + height * max(0.0, 1 - index / transient if transient else 0.0) + draw.gauss(0, 1)
        for index in range(n)
    ]


@pytest.mark.parametrize("transient", [50, 100, 200])
def test_the_cut_is_where_a_ramp_ends(transient: int) -> None:
    # The last tenth of the ramp is within the noise of one batch (deviation 1 / sqrt(5) = 0.45).
    for seed in range(10):
        cut = mser5(series(transient, 1000, seed))
        assert cut.is_settled
        assert 0.75 * transient <= cut.left_out <= 1.3 * transient
        assert cut.left_out % 5 == 0


def test_a_settled_series_loses_little() -> None:
    cuts = [mser5(series(0, 1000, seed)) for seed in range(20)]
    assert all(cut.is_settled for cut in cuts)
    assert sum(cut.left_out for cut in cuts) / len(cuts) < 100


def test_the_cut_takes_the_bias_away() -> None:
    # Ramp of 10 over 200 of 1000 values: mean 1.0 too high; after the cut within the noise
    # 4 / sqrt(800) = 0.14 and the little ramp that is left.
    for seed in range(10):
        values = series(200, 1000, seed)
        left = values[mser5(values).left_out :]
        assert sum(values) / len(values) > 5.8
        assert abs(sum(left) / len(left) - 5) < 0.2


def test_a_series_that_has_not_settled_is_said_to_be_too_short() -> None:
    assert not mser5(series(2000, 1000, 1)).is_settled
    assert not mser5([float(n) for n in range(1000)]).is_settled


def test_white1997_the_least_statistic_by_hand() -> None:
    # Batch means 9 1 2 1 2 (of 25 values). Cut 0: mean 3, squares 36+4+1+4+1 = 46, / 25 = 1.84.
    # Cut 1: mean 1.5, squares 4 * 0.25 = 1, / 16 = 0.0625. Cut 2: mean 5/3, squares 2/3,
    # / 9 = 0.0741. The least is at cut 1, that is 5 values.
    values = [9.0] * 5 + [1.0] * 5 + [2.0] * 5 + [1.0] * 5 + [2.0] * 5
    assert mser5(values).left_out == 5
    # Large numbers with the same deviations.
    assert mser5([1e9 + value for value in values]).left_out == 5


@pytest.mark.parametrize("batches", range(4, 25))
def test_white1997_the_cut_is_that_of_the_least_statistic_of_the_first_half(batches: int) -> None:
    """By the formula itself: squares about the mean of the rest over the squared number."""
    draw = random.Random(batches)
    for _ in range(20):
        means = [draw.choice([0.0, 1.0, 2.0, 5.0]) + draw.random() for _ in range(batches)]
        statistics = []
        for cut in range(batches - 1):
            rest = means[cut:]
            mean = sum(rest) / len(rest)
            statistics.append(sum((value - mean) ** 2 for value in rest) / len(rest) ** 2)
        first_half = statistics[: batches // 2 + 1]
        expected = 5 * first_half.index(min(first_half))
        # Five means at least are left; a least that also comes later is that of the first half.
        late = statistics[batches // 2 + 1 : batches - 4]
        is_settled = min(late, default=math.inf) >= min(first_half)
        found = mser5([value for value in means for _ in range(5)])
        assert found == WarmUpCut(expected, 5 * batches, is_settled)


def test_a_constant_series_is_not_cut_and_a_short_one_refused() -> None:
    assert mser5([3.0] * 100) == WarmUpCut(0, 100, is_settled=True)
    with pytest.raises(ValueError, match="at least 20 values, not 19"):
        mser5([1.0] * 19)
