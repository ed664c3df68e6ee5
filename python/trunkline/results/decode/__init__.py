"""From the raw columns of an engine to tables: names in place of indices, base units added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from trunkline.results.decode import (
    calls,
    echoes,
    fairness,
    flows,
    packets,
    ports,
    recovery,
    signalling,
    transfers,
    videos,
)
from trunkline.results.decode.columns import RawTable, Rows, empty, floats
from trunkline.results.table import Column, Later, Table
from trunkline.results.tables import SCHEMAS

if TYPE_CHECKING:
    from trunkline.network.types import Network

__all__ = ["Raw", "decode"]

Raw = Mapping[str, RawTable]


def decode(raw: Raw, network: Network) -> dict[str, Table]:
    """Make the tables of a run.

    Parameters
    ----------
    raw : mapping of table to mapping of column to (kind, bytes)
        What the engine returned; indices refer to the lists of the network.
    network : mapping
        The compiled network, parsed from its JSON.

    Returns
    -------
    dict of str to Table
        A table for each entry of ``SCHEMAS``; one that the engine has no rows for is empty.
    """
    measured_s = (network["run"]["duration_ns"] - network["run"]["warmup_ns"]) / 1e9
    made: dict[str, Callable[[Rows], dict[str, Column]]] = {
        "flows": lambda rows: flows.flows(rows, network, measured_s),
        "delays": lambda rows: flows.delays(rows, network),
        "ports": lambda rows: ports.ports(rows, network, measured_s),
        "paths": lambda rows: ports.paths(rows, network, measured_s),
        "drops": lambda rows: ports.drops(rows, network),
        "series": lambda rows: ports.series(rows, network),
        "colours": lambda rows: ports.colours(rows, network, measured_s),
        "accounts": lambda rows: ports.accounts(rows, network),
        "calls": lambda rows: calls.calls(rows, Rows(raw["flows"]), network),
        "echoes": lambda rows: echoes.echoes(rows, Rows(raw["flows"]), network),
        "videos": lambda rows: videos.videos(rows, network),
        "transfers": lambda rows: transfers.transfers(rows, network),
        "completions": lambda rows: transfers.completions(rows, network),
        "completion_times": lambda rows: transfers.times(rows, network),
        "timeline": lambda rows: recovery.timeline(rows, network),
        "lsps": lambda rows: signalling.lsps(rows, network),
        "control": lambda rows: signalling.control(rows, network, measured_s),
        "signalling": lambda rows: signalling.signalling(rows, network),
        "messages": lambda rows: signalling.messages(rows, network),
        "packets": lambda rows: packets.packets(rows, network),
        "summary": lambda rows: _summary(rows, measured_s),
    }
    # Paths are worked out from the events.
    raw = {**raw, "lsps": raw["signalling"]} if "signalling" in raw else raw
    columns = {
        name: make(Rows(raw[name])) if name in raw else empty(name) for name, make in made.items()
    }
    classes = flows.classes(columns["flows"], columns["delays"], measured_s)
    shares = fairness.fairness(
        columns["flows"], Rows(raw["series"]) if "series" in raw else None, network
    )
    every: dict[str, Mapping[str, Later]] = {**columns, "classes": classes, "fairness": shares}
    return {name: Table(name, fields, every[name]) for name, fields in SCHEMAS.items()}


def _summary(rows: Rows, measured_s: float) -> dict[str, Column]:
    columns = {name: rows.column(name) for name in rows.names}
    return {**columns, "measured_s": floats([measured_s])}
