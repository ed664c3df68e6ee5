"""Moments of a run that the charts over time are marked with."""

from dataclasses import dataclass

from trunkline.report.reported_run import ReportedRun

MIN_NAME_DISTANCE = 0.12  # Part of a run within which two marks cannot both be named.


@dataclass(frozen=True, slots=True)
class EventMarker:
    """A moment worth a vertical line."""

    x: float
    name: str


def find_event_markers(reported_run: ReportedRun) -> list[EventMarker]:
    """Find the failures and switches of the first run, and the end of the warm-up.

    Of marks too close to be read, the first has the names of all.
    """
    found: list[tuple[float, str]] = []
    if reported_run.warmup_ns:
        found.append((reported_run.warmup_ns / 1e9, "counting starts"))
    for row in reported_run.first_run.timeline.rows():
        mark = (float(row["time_s"] or 0), str(row["event"]))
        if (
            mark[1] in ("drained", "failed", "switched", "repaired", "reverted")
            and mark not in found
        ):
            found.append(mark)
    marks: list[EventMarker] = []
    last_named = 0
    for at, name in sorted(found)[:24]:
        if marks and at - marks[last_named].x < MIN_NAME_DISTANCE * reported_run.duration_ns / 1e9:
            before = marks[last_named]
            if name not in before.name:
                marks[last_named] = EventMarker(before.x, f"{before.name}, {name}")
            if at > marks[-1].x:
                marks.append(EventMarker(at, ""))
            continue
        marks.append(EventMarker(at, name))
        last_named = len(marks) - 1
    return marks
