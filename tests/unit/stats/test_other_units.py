"""Another unit changes nothing but the unit: of seconds made nanoseconds all estimates follow.

A statistic of location and spread is equivariant: with c x in place of x, c > 0, mean and interval
are c times as large (Lehmann and Casella, Theory of Point Estimation, section 3.1). A ratio of
means does not change where all weights are c times as large, nor a share of a mean.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from trunkline.stats import (
    Interval,
    assess_precision,
    batch_means,
    bootstrap_interval,
    compute_paired_p,
    compute_unpaired_p,
    mean_absolute_percentage,
    mean_interval,
    mean_log_ratio,
    mser5,
    paired_difference,
    quantile_interval,
    unpaired_difference,
)
from trunkline.stats.batch import compute_lag1_correlation, is_correlated
from trunkline.stats.control_variates import (
    ControlledValues,
    compute_controlled_p,
    controlled_interval,
)
from trunkline.stats.equivalence import judge_equivalence

_draw = random.Random(7)
FIRST = [_draw.gauss(5, 1) for _ in range(64)]
SECOND = [_draw.gauss(5.2, 1) for _ in range(64)]
DEVIATIONS = np.array([[value - 5 + _draw.gauss(0, 0.5)] for value in FIRST])
UNITS = [1e-9, 1e-3, 1e3, 1e9]


def scale(values: Sequence[float], unit: float) -> list[float]:
    return [unit * value for value in values]


INTERVALS: dict[str, Callable[[float], Interval]] = {
    "mean": lambda unit: mean_interval(scale(FIRST, unit)),
    "batches": lambda unit: batch_means(scale(FIRST, unit)).interval,
    "weighted": lambda unit: batch_means(scale(FIRST, unit), weights=SECOND).interval,
    "bootstrap": lambda unit: bootstrap_interval(scale(FIRST, unit), resamples=200),
    "quantile": lambda unit: quantile_interval(scale(FIRST, unit), 0.9),
    "paired": lambda unit: paired_difference(scale(FIRST, unit), scale(SECOND, unit)),
    "unpaired": lambda unit: unpaired_difference(scale(FIRST, unit), scale(SECOND, unit)),
    "controlled": lambda unit: controlled_interval(scale(FIRST, unit), DEVIATIONS),
    "controls": lambda unit: controlled_interval(scale(FIRST, unit), unit * DEVIATIONS),
    "equivalence": lambda unit: judge_equivalence(scale(FIRST, unit), 5 * unit).interval,
}
SHARES: dict[str, Callable[[float], object]] = {
    "lag 1": lambda unit: compute_lag1_correlation(scale(FIRST, unit)),
    "correlated": lambda unit: is_correlated(scale(FIRST, unit)),
    "paired p": lambda unit: compute_paired_p(scale(FIRST, unit), scale(SECOND, unit)),
    "unpaired p": lambda unit: compute_unpaired_p(scale(FIRST, unit), scale(SECOND, unit)),
    "controlled p": lambda unit: compute_controlled_p(
        scale(np.subtract(FIRST, 5.1).tolist(), unit), DEVIATIONS
    ),
    "percentage": lambda unit: mean_absolute_percentage(scale(FIRST, unit), scale(SECOND, unit)),
    "log ratio": lambda unit: mean_log_ratio(scale(FIRST, unit), scale(SECOND, unit)),
    "cut": lambda unit: mser5(scale(sorted(FIRST[:40]) + FIRST, unit)).left_out,
    "precision": lambda unit: (
        assess_precision(
            {"x": ControlledValues(scale(FIRST, unit), unit * DEVIATIONS)}, 0.05
        ).relative
    ),
    "runs": lambda unit: (
        assess_precision(
            {"x": ControlledValues(scale(FIRST, unit), unit * DEVIATIONS)}, 0.05
        ).plain_runs
    ),
    "equivalence": lambda unit: judge_equivalence(scale(FIRST, unit), 5 * unit).more_pairs,
    "weighted": lambda unit: batch_means(FIRST, weights=scale(SECOND, unit)).interval.half_width,
}


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("unit", UNITS)
def test_lehmann_casella_s3_1_an_estimate_is_in_the_unit_of_its_values(
    name: str, unit: float
) -> None:
    plain, found = INTERVALS[name](1.0), INTERVALS[name](unit)
    assert None not in (plain.low, plain.high)
    assert plain.low != plain.high
    for end in ("mean", "low", "high"):
        assert getattr(found, end) == pytest.approx(unit * getattr(plain, end), rel=1e-9)


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("unit", UNITS)
def test_lehmann_casella_s3_1_a_share_has_no_unit(name: str, unit: float) -> None:
    plain, found = SHARES[name](1.0), SHARES[name](unit)
    assert plain is not None
    assert found == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_an_interval_in_another_unit_is_that_of_values_in_it(unit: float) -> None:
    """Of one run there is no interval, in any unit."""
    scaled, expected = mean_interval(FIRST).scale(unit), mean_interval(scale(FIRST, unit))
    for end in ("mean", "low", "high"):
        assert getattr(scaled, end) == pytest.approx(getattr(expected, end), rel=1e-9)
    assert scaled.n == expected.n
    assert mean_interval(FIRST[:1]).scale(unit) == mean_interval([FIRST[0] * unit])
