"""Welch's interval and test against scipy's."""

from __future__ import annotations

import math

import pytest
from scipy.stats import ttest_ind

from trunkline.stats.welch import compute_unpaired_p, unpaired_difference

SHORT = [27.5, 21.0, 19.0, 23.6]
LONG = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8]


@pytest.mark.parametrize(("first", "second"), [(SHORT, LONG), (LONG, SHORT), (SHORT, [1.0, 2.0])])
def test_welch1947_as_scipy_has_it(first: list[float], second: list[float]) -> None:
    expected = ttest_ind(first, second, equal_var=False)
    assert compute_unpaired_p(first, second) == pytest.approx(expected.pvalue)
    found = unpaired_difference(first, second, confidence=0.9)
    bounds = expected.confidence_interval(0.9)
    assert (found.low, found.high) == (pytest.approx(bounds.low), pytest.approx(bounds.high))
    assert found.mean == pytest.approx(sum(first) / len(first) - sum(second) / len(second))
    assert found.n == min(len(first), len(second))


def test_welch1947_a_side_that_never_varies_adds_no_degree_of_freedom() -> None:
    # Of 0 and 2 the mean has an error of 1 with one degree of freedom: Cauchy's distribution at -4.
    p = compute_unpaired_p([0.0, 2.0], [5.0, 5.0, 5.0])
    assert p == pytest.approx(1 - 2 * math.atan(4) / math.pi)


def test_a_side_of_one_value_shows_nothing() -> None:
    for first, second in (([1.0], LONG), (LONG, [1.0])):
        assert compute_unpaired_p(first, second) is None
        found = unpaired_difference(first, second)
        assert (found.low, found.high, found.n) == (None, None, 1)


def test_values_that_never_vary_are_equal_or_not() -> None:
    assert compute_unpaired_p([2.0, 2.0], [2.0, 2.0, 2.0]) == 1.0
    assert compute_unpaired_p([2.0, 2.0], [1.0, 1.0]) == 0.0
    found = unpaired_difference([2.0, 2.0], [1.0, 1.0])
    assert (found.mean, found.low, found.high) == (1.0, 1.0, 1.0)
