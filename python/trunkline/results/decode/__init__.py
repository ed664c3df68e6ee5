"""Decoding of an engine's raw columns to tables: names in place of indices, base units added."""

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
from trunkline.results.decode.columns import (
    RawRows,
    RawTable,
    complete_columns,
    make_empty_columns,
    make_float_column,
    mask_empty_bases,
)
from trunkline.results.schemas import SCHEMAS
from trunkline.results.table import LazyColumn, Table

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData

__all__ = ["RawTables", "decode_tables"]

RawTables = Mapping[str, RawTable]


def decode_tables(raw: RawTables, network: NetworkData) -> dict[str, Table]:
    """Make the tables of a run.

    raw: Output of the engine; indices refer to the lists of the network.
    network: The compiled network, parsed from its JSON.
    Returns: A table for each entry of ``SCHEMAS``; one that the engine has no rows for is empty.
    """
    measured_s = (network["run"]["duration_ns"] - network["run"]["warmup_ns"]) / 1e9
    decoders: dict[str, Callable[[RawRows], Mapping[str, LazyColumn]]] = {
        "flows": lambda rows: flows.decode_flows(rows, network, measured_s),
        "delays": lambda _: {},
        "ports": lambda rows: ports.decode_ports(rows, network, measured_s),
        "paths": lambda rows: ports.decode_paths(rows, network, measured_s),
        "drops": lambda _: {},
        "marks": lambda _: {},
        "series": lambda rows: ports.decode_series(rows, network),
        "colours": lambda rows: ports.decode_colours(rows, network, measured_s),
        "accounts": ports.decode_accounts,
        "calls": lambda rows: calls.decode_calls(rows, raw_rows["flows"], network),
        "echoes": lambda rows: echoes.decode_echoes(rows, raw_rows["flows"], network),
        "videos": lambda rows: videos.decode_videos(rows, network),
        "transfers": transfers.decode_transfers,
        "completions": transfers.decode_completions,
        "completion_times": transfers.decode_completion_times,
        "timeline": lambda rows: recovery.decode_timeline(rows, network),
        "lsps": lambda rows: signalling.decode_lsps(rows, network),
        "control": lambda rows: signalling.decode_control(rows, network, measured_s),
        "signalling": lambda rows: signalling.decode_signalling(rows, network),
        "messages": lambda rows: signalling.decode_messages(rows, network),
        "packets": lambda rows: packets.decode_packets(rows, network),
        "summary": lambda _: {"measured_s": make_float_column([measured_s])},
    }
    # Paths are worked out from the events.
    raw = {**raw, "lsps": raw["signalling"]} if "signalling" in raw else raw
    raw_rows = {name: RawRows(columns) for name, columns in raw.items()}
    tables = {
        name: Table(
            name,
            SCHEMAS[name],
            complete_columns(name, raw_rows[name], network, make(raw_rows[name]))
            if name in raw_rows
            else make_empty_columns(name),
        )
        for name, make in decoders.items()
    }
    aggregated: dict[str, Mapping[str, LazyColumn]] = {
        "aggregates": flows.decode_aggregates(tables["flows"], tables["delays"], measured_s),
        "fairness": fairness.decode_fairness(tables["flows"], raw_rows.get("series"), network),
    }
    tables |= {
        name: Table(name, SCHEMAS[name], mask_empty_bases(name, columns))
        for name, columns in aggregated.items()
    }
    return {name: tables[name] for name in SCHEMAS}
