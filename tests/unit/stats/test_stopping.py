"""Sequential stopping: the rule by hand, and what it reaches."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from trunkline.stats import Precision, assess_precision, mean_interval, plan_runs, until
from trunkline.stats.control_variates import ControlledValues, controlled_interval


def test_law2015_s9_4_1_the_half_width_must_be_within_g_over_1_plus_g() -> None:
    # 98 100 102: deviation 2, half width 4.302653 * 2 / sqrt(3) = 4.9683, relative 0.049683.
    # 5 % asks for 0.05 / 1.05 = 0.047619; 5.3 % for 0.050332.
    found = assess_precision({"goodput": [98, 100, 102]}, 0.05)
    assert found.relative == pytest.approx(0.0496830, abs=1e-6)
    assert not found.reached
    assert assess_precision({"goodput": [98, 100, 102]}, 0.053).reached


def test_law2015_s9_4_1_a_half_width_that_is_just_the_share_is_enough() -> None:
    """Where g / (1 + g) is the share without any rounding."""
    equal_shares = 0
    for spread in range(1, 20):
        values = [100.0 - spread, 100.0, 100.0 + spread]
        share = mean_interval(values).relative_half_width or 0
        target = share / (1 - share)
        if target / (1 + target) == share:
            equal_shares += 1
            assert assess_precision({"x": values}, target).reached
    assert equal_shares > 5


def test_the_widest_measure_decides_and_one_that_never_varies_is_exact() -> None:
    found = assess_precision({"a": [1.0, 1.0], "b": [1.0, 3.0], "c": [0.0, 0.0]}, 0.5)
    assert found.widest == "b"
    # The first of equal ones.
    assert assess_precision({"a": [1.0, 3.0], "b": [1.0, 3.0]}, 0.5).widest == "a"
    assert assess_precision({"a": [5.0, 5.0], "c": [0.0, 0.0]}, 0.01).reached
    assert not assess_precision({}, 0.01).reached


def test_a_measure_without_an_interval_is_never_sure() -> None:
    # Known in one run of many, or of mean zero: no share of the mean can be said.
    for values in ([3.0], [-1.0, 1.0]):
        found = assess_precision({"a": [1.0, 1.0], "b": values}, 0.5)
        assert (found.reached, found.widest, found.relative, found.runs) == (False, "b", None, 2)
        assert plan_runs(found, 0.5, max_runs=100) > found.runs


def test_the_next_look_is_where_the_width_is_likely_to_do_but_at_most_twice_as_far() -> None:
    assert plan_runs(Precision(0, False, "", None), 0.02, max_runs=1000) == 10
    # 10 runs give 2.5 %; 2 % / 1.02 = 1.961 %: 10 * (2.5 / 1.961)^2 = 16.26 runs.
    assert plan_runs(Precision(10, False, "a", 0.025), 0.02, max_runs=1000) == 17
    assert plan_runs(Precision(10, False, "a", 0.5), 0.02, max_runs=1000) == 20
    assert plan_runs(Precision(10, False, "a", 0.5), 0.02, max_runs=15) == 15
    assert plan_runs(Precision(10, True, "a", 0.01), 0.02, max_runs=1000) == 10
    assert plan_runs(Precision(4, False, "a", 0.01), 0.02, max_runs=3) == 4
    assert plan_runs(Precision(10, False, "a", 0.5), 0.02, max_runs=10) == 10
    # Fewer than the first look, whatever they say, and as many as there may be.
    assert plan_runs(Precision(9, False, "a", 0.5), 0.02, max_runs=1000) == 10
    assert plan_runs(Precision(0, False, "", None), 0.02, max_runs=9) == 9
    # Of a measure that has no interval the double is asked for.
    assert plan_runs(Precision(30, False, "a", None), 0.02, max_runs=1000) == 60


def test_the_next_look_is_at_least_a_run_further() -> None:
    """A half width a thousandth too wide needs 0.2 % more runs: of 100 one."""
    reached = Precision(100, False, "x", 1.001 * 0.02 / 1.02)
    assert plan_runs(reached, 0.02, max_runs=1000) == 101


def test_runs_that_would_do_without_controls_grow_with_the_square_of_the_width() -> None:
    """Lavenberg and Welch 1981: widths fall as one over the root of the number of runs."""
    values = [3.0, 5.0, 4.0, 8.0, 6.0, 9.0, 7.0, 11.0]
    deviations = np.array([[-2.0], [-1.0], [-1.0], [1.0], [0.0], [2.0], [1.0], [2.0]])
    plain = mean_interval(values).relative_half_width
    controlled = controlled_interval(values, deviations).relative_half_width
    assert plain is not None
    assert controlled is not None
    assert plain > controlled > 0
    found = assess_precision({"x": ControlledValues(values, deviations)}, 0.05)
    assert found.plain_runs == math.ceil(8 * (plain / controlled) ** 2)
    assert assess_precision({"x": values}, 0.05).plain_runs is None
    # One measure of two with controls: the other, which is narrower, is the same either way.
    both = {"x": ControlledValues(values, deviations), "y": [100.0, 101.0] * 4}
    assert assess_precision(both, 0.05) == found
    assert assess_precision(dict(reversed(both.items())), 0.05) == found


def test_without_measures_there_are_no_runs_and_nothing_is_sure() -> None:
    assert assess_precision({}, 0.05) == Precision(0, False, "", None)


def test_values_that_never_vary_need_no_controls() -> None:
    deviations = np.arange(8.0)[:, None] - 3.5
    found = assess_precision({"x": ControlledValues([5.0] * 8, deviations)}, 0.05)
    assert (found.reached, found.relative, found.plain_runs) == (True, 0.0, None)


def test_it_stops_where_the_interval_is_narrow_and_covers_the_mean() -> None:
    # Normal, deviation 10 % of the mean: 1.96^2 * 0.01 / (0.05 / 1.05)^2 = 17 runs at 5 %.
    stopped = []
    covered = 0
    for seed in range(300):
        draw = random.Random(seed)
        values: list[float] = []

        def more(
            begin: int, end: int, draw: random.Random = draw, of: list[float] = values
        ) -> dict[str, list[float]]:
            assert len(of) == begin
            of.extend(draw.gauss(100, 10) for _ in range(end - begin))
            return {"x": of}

        now = until(more, 0.05, max_runs=500)
        assert now.reached
        assert now.runs == len(values)
        stopped.append(now.runs)
        covered += abs(sum(values) / len(values) - 100) <= (now.relative or 0) * sum(values) / len(
            values
        )
    assert 15 < sum(stopped) / 300 < 21
    # Stopping early when chance is kind costs coverage: a few per cent below 95.
    assert covered / 300 > 0.89


def test_the_cap_is_kept_and_the_precision_reached_is_said() -> None:
    draw = random.Random(1)
    values: list[float] = []

    def more(begin: int, end: int) -> dict[str, list[float]]:
        values.extend(draw.gauss(1, 1) for _ in range(end - begin))
        return {"x": values}

    now = until(more, 0.001, max_runs=25)
    assert (now.runs, now.reached, now.widest) == (25, False, "x")
    assert now.relative is not None
    assert now.relative > 0.1


def test_a_precision_in_per_cent_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0 and below 1, not 2"):
        assess_precision({"a": [1, 2]}, 2)
