"""The table of echo flows: what came back, as the one who asked sees it."""

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

_TIME_MEASURES = ("mean", "min", "max", "p50", "p95", "p99", "jitter")


def decode_echoes(rows: RawRows, flows: RawRows, network: NetworkData) -> dict[str, Column]:
    """One row an echo flow."""

    def of_flow(name: str) -> list[int]:
        return [flows[name][flow] for flow in rows["flow"]]

    protocols = [(network["flows"][flow].get("echo") or {})["over"] for flow in rows["flow"]]
    two_ways = [protocol == "udp" for protocol in protocols]
    lost_there, lost_back, late = (
        of_flow("packets_dropped"),
        rows["replies_dropped"],
        rows["replies_late"],
    )
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
        "loss_ratio": make_ratio_column(lost, known),
        "loss_there_ratio": _make_two_way_ratio(lost_there, arrived, two_ways),
        "loss_back_ratio": _make_two_way_ratio(lost_back, replies_arrived, two_ways),
    }
    replied = [count > 0 for count in rows["replies"]]
    has_reply_times = [a and b for a, b in zip(replied, two_ways, strict=True)]
    has_request_times = [a > 0 and b for a, b in zip(arrived, two_ways, strict=True)]
    return (
        columns
        | _make_time_columns("rtt", "rtt", rows, list(range(len(replied))), replied)
        | _make_time_columns("back", "back", rows, list(range(len(replied))), has_reply_times)
        | _make_time_columns("there", "delay", flows, rows["flow"], has_request_times)
    )


def _make_two_way_ratio(lost: list[int], arrived: list[int], valid: list[bool]) -> Column:
    totals = [a + b if ok else 0 for a, b, ok in zip(lost, arrived, valid, strict=True)]
    return make_ratio_column(lost, totals)


def _make_time_columns(
    name: str, source: str, rows: RawRows, row_indices: list[int], valid: list[bool]
) -> dict[str, Column]:
    """Times of some rows."""
    columns: dict[str, Column] = {}
    for which in _TIME_MEASURES:
        column = f"{source}_{which}_ns" if (source, which) != ("delay", "jitter") else "jitter_ns"
        values = [rows[column][index] for index in row_indices]
        averaged = which in ("mean", "jitter")
        columns[f"{name}_{which}_ns"] = (
            make_float_column(values, make_mask(valid))
            if averaged
            else make_int_column(values, make_mask(valid))
        )
    return columns
