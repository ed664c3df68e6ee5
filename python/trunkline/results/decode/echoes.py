"""The table of echo flows: replies, as the sender of the requests measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results.decode.columns import (
    RawRows,
    make_float_column,
    make_int_column,
    make_mask,
    make_ratio_column,
)
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData

_REQUEST_TIME_COLUMNS = (
    ("mean", "delay_mean_ns", True),
    *((which, f"delay_{which}_ns", False) for which in ("min", "max", "p50", "p95", "p99")),
    ("jitter", "jitter_ns", True),
)
"""Columns of the way there: each with that of the flow, and whether that is an average."""


def decode_echoes(rows: RawRows, flows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row an echo flow."""

    def of_flow(name: str) -> list[int]:
        return [flows[name][flow] for flow in rows["flow"]]

    protocols = [(network["flows"][flow].get("echo") or {})["over"] for flow in rows["flow"]]
    two_ways = [protocol == "udp" for protocol in protocols]
    lost_there = of_flow("packets_dropped")
    lost_back = rows["replies_dropped"]
    late = rows["replies_late"]
    lost = [sum(parts) for parts in zip(lost_there, lost_back, late, strict=True)]
    known = [a + b for a, b in zip(lost, rows["replies"], strict=True)]
    arrived = of_flow("packets_delivered")
    replies_arrived = [a + b for a, b in zip(rows["replies"], late, strict=True)]
    columns = {
        "protocol": Column(protocols),
        "requests": make_int_column(of_flow("packets_sent")),
        "lost": make_int_column(lost),
        "lost_there": make_int_column(lost_there, make_mask(two_ways)),
        "lost_back": make_int_column(lost_back, make_mask(two_ways)),
        "reordered_there": make_int_column(of_flow("reordered"), make_mask(two_ways)),
        "reordered_back": rows.column("reordered_back", make_mask(two_ways)),
        "requests_timed": make_int_column(of_flow("packets_timed"), make_mask(two_ways)),
        "replies_timed": make_int_column(rows["replies"], make_mask(two_ways)),
        "there_compared": make_int_column(of_flow("delays_compared"), make_mask(two_ways)),
        "back_compared": rows.column("back_compared", make_mask(two_ways)),
        "loss_ratio": make_ratio_column(lost, known),
        "loss_there_ratio": _make_two_way_ratio(lost_there, arrived, two_ways),
        "loss_back_ratio": _make_two_way_ratio(lost_back, replies_arrived, two_ways),
    }
    return columns | {
        f"there_{which}_ns": make_float_column(of_flow(source))
        if averaged
        else make_int_column(of_flow(source))
        for which, source, averaged in _REQUEST_TIME_COLUMNS
    }


def _make_two_way_ratio(lost: list[int], arrived: list[int], valid: list[bool]) -> Column:
    totals = [a + b if ok else 0 for a, b, ok in zip(lost, arrived, valid, strict=True)]
    return make_ratio_column(lost, totals)
