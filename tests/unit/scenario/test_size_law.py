"""Means of laws of sizes: published ones by hand, truncated ones by numerical integration."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import integrate, stats

from trunkline.scenario import published_sizes
from trunkline.scenario.size_law import (
    compute_mean,
    compute_mean_segments,
    make_lognormal_law,
    make_survival_function,
)


def test_websearch_in_hpcc_s_points_has_a_mean_of_1_711_250_bytes() -> None:
    # Straight lines between the points, by hand: sum of share times the middle of each piece:
    # .15*5k + .05*15k + .1*25k + .1*40k + .13*65k + .07*140k + .1*600k + .1*1.5M + .1*3.5M
    # + .07*7.5M + .03*20M = 1,711,250.
    assert compute_mean(published_sizes.get_published_law("websearch")) == pytest.approx(1_711_250)


def test_data_mining_has_a_mean_of_5116_6_segments() -> None:
    # Half are 1; .1*1.5 + .1*2.5 + .1*5 + .1*137 + .05*1187 + .04*34387 + .01*366667 + .5 = 5116.6.
    assert compute_mean(published_sizes.get_published_law("data-mining")) / 1460 == pytest.approx(
        5116.6, abs=0.1
    )


def test_3gpp_objects_have_the_parameters_of_the_table() -> None:
    # 3GPP TR 36.814 table A.2.1.3.1-1 gives mu and sigma beside mean and deviation.
    main = published_sizes.get_published_law("3gpp-main")["lognormal"]
    assert (main["mu"], main["sigma"]) == pytest.approx((8.35, 1.37), abs=0.01)
    embedded = published_sizes.get_published_law("3gpp-embedded")["lognormal"]
    assert (embedded["mu"], embedded["sigma"]) == pytest.approx((6.17, 2.36), abs=0.01)


LAWS: list[tuple[dict[str, Any], Any, float, float]] = [
    (
        {"pareto": {"shape": 1.2, "least_bytes": 1e3, "most_bytes": 1e6}},
        stats.pareto(1.2, scale=1e3),
        1e3,
        1e6,
    ),
    (
        make_lognormal_law(7758, 126_168, 50, 2e6),
        stats.lognorm(2.3625, scale=math.exp(6.1657)),
        50,
        2e6,
    ),
    ({"weibull": {"shape": 0.8, "scale_bytes": 5e3}}, stats.weibull_min(0.8, scale=5e3), 0, 1e7),
    ({"exponential": {"mean_bytes": 9e3}}, stats.expon(scale=9e3), 0, 1e6),
]


@pytest.mark.parametrize(("law", "total", "least", "most"), LAWS)
def test_means_and_tails_are_those_of_the_truncated_law(
    law: dict[str, Any], total: Any, least: float, most: float
) -> None:
    share = total.cdf(most) - total.cdf(least)
    # In the logarithm, so that the integrand is smooth over all sizes.
    area, _ = integrate.quad(
        lambda y: math.exp(2 * y) * total.pdf(math.exp(y)),
        math.log(max(least, 1e-3)),
        math.log(most),
        limit=500,
    )
    assert compute_mean(law) == pytest.approx(area / share, rel=1e-3)
    for size in (least + 1, 2000.0, 0.3 * most):
        expected = (total.cdf(most) - total.cdf(max(size, least))) / share
        assert make_survival_function(law)(size) == pytest.approx(expected, abs=1e-4)


def test_mean_segments_counts_the_last_that_is_not_full() -> None:
    # 1, 2, ..., 3000 B alike: 1000 sizes each of 1, 2 and 3 segments of 1000 B: 2 on average.
    law = {"table": {"bytes": [0.0, 3000.0], "shares": [0.0, 1.0]}}
    assert compute_mean_segments(law, 1000) == pytest.approx(2.0)
    assert compute_mean_segments({"fixed": {"bytes": 1460}}, 1460) == 1
    assert compute_mean_segments({"fixed": {"bytes": 1461}}, 1460) == 2
    # An exponential law: sum over k of exp(-k m / mean) = 1 / (1 - exp(-1/2)) = 2.5415.
    assert compute_mean_segments({"exponential": {"mean_bytes": 2000.0}}, 1000) == pytest.approx(
        2.5415, abs=1e-4
    )
