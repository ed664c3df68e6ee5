"""Delays and losses of every class after every failure, from simulations of links alone.

Each failure is a network of its own: the routes and bypasses of after it, in a steady state. What
is lost while routers notice and switch is not in it; `te survive --judge` has that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from trunkline.decomposition.full_check import FullCheck, check_delays
from trunkline.decomposition.link_execution import run_on_threads
from trunkline.decomposition.link_traffic import check_decomposable
from trunkline.decomposition.network_delays import LinkSimulations, LinkWaits, collect_path_waits
from trunkline.fluid.engine import FailureSolver, solve_without_failures
from trunkline.planning.failure_screening import survive
from trunkline.planning.packet_trial import (
    compile_impacts,
    compile_without_failures,
    find_failure_time,
)
from trunkline.planning.service_delays import ServiceDelays, ServicePhase

if TYPE_CHECKING:
    from trunkline.decomposition.link_execution import LinkExecutor
    from trunkline.decomposition.path_delays import DelayComposer
    from trunkline.fluid.tables import FluidState
    from trunkline.planning.failure_screening import FailureImpact
    from trunkline.scenario import Scenario
    from trunkline.scenario.sla import SlaBound

NO_FAILURE: Final = "none"  # Name of the network without a failure.
DelayOutcome = Literal["held", "broken", "undecided", "not judged"]


@dataclass(frozen=True, slots=True)
class ClassDelay:
    """A class after a failure."""

    # failure, dscp: The failure, and the class by its DSCP.
    failure: str
    dscp: str
    # 99th percentile over all packets of the class [s]; None if none arrives.
    delay_p99_s: float | None
    worst_flow: str  # The flow of the greatest 99th percentile; empty if none arrives.
    worst_p99_s: float | None  # That percentile [s].
    loss: float  # Share of the packets of the class that are lost [0 .. 1].
    cut_flows: int  # Flows without a path.


@dataclass(frozen=True, slots=True)
class DelayJudgement:
    """A bound of an agreement after a failure."""

    # sla, failure, row, measure: Which; the row is the worst.
    sla: str
    failure: str
    row: str
    measure: str
    unit: str
    bound: float  # The bound, in its unit.
    value: float | None  # Value to compare; None without one, as of a flow that is cut off.
    # Error of the value by the check, in its unit; None of a class that was not compared.
    error: float | None
    # Undecided if the bound is within the error; not judged without a value or an error.
    outcome: DelayOutcome


@dataclass(frozen=True, slots=True)
class FailureDelays:
    """All classes after all failures."""

    # Without a failure first, then failures in the order of the screen.
    classes: tuple[ClassDelay, ...]
    judgements: tuple[DelayJudgement, ...]  # Each bound of an agreement under each of them.
    check: FullCheck  # The error, for the network without a failure.
    # failures, links, distinct_links, link_runs: Failures, links that carry packets without one,
    # links under failures that differ in their packets, and runs that these shared.
    failures: int
    links: int
    distinct_links: int
    link_runs: int

    def count(self, outcome: DelayOutcome) -> int:
        """Count the judgements with an outcome."""
        return sum(each.outcome == outcome for each in self.judgements)

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def compute_failure_delays(
    scenario: Scenario,
    *,
    kinds: Sequence[str],
    packets: int,
    check_s: float,
    threads: int | None = None,
    execute: LinkExecutor | None = None,
    on_failure: Callable[[int, int], None] | None = None,
    on_link: Callable[[int, int], None] | None = None,
) -> FailureDelays:
    """Compute the delays of every class after every failure.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of failures, as `te survive --each` takes them.
    packets : int
        Packets that should reach each link.
    check_s : float
        About how much time of one core the full run for the error takes [s].
    threads : int, optional
        Links that run at a time, and threads of the full run; all cores when left out.
    execute : callable, optional
        Runs the links (`trunkline.planning.link_cluster`); on these threads when left out.
    on_failure, on_link : callable, optional
        Called with how many failures are routed, or links are run, and of how many.

    Raises
    ------
    FluidUnsupportedError
        The network has what ties its links together.
    """
    network = compile_without_failures(scenario)
    check_decomposable(network)
    impacts = survive(scenario, kinds=kinds).failures
    seed = scenario.run.seed
    simulations = LinkSimulations(network, seed, packets)
    steady = solve_without_failures(network)
    states = {NO_FAILURE: (steady, simulations.place_links(steady))}
    links = int((states[NO_FAILURE][1].group >= 0).sum())
    for number, (impact, state) in enumerate(_solve_failures(scenario, network, impacts), 1):
        states[impact.failure] = (state, simulations.place_links(state))
        if on_failure is not None:
            on_failure(number, len(impacts))
    simulations.run(execute or run_on_threads(threads), on_link)
    composer, first = simulations.make_composer()
    without = composer.compose(collect_path_waits(*states[NO_FAILURE], first))
    check = check_delays(network, steady, without, check_s, seed=seed, threads=threads)
    return FailureDelays(
        *_judge_states(scenario, network, states, composer, first, check),
        check,
        len(impacts),
        links,
        simulations.groups.count_distinct(),
        len(simulations.groups.groups),
    )


def _solve_failures(
    scenario: Scenario, network: Mapping[str, Any], impacts: Sequence[FailureImpact]
) -> Iterable[tuple[FailureImpact, FluidState]]:
    """The state that each failure ends in."""
    compiled = compile_impacts(scenario, impacts, find_failure_time(scenario, None))
    solver = FailureSolver(network)
    for impact, failure in zip(impacts, compiled, strict=True):
        yield impact, solver.solve([failure], scenario.run.seed)[-1][1]


def _judge_states(
    scenario: Scenario,
    network: Mapping[str, Any],
    states: Mapping[str, tuple[FluidState, LinkWaits]],
    composer: DelayComposer,
    first: Any,
    check: FullCheck,
) -> tuple[tuple[ClassDelay, ...], tuple[DelayJudgement, ...]]:
    names = [flow["name"] for flow in network["flows"]]
    bounds = scenario.list_sla_bounds()
    classes: list[ClassDelay] = []
    judgements: list[DelayJudgement] = []
    for failure, (state, links) in states.items():
        delays = composer.compose(collect_path_waits(state, links, first))
        service = ServiceDelays(network["flows"], [ServicePhase.from_state(1.0, state, delays)])
        classes += [_summarise_class(service, names, failure, code) for code in service.members]
        judgements += [_judge_bound(service, failure, bound, check) for bound in bounds]
    return tuple(classes), tuple(judgements)


def _summarise_class(
    service: ServiceDelays, names: Sequence[str], failure: str, code: str
) -> ClassDelay:
    flows, (phase,) = service.members[code], service.phases
    alive = flows[~phase.is_cut[flows]]
    p99 = phase.delays.quantiles["p99"]
    worst = int(alive[p99[alive].argmax()]) if len(alive) else None
    number = list(service.members).index(code)
    of_class = float(phase.delays.aggregate_quantiles["p99"][number])
    return ClassDelay(
        failure,
        code,
        of_class if len(alive) else None,
        "" if worst is None else names[worst],
        None if worst is None else float(p99[worst]),
        service.average_loss(flows),
        int(phase.is_cut[flows].sum()),
    )


def _judge_bound(
    service: ServiceDelays, failure: str, bound: SlaBound, check: FullCheck
) -> DelayJudgement:
    """Judge the worst row of a bound."""
    worst: tuple[float, str, float | None, float | None] | None = None
    for row in bound.rows:
        value, error = service.measure(bound, row, check)
        severity = np.inf if value is None else value
        if worst is None or severity > worst[0]:
            worst = (float(severity), row, value, error)
    assert worst is not None
    _, row, value, error = worst
    outcome = _decide(bound, value, error)
    if value == np.inf:
        value = None
    return DelayJudgement(
        bound.sla, failure, row, bound.measure, bound.unit, bound.value, value, error, outcome
    )


def _decide(bound: SlaBound, value: float | None, error: float | None) -> DelayOutcome:
    if value is None or error is None:
        return "not judged"
    if bound.at == "least":
        return "not judged"
    if value + error <= bound.value:
        return "held"
    return "broken" if value - error > bound.value else "undecided"
