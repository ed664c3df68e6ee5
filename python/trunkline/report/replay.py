"""States for the slider over the drawing: loads, queues, drops and failures, step by step."""

from collections import defaultdict
from typing import Any

from trunkline.plot.network_sketch import find_backup_paths
from trunkline.report.charts import RecordedSeries, collect_series
from trunkline.report.failure_load import find_down_times
from trunkline.report.reported_run import ReportedRun

MAX_REPLAY_NUMBERS = 200_000
"""Numbers in the replay of one exhibit; where there would be more, steps are gathered."""

EVENT_DESCRIPTIONS = {
    "failed": "failed",
    "detected": "failure detected",
    "notified": "failure notified",
    "held-off": "hold-off over",
    "switched": "switched to its backup",
    "no-path": "no other path found",
    "repaired": "repaired",
    "repair-detected": "repair detected",
    "repair-notified": "repair notified",
    "reverted": "back on the working path",
    "rerouted": "new routes in use",
    "drained": "traffic begins to leave it",
}
"""Events of the timeline in words."""


def build_replay(reported_run: ReportedRun) -> dict[str, Any] | None:
    """Build the data of the replay; None where no run was repeated to record it."""
    watched = reported_run.probed
    if not watched.runs:
        return None
    series_by_measure: dict[str, dict[str, RecordedSeries]] = defaultdict(dict)
    for recorded_series in collect_series(reported_run):
        if recorded_series.class_name is None:
            series_by_measure[recorded_series.measure][recorded_series.target] = recorded_series
    utilisation_series = series_by_measure.get("utilisation", {})
    if not utilisation_series:
        return None
    times = next(iter(utilisation_series.values())).time_s
    numbers = {
        str(link["name"]): number for number, link in enumerate(reported_run.network["links"])
    }
    steps_per_point = -(-3 * len(utilisation_series) * len(times) // MAX_REPLAY_NUMBERS)
    links = []
    for number, link in enumerate(reported_run.network["links"]):
        name = link["name"]
        if name not in utilisation_series:
            continue
        queue = series_by_measure["queue-packets"].get(name)
        drops = series_by_measure["drops"].get(name)
        links.append(
            {
                "link": number,
                "use": [
                    round(100 * value)
                    for value in _gather_means(utilisation_series[name], steps_per_point)
                ],
                "queue": [round(v) for v in _gather_means(queue, steps_per_point)] if queue else [],
                "drops": [round(v) for v in _gather_means(drops, steps_per_point)] if drops else [],
            }
        )
    return {
        "seed": watched.runs[0].seed,
        "step": watched.step_ns * steps_per_point / 1e9,
        "times": [round(float(each), 9) for each in times[steps_per_point - 1 :: steps_per_point]],
        "links": links,
        "down": [
            [numbers[link], since, until] for link, since, until in find_down_times(reported_run)
        ],
        "events": _describe_events(reported_run),
        "paths": _list_path_states(reported_run),
    }


def _gather_means(series: RecordedSeries, steps_per_point: int) -> list[float]:
    """Give values of the first run, gathered by so many steps."""
    values = series.values[0]
    grouped_count = len(values) // steps_per_point * steps_per_point
    means: list[float] = values[:grouped_count].reshape(-1, steps_per_point).mean(axis=1).tolist()
    return [0.0 if value != value else value for value in means]


def _describe_events(reported_run: ReportedRun) -> list[dict[str, Any]]:
    """Describe the events in words, those of one instant that say the same put together."""
    places_by_event: dict[tuple[float, str, str], list[str]] = {}
    for row in reported_run.first_run.timeline.rows():
        event = str(row["event"])
        if event in ("failed", "repaired", "drained") and row["protection"] is not None:
            continue
        if event in ("detected", "repair-detected") and row["protection"] is None:
            continue
        subject = f"path {row['path']}" if row["protection"] is not None else ""
        place = row["node"] if event == "rerouted" else row["link"]
        if not subject:
            subject = "routers" if event == "rerouted" else "link"
        key = (float(row["time_s"] or 0), subject, event)
        places_by_event.setdefault(key, [])
        if place is not None and not subject.startswith("path"):
            places_by_event[key].append(str(place))
    return [
        {
            "time": time,
            "event": event,
            "text": " ".join(part for part in (subject, ", ".join(places)) if part)
            + f": {EVENT_DESCRIPTIONS.get(event, event)}",
        }
        for (time, subject, event), places in places_by_event.items()
    ]


def _list_path_states(reported_run: ReportedRun) -> list[dict[str, Any]]:
    """States of each path: from when [s], in words, and whether it carries, lost or stands by."""
    network = reported_run.network
    backups = find_backup_paths(network)
    names = [str(path["name"]) for path in network["paths"]]
    backup_by_path: dict[str, str] = {
        working: backup for backup, protected in backups.items() for working in protected
    }
    states: dict[str, list[tuple[float, str, str]]] = {
        name: [(0.0, "standby", "standby")]
        if name in backups
        else [(0.0, "carries", "carries its traffic")]
        for name in names
    }
    for row in reported_run.first_run.timeline.rows():
        path, event, at = row["path"], str(row["event"]), float(row["time_s"] or 0)
        if row["protection"] is None or path not in states:
            continue
        backup = backup_by_path.get(str(path))
        if event == "failed" and states[str(path)][-1][1] != "aside":
            states[str(path)].append((at, "lost", f"broken at {row['link']}, traffic is lost"))
        elif event == "switched":
            description = f"traffic is on {backup}" if backup else "traffic is on a new path"
            states[str(path)].append((at, "aside", description))
            if backup:
                states[backup].append((at, "carries", f"carries the traffic of {path}"))
        elif event == "no-path":
            states[str(path)].append((at, "lost", "no other path, traffic is lost"))
        elif event == "reverted":
            states[str(path)].append((at, "carries", "carries its traffic again"))
            if backup:
                states[backup].append((at, "standby", "standby"))
    return [{"name": name, "states": states[name]} for name in names]
