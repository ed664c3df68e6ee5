"""Tables of ports, paths, drops, probes, colours and accounts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trunkline import _core
from trunkline.results.decode.columns import (
    RawRows,
    build_class_namer,
    make_float_column,
    make_int_column,
    make_mask,
    make_name_column,
    make_rate_column,
    make_ratio_column,
)
from trunkline.results.schemas import SCHEMAS
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


def decode_ports(rows: RawRows, network: NetworkData, measured_s: float) -> dict[str, Column]:
    """Decode one row a link and class."""
    rates = [network["links"][index]["rate_bit_s"] for index in rows["link"]]
    pairs = zip(rows["bytes_sent"], rates, strict=True)
    return {
        "throughput_bit_s": make_rate_column(rows["bytes_sent"], measured_s),
        "utilisation": make_float_column([sent * 8 / measured_s / rate for sent, rate in pairs]),
        "loss_ratio": make_ratio_column(rows["packets_dropped"], rows["packets_offered"]),
    }


def decode_paths(rows: RawRows, network: NetworkData, measured_s: float) -> dict[str, Column]:
    """Decode one row a label-switched path; delays and losses of those that are accounted for."""
    has_account = [bool(network["paths"][index].get("account")) for index in rows["path"]]
    columns = {"throughput_bit_s": make_rate_column(rows["bytes"], measured_s)}
    if "packets_delivered" not in rows.names:
        # An engine without such accounts.
        return columns | _make_null_columns(len(has_account))
    delivered, dropped = rows["packets_delivered"], rows["packets_dropped"]
    for name in ("packets_delivered", "packets_dropped", "reordered", "delays_compared"):
        columns[name] = rows.column(name, make_mask(has_account))
    counted = [
        max(0, delivered_packets) + max(0, dropped_packets)
        for delivered_packets, dropped_packets in zip(delivered, dropped, strict=True)
    ]
    columns["loss_ratio"] = make_ratio_column(dropped, counted)
    return columns


def _make_null_columns(count: int) -> dict[str, Column]:
    """Make the columns of the delays of paths, all null."""
    all_null = [False] * count
    columns: dict[str, Column] = {}
    for field in SCHEMAS["paths"]:
        if field.name not in ("path", "packets", "bytes", "throughput_bit_s"):
            is_integer = field.kind == "i64"
            columns[field.name] = (
                make_int_column([-1] * count, all_null)
                if is_integer
                else make_float_column([0.0] * count, all_null)
            )
    return columns


def decode_series(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row a probe and step."""
    class_name = build_class_namer(network)
    targets: list[str] = []
    classes: list[str | None] = []
    for probe in network["probes"]:
        items = network["links" if probe["measure"] in _core.LINK_MEASURES else "flows"]
        targets.append(items[probe["target"]]["name"])
        index = probe.get("class")
        classes.append(class_name(probe["target"], index) if index is not None else None)
    chosen = [probe.get("precedence") for probe in network["probes"]]
    precedences = [-1 if precedence is None else precedence for precedence in chosen]
    probes = rows["probe"]
    return {
        "target": make_name_column(targets, probes),
        "class": Column(list(map(classes.__getitem__, probes))),
        "precedence": make_int_column(map(precedences.__getitem__, probes)),
        "measure": make_name_column([probe["measure"] for probe in network["probes"]], probes),
        # The engine's means of nothing, and values that a sender does not know, are not a number.
        "value": rows.column("value", make_mask(not math.isnan(value) for value in rows["value"])),
    }


def decode_colours(rows: RawRows, network: NetworkData, measured_s: float) -> dict[str, Column]:
    """Decode the colours that conditioners gave: one row for each conditioner, profile, colour."""
    conditioners = network.get("conditioners", [])
    keys = ("conditioner", "ingress")
    named: list[str | None] = []
    profiles: list[str | None] = []
    for link, end, profile in zip(rows["link"], rows["ingress"], rows["profile"], strict=True):
        conditioner = conditioners[network["links"][link][keys[end]]]
        named.append(conditioner["name"])
        profiles.append(conditioner["profiles"][profile]["name"])
    # Each profile has one row a colour, next to each other.
    packets, each = rows["packets"], len(_core.COLOURS)
    totals = [sum(packets[first : first + each]) for first in range(0, len(packets), each)]
    return {
        "end": make_name_column(("near", "far"), rows["ingress"]),
        "conditioner": Column(named),
        "profile": Column(profiles),
        "throughput_bit_s": make_rate_column(rows["bytes"], measured_s),
        "share": make_ratio_column(packets, [total for total in totals for _ in _core.COLOURS]),
    }


def decode_accounts(rows: RawRows) -> dict[str, Column]:
    """Decode the load of ports with accounts, by flow, DSCP, colour, class and precedence."""
    return {"loss_ratio": make_ratio_column(rows["packets_dropped"], rows["packets_offered"])}
