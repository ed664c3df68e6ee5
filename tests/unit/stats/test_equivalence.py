"""Equivalence within a margin: verdicts, and the number of pairs still needed, by search."""

from __future__ import annotations

import math

import pytest
from scipy.stats import t as student

from trunkline.stats import mean_interval
from trunkline.stats.equivalence import MAX_PAIRS, judge_equivalence
from trunkline.stats.interval import student_quantile


def alternate(mean: float, pairs: int) -> list[float]:
    """Values one above and one below a mean in turn."""
    return [mean + 1, mean - 1] * (pairs // 2)


@pytest.mark.parametrize(
    ("mean", "pairs", "confidence"),
    # The mean inside the margin of 0.35: until the interval of 95 % is; outside: that of 99 %.
    [(0.1, 20, 0.95), (-0.1, 20, 0.95), (0.6, 60, 0.99), (-0.6, 60, 0.99)],
)
def test_pairs_still_needed_are_the_first_number_whose_interval_has_room(
    mean: float, pairs: int, confidence: float
) -> None:
    """The half width is t * s / sqrt(n), with the present s and t of n - 1 degrees of freedom."""
    deviation = math.sqrt(pairs / (pairs - 1))
    needed = next(
        n
        for n in range(pairs, 1000)
        if student.ppf((1 + confidence) / 2, n - 1) * deviation / math.sqrt(n) <= 0.25
    )
    found = judge_equivalence(alternate(mean, pairs), 0.35)
    assert found.outcome == "undecided"
    assert found.more_pairs == needed - pairs


def test_more_comparisons_need_more_pairs_to_differ() -> None:
    """Bonferroni: 1 % over eight comparisons."""
    needed = next(
        n
        for n in range(60, 1000)
        if student.ppf(1 - 0.01 / 8 / 2, n - 1) * math.sqrt(60 / 59) / math.sqrt(n) <= 0.25
    )
    found = judge_equivalence(alternate(0.6, 60), 0.35, comparisons=8)
    assert found.more_pairs == needed - 60


def test_a_mean_on_the_margin_and_one_near_it_are_never_decided() -> None:
    assert judge_equivalence(alternate(0.5, 20), 0.5).more_pairs is None
    # n = (t s / room)^2 with s of 1.026 and t of nearly 1.96.
    assert (1.96 * 1.026 / 0.06) ** 2 > MAX_PAIRS > (1.97 * 1.026 / 0.07) ** 2
    assert judge_equivalence(alternate(0.44, 20), 0.5).more_pairs is None
    assert judge_equivalence(alternate(0.43, 20), 0.5).more_pairs is not None


def test_fewer_than_five_pairs_decide_nothing() -> None:
    for count in range(1, 5):
        found = judge_equivalence([0.0] * count, 1.0)
        assert (found.outcome, found.more_pairs) == ("undecided", 5 - count)
    assert judge_equivalence([0.0] * 5, 0.0).outcome == "agrees"
    assert judge_equivalence([1.0] * 5, 1.0).outcome == "agrees"
    assert judge_equivalence([-1.0] * 5, 1.0).outcome == "agrees"
    assert judge_equivalence([1.5] * 5, 1.0).outcome == "differs"
    assert judge_equivalence([-1.5] * 5, 1.0).outcome == "differs"


def test_as_many_pairs_as_are_tried_at_most_may_be_the_answer() -> None:
    """Of differences ± 1 with mean 0: margins that one pair more or 1,000 just keep, or 1,001."""
    differences = [1.0, -1.0] * 4
    assert MAX_PAIRS == 1000
    for pairs, more, still_more in (
        (9, 1, 2),
        (10, 2, 3),
        (999, 991, 992),
        (1000, 992, None),
        (1001, None, None),
    ):
        quantile = student_quantile(0.975, pairs - 1)
        assert quantile == pytest.approx(student.ppf(0.975, pairs - 1))
        margin = quantile * math.sqrt(8 / 7 / pairs)
        assert judge_equivalence(differences, margin).more_pairs == more
        assert judge_equivalence(differences, math.nextafter(margin, 0)).more_pairs == still_more


@pytest.mark.parametrize("sign", [1, -1])
def test_schuirmann1987_an_interval_that_ends_at_the_margin_is_inside_it(sign: int) -> None:
    """And one whose nearer end is at the margin is not outside it: 1 - 0.01 / comparisons."""
    differences = [sign * value for value in alternate(2.0, 20)]
    margin = max(abs(end) for end in mean_interval(differences).ends or ())
    assert judge_equivalence(differences, margin).outcome == "agrees"
    assert judge_equivalence(differences, math.nextafter(margin, 0)).outcome == "undecided"
    for comparisons, confidence in ((1, 0.99), (4, 0.9975)):
        ends = mean_interval(differences, confidence=confidence).ends or ()
        margin = min(abs(end) for end in ends)
        for each, outcome in ((margin, "undecided"), (margin * (1 - 1e-9), "differs")):
            found = judge_equivalence(differences, each, comparisons=comparisons)
            assert found.outcome == outcome
