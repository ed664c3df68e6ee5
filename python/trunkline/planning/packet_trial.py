"""The worst failures in the packet engine: before, during and after each, judged by agreements.

The runs also measure two values of the screen: the lost load, and the utilisation of the link that
is worst in the screen. The runs are a study whose points are the failures: it can be resumed,
sharded and run on a cluster.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trunkline.network import compile
from trunkline.network.recovery import compile_failure
from trunkline.results import dscp
from trunkline.scenario.recovery import Failure
from trunkline.stats import mean_interval
from trunkline.study.run.run_measures import build_measure
from trunkline.study.run.run_plan import RunPlan, StudyPoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trunkline.network.types import NetworkData
    from trunkline.planning.failure_screening import FailureImpact
    from trunkline.scenario import Scenario
    from trunkline.scenario.sla import SlaBound
    from trunkline.study import Runs

BoundOutcome = Literal["held", "refuted", "undecided", "not judged"]
FAILURE_LABEL = "failure"  # Label of the points.
SENT_PREFIX, ARRIVED_PREFIX, USE_PREFIX = "sent ", "arrived ", "use "
"""Prefixes of the names of values that a screen is compared with."""


@dataclass(frozen=True, slots=True)
class ScreenDeviation:
    """The value of the screen for a failure next to the value measured with packets."""

    failure: str
    # Load that does not arrive [bit/s], or utilisation of a link [1]: means over the measured time,
    # of which the failure takes a part.
    measure: Literal["lost", "utilisation"]
    link: str  # The link of the utilisation; empty for the loss.
    # Value of the fluid model: before the failure and, from its beginning on, after all has
    # switched. A link carries at most its rate; load above it on the worst link is lost.
    screen: float
    # packets, low, high: Mean over the seeds and its 95 % interval, including the gap until all has
    # switched.
    packets: float
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SlaOutcome:
    """The verdict whether a bound of an agreement holds during a failure."""

    sla: str  # Name of the agreement.
    failure: str
    row: str  # The flow or DSCP whose mean is farthest on the wrong side.
    measure: str
    unit: str  # one of "s", "1", "bit/s"; unit of the bound and the values.
    at: str  # one of "most", "least"; side of the bound.
    bound: float
    # Mean over the runs; None if some run has no value, since nothing arrived. Of the screen its
    # mean; None where it has none.
    value: float | None
    # low, high: Its 95 % interval by Student's t; of the screen the limits of the value with their
    # error, None without a limit.
    low: float | None
    high: float | None
    runs: int  # Packet runs; 0 of the screen.
    # Whether the whole interval is on the right side, on the wrong one, or neither. A measure
    # without a value in packets is refuted. Not judged: the limits of the screen do not decide and
    # no packets ran, or a flow sends nothing.
    outcome: BoundOutcome
    # Source of the decision: packets, the screen, or links simulated alone.
    by: Literal["packets", "screen", "links"] = "packets"

    @property
    def relative_margin(self) -> float | None:
        """Distance from the nearer limit of the bound, over the bound; negative beyond it [1]."""
        limit = self.high if self.at == "most" else self.low
        if limit is None:
            return None
        gap = self.bound - limit if self.at == "most" else limit - self.bound
        return gap / self.bound if self.bound else math.copysign(math.inf, gap) if gap else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def plan_failure_runs(
    scenario: Scenario, failures: Sequence[FailureImpact], *, at_ns: int | None, runs: int
) -> RunPlan:
    """Plan a study of failures without the failures of the scenario itself.

    ``at_ns`` is the begin of each [ns], by default a quarter into the measured time.

    Raises ValueError: The failure is not within the run.
    """
    begin_ns = find_failure_time(scenario, at_ns)
    network = compile(scenario)
    bounds = _list_bound_columns(scenario.list_sla_bounds())
    points = [
        StudyPoint(
            _add_failure(network.to_json(), compiled),
            range(1, runs + 1),
            build_measure(bounds | _list_screen_columns(network.data, impact.worst_link), ()),
            labels={FAILURE_LABEL: impact.failure},
            scenario=lambda: scenario.text,
        )
        for impact, compiled in zip(
            failures, compile_impacts(scenario, failures, begin_ns), strict=True
        )
    ]
    name = f"{scenario.name or 'scenario'}-failures"
    return RunPlan(name, f"Failures of {scenario.name or 'a scenario'}", points)


def find_failure_time(scenario: Scenario, at_ns: int | None) -> int:
    """Find when failures begin [ns]: by default after a quarter of the measured time.

    Raises ValueError: That is not within the run.
    """
    run = scenario.resolve().run
    begin_ns = run.warm_up + (run.duration - run.warm_up) // 4 if at_ns is None else at_ns
    if not 0 <= begin_ns < run.duration:
        raise ValueError("the failure must begin within the run")
    return begin_ns


def _list_screen_columns(network: NetworkData, link: str) -> dict[str, dict[str, Any]]:
    """List the measures to compare with the screen: load sent and delivered, use of a link."""
    dscp_names = dict.fromkeys(dscp.name_code_point(flow["dscp"]) for flow in network["flows"])
    port = next(
        network_link["port"] for network_link in network["links"] if network_link["name"] == link
    )
    classes = [each["name"] for each in network["ports"][port]["classes"]]

    def column(table: str, measure: str, unit: str, **where: str) -> dict[str, Any]:
        return {"table": table, "measure": measure, "where": where, "unit": unit, "scale": 1.0}

    columns = {}
    for name in dscp_names:
        columns[SENT_PREFIX + name] = column("aggregates", "offered_bit_s", "bit/s", dscp=name)
        columns[ARRIVED_PREFIX + name] = column(
            "aggregates", "throughput_bit_s", "bit/s", dscp=name
        )
    for name in classes:
        where = {"link": link, "class": name}
        columns[USE_PREFIX + name] = column("ports", "utilisation", "1", **where)
    return columns


def measure_deviations(
    scenario: Scenario, failures: Sequence[FailureImpact], runs: Runs, *, at_ns: int | None
) -> tuple[ScreenDeviation, ...]:
    """Compare screen and packets, with two deviations for each failure, in their order."""
    run, begin_ns = scenario.resolve().run, find_failure_time(scenario, at_ns)
    failure_share = (run.duration - max(begin_ns, run.warm_up)) / (run.duration - run.warm_up)
    by_name = {each.failure: each for each in failures}
    rates = {arc.name: arc.options.rate or 0 for arc in scenario.resolve().arcs}
    deviations = []
    for (failure,), rows in runs.table.group_by([FAILURE_LABEL], maintain_order=True):
        impact = by_name[str(failure)]
        columns = {name: rows[name].to_list() for name in rows.columns}
        lost_rates = _sum_columns(columns, SENT_PREFIX) - _sum_columns(columns, ARRIVED_PREFIX)
        utilisations = _sum_columns(columns, USE_PREFIX)
        expected_use = failure_share * min(impact.mlu, 1.0) + (1 - failure_share) * min(
            impact.before, 1.0
        )
        excess = failure_share * max(impact.mlu - 1, 0.0) + (1 - failure_share) * max(
            impact.before - 1, 0.0
        )
        expected_loss = (
            failure_share * impact.lost_bit_s * scenario.scale + excess * rates[impact.worst_link]
        )
        estimate = mean_interval(lost_rates.tolist())
        deviations.append(
            ScreenDeviation(
                impact.failure,
                "lost",
                "",
                expected_loss,
                estimate.mean,
                estimate.low,
                estimate.high,
            )
        )
        estimate = mean_interval(utilisations.tolist())
        interval = (estimate.mean, estimate.low, estimate.high)
        deviations.append(
            ScreenDeviation(
                impact.failure, "utilisation", impact.worst_link, expected_use, *interval
            )
        )
    return tuple(deviations)


def _sum_columns(columns: Mapping[str, list[float | None]], prefix: str) -> NDArray[np.float64]:
    """Sum the values of every run whose names have the prefix; absent classes count nothing."""
    selected = [values for name, values in columns.items() if name.startswith(prefix)]
    matrix = np.array([[value or 0.0 for value in values] for values in selected], dtype=np.float64)
    total: NDArray[np.float64] = np.nan_to_num(matrix).sum(axis=0)
    return total


def compile_impacts(
    scenario: Scenario, impacts: Sequence[FailureImpact], begin_ns: int
) -> list[dict[str, Any]]:
    """Screened failures as compiled networks have them, each from `begin_ns` on."""
    resolved = scenario.resolve()
    links = {arc: index for index, arc in enumerate(resolved.arc_by_name)}
    return [
        compile_failure(resolved, links, each.failure, Failure(**each.scenario_keys, at=begin_ns))
        for each in impacts
    ]


def compile_without_failures(scenario: Scenario) -> dict[str, Any]:
    """The compiled network, parsed from its JSON, with its recovery but without its failures."""
    network: dict[str, Any] = json.loads(compile(scenario).to_json())
    recovery = (network.pop("recovery", None) or {}) | {"failures": []}
    return network | ({"recovery": recovery} if len(recovery) > 1 else {})


def _add_failure(network: str, failure: Mapping[str, Any]) -> str:
    """Replace the failures of the compiled network by this one."""
    data = json.loads(network)
    data["recovery"] = (data.get("recovery") or {"protections": [], "rerouting": None}) | {
        "failures": [failure]
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _list_bound_columns(bounds: Iterable[SlaBound]) -> dict[str, dict[str, Any]]:
    return {
        _name_column(bound, row): {
            "table": bound.table,
            "measure": bound.column,
            "where": {_get_row_key(bound): row},
            "unit": bound.unit,
            "scale": 1.0,
        }
        for bound in bounds
        for row in bound.rows
    }


def _get_row_key(bound: SlaBound) -> str:
    return "flow" if bound.table == "flows" else "dscp"


def _name_column(bound: SlaBound, row: str) -> str:
    return f"{_get_row_key(bound)} {row}: {bound.column}"


def judge_slas(bounds: Sequence[SlaBound], runs: Runs) -> tuple[SlaOutcome, ...]:
    """Judge the runs of a plan by agreements: failures in the order of the plan, then bounds."""
    outcomes = []
    for (failure,), rows in runs.table.group_by([FAILURE_LABEL], maintain_order=True):
        for bound in bounds:
            of_row = {row: rows[_name_column(bound, row)].to_list() for row in bound.rows}
            outcomes.append(_judge_bound(bound, str(failure), of_row))
    return tuple(outcomes)


def _judge_bound(
    bound: SlaBound, failure: str, of_row: Mapping[str, list[float | None]]
) -> SlaOutcome:
    def measure_violation(row: str) -> float:
        values = of_row[row]
        if any(value is None or math.isnan(value) for value in values):
            return math.inf
        mean = math.fsum(v for v in values if v is not None) / len(values)
        return mean - bound.value if bound.at == "most" else bound.value - mean

    row = max(of_row, key=measure_violation)
    values = [value for value in of_row[row] if value is not None and not math.isnan(value)]
    count = len(of_row[row])
    identity = (bound.sla, failure, row, bound.measure, bound.unit, bound.at, bound.value)
    if len(values) < count:
        return SlaOutcome(*identity, None, None, None, count, "refuted")
    interval = mean_interval(values)
    return SlaOutcome(
        *identity,
        interval.mean,
        interval.low,
        interval.high,
        count,
        _decide_outcome(bound, interval.low, interval.high),
    )


def _decide_outcome(bound: SlaBound, low: float | None, high: float | None) -> BoundOutcome:
    if low is None or high is None:
        return "undecided"
    if bound.at == "least":
        low, high = -high, -low
    limit = bound.value if bound.at == "most" else -bound.value
    if high <= limit:
        return "held"
    return "refuted" if low > limit else "undecided"
