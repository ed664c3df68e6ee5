"""Single packets for the replay: the trips of those that move in a short window of time."""

from typing import Any

import numpy as np

from trunkline.report import watch
from trunkline.report.exhibit import Exhibit

MOST_HOPS = 3_000
"""Hops in the window: what one can look at, and about 200 kB of the page."""


COLUMNS = (
    *("event", "flow", "direction", "seq", "ack", "retransmission", "link", "node", "cause"),
    *("ip_bytes", "dscp", "class", "wait_ns", "stack"),
)


def build(exhibit: Exhibit) -> dict[str, Any] | None:
    """Trips of the packets in a window around the first event worth seeing.

    Parameters
    ----------
    exhibit : Exhibit
        Its first run is repeated with a trace, or its own trace is used.

    Returns
    -------
    dict or None
        None where too many packets come before the window.
    """
    start, end, why = _window(exhibit)
    traced = watch.trace(exhibit.network, exhibit.first, min(end, exhibit.duration_ns))
    if traced is None or not len(traced.packets):
        return None
    trips, last = _trips(exhibit, traced, start, end)
    if not trips:
        return None
    return {"start": start, "end": last, "why": why, "seed": traced.seed, "trips": trips}


def _window(exhibit: Exhibit) -> tuple[int, int, str]:
    """Start and end [ns], and what is to be seen."""
    rate = watch.whole_hops(exhibit.network, exhibit.first) / exhibit.duration_ns
    long = int(min(MOST_HOPS / max(rate, 1e-12), exhibit.duration_ns, 10**10))
    for row in exhibit.first.timeline.rows():
        if row["event"] == "failed":
            at = int(row["time_ns"] or 0)
            start = max(0, at - long // 5)
            return start, start + long, f"the failure at {at / 1e9:g} s"
    drops = _first_drop(exhibit)
    starts = [int(value) for value in exhibit.first.flows["start_ns"] if value is not None]
    first = min(starts, default=0)
    if drops is not None and drops - long // 2 > first:
        start = max(0, drops - long // 2)
        return start, start + long, "the first drops"
    return first, first + long, "the first packets"


def _first_drop(exhibit: Exhibit) -> int | None:
    """End of the first step in which a port dropped a packet [ns]."""
    found: int | None = None
    for run in exhibit.watched.runs[:1]:
        series = run.series
        values = series.column("value").array()
        times = series.column("time_ns").array()
        wanted = np.array([measure == "drops" for measure in series["measure"]], dtype=np.bool_)
        dropped = times[wanted & (values > 0)]
        if len(dropped):
            found = int(dropped.min())
    return found


def _trips(exhibit: Exhibit, traced: Any, start: int, end: int) -> tuple[list[dict[str, Any]], int]:
    table = traced.packets
    links = {link["name"]: number for number, link in enumerate(exhibit.network["links"])}
    flows = {flow["name"]: number for number, flow in enumerate(exhibit.network["flows"])}
    times = table.column("time_ns").array()
    inside = (times >= start) & (times < end)
    numbers = table.column("packet").array()
    seen = np.unique(numbers[inside])
    rows = np.flatnonzero(np.isin(numbers, seen) & (times < end))
    columns = {name: table[name] for name in COLUMNS}
    trips: dict[int, dict[str, Any]] = {}
    hops = 0
    last = start
    for row in rows.tolist():
        at = int(times[row])
        if hops >= MOST_HOPS * 3 // 2 and at >= start:
            break
        last = max(last, at)
        of: Any = {name: column[row] for name, column in columns.items()}
        number = int(numbers[row])
        trip = trips.get(number)
        if trip is None:
            trip = trips[number] = {
                "packet": number,
                "flow": flows.get(of["flow"], 0),
                "back": 0 if of["direction"] == "forward" else 1,
                "seq": of["seq"],
                "ack": of["ack"],
                "again": of["retransmission"] or 0,
                "bytes": of["ip_bytes"],
                "dscp": of["dscp"],
                "hops": [],
                "fate": None,
            }
        event, link = of["event"], links.get(of["link"])
        if event == "queued" and link is not None:
            wait = of["wait_ns"]
            stack = of["stack"] or ""
            trip["hops"].append([link, at - start, -1 if wait is None else wait, -1, stack])
            trip["hops"][-1].append(of["class"] or "")
            hops += at >= start
        elif event == "arrived" and trip["hops"]:
            trip["hops"][-1][3] = at - start
        elif event == "delivered":
            trip["fate"] = ["delivered", at - start, str(of["node"]), ""]
        elif event == "dropped":
            place = of["link"] if of["link"] is not None else of["node"]
            trip["fate"] = ["dropped", at - start, str(place), str(of["cause"])]
    kept = [trip for trip in trips.values() if trip["hops"] or trip["fate"]]
    return kept, min(last, end)
