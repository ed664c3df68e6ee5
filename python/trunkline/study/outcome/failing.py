"""Which aggregate breaks under which failure, and by how much: the answer of a failure study.

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

from trunkline.results.render import add, frame
from trunkline.scenario.sla import Bound
from trunkline.stats.sla import said
from trunkline.study.run.measure import DSCP, DSCP_MEASURES, bound_value

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.study.run.frames import Runs

SHOWN = 12
"""Pairs of failure and aggregate that a terminal shows, and failures of its matrix."""
NOTHING = "no failure"
"""A point in which nothing fails, beside those in which something does."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An aggregate under a failure.

    Parameters
    ----------
    failure : str
        What fails, and the other parameters of the point.
    dscp : str
        Of all its flows.
    loss, delay_p99, jitter : float
        Greatest of all runs [1, s, s]; nan where some run has none, as nothing arrived.
    bound : Bound or None
        The bound with the least margin; None if no agreement is about it.
    worst : float
        Its worst value, in its unit.
    margin : float
        Of that, over the bound; minus infinity where nothing arrived, nan without a bound.
    broken, runs : int
        Runs in which it breaks some bound, of how many.
    """

    failure: str
    dscp: str
    loss: float
    delay_p99: float
    jitter: float
    bound: Bound | None
    worst: float
    margin: float
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

    def sentence(self) -> str:
        """By how much: the bound, the worst value and the share."""
        if self.bound is None:
            return f"loss {said(self.loss, '1')}"
        its, unit = self.bound, self.bound.unit
        promised = f"{its.measure} at {its.at} {said(its.value, unit)}"
        if math.isinf(self.margin):
            found = "nothing arrived" if math.isnan(self.worst) else said(self.worst, unit)
            return f"{found} where {promised} is promised"
        found = f"{its.measure} {said(self.worst, unit)}"
        bound = f"at {its.at} {said(its.value, unit)}"
        return f"{found} where {bound} is promised, {margin(self)}"


def margin(pair: Pair) -> str:
    """The margin as people read it: ``12 % left``, ``85 % beyond``."""
    if math.isnan(pair.margin):
        return "–"
    if math.isinf(pair.margin):
        return "beyond"
    return f"{100 * abs(pair.margin):.3g} % {'left' if pair.margin >= 0 else 'beyond'}"


def _share(bound: Bound, value: float) -> float:
    if math.isnan(value):
        return -math.inf
    gap = bound.value - value if bound.at == "most" else value - bound.value
    if bound.value:
        return gap / bound.value
    return 0.0 if gap >= 0 else -math.inf


def pairs(runs: Runs) -> list[Pair]:
    """Failures and aggregates of a study, the worst first; empty if nothing fails in it."""
    points = runs.manifest["points"]
    if not any(point.get("failing") for point in points):
        return []
    measures = [json.loads(text) for text in runs.manifest["measures"]]
    rows: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    several = _varying(points)
    for row in runs.table.iter_rows(named=True):
        point = points[row["point"]]
        rows.setdefault((_name(point, several), point["measure"]), []).append(row)
    found = [
        _pair(failure, dscp, slas, measures[index], its)
        for (failure, index), its in rows.items()
        for dscp, slas in measures[index].get("dscps", {}).items()
    ]
    return sorted(found, key=_worst_first)


def _worst_first(pair: Pair) -> tuple[bool, float, float]:
    loss = math.inf if math.isnan(pair.loss) else pair.loss
    return math.isnan(pair.margin), 0.0 if math.isnan(pair.margin) else pair.margin, -loss


def _varying(points: Iterable[Mapping[str, Any]]) -> set[str]:
    """Labels that differ between points."""
    values: dict[str, set[str]] = {}
    for point in points:
        for name, text in {"part": point.get("part", ""), **point["labels"]}.items():
            values.setdefault(name, set()).add(text)
    return {name for name, found in values.items() if len(found) > 1}


def _name(point: Mapping[str, Any], varying: set[str]) -> str:
    """What fails, and the parameters beside it that tell the point from others."""
    failing = [str(name) for name in point.get("failing", ())]
    others = [
        f"{name} {text}"
        for name, text in {"part": point.get("part", ""), **point["labels"]}.items()
        if name in varying and text not in failing
    ]
    return (" and ".join(failing) or NOTHING) + (f" ({', '.join(others)})" if others else "")


def _pair(
    failure: str,
    dscp: str,
    slas: Sequence[str],
    measure: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> Pair:
    def worst(name: str) -> float:
        values = [row[name] for row in rows]
        known = [math.nan if value is None else float(value) for value in values]
        return math.nan if any(map(math.isnan, known)) else max(known)

    bounds = [
        Bound(**{**its, "rows": tuple(its["rows"])})
        for sla in slas
        for its in measure.get("slas", {}).get(sla, ())
    ]
    shares: list[tuple[float, int, float]] = []
    broken = set()
    for number, bound in enumerate(bounds):
        for run, row in enumerate(rows):
            value = row[bound_value(bound)]
            value = math.nan if value is None else float(value)
            share = _share(bound, value)
            shares.append((share, number, value))
            if share < 0:
                broken.add(run)
    least, number, value = min(shares, default=(math.nan, -1, math.nan), key=lambda each: each[0])
    loss, delay, jitter = (worst(f"{DSCP}{dscp}.{column}") for column in DSCP_MEASURES)
    return Pair(
        failure,
        dscp,
        loss,
        delay,
        jitter,
        bounds[number] if bounds else None,
        value,
        least,
        len(broken),
        len(rows),
    )


def headline(found: Sequence[Pair]) -> str:
    """The answer in a sentence."""
    judged = [pair for pair in found if pair.bound is not None]
    if not judged:
        worst = found[0]
        return f"The greatest loss: {worst.dscp} under {worst.failure}, {worst.sentence()}"
    broken = [pair for pair in judged if pair.broken]
    worst = judged[0]
    said_worst = f"{worst.dscp} under {worst.failure}: {worst.sentence()}"
    if not broken:
        says = "Every aggregate keeps its agreements under every failure"
        return f"{says}; nearest to one: {said_worst}"
    failures = len({pair.failure for pair in judged})
    hit = len({pair.failure for pair in broken})
    dscps = list(dict.fromkeys(pair.dscp for pair in broken))
    breaks = f"{' and '.join(dscps)} {'break' if len(dscps) > 1 else 'breaks'}"
    return f"{breaks} under {hit} of {failures} failures; the worst, {said_worst}"


def matrix(found: Sequence[Pair]) -> tuple[list[str], list[tuple[str, dict[str, Pair]]]]:
    """DSCPs, and of each failure, the worst first, its pairs by DSCP."""
    dscps = list(dict.fromkeys(pair.dscp for pair in found))
    rows: dict[str, dict[str, Pair]] = {}
    for pair in found:
        rows.setdefault(pair.failure, {})[pair.dscp] = pair
    return dscps, list(rows.items())


def tables(found: Sequence[Pair]) -> list[RichTable]:
    """The answer as tables for a terminal: the matrix of margins, and the worst pairs in full."""
    dscps, rows = matrix(found)
    cut = f" (the worst {SHOWN} of {len(rows)})" if len(rows) > SHOWN else ""
    made = []
    if len(dscps) > 1 and any(pair.bound for pair in found):
        drawn = frame(f"Margin of each aggregate under each failure{cut}", ["failure", *dscps])
        for failure, of in rows[:SHOWN]:
            add(drawn, [failure, *(margin(of[c]) if c in of else "–" for c in dscps)])
        drawn.caption = "what the worst run leaves of the nearest bound, or how far it is beyond"
        made.append(drawn)
    cut = f" (the worst {SHOWN} of {len(found)})" if len(found) > SHOWN else ""
    heads = ["failure", "dscp", "loss", "p99", "jitter", "agreement", "margin"]
    drawn = frame(f"Which aggregate breaks under which failure{cut}", heads, names=2)
    for pair in found[:SHOWN]:
        cells = [said(_known(pair.loss), "1"), said(_known(pair.delay_p99), "s")]
        cells += [said(_known(pair.jitter), "s"), pair.outcome, margin(pair)]
        add(drawn, [pair.failure, pair.dscp, *cells])
    drawn.caption = "loss, 99th percentile of delay and jitter: the greatest of the runs"
    made.append(drawn)
    return made


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
