"""Comparisons: by hand on Student's data, and between scenarios that are known to differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from trunkline.compare import ComparisonOperand, compare_operands, compare_until_precise
from trunkline.compare.comparison_table import render_comparison
from trunkline.engine import simulate
from trunkline.fluid.offered_means import read_offered_means
from trunkline.network import Network
from trunkline.results import Results, store
from trunkline.scenario import load
from trunkline.stats.metric import parse_metric

from ...conftest import MD1_SCENARIO

LONGER = MD1_SCENARIO.replace("2 s", "4 s")
WAIT = [parse_metric("ports.wait_mean_s")]


def side(**values: str) -> ComparisonOperand:
    return ComparisonOperand.from_scenario(load(LONGER, overrides=values), "md1")


def test_a_small_difference_is_found_because_seeds_are_shared() -> None:
    # 0.5 to 0.49: the mean wait falls from 0.5 to 0.49 / 1.02 = 0.4804 ms, by 3.9 %.
    done = compare_operands(side(), side(load="0.49"), WAIT, runs=20)
    found = done.differences[0]
    assert found.verdict == "B lower"
    assert found.difference.mean == pytest.approx(-0.0196e-3, rel=0.1)
    assert found.relative_difference == pytest.approx(-0.039, rel=0.1)
    assert found.unpaired_half is not None
    assert found.difference.half_width is not None
    assert found.difference.half_width < found.unpaired_half / 3
    assert found.correlation is not None
    assert found.correlation > 0.95
    assert not done.held
    assert done.verdict().startswith("1 of 1 metrics differ")


def test_a_margin_of_equivalence_asks_for_the_whole_interval() -> None:
    wide = compare_operands(side(), side(load="0.499"), WAIT, runs=10, within=0.05)
    assert wide.differences[0].verdict == "within"
    assert wide.held
    # 3.9 % apart: within 5 % only if the interval is narrow enough, never within 1 %.
    narrow = compare_operands(side(), side(load="0.49"), WAIT, runs=10, within=0.01)
    assert narrow.differences[0].verdict == "B lower"
    assert not narrow.held


def test_the_same_scenario_is_identical() -> None:
    done = compare_operands(side(), side(), WAIT, runs=3)
    assert done.identical
    assert done.held
    assert done.differences[0].verdict == "alike"
    assert done.verdict() == "identical: all 3 runs have the same results hash"


def test_one_pair_says_nothing_of_chance() -> None:
    done = compare_operands(side(), side(load="0.6"), WAIT, runs=1)
    assert done.differences[0].verdict == "one run"
    assert not done.held
    assert "NOT ENOUGH RUNS" in render_comparison(done)


def test_p_values_are_adjusted_for_the_number_of_metrics() -> None:
    metrics = [
        parse_metric(name) for name in ("goodput_bit_s", "delay_mean_s", "ports.wait_mean_s")
    ]
    done = compare_operands(side(), side(load="0.49"), metrics, runs=5)
    for each in done.differences:
        assert each.p is not None
        assert each.p_holm is not None
        assert each.p <= each.p_holm <= 3 * each.p + 1e-12
    least = min(done.differences, key=lambda each: each.p or 0)
    assert least.p_holm == pytest.approx(3 * (least.p or 0))


def test_results_on_disk_are_paired_with_a_scenario_by_their_seeds(tmp_path: Path) -> None:
    store.write_results(side().get_runs([4, 5, 6]), tmp_path / "kept")
    kept = ComparisonOperand.read_folder(str(tmp_path / "kept"))
    done = compare_operands(kept, side(), WAIT, runs=100)
    assert (done.seeds, done.identical) == ([4, 5, 6], True)
    store.write_results(side().get_runs([6, 7]), tmp_path / "other")
    store.write_results(side().get_runs([5, 6, 7]), tmp_path / "more")
    some = compare_operands(kept, ComparisonOperand.read_folder(str(tmp_path / "more")), WAIT)
    assert (some.seeds, some.paired) == ([5, 6], True)
    assert some.notes == ["seeds on one side alone are left out: 1 of A, 1 of B"]
    one = compare_operands(kept, ComparisonOperand.read_folder(str(tmp_path / "other")), WAIT)
    assert (one.seeds, one.seeds_b, one.paired) == ([4, 5, 6], [6, 7], False)
    assert one.notes == ["one seed alone is on both sides: separate means, Welch's interval"]


def test_welch_1947_results_without_a_common_seed_are_separate_means(tmp_path: Path) -> None:
    from scipy.stats import ttest_ind

    store.write_results(side().get_runs(range(1, 9)), tmp_path / "a")
    store.write_results(side(load="0.6").get_runs(range(11, 16)), tmp_path / "b")
    a, b = (
        ComparisonOperand.read_folder(str(tmp_path / "a")),
        ComparisonOperand.read_folder(str(tmp_path / "b")),
    )
    done = compare_operands(a, b, WAIT)
    found = done.differences[0]
    ours, theirs = ([run.ports["wait_mean_s"][0] for run in each.runs.values()] for each in (a, b))
    reference = ttest_ind(theirs, ours, equal_var=False)
    low, high = reference.confidence_interval(0.95)
    assert (found.difference.low, found.difference.high) == pytest.approx((low, high))
    assert found.p == pytest.approx(reference.pvalue)
    assert found.correlation is None
    assert found.verdict == "B higher"
    assert "no seed is on both sides" in done.notes[0]
    assert "seeds 1 to 8 of A, 11 to 15 of B" in render_comparison(done)


def test_separate_runs_of_one_scenario_differ_no_more_often_than_said(tmp_path: Path) -> None:
    a, b = (
        ComparisonOperand("md1", None, {r.seed: r for r in side().get_runs(seeds)}, stored=True)
        for seeds in (range(1, 21), range(21, 41))
    )
    done = compare_operands(a, b, WAIT)
    assert not done.identical
    assert done.differences[0].verdict == "no difference shown"
    assert done.verdict() == "no difference shown in 1 metrics over 20 and 20 runs"


def test_pairs_are_added_until_the_difference_is_sure() -> None:
    done, reached = compare_until_precise(side(), side(load="0.45"), WAIT, 0.01, max_pairs=400)
    found = done.differences[0]
    assert reached.reached
    assert 10 <= reached.runs == len(done.seeds) < 400
    assert found.difference.half_width is not None
    assert found.difference.half_width <= 0.01 * found.a.mean
    # 0.5 ms at a load of 0.5, and 0.45 / (2 * 0.55) ms = 0.409 ms.
    assert found.difference.low is not None
    assert found.difference.high is not None
    assert found.difference.low < -0.0909e-3 < found.difference.high
    _, few = compare_until_precise(side(), side(load="0.45"), WAIT, 0.0001, max_pairs=12)
    assert (few.runs, few.reached) == (12, False)


def test_what_one_side_alone_has_is_a_difference() -> None:
    text = LONGER.replace("poisson:", "other:")
    b = ComparisonOperand.from_scenario(load(text), "other")
    done = compare_operands(side(), b, [parse_metric("goodput_bit_s")], runs=2)
    assert done.only_a == ["flows.goodput_bit_s of poisson"]
    assert done.only_b == ["flows.goodput_bit_s of other"]
    assert not done.held
    with pytest.raises(ValueError, match="no row 'third' on either side"):
        compare_operands(side(), b, [parse_metric("goodput_bit_s@third")], runs=2)


def test_where_nothing_is_random_that_is_said() -> None:
    text = LONGER.replace("arrivals: poisson, ", "")
    a, b = (
        ComparisonOperand.from_scenario(load(text, overrides={"load": rho}), "x")
        for rho in ("0.4", "0.5")
    )
    done = compare_operands(a, b, [parse_metric("goodput_bit_s")], runs=2)
    assert len(done.notes) == 1
    assert done.notes[0].startswith("neither side is random")
    assert done.differences[0].verdict == "B higher"


def test_a_side_may_be_run_by_another_engine() -> None:
    asked: list[int] = []

    def other(network: Network, seeds: Sequence[int], text: str) -> list[Results]:
        asked.extend(seeds)
        return simulate(network, seeds=seeds, scenario=text)

    b = ComparisonOperand.from_scenario(load(LONGER), "other", run=other)
    assert compare_operands(side(), b, WAIT, runs=3).identical
    assert asked == [1, 2, 3]


def test_of_many_differences_the_largest_come_first_and_of_few_the_order_stays() -> None:
    metrics = [
        parse_metric(f"flows.{name}") for name in ("goodput_bit_s", "loss_ratio", "delay_mean_s")
    ]
    # Half as much is offered, and no link loses any: the goodput halves, the delay falls too.
    done = compare_operands(side(), side(load="0.25"), metrics, runs=2)
    names = [each.metric for each in done.differences]
    assert [each.metric for each in done.list_largest(3)] == names
    sizes = [abs(each.relative_difference or 0.0) for each in done.differences]
    (first,) = done.list_largest(1)
    assert abs(first.relative_difference or 0.0) == max(sizes) > 0
    assert [each.metric for each in done.list_largest(2)][1] != first.metric


def test_a_pair_in_which_one_side_has_no_value_is_a_difference() -> None:
    """Poisson arrivals of some seeds alone reach the end of the run: delays of one side alone."""
    text = """
trunkline: 1
parameters: {rate: 20 kbit/s}
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 5 ms, loss: 40 %}}
flows: {few: {agent: udp, from: A, to: B, rate: $rate, size: 1000 B, arrivals: poisson}}
run: {duration: 1 s}
"""
    sides = [
        ComparisonOperand.from_scenario(load(text, overrides={"rate": rate}), rate)
        for rate in ("20 kbit/s", "5 kbit/s")
    ]
    done = compare_operands(*sides, [parse_metric("delay_mean_s")])
    had = [[run.flows["delay_mean_s"][0] is not None for run in s.runs.values()] for s in sides]
    alone = sum(a != b for a, b in zip(*had, strict=True))
    assert 0 < alone < 10
    assert done.one_sided == [f"flows.delay_mean_s of few, {alone} of 10 pairs"]
    assert done.differences[0].a.n == sum(a and b for a, b in zip(*had, strict=True))
    assert not done.held
    assert f"on one side alone: {done.one_sided[0]}\n" in render_comparison(done)
    assert done.verdict().endswith("1 has a value on one side alone in some")


def test_control_variates_narrow_the_difference_of_pollaczek_and_khinchine() -> None:
    """The mean wait of M/D/1 at 0.7 and 0.65 is 1.1667 and 0.9286 ms."""
    known = (0.65 / 0.7 - 0.7 / 0.6) * 1e-3
    sides = [side(load="0.7"), side(load="0.65")]
    means = tuple(read_offered_means(each.network) for each in sides)
    plain = compare_operands(*sides, WAIT, runs=40)
    controlled = compare_operands(*sides, WAIT, runs=40, offered_means=means)
    for done in (plain, controlled):
        found = done.differences[0].difference
        assert found.low is not None
        assert found.high is not None
        assert found.low <= known <= found.high
    halves = [each.differences[0].difference.half_width or 0 for each in (plain, controlled)]
    assert halves[1] < 0.9 * halves[0]
    assert (controlled.differences[0].p or 0) < (plain.differences[0].p or 0)
    # Runs with seeds of their own would need as many more as their interval is wider, squared.
    unpaired = controlled.differences[0].unpaired_half or 0
    precision = controlled.assess_precision(0.01)
    assert precision.plain_runs == math.ceil(40 * (unpaired / halves[1]) ** 2)
    assert precision.plain_runs > 40


def test_control_variates_without_pairs_are_refused(tmp_path: Path) -> None:
    sides = []
    for name, seeds in (("a", [1, 2]), ("b", [3, 4])):
        operand = side()
        store.write_results(
            operand.get_runs(seeds),
            tmp_path / name,
            network_json=Network(operand.network).to_json(),
        )
        sides.append(ComparisonOperand.read_folder(tmp_path / name))
    means = tuple(read_offered_means(each.network) for each in sides)
    with pytest.raises(ValueError, match="need runs of the same seeds"):
        compare_operands(*sides, WAIT, offered_means=means)
