"""Intervals of the engine's own runs hold the true mean as often as they should.

The mean wait of M/D/1 is known: load / (2 (1 - load)) service times (Pollaczek and Khinchine).
"""

from __future__ import annotations

import math
import struct
from array import array
from typing import Any

import pytest

from trunkline.engine.packet_engine import stream_runs
from trunkline.network import compile
from trunkline.scenario import Scenario, load
from trunkline.stats import (
    Histogram,
    Interval,
    mean_interval,
    paired_difference,
    pooled_quantile,
)
from trunkline.stats.interval import student_quantile

from ...conftest import MD1_SCENARIO

STUDIES = 1000
RUNS = 5


def _queue(rho: float, length: str) -> Scenario:
    message = {"load": str(rho), "run.duration": length, "run.warm_up": "200 ms"}
    return load(MD1_SCENARIO, overrides=message)


def below(wait: float, rho: float) -> float:
    """Probability that a wait in M/D/1 is at most `wait` service times (Erlang 1909)."""
    terms = (
        (rho * (k - wait)) ** k / math.factorial(k) * math.exp(rho * (wait - k))
        for k in range(int(wait) + 1)
    )
    return (1 - rho) * sum(terms)


def waits(rho: float, length: str, runs: int) -> list[float]:
    """Mean wait [ns] at the port, run by run with seeds from 1."""
    network = compile(_queue(rho, length)).to_json()
    means = [math.nan] * runs

    def ended(number: int, failure: str | None, raw: Any) -> None:
        assert failure is None
        means[number] = struct.unpack_from("<d", raw["ports"]["wait_mean_ns"][1])[0]

    stream_runs(((network, seed) for seed in range(1, runs + 1)), ended)
    return means


def covered(intervals: list[Interval], true: float) -> float:
    return sum((i.low or 0) <= true <= (i.high or 0) for i in intervals) / len(intervals)


@pytest.mark.parametrize(
    ("rho", "length"), [(0.5, "2 s"), pytest.param(0.8, "8 s", marks=pytest.mark.slow)]
)
def test_95_percent_interval_of_1000_studies_holds_the_mean_wait(rho: float, length: str) -> None:
    # The count is binomial: deviation sqrt(0.05 * 0.95 / 1000) = 0.7 %, so 93 to 97 % is three.
    # The runs begin with an empty queue; 200 ms are 200 service times, far beyond its memory.
    true = rho / (2 * (1 - rho)) * 1e6
    means = waits(rho, length, STUDIES * RUNS)
    studies = [mean_interval(means[i : i + RUNS]) for i in range(0, len(means), RUNS)]
    assert 0.93 <= covered(studies, true) <= 0.97
    # What bias is left is within three deviations of the mean of all 5000 runs.
    overall = mean_interval(means, confidence=0.997)
    assert overall.low is not None
    assert overall.high is not None
    assert overall.low <= true <= overall.high


@pytest.mark.parametrize("probability", [0.9, 0.95, 0.99])
def test_erlang1909_interval_of_a_pooled_quantile_holds_that_of_the_delay(
    probability: float,
) -> None:
    # The delay is the wait and 1 ms of service. Found by halving: probabilities rise with the wait.
    low, high = 0.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle, 0.5) < probability else (low, middle)
    true = (1 + high) * 1e6
    network = compile(_queue(0.5, "4 s")).to_json()
    found: list[Histogram] = [Histogram()] * 500

    def ended(number: int, failure: str | None, raw: Any) -> None:
        assert failure is None
        ends, counts = (array("q", raw["delays"][key][1]) for key in ("upper_ns", "packets"))
        found[number] = Histogram(dict(zip(ends, counts, strict=True)))

    stream_runs(((network, seed) for seed in range(1, 501)), ended)
    # A bucket's end is at most 1/64 above the values in it.
    merged = Histogram.merge(found).find_quantile(probability)
    assert merged is not None
    assert 0.995 * true <= merged <= (1 + 1 / 64) * 1.005 * true
    studies = [pooled_quantile(found[i : i + 10], probability) for i in range(0, 500, 10)]
    held = [(value.low or 0) / (1 + 1 / 64) <= true <= (value.high or 0) for value in studies]
    # 50 studies at 95 %: 44 or more with probability 0.988, more as a bucket is allowed for.
    assert sum(held) >= 44


def test_pairing_narrows_the_interval_by_what_the_correlation_gives() -> None:
    # Variance of a difference: a^2 + b^2 - 2 r a b with r the correlation of the pairs, 0 without
    # pairing; for equal deviations the ratio of standard errors is sqrt(1 - r), and those of
    # the two loads are within a tenth of each other.
    first, second = waits(0.5, "4 s", STUDIES), waits(0.48, "4 s", STUDIES)
    a, b = mean_interval(first), mean_interval(second)
    spread_a = sum((x - a.mean) ** 2 for x in first) / (STUDIES - 1)
    spread_b = sum((y - b.mean) ** 2 for y in second) / (STUDIES - 1)
    pairs = list(zip(first, second, strict=True))
    both = sum((x - a.mean) * (y - b.mean) for x, y in pairs) / (STUDIES - 1)
    correlation = both / math.sqrt(spread_a * spread_b)
    assert correlation > 0.9
    theory = math.sqrt((spread_a + spread_b - 2 * both) / (spread_a + spread_b))
    assert theory == pytest.approx(math.sqrt(1 - correlation), rel=0.1)

    squares, sums, studies = [], [], []
    for i in range(0, STUDIES, RUNS):
        x, y = first[i : i + RUNS], second[i : i + RUNS]
        paired = paired_difference(x, y)
        studies.append(paired)
        own = [sum((v - sum(z) / RUNS) ** 2 for v in z) / (RUNS - 1) for z in (x, y)]
        error = (paired.half_width or 0) / student_quantile(0.975, RUNS - 1)
        squares.append(error**2)
        sums.append(sum(own) / RUNS)
    # Squares of standard errors have no bias, so that their means are compared.
    assert math.sqrt(sum(squares) / sum(sums)) == pytest.approx(theory, rel=0.02)
    # And the narrower interval still holds the true difference.
    true = (0.5 / (2 * 0.5) - 0.48 / (2 * 0.52)) * 1e6
    assert 0.90 <= covered(studies, true) <= 0.99
