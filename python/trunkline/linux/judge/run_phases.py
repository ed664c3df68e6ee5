"""Phases of a failure: before it, the gap until packets have another path, and afterwards."""

from dataclasses import dataclass
from typing import Final

from trunkline.results import Results

PHASE_EVENTS: Final = ("failed", "switched", "rerouted", "repaired", "reverted")
SAME_MOMENT_NS: Final = 1_000_000
"""Moments that are so close are one: routers reroute one after the other."""
MAX_PHASES: Final = 12


@dataclass(frozen=True, slots=True)
class RunPhase:
    """A part of a run."""

    # Event that begins it, the second of its kind with a number; empty if the run has no phases.
    # Its time may differ between seeds, so the name has none.
    name: str
    # start_ns, end_ns: Packets sent from the start and before the end belong to it.
    start_ns: int
    end_ns: int


def find_phases(results: Results, end_ns: int) -> list[RunPhase]:
    """Find the phases of a run by its moments; none without moments, and none of very many."""
    moments = find_moments(results, end_ns)
    if not moments or len(moments) > MAX_PHASES:
        return []
    starts = [(0, "before"), *moments]
    ends = [time_ns for time_ns, _ in moments] + [end_ns]
    count_by_event: dict[str, int] = {}
    phases = []
    for (start, event), end in zip(starts, ends, strict=True):
        count = count_by_event[event] = count_by_event.get(event, 0) + 1
        if end > start:
            phases.append(RunPhase(f"{event} {count}" if count > 1 else event, start, end))
    return phases


def find_moments(results: Results, end_ns: int) -> list[tuple[int, str]]:
    """Find when something happens to links and paths, and what: each moment once."""
    table = results.timeline
    moments: list[tuple[int, str]] = []
    for time, event in zip(table["time_ns"], table["event"], strict=True):
        time_ns = int(time or 0)
        if event not in PHASE_EVENTS or time_ns >= end_ns:
            continue
        if not moments or time_ns - moments[-1][0] >= SAME_MOMENT_NS:
            moments.append((time_ns, str(event)))
    return moments
