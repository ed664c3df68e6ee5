"""Histograms of delays: merging, quantiles, and intervals by sections."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from trunkline.api import run_many
from trunkline.scenario import load
from trunkline.stats import Histogram, average_runs, pooled_quantile, read_flow_delays
from trunkline.stats.histogram import read_completion_histograms, read_delay_histograms
from trunkline.stats.interval import Interval
from trunkline.stats.run_averages import AveragedRow, _pool_completions

PARTS = st.lists(st.dictionaries(st.integers(0, 50), st.integers(1, 9)), max_size=5)

MD1 = """
trunkline: 1
nodes: [S, R]
links: {S-R: {rate: 10 Mbit/s, port: endless}}
ports: {endless: {queue: {limit: none}}}
flows:
  poisson: {agent: udp, from: S, to: R, arrivals: poisson, rate: 5 Mbit/s, size: 1250 B}
run: {duration: 4 s}
"""


@given(PARTS)
def test_merging_is_exact_in_any_order(parts: list[dict[int, int]]) -> None:
    listed = [Histogram(part) for part in parts]
    merged = Histogram.merge(listed)
    assert merged == Histogram.merge(reversed(listed))
    assert merged == Histogram.merge([Histogram.merge(listed[:2]), *listed[2:]])
    assert merged.total == sum(sum(part.values()) for part in parts)


def test_quantiles_are_ends_of_buckets_by_rank() -> None:
    # 4 values: rank ceil(0.5 * 4) = 2 is in the first bucket, ceil(0.51 * 4) = 3 in the second.
    histogram = Histogram({10: 2, 20: 1, 40: 1})
    assert [histogram.find_quantile(p) for p in (0.01, 0.5, 0.51, 0.75, 0.76, 1.0)] == [
        10, 10, 20, 20, 40, 40,
    ]  # fmt: skip
    assert Histogram().find_quantile(0.5) is None


def test_asmussen2007_iii_5_interval_by_sections_by_hand() -> None:
    # Medians 10, 20, 20; merged {10: 3, 20: 6}: rank 5 of 9 is 20. Squares 100 + 0 + 0 over 2 = 50;
    # t(0.975, 2) = 4.302653; 4.302653 * sqrt(50 / 3) = 17.5655.
    parts = [Histogram({10: 2, 20: 1}), Histogram({10: 1, 20: 2}), Histogram({20: 3})]
    found = pooled_quantile([*parts, Histogram()], 0.5)
    assert (found.mean, found.n) == (20, 3)
    assert (found.low, found.high) == pytest.approx((20 - 17.5655, 20 + 17.5655), abs=1e-3)
    assert pooled_quantile(parts[:1], 0.5).low is None
    with pytest.raises(ValueError, match="at least one value"):
        pooled_quantile([Histogram()], 0.5)
    # A median of 0 counts as any other: 400 over 2 are 200; 4.302653 * sqrt(200 / 3) = 35.1310.
    found = pooled_quantile([Histogram({0: 3}), Histogram({0: 3}), Histogram({20: 3})], 0.5)
    assert found.mean == 0
    assert found.half_width == pytest.approx(35.1310, abs=1e-3)


def test_the_interval_covers_a_known_quantile() -> None:
    # 500 studies of 10 runs of 200 exponential delays: p90 is ln 10; three deviations of
    # sqrt(0.05 * 0.95 / 500) = 1 % about 95 %, and some allowance for ten runs of two hundred.
    draw = random.Random(6)
    covered = 0
    for _ in range(500):
        parts = []
        for _ in range(10):
            counts: dict[int, int] = {}
            for _ in range(200):
                value = round(draw.expovariate(1e-4))
                counts[value] = counts.get(value, 0) + 1
            parts.append(Histogram(counts))
        found = pooled_quantile(parts, 0.9)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 23025.85 <= found.high
    assert 0.915 < covered / 500 < 0.985


def test_the_engines_histogram_holds_every_packet_and_gives_its_quantiles() -> None:
    runs = run_many(load(MD1), seeds=[1, 2, 3])
    for one in runs:
        row = one.flows.where(flow="poisson")
        histogram = read_flow_delays(one, "poisson")
        assert histogram.total == row["packets_delivered"]
        for name, probability in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            assert histogram.find_quantile(probability) == row[f"delay_{name}_ns"]
    merged = Histogram.merge(read_flow_delays(one, "poisson") for one in runs)
    assert merged.total == sum(int(one.flows["packets_delivered"][0] or 0) for one in runs)
    shown = average_runs(runs, "flows")[0].measures["delay_p99_s"]
    assert shown.mean == pytest.approx((merged.find_quantile(0.99) or 0) / 1e9)
    assert shown.n == 3


def test_the_histogram_is_no_part_of_the_results_hash() -> None:
    one = run_many(load(MD1), seeds=[1])[0]
    before = one.hash()
    one.tables["delays"] = type(one.delays)("delays", (), {})
    assert one.hash() == before


def test_asmussen2007_iii_5_the_least_interval_is_a_bucket_an_octave_has_64() -> None:
    # Equal quantiles have no spread: the interval is the width of the bucket at 6400, 6400 / 64.
    found = pooled_quantile([Histogram({6400: 3}), Histogram({6400: 2}), Histogram()], 0.5)
    assert (found.mean, found.low, found.high, found.n) == (6400, 6300, 6500, 2)
    # One run has no interval.
    found = pooled_quantile([Histogram({6400: 3}), Histogram()], 0.5)
    assert (found.mean, found.low, found.high, found.n) == (6400, None, None, 1)


@pytest.mark.parametrize("probability", [0, -0.1, 1.0001])
def test_a_probability_is_above_0_and_at_most_1(probability: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        Histogram({10: 1}).find_quantile(probability)


def test_the_least_rank_is_the_first_value() -> None:
    # ceil(1e-9 * 1) = 1: the first of two buckets of one value each.
    assert Histogram({10: 1, 20: 1}).find_quantile(1e-9) == 10
    assert Histogram({10: 1}) != {10: 1}
    assert Histogram({10: 1}) != Histogram({10: 2})


def test_completion_times_are_pooled_by_flow_and_bin() -> None:
    """Two runs have the odd and the even times from 1 to 200 ns: of all together the quantile of a
    share is the time of that rank."""
    runs = []
    for first in (1, 2):
        ends = list(range(first, 201, 2))
        times = {
            "flow": ["web"] * 100 + ["x"] * 3,
            "sizes": ["all"] * 100 + ["pages"] * 3,
            "upper_ns": [*ends, 0, 8, 9],
            "count": [1] * 100 + [2, 0, 5],
        }
        runs.append(SimpleNamespace(tables={"completion_times": times}))
    found = [read_completion_histograms(run) for run in runs]  # type: ignore[arg-type]
    assert found[0]["x", "pages"] == Histogram({0: 2, 9: 5})
    columns = [f"fct_p{share}_{unit}" for share in (50, 90, 95, 99) for unit in ("ns", "s")]
    other = Interval(-1.0, None, None, 2)
    rows = [
        AveragedRow({"flow": "web", "sizes": "all"}, dict.fromkeys([*columns, "mean"], other)),
        AveragedRow({"flow": "web", "sizes": "other"}, dict.fromkeys(columns, other)),
    ]
    _pool_completions(rows, found)
    means = [rows[0].measures[name].mean for name in columns]
    assert means == pytest.approx([100, 1e-7, 180, 1.8e-7, 190, 1.9e-7, 198, 1.98e-7])
    assert rows[0].measures["fct_p50_ns"].n == 2
    assert rows[0].measures["mean"] == other
    assert set(rows[1].measures.values()) == {other}


def test_delays_are_counted_by_flow_or_by_dscp_and_the_last_bucket_ends_at_the_greatest() -> None:
    """Flows a, b and d have delays of at most 9, 0 and 30 ns; c has none that was compared."""
    run = SimpleNamespace(
        flows={
            "flow": ["a", "b", "c", "d"],
            "dscp": ["EF", "EF", "EF", "DF"],
            "delay_max_ns": [9, 0, None, 30],
        },
        delays={
            "flow": ["a", "a", "b", "c", "d", "d"],
            "upper_ns": [8, 10, 0, 8, 16, 32],
            "packets": [3, 2, 4, 5, 0, 1],
        },
    )
    assert read_delay_histograms(run) == {  # type: ignore[arg-type]
        "a": Histogram({8: 3, 9: 2}),
        "b": Histogram({0: 4}),
        "c": Histogram({8: 5}),
        "d": Histogram({30: 1}),
    }
    assert read_delay_histograms(run, "aggregates") == {  # type: ignore[arg-type]
        "EF": Histogram({0: 4, 8: 8, 9: 2}),
        "DF": Histogram({30: 1}),
    }
