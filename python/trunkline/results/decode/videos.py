"""The table of players of films."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results.decode.columns import (
    RawRows,
    make_float_column,
    make_mask,
    make_ratio_column,
)
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


def decode_videos(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row a player."""
    started = make_mask(span >= 0 for span in rows["start_up_ns"])
    duration = network["run"]["duration_ns"]
    stops = (network["flows"][flow].get("stop_ns") for flow in rows["flow"])
    ends = (duration if stop is None else min(stop, duration) for stop in stops)
    times = zip(ends, rows["began_ns"], rows["start_up_ns"], strict=True)
    watched = [end - at - span if span >= 0 else 0 for end, at, span in times]
    pairs = zip(rows["rates_bit_s"], rows["chunks"], strict=True)
    means = [rates / chunks if chunks else 0.0 for rates, chunks in pairs]
    return {
        "began_ns": rows.column("began_ns", make_mask(at >= 0 for at in rows["began_ns"])),
        "start_up_ns": rows.column("start_up_ns", started),
        "stall_ratio": make_ratio_column(rows["stalled_ns"], watched),
        "bit_rate_bit_s": make_float_column(means),
    }
