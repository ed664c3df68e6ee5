"""What was lost in each phase: set-up, detection, local repair, convergence, re-optimisation.

Phases of a failure follow each other: nobody knows; nodes next to it repair paths locally; routers
compute routes and heads set paths up again; heads move paths that were repaired. Each ends with
the last event of its kind before the next failure or repair.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trunkline.results.convergence import breaks

if TYPE_CHECKING:
    from trunkline.results.results import Results

Row = dict[str, Any]

AFTER = (
    ("detection", ("detected", "repair-detected"), ()),
    ("local repair", ("switched", "reverted"), ("repaired", "reverted")),
    ("convergence", ("rerouted", "ldp-labels"), ("up",)),
    ("re-optimisation", (), ("moved",)),
)
"""Phases after a change: name, events of the timeline and of signalling at their end."""


@dataclass
class Phase:
    """A part of a run, and what was lost in it.

    Parameters
    ----------
    name : str
        ``set-up``, ``detection``, ``local repair``, ``convergence``, ``re-optimisation`` or
        ``settled``, when nothing of these goes on.
    after : str or None
        The failure or repair before it.
    from_ns, to_ns : int
        Its ends; the second does not belong to it.
    lost : dict of str to int
        Packets of data by cause, without messages of protocols; from the trace.
    """

    name: str
    after: str | None
    from_ns: int
    to_ns: int
    lost: Counter[str] = field(default_factory=Counter)


def phases(results: Results) -> list[Phase]:
    """Phases of a traced run with failures or signalled paths, without gaps, in order of time.

    Returns
    -------
    list of Phase
        Empty without a trace, and where nothing failed and nothing was signalled.
    """
    if not len(results.packets):
        return []
    timeline: list[Row] = list(results.timeline.rows())
    # Requests that come at random are up at any time.
    lsps = results.tables["lsps"]
    paths = {
        name for name, out in zip(lsps["path"], lsps["out_ns"], strict=True) if out is not None
    }
    signalling: list[Row] = [
        row for row in results.tables["signalling"].rows() if row["path"] in paths
    ]
    changes = breaks(timeline)
    times = (*results.packets["time_ns"], *(row["time_ns"] for row in (*timeline, *signalling)))
    end = max(int(at or 0) for at in times) + 1
    first = changes[0].at_ns if changes else end
    found: list[Phase] = []
    up = [row["time_ns"] for row in signalling if row["event"] == "up" and row["time_ns"] < first]
    _follow(found, [("set-up", max(up, default=None))], None, (0, first))
    for number, change in enumerate(changes):
        last = changes[number + 1].at_ns if number + 1 < len(changes) else end
        span = (change.at_ns, last)
        marks = [
            (name, max((*_at(timeline, ours, span), *_at(signalling, theirs, span)), default=None))
            for name, ours, theirs in AFTER
        ]
        _follow(found, marks, change.about, span)
    if not changes and not signalling:
        return []
    _count(found, results)
    return found


def _at(rows: list[Row], events: tuple[str, ...], span: tuple[int, int]) -> list[int]:
    """When one of the events happened in a span of time."""
    return [
        row["time_ns"]
        for row in rows
        if row["event"] in events and span[0] <= row["time_ns"] < span[1]
    ]


def _follow(
    found: list[Phase],
    marks: list[tuple[str, int | None]],
    after: str | None,
    span: tuple[int, int],
) -> None:
    """Adds phases that end at their marks, and what is left of the span."""
    begin = span[0]
    for name, end in marks:
        if end is not None and end > begin:
            found.append(Phase(name, after, begin, end))
            begin = end
    if span[1] > begin:
        found.append(Phase("settled", after, begin, span[1]))


def _count(found: list[Phase], results: Results) -> None:
    own = set(results.tables["control"]["protocol"])
    table = results.packets
    columns = (table[name] for name in ("event", "cause", "time_ns", "flow"))
    lost = sorted(
        (int(at or 0), str(cause))
        for event, cause, at, flow in zip(*columns, strict=True)
        if event == "dropped" and flow not in own
    )
    rest = iter(found)
    phase = next(rest)
    for at, cause in lost:
        while at >= phase.to_ns:
            phase = next(rest)
        phase.lost[cause] += 1
