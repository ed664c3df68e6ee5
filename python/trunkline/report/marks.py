"""Moments of a run that the charts over time are marked with."""

from dataclasses import dataclass

from trunkline.report.exhibit import Exhibit

CLOSE = 0.12
"""Part of a run within which two marks cannot both be named."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment worth a vertical line."""

    x: float
    name: str


def marks_of(exhibit: Exhibit) -> list[Mark]:
    """Failures and switches of the first run, and the end of the warm-up.

    Of marks that stand too close to be read, the first has the names of all.
    """
    found: list[tuple[float, str]] = []
    if exhibit.warmup_ns:
        found.append((exhibit.warmup_ns / 1e9, "counting starts"))
    for row in exhibit.first.timeline.rows():
        mark = (float(row["time_s"] or 0), str(row["event"]))
        if mark[1] in ("failed", "switched", "repaired", "reverted") and mark not in found:
            found.append(mark)
    marks: list[Mark] = []
    named = 0
    for at, name in sorted(found)[:24]:
        if marks and at - marks[named].x < CLOSE * exhibit.duration_ns / 1e9:
            before = marks[named]
            if name not in before.name:
                marks[named] = Mark(before.x, f"{before.name}, {name}")
            if at > marks[-1].x:
                marks.append(Mark(at, ""))
            continue
        marks.append(Mark(at, name))
        named = len(marks) - 1
    return marks
