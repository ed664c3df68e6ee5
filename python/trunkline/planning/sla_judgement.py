"""Every agreement judged under every failure: by the screen if its limits decide, or in packets.

The packets run for the failures that are worst for each bound, and for all that the screen leaves
open. What they measure outside the limits of the screen is the screen's error for that bound; it
widens the limits of all other failures, and those that this opens run in packets too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from trunkline.planning.failure_screening import Survival, survive
from trunkline.planning.packet_trial import (
    ScreenDeviation,
    SlaOutcome,
    find_failure_time,
    judge_slas,
    measure_deviations,
    plan_failure_runs,
)
from trunkline.planning.screen_execution import IN_THIS_PROCESS, screen_slas

if TYPE_CHECKING:
    from trunkline.planning.failure_screening import FailureImpact
    from trunkline.planning.screen_execution import LevelListener
    from trunkline.planning.sla_screening import Levels, ScreenedLevel, SlaScreen
    from trunkline.scenario import Scenario
    from trunkline.scenario.sla import SlaBound
    from trunkline.study import Runs
    from trunkline.study.run.execution import RunOptions

SCREEN_OUTCOMES = {"held": "held", "broken": "refuted"}
BOTH_BROKEN = ("refuted", "broken")


@dataclass(frozen=True, slots=True)
class SlaJudgement:
    """All agreements under all failures."""

    outcomes: tuple[SlaOutcome, ...]  # Failures in the order of the screen of loads, then bounds.
    # Loads of the screen next to packets, for the failures that ran.
    deviations: tuple[ScreenDeviation, ...] = ()
    # For each bound how far packets were outside the limits of the screen, in its unit.
    errors: tuple[float, ...] = ()
    # Pairs of a failure and a bound without a screen, since pairs of links were left out.
    unscreened: int = 0
    # Broken pairs under failures after which no routing could carry what is lost.
    unavoidable: int = 0
    refusal: str = ""  # Why the screen has no values; empty if it has.

    def count(self, outcome: str, by: str | None = None) -> int:
        """Count the pairs with an outcome, of packets or the screen."""
        return sum(each.outcome == outcome and by in (None, each.by) for each in self.outcomes)

    @property
    def total(self) -> int:
        """Failures times bounds."""
        return len(self.outcomes) + self.unscreened

    @property
    def broken(self) -> int:
        """Pairs that are broken, in packets or by the screen."""
        return self.count("refuted")

    @property
    def unjudged(self) -> int:
        """Pairs without a decision."""
        return self.total - self.broken - self.count("held")

    @property
    def least_margin(self) -> float | None:
        """The least part of its bound that the screen leaves where it decides "held" [1]."""
        margins = [
            each.relative_margin
            for each in self.outcomes
            if each.outcome == "held" and each.by == "screen" and each.relative_margin is not None
        ]
        return min(margins, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Build plain data: the counts and their totals."""
        document = asdict(self)
        del document["outcomes"], document["deviations"]
        return document | {
            "pairs": self.total,
            "held_in_packets": self.count("held", "packets"),
            "held_by_screen": self.count("held", "screen"),
            "held_by_links": self.count("held", "links"),
            "broken": self.broken,
            "not_judged": self.unjudged,
            "least_margin": self.least_margin,
        }


class SlaJudge:
    """Chooses the failures that must run in packets, and takes their results.

    screen: Screen of all failures of the survival.
    begin_ns: Begin of each failure [ns].
    """

    def __init__(
        self, scenario: Scenario, survival: Survival, screen: SlaScreen, *, begin_ns: int
    ) -> None:
        self.scenario, self.survival, self.screen = scenario, survival, screen
        self.begin_ns = begin_ns
        self.bounds = scenario.list_sla_bounds()
        self.errors = [0.0] * len(self.bounds)
        self._impacts = {each.failure: each for each in survival.failures}
        self._tried: dict[str, list[SlaOutcome]] = {}
        self._deviations: list[ScreenDeviation] = []

    def choose_failures(self, limit: int | None = None) -> list[FailureImpact]:
        """Choose the failures that must run next, the worst for any bound first; empty at the end.

        With a limit exactly so many, if there are as many, in one round.
        """
        if limit is not None and self._tried:
            return []
        by_bound = [
            list(self._rank_failures(number, needed_only=limit is None))
            for number in range(len(self.bounds))
        ]
        turns = (name for turn in zip_longest(*by_bound) for name in turn if name is not None)
        chosen = [name for name in dict.fromkeys(turns) if name not in self._tried]
        return [self._impacts[name] for name in chosen[:limit]]

    def _rank_failures(self, number: int, *, needed_only: bool) -> Iterator[str]:
        """Failures that a bound needs in packets: its worst, all open ones, its worst held one."""
        bound = self.bounds[number]
        levels = {name: levels[number] for name, levels in self.screen.levels.items()}
        ranked = sorted(levels, key=lambda name: -levels[name].measure_severity(bound))
        outcomes = {
            name: level.find_outcome(bound, self.errors[number]) for name, level in levels.items()
        }
        yield from ranked[:1]
        yield from (name for name in ranked if outcomes[name] == "open")
        yield from [name for name in ranked if outcomes[name] == "held"][:1]
        if not needed_only:
            yield from ranked

    def add_runs(self, failures: Sequence[FailureImpact], runs: Runs) -> None:
        """Take the packet runs of failures."""
        for outcome in judge_slas(self.bounds, runs):
            self._tried.setdefault(outcome.failure, []).append(outcome)
        self._deviations += measure_deviations(self.scenario, failures, runs, at_ns=self.begin_ns)
        for number, bound in enumerate(self.bounds):
            self.errors[number] = max(
                (
                    _measure_error(self.screen.levels[name][number], outcomes[number], bound)
                    for name, outcomes in self._tried.items()
                ),
                default=0.0,
            )

    def conclude(self) -> SlaJudgement:
        """Judge every bound under every failure."""
        outcomes = tuple(
            self._judge_pair(name, number)
            for name in self.screen.levels
            for number in range(len(self.bounds))
        )
        left_out = self.survival.left_out
        return SlaJudgement(
            outcomes,
            tuple(self._deviations),
            tuple(self.errors),
            0 if left_out is None else left_out.pairs * len(self.bounds),
            sum(
                each.outcome == "refuted" and _is_unavoidable(self._impacts[each.failure])
                for each in outcomes
            ),
            self.screen.refusal,
        )

    def _judge_pair(self, name: str, number: int) -> SlaOutcome:
        bound, level = self.bounds[number], self.screen.levels[name][number]
        by_screen = level.find_outcome(bound, self.errors[number])
        tried = self._tried.get(name)
        if tried is not None:
            outcome = tried[number]
            if level.is_silent and outcome.value is None and by_screen == "not judged":
                return replace(outcome, outcome="not judged")
            if outcome.outcome != "undecided" or by_screen not in ("held", "broken"):
                return outcome
        # Links alone have a value, whose error decides nothing; the screen has its limits only.
        is_undecided = level.by == "links" and by_screen == "open"
        outcome_word: Any = SCREEN_OUTCOMES.get(
            by_screen, "undecided" if is_undecided else "not judged"
        )
        low, high = level.least - self.errors[number], level.greatest + self.errors[number]
        return SlaOutcome(
            *(bound.sla, name, level.row, bound.measure, bound.unit, bound.at, bound.value),
            level.value,
            low if math.isfinite(low) else None,
            high if math.isfinite(high) else None,
            0,
            outcome_word,
            level.by,
        )


def _measure_error(level: ScreenedLevel, outcome: SlaOutcome, bound: SlaBound) -> float:
    """Measure how far packets are outside the limits of the screen.

    Where both say "broken", how badly decides nothing.
    """
    if outcome.value is None or (outcome.outcome, level.find_outcome(bound)) == BOTH_BROKEN:
        return 0.0
    return max(0.0, outcome.value - level.greatest, level.least - outcome.value)


def _is_unavoidable(impact: FailureImpact) -> bool:
    return impact.lost_bit_s == impact.unavoidable_bit_s > 0


def judge_failures(
    scenario: Scenario,
    survival: Survival | None = None,
    *,
    packets: int | None = None,
    runs: int = 3,
    at_ns: int | None = None,
    known: Mapping[str, Levels] | None = None,
    on_level: LevelListener | None = None,
    options: RunOptions | None = None,
) -> SlaJudgement:
    """Judge every agreement of a scenario under every screened failure.

    Parameters
    ----------
    survival : Survival, optional
        The failures; by default every link, node and shared risk.
    packets : int, optional
        Exactly so many failures run in packets; by default as many as the judgement needs.
    runs : int, default 3
        Packet runs of a failure.
    at_ns : int, optional
        Begin of each failure [ns]; by default a quarter into the measured time.
    known : mapping, optional
        Levels of failures that were screened before.
    on_level : callable, optional
        Called with each failure and its levels as soon as it is screened.
    options : RunOptions, optional
        Where the screen and the packets run. By default the packets on all cores and the screen in
        this process; processes of a screen need a main module that can be imported.

    Raises
    ------
    ValueError
        The failure is not within the run, or the scenario has no agreements.
    """
    from trunkline.study import perform_plan

    if not scenario.list_sla_bounds():
        raise ValueError("the scenario has no `slas` to judge")
    survival = survive(scenario) if survival is None else survival
    begin_ns = find_failure_time(scenario, at_ns)
    screen = screen_slas(
        scenario,
        survival.failures,
        begin_ns=begin_ns,
        runs=runs,
        known=known,
        on_level=on_level,
        options=options or IN_THIS_PROCESS,
    )
    judge = SlaJudge(scenario, survival, screen, begin_ns=begin_ns)
    while chosen := judge.choose_failures(packets):
        plan = plan_failure_runs(scenario, chosen, at_ns=begin_ns, runs=runs)
        with perform_plan(plan, options=options) as results:
            judge.add_runs(chosen, results)
    return judge.conclude()


def join_judgements(judgements: Sequence[SlaJudgement]) -> SlaJudgement:
    """Join judgements of the same bounds under different failures."""
    return SlaJudgement(
        tuple(outcome for each in judgements for outcome in each.outcomes),
        tuple(deviation for each in judgements for deviation in each.deviations),
        tuple(map(max, zip(*(each.errors for each in judgements), strict=True))),
        sum(each.unscreened for each in judgements),
        sum(each.unavoidable for each in judgements),
        next((each.refusal for each in judgements if each.refusal), ""),
    )


def group_by_bound(
    outcomes: Sequence[SlaOutcome],
) -> Mapping[tuple[str, str, str], list[SlaOutcome]]:
    """Group the outcomes by agreement, measure and side, in the order of the bounds."""
    groups: dict[tuple[str, str, str], list[SlaOutcome]] = {}
    for each in outcomes:
        groups.setdefault((each.sla, each.measure, each.at), []).append(each)
    return groups
