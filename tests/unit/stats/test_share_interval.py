"""Clopper and Pearson (1934): the exact interval of a share."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from trunkline.stats import share_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (95, 100)])
def test_clopper_pearson_1934_as_scipy_has_it(hits: int, n: int) -> None:
    found = share_interval(hits, n)
    reference = binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high))
    assert (found.mean, found.n) == (hits / n, n)


def test_all_of_ten_is_not_all() -> None:
    # (1 - 0.95) / 2 = low ** 10.
    assert share_interval(10, 10).low == pytest.approx(0.025**0.1)


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="11 of 10 is no share"):
        share_interval(11, 10)
