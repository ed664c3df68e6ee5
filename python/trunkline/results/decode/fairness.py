"""The table of fairness: how the flows of a DSCP, or of a path, share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.results.decode.columns import RawRows, make_float_column, make_int_column, make_mask
from trunkline.results.table import Column, Table

if TYPE_CHECKING:
    from trunkline.network.types import Flow, Ftn, NetworkData

_RECEIVED_MEASURES = ("goodput", "throughput")


def decode_fairness(
    flows: Table, series: RawRows | None, network: NetworkData
) -> dict[str, Column]:
    """Decode one row a DSCP of flows, then one a path that flows are bound to."""
    counted = ("goodput_bytes", "bytes_sent", "bytes_delivered")
    goodput, sent, delivered = (flows.column(name).get_numbers() for name in counted)
    # The demand of TCP is its share: only a source that does not listen has a demand.
    shares = [
        # Packets under way at the end of the warm-up count as delivered, not as sent.
        min(1.0, delivered[index] / sent[index]) if protocol != "tcp" and sent[index] else None
        for index, protocol in enumerate(flows["protocol"])
    ]
    starved = _compute_starved_times(series, flows, network)
    groups = list(_iterate_groups(flows["dscp"], network))
    known = [[share for i in group if (share := shares[i]) is not None] for _, _, group in groups]
    demanding_flows = [[i for i in group if shares[i] is not None] for _, _, group in groups]
    starved_times = [[starved.get(i) for i in group] for _, _, group in groups]
    complete = [[wait for wait in values if wait is not None] for values in starved_times]
    is_fully_probed = make_mask(
        len(some) == len(values) for some, values in zip(complete, starved_times, strict=True)
    )
    least_shares = [min(values, default=0.0) for values in known]
    demands = [sum(sent[i] for i in group) for group in demanding_flows]
    served = [sum(delivered[i] for i in group) for group in demanding_flows]
    has_demand = make_mask(bool(values) for values in known)
    return {
        "of": Column([group_kind for group_kind, _, _ in groups]),
        "name": Column([name for _, name, _ in groups]),
        "flows": make_int_column([len(group) for _, _, group in groups]),
        "jain_index": make_jain_column([[goodput[i] for i in group] for _, _, group in groups]),
        "demand_share": make_float_column(
            [min(1.0, a / b) if b else 0.0 for a, b in zip(served, demands, strict=True)],
            has_demand,
        ),
        "least_demand_share": make_float_column(least_shares, has_demand),
        "jain_of_demand": make_jain_column(known),
        "starved_max_s": make_float_column(
            [max(values, default=0.0) for values in complete], is_fully_probed
        ),
        "starved_mean_s": make_float_column(
            [sum(values) / len(values) if values else 0.0 for values in complete], is_fully_probed
        ),
    }


def make_jain_column(groups: Sequence[Sequence[float]]) -> Column:
    """Jain's index of each group: the square of the sum over n times the sum of the squares."""
    squares = [len(group) * math.fsum(x * x for x in group) for group in groups]
    totals = [math.fsum(group) ** 2 for group in groups]
    shares = [a / b if b else 0.0 for a, b in zip(totals, squares, strict=True)]
    return make_float_column(shares, make_mask(square > 0 for square in squares))


def _iterate_groups(
    dscps: Sequence[Any], network: NetworkData
) -> Iterator[tuple[str, str, list[int]]]:
    """Yield subject, name and indices of flows of each row; messages of routers have no flow."""
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
        path = _find_path(flow, entries.get(flow["fec"], ()) if flow["fec"] else (), network)
        if path is not None:
            paths.setdefault(path, []).append(index)
    yield from (("path", name, group) for name, group in paths.items())


def _find_path(flow: Flow, entries: Sequence[Ftn], network: NetworkData) -> str | None:
    """Path that the packets of a flow enter first, by the entries of its equivalence class."""
    for entry in entries:
        if flow["dscp"] in (entry.get("dscps") or [flow["dscp"]]):
            return network["paths"][network["nhlfe"][entry["nhlfe"]]["path"]]["name"]
    return None


def _compute_starved_times(
    series: RawRows | None, flows: Table, network: NetworkData
) -> dict[int, float]:
    """Compute the time in which nothing arrived of each flow that a probe watches [s].

    A step counts if the flow had begun before it and had not stopped in it.
    """
    probes = {
        number: (probe["target"], probe["step_ns"])
        for number, probe in enumerate(network["probes"])
        if probe["measure"] in _RECEIVED_MEASURES
    }
    if series is None or not probes:
        return {}
    warmup = network["run"]["warmup_ns"]
    starts = flows.column("start_ns").get_numbers()
    ends = flows["finished_ns"]
    # Of several probes of a flow the one that comes first.
    chosen: dict[int, int] = {}
    for number in dict.fromkeys(series["probe"]):
        if number in probes:
            chosen.setdefault(probes[number][0], number)
    found = dict.fromkeys(chosen, 0.0)
    rows = zip(series["probe"], series["time_ns"], series["value"], strict=True)
    for number, time in [(number, time) for number, time, value in rows if value == 0]:
        flow, step = probes.get(number, (-1, 0))
        if chosen.get(flow) != number:
            continue
        stop, end = network["flows"][flow]["stop_ns"], ends[flow]
        end_ns = min(
            each for each in (stop, end, network["run"]["duration_ns"]) if each is not None
        )
        if max(starts[flow], warmup) <= time - step and time <= end_ns:
            found[flow] += step / 1e9
    return found
