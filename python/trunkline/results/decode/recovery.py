"""The table of failures and recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results.decode.columns import Rows, names, names_of, seconds
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network

MOMENTS = (
    "failed",
    "detected",
    "notified",
    "held-off",
    "switched",
    "no-path",
    "repaired",
    "repair-detected",
    "repair-notified",
    "reverted",
    "rerouted",
)
"""Events of the timeline, in the engine's order."""


def timeline(rows: Rows, network: Network) -> dict[str, Column]:
    """One row a moment of a failure or a recovery."""
    protections = network.get("recovery", {}).get("protections", [])
    return {
        "time_ns": rows.column("time_ns"),
        "time_s": seconds(rows["time_ns"]),
        "event": names(MOMENTS, rows["event"]),
        "protection": names([item["name"] for item in protections], rows["protection"]),
        "path": names_of(network, "paths", rows["path"]),
        "link": names_of(network, "links", rows["link"]),
        "node": names_of(network, "nodes", rows["node"]),
    }
