"""Single packets for the replay: the trips of those that move in a short window of time."""

from typing import Any

import numpy as np

from trunkline.report import probed_runs
from trunkline.report.reported_run import ReportedRun

MAX_WINDOW_HOPS = 3_000  # Hops in the window: as many as one can look at; about 200 kB of the page.


TRACE_COLUMNS = (
    *("event", "flow", "direction", "seq", "ack", "retransmission", "link", "node", "cause"),
    *("ip_bytes", "dscp", "class", "wait_ns", "stack"),
)


def build_packet_replay(reported_run: ReportedRun) -> dict[str, Any] | None:
    """Trips of the packets in a window around the first event worth seeing.

    reported_run: Its first run is repeated with a trace, or its own trace is used.
    Returns: None where too many packets come before the window.
    """
    start, end, why = _choose_window(reported_run)
    traced = probed_runs.repeat_with_trace(
        reported_run.network, reported_run.first_run, min(end, reported_run.duration_ns)
    )
    if traced is None or not len(traced.packets):
        return None
    trips, last = _collect_trips(reported_run, traced, start, end)
    if not trips:
        return None
    return {"start": start, "end": last, "why": why, "seed": traced.seed, "trips": trips}


def _choose_window(reported_run: ReportedRun) -> tuple[int, int, str]:
    """Start and end [ns], and a description."""
    rate = (
        probed_runs.estimate_hops(reported_run.network, reported_run.first_run)
        / reported_run.duration_ns
    )
    length_ns = int(min(MAX_WINDOW_HOPS / max(rate, 1e-12), reported_run.duration_ns, 10**10))
    for row in reported_run.first_run.timeline.rows():
        if row["event"] == "failed":
            at = int(row["time_ns"] or 0)
            start = max(0, at - length_ns // 5)
            return start, start + length_ns, f"the failure at {at / 1e9:g} s"
    drops = _find_first_drop(reported_run)
    starts = [int(value) for value in reported_run.first_run.flows["start_ns"] if value is not None]
    first = min(starts, default=0)
    if drops is not None and drops - length_ns // 2 > first:
        start = max(0, drops - length_ns // 2)
        return start, start + length_ns, "the first drops"
    return first, first + length_ns, "the first packets"


def _find_first_drop(reported_run: ReportedRun) -> int | None:
    """Find the end of the first step in which a port dropped a packet [ns]."""
    found: int | None = None
    for run in reported_run.probed.runs[:1]:
        series = run.series
        values = series.column("value").to_array()
        times = series.column("time_ns").to_array()
        is_drop_series = np.array(
            [measure == "drops" for measure in series["measure"]], dtype=np.bool_
        )
        dropped = times[is_drop_series & (values > 0)]
        if len(dropped):
            found = int(dropped.min())
    return found


def _collect_trips(
    reported_run: ReportedRun, traced: Any, start: int, end: int
) -> tuple[list[dict[str, Any]], int]:
    table = traced.packets
    links = {link["name"]: number for number, link in enumerate(reported_run.network["links"])}
    flows = {flow["name"]: number for number, flow in enumerate(reported_run.network["flows"])}
    times = table.column("time_ns").to_array()
    inside = (times >= start) & (times < end)
    numbers = table.column("packet").to_array()
    window_packets = np.unique(numbers[inside])
    rows = np.flatnonzero(np.isin(numbers, window_packets) & (times < end))
    columns = {name: table[name] for name in TRACE_COLUMNS}
    trips: dict[int, dict[str, Any]] = {}
    hops = 0
    last = start
    for row in rows.tolist():
        at = int(times[row])
        if hops >= MAX_WINDOW_HOPS * 3 // 2 and at >= start:
            break
        last = max(last, at)
        event_row: Any = {name: column[row] for name, column in columns.items()}
        number = int(numbers[row])
        trip = trips.get(number)
        if trip is None:
            trip = trips[number] = {
                "packet": number,
                "flow": flows.get(event_row["flow"], 0),
                "back": 0 if event_row["direction"] == "forward" else 1,
                "seq": event_row["seq"],
                "ack": event_row["ack"],
                "again": event_row["retransmission"] or 0,
                "bytes": event_row["ip_bytes"],
                "dscp": event_row["dscp"],
                "hops": [],
                "fate": None,
            }
        event, link = event_row["event"], links.get(event_row["link"])
        if event == "queued" and link is not None:
            wait = event_row["wait_ns"]
            stack = event_row["stack"] or ""
            trip["hops"].append([link, at - start, -1 if wait is None else wait, -1, stack])
            trip["hops"][-1].append(event_row["class"] or "")
            hops += at >= start
        elif event == "arrived" and trip["hops"]:
            trip["hops"][-1][3] = at - start
        elif event == "delivered":
            trip["fate"] = ["delivered", at - start, str(event_row["node"]), ""]
        elif event == "dropped":
            place = event_row["link"] if event_row["link"] is not None else event_row["node"]
            trip["fate"] = ["dropped", at - start, str(place), str(event_row["cause"])]
    shown_trips = [trip for trip in trips.values() if trip["hops"] or trip["fate"]]
    return shown_trips, min(last, end)
