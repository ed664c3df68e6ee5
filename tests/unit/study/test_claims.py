"""Predicates of claims on numbers worked by hand, and on the published tables themselves."""

from __future__ import annotations

import numpy as np
import pytest

from trunkline.study.claims import Below, Cells, Falls, Flat, HeldBack, TotalAbove

OFFERED = np.array([10.0, 20.0, 30.0])


def cells(**columns: list[list[float]]) -> Cells:
    """Columns of table "1", or of table "2" if their name ends in _2; rows of seeds."""
    named = {
        ("2" if name.endswith("_2") else "1", name.removesuffix("_2")): np.array(rows)
        for name, rows in columns.items()
    }
    return Cells(named, OFFERED)


def falls(rows: list[list[float]]) -> bool:
    claim = Falls(name="c", says="c", kind="falls", table="1", column="a")
    return claim.judge(cells(a=rows)).held


def test_a_fall_in_every_seed_is_a_fall() -> None:
    assert falls([[5, 6, 5], [4, 5, 4], [3, 4, 3]])
    assert not falls([[3, 4, 3], [4, 5, 4], [5, 6, 5]])


def test_a_fall_that_chance_explains_is_none() -> None:
    # Slopes over rows 10, 20, 30: -0.4, +0.2, -0.1: mean -0.1, deviation 0.3, and
    # t(0.975, 2) * 0.3 / sqrt(3) = 0.745, so the interval holds zero.
    assert not falls([[8, 2, 5], [4, 4, 4], [0, 6, 3]])


def test_a_single_seed_is_judged_by_its_mean() -> None:
    assert falls([[5], [4], [3]])


def test_slope_is_that_of_least_squares() -> None:
    claim = HeldBack(name="c", says="c", kind="held-back", table="1", column="a", share=0.5)
    # 1, 2, 6 against 10, 20, 30: sum (x - 20)(y - 3) / 200 = (20 + 0 + 30) / 200 = 0.25.
    verdict = claim.judge(cells(a=[[1], [2], [6]]))
    assert verdict.held
    assert "0.250" in verdict.detail
    # 0, 10, 12: (50 + ... ) = (10 * 12 - 10 * 0) / 200 = 0.6.
    assert not claim.judge(cells(a=[[0], [10], [12]])).held


def test_flat_allows_a_share_of_the_mean() -> None:
    claim = Flat(name="c", says="c", kind="flat", table="1", column="a", within=0.1)
    assert claim.judge(cells(a=[[9.1], [10], [10.9]])).held
    verdict = claim.judge(cells(a=[[8.5], [10], [11.5]]))
    assert not verdict.held
    assert "15.0 %" in verdict.detail


def test_below_must_hold_in_every_row() -> None:
    claim = Below(
        name="c", says="c", kind="below", table="1", column="a", than_column="b", times=0.5
    )
    assert claim.judge(cells(a=[[1], [1], [1]], b=[[3], [3], [3]])).held
    verdict = claim.judge(cells(a=[[1], [2], [1]], b=[[3], [3], [3]]))
    assert not verdict.held
    assert "2 of 3 rows" in verdict.detail


def test_below_may_be_judged_in_the_mean_of_the_rows() -> None:
    rows = {"a": [[1.0], [4.0], [1.0]], "b": [[3.0], [3.0], [3.0]]}
    said = {"name": "c", "says": "c", "kind": "below", "table": "1", "column": "a"}
    each = Below.model_validate({**said, "than_column": "b"})
    mean = Below.model_validate({**said, "than_column": "b", "rows": "mean"})
    assert not each.judge(cells(**rows)).held
    # (1 + 4 + 1) / 3 = 2 against 3.
    verdict = mean.judge(cells(**rows))
    assert verdict.held
    assert verdict.detail == "ratio 0.67"


def test_totals_sum_the_columns_of_a_table() -> None:
    claim = TotalAbove(name="c", says="c", kind="total-above", table="1", than_table="2")
    verdict = claim.judge(
        cells(a=[[2], [2], [2]], b=[[3], [3], [3]], a_2=[[1], [1], [1]], b_2=[[3], [3], [3]])
    )
    assert verdict.held
    assert "ratio 1.25 to 1.25" in verdict.detail


def test_pairs_of_seeds_are_compared_not_means() -> None:
    # Seeds differ by far more than the tables do, but in each seed `a` is 1 below.
    claim = Below(name="c", says="c", kind="below", table="1", column="a", than_column="b")
    ours = [[1.0, 50.0, 99.0]] * 3
    theirs = [[2.0, 51.0, 100.0]] * 3
    assert claim.judge(cells(a=ours, b=theirs)).held


@pytest.mark.parametrize("times", [0.0, -1.0])
def test_a_factor_must_be_above_zero(times: float) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        Below(name="c", says="c", kind="below", table="1", column="a", times=times)
