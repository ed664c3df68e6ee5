"""Phases of a failure: before it, the gap until packets have another way, and what follows."""

from dataclasses import dataclass
from typing import Final

from trunkline.results import Results

EVENTS: Final = ("failed", "switched", "rerouted", "repaired", "reverted")
CLOSE_NS: Final = 1_000_000
"""Moments that are so close are one: routers reroute one after the other."""
MOST: Final = 12


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a run.

    Parameters
    ----------
    name : str
        What begins it, and when; empty if the run has no phases.
    start_ns, end_ns : int
        Packets sent from the start and before the end belong to it.
    """

    name: str
    start_ns: int
    end_ns: int


def phases(results: Results, end_ns: int) -> list[Phase]:
    """The phases of a run by what happens to its links and paths; none if nothing does."""
    table = results.timeline
    moments: list[tuple[int, str]] = []
    for time, event in zip(table["time_ns"], table["event"], strict=True):
        at = int(time or 0)
        if event not in EVENTS or at >= end_ns:
            continue
        if not moments or at - moments[-1][0] >= CLOSE_NS:
            moments.append((at, str(event)))
    if not moments or len(moments) > MOST:
        return []
    starts = [(0, "before"), *moments]
    ends = [at for at, _ in moments] + [end_ns]
    return [
        Phase(f"{event} {start / 1e9:.6g} s" if start else event, start, end)
        for (start, event), end in zip(starts, ends, strict=True)
        if end > start
    ]
