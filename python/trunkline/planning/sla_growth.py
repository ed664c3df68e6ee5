"""Agreements as the network grows: the first period in which each breaks under each failure.

Each pair of a failure and a bound is judged by the screen, without packets. Between two periods
with the same outcome it has that outcome too; the others are halved until two periods are next to
each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.planning.sla_judgement import judge_failures

if TYPE_CHECKING:
    from trunkline.planning.failure_screening import FailureImpact, Survival
    from trunkline.planning.packet_trial import SlaOutcome
    from trunkline.planning.screen_journal import ScreenJournal
    from trunkline.planning.sla_screening import Levels
    from trunkline.scenario import Scenario
    from trunkline.study.run.execution import RunOptions
    from trunkline.study.run.progress import Progress

PairKey = tuple[str, str, str, str]  # Failure, agreement, measure and side of the bound.
Outcomes = dict[PairKey, str]


@dataclass(frozen=True, slots=True)
class SlaBreak:
    """Time at which an agreement breaks first under a failure."""

    sla: str
    failure: str
    measure: str  # Measure of the bound, such as ``loss``.
    unit: str
    at: str  # one of "most", "least"; its side.
    bound: float  # In ``unit``.
    broken: str | None  # Label of the first period in which the screen refutes it; None: in none.
    # Whether the screen leaves it open in some period before that: packets would decide.
    is_open: bool


def find_sla_breaks(
    scenarios: Sequence[Scenario],
    screens: Sequence[Survival],
    labels: Sequence[str],
    progress: Progress | None = None,
    journal: ScreenJournal | None = None,
    options: RunOptions | None = None,
) -> tuple[SlaBreak, ...]:
    """Find when each bound breaks under each failure; empty without agreements.

    scenarios, screens: The network and its screened failures in each period.
    labels: Names of the periods.
    progress: Counts screened failures; those of periods between are added when they are needed.
    journal: Keeps the levels of screened failures by period.
    options: Where the screens run.
    """
    if not scenarios[0].list_sla_bounds() or not screens[0].failures:
        return ()
    pairs: dict[PairKey, SlaOutcome] = {}

    def judge(period: int, failures: Sequence[FailureImpact]) -> Outcomes:
        chosen = {each.failure for each in failures}
        screen = screens[period]
        survival = replace(
            screen, failures=tuple(each for each in screen.failures if each.failure in chosen)
        )
        known = {} if journal is None else journal.get_levels(period)
        if progress is not None and not progress.total:
            progress.begin(2 * len(screens[0].failures), 0)
        elif progress is not None and 0 < period < len(labels) - 1:
            progress.total += len(survival.failures)
        if progress is not None:
            progress.done_before += len(chosen.intersection(known))

        def count_screened(failure: str, levels: Levels) -> None:
            if journal is not None:
                journal.add_levels(failure, levels, period)
            if progress is not None:
                progress.count_ended(0)
                progress.report_if_due()

        judgement = judge_failures(
            scenarios[period],
            survival,
            packets=0,
            known=known,
            on_level=count_screened,
            options=options,
        )
        found = {_make_key(each): each for each in judgement.outcomes}
        for key, outcome in found.items():
            pairs.setdefault(key, outcome)
        return {key: outcome.outcome for key, outcome in found.items()}

    courses = _judge_periods(len(labels), screens[0].failures, judge)
    breaks = []
    for key, pair in pairs.items():
        course = [outcomes[key] for outcomes in courses]
        first = course.index("refuted") if "refuted" in course else len(course)
        breaks.append(
            SlaBreak(
                pair.sla,
                pair.failure,
                pair.measure,
                pair.unit,
                pair.at,
                pair.bound,
                labels[first] if first < len(labels) else None,
                any(outcome != "held" for outcome in course[:first]),
            )
        )
    order = {label: number for number, label in enumerate(labels)}
    return tuple(
        sorted(breaks, key=lambda each: len(order) if each.broken is None else order[each.broken])
    )


def _make_key(outcome: SlaOutcome) -> PairKey:
    return outcome.failure, outcome.sla, outcome.measure, outcome.at


def _judge_periods(
    count: int,
    failures: Sequence[FailureImpact],
    judge: Callable[[int, Sequence[FailureImpact]], Outcomes],
) -> list[Outcomes]:
    """Judge all pairs in all periods; between periods with equal outcomes nothing is judged."""
    found: dict[int, Outcomes] = {number: judge(number, failures) for number in {0, count - 1}}

    def fill(low: int, high: int) -> None:
        if high - low <= 1:
            return
        middle = (low + high) // 2
        changed = {key[0] for key, value in found[low].items() if found[high].get(key) != value}
        found[middle] = dict(found[low])
        if changed:
            found[middle] |= judge(middle, [each for each in failures if each.failure in changed])
        fill(low, middle)
        fill(middle, high)

    fill(0, count - 1)
    return [found[number] for number in range(count)]
