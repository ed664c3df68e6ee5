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
from trunkline.results.decode.columns import RawTable, Rows, empty, floats, whole
from trunkline.results.table import Later, Table
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
    made: dict[str, Callable[[Rows], Mapping[str, Later]]] = {
        "flows": lambda rows: flows.flows(rows, network, measured_s),
        "delays": lambda _: {},
        "ports": lambda rows: ports.ports(rows, network, measured_s),
        "paths": lambda rows: ports.paths(rows, network, measured_s),
        "drops": lambda _: {},
        "series": lambda rows: ports.series(rows, network),
        "colours": lambda rows: ports.colours(rows, network, measured_s),
        "accounts": ports.accounts,
        "calls": lambda rows: calls.calls(rows, read["flows"], network),
        "echoes": lambda rows: echoes.echoes(rows, read["flows"], network),
        "videos": lambda rows: videos.videos(rows, network),
        "transfers": transfers.transfers,
        "completions": transfers.completions,
        "completion_times": transfers.times,
        "timeline": lambda rows: recovery.timeline(rows, network),
        "lsps": lambda rows: signalling.lsps(rows, network),
        "control": lambda rows: signalling.control(rows, network, measured_s),
        "signalling": lambda rows: signalling.signalling(rows, network),
        "messages": lambda rows: signalling.messages(rows, network),
        "packets": lambda rows: packets.packets(rows, network),
        "summary": lambda _: {"measured_s": floats([measured_s])},
    }
    # Paths are worked out from the events.
    raw = {**raw, "lsps": raw["signalling"]} if "signalling" in raw else raw
    read = {name: Rows(columns) for name, columns in raw.items()}
    tables = {
        name: Table(
            name,
            SCHEMAS[name],
            whole(name, read[name], network, make(read[name])) if name in read else empty(name),
        )
        for name, make in made.items()
    }
    gathered: dict[str, Mapping[str, Later]] = {
        "aggregates": flows.aggregates(tables["flows"], tables["delays"], measured_s),
        "fairness": fairness.fairness(tables["flows"], read.get("series"), network),
    }
    tables |= {name: Table(name, SCHEMAS[name], columns) for name, columns in gathered.items()}
    return {name: tables[name] for name in SCHEMAS}
