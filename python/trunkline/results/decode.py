"""From the raw columns of an engine to tables: names in place of indices, base units added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline.results import dscp
from trunkline.results.table import Column, Table
from trunkline.results.tables import SCHEMAS

RawTable = Mapping[str, tuple[str, bytes]]
Raw = Mapping[str, RawTable]

_DTYPES = {"i64": "<i8", "f64": "<f8", "u32": "<u4", "u8": "u1"}
_DELAYS = ("mean", "min", "max", "p50", "p90", "p95", "p99", "p999")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def decode(raw: Raw, network: Mapping[str, Any], causes: Sequence[str]) -> dict[str, Table]:
    """Make the tables of a run.

    Parameters
    ----------
    raw : mapping of table to mapping of column to (kind, bytes)
        What the engine returned; indices refer to the lists of the network.
    network : mapping
        The compiled network, parsed from its JSON.
    causes : sequence of str
        Names of the causes of drops, by index.

    Returns
    -------
    dict of str to Table
        A table for each entry of ``SCHEMAS``.
    """
    measured_s = (network["run"]["duration_ns"] - network["run"]["warmup_ns"]) / 1e9
    flows = _flows(_arrays(raw, "flows"), network, measured_s)
    columns = {
        "flows": flows,
        "classes": _classes(flows, measured_s),
        "ports": _ports(_arrays(raw, "ports"), network, measured_s),
        "paths": _paths(_arrays(raw, "paths"), network, measured_s),
        "drops": _drops(_arrays(raw, "drops"), network, causes),
        "series": _series(_arrays(raw, "series"), network),
        "colours": _colours(raw, network, measured_s),
        "accounts": _accounts(raw, network),
        "timeline": _timeline(raw, network),
        "packets": _packets(raw, network, causes),
        "summary": _summary(_arrays(raw, "summary"), measured_s),
    }
    return {name: Table(name, fields, columns[name]) for name, fields in SCHEMAS.items()}


def _arrays(raw: Raw, table: str) -> dict[str, NDArray[Any]]:
    """Columns of a raw table, widened to int64 or float64."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, (kind, data) in raw[table].items():
        array = np.frombuffer(data, dtype=_DTYPES[kind])
        arrays[name] = array if kind in ("i64", "f64") else array.astype(np.int64)
    return arrays


def _names(items: Sequence[str], index: NDArray[Any]) -> Column:
    """Names at these indices; null where the index is outside the list."""
    return Column([items[i] if 0 <= i < len(items) else None for i in index.tolist()])


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Column:
    some = whole > 0
    safe = np.where(some, whole, 1)
    return Column(part / safe, _mask(some))


def _mask(valid: Mask) -> Mask | None:
    return None if bool(valid.all()) else valid


def _rate(counted_bytes: Ints, measured_s: float) -> Column:
    return Column(counted_bytes * 8 / measured_s)


def _flows(
    raw: dict[str, NDArray[Any]], network: Mapping[str, Any], measured_s: float
) -> dict[str, Column]:
    index = raw.pop("flow").tolist()
    flows = [network["flows"][i] for i in index]
    nodes = [node["name"] for node in network["nodes"]]
    columns = {
        "flow": Column([flow["name"] for flow in flows]),
        "source": Column([nodes[flow["src"]] for flow in flows]),
        "destination": Column([nodes[flow["dst"]] for flow in flows]),
        "protocol": Column([flow["agent"]["protocol"] for flow in flows]),
        "dscp": Column([dscp.name(flow["dscp"]) for flow in flows]),
    }
    arrived = _mask(raw["packets_delivered"] > 0)
    for name, array in raw.items():
        if name.startswith(("delay_", "jitter_")):
            columns[name] = Column(array, arrived)
        else:
            columns[name] = Column(array)
    finished = raw["finished_ns"] >= 0
    columns["finished_ns"] = Column(raw["finished_ns"], _mask(finished))
    columns["finished_s"] = Column(raw["finished_ns"] / 1e9, _mask(finished))
    columns["start_s"] = Column(raw["start_ns"] / 1e9)
    columns |= _rates(raw, measured_s)
    for which in _DELAYS:
        columns[f"delay_{which}_s"] = Column(raw[f"delay_{which}_ns"] / 1e9, arrived)
    spread = raw["delay_max_ns"] - raw["delay_min_ns"]
    columns["delay_range_s"] = Column(spread / 1e9, arrived)
    columns["jitter_s"] = Column(raw["jitter_ns"] / 1e9, arrived)
    return columns


def _rates(counts: Mapping[str, NDArray[Any]], measured_s: float) -> dict[str, Column]:
    return {
        "offered_bit_s": _rate(counts["bytes_sent"], measured_s),
        "throughput_bit_s": _rate(counts["bytes_delivered"], measured_s),
        "goodput_bit_s": _rate(counts["goodput_bytes"], measured_s),
        "loss_ratio": _ratio(counts["packets_dropped"], counts["packets_sent"]),
    }


_SUMMED = (
    "packets_sent",
    "bytes_sent",
    "packets_delivered",
    "bytes_delivered",
    "goodput_bytes",
    "packets_dropped",
)


def _classes(flows: Mapping[str, Column], measured_s: float) -> dict[str, Column]:
    """Flows gathered by DSCP, classes in order of their first flow."""
    names = [str(value) for value in flows["dscp"].to_list()]
    order = list(dict.fromkeys(names))
    place = {name: index for index, name in enumerate(order)}
    group = np.array([place[name] for name in names], dtype=np.int64)
    size = len(order)

    def array(name: str) -> NDArray[Any]:
        values = flows[name].values
        assert not isinstance(values, list)
        return values

    def total(values: NDArray[Any]) -> NDArray[Any]:
        sums = np.zeros(size, dtype=values.dtype)
        np.add.at(sums, group, values)
        return sums

    sums = {name: total(array(name)) for name in _SUMMED}
    arrived = array("packets_delivered") > 0
    some = sums["packets_delivered"] > 0
    least = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(least, group[arrived], array("delay_min_ns")[arrived])
    greatest = np.full(size, -1)
    np.maximum.at(greatest, group[arrived], array("delay_max_ns")[arrived])
    least, greatest = np.where(some, least, -1), np.where(some, greatest, -1)
    weighted = np.where(arrived, array("delay_mean_ns") * array("packets_delivered"), 0.0)
    mean_ns = total(weighted) / np.where(some, sums["packets_delivered"], 1)
    valid = _mask(some)
    return {
        "class": Column(list(order)),
        "flows": Column(total(np.ones(len(names), dtype=np.int64))),
        **{name: Column(values) for name, values in sums.items()},
        "delay_min_ns": Column(least, valid),
        "delay_max_ns": Column(greatest, valid),
        **_rates(sums, measured_s),
        "delay_mean_s": Column(mean_ns / 1e9, valid),
        "delay_min_s": Column(least / 1e9, valid),
        "delay_max_s": Column(greatest / 1e9, valid),
    }


def _class_names(network: Mapping[str, Any]) -> Callable[[int, int], str | None]:
    ports = [[c["name"] for c in port["classes"]] for port in network["ports"]]
    port_of = [link["port"] for link in network["links"]]

    def class_name(link: int, index: int) -> str | None:
        if not 0 <= link < len(port_of):
            return None
        names = ports[port_of[link]]
        return names[index] if 0 <= index < len(names) else None

    return class_name


def _ports(
    raw: dict[str, NDArray[Any]], network: Mapping[str, Any], measured_s: float
) -> dict[str, Column]:
    link, classes = raw.pop("link"), raw.pop("class")
    class_name = _class_names(network)
    rate = np.array([item["rate_bit_s"] for item in network["links"]], dtype=np.float64)[link]
    sent = _mask(~np.isnan(raw["wait_mean_ns"]))
    columns = {name: Column(array) for name, array in raw.items()}
    columns["link"] = _names([item["name"] for item in network["links"]], link)
    columns["class"] = Column(
        [class_name(a, b) for a, b in zip(link.tolist(), classes.tolist(), strict=True)]
    )
    for which in ("mean", "max"):
        columns[f"wait_{which}_ns"] = Column(raw[f"wait_{which}_ns"], sent)
        columns[f"wait_{which}_s"] = Column(raw[f"wait_{which}_ns"] / 1e9, sent)
    columns["throughput_bit_s"] = _rate(raw["bytes_sent"], measured_s)
    columns["utilisation"] = Column(raw["bytes_sent"] * 8 / measured_s / rate)
    columns["loss_ratio"] = _ratio(raw["packets_dropped"], raw["packets_offered"])
    return columns


def _paths(
    raw: dict[str, NDArray[Any]], network: Mapping[str, Any], measured_s: float
) -> dict[str, Column]:
    return {
        "path": _names([item["name"] for item in network["paths"]], raw["path"]),
        "packets": Column(raw["packets"]),
        "bytes": Column(raw["bytes"]),
        "throughput_bit_s": _rate(raw["bytes"], measured_s),
    }


def _drops(
    raw: dict[str, NDArray[Any]], network: Mapping[str, Any], causes: Sequence[str]
) -> dict[str, Column]:
    class_name = _class_names(network)
    places = zip(raw["link"].tolist(), raw["class"].tolist(), strict=True)
    return {
        "flow": _names([item["name"] for item in network["flows"]], raw["flow"]),
        "direction": _names(["forward", "reverse"], raw["reverse"]),
        "link": _names([item["name"] for item in network["links"]], raw["link"]),
        "node": _names([item["name"] for item in network["nodes"]], raw["node"]),
        "class": Column([class_name(link, index) for link, index in places]),
        "precedence": Column(raw["precedence"]),
        "cause": _names(causes, raw["cause"]),
        "packets": Column(raw["packets"]),
        "bytes": Column(raw["bytes"]),
    }


_OF_LINKS = ("queue-packets", "queue-bytes", "queue-average", "utilisation", "drops")


def _series(raw: dict[str, NDArray[Any]], network: Mapping[str, Any]) -> dict[str, Column]:
    class_name = _class_names(network)
    targets: list[str] = []
    classes: list[str | None] = []
    for probe in network["probes"]:
        of_link = probe["measure"] in _OF_LINKS
        targets.append(network["links" if of_link else "flows"][probe["target"]]["name"])
        index = probe.get("class")
        classes.append(class_name(probe["target"], index) if index is not None else None)
    probes = raw["probe"]
    return {
        "probe": Column(probes),
        "target": _names(targets, probes),
        "class": Column([classes[i] for i in probes.tolist()]),
        "measure": _names([probe["measure"] for probe in network["probes"]], probes),
        "time_ns": Column(raw["time_ns"]),
        "time_s": Column(raw["time_ns"] / 1e9),
        "value": Column(raw["value"]),
    }


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


def _item_names(network: Mapping[str, Any], key: str) -> list[str]:
    return [item["name"] for item in network[key]]


COLOUR_NAMES = ("green", "yellow", "red")
"""Colours, in the engine's order."""


def _colours(raw: Raw, network: Mapping[str, Any], measured_s: float) -> dict[str, Column]:
    """What conditioners coloured; no rows without any."""
    if "colours" not in raw:
        return _empty("colours")
    rows = _arrays(raw, "colours")
    conditioners = network.get("conditioners", [])
    ends, keys = ("near", "far"), ("conditioner", "ingress")
    names: list[str | None] = []
    profiles: list[str | None] = []
    places = zip(*(rows[key].tolist() for key in ("link", "ingress", "profile")), strict=True)
    for link, end, profile in places:
        conditioner = conditioners[network["links"][link][keys[end]]]
        names.append(conditioner["name"])
        profiles.append(conditioner["profiles"][profile]["name"])
    # Each profile has one row a colour, next to each other.
    of_profile = rows["packets"].reshape(-1, len(COLOUR_NAMES)).sum(axis=1)
    return {
        "link": _names(_item_names(network, "links"), rows["link"]),
        "end": _names(ends, rows["ingress"]),
        "conditioner": Column(names),
        "profile": Column(profiles),
        "colour": _names(COLOUR_NAMES, rows["colour"]),
        "packets": Column(rows["packets"]),
        "bytes": Column(rows["bytes"]),
        "throughput_bit_s": _rate(rows["bytes"], measured_s),
        "share": _ratio(rows["packets"], np.repeat(of_profile, len(COLOUR_NAMES))),
    }


def _accounts(raw: Raw, network: Mapping[str, Any]) -> dict[str, Column]:
    """What ports with accounts were offered; no rows without any."""
    if "accounts" not in raw:
        return _empty("accounts")
    rows = _arrays(raw, "accounts")
    class_name = _class_names(network)
    places = zip(rows["link"].tolist(), rows["class"].tolist(), strict=True)
    counted = ("packets_offered", "bytes_offered", "packets_dropped", "bytes_dropped")
    return {
        "link": _names(_item_names(network, "links"), rows["link"]),
        "flow": _names(_item_names(network, "flows"), rows["flow"]),
        "direction": _names(["forward", "reverse"], rows["reverse"]),
        "dscp": Column([dscp.name(value) for value in rows["dscp"].tolist()]),
        "colour": _names(COLOUR_NAMES, rows["colour"]),
        "class": Column([class_name(link, index) for link, index in places]),
        "precedence": Column(rows["precedence"]),
        **{name: Column(rows[name]) for name in counted},
        "loss_ratio": _ratio(rows["packets_dropped"], rows["packets_offered"]),
    }


def _timeline(raw: Raw, network: Mapping[str, Any]) -> dict[str, Column]:
    """Failures and recovery; no rows where an engine has none."""
    if "timeline" not in raw:
        return _empty("timeline")
    rows = _arrays(raw, "timeline")
    protections = network.get("recovery", {}).get("protections", [])
    return {
        "time_ns": Column(rows["time_ns"]),
        "time_s": Column(rows["time_ns"] / 1e9),
        "event": _names(MOMENTS, rows["event"]),
        "protection": _names([item["name"] for item in protections], rows["protection"]),
        "path": _names(_item_names(network, "paths"), rows["path"]),
        "link": _names(_item_names(network, "links"), rows["link"]),
        "node": _names(_item_names(network, "nodes"), rows["node"]),
    }


def _packets(raw: Raw, network: Mapping[str, Any], causes: Sequence[str]) -> dict[str, Column]:
    """The packet trace; no rows unless the run was traced."""
    if "packets" not in raw:
        return _empty("packets")
    rows = _arrays(raw, "packets")
    counted = ("seq", "ack", "retransmission", "ip_bytes", "labels")
    return {
        "time_ns": Column(rows["time_ns"]),
        "time_s": Column(rows["time_ns"] / 1e9),
        "event": _names(PACKET_EVENTS, rows["event"]),
        "flow": _names(_item_names(network, "flows"), rows["flow"]),
        "direction": _names(["forward", "reverse"], rows["reverse"]),
        "link": _names(_item_names(network, "links"), rows["link"]),
        "node": _names(_item_names(network, "nodes"), rows["node"]),
        "cause": _names(causes, rows["cause"]),
        "label": Column(rows["label"], _mask(rows["label"] >= 0)),
        **{name: Column(rows[name]) for name in counted},
    }


def _empty(table: str) -> dict[str, Column]:
    dtypes = {"i64": np.int64, "f64": np.float64}
    return {
        field.name: Column([] if field.kind == "str" else np.zeros(0, dtypes[field.kind]))
        for field in SCHEMAS[table]
    }


def _summary(raw: dict[str, NDArray[Any]], measured_s: float) -> dict[str, Column]:
    columns = {name: Column(array) for name, array in raw.items()}
    columns["measured_s"] = Column(np.array([measured_s]))
    return columns
