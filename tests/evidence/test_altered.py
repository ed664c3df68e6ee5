"""The gate of the verdict: nothing that is altered agrees, nothing that is not differs.

``python tests/evidence/test_altered.py`` prints the table of `docs/reference/linux-verify.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from alteration_verdicts import (
    compile_scenario,
    get_worst_row,
    judge_alteration,
    run_other_coins,
    shorten,
    toss_other_coins,
)
from altered_scenarios import ALTERED_SCENARIOS

from trunkline.linux.judge.engine_run import trace_simulator
from trunkline.linux.judge.measures import MeasureKey, MeasureValues
from trunkline.linux.judge.proof import prove_verdict
from trunkline.linux.judge.seed_pair import choose_method, make_seed_pair
from trunkline.linux.judge.verification import judge_pairs, replace_probes
from trunkline.stats.equivalence import MIN_PAIRS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "linux-verify.md"
ALTERED = [
    (name, what) for name, subject in ALTERED_SCENARIOS.items() for what in subject.alterations
]

MAX_UNDECIDED_SHARE = 0.05
EXAMPLE_SECONDS = {
    "assured-forwarding": 2,
    "bufferbloat": 0.3,
    "calls-in-af": 0.3,
    "cut-with-ospf": 3,
    "diffserv-over-mpls": 2,
    "does-50-ms-matter": 6,
    "drop-models": 0.2,
    "hello": 60,
    "label-stack": 10,
    "lesson-1-trunks": 0.1,
    "lesson-2-diffserv": 4,
    "lesson-3-protection": 4,
    "lesson-4-diffserv-over-mpls": 2,
    "lesson-5-traffic-engineering": 2,
    "make-before-break": 3,
    "md1": 5,
    "micro-loop": 2,
    "ping-per-class": 1,
    "priority-voice": 4,
    "protected-ring": 0.5,
    "repair-until-converged": 3,
    "signalled-repair": 6,
    "tcp-against-udp": 2,
    "trunks": 0.3,
    "tunnel-models": 5,
    "video-and-downloads": 10,
    "web-over-restoration": 6,
    "wfq-shares": 2,
}
"""How long each shipped example runs here at most."""
QUICK_SCENARIOS = {"drr", "outage", "tcp"}
"""Those of twenty seeds that run without ``--slow``."""
SLOW_EXAMPLES = {
    "bufferbloat",
    "calls-in-af",
    "drop-models",
    "lesson-1-trunks",
    "lesson-2-diffserv",
    "lesson-4-diffserv-over-mpls",
    "lesson-5-traffic-engineering",
    "ping-per-class",
    "priority-voice",
    "protected-ring",
    "tcp-against-udp",
    "trunks",
    "web-over-restoration",
}
"""Those of many packets or seeds: each takes a second of a processor or more."""
DRAWN_ALTERATIONS = 6
DRAWN_OF_SEVERAL_SEEDS = 3
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


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK_SCENARIOS else pytest.param(name, marks=pytest.mark.slow)
        for name in ALTERED_SCENARIOS
    ],
)
def test_nothing_unaltered_differs_over_twenty_seeds(name: str) -> None:
    found = judge_alteration(name, seeds=20)
    assert [each for each in found.rows if each.outcome == "differs"] == []
    # A gate that said "undecided" of everything would pass too.
    undecided = sum(each.outcome == "undecided" for each in found.rows)
    assert undecided <= MAX_UNDECIDED_SHARE * len(found.rows)
    assert ALTERED_SCENARIOS[name].is_random or not undecided


def list_examples() -> dict[str, Traversable]:
    """The files of all shipped examples and lessons by their names."""
    folder = files("trunkline").joinpath("examples")
    found = [*folder.iterdir(), *folder.joinpath("lessons").iterdir()]
    return {each.name.removesuffix(".yaml"): each for each in found if each.name.endswith(".yaml")}


def test_alterations_are_drawn_of_every_shipped_example() -> None:
    assert set(EXAMPLE_SECONDS) == set(list_examples())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in SLOW_EXAMPLES else name
        for name in EXAMPLE_SECONDS
    ],
)
def test_no_alteration_drawn_of_an_example_agrees_beyond_the_printed_power(name: str) -> None:
    """K6: the simulator in the kernel's place, with other coins; it tells no more than a kernel."""
    text = list_examples()[name].read_text()
    network = shorten(replace_probes(compile_scenario(text)), EXAMPLE_SECONDS[name])
    run = trace_simulator(network, 1)
    pair = make_seed_pair(network, run, run, "virtual")
    seeds = (1,)
    pairs = [pair]
    if choose_method([pair], exact=True).is_random:
        seeds = tuple(range(1, 1 + MIN_PAIRS))
        pairs = [
            make_seed_pair(
                network, trace_simulator(network, each), run_other_coins(network, each), "virtual"
            )
            for each in seeds
        ]
    verdict = judge_pairs(pairs, (), seeds, "simulator")
    assert [row for row in verdict.rows if row.outcome == "differs"] == []
    limit = DRAWN_ALTERATIONS if len(seeds) == 1 else DRAWN_OF_SEVERAL_SEEDS
    proof = prove_verdict(verdict, limit=limit)
    assert proof.judged
    for each in proof.judged:
        if each.outcome in ("caught", "undecided"):
            continue
        altered_pairs = [
            make_seed_pair(
                network,
                own.runs[0],
                trace_simulator(each.alteration.alter(network), seed),
                "virtual",
            )
            for own, seed in zip(pairs, seeds, strict=True)
        ]
        # What the alteration does to each value that a kernel tells, beside the power of its row.
        for row in verdict.rows:
            key = (row.subject, row.measure)
            means = [
                find_mean([altered.values[side] for altered in altered_pairs], key)
                for side in (0, 1)
            ]
            if row.outcome == "agrees" and means[0] is not None and means[1] is not None:
                effect = abs(means[1] - means[0])
                assert effect <= row.hidden * GROWTH_OF_MARGIN + 1e-9, (each, row)


def find_mean(values_by_seed: Sequence[MeasureValues], row_key: tuple[str, str]) -> float | None:
    """The mean over seeds of a measure by the subject and the name of its row."""
    subject, name = row_key
    measure, _, detail = name.partition(": ")
    key = MeasureKey(subject, measure, detail)
    found = [value for values in values_by_seed if (value := values.get(key)) is not None]
    return sum(found) / len(found) if len(found) == len(values_by_seed) else None


if __name__ == "__main__":
    for name, what in ALTERED:
        print(row(name, what), flush=True)
