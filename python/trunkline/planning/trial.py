"""The worst failures in the packet engine: before, through and after each, judged by agreements.

It is a study, whose points are the failures: it can be resumed, shared out and run on a cluster.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from trunkline.network import compile
from trunkline.network.recovery import failure_of
from trunkline.scenario.recovery import Failure
from trunkline.stats import mean_interval
from trunkline.study.run.measure import of_columns
from trunkline.study.run.plan import Plan, Point

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.sla import Bound
    from trunkline.study import Runs

__all__ = ["Kept", "kept", "plan_of"]

Outcome = Literal["held", "refuted", "undecided"]
FAILURE = "failure"
"""Label of the points."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Whether a bound of an agreement is kept through a failure.

    Parameters
    ----------
    sla : str
        Name of the agreement.
    failure : str
        What fails.
    row : str
        Flow or class, that whose mean is farthest on the wrong side.
    measure : str
        What is bounded.
    unit : {"s", "1", "bit/s"}
        Unit of the bound and the values.
    at : {"most", "least"}
        Which side the bound is on.
    bound : float
        The bound.
    value : float or None
        Mean over the runs; None where some run has no value, since nothing arrived.
    low, high : float or None
        Its 95 % interval by Student's t.
    runs : int
        Seeds.
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


def plan_of(
    scenario: Scenario, failures: Mapping[str, Mapping[str, Any]], *, at: int | None, runs: int
) -> Plan:
    """A study of failures.

    Parameters
    ----------
    scenario : Scenario
        Whose own failures are left out.
    failures : mapping of str to mapping
        Keys in the section `failures` of a scenario, by name.
    at : int, optional
        When each begins [ns]; by default a quarter into the measured time.
    runs : int
        Seeds of each.

    Returns
    -------
    Plan
        A point for each failure.

    Raises
    ------
    ValueError
        The failure is not within the run.
    """
    run = scenario.resolved().run
    begins = run.warm_up + (run.duration - run.warm_up) // 4 if at is None else at
    if not 0 <= begins < run.duration:
        raise ValueError("the failure must begin within the run")
    network = compile(scenario).to_json()
    measure = of_columns(_columns(scenario.bounds()), ())
    points = [
        Point(
            _failing(scenario, network, name, Failure(**said, at=begins)),
            range(1, runs + 1),
            measure,
            labels={FAILURE: name},
            scenario=lambda: scenario.text,
        )
        for name, said in failures.items()
    ]
    name = f"{scenario.name or 'scenario'}-failures"
    return Plan(name, f"Failures of {scenario.name or 'a scenario'}", points)


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
    return "flow" if bound.table == "flows" else "class"


def _column(bound: Bound, row: str) -> str:
    return f"{_key(bound)} {row}: {bound.column}"


def kept(bounds: Sequence[Bound], runs: Runs) -> tuple[Kept, ...]:
    """Hold the runs of a plan to agreements.

    Parameters
    ----------
    bounds : sequence of Bound
        From ``Scenario.bounds()``.
    runs : Runs
        Of a plan made by `plan_of`.

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
