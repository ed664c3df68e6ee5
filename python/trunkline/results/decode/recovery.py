"""The table of failures and recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline import _core
from trunkline.results.decode.columns import Rows, names
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network


def timeline(rows: Rows, network: Network) -> dict[str, Column]:
    """One row a moment of a failure or a recovery."""
    protections = network.get("recovery", {}).get("protections", [])
    return {
        "event": names(_core.TIMELINE_EVENTS, rows["event"]),
        "protection": names([item["name"] for item in protections], rows["protection"]),
    }
