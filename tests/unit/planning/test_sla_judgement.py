"""Every agreement under every failure: what packets must decide, what the screen may."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import trunkline as tl
from trunkline.planning import judge_failures, screen_execution, survive
from trunkline.planning.packet_trial import (
    compile_impacts,
    compile_without_failures,
    find_failure_time,
    plan_failure_runs,
)
from trunkline.planning.screen_execution import screen_slas
from trunkline.planning.screen_journal import ScreenJournal
from trunkline.planning.sla_judgement import SlaJudge, SlaJudgement
from trunkline.planning.sla_screening import ScreenedLevel, ScreenedNetwork, SlaScreen
from trunkline.planning.text_tables import describe_judgement
from trunkline.study import perform_plan
from trunkline.study.run.execution import RunOptions

# Data takes A-B-C and voice A-D-C, and nothing protects them: the failures that lose most load are
# those of A-B-C, the failures that lose all voice those of A-D-C.
NETWORK = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}}
traffic:
  voice: {agent: udp, dscp: EF, size: 200 B}
  data: {agent: udp, size: 1000 B, arrivals: poisson}
demands:
  v: {from: A, to: C, rate: 100 kbit/s, class: voice}
  d: {from: A, to: C, rate: 600 kbit/s, class: data}
paths: {v: {route: [A, D, C]}, d: {route: [A, B, C]}}
trunks: {v: {path: v, demands: v}, d: {path: d, demands: d}}
slas: {voice: {dscp: EF, at_most: {delay_p99: 20 ms, loss: 0.1 %}}}
run: {duration: 2 s, warm_up: 500 ms}
"""
LOSS_ONLY = NETWORK.replace("delay_p99: 20 ms, ", "")
FOLLOWS = "rerouting: {spf_delay: 10 ms}\n"


def outcomes_of(judgement: SlaJudgement) -> dict[tuple[str, str], tuple[str, str]]:
    return {(each.failure, each.measure): (each.outcome, each.by) for each in judgement.outcomes}


def test_the_failure_that_loses_all_voice_runs_though_others_lose_more_data() -> None:
    scenario = tl.loads(NETWORK)
    survival = survive(scenario, kinds=("link",))
    assert {each.failure for each in survival.failures[:2]} == {"A-B", "B-C"}
    found = outcomes_of(judgement := judge_failures(scenario, survival, packets=2))
    assert {found["C-D", "loss"], found["D-A", "loss"]} == {
        ("refuted", "packets"),
        ("refuted", "screen"),
    }
    assert found["A-B", "loss"][0] == found["B-C", "loss"][0] == "held"
    assert (judgement.total, judgement.broken, judgement.unjudged) == (8, 2, 0)
    assert describe_judgement(judgement).startswith("8 failures x bounds: ")
    assert describe_judgement(judgement).endswith("2 broken, 0 not judged")


def test_the_worst_of_each_bound_and_its_worst_held_failure_run_in_packets() -> None:
    scenario = tl.loads(LOSS_ONLY)
    found = judge_failures(scenario, survive(scenario, kinds=("link",)))
    by_packets = {key[0] for key, (_, by) in outcomes_of(found).items() if by == "packets"}
    # C-D and D-A are alike for loss, A-B and B-C too: one of each.
    assert len(by_packets) == 2
    assert by_packets & {"C-D", "D-A"}
    assert by_packets & {"A-B", "B-C"}


def test_what_the_fluid_engine_leaves_out_is_decided_in_packets_alone() -> None:
    text = NETWORK.replace("A-B: {}", "A-B: {loss: 1 %}") + FOLLOWS
    scenario = tl.loads(text)
    found = judge_failures(scenario, survive(scenario, kinds=("link",)))
    assert "losses on the wire" in found.refusal
    assert {by for _, by in outcomes_of(found).values()} == {"packets"}
    assert "no screen, since" in describe_judgement(found)
    few = judge_failures(scenario, survive(scenario, kinds=("link",)), packets=1)
    assert (few.total, few.unjudged) == (8, 6)
    assert few.count("not judged") == 6


def test_an_error_of_the_screen_opens_what_it_would_have_held() -> None:
    scenario = tl.loads(LOSS_ONLY.replace("[A, D, C]", "[A, B, C]"))
    survival = survive(scenario, kinds=("link",))
    begin_ns = find_failure_time(scenario, None)
    right = screen_slas(scenario, survival.failures, begin_ns=begin_ns, runs=2)
    # Limits below the bound of 0.1 %, where voice, which goes by B too, is lost with A-B.
    wrong = {
        name: (replace(loss, least=0.0, greatest=0.0009 if name in ("A-B", "B-C") else 0.0008),)
        for name, (loss,) in right.levels.items()
    }
    judge = SlaJudge(scenario, survival, SlaScreen(wrong), begin_ns=begin_ns)
    rounds = []
    while chosen := judge.choose_failures():
        rounds.append([each.failure for each in chosen])
        with perform_plan(plan_failure_runs(scenario, chosen, at_ns=begin_ns, runs=2)) as runs:
            judge.add_runs(chosen, runs)
    found = judge.conclude()
    # The worst shows it; so the others run too.
    assert [len(each) for each in rounds] == [1, 3]
    assert found.errors[0] > 0.7
    assert outcomes_of(found)["A-B", "loss"] == ("refuted", "packets")
    assert outcomes_of(found)["D-A", "loss"] == ("held", "packets")


def test_a_flow_that_sends_nothing_is_not_judged() -> None:
    silent = "flows: {s: {agent: udp, from: A, to: C, rate: 1 Mbit/s, size: 100 B, stop: 100 ms}}\n"
    sla = "slas: {s: {flow: s, at_most: {loss: 1 %}}}\n"
    text = "".join(
        line for line in NETWORK.splitlines(keepends=True) if not line.startswith("slas")
    )
    scenario = tl.loads(text + silent + sla)
    found = judge_failures(scenario, survive(scenario, kinds=("link",)))
    assert {each.outcome for each in found.outcomes} == {"not judged"}
    assert found.unjudged == found.total == 4


def test_a_screen_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    scenario = tl.loads(NETWORK)
    failures = survive(scenario, kinds=("link",)).failures
    begin_ns = find_failure_time(scenario, None)
    file = tmp_path / "out.screen.jsonl"

    def screen(*, stop_after: int, resume: bool) -> list[str]:
        journal = ScreenJournal(file, scenario, resume=resume, parameters={"begin_ns": begin_ns})
        screened: list[str] = []

        def add(failure: str, levels: tuple[ScreenedLevel, ...]) -> None:
            journal.add_levels(failure, levels)
            screened.append(failure)
            if len(screened) == stop_after:
                raise KeyboardInterrupt

        try:
            full_screen = screen_slas(
                scenario,
                failures,
                begin_ns=begin_ns,
                runs=2,
                known=journal.get_levels(),
                on_level=add,
            )
            assert full_screen == screen_slas(scenario, failures, begin_ns=begin_ns, runs=2)
        except KeyboardInterrupt:
            pass
        finally:
            journal.close()
        return screened

    assert len(screen(stop_after=3, resume=False)) == 3
    # What an interruption leaves of a line counts for nothing.
    with file.open("a") as journal_file:
        journal_file.write('{"failure": "D-')
    assert len(screen(stop_after=99, resume=True)) == 1
    assert len(screen(stop_after=99, resume=False)) == 4


@pytest.mark.parametrize(
    ("at", "value", "outcome"), [("most", 0.2, "held"), ("least", 0.2, "broken")]
)
def test_a_level_is_held_only_with_all_of_its_error(at: str, value: float, outcome: str) -> None:
    (bound, *_) = tl.loads(NETWORK).list_sla_bounds()
    bound = replace(bound, at=at, value=value)
    level = ScreenedLevel("EF", 0.05, 0.1, 0.15)
    assert level.find_outcome(bound) == outcome
    assert level.find_outcome(bound, 0.06) == "open"


@pytest.mark.parametrize(
    "options",
    [
        RunOptions(threads=1),
        RunOptions(threads=2),
        pytest.param(RunOptions(cluster="local:2"), marks=pytest.mark.slow),
    ],
    ids=lambda each: str(each.cluster or each.threads),
)
def test_levels_do_not_depend_on_where_they_are_screened(
    options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    if options.cluster is not None:
        pytest.importorskip("distributed")
    scenario = tl.loads(NETWORK)
    failures = survive(scenario).failures
    begin_ns = find_failure_time(scenario, None)
    # In one process and in order, without tasks.
    network = compile_without_failures(scenario)
    expected = ScreenedNetwork(network, scenario.list_sla_bounds(), 2)
    compiled = compile_impacts(scenario, failures, begin_ns)
    monkeypatch.setattr(screen_execution, "LONG_SCREEN_S", 0.0)
    monkeypatch.setattr(screen_execution, "FAILURES_PER_TASK", 3)
    found = screen_slas(scenario, failures, begin_ns=begin_ns, runs=2, options=options)
    assert len(failures) == 8
    assert list(found.levels) == [each.failure for each in failures]
    assert found.levels == {
        impact.failure: expected.screen_failure(failure)
        for impact, failure in zip(failures, compiled, strict=True)
    }


def test_failures_of_one_name_are_judged_each() -> None:
    text = NETWORK.replace("A-B: {}", "A-B: {te: {risks: [A]}}")
    text += "failures: {D: {node: [B, C], at: 1 s}, A-B: {link: C-D, at: 1 s}}\n"
    scenario = tl.loads(text)
    survival = survive(scenario, kinds=("link", "node", "risk", "named", "link"))
    names = {(each.failure, each.kind): each for each in survival.failures}
    assert len(names) == len({name for name, _ in names}) == len(survival.failures) == 11
    # The risk A is the link A-B, over which no voice goes; the node A cuts all of it off.
    assert names["A (risk)", "risk"].lost_bit_s == 600_000
    assert names["A", "node"].lost_bit_s == 700_000
    assert names["A-B (named)", "named"].lost_bit_s == names["C-D", "link"].lost_bit_s == 100_000
    # What fails several elements is a risk and named: one failure.
    assert ("D (risk)", "risk") in names
    found = outcomes_of(judgement := judge_failures(scenario, survival, packets=0))
    assert judgement.total == 2 * 11
    assert found["A", "loss"] == ("refuted", "screen")
    assert found["A (risk)", "loss"] == ("held", "screen")
