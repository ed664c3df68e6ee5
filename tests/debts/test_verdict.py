"""What used to pass for agreement, or for difference, and is neither."""

from __future__ import annotations

import json

import numpy as np
import pytest
from alteration_verdicts import compile_scenario, judge_alteration
from altered_scenarios import DROP_TAIL_LINE, RED_LINE
from click.testing import CliRunner

from trunkline.cli.status import Status
from trunkline.cli.verify_command import command
from trunkline.linux.judge import tolerance
from trunkline.linux.judge.comparisons import make_fixed_row
from trunkline.linux.judge.engine_run import FlowDatagrams, trace_simulator
from trunkline.linux.judge.per_packet import PacketTolerance, compare_flow_packets
from trunkline.linux.judge.seed_pair import choose_method, make_seed_pair
from trunkline.linux.judge.verification import (
    EngineVerdict,
    judge_pairs,
    list_stack_notes,
    make_simulator_runner,
    replace_probes,
    run_until_decided,
)
from trunkline.stats.equivalence import judge_equivalence


def outcomes(found: EngineVerdict) -> dict[tuple[str, str], str]:
    return {(row.subject, row.measure): row.outcome for row in found.rows}


@pytest.mark.parametrize("alteration", ["bottleneck 5 % slower", "thresholds halved"])
def test_two_seeds_of_red_never_agree(alteration: str) -> None:
    """A1: 99 % of Student's t with one degree of freedom, 63.7, was added to the tolerance."""
    found = judge_alteration("tcp through red", alteration, seeds=2)
    assert found.outcome == "undecided"
    assert found.more is not None
    assert found.more >= 3


def test_marks_of_tcp_differ_with_two_seeds_already() -> None:
    """K5: without ECN no segment carries ECT, whatever the seed."""
    assert judge_alteration("tcp through red", "no ECN", seeds=2).outcome == "differs"


def test_a_margin_does_not_grow_with_the_spread_of_the_seeds() -> None:
    """A1: an interval wider than the margin on both sides is undecided, not inside."""
    wide = [-30.0, 30.0, -28.0, 31.0, -29.0]
    assert judge_equivalence(wide, 5.0).outcome == "undecided"
    # The same spread around a mean inside needs more pairs; around none, fewer alike ones do.
    assert judge_equivalence([0.1, -0.1, 0.2, -0.2, 0.0], 5.0).outcome == "agrees"
    assert judge_equivalence([9.9, 10.1, 10.2, 9.8, 10.0], 5.0).outcome == "differs"


# 40 kpps into a policer of 2 Mbit/s, so that packets come 25 us apart and every one is a tie.
FAST = """\
trunkline: 1
nodes: [S, A, T]
links:
  S-A: {rate: 1 Gbit/s, forward: {ingress: edge}}
  A-T: {rate: 1 Gbit/s, port: deep}
ports: {deep: {queue: {limit: 1000 packets}}}
conditioners:
  edge:
    rules: [{profile: p}]
    profiles: {p: {meter: {kind: token-bucket, rate: 2 Mbit/s, burst: 2 kB}, red: drop}}
flows:
  one: {agent: udp, from: S, to: T, rate: 20 Mbit/s, size: 100 B, stop: 90 ms}
  two: {agent: udp, from: S, to: T, rate: 12 Mbit/s, size: 100 B, stop: 90 ms, start: 7 us}
run: {duration: 100 ms}
"""


def test_at_high_packet_rates_a_missing_policer_differs_in_what_is_lost() -> None:
    """A2: twice the loss was the tolerance of the loss from 25,000 packets a second on."""
    with_policer = replace_probes(compile_scenario(FAST))
    without = replace_probes(compile_scenario(FAST.replace("red: drop", "red: {dscp: DF}")))
    seen = [trace_simulator(each, 1) for each in (with_policer, without)]
    pairs = [make_seed_pair(with_policer, seen[0], seen[1], "virtual")]
    how = choose_method(pairs, exact=True)
    assert how.ties > tolerance.MAX_TIE_SHARE
    found = judge_pairs(pairs, (), (1,), "without")
    assert found.outcome == "differs"
    assert outcomes(found)["one", "packets lost"] == "differs"
    # What cannot be decided is not compared, and that is said.
    assert not any(measure.endswith("each packet") for _, measure in outcomes(found))
    assert any(each.startswith("packets one by one: 48%") for each in found.not_compared)


def test_a_backup_path_that_is_longer_differs_however_few_packets_take_it() -> None:
    """A3: 5 % of the packets might have any delay, and an outage of 0.1 s in 10 s is 1 %."""
    found = outcomes(judge_alteration("protection", "backup path 45 ms longer"))
    assert found["cbr, before", "mean delay"] == "agrees"
    assert found["cbr, switched", "mean delay"] == "differs"


def flow(delays_ns: list[int]) -> FlowDatagrams:
    number = np.arange(len(delays_ns))
    none = np.zeros(len(delays_ns), dtype=np.int64)
    delays = np.array(delays_ns)
    return FlowDatagrams(number * 1000, none, number, delays, none, none, none, none[:0], 0)


# A packet's time is 1 ms here, and 2 of 1000 packets were lost in one engine alone, which allows
# 50 packets that are late, by 2 packets' times at most, and 10 of them one after the other.
@pytest.mark.parametrize(
    ("late", "shown_text"),
    [
        ({}, []),
        ({7 * n: 1_000_000 for n in range(50)}, []),
        ({7 * n: 1_000_000 for n in range(51)}, ["delay, each packet"]),
        ({500: 45_000_000}, ["delay, those left out"]),
        (dict.fromkeys(range(500, 511), 1_000_000), ["left out, one after the other"]),
    ],
)
def test_what_is_left_out_is_bounded_in_number_size_and_sequence(
    late: dict[int, int], shown_text: list[str]
) -> None:
    """A3: what other packets did may move a few by a packet's time, not a run of them at will."""
    ours = flow([20_000_000] * 1000)
    theirs = flow([20_000_000 + late.get(number, 0) for number in range(1000)])
    lost = np.array([3]), np.array([4])
    value = PacketTolerance(10_000, 0.05, 1_000_000, is_disturbed=True, has_choice=False)
    rows = [
        make_fixed_row("f", *each) for each in compare_flow_packets([(ours, theirs, *lost)], value)
    ]
    assert [row.measure for row in rows if row.outcome == "differs"] == shown_text


@pytest.mark.parametrize(
    ("name", "alteration", "measure"),
    [
        ("policed", "remarked to AF12 for AF13", "DSCP: AF13"),
        ("policed", "meter of 900 for 500 kbit/s", "DSCP: AF13"),
        ("labels", "pipe for uniform in TTL", "TTL: 61"),
        ("tcp through red", "no ECN", "goodput, each of several"),
        ("labels", "one label more", "bytes a packet"),
        ("priority", "voice not classified", "sent by class"),
    ],
)
def test_marks_and_classes_and_single_flows_are_compared(
    name: str, alteration: str, measure: str
) -> None:
    """A4: DSCP, ECN, TTL and ports by class were not, TCP only in total."""
    found = [row for row in judge_alteration(name, alteration).rows if row.measure == measure]
    assert found
    if measure != "goodput, each of several":
        assert any(row.outcome == "differs" for row in found)


def test_one_seed_of_a_chance_is_undecided_and_says_how_many_more() -> None:
    """A5: one seed of RED, GRED or many TCP flows was a false alarm."""
    for name in ("tcp through red", "gred"):
        found = judge_alteration(name, seeds=1)
        assert found.outcome == "undecided"
        assert found.more == 4


def test_seeds_are_added_until_it_is_decided_or_there_are_enough() -> None:
    """A5: the number of seeds that would decide is found and run."""
    ours = json.dumps(compile_scenario(RED_LINE.replace("10 s, warm_up: 2 s", "3 s")))
    slower = RED_LINE.replace("10 s, warm_up: 2 s", "3 s").replace(
        "rate: 10 Mbit/s, port", "rate: 7 Mbit/s, port"
    )
    found = run_until_decided(
        [(ours, 1)],
        make_simulator_runner(ours, json.dumps(compile_scenario(slower)), "slower"),
        max_seeds=12,
    )
    assert found.outcome == "differs"
    assert 5 <= len(found.seeds) <= 12
    capped = run_until_decided(
        [(ours, 1)],
        make_simulator_runner(ours, json.dumps(compile_scenario(slower)), "slower"),
        max_seeds=3,
    )
    assert capped.outcome == "undecided"
    assert len(capped.seeds) == 3


def test_a_flow_that_lacks_the_preset_of_linux_is_named() -> None:
    """A6: scenarios with the RFCs' TCP differed without a hint."""
    plain = RED_LINE.replace("variant: new-reno, preset: linux", "variant: new-reno")
    (first, *others) = list_stack_notes(compile_scenario(plain))
    assert first.startswith("flow tcp[0] lacks preset: linux: ")
    assert "RACK" in first
    assert len(others) == 3
    assert list_stack_notes(compile_scenario(RED_LINE)) == ()


@pytest.mark.parametrize(
    ("change", "status", "expected"),
    [
        (("", ""), Status.DONE, "comparisons agree"),
        (("limit: 20 packets", "limit: 19 packets"), Status.NOT_HELD, "DIFFERS"),
    ],
)
def test_the_command_says_what_was_compared_and_ends_with_the_outcome(
    tmp_path, change, status, expected
) -> None:
    """A1: status 0 agrees, 3 differs, 6 undecided."""
    (tmp_path / "line.yaml").write_text(DROP_TAIL_LINE)
    (tmp_path / "other.yaml").write_text(
        DROP_TAIL_LINE.replace(*change) if change[0] else DROP_TAIL_LINE
    )
    words = [str(tmp_path / "line.yaml"), "--against", str(tmp_path / "other.yaml")]
    wide = {"COLUMNS": "160"}
    done = CliRunner(env=wide).invoke(command, words, standalone_mode=False)
    assert done.return_value == status
    assert expected in done.stdout
    assert "lost by cause" in done.stdout


def test_undecided_has_a_status_of_its_own(tmp_path) -> None:
    """A1: neither 0, since nothing is shown, nor 3, since nothing is wrong."""
    (tmp_path / "red.yaml").write_text(RED_LINE.replace("10 s, warm_up: 2 s", "1 s"))
    words = [str(tmp_path / "red.yaml"), "--against", str(tmp_path / "red.yaml")]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.return_value == Status.UNDECIDED
    assert "4 more seeds would probably decide" in " ".join(done.stdout.split())
    done = CliRunner().invoke(command, [*words, "--runs", "5", "--json"], standalone_mode=False)
    data = json.loads(done.stdout)
    assert done.return_value == Status.DONE
    assert data["outcome"] == "agrees"


def test_other_flows_cannot_be_compared(tmp_path) -> None:
    """A4: flow by flow, so that both sides need the same."""
    (tmp_path / "line.yaml").write_text(DROP_TAIL_LINE)
    (tmp_path / "other.yaml").write_text(DROP_TAIL_LINE.replace("noise:", "hum:"))
    words = [str(tmp_path / "line.yaml"), "--against", str(tmp_path / "other.yaml")]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2
    assert "other flows: hum, noise" in done.output
