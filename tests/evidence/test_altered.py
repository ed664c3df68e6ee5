"""The gate of the verdict: nothing that is altered agrees, nothing that is not differs.

``python tests/evidence/test_altered.py`` prints the table of `docs/reference/linux-verify.md`.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from alterations import (
    ALTERED_SCENARIOS,
    compile_scenario,
    get_worst_row,
    judge_alteration,
    toss_other_coins,
)

from trunkline.linux.judge.engine_run import trace_simulator
from trunkline.linux.judge.measures import MeasureKey, MeasureValues
from trunkline.linux.judge.proof import prove_verdict
from trunkline.linux.judge.seed_pair import make_seed_pair
from trunkline.linux.judge.verification import judge_pairs, replace_probes

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "linux-verify.md"
ALTERED = [
    (name, what) for name, subject in ALTERED_SCENARIOS.items() for what in subject.alterations
]

MAX_UNDECIDED_SHARE = 0.05
QUICK_EXAMPLES = (
    "cut-with-ospf",
    "does-50-ms-matter",
    "hello",
    "label-stack",
    "make-before-break",
    "micro-loop",
    "repair-until-converged",
    "signalled-repair",
    "tunnel-models",
)
DRAWN_ALTERATIONS = 6
GROWTH_OF_MARGIN = 1 / (1 - 0.1)
"""A margin is a share of the mean, 10 % at most, and so grows with what an alteration adds."""


def row(name: str, what: str) -> str:
    """A row of the page's table: the alteration, the power, the outcome, and what caught it."""
    outcome, measure, power = get_worst_row(judge_alteration(name, what))
    return f"| {name} | {what} | {power} | {outcome} | {measure} |"


def test_there_are_106_alterations_of_25_scenarios() -> None:
    assert len(ALTERED_SCENARIOS) >= 25
    assert len(ALTERED) >= 106


@pytest.mark.parametrize(
    "name", [name for name, subject in ALTERED_SCENARIOS.items() if subject.is_random]
)
def test_other_coins_are_other_coins(name: str) -> None:
    """K6: a link beside the others moved no random stream, so that 20 of 20 seeds were the same."""
    network = replace_probes(compile_scenario(ALTERED_SCENARIOS[name].text))
    other_network = toss_other_coins(network)
    for seed in range(1, 6):
        first, second = trace_simulator(network, seed), trace_simulator(other_network, seed)
        for flow in first.flows:
            # The same traffic,
            assert first.flows[flow].sent_ns.tolist() == second.flows[flow].sent_ns.tolist()
        # and others that the coins drop or mark.
        fates = [
            [run.flows[flow].number.tolist() for flow in run.flows]
            + [[row["packets_sent"] for row in run.results.ports.rows()]]
            for run in (first, second)
        ]
        assert fates[0] != fates[1]


@pytest.mark.parametrize(("name", "what"), ALTERED)
def test_no_alteration_agrees_and_the_page_says_what_told_it(name: str, what: str) -> None:
    made = row(name, what)
    assert "| agrees |" not in made
    assert made in PAGE.read_text()


@pytest.mark.parametrize("name", ALTERED_SCENARIOS)
def test_nothing_unaltered_differs_over_twenty_seeds(name: str) -> None:
    found = judge_alteration(name, seeds=20)
    assert [each for each in found.rows if each.outcome == "differs"] == []
    # A gate that said "undecided" of everything would pass too.
    undecided = sum(each.outcome == "undecided" for each in found.rows)
    assert undecided <= MAX_UNDECIDED_SHARE * len(found.rows)
    assert ALTERED_SCENARIOS[name].is_random or not undecided


@pytest.mark.parametrize("name", QUICK_EXAMPLES)
def test_no_alteration_drawn_of_an_example_agrees_beyond_the_printed_power(name: str) -> None:
    """K6: the simulator in the kernel's place, which tells no more than a kernel does."""
    text = files("trunkline").joinpath("examples", f"{name}.yaml").read_text()
    network = replace_probes(compile_scenario(text))
    run = trace_simulator(network, 1)
    verdict = judge_pairs([make_seed_pair(network, run, run, "virtual")], (), (1,), "simulator")
    proof = prove_verdict(verdict, limit=DRAWN_ALTERATIONS)
    printed = {(row.subject, row.measure): row for row in verdict.rows}
    assert proof.judged
    for each in proof.judged:
        if each.outcome == "caught":
            continue
        altered_run = trace_simulator(each.alteration.network, 1)
        pair = make_seed_pair(network, run, altered_run, "virtual")
        # What the alteration does to each value that a kernel tells, beside the power of its row.
        for key, row in printed.items():
            values = [
                find_value(side, key) for side in pair.values if find_value(side, key) is not None
            ]
            if len(values) == 2 and row.outcome == "agrees":
                effect = abs(values[1] - values[0])
                assert effect <= row.hidden * GROWTH_OF_MARGIN + 1e-9, (each, row)


def find_value(values: MeasureValues, row_key: tuple[str, str]) -> float | None:
    """The value of a measure by the subject and the name of its row."""
    subject, name = row_key
    measure, _, detail = name.partition(": ")
    return values.get(MeasureKey(subject, measure, detail))


if __name__ == "__main__":
    for name, what in ALTERED:
        print(row(name, what), flush=True)
