"""Tables of flows, one by one and by DSCP."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from trunkline.results import dscp
from trunkline.results.decode.columns import (
    QUANTILES,
    Rows,
    ints,
    mask,
    rate,
    ratio,
    seconds,
)
from trunkline.results.decode.fairness import jain
from trunkline.results.table import Column, Later, Table
from trunkline.results.tables import SUMMED

if TYPE_CHECKING:
    from trunkline.network.types import Flow, Network


def flows(rows: Rows, network: Network, measured_s: float) -> dict[str, Column]:
    """One row a flow."""
    listed = [network["flows"][index] for index in rows["flow"]]
    nodes = [node["name"] for node in network["nodes"]]
    arrived = mask(count > 0 for count in rows["packets_delivered"])
    finished = mask(at >= 0 for at in rows["finished_ns"])
    columns = {
        "source": Column([nodes[flow["src"]] for flow in listed]),
        "destination": Column([nodes[flow["dst"]] for flow in listed]),
        "protocol": Column([_protocol(flow) for flow in listed]),
        "dscp": Column([dscp.name(flow["dscp"]) for flow in listed]),
        "finished_ns": rows.column("finished_ns", finished),
    }
    for name in rows.names:
        if name.startswith(("delay_", "jitter_")):
            columns[name] = rows.column(name, arrived)
    return columns | _rates(rows, measured_s)


def _protocol(flow: Flow) -> str:
    echo = flow.get("echo")
    return echo["over"] if echo else flow["agent"]["protocol"]


def aggregates(flows: Table, delays: Table, measured_s: float) -> dict[str, Later]:
    """Flows gathered by DSCP, in order of their first flow."""
    named = flows["dscp"]
    members: dict[Any, list[int]] = {}
    for index, name in enumerate(named):
        members.setdefault(name, []).append(index)
    groups = list(members.values())
    counts = {name: flows.column(name).numbers() for name in SUMMED}
    sums = {name: [_total(values, group) for group in groups] for name, values in counts.items()}
    delivered = counts["packets_delivered"]
    arrived = [[i for i in group if delivered[i] > 0] for group in groups]
    least, most = (flows.column(f"delay_{end}_ns").numbers() for end in ("min", "max"))
    valid = mask(bool(group) for group in arrived)
    least_ns = [min((int(least[i]) for i in group), default=-1) for group in arrived]
    most_ns = [max((int(most[i]) for i in group), default=-1) for group in arrived]
    range_ns = [high - low for low, high in zip(least_ns, most_ns, strict=True)]

    def averaged(name: str) -> Column:
        values = flows.column(name).numbers()
        weighted = (sum(values[i] * delivered[i] for i in group) for group in arrived)
        totals = (max(1, _total(delivered, group)) for group in arrived)
        return seconds([part / n for part, n in zip(weighted, totals, strict=True)], valid)

    dscp_of = dict(zip(flows["flow"], named, strict=True))
    # To merge histograms takes longer than all other columns together.
    merged = functools.cache(lambda: _percentiles(list(members), dscp_of, delays, flows))

    return {
        "dscp": Column([str(name) for name in members]),
        "flows": ints([len(group) for group in groups]),
        **{name: ints(values) for name, values in sums.items()},
        "delay_min_ns": ints(least_ns, valid),
        "delay_max_ns": ints(most_ns, valid),
        **_rates(sums, measured_s),
        "delay_mean_s": averaged("delay_mean_ns"),
        "delay_min_s": seconds(least_ns, valid),
        "delay_max_s": seconds(most_ns, valid),
        **{f"delay_{which}_s": functools.partial(_one, merged, which) for which in QUANTILES},
        "delay_range_s": seconds(range_ns, valid),
        "jitter_s": averaged("jitter_ns"),
        "jain_index": jain([[counts["goodput_bytes"][i] for i in group] for group in groups]),
    }


def _one(merged: Callable[[], dict[str, Column]], which: str) -> Column:
    return merged()[which]


def _percentiles(
    dscps: Sequence[Any],
    dscp_of: Mapping[Any, Any],
    delays: Table,
    greatest: Table,
) -> dict[str, Column]:
    """Percentiles of aggregates: of the histograms of their flows, which have the same buckets."""
    gathered: dict[Any, dict[int, int]] = {name: {} for name in dscps}
    ends = dict(zip(greatest["flow"], greatest.column("delay_max_ns").numbers(), strict=True))
    uppers, packets_of = (delays.column(name).numbers() for name in ("upper_ns", "packets"))
    for flow, upper, packets in zip(delays["flow"], uppers, packets_of, strict=True):
        buckets = gathered[dscp_of[flow]]
        # The last bucket ends where the delays do.
        end = min(upper, int(ends[flow]))
        buckets[end] = buckets.get(end, 0) + packets
    found = [_quantiles(sorted(buckets.items())) for buckets in gathered.values()]
    valid = mask(bool(buckets) for buckets in gathered.values())
    return {
        which: seconds([values[index] for values in found], valid)
        for index, which in enumerate(QUANTILES)
    }


def _quantiles(buckets: list[tuple[int, int]]) -> list[int]:
    """Upper ends of the buckets with the values of rank ceil(share n), as the engine has them."""
    if not buckets:
        return [0] * len(QUANTILES)
    ranks = list(accumulate(packets for _, packets in buckets))
    wanted = (max(1, math.ceil(share * ranks[-1])) for share in QUANTILES.values())
    return [buckets[bisect_left(ranks, rank)][0] for rank in wanted]


def _total(values: Sequence[float], group: Iterable[int]) -> int:
    return sum(map(int, map(values.__getitem__, group)))


def _loss(counts: Rows | Mapping[str, list[int]]) -> Column:
    """Packets of which no copy arrives over those sent, or over those that ended, if more."""
    names = ("packets_sent", "packets_delivered", "packets_dropped", "packets_copied")
    lost, wholes = [], []
    for sent, delivered, dropped, copied in zip(*(counts[name] for name in names), strict=True):
        # Of a packet and its copy one more is dropped or delivered than was sent.
        lost.append(max(0, dropped - copied))
        # Some of before the warm-up end after it.
        wholes.append(max(sent, lost[-1] + delivered))
    return ratio(lost, wholes)


def _rates(counts: Rows | Mapping[str, list[int]], measured_s: float) -> dict[str, Column]:
    return {
        "offered_bit_s": rate(counts["bytes_sent"], measured_s),
        "throughput_bit_s": rate(counts["bytes_delivered"], measured_s),
        "goodput_bit_s": rate(counts["goodput_bytes"], measured_s),
        "loss_ratio": _loss(counts),
    }
