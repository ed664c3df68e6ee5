"""Verdicts of a failure study: the aggregates that break under each failure, and by how much.

A row is a failure and an aggregate (the flows of one DSCP); its numbers are the worst of all runs,
as agreements hold in every run. The margin is what the worst value leaves of its bound, over the
bound; negative: broken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.results.terminal_tables import add_text_row, begin_table
from trunkline.scenario.sla import SlaBound
from trunkline.stats.service_levels import format_bound_value
from trunkline.study.run.run_measures import DSCP_MEASURES, DSCP_PREFIX, name_bound_value

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.study.run.data_set import Runs

MAX_VERDICTS_SHOWN = 12
"""Pairs of failure and aggregate that a terminal shows, and failures of its matrix."""
NO_FAILURE = "no failure"  # A point in which nothing fails, besides those in which something does.


@dataclass(frozen=True, slots=True)
class FailureVerdict:
    """An aggregate under a failure."""

    failure: str  # Failing element, and the other parameters of the point.
    dscp: str  # Of all its flows.
    # loss, delay_p99, jitter: Greatest of all runs [1, s, s]; nan where some run has none, as
    # nothing arrived.
    loss: float
    delay_p99: float
    jitter: float
    bound: SlaBound | None  # The bound with the least margin; None if no agreement is about it.
    worst: float  # Its worst value, in its unit.
    # Of that, over the bound; minus infinity where nothing arrived, nan without a bound.
    margin: float
    # broken, runs: Runs in which it breaks some bound, of how many.
    broken: int
    runs: int

    @property
    def outcome(self) -> str:
        """``met``, ``BROKEN``, or a dash where nothing is promised."""
        if self.bound is None:
            return "–"
        if not self.broken:
            return "met"
        return "BROKEN" if self.broken == self.runs else f"BROKEN in {self.broken} of {self.runs}"

    def describe(self) -> str:
        """Describe the excess: the bound, the worst value and the share."""
        if self.bound is None:
            return f"loss {format_bound_value(self.loss, '1')}"
        measure, unit = self.bound.measure, self.bound.unit
        bound = f"at {self.bound.at} {format_bound_value(self.bound.value, unit)}"
        found = "nothing arrived"
        if not math.isnan(self.worst):
            found = format_bound_value(self.worst, unit)
        if math.isinf(self.margin):
            return f"{found} where {measure} {bound} is promised"
        return f"{measure} {found} where {bound} is promised, {format_margin(self)}"


def format_margin(verdict: FailureVerdict) -> str:
    """Format the margin as people read it: ``12 % left``, ``85 % beyond``."""
    if math.isnan(verdict.margin):
        return "–"
    if math.isinf(verdict.margin):
        return "beyond"
    return f"{100 * abs(verdict.margin):.3g} % {'left' if verdict.margin >= 0 else 'beyond'}"


def _compute_relative_margin(bound: SlaBound, value: float) -> float:
    if math.isnan(value):
        return -math.inf
    gap = bound.value - value if bound.at == "most" else value - bound.value
    if bound.value:
        return gap / bound.value
    return 0.0 if gap >= 0 else -math.inf


def list_failure_verdicts(runs: Runs) -> list[FailureVerdict]:
    """Failures and aggregates of a study, the worst first; empty if nothing fails in it."""
    points = runs.manifest["points"]
    if not any(point.get("failing") for point in points):
        return []
    measures = [json.loads(text) for text in runs.manifest["measures"]]
    rows: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    varying = _find_varying_labels(points)
    for row in runs.table.iter_rows(named=True):
        point = points[row["point"]]
        rows.setdefault((_describe_failure(point, varying), point["measure"]), []).append(row)
    verdicts = [
        _build_verdict(failure, dscp, slas, measures[index], point_rows)
        for (failure, index), point_rows in rows.items()
        for dscp, slas in measures[index].get("dscps", {}).items()
    ]
    return sorted(verdicts, key=_severity_key)


def _severity_key(verdict: FailureVerdict) -> tuple[bool, float, float]:
    loss = math.inf if math.isnan(verdict.loss) else verdict.loss
    return math.isnan(verdict.margin), 0.0 if math.isnan(verdict.margin) else verdict.margin, -loss


def _find_varying_labels(points: Iterable[Mapping[str, Any]]) -> set[str]:
    """Find the labels that differ between points."""
    values: dict[str, set[str]] = {}
    for point in points:
        for name, text in {"part": point.get("part", ""), **point["labels"]}.items():
            values.setdefault(name, set()).add(text)
    return {name for name, found in values.items() if len(found) > 1}


def _describe_failure(point: Mapping[str, Any], varying: set[str]) -> str:
    """Describe the failure, and the parameters that distinguish the point from others."""
    failing = [str(name) for name in point.get("failing", ())]
    others = [
        f"{name} {text}"
        for name, text in {"part": point.get("part", ""), **point["labels"]}.items()
        if name in varying and text not in failing
    ]
    return (" and ".join(failing) or NO_FAILURE) + (f" ({', '.join(others)})" if others else "")


def _build_verdict(
    failure: str,
    dscp: str,
    slas: Sequence[str],
    measure: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> FailureVerdict:
    def worst(name: str) -> float:
        values = [row[name] for row in rows]
        known = [math.nan if value is None else float(value) for value in values]
        return math.nan if any(map(math.isnan, known)) else max(known)

    bounds = [
        SlaBound(**{**bound_fields, "rows": tuple(bound_fields["rows"])})
        for sla in slas
        for bound_fields in measure.get("slas", {}).get(sla, ())
    ]
    shares: list[tuple[float, int, float]] = []
    broken = set()
    for number, bound in enumerate(bounds):
        for run, row in enumerate(rows):
            value = row[name_bound_value(bound)]
            value = math.nan if value is None else float(value)
            share = _compute_relative_margin(bound, value)
            shares.append((share, number, value))
            if share < 0:
                broken.add(run)
    least_margin, number, value = min(
        shares, default=(math.nan, -1, math.nan), key=lambda each: each[0]
    )
    loss, delay, jitter = (worst(f"{DSCP_PREFIX}{dscp}.{column}") for column in DSCP_MEASURES)
    return FailureVerdict(
        failure,
        dscp,
        loss,
        delay,
        jitter,
        bounds[number] if bounds else None,
        value,
        least_margin,
        len(broken),
        len(rows),
    )


def summarise_verdicts(verdicts: Sequence[FailureVerdict]) -> str:
    """The answer in a sentence."""
    bounded = [pair for pair in verdicts if pair.bound is not None]
    if not bounded:
        worst = verdicts[0]
        return f"The greatest loss: {worst.dscp} under {worst.failure}, {worst.describe()}"
    broken = [pair for pair in bounded if pair.broken]
    worst = bounded[0]
    worst_description = f"{worst.dscp} under {worst.failure}: {worst.describe()}"
    if not broken:
        all_kept = "Every aggregate keeps its agreements under every failure"
        return f"{all_kept}; nearest to one: {worst_description}"
    failures = len({pair.failure for pair in bounded})
    broken_failures = len({pair.failure for pair in broken})
    dscps = list(dict.fromkeys(pair.dscp for pair in broken))
    broken_summary = f"{' and '.join(dscps)} {'break' if len(dscps) > 1 else 'breaks'}"
    return (
        f"{broken_summary} under {broken_failures} of {failures} failures; the worst, "
        f"{worst_description}"
    )


def build_matrix(
    verdicts: Sequence[FailureVerdict],
) -> tuple[list[str], list[tuple[str, dict[str, FailureVerdict]]]]:
    """Build the DSCPs, and of each failure, the worst first, its pairs by DSCP."""
    dscps = list(dict.fromkeys(pair.dscp for pair in verdicts))
    rows: dict[str, dict[str, FailureVerdict]] = {}
    for pair in verdicts:
        rows.setdefault(pair.failure, {})[pair.dscp] = pair
    return dscps, list(rows.items())


def build_tables(verdicts: Sequence[FailureVerdict]) -> list[RichTable]:
    """The answer as tables for a terminal: the matrix of margins, and the worst pairs in full."""

    def begin(title: str, count: int, heads: list[str], names: int) -> RichTable:
        hidden = f" (the worst {MAX_VERDICTS_SHOWN} of {count})"
        return begin_table(title + hidden * (count > MAX_VERDICTS_SHOWN), heads, names=names)

    dscps, rows = build_matrix(verdicts)
    built = []
    if len(dscps) > 1 and any(pair.bound for pair in verdicts):
        title = "Margin of each aggregate under each failure"
        table = begin(title, len(rows), ["failure", *dscps], 1)
        for failure, by_dscp in rows[:MAX_VERDICTS_SHOWN]:
            cells = [format_margin(by_dscp[each]) if each in by_dscp else "–" for each in dscps]
            add_text_row(table, [failure, *cells])
        table.caption = "what the worst run leaves of the nearest bound, or how far it is beyond"
        built.append(table)
    heads = ["failure", "dscp", "loss", "p99", "jitter", "agreement", "margin"]
    title = "Which aggregate breaks under which failure"
    table = begin(title, len(verdicts), heads, 2)
    for pair in verdicts[:MAX_VERDICTS_SHOWN]:
        cells = [
            format_bound_value(None if math.isnan(value) else value, unit)
            for value, unit in ((pair.loss, "1"), (pair.delay_p99, "s"), (pair.jitter, "s"))
        ]
        add_text_row(table, [pair.failure, pair.dscp, *cells, pair.outcome, format_margin(pair)])
    table.caption = "loss, 99th percentile of delay and jitter: the greatest of the runs"
    return [*built, table]
