"""Tables of ports, paths, drops, probes, colours and accounts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trunkline import _core
from trunkline.results.decode.columns import (
    DELAYS,
    Rows,
    class_names,
    floats,
    ints,
    mask,
    names,
    rate,
    ratio,
)
from trunkline.results.table import Column
from trunkline.results.tables import SCHEMAS

if TYPE_CHECKING:
    from trunkline.network.types import Network


def ports(rows: Rows, network: Network, measured_s: float) -> dict[str, Column]:
    """One row a link and class."""
    rates = [network["links"][index]["rate_bit_s"] for index in rows["link"]]
    sent = mask(not math.isnan(wait) for wait in rows["wait_mean_ns"])
    pairs = zip(rows["bytes_sent"], rates, strict=True)
    return {
        "wait_mean_ns": rows.column("wait_mean_ns", sent),
        "wait_max_ns": rows.column("wait_max_ns", sent),
        "throughput_bit_s": rate(rows["bytes_sent"], measured_s),
        "utilisation": floats([sent * 8 / measured_s / rate for sent, rate in pairs]),
        "loss_ratio": ratio(rows["packets_dropped"], rows["packets_offered"]),
    }


def paths(rows: Rows, network: Network, measured_s: float) -> dict[str, Column]:
    """One row a label-switched path; delays and losses of those that are accounted for."""
    asked = [bool(network["paths"][index].get("account")) for index in rows["path"]]
    columns = {"throughput_bit_s": rate(rows["bytes"], measured_s)}
    if "packets_delivered" not in rows.names:
        # An engine without such accounts.
        return columns | _unmeasured(len(asked))
    delivered, dropped = rows["packets_delivered"], rows["packets_dropped"]
    arrived = mask(count > 0 for count in delivered)
    for name in ("packets_delivered", "packets_dropped", "reordered"):
        columns[name] = rows.column(name, mask(asked))
    for name in (*(f"delay_{which}_ns" for which in DELAYS), "jitter_ns"):
        columns[name] = rows.column(name, arrived)
    met = [max(0, one) + max(0, two) for one, two in zip(delivered, dropped, strict=True)]
    columns["loss_ratio"] = ratio(dropped, met)
    return columns


def _unmeasured(count: int) -> dict[str, Column]:
    """Columns of the delays of paths, all null."""
    nowhere = [False] * count
    made: dict[str, Column] = {}
    for field in SCHEMAS["paths"]:
        if field.name not in ("path", "packets", "bytes", "throughput_bit_s"):
            whole = field.kind == "i64"
            made[field.name] = (
                ints([-1] * count, nowhere) if whole else floats([0.0] * count, nowhere)
            )
    return made


def series(rows: Rows, network: Network) -> dict[str, Column]:
    """One row a probe and step."""
    class_name = class_names(network)
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
        "target": names(targets, probes),
        "class": Column(list(map(classes.__getitem__, probes))),
        "precedence": ints(map(precedences.__getitem__, probes)),
        "measure": names([probe["measure"] for probe in network["probes"]], probes),
    }


def colours(rows: Rows, network: Network, measured_s: float) -> dict[str, Column]:
    """What conditioners coloured: one row a conditioner, profile and colour."""
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
        "end": names(("near", "far"), rows["ingress"]),
        "conditioner": Column(named),
        "profile": Column(profiles),
        "throughput_bit_s": rate(rows["bytes"], measured_s),
        "share": ratio(packets, [total for total in totals for _ in _core.COLOURS]),
    }


def accounts(rows: Rows) -> dict[str, Column]:
    """What ports with accounts were offered, by flow, DSCP, colour, class and precedence."""
    return {"loss_ratio": ratio(rows["packets_dropped"], rows["packets_offered"])}
