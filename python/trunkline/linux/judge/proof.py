"""The power of a verdict: each key altered, judged against the same run of the kernel.

The kernel has run once. Only the simulator runs again, so that a proof takes seconds. An alteration
is caught if it makes a comparison differ. One that is not caught is judged against the simulator as
well, which gives the reason: no packet shows it, only values that the kernel lacks show it, or its
effect is smaller than the power of the comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from trunkline.linux.judge.engine_run import EngineRun, trace_simulator
from trunkline.linux.judge.seed_pair import ReferenceMachine, SeedPair, make_seed_pair
from trunkline.linux.judge.single_alterations import (
    SingleAlteration,
    draw_alterations,
    list_alterations,
)
from trunkline.linux.judge.verification import EngineVerdict, judge_pairs
from trunkline.network.types import NetworkData

MAX_ALTERATIONS: Final = 200  # Per scenario; of more, this number is drawn at random.

AlterationOutcome = Literal["caught", "undecided", "below power", "not compared", "no effect"]
OUTCOME_ORDER: Final[tuple[AlterationOutcome, ...]] = (
    "not compared",
    "below power",
    "undecided",
    "no effect",
    "caught",
)


@dataclass(frozen=True)
class JudgedAlteration:
    """One alteration, and its verdict."""

    alteration: SingleAlteration
    outcome: AlterationOutcome  # Whether a comparison differs; else why not.
    # The comparison furthest beyond its margin, or nearest to it; empty without effect.
    measure: str


@dataclass(frozen=True)
class VerdictProof:
    """The alterations that a verdict detects and those that it misses."""

    judged: tuple[JudgedAlteration, ...]  # Those that the engine can run.
    possible: int  # Alterations that the scenario has, of which these may be drawn.

    @property
    def score(self) -> float | None:
        """Part caught of those that have an effect; None of none."""
        effective = [each for each in self.judged if each.outcome != "no effect"]
        caught = sum(each.outcome == "caught" for each in effective)
        return caught / len(effective) if effective else None

    def count_outcomes(self) -> dict[AlterationOutcome, int]:
        """Count how many alterations had each outcome."""
        return {
            outcome: sum(each.outcome == outcome for each in self.judged)
            for outcome in reversed(OUTCOME_ORDER)
        }

    def to_json(self) -> dict[str, Any]:
        """The ``proof`` of a verdict that ``trunkline verify --json`` lists."""
        return {
            "score": self.score,
            "possible": self.possible,
            "counts": dict(self.count_outcomes()),
            "alterations": [
                {
                    "element": each.alteration.element,
                    "key": each.alteration.key,
                    "before": each.alteration.before,
                    "after": each.alteration.after,
                    "outcome": each.outcome,
                    "measure": each.measure,
                }
                for each in self.judged
            ],
        }


def prove_verdict(
    verdict: EngineVerdict,
    *,
    limit: int = MAX_ALTERATIONS,
    on_progress: Callable[[float], None] | None = None,
) -> VerdictProof:
    """Judge alterations of the scenario of a verdict, against the output of the reference.

    verdict: With its pairs.
    limit: Alterations at most.
    """
    network = verdict.pairs[0].network
    alterations = list_alterations(network)
    drawn = draw_alterations(alterations, limit)
    judged: list[JudgedAlteration] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, found in enumerate(pool.map(lambda each: _judge(each, verdict), drawn), 1):
            if found is not None:
                judged.append(found)
            if on_progress is not None:
                on_progress(number / len(drawn))
    return VerdictProof(tuple(judged), len(alterations))


def _judge(alteration: SingleAlteration, verdict: EngineVerdict) -> JudgedAlteration | None:
    """One alteration; None if the engine cannot run it."""
    pairs = verdict.pairs
    # The runs of a study may have traffic of their own.
    networks = [alteration.alter(pair.network) for pair in pairs]
    try:
        altered_runs = list(map(trace_simulator, networks, verdict.seeds))
    except ValueError:
        return None

    def judge(references: Sequence[EngineRun], machine: ReferenceMachine) -> EngineVerdict:
        altered_pairs = [
            make_seed_pair(network, altered, reference, machine)
            for network, altered, reference in zip(networks, altered_runs, references, strict=True)
        ]
        found = judge_pairs(altered_pairs, (), verdict.seeds, verdict.reference)
        return found.require_power(verdict.within)

    machine = pairs[0].machine
    against_reference = judge([pair.runs[1] for pair in pairs], machine)
    differed_before = {
        (row.subject, row.measure) for row in verdict.rows if row.outcome == "differs"
    }
    caught = [
        row
        for row in against_reference.rows
        if row.outcome == "differs" and (row.subject, row.measure) not in differed_before
    ]
    if caught:
        worst = max(caught, key=lambda row: abs(row.difference) / (row.margin or 1e-12))
        return JudgedAlteration(alteration, "caught", f"{worst.measure} of {worst.subject}")
    own_runs = [pair.runs[0] for pair in pairs]
    against_own = judge([_hide_untold_segments(*pair.runs) for pair in pairs], machine)
    moved = max(
        against_own.rows, key=lambda row: abs(row.difference) / (row.margin or 1e-12), default=None
    )
    measure = f"{moved.measure} of {moved.subject}" if moved and moved.difference else ""
    if all(map(_is_same_run, altered_runs, own_runs, networks)):
        return JudgedAlteration(alteration, "no effect", "")
    if against_own.outcome == "agrees" and judge(own_runs, "simulator").outcome != "agrees":
        return JudgedAlteration(alteration, "not compared", measure)
    if against_reference.outcome == "undecided":
        return JudgedAlteration(alteration, "undecided", measure)
    return JudgedAlteration(alteration, "below power", measure)


def _hide_untold_segments(own: EngineRun, reference: EngineRun) -> EngineRun:
    """A run of the simulator that counts the marks of TCP segments where the reference does."""
    return replace(
        own,
        segments={name: own.segments[name] for name in own.segments if name in reference.segments},
    )


def _is_same_run(altered: EngineRun, own: EngineRun, network: NetworkData) -> bool:
    """Whether every measure and every datagram is the same."""
    pair: SeedPair = make_seed_pair(network, altered, own, "simulator")
    return pair.values[0] == pair.values[1] and all(
        np.array_equal(getattr(altered.flows[name], column), getattr(flow, column))
        for name, flow in own.flows.items()
        for column in ("number", "delay_ns", "dscp", "ecn", "ttl")
    )
