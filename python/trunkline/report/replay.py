"""What the slider over the drawing shows: loads, queues, drops and states, step by step."""

from collections import defaultdict
from typing import Any

from trunkline.plot.sketch import backup_paths
from trunkline.report.charts import Series, recorded
from trunkline.report.exhibit import Exhibit
from trunkline.report.stress import down

MOST_NUMBERS = 200_000
"""Numbers in the replay of one exhibit; where there would be more, steps are gathered."""

EVENTS = {
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
}
"""Events of the timeline in words."""


def build(exhibit: Exhibit) -> dict[str, Any] | None:
    """Data of the replay; None where no run was repeated to record it."""
    watched = exhibit.watched
    if not watched.runs:
        return None
    of: dict[str, dict[str, Series]] = defaultdict(dict)
    for one in recorded(exhibit):
        if one.of_class is None:
            of[one.measure][one.target] = one
    use = of.get("utilisation", {})
    if not use:
        return None
    times = next(iter(use.values())).time_s
    numbers = {str(link["name"]): number for number, link in enumerate(exhibit.network["links"])}
    every = -(-3 * len(use) * len(times) // MOST_NUMBERS)
    links = []
    for number, link in enumerate(exhibit.network["links"]):
        name = link["name"]
        if name not in use:
            continue
        queue, drops = of["queue-packets"].get(name), of["drops"].get(name)
        links.append(
            {
                "link": number,
                "use": [round(100 * value) for value in _means(use[name], every)],
                "queue": [round(v) for v in _means(queue, every)] if queue else [],
                "drops": [round(v) for v in _means(drops, every)] if drops else [],
            }
        )
    return {
        "seed": watched.runs[0].seed,
        "step": watched.step_ns * every / 1e9,
        "times": [round(float(each), 9) for each in times[every - 1 :: every]],
        "links": links,
        "down": [[numbers[link], since, until] for link, since, until in down(exhibit)],
        "events": _events(exhibit),
        "paths": _paths(exhibit),
    }


def _means(series: Series, every: int) -> list[float]:
    """Give values of the first run, gathered by so many steps."""
    values = series.values[0]
    whole = len(values) // every * every
    means: list[float] = values[:whole].reshape(-1, every).mean(axis=1).tolist()
    return [0.0 if value != value else value for value in means]


def _events(exhibit: Exhibit) -> list[dict[str, Any]]:
    """Events in words, those of one instant that say the same put together."""
    found: dict[tuple[float, str, str], list[str]] = {}
    for row in exhibit.first.timeline.rows():
        event = str(row["event"])
        if event in ("failed", "repaired") and row["protection"] is not None:
            continue
        if event in ("detected", "repair-detected") and row["protection"] is None:
            continue
        what = f"path {row['path']}" if row["protection"] is not None else ""
        place = row["node"] if event == "rerouted" else row["link"]
        if not what:
            what = "routers" if event == "rerouted" else "link"
        key = (float(row["time_s"] or 0), what, event)
        found.setdefault(key, [])
        if place is not None and not what.startswith("path"):
            found[key].append(str(place))
    return [
        {
            "time": time,
            "event": event,
            "text": " ".join(part for part in (what, ", ".join(places)) if part)
            + f": {EVENTS.get(event, event)}",
        }
        for (time, what, event), places in found.items()
    ]


def _paths(exhibit: Exhibit) -> list[dict[str, Any]]:
    """States of each path: from when [s], in words, and whether it carries, lost or stands by."""
    network = exhibit.network
    backups = backup_paths(network)
    names = [str(path["name"]) for path in network["paths"]]
    spare: dict[str, str] = {
        working: backup for backup, protected in backups.items() for working in protected
    }
    states: dict[str, list[tuple[float, str, str]]] = {
        name: [(0.0, "standby", "stands by")]
        if name in backups
        else [(0.0, "carries", "carries its traffic")]
        for name in names
    }
    for row in exhibit.first.timeline.rows():
        path, event, at = row["path"], str(row["event"]), float(row["time_s"] or 0)
        if row["protection"] is None or path not in states:
            continue
        backup = spare.get(str(path))
        if event == "failed":
            states[str(path)].append((at, "lost", f"broken at {row['link']}, traffic is lost"))
        elif event == "switched":
            onto = f"traffic is on {backup}" if backup else "traffic is on a new path"
            states[str(path)].append((at, "aside", onto))
            if backup:
                states[backup].append((at, "carries", f"carries the traffic of {path}"))
        elif event == "no-path":
            states[str(path)].append((at, "lost", "no other path, traffic is lost"))
        elif event == "reverted":
            states[str(path)].append((at, "carries", "carries its traffic again"))
            if backup:
                states[backup].append((at, "standby", "stands by"))
    return [{"name": name, "states": states[name]} for name in names]
