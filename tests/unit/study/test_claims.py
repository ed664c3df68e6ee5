"""Formulas and claims on numbers worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from trunkline.study.language.claims import Claim, ClaimVerdict, TableValues
from trunkline.study.language.formula import (
    FormulaError,
    evaluate_formula,
    order_by_dependency,
    parse_formula,
)

ROWS = ("10 ms", "20 ms", "30 ms")


def tables(**columns: list[list[float]]) -> TableValues:
    """Columns of table "1", or of table "2" if their name ends in _2; rows of seeds."""
    named = {
        ("2" if name.endswith("_2") else "1", name.removesuffix("_2").replace("_", " ")): np.array(
            rows, dtype=float
        )
        for name, rows in columns.items()
    }
    numbers = {table: [10.0, 20.0, 30.0] for table in "12"}
    # Single values stand for published ones here, which no seed changes.
    chance = any(cells.shape[1] > 1 for cells in named.values())
    return TableValues(named, dict.fromkeys("12", ROWS), numbers, "1", is_seed_dependent=chance)


def judged(that: str, **columns: list[list[float]]) -> ClaimVerdict:
    verdict = Claim(name="c", says="c", that=that).judge(tables(**columns))
    assert verdict is not None
    return verdict


def worked(text: str, **columns: list[list[float]]) -> list[list[float]]:
    made: list[list[float]] = evaluate_formula(
        parse_formula(text, claim=False), tables(**columns)
    ).values.tolist()
    return made


def test_a_reference_row_is_taken_seed_by_seed() -> None:
    # Seeds 1 and 2 begin with 10 and 20: gains of 0, 50, 100 % and of 0, -50, 10 %.
    made = worked('100 * (a / a["10 ms"] - 1)', a=[[10, 20], [15, 10], [20, 22]])
    assert np.allclose(made, [[0, 0], [50, -50], [100, 10]])


def test_columns_with_other_characters_are_written_with_underlines() -> None:
    assert worked('timed_out["20 ms"] + 1', timed_out=[[1], [2], [3]]) == [[3]]


def test_another_table_a_list_and_every_column() -> None:
    both = {"a": [[1], [2], [3]], "b": [[4], [5], [6]], "a_2": [[7], [8], [9]]}
    assert worked('a("2") - a', **both) == [[6], [6], [6]]
    assert worked('[b, a]["20 ms"]', **both) == [[5], [2]]
    assert worked('every["10 ms", "30 ms"]', **both) == [[1], [3], [4], [6]]


def test_what_varies_from_row_to_row_is_the_parameter_and_a_quotient_of_0_is_not_known() -> None:
    assert worked("a / parameter", a=[[5], [10], [60]]) == [[0.5], [0.5], [2]]
    claim = Claim(name="c", says="c", that="a / b > 1")
    assert claim.judge(tables(a=[[5.0]] * 3, b=[[1.0], [0.0], [1.0]])) is None


def test_fewer_seeds_stand_beside_the_first_of_more() -> None:
    assert worked("a - b", a=[[1, 2, 3]] * 3, b=[[1, 1]] * 3) == [[0, 1]] * 3


def test_functions_by_hand() -> None:
    a = [[1.0], [2.0], [6.0]]
    assert worked("mean(a)", a=a) == [[3]]
    # 1, 2, 6 against 10, 20, 30: sum (x - 20)(y - 3) / 200 = (20 + 0 + 30) / 200 = 0.25.
    assert worked("slope(a)", a=a) == [[0.25]]
    # 6 is twice the mean: a spread of 1.
    assert worked("spread(a)", a=a) == [[1]]
    assert worked("steps(a)", a=a) == [[1], [4]]
    assert worked("abs(2 - a)", a=a) == [[1], [0], [4]]
    assert worked("average(a)", a=[[1, 3], [2, 4], [0, 0]]) == [[2], [3], [0]]


def test_chance_is_what_one_further_run_may_differ() -> None:
    # Of 1, 2, 3: s = 1, t(0.975, 2) = 4.30265; t * s * sqrt(1 + 1/3) = 4.96827.
    assert np.mean(worked("chance(a)", a=[[1, 2, 3]] * 3)[0]) == pytest.approx(4.96827, abs=1e-5)
    assert math.isnan(worked("chance(a)", a=[[1]] * 3)[0][0])
    assert math.isnan(worked("chance(a)", a=[[1, 2]] * 3)[0][0])


def test_efron_1982_chance_and_spread_have_the_intervals_of_the_jackknife() -> None:
    """By hand, standard error of T: sqrt((n - 1) / n * sum of squares of T_i from their mean)."""
    row = [1.0, 2.0, 4.0, 9.0]
    # s without one: of 2, 4, 9; of 1, 4, 9; of 1, 2, 9; of 1, 2, 4. t(0.975, 3) = 3.18245.
    without = [math.sqrt(13), math.sqrt(49 / 3), math.sqrt(19), math.sqrt(7 / 3)]
    factor = 3.18245 * math.sqrt(5 / 4)
    error = math.sqrt(3 / 4 * sum((one - np.mean(without)) ** 2 for one in without))
    made = np.array(worked("chance(a)", a=[row] * 3)[0])
    assert made.std(ddof=1) / 2 == pytest.approx(factor * error, rel=1e-5)
    # Two rows of 10 and of 10 + x: the greater is (10 + m / 2) off by m / 2, m the mean of x.
    x = np.array([1.0, 2.0, 3.0, 6.0])
    rows = [[10.0] * 4, [10.0] * 4, list(10 + x)]
    means = [x.mean(), *((x.sum() - one) / 3 for one in x)]
    spreads = [2 * mean / 3 / (10 + mean / 3) for mean in means]
    made = np.array(worked("spread(a)", a=rows)[0])
    assert made.mean() == pytest.approx(spreads[0])
    error = math.sqrt(3 / 4 * sum((one - np.mean(spreads[1:])) ** 2 for one in spreads[1:]))
    assert made.std(ddof=1) / 2 == pytest.approx(error)


def test_few_seeds_leave_a_claim_on_chance_undecided() -> None:
    """Eight draws with s = 10: one run is within 25 of the mean, and that is not sure to be 20."""
    draw = np.random.default_rng(5)
    few = draw.normal(0, 10, 8)
    few = (few - few.mean()) / few.std(ddof=1) * 10
    assert judged("chance(a) > 20", a=[list(few)] * 3).outcome == "undecided"
    many = draw.normal(0, 15, 400)
    assert judged("chance(a) > 20", a=[list(many)] * 3).outcome == "held"
    assert judged("chance(a) > 40", a=[list(many)] * 3).outcome == "refuted"


def test_a_fall_in_every_seed_is_a_fall() -> None:
    assert judged("slope(a) < 0", a=[[5, 6, 5], [4, 5, 4], [3, 4, 3]]).is_held
    assert not judged("slope(a) < 0", a=[[3, 4, 3], [4, 5, 4], [5, 6, 5]]).is_held


def test_a_fall_that_chance_explains_is_none() -> None:
    # Slopes over rows 10, 20, 30: -0.4, +0.2, -0.1: mean -0.1, deviation 0.3, and
    # t(0.975, 2) * 0.3 / sqrt(3) = 0.745, so the interval holds zero.
    assert not judged("slope(a) < 0", a=[[8, 2, 5], [4, 4, 4], [0, 6, 3]]).is_held


def test_published_values_are_judged_as_they_stand_and_a_single_seed_decides_nothing() -> None:
    assert judged("slope(a) < 0", a=[[5], [4], [3]]).is_held
    ours = replace(tables(a=[[5], [4], [3]]), is_seed_dependent=True)
    verdict = Claim(name="c", says="c", that="slope(a) < 0").judge(ours)
    assert verdict is not None
    assert verdict.outcome == "undecided"


def test_a_limit_is_for_the_mean() -> None:
    # 8.5, 10, 11.5 are 15 % from their mean.
    rows: list[list[float]] = [[8.5], [10], [11.5]]
    assert judged("spread(a) <= 0.16", a=rows).is_held
    verdict = judged("spread(a) <= 0.1", a=rows)
    assert not verdict.is_held
    assert verdict.detail == "0.15 against 0.1"


def test_a_comparison_must_hold_in_every_row_or_in_the_mean_of_the_rows() -> None:
    rows = {"a": [[1.0], [4.0], [1.0]], "b": [[3.0], [3.0], [3.0]]}
    verdict = judged("a < b", **rows)
    assert not verdict.is_held
    assert verdict.detail.startswith("2 of 3")
    # (1 + 4 + 1) / 3 = 2 against 3.
    assert judged("mean(a) < mean(b)", **rows).is_held


def test_pairs_of_seeds_are_compared_not_means() -> None:
    # Seeds differ by far more than the columns do, but in each seed `a` is 1 below.
    rows: dict[str, list[list[float]]] = {"a": [[1, 50, 99]] * 3, "b": [[2, 51, 100]] * 3}
    verdict = judged("a < b", **rows)
    assert verdict.is_held
    assert verdict.detail == "3 of 3, differences: 10 ms -1, 20 ms -1, 30 ms -1"
    assert not judged("a < 50", **rows).is_held


@pytest.mark.parametrize(
    ("that", "detail"),
    [
        ('a["10 ms"] > 5', "40 against 5 [%]"),
        ("steps(a) < 5", "0 of 2: 20 ms -20 ± 37, 30 ms 20 ± 37; < 5 wanted [points]"),
        ('abs(a["10 ms"] - 30) <= 2', "10 against 2 [points]"),
        ('a["10 ms"] > a["20 ms"]', "40 against 20 [%], difference 20 ± 37 [points]"),
        (
            'a["10 ms"] > 5 and mean(a - 1) > 5',
            "40 against 5 [%]; 32.33 ± 12 against 5 [points]",
        ),
    ],
)
def test_a_difference_of_two_shares_is_in_points(that: str, detail: str) -> None:
    shares: dict[str, list[list[float]]] = {"a": [[40, 40, 40], [5, 20, 35], [40, 40, 40]]}
    verdict = Claim(name="c", says="c", that=that, unit="%").judge(tables(**shares))
    assert verdict is not None
    assert verdict.detail == detail
    # A rate less a rate is a rate.
    verdict = Claim(name="c", says="c", that=that, unit="s").judge(tables(**shares))
    assert verdict is not None
    assert "[points]" not in verdict.detail
    assert verdict.detail.endswith("[s]")


def test_all_parts_of_a_claim_must_hold() -> None:
    a: list[list[float]] = [[1], [2], [3]]
    assert judged('a["30 ms"] > 2 and a["10 ms"] < 2', a=a).is_held
    assert not judged('a["30 ms"] > 2 and a["10 ms"] < 1', a=a).is_held


def test_a_claim_about_what_is_not_known_is_not_judged() -> None:
    claim = Claim(name="c", says="c", that="a > 0")
    assert claim.judge(tables(a=[[1], [math.nan], [1]])) is None


@pytest.mark.parametrize(
    "text",
    [
        "a.real",
        "os.path('x')",
        "(lambda: 1)()",
        "a ** 9999999",
        "[x for x in a]",
        "a[0]",
        "a[b]",
        "mean(a, b)",
        "'text'",
        "a if a else b",
        "a +",
        "",
        "f'{a}'",
        "(" * 300 + ")" * 300,
    ],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_formula(text, claim=False)


@pytest.mark.parametrize(
    "text", ["a", "a + 1", "a < b < c", "a < 1 or a > 2", "not a < 1", "a != b"]
)
def test_a_claim_compares(text: str) -> None:
    with pytest.raises(FormulaError, match="compares nothing"):
        parse_formula(text, claim=True)


def test_columns_are_worked_out_after_those_that_they_speak_of() -> None:
    assert order_by_dependency({"gain": "total / 2", "total": "a + b", "c": "1"}) == [
        "total",
        "c",
        "gain",
    ]
    with pytest.raises(FormulaError, match="x, y are given by each other"):
        order_by_dependency({"x": "y + 1", "y": "2 * x"})


def test_values_of_other_numbers_of_rows_do_not_meet() -> None:
    with pytest.raises(FormulaError, match="3 values cannot be paired with 2"):
        worked("a - steps(a)", a=[[1], [2], [3]])


@pytest.mark.parametrize("text", ['steps(a)["20 ms"]', '(a + a)["20 ms"]', 'mean(a)["20 ms"]'])
def test_rows_are_chosen_of_columns_not_of_what_is_worked_out(text: str) -> None:
    with pytest.raises(FormulaError, match="rows are chosen of columns, inside of it"):
        parse_formula(text, claim=False)
    # Inside of it they are: 4 - 1.
    assert worked('steps(a["10 ms", "20 ms"])', a=[[1.0], [4.0], [6.0]]) == [[3]]
