"""Links simulated alone: their waits and losses against queueing theory and against traces."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import trunkline as tl
from trunkline import _core
from trunkline.decomposition.link_groups import LinkGroups
from trunkline.decomposition.link_traffic import list_link_traffic
from trunkline.decomposition.path_delays import DelayComposer, PathWaits, find_mixed_quantile
from trunkline.decomposition.wait_distribution import WaitDistribution, find_bucket_middles
from trunkline.engine.packet_engine import Job, simulate_jobs
from trunkline.fluid.engine import solve_without_failures
from trunkline.network import compile

MERGED = """
trunkline: 1
nodes: [A, B, C, D, E]
links:
  A-C: {rate: 10 Mbit/s, delay: 100 us, port: endless}
  B-C: {rate: 10 Mbit/s, delay: 200 us, port: endless}
  C-D: {rate: 10 Mbit/s, delay: 1 ms, port: endless}
  D-E: {rate: 10 Mbit/s, delay: 1 ms, port: endless}
ports: {endless: {queue: {limit: none}}}
flows:
  one: {agent: udp, from: A, to: E, arrivals: poisson, rate: 4 Mbit/s, size: 1250 B}
  two: {agent: udp, from: B, to: E, arrivals: poisson, rate: 4 Mbit/s, size: 1250 B}
run: {duration: 20 s, warm_up: 2 s}
"""
LOSSY = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 8 Mbit/s, delay: 1 ms, port: short}}
ports: {short: {queue: {limit: 4 packets}}}
flows:
  one: {agent: udp, from: A, to: B, arrivals: poisson, rate: 6.4 Mbit/s,
        size: {exponential: 1000 B}}
run: {duration: 20 s, warm_up: 2 s}
"""
CLASSES = """
trunkline: 1
defaults: {link: {rate: 10 Mbit/s, delay: 100 us, port: per-class}}
nodes: [A, B, C, D]
links: {A-B: {}, B-C: {}, C-D: {}}
ports: {per-class: {preset: diffserv}}
flows:
  voice: {agent: udp, from: A, to: D, dscp: EF, arrivals: poisson, rate: 1 Mbit/s, size: 200 B}
  data: {agent: udp, from: A, to: D, arrivals: poisson, rate: 4 Mbit/s, size: 1000 B}
  cross: {agent: udp, from: B, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B}
run: {duration: 4 s, warm_up: 1 s}
"""


def run_raw(network: dict[str, Any], seed: int = 1) -> dict[str, dict[str, np.ndarray]]:
    tables = _core.run(json.dumps(network), seed)
    return {
        table: {
            name: np.frombuffer(data, dtype=np.int64 if kind == "i64" else np.float64)
            for name, (kind, data) in columns.items()
        }
        for table, columns in tables.items()
    }


def test_waits_are_those_of_the_trace() -> None:
    """Each wait of a trace is in the bucket of its port and class; those of the warm-up in none."""
    network = json.loads(compile(tl.loads(CLASSES)).to_json())
    run = network["run"]
    traced = run_raw({**network, "run": {**run, "trace": True}})["packets"]
    counted = run_raw({**network, "run": {**run, "waits": True}})["waits"]
    queued = traced["event"] == _core.PACKET_EVENTS.index("queued")
    chosen = queued & (traced["time_ns"] >= run["warmup_ns"]) & (traced["wait_ns"] >= 0)
    wanted: dict[tuple[int, int], list[int]] = {}
    rows = (traced[name][chosen].tolist() for name in ("link", "class", "wait_ns"))
    for link, class_, wait in zip(*rows, strict=True):
        wanted.setdefault((link, class_), []).append(wait)
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for link, class_, upper, packets in zip(*(c.tolist() for c in counted.values()), strict=True):
        found.setdefault((link, class_), []).append((upper, packets))
    assert found.keys() == wanted.keys()
    assert len(found) > 4
    for key, waits in wanted.items():
        uppers = np.array([upper for upper, _ in found[key]])
        at = np.searchsorted(uppers, np.array(waits))
        assert np.bincount(at, minlength=len(uppers)).tolist() == [n for _, n in found[key]]
        assert (uppers[at] - np.array(waits) <= np.maximum(np.array(waits) / 64, 0)).all()


def test_waits_count_alike_on_two_threads() -> None:
    network = json.loads(compile(tl.loads(CLASSES)).to_json())
    network["run"]["waits"] = True
    job = [Job(json.dumps(network), 1)]
    one, two = (simulate_jobs(job, threads=threads)[0] for threads in (1, 2))
    assert one.hash() == two.hash()


def test_a_poisson_stream_over_one_link_waits_there_alone() -> None:
    """M/D/1 at the merging of two Poisson streams, and no wait behind it: packets of one size that
    come over a link as fast never meet again. Pollaczek and Khinchine: 2 ms at a load of 0.8."""
    run = tl.decompose(tl.loads(MERGED), packets=400_000, check_s=0.2)
    waits = dict(zip(run.results.ports["link"], run.results.ports["wait_mean_s"], strict=True))
    # Each stream is shaped by its own link (0.4) before: between M/D/1 and none.
    assert waits["A->C"] == pytest.approx(0.4 / (2 * 0.6) * 1e-3, rel=0.05)
    assert waits["D->E"] == 0
    full = tl.run(tl.loads(MERGED.replace("20 s", "400 s")))
    names = ("delay_mean_s", "delay_p50_s", "delay_p99_s")
    for name in names:
        for ours, theirs in zip(run.results.flows[name], full.flows[name], strict=True):
            assert ours == pytest.approx(theirs, rel=0.05), name


def test_mm1k_loses_by_its_formula() -> None:
    """M/M/1/K with K = 5 (4 wait, 1 is sent) at 0.8: rho^K (1 - rho) / (1 - rho^(K + 1))."""
    run = tl.decompose(tl.loads(LOSSY), packets=400_000, check_s=0.2)
    exact = 0.8**5 * 0.2 / (1 - 0.8**6)
    assert run.results.ports["loss_ratio"][0] == pytest.approx(exact, rel=0.03)
    assert run.results.flows["loss_ratio"][0] == pytest.approx(exact, rel=0.03)
    assert run.results.flows["packets_dropped"][0] == pytest.approx(exact * 800 * 18, rel=0.03)


def make_exponential(mean_ns: float) -> WaitDistribution:
    probability = (np.arange(20_000) + 0.5) / 20_000
    values = -mean_ns * np.log1p(-probability)
    return WaitDistribution(values, np.full(20_000, 1 / 20_000), 20_000, 0.1)


def test_sums_of_exponential_waits_are_erlang() -> None:
    """Two hops of mean m: P(W > t) = (1 + t/m) e^(-t/m); at the 99th percentile t/m = 6.638."""
    waits = PathWaits(
        stream=np.array([0, 0, 1]),
        step=np.array([0, 1, 0]),
        distribution=np.array([0, 0, 0]),
        factor=np.array([1.0, 1.0, 2.0]),
        fixed=np.array([1e-3, 0.0]),
        seconds_per_byte=np.zeros(2),
        size_law=np.array([-1, -1]),
        aggregate=np.array([0, 1]),
        packet_rate=np.array([1.0, 1.0]),
    )
    found = DelayComposer([make_exponential(1e5)], []).compose(waits)
    assert found.quantiles["p99"][0] == pytest.approx(1e-3 + 6.638e-4, rel=0.002)
    assert found.quantiles["p50"][0] == pytest.approx(1e-3 + 1.678e-4, rel=0.002)
    assert found.quantiles["p99"][1] == pytest.approx(2e-4 * math.log(100), rel=0.003)
    assert found.mean.tolist() == pytest.approx([1e-3 + 2e-4, 2e-4], rel=1e-3)
    assert found.loss.tolist() == pytest.approx([1 - 0.9**2, 0.1])
    # A class of one stream has its percentiles; the two grids differ.
    assert found.aggregate_quantiles["p99"] == pytest.approx(found.quantiles["p99"], rel=0.003)


def test_two_times_of_a_run_have_the_percentile_of_their_mixture() -> None:
    """Hyperexponential: w e^(-t/m) + (1 - w) e^(-t/n) = 1 - p, by Newton's method."""
    means, weights = (1e-4, 5e-4), (3.0, 1.0)
    delays = []
    for mean in means:
        waits = PathWaits(
            *(np.zeros(1, dtype=np.int64) for _ in range(3)),
            factor=np.ones(1),
            fixed=np.zeros(1),
            seconds_per_byte=np.zeros(1),
            size_law=np.array([-1]),
            aggregate=np.zeros(1, dtype=np.int64),
            packet_rate=np.ones(1),
        )
        delays.append(DelayComposer([make_exponential(mean * 1e9)], []).compose(waits))
    for probability in (0.5, 0.9, 0.95, 0.99):
        shares = [w / 4 for w in weights]
        time = 0.0
        for _ in range(50):
            parts = [w * math.exp(-time / m) for w, m in zip(shares, means, strict=True)]
            slope = sum(p / m for p, m in zip(parts, means, strict=True))
            time += (sum(parts) - (1 - probability)) / slope
        for curves in ([d.curve[0] for d in delays], [d.aggregate_curve[0] for d in delays]):
            found = find_mixed_quantile(curves, weights, probability)
            assert found == pytest.approx(time, rel=0.01)
        alone = find_mixed_quantile([delays[0].curve[0]] * 2, weights, probability)
        assert alone == pytest.approx(-means[0] * math.log1p(-probability), rel=0.01)


def test_a_class_of_two_streams_has_the_percentile_of_the_mixture() -> None:
    """Nine packets in ten do not wait, one waits 1 ms: half are there at once, 95 % after 1 ms."""
    waits = PathWaits(
        stream=np.array([0, 1]),
        step=np.array([0, 0]),
        distribution=np.array([0, 1]),
        factor=np.ones(2),
        fixed=np.zeros(2),
        seconds_per_byte=np.zeros(2),
        size_law=np.array([-1, -1]),
        aggregate=np.zeros(2, dtype=np.int64),
        packet_rate=np.array([9.0, 1.0]),
    )
    nothing = WaitDistribution(np.zeros(1), np.ones(1), 1, 0.0)
    late = WaitDistribution(np.array([1e6]), np.ones(1), 1, 0.0)
    found = DelayComposer([nothing, late], []).compose(waits).aggregate_quantiles
    assert found["p50"][0] == 0
    assert found["p95"][0] == pytest.approx(1e-3, rel=0.002)


def test_sizes_spread_the_delay_of_an_empty_path() -> None:
    """Sizes of 100 and 1500 B at 8 ns a byte: the mean of 800 B in the fixed delay, no wait."""
    law = {"choice": {"bytes": [1500, 100], "weights": [0.5, 0.5]}}
    waits = PathWaits(
        stream=np.array([0]),
        step=np.array([0]),
        distribution=np.array([0]),
        factor=np.ones(1),
        fixed=np.array([1e-3 + 800 * 8e-9]),
        seconds_per_byte=np.array([8e-9]),
        size_law=np.array([0]),
        aggregate=np.array([0]),
        packet_rate=np.ones(1),
    )
    nothing = WaitDistribution(np.zeros(1), np.ones(1), 1, 0.0)
    found = DelayComposer([nothing], [law]).compose(waits)
    assert found.quantiles["p99"][0] == pytest.approx(1e-3 + 1500 * 8e-9, abs=1e-8)
    assert found.quantiles["p50"][0] == pytest.approx(1e-3 + 100 * 8e-9, abs=1e-8)


def test_middles_of_buckets_lie_in_them() -> None:
    """Buckets of `histogram.rs`: single values below 128, then pairs, then fours."""
    uppers = np.array([0, 5, 63, 64, 127, 129, 255, 259])
    assert find_bucket_middles(uppers).tolist() == [0, 5, 63, 64, 127, 128.5, 254.5, 257.5]


def group_links(text: str) -> tuple[list[int], LinkGroups]:
    network = json.loads(compile(tl.loads(text)).to_json())
    state = solve_without_failures(network)
    groups = LinkGroups(network)
    return [groups.place(state, traffic)[0] for traffic in list_link_traffic(state)], groups


def test_links_of_like_load_share_a_run() -> None:
    """A->C and B->C carry as much; C->D merges two links, D->E does not."""
    numbers, groups = group_links(MERGED)
    assert numbers == [0, 0, 1, 2]
    assert len(groups.groups) == 3
    more = MERGED.replace(
        "B, to: E, arrivals: poisson, rate: 4", "B, to: E, arrivals: poisson, rate: 5"
    )
    assert group_links(more)[0] == [0, 1, 2, 3]


def test_a_little_more_load_waits_a_little_longer() -> None:
    """The factor in a group is the ratio of Pollaczek-Khinchine waits."""
    text = MERGED.replace(
        "B, to: E, arrivals: poisson, rate: 4", "B, to: E, arrivals: poisson, rate: 4.08"
    )
    network = json.loads(compile(tl.loads(text)).to_json())
    state = solve_without_failures(network)
    groups = LinkGroups(network)
    placed = [groups.place(state, traffic) for traffic in list_link_traffic(state)]
    assert placed[0][0] == placed[1][0]
    assert placed[1][1][0] == pytest.approx((0.408 / 0.592) / (0.4 / 0.6), rel=1e-3)


def test_threads_change_nothing() -> None:
    one, two = (
        tl.decompose(tl.loads(CLASSES), packets=20_000, check_s=0.1, threads=threads)
        for threads in (1, 2)
    )
    assert one.results.to_json() | {"created": 0} == two.results.to_json() | {"created": 0}
    assert one.to_json() == two.to_json()


def test_classes_are_near_a_full_run_and_the_error_says_how_near() -> None:
    """The check's own error covers what a much longer full run measures."""
    run = tl.decompose(tl.loads(CLASSES), packets=200_000, check_s=2.0)
    full = tl.run(tl.loads(CLASSES.replace("4 s", "200 s")))
    for code in ("EF", "DF"):
        known = run.check.find_error(code)
        assert known is not None
        ours, theirs = (
            dict(zip(each["dscp"], each["delay_p99_s"], strict=True))[code]
            for each in (run.results.aggregates, full.aggregates)
        )
        assert abs(ours / theirs - 1) <= known.aggregate_p99_error + 0.03
        assert abs(ours / theirs - 1) < 0.1


@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (("agent: udp, from: B, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B",
          "agent: tcp, from: B, to: C"), "heeds congestion", 10),
        # One loop over the bottlenecks B-C and C-D, and one by the marks of both.
        (("agent: udp, from: B, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B",
          "agent: tcp, from: B, to: D"), "one loop over all its links", 10),
        (("agent: udp, from: B, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B",
          "agent: tcp, from: B, to: D, ecn: on, congestion: dctcp"), "one loop over all its", 10),
        (("agent: udp, from: B, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B",
          "agent: udp, from: B, to: D, media: {ecn: on}"), "one loop over all its links", 10),
        (("agent: udp, from: B, to: C, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B",
          "agent: echo, from: B, to: D, interval: 20 ms"), "is answered", 10),
        (("size: 200 B}", "size: 200 B, start: 3 s}"), "in all of the measured time", 8),
        (("\nrun:", "\nfailures: {cut: {link: B-C, at: 2 s}}\nrun:"), "te delays", 11),
    ],
)  # fmt: skip
def test_what_ties_links_together_is_refused_at_its_place(
    change: tuple[str, str], words: str, line: int
) -> None:
    with pytest.raises(tl.ScenarioError, match=words) as caught:
        tl.decompose(tl.loads(CLASSES.replace(*change)))
    assert caught.value.diagnostics[0].line == line


def test_a_check_that_is_too_short_says_so() -> None:
    run = tl.decompose(tl.loads(CLASSES), packets=5_000, check_s=1e-6)
    assert run.check.classes == ()
    assert run.check.uncompared == ("EF", "DF")
    assert run.check.seconds == 0
