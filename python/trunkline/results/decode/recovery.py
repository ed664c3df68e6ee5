"""Tables of events: failures and recovery, and the packet trace."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.results.decode.columns import (
    Network,
    Rows,
    directions,
    mask,
    names,
    names_of,
    seconds,
)
from trunkline.results.table import Column

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

PACKET_EVENTS = ("sent", "queued", "arrived", "delivered", "dropped")
"""Events of the packet trace, in the engine's order."""


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


def packets(rows: Rows, network: Network, causes: Sequence[str]) -> dict[str, Column]:
    """One row an event of a packet; only of a run that was traced."""
    counted = ("seq", "ack", "retransmission", "ip_bytes", "labels")
    return {
        "time_ns": rows.column("time_ns"),
        "time_s": seconds(rows["time_ns"]),
        "event": names(PACKET_EVENTS, rows["event"]),
        "flow": names_of(network, "flows", rows["flow"]),
        "direction": directions(rows),
        "link": names_of(network, "links", rows["link"]),
        "node": names_of(network, "nodes", rows["node"]),
        "cause": names(causes, rows["cause"]),
        "label": rows.column("label", mask(label >= 0 for label in rows["label"])),
        **{name: rows.column(name) for name in counted},
    }
