"""Losses in each phase: set-up, detection, local repair, convergence, re-optimisation.

Phases of a failure follow each other: nobody knows; nodes next to it repair paths locally; routers
compute routes and heads set paths up again; heads move paths that were repaired. Each ends with
the last event of its kind before the next failure or repair.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trunkline.results.convergence import find_network_changes

if TYPE_CHECKING:
    from trunkline.results.results import Results

TimelineRow = dict[str, Any]

PHASES_AFTER_CHANGE = (
    ("detection", ("detected", "repair-detected"), ()),
    ("local repair", ("switched", "reverted"), ("repaired", "reverted")),
    ("convergence", ("rerouted", "ldp-labels"), ("up",)),
    ("re-optimisation", (), ("moved",)),
)
"""Phases after a change: name, events of the timeline and of signalling at their end."""


@dataclass
class LossPhase:
    """A part of a run, and its losses."""

    # ``set-up``, ``detection``, ``local repair``, ``convergence``, ``re-optimisation`` or
    # ``settled``, when none of these lasts.
    name: str
    after_change: str | None  # The failure or repair before it.
    # from_ns, to_ns: Its ends; the second does not belong to it.
    from_ns: int
    to_ns: int
    # Packets of data by cause, without messages of protocols; from the trace.
    lost: Counter[str] = field(default_factory=Counter)


def phases(results: Results) -> list[LossPhase]:
    """Phases of a traced run with failures or signalled paths, without gaps, in order of time.

    Returns: Empty without a trace, and where nothing failed and nothing was signalled.
    """
    if not len(results.packets):
        return []
    timeline: list[TimelineRow] = list(results.timeline.rows())
    # Requests that come at random are up at any time.
    lsps = results.tables["lsps"]
    paths = {
        name for name, out in zip(lsps["path"], lsps["out_ns"], strict=True) if out is not None
    }
    signalling: list[TimelineRow] = [
        row for row in results.tables["signalling"].rows() if row["path"] in paths
    ]
    changes = find_network_changes(timeline)
    times = (*results.packets["time_ns"], *(row["time_ns"] for row in (*timeline, *signalling)))
    end = max(int(at or 0) for at in times) + 1
    first = changes[0].at_ns if changes else end
    loss_phases: list[LossPhase] = []
    up = [row["time_ns"] for row in signalling if row["event"] == "up" and row["time_ns"] < first]
    _append_phases(loss_phases, [("set-up", max(up, default=None))], None, (0, first))
    for number, change in enumerate(changes):
        last = changes[number + 1].at_ns if number + 1 < len(changes) else end
        span = (change.at_ns, last)
        phase_ends = [
            (
                name,
                max(
                    (
                        *_find_times(timeline, timeline_events, span),
                        *_find_times(signalling, signalling_events, span),
                    ),
                    default=None,
                ),
            )
            for name, timeline_events, signalling_events in PHASES_AFTER_CHANGE
        ]
        _append_phases(loss_phases, phase_ends, change.description, span)
    if not changes and not signalling:
        return []
    _count_losses(loss_phases, results)
    return loss_phases


def _find_times(
    rows: list[TimelineRow], events: tuple[str, ...], span: tuple[int, int]
) -> list[int]:
    """Find when one of the events happened in a span of time."""
    return [
        row["time_ns"]
        for row in rows
        if row["event"] in events and span[0] <= row["time_ns"] < span[1]
    ]


def _append_phases(
    loss_phases: list[LossPhase],
    phase_ends: list[tuple[str, int | None]],
    after_change: str | None,
    span: tuple[int, int],
) -> None:
    """Add phases that end at their marks, and the rest of the span."""
    begin = span[0]
    for name, end in phase_ends:
        if end is not None and end > begin:
            loss_phases.append(LossPhase(name, after_change, begin, end))
            begin = end
    if span[1] > begin:
        loss_phases.append(LossPhase("settled", after_change, begin, span[1]))


def _count_losses(loss_phases: list[LossPhase], results: Results) -> None:
    protocol_flows = set(results.tables["control"]["protocol"])
    table = results.packets
    columns = (table[name] for name in ("event", "cause", "time_ns", "flow"))
    lost = sorted(
        (int(at or 0), str(cause))
        for event, cause, at, flow in zip(*columns, strict=True)
        if event == "dropped" and flow not in protocol_flows
    )
    remaining = iter(loss_phases)
    phase = next(remaining)
    for at, cause in lost:
        while at >= phase.to_ns:
            phase = next(remaining)
        phase.lost[cause] += 1
