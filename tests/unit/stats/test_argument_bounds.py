"""What statistics refuse and what they take, at the bounds of each argument."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trunkline.stats.bootstrap import bootstrap_interval
from trunkline.stats.control_variates import (
    ControlledMean,
    compute_controlled_p,
    controlled_interval,
)
from trunkline.stats.histogram import Histogram, pooled_quantile
from trunkline.stats.interval import Interval, check_confidence, mean_interval
from trunkline.stats.order_statistics import find_enclosing_ranks, quantile_interval
from trunkline.stats.quantile import quantile
from trunkline.stats.share_interval import share_interval
from trunkline.stats.stopping import check_target
from trunkline.stats.welch import unpaired_difference

VALUES = [float(value**2) for value in range(1, 31)]
COUNTS = Histogram({10: 3, 20: 1})
OF_A_CONFIDENCE: list[Callable[[float], object]] = [
    check_confidence,
    lambda confidence: mean_interval(VALUES, confidence=confidence),
    lambda confidence: quantile_interval(VALUES, 0.5, confidence=confidence),
    lambda confidence: find_enclosing_ranks(30, 0.5, confidence),
    lambda confidence: share_interval(3, 10, confidence=confidence),
    lambda confidence: pooled_quantile([COUNTS, COUNTS], 0.5, confidence=confidence),
    lambda confidence: bootstrap_interval(VALUES[:8], confidence=confidence, resamples=20),
    lambda confidence: unpaired_difference(VALUES, VALUES[::2], confidence=confidence),
    lambda confidence: controlled_interval(
        VALUES, np.array(VALUES)[:, None] ** 0.7, confidence=confidence
    ),
]


@pytest.mark.parametrize("number", range(len(OF_A_CONFIDENCE)))
def test_a_confidence_is_above_0_and_below_1(number: int) -> None:
    for refused in (-0.5, 0, 1, 1.5, 95):
        with pytest.raises(ValueError, match=f"confidence must be .* not {refused}"):
            OF_A_CONFIDENCE[number](refused)
    for taken in (1e-6, 0.5, 1 - 1e-6):
        OF_A_CONFIDENCE[number](taken)


@pytest.mark.parametrize(
    ("function", "taken", "refused"),
    [
        (lambda share: quantile(VALUES, share), (0, 0.5, 1), (-1e-9, 1 + 1e-9)),
        (COUNTS.find_quantile, (1e-9, 1), (0, 1 + 1e-9)),
        (lambda share: find_enclosing_ranks(9, share), (1e-9, 1 - 1e-9), (0, 1)),
        (check_target, (1e-9, 1 - 1e-9), (0, 1, 2)),
    ],
)
def test_a_share_is_within_its_bounds(
    function: Callable[[float], object], taken: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    for each in taken:
        function(each)
    for each in refused:
        with pytest.raises(ValueError, match=rf"not {each}"):
            function(each)


def test_hits_are_of_as_many_runs_and_values_are_one_at_least() -> None:
    assert share_interval(0, 1).low == 0
    assert share_interval(1, 1).high == 1
    for hits, runs in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(ValueError, match=f"{hits} of {runs} is no share"):
            share_interval(hits, runs)
    for of_nothing in (
        lambda: quantile([], 0.5),
        lambda: mean_interval([]),
        lambda: bootstrap_interval([]),
        lambda: pooled_quantile([Histogram()], 0.5),
    ):
        with pytest.raises(ValueError, match="at least one value"):
            of_nothing()


@pytest.mark.parametrize(
    ("mean", "error", "p"),
    # Student's distribution with 2 degrees of freedom at -2: 1/2 - 2 / (2 sqrt(2 + 4)).
    [(0.0, 0.0, 1.0), (-0.25, 0.0, 0.0), (-2.0, 1.0, 1 - 2 / 6**0.5)],
)
def test_a_controlled_difference_without_any_spread_is_sure(
    mean: float, error: float, p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "trunkline.stats.control_variates.fit_controls",
        lambda *_: ControlledMean(mean, error, 2),
    )
    assert compute_controlled_p([mean] * 8, np.zeros((8, 1))) == pytest.approx(p)


def test_of_one_value_there_is_no_interval() -> None:
    alone = Interval(4.0, None, None, 1)
    assert mean_interval([4.0]) == bootstrap_interval([4.0]) == alone
    assert quantile_interval([4.0], 0.5) == controlled_interval([4.0], np.ones((1, 2))) == alone
    assert pooled_quantile([Histogram({4: 7})], 0.5) == alone
