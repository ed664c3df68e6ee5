"""Loads of links during failures, compared with the rest of the time: where to add capacity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trunkline.report.charts import RecordedSeries, collect_series
from trunkline.report.reported_run import ReportedRun

TIME_TOLERANCE_S = 1e-9


@dataclass(frozen=True, slots=True)
class FailureLoad:
    """One direction of a link in the first run."""

    link: str
    # use_up, use_down: Mean utilisation while nothing is down, and while something is, 0 to 1.
    use_up: float
    use_down: float
    use_max: float  # Greatest utilisation of a step while something is down.
    queue_max: float  # Maximum number of packets seen at its port then.
    dropped: float  # Packets that its port dropped then.


def find_down_times(reported_run: ReportedRun) -> list[tuple[str, float, float]]:
    """Find the links that were down in the first run: name, from when, until when [s]."""
    names = {str(link["name"]) for link in reported_run.network["links"]}
    since: dict[str, float] = {}
    found: list[tuple[str, float, float]] = []
    for row in reported_run.first_run.timeline.rows():
        link = str(row["link"])
        if row["protection"] is not None or link not in names:
            continue
        at = float(row["time_s"] or 0)
        if row["event"] == "failed":
            since.setdefault(link, at)
        elif row["event"] == "repaired" and link in since:
            found.append((link, since.pop(link), at))
    end = reported_run.duration_ns / 1e9
    return found + [(link, at, end) for link, at in since.items()]


def compute_failure_loads(reported_run: ReportedRun) -> list[FailureLoad]:
    """Compute every link that carried anything, the busiest while something was down first.

    Only steps that lie wholly in one of the two times count, and none before counting starts.

    Returns: Empty where nothing failed for a whole step, where something is always down, or where
        no run was repeated.
    """
    spans = find_down_times(reported_run)
    watched = reported_run.probed
    if not spans or not watched.runs:
        return []
    series_by_measure: dict[str, dict[str, RecordedSeries]] = {
        "utilisation": {},
        "queue-packets": {},
        "drops": {},
    }
    for recorded_series in collect_series(reported_run):
        if recorded_series.class_name is None and recorded_series.measure in series_by_measure:
            series_by_measure[recorded_series.measure][recorded_series.target] = recorded_series
    step = watched.step_ns / 1e9
    loads = []
    for link, utilisation_series in series_by_measure["utilisation"].items():
        is_broken_step, is_intact_step = _split_steps(
            utilisation_series.time_s, step, spans, reported_run.warmup_ns / 1e9
        )
        if not is_broken_step.any() or not is_intact_step.any():
            return []
        shares = np.nan_to_num(utilisation_series.values[0])
        queue = np.nan_to_num(series_by_measure["queue-packets"][link].values[0])
        drops = np.nan_to_num(series_by_measure["drops"][link].values[0])
        loads.append(
            FailureLoad(
                link,
                float(shares[is_intact_step].mean()),
                float(shares[is_broken_step].mean()),
                # A packet counts where its last bit leaves, so a step may hold a part of one more.
                min(1.0, float(shares[is_broken_step].max())),
                float(queue[is_broken_step].max()),
                float(drops[is_broken_step].sum() * step),
            )
        )
    return sorted(loads, key=lambda each: -each.use_down)


def _split_steps(
    ends: NDArray[np.float64], step: float, spans: list[tuple[str, float, float]], start: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Steps wholly inside a time in which something is down, and those wholly outside of all."""
    begins = ends - step
    inside = np.zeros(len(ends), dtype=np.bool_)
    touched = np.zeros(len(ends), dtype=np.bool_)
    for _, since, until in spans:
        inside |= (begins >= since - TIME_TOLERANCE_S) & (ends <= until + TIME_TOLERANCE_S)
        touched |= (ends > since + TIME_TOLERANCE_S) & (begins < until - TIME_TOLERANCE_S)
    counted = begins >= start - TIME_TOLERANCE_S
    return inside & counted, ~touched & counted
