"""Bounds of delay and loss that a screen leaves open, from links simulated alone.

The run of a failure is mixed from its times: before the failure, until all has switched, and after
it. The limits of a value are its error by a check against a full run; a bound within them is
undecided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.decomposition.full_check import FullCheck, check_delays
from trunkline.decomposition.link_execution import run_on_threads
from trunkline.decomposition.link_traffic import check_decomposable
from trunkline.decomposition.network_delays import LinkSimulations, LinkWaits, collect_path_waits
from trunkline.fluid.engine import FailureSolver, solve_without_failures
from trunkline.planning.packet_trial import compile_impacts, compile_without_failures
from trunkline.planning.service_delays import ServiceDelays, ServicePhase
from trunkline.planning.sla_screening import Levels, ScreenedLevel, SlaScreen

if TYPE_CHECKING:
    from trunkline.decomposition.link_execution import LinkExecutor
    from trunkline.fluid.tables import FluidState
    from trunkline.planning.failure_screening import FailureImpact
    from trunkline.scenario import Scenario
    from trunkline.scenario.sla import SlaBound

Phases = Sequence[tuple[float, "FluidState", LinkWaits]]


@dataclass(frozen=True, slots=True)
class LinkScreen:
    """A screen whose open bounds of delay and loss have the limits of links simulated alone."""

    screen: SlaScreen
    check: FullCheck  # The error, for the network without a failure.
    # distinct_links, link_runs: Links that differ in their packets, and runs that these shared.
    distinct_links: int
    link_runs: int


def screen_by_links(
    scenario: Scenario,
    screen: SlaScreen,
    failures: Sequence[FailureImpact],
    *,
    begin_ns: int,
    packets: int,
    check_s: float,
    threads: int | None = None,
    execute: LinkExecutor | None = None,
    on_failure: Callable[[int, int], None] | None = None,
    on_link: Callable[[int, int], None] | None = None,
) -> LinkScreen:
    """Narrow the limits of bounds of delay and loss that a screen leaves open.

    packets, check_s, threads, execute, on_failure, on_link: As `compute_failure_delays` takes them.
    Raises FluidUnsupportedError: The network has what ties its links together.
    """
    network = compile_without_failures(scenario)
    check_decomposable(network)
    bounds = scenario.list_sla_bounds()
    open_failures = [
        each for each in failures if any(map(_is_open, bounds, screen.levels[each.failure]))
    ]
    seed = scenario.run.seed
    simulations = LinkSimulations(network, seed, packets)
    steady = solve_without_failures(network)
    steady_links = simulations.place_links(steady)
    solver = FailureSolver(network)
    courses: dict[str, Phases] = {}
    compiled = compile_impacts(scenario, open_failures, begin_ns)
    for number, (impact, failure) in enumerate(zip(open_failures, compiled, strict=True), 1):
        phases = solver.solve([failure], seed)
        courses[impact.failure] = [
            (seconds, state, simulations.place_links(state)) for seconds, state in phases
        ]
        if on_failure is not None:
            on_failure(number, len(open_failures))
    simulations.run(execute or run_on_threads(threads), on_link)
    composer, first = simulations.make_composer()
    without = composer.compose(collect_path_waits(steady, steady_links, first))
    check = check_delays(network, steady, without, check_s, seed=seed, threads=threads)
    levels = dict(screen.levels)
    for name, course in courses.items():
        service = ServiceDelays(
            network["flows"],
            [
                ServicePhase.from_state(
                    seconds, state, composer.compose(collect_path_waits(state, links, first))
                )
                for seconds, state, links in course
                if seconds > 0
            ],
        )
        levels[name] = _narrow_levels(bounds, levels[name], service, check)
    return LinkScreen(
        replace(screen, levels=levels),
        check,
        simulations.groups.count_distinct(),
        len(simulations.groups.groups),
    )


def _is_open(bound: SlaBound, level: ScreenedLevel) -> bool:
    is_measured = bound.measure == "loss" or bound.measure.startswith("delay_")
    return is_measured and level.find_outcome(bound) == "open"


def _narrow_levels(
    bounds: Sequence[SlaBound], levels: Levels, service: ServiceDelays, check: FullCheck
) -> Levels:
    return tuple(
        _narrow_level(bound, level, service, check) if _is_open(bound, level) else level
        for bound, level in zip(bounds, levels, strict=True)
    )


def _narrow_level(
    bound: SlaBound, level: ScreenedLevel, service: ServiceDelays, check: FullCheck
) -> ScreenedLevel:
    """Take the limits of the worst row; the screen's, if one row has no value."""
    narrowed = []
    for row in bound.rows:
        value, error = service.measure(bound, row, check)
        if value is None or error is None:
            return level
        is_known = math.isfinite(value)
        narrowed.append(
            ScreenedLevel(
                row,
                max(value - error, 0.0) if is_known else math.inf,
                value if is_known else None,
                value + error,
                level.is_silent,
                "links",
            )
        )
    worst = max(narrowed, key=lambda each: each.measure_severity(bound))
    return replace(worst, least=max(each.least for each in narrowed))
