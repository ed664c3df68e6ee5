"""Replications of a study until what its claims compare is sure.

A claim compares points that have the same seeds, and so the same random numbers: the interval of a
difference seed by seed often takes fewer runs than that of two means with seeds of their own.
Tables without close comparisons take fewer runs than the others.

Source: A. M. Law, Simulation Modeling and Analysis, sections 9.4.1 (stopping by precision) and 11.2
(common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline.stats import Precision, mean_interval, plan_runs
from trunkline.stats.stopping import FIRST_RUNS
from trunkline.study.language import formula
from trunkline.study.language.claims import Claim, TableValues
from trunkline.study.language.model import Study
from trunkline.study.run import runner
from trunkline.study.run.data_set import Runs
from trunkline.study.run.replication import EndedRuns, read_ended_runs
from trunkline.study.run.run_plan import RunPlan

_SHUFFLES = 16  # Orders of the seeds over which the spread without common ones is averaged.


@dataclass(frozen=True, slots=True)
class ClaimPrecision:
    """Precision of a claim: of its comparison that is the least sure for the values it compares.

    Parameters
    ----------
    claim : str
        Its name.
    tables : frozenset of str
        Tables that it uses.
    precision : Precision
        The seeds that all these tables have; half of the widest 95 % interval of a difference over
        the larger mean of its two sides, None where nothing in the claim has an interval.
    """

    claim: str
    tables: frozenset[str]
    precision: Precision


@dataclass(frozen=True, slots=True)
class ClaimReplication:
    """How sure the claims of a study are, and what that cost.

    Parameters
    ----------
    wanted : float
        Half of an interval over the larger of the two sides.
    claims : list of ClaimPrecision
        Those whose values are known.
    points, runs : int
        Points of the tables that claims use, and their runs.
    equal_runs, plain_runs : int
        Runs that these points probably need for the same precision if all have as many: with the
        same seeds, and with seeds of their own.
    events_share : float
        Events of the runs made over those of `plain_runs`.
    """

    wanted: float
    claims: list[ClaimPrecision]
    points: int
    runs: int
    equal_runs: int
    plain_runs: int
    events_share: float

    @property
    def unsure(self) -> list[ClaimPrecision]:
        """The claims that are not as sure as wanted, the least sure first."""
        found = [each for each in self.claims if not each.precision.reached]
        return sorted(found, key=lambda each: -(each.precision.relative or math.inf))

    def to_json(self) -> dict[str, Any]:
        """Build the object ``precision`` of a reproduction."""
        claims = [
            {
                "name": each.claim,
                "tables": sorted(each.tables),
                "runs": each.precision.runs,
                "reached": each.precision.reached,
                "relative": each.precision.relative,
            }
            for each in self.claims
        ]
        return {**asdict(self), "claims": claims}

    def describe(self) -> str:
        """Describe it in a line."""
        share = f"± {100 * self.wanted:g} %"
        if self.unsure:
            worst = self.unsure[0]
            width = worst.precision.relative
            sure = "has no interval" if width is None else f"is sure to ± {100 * width:.2g} %"
            head = (
                f"NOT ENOUGH RUNS: {len(self.unsure)} of {len(self.claims)} claims do not reach "
                f"{share}; the worst: {worst.claim} {sure}; {self.runs} runs of {self.points} "
                "points"
            )
        else:
            head = (
                f"{self.runs} runs of {self.points} points make {len(self.claims)} claims sure to "
                f"{share}"
            )
        return (
            f"{head}; plain replication, equal runs of all points with seeds of their own, would "
            f"need about {self.plain_runs}, with common seeds {self.equal_runs}; "
            f"{100 * self.events_share:.2g} % of its events were simulated"
        )


class SureClaims:
    """The goal that all that claims compare is sure, or has the most runs that it may have.

    All points of a table have as many runs. Tables that no claim uses have the number of the study.

    plan: Points of all tables of the study; their seeds are disregarded.
    target: Half of the 95 % interval over the larger of the two sides, above 0 and below 1.
    max_runs: Maximum number of runs of a point.
    """

    def __init__(self, study: Study, plan: RunPlan, target: float, *, max_runs: int) -> None:
        self._study, self._plan = study, plan
        self._target, self._max_runs = target, max_runs
        self._first_runs = min(FIRST_RUNS, max_runs)
        self._tables_by_claim = {each.name: _list_used_tables(study, each) for each in study.claims}
        # Table of each point.
        self._tables = [table for table in study.list_tables() for _ in table.points]

    def plan_counts(self, counts: Sequence[int], ended_runs: EndedRuns) -> list[int]:
        """Plan the runs of each table by the claims that use it."""
        if any(counts):
            runs = read_ended_runs(self._plan.set_run_counts(counts), ended_runs)
            values = runner.read_study_values(self._study, runs)
            wanted = dict(values.run_counts)
            for each in self._assess_claims(values):
                planned = plan_runs(each.precision, self._target, max_runs=self._max_runs)
                wanted |= {table: max(wanted[table], planned) for table in each.tables}
        else:
            wanted = {table.name: table.runs for table in self._tables}
            for used in self._tables_by_claim.values():
                wanted |= dict.fromkeys(used, self._first_runs)
        return [wanted[table.name] for table in self._tables]

    def _assess_claims(self, values: runner.StudyValues) -> list[ClaimPrecision]:
        """Assess each claim whose values are known: more runs would not make the others so."""
        scope = runner.build_table_values(self._study, values.columns)
        found = []
        for claim in self._study.claims:
            widths = _list_widths(claim, scope)
            if widths is None:
                continue
            used = self._tables_by_claim[claim.name]
            width = widths.find_widest()
            precision = Precision(
                min(values.run_counts[table] for table in used),
                width <= _get_greatest_width(self._target),
                claim.name,
                width if math.isfinite(width) else None,
            )
            found.append(ClaimPrecision(claim.name, used, precision))
        return found

    def summarise(self, runs: Runs) -> ClaimReplication:
        """Summarise how sure the claims are after all runs, and what plain replication would cost.

        The width of an interval falls as one over the root of the number of runs. Without common
        seeds it is that of the same values with the seeds of each point in an order of its own.
        """
        values = runner.read_study_values(self._study, runs)
        claims = self._assess_claims(values)
        plain_widths = self._estimate_plain_widths(values)
        widest = max(
            [_get_greatest_width(self._target), *(each.precision.relative or 0 for each in claims)]
        )
        equal = plain = self._first_runs
        for each in claims:
            width = each.precision.relative or 0
            plain_width = plain_widths.get(each.claim, 0)
            equal = max(equal, math.ceil(each.precision.runs * (width / widest) ** 2))
            plain = max(plain, math.ceil(each.precision.runs * (plain_width / widest) ** 2))
        used = {table for each in claims for table in each.tables}
        events = dict(runs.table.select("point", "events").group_by("point").mean().iter_rows())
        costs = [
            (values.run_counts[table.name], events[place])
            for place, table in enumerate(self._tables)
            if table.name in used
        ]
        simulated = sum(count * event_count for count, event_count in costs)
        return ClaimReplication(
            self._target,
            claims,
            points=len(costs),
            runs=sum(count for count, _ in costs),
            equal_runs=equal * len(costs),
            plain_runs=plain * len(costs),
            events_share=simulated / (plain * sum(each for _, each in costs)) if simulated else 1.0,
        )

    def _estimate_plain_widths(self, values: runner.StudyValues) -> dict[str, float]:
        """Estimate how wide each claim's widest interval is if each point has seeds of its own."""
        random = np.random.Generator(np.random.Philox(key=1))
        scopes = [
            runner.build_table_values(self._study, columns)
            for columns in (
                values.columns,
                *(
                    runner.shuffle_seeds(self._study, values.columns, random)
                    for _ in range(_SHUFFLES)
                ),
            )
        ]
        found = {}
        for claim in self._study.claims:
            own, *shuffled = (_list_widths(claim, scope) for scope in scopes)
            halves = [each.halves for each in shuffled if each is not None]
            if own is not None and halves:
                # Sides that are zero are equal in pairs alone: no number of others shows that.
                mean_halves = np.sqrt(np.mean(np.square(halves), axis=0)) * (own.sizes > 0)
                found[claim.name] = replace(own, halves=mean_halves).find_widest()
        return found


@dataclass(frozen=True, slots=True)
class _Widths:
    """The intervals of a claim's cells, of those that have one."""

    halves: NDArray[np.float64]  # Half of each interval.
    sizes: NDArray[np.float64]  # The larger mean of the two sides that are compared.

    def find_widest(self) -> float:
        """Find the widest for its size: 0 without any, infinite where both sides are zero."""
        with np.errstate(divide="ignore"):
            shares = np.divide(
                self.halves, self.sizes, out=np.zeros_like(self.halves), where=self.halves > 0
            )
        return float(shares.max(initial=0.0))


def _get_greatest_width(target: float) -> float:
    """The share of our mean that is surely within a share of the true one (Law, 9.4.1)."""
    return target / (1 + target)


def _list_widths(claim: Claim, scope: TableValues) -> _Widths | None:
    """List the intervals of a claim; None if a value of it is not known."""
    comparisons = claim.compare(scope)
    if comparisons is None:
        return None
    found = [
        (half_width, size)
        for sides in comparisons
        for differences, size in sides.list_differences()
        if (half_width := mean_interval(differences).half_width) is not None
    ]
    halves, sizes = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return _Widths(halves, sizes)


def _list_used_tables(study: Study, claim: Claim) -> frozenset[str]:
    """List the tables of a claim's formula, and those that the formulas of their columns use."""
    tables = {table.name: table for table in study.list_tables()}
    found: set[str] = set()
    waiting = claim.list_tables(next(iter(tables)))
    while waiting:
        name = waiting.pop()
        found.add(name)
        for column in tables[name].columns.values():
            if column.value is not None:
                tree = formula.parse_formula(column.value, claim=False)
                used = {table for table, _, _ in formula.iterate_references(tree) if table}
                waiting |= used - found
    return frozenset(found)
