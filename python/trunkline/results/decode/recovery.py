"""The table of failures and recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline import _core
from trunkline.results.decode.columns import RawRows, make_name_column
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


def decode_timeline(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row a moment of a failure or a recovery."""
    protections = network.get("recovery", {}).get("protections", [])
    return {
        "event": make_name_column(_core.TIMELINE_EVENTS, rows["event"]),
        "protection": make_name_column([item["name"] for item in protections], rows["protection"]),
    }
