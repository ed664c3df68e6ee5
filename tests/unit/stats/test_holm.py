"""Holm's procedure and the paired test by hand."""

from __future__ import annotations

import math
import random

import pytest

from trunkline.stats import compute_paired_p, holm

from .test_interval import DEXTRO, LAEVO


def test_holm1979_adjusted_values_by_hand() -> None:
    # Sorted 0.005 0.01 0.03 0.04: times 4, 3, 2, 1 = 0.02 0.03 0.06 0.04; none below the one
    # before: 0.02 0.03 0.06 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm1979_of_twenty_true_hypotheses_one_is_rejected_at_most_once_in_twenty() -> None:
    draw = random.Random(1)
    any_rejected = sum(min(holm([draw.random() for _ in range(20)])) < 0.05 for _ in range(2000))
    # Probability 1 - (1 - 0.05/20)^20 = 4.9 %; deviation of 2000: 0.5 %.
    assert 0.034 < any_rejected / 2000 < 0.064


def test_student1908_s9_p_value_of_the_sleep_data() -> None:
    # t = 1.58 / 0.388959 = 4.0621 with 9 degrees: two-sided 0.00283 (Student found odds of 666 to
    # 1 for one side, that is 0.0015).
    assert compute_paired_p(LAEVO, DEXTRO) == pytest.approx(0.002833, abs=1e-6)


def test_student1908_pairs_whose_variance_is_1() -> None:
    # Mean 1 of three: t = 1 / sqrt(1 / 3) = 1.7321 with 2 degrees of freedom, whose distribution is
    # 1/2 + t / (2 sqrt(2 + t^2)).
    expected = 1 - math.sqrt(3) / math.sqrt(2 + 3)
    assert compute_paired_p([0, 1, 2], [0, 0, 0]) == pytest.approx(expected)


def test_alike_pairs_differ_surely_or_not_at_all() -> None:
    assert compute_paired_p([1, 2], [1, 2]) == 1.0
    assert compute_paired_p([2, 3], [1, 2]) == 0.0
    assert compute_paired_p([1], [2]) is None
