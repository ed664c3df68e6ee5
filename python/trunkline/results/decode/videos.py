"""The table of players of films."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results.decode.columns import Rows, floats, mask, names_of, ratio, seconds
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network


def videos(rows: Rows, network: Network) -> dict[str, Column]:
    """One row a player."""
    started = mask(span >= 0 for span in rows["start_up_ns"])
    begun = zip(rows["began_ns"], rows["start_up_ns"], strict=True)
    end = network["run"]["duration_ns"]
    watched = [end - at - span if span >= 0 else 0 for at, span in begun]
    pairs = zip(rows["rates_bit_s"], rows["chunks"], strict=True)
    means = [rates / chunks if chunks else 0.0 for rates, chunks in pairs]
    kept = ("player", "began_ns", "stalls", "stalled_ns", "chunks", "switches")
    return {
        "flow": names_of(network, "flows", rows["flow"]),
        **{name: rows.column(name) for name in kept},
        "start_up_ns": rows.column("start_up_ns", started),
        "began_s": seconds(rows["began_ns"]),
        "start_up_s": seconds(rows["start_up_ns"], started),
        "stalled_s": seconds(rows["stalled_ns"]),
        "stall_ratio": ratio(rows["stalled_ns"], watched),
        "bit_rate_bit_s": floats(means, mask(count > 0 for count in rows["chunks"])),
    }
