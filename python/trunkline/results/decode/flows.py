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
    RawRows,
    make_int_column,
    make_mask,
    make_rate_column,
    make_ratio_column,
    make_seconds_column,
)
from trunkline.results.decode.fairness import make_jain_column
from trunkline.results.schemas import SUMMED_COLUMNS
from trunkline.results.table import Column, LazyColumn, Table

if TYPE_CHECKING:
    from trunkline.network.types import Flow, NetworkData


def decode_flows(rows: RawRows, network: NetworkData, measured_s: float) -> dict[str, Column]:
    """Decode one row a flow."""
    listed = [network["flows"][index] for index in rows["flow"]]
    nodes = [node["name"] for node in network["nodes"]]
    finished = make_mask(at >= 0 for at in rows["finished_ns"])
    return {
        "source": Column([nodes[flow["src"]] for flow in listed]),
        "destination": Column([nodes[flow["dst"]] for flow in listed]),
        "protocol": Column([_get_protocol(flow) for flow in listed]),
        "dscp": Column([dscp.name_code_point(flow["dscp"]) for flow in listed]),
        "finished_ns": rows.column("finished_ns", finished),
        **_make_rate_columns(rows, measured_s),
    }


def _get_protocol(flow: Flow) -> str:
    echo = flow.get("echo")
    return echo["over"] if echo else flow["agent"]["protocol"]


def decode_aggregates(flows: Table, delays: Table, measured_s: float) -> dict[str, LazyColumn]:
    """Decode flows gathered by DSCP, in order of their first flow."""
    dscps = flows["dscp"]
    members: dict[Any, list[int]] = {}
    for index, name in enumerate(dscps):
        members.setdefault(name, []).append(index)
    groups = list(members.values())
    counts = {name: flows.column(name).get_numbers() for name in SUMMED_COLUMNS}
    sums = {
        name: [_sum_group(values, group) for group in groups] for name, values in counts.items()
    }
    timed = counts["packets_timed"]

    def having(base: str) -> list[list[int]]:
        """Flows of each group with the averaged value."""
        return [[i for i in group if counts[base][i] > 0] for group in groups]

    def averaged(name: str, base: str) -> Column:
        values, some = flows.column(name).get_numbers(), having(base)
        weighted = (sum(values[i] * timed[i] for i in group) for group in some)
        totals = (max(1, _sum_group(timed, group)) for group in some)
        return make_seconds_column(part / n for part, n in zip(weighted, totals, strict=True))

    min_delays, max_delays = (
        flows.column(f"delay_{end}_ns").get_numbers() for end in ("min", "max")
    )
    arrived = having("packets_timed")
    least_ns = [min((int(min_delays[i]) for i in group), default=-1) for group in arrived]
    most_ns = [max((int(max_delays[i]) for i in group), default=-1) for group in arrived]
    range_ns = [high - low for low, high in zip(least_ns, most_ns, strict=True)]

    dscp_of = dict(zip(flows["flow"], dscps, strict=True))
    # To merge histograms takes longer than all other columns together.
    merged = functools.cache(lambda: _merge_percentiles(list(members), dscp_of, delays, flows))

    return {
        "dscp": Column([str(name) for name in members]),
        "flows": make_int_column([len(group) for group in groups]),
        **{name: make_int_column(values) for name, values in sums.items()},
        "delay_min_ns": make_int_column(least_ns),
        "delay_max_ns": make_int_column(most_ns),
        **_make_rate_columns(sums, measured_s),
        "delay_mean_s": averaged("delay_mean_ns", "packets_timed"),
        "delay_min_s": make_seconds_column(least_ns),
        "delay_max_s": make_seconds_column(most_ns),
        **{
            f"delay_{which}_s": functools.partial(_select_percentile, merged, which)
            for which in QUANTILES
        },
        "delay_range_s": make_seconds_column(range_ns),
        "jitter_s": averaged("jitter_ns", "delays_compared"),
        "jain_index": make_jain_column(
            [[counts["goodput_bytes"][i] for i in group] for group in groups]
        ),
    }


def _select_percentile(merged: Callable[[], dict[str, Column]], which: str) -> Column:
    return merged()[which]


def _merge_percentiles(
    dscps: Sequence[Any],
    dscp_of: Mapping[Any, Any],
    delays: Table,
    greatest: Table,
) -> dict[str, Column]:
    """Percentiles of aggregates: of the histograms of their flows, which have the same buckets."""
    gathered: dict[Any, dict[int, int]] = {name: {} for name in dscps}
    ends = dict(zip(greatest["flow"], greatest.column("delay_max_ns").get_numbers(), strict=True))
    uppers, packets_of = (delays.column(name).get_numbers() for name in ("upper_ns", "packets"))
    for flow, upper, packets in zip(delays["flow"], uppers, packets_of, strict=True):
        buckets = gathered[dscp_of[flow]]
        # The last bucket ends where the delays do.
        end = min(upper, int(ends[flow]))
        buckets[end] = buckets.get(end, 0) + packets
    found = [_find_quantiles(sorted(buckets.items())) for buckets in gathered.values()]
    return {
        which: make_seconds_column(values[index] for values in found)
        for index, which in enumerate(QUANTILES)
    }


def _find_quantiles(buckets: list[tuple[int, int]]) -> list[int]:
    """Upper ends of the buckets with the values of rank ceil(share n), as the engine has them."""
    if not buckets:
        return [0] * len(QUANTILES)
    ranks = list(accumulate(packets for _, packets in buckets))
    ranks_wanted = (max(1, math.ceil(share * ranks[-1])) for share in QUANTILES.values())
    return [buckets[bisect_left(ranks, rank)][0] for rank in ranks_wanted]


def _sum_group(values: Sequence[float], group: Iterable[int]) -> int:
    return sum(map(int, map(values.__getitem__, group)))


def _make_loss_column(counts: RawRows | Mapping[str, list[int]]) -> Column:
    """Packets of which no copy arrives over those sent, or over those that ended, if more."""
    names = ("packets_sent", "packets_delivered", "packets_dropped", "packets_copied")
    lost, wholes = [], []
    for sent, delivered, dropped, copied in zip(*(counts[name] for name in names), strict=True):
        # Of a packet and its copy one more is dropped or delivered than was sent.
        lost.append(max(0, dropped - copied))
        # Some of before the warm-up end after it.
        wholes.append(max(sent, lost[-1] + delivered))
    return make_ratio_column(lost, wholes)


def _make_rate_columns(
    counts: RawRows | Mapping[str, list[int]], measured_s: float
) -> dict[str, Column]:
    return {
        "offered_bit_s": make_rate_column(counts["bytes_sent"], measured_s),
        "throughput_bit_s": make_rate_column(counts["bytes_delivered"], measured_s),
        "goodput_bit_s": make_rate_column(counts["goodput_bytes"], measured_s),
        "loss_ratio": _make_loss_column(counts),
    }
