"""Prediction intervals of further runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trunkline.stats import mean_interval


def test_prediction_interval_of_one_run_by_hand() -> None:
    # 8, 10, 12: mean 10, s = 2; t(0.975, 2) = 4.30265.
    # Mean: 4.30265 * 2 / sqrt 3 = 4.9683; one run: 4.30265 * 2 * sqrt(1 / 3 + 1) = 9.9365.
    expected = mean_interval([8.0, 10.0, 12.0]).predict(1)
    assert expected.high == pytest.approx(10 + 9.9365, abs=1e-4)
    assert expected.low == pytest.approx(10 - 9.9365, abs=1e-4)
    # The mean of very many further runs is the true mean: the interval of the mean is left.
    assert mean_interval([8.0, 10.0, 12.0]).predict(10**12).high == pytest.approx(14.9683, abs=1e-4)


def test_prediction_interval_holds_a_further_run_in_95_of_100() -> None:
    # Of 4,000 draws the share has a deviation of sqrt(0.95 * 0.05 / 4000) = 0.0034.
    random = np.random.default_rng(1)
    held = 0
    for _ in range(4000):
        *ours, theirs = random.normal(3.0, 2.0, 6)
        expected = mean_interval(ours).predict(1)
        held += expected.low <= theirs <= expected.high
    assert held / 4000 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 4000))


def test_a_single_run_predicts_nothing() -> None:
    assert mean_interval([1.0]).predict(1).high is None
