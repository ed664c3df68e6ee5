from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trunkline.stats import mean_absolute_percentage, mean_log_ratio, quantile


def test_percentage_error_is_relative_to_the_published_value() -> None:
    # |11 - 10| / 10 = 10 %, |15 - 20| / 20 = 25 %: mean 17.5 %.
    assert mean_absolute_percentage([11, 15], [10, 20]) == pytest.approx(17.5)


def test_log_ratio_counts_twice_and_half_alike() -> None:
    assert mean_log_ratio([20], [10]) == mean_log_ratio([5], [10]) == pytest.approx(math.log(2))
    # ln 2 and 3 ln 2: mean 2 ln 2.
    assert mean_log_ratio([20, 5], [10, 40]) == pytest.approx(2 * math.log(2))


def test_cells_must_match_and_there_must_be_some() -> None:
    with pytest.raises(ValueError, match="at least one cell"):
        mean_absolute_percentage([], [])
    with pytest.raises(ValueError, match="shorter"):
        mean_log_ratio([1, 2], [1])


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50),
    st.floats(0, 1),
)
def test_quantile_equals_numpy_definition_7(values: list[float], probability: float) -> None:
    expected = np.quantile(values, probability, method="linear")
    assert quantile(values, probability) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_hyndman_fan_1996_definition_7_worked() -> None:
    # (4 - 1) * 0.5 = 1.5: halfway between the second and third value.
    assert quantile([40, 10, 20, 30], 0.5) == 25
    with pytest.raises(ValueError, match="from 0 to 1, not 50"):
        quantile([1], 50)
