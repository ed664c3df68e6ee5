"""The worst failures in the packet engine: before, through and after each, judged by agreements.

Beside the agreements two figures of the screen are measured: the load that is lost, and the use of
the link that the screen says is worst.

It is a study, whose points are the failures: it can be resumed, shared out and run on a cluster.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trunkline.network import compile
from trunkline.network.recovery import failure_of
from trunkline.results import dscp
from trunkline.scenario.recovery import Failure
from trunkline.stats import mean_interval
from trunkline.study.run.measure import of_columns
from trunkline.study.run.plan import Plan, Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trunkline.network.types import Network
    from trunkline.planning.survive import Failed
    from trunkline.scenario import Scenario
    from trunkline.scenario.sla import Bound
    from trunkline.study import Runs

Outcome = Literal["held", "refuted", "undecided"]
FAILURE = "failure"
"""Label of the points."""
SENT, ARRIVED, USE = "sent ", "arrived ", "use "
"""What the names of values begin with that a screen is compared with."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What the screen says of a failure beside what packets do.

    Parameters
    ----------
    measure : {"lost", "utilisation"}
        Load that does not arrive [bit/s], or utilisation of a link [1]: means over the measured
        time, of which the failure takes a part.
    link : str
        Of the utilisation; empty of the loss.
    screen : float
        By the fluid model: before the failure and, from its beginning on, after all has switched.
        A link carries no more than its rate; what is above it on the worst link is lost.
    packets, low, high : float or None
        Mean over the seeds and its 95 % interval, the gap until all has switched included.
    """

    failure: str
    measure: Literal["lost", "utilisation"]
    link: str
    screen: float
    packets: float
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Kept:
    """Whether a bound of an agreement is kept through a failure.

    Parameters
    ----------
    sla : str
        Name of the agreement.
    row : str
        Flow or DSCP, that whose mean is farthest on the wrong side.
    unit : {"s", "1", "bit/s"}
        Unit of the bound and the values.
    at : {"most", "least"}
        Which side the bound is on.
    value : float or None
        Mean over the runs; None where some run has no value, since nothing arrived.
    low, high : float or None
        Its 95 % interval by Student's t.
    outcome : {"held", "refuted", "undecided"}
        Whether the whole interval is on the right side, on the wrong one, or neither. A measure
        without a value is refuted.
    """

    sla: str
    failure: str
    row: str
    measure: str
    unit: str
    at: str
    bound: float
    value: float | None
    low: float | None
    high: float | None
    runs: int
    outcome: Outcome

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def plan_of(scenario: Scenario, failures: Sequence[Failed], *, at: int | None, runs: int) -> Plan:
    """A study of failures.

    Parameters
    ----------
    scenario : Scenario
        Whose own failures are left out.
    at : int, optional
        When each begins [ns]; by default a quarter into the measured time.

    Raises
    ------
    ValueError
        The failure is not within the run.
    """
    begins = _begins(scenario, at)
    network = compile(scenario)
    bounds = _columns(scenario.bounds())
    points = [
        Point(
            _failing(scenario, network.to_json(), each.failure, Failure(**each.said, at=begins)),
            range(1, runs + 1),
            of_columns(bounds | _screened(network.data, each.worst_link), ()),
            labels={FAILURE: each.failure},
            scenario=lambda: scenario.text,
        )
        for each in failures
    ]
    name = f"{scenario.name or 'scenario'}-failures"
    return Plan(name, f"Failures of {scenario.name or 'a scenario'}", points)


def _begins(scenario: Scenario, at: int | None) -> int:
    """When the failures begin [ns]."""
    run = scenario.resolved().run
    begins = run.warm_up + (run.duration - run.warm_up) // 4 if at is None else at
    if not 0 <= begins < run.duration:
        raise ValueError("the failure must begin within the run")
    return begins


def _screened(network: Network, link: str) -> dict[str, dict[str, Any]]:
    """What the screen is compared with: load sent and delivered, and the use of a link."""
    named = dict.fromkeys(dscp.name(flow["dscp"]) for flow in network["flows"])
    port = next(its["port"] for its in network["links"] if its["name"] == link)
    classes = [each["name"] for each in network["ports"][port]["classes"]]

    def column(table: str, measure: str, unit: str, **where: str) -> dict[str, Any]:
        return {"table": table, "measure": measure, "where": where, "unit": unit, "scale": 1.0}

    found = {}
    for name in named:
        found[SENT + name] = column("aggregates", "offered_bit_s", "bit/s", dscp=name)
        found[ARRIVED + name] = column("aggregates", "throughput_bit_s", "bit/s", dscp=name)
    for name in classes:
        where = {"link": link, "class": name}
        found[USE + name] = column("ports", "utilisation", "1", **where)
    return found


def gaps(
    scenario: Scenario, failures: Sequence[Failed], runs: Runs, *, at: int | None
) -> tuple[Gap, ...]:
    """The screen beside the packets.

    Returns
    -------
    tuple of Gap
        Two of each failure, in their order.
    """
    run, begins = scenario.resolved().run, _begins(scenario, at)
    part = (run.duration - max(begins, run.warm_up)) / (run.duration - run.warm_up)
    by_name = {each.failure: each for each in failures}
    rates = {arc.name: arc.options.rate or 0 for arc in scenario.resolved().arcs}
    found = []
    for (failure,), rows in runs.table.group_by([FAILURE], maintain_order=True):
        its = by_name[str(failure)]
        columns = {name: rows[name].to_list() for name in rows.columns}
        lost = _total(columns, SENT) - _total(columns, ARRIVED)
        use = _total(columns, USE)
        expected = part * min(its.mlu, 1.0) + (1 - part) * min(its.before, 1.0)
        over_rate = part * max(its.mlu - 1, 0.0) + (1 - part) * max(its.before - 1, 0.0)
        rate = part * its.lost_bit_s * scenario.scale + over_rate * rates[its.worst_link]
        over = mean_interval(lost.tolist())
        found.append(Gap(its.failure, "lost", "", rate, over.mean, over.low, over.high))
        over = mean_interval(use.tolist())
        ends = (over.mean, over.low, over.high)
        found.append(Gap(its.failure, "utilisation", its.worst_link, expected, *ends))
    return tuple(found)


def _total(columns: Mapping[str, list[float | None]], begin: str) -> NDArray[np.float64]:
    """Sum of the values whose names begin so, of every run; a class that is not there is none."""
    chosen = [its for name, its in columns.items() if name.startswith(begin)]
    whole = np.array([[value or 0.0 for value in its] for its in chosen], dtype=np.float64)
    total: NDArray[np.float64] = np.nan_to_num(whole).sum(axis=0)
    return total


def _failing(scenario: Scenario, network: str, name: str, failure: Failure) -> str:
    """The compiled network with this failure alone."""
    data = json.loads(network)
    its = scenario.resolved()
    links = {arc: index for index, arc in enumerate(its.arc)}
    data["recovery"] = (data.get("recovery") or {"protections": [], "rerouting": None}) | {
        "failures": [failure_of(its, links, name, failure)]
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _columns(bounds: Iterable[Bound]) -> dict[str, dict[str, Any]]:
    return {
        _column(bound, row): {
            "table": bound.table,
            "measure": bound.column,
            "where": {_key(bound): row},
            "unit": bound.unit,
            "scale": 1.0,
        }
        for bound in bounds
        for row in bound.rows
    }


def _key(bound: Bound) -> str:
    return "flow" if bound.table == "flows" else "dscp"


def _column(bound: Bound, row: str) -> str:
    return f"{_key(bound)} {row}: {bound.column}"


def kept(bounds: Sequence[Bound], runs: Runs) -> tuple[Kept, ...]:
    """Hold the runs of a plan to agreements.

    Returns
    -------
    tuple of Kept
        Failures in the order of the plan, bounds in theirs.
    """
    found = []
    for (failure,), rows in runs.table.group_by([FAILURE], maintain_order=True):
        for bound in bounds:
            of_row = {row: rows[_column(bound, row)].to_list() for row in bound.rows}
            found.append(_judged(bound, str(failure), of_row))
    return tuple(found)


def _judged(bound: Bound, failure: str, of_row: Mapping[str, list[float | None]]) -> Kept:
    def badness(row: str) -> float:
        values = of_row[row]
        if any(value is None or math.isnan(value) for value in values):
            return math.inf
        mean = math.fsum(v for v in values if v is not None) / len(values)
        return mean - bound.value if bound.at == "most" else bound.value - mean

    row = max(of_row, key=badness)
    values = [value for value in of_row[row] if value is not None and not math.isnan(value)]
    count = len(of_row[row])
    said = (bound.sla, failure, row, bound.measure, bound.unit, bound.at, bound.value)
    if len(values) < count:
        return Kept(*said, None, None, None, count, "refuted")
    its = mean_interval(values)
    return Kept(*said, its.mean, its.low, its.high, count, _outcome(bound, its.low, its.high))


def _outcome(bound: Bound, low: float | None, high: float | None) -> Outcome:
    if low is None or high is None:
        return "undecided"
    if bound.at == "least":
        low, high = -high, -low
    limit = bound.value if bound.at == "most" else -bound.value
    if high <= limit:
        return "held"
    return "refuted" if low > limit else "undecided"
