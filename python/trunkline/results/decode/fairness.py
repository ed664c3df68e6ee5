"""The table of fairness: how the flows of a DSCP, or of a path, share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.results.decode.columns import Rows, floats, ints, mask
from trunkline.results.table import Column, Table

if TYPE_CHECKING:
    from trunkline.network.types import Flow, Ftn, Network

_RECEIVED = ("goodput", "throughput")


def fairness(flows: Table, series: Rows | None, network: Network) -> dict[str, Column]:
    """One row a DSCP of flows, then one a path that flows are bound to."""
    counted = ("goodput_bytes", "bytes_sent", "bytes_delivered")
    goodput, sent, got = (flows.column(name).numbers() for name in counted)
    # TCP asks for what it gets: only a source that does not listen has a demand.
    shares = [
        # What was under way when the warm-up ended is delivered, and was not sent.
        min(1.0, got[index] / sent[index]) if protocol != "tcp" and sent[index] else None
        for index, protocol in enumerate(flows["protocol"])
    ]
    starved = _starved(series, flows, network)
    groups = list(_groups(flows["dscp"], network))
    known = [[share for i in group if (share := shares[i]) is not None] for _, _, group in groups]
    wanting = [[i for i in group if shares[i] is not None] for _, _, group in groups]
    waits = [[starved.get(i) for i in group] for _, _, group in groups]
    complete = [[wait for wait in its if wait is not None] for its in waits]
    watched = mask(len(some) == len(its) for some, its in zip(complete, waits, strict=True))
    least = [min(its, default=0.0) for its in known]
    demands = [sum(sent[i] for i in group) for group in wanting]
    served = [sum(got[i] for i in group) for group in wanting]
    asked = mask(bool(its) for its in known)
    return {
        "of": Column([of for of, _, _ in groups]),
        "name": Column([name for _, name, _ in groups]),
        "flows": ints([len(group) for _, _, group in groups]),
        "jain_index": jain([[goodput[i] for i in group] for _, _, group in groups]),
        "demand_share": floats(
            [min(1.0, a / b) if b else 0.0 for a, b in zip(served, demands, strict=True)], asked
        ),
        "least_demand_share": floats(least, asked),
        "jain_of_demand": jain(known),
        "starved_max_s": floats([max(its, default=0.0) for its in complete], watched),
        "starved_mean_s": floats(
            [sum(its) / len(its) if its else 0.0 for its in complete], watched
        ),
    }


def jain(groups: Sequence[Sequence[float]]) -> Column:
    """Jain's index of each group: the square of the sum over n times the sum of the squares."""
    squares = [len(group) * math.fsum(x * x for x in group) for group in groups]
    totals = [math.fsum(group) ** 2 for group in groups]
    shares = [a / b if b else 0.0 for a, b in zip(totals, squares, strict=True)]
    return floats(shares, mask(square > 0 for square in squares))


def _groups(dscps: Sequence[Any], network: Network) -> Iterator[tuple[str, str, list[int]]]:
    """What each row is of, its name, and its flows by index; messages of routers are none's."""
    aggregates: dict[str, list[int]] = {}
    for index, name in enumerate(dscps):
        aggregates.setdefault(str(name), []).append(index)
    yield from (("dscp", name, group) for name, group in aggregates.items())
    entries: dict[int, list[Ftn]] = {}
    for entry in network["ftn"]:
        entries.setdefault(entry["fec"], []).append(entry)
    paths: dict[str, list[int]] = {}
    for index, flow in enumerate(network["flows"]):
        # A forwarding equivalence class of 0 rides no path.
        path = _path(flow, entries.get(flow["fec"], ()) if flow["fec"] else (), network)
        if path is not None:
            paths.setdefault(path, []).append(index)
    yield from (("path", name, group) for name, group in paths.items())


def _path(flow: Flow, entries: Sequence[Ftn], network: Network) -> str | None:
    """Path that the packets of a flow enter first, by the entries of its equivalence class."""
    for entry in entries:
        if flow["dscp"] in (entry.get("dscps") or [flow["dscp"]]):
            return network["paths"][network["nhlfe"][entry["nhlfe"]]["path"]]["name"]
    return None


def _starved(series: Rows | None, flows: Table, network: Network) -> dict[int, float]:
    """Time in which nothing arrived of each flow that a probe watches [s].

    A step counts if the flow had begun before it and had not stopped in it.
    """
    watching = {
        number: (probe["target"], probe["step_ns"])
        for number, probe in enumerate(network["probes"])
        if probe["measure"] in _RECEIVED
    }
    if series is None or not watching:
        return {}
    warmup = network["run"]["warmup_ns"]
    starts = flows.column("start_ns").numbers()
    ends = flows["finished_ns"]
    # Of several probes of a flow the one that comes first.
    chosen: dict[int, int] = {}
    for number in dict.fromkeys(series["probe"]):
        if number in watching:
            chosen.setdefault(watching[number][0], number)
    found = dict.fromkeys(chosen, 0.0)
    rows = zip(series["probe"], series["time_ns"], series["value"], strict=True)
    for number, time in [(number, time) for number, time, value in rows if value == 0]:
        flow, step = watching.get(number, (-1, 0))
        if chosen.get(flow) != number:
            continue
        stop, end = network["flows"][flow]["stop_ns"], ends[flow]
        over = min(each for each in (stop, end, network["run"]["duration_ns"]) if each is not None)
        if max(starts[flow], warmup) <= time - step and time <= over:
            found[flow] += step / 1e9
    return found
