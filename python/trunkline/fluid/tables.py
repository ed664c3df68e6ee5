"""The tables of a fluid run: expected counts of the measured time, null without an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.queues import Queues, summed
from trunkline.fluid.rates import Rates
from trunkline.fluid.roads import Roads
from trunkline.fluid.sources import Sources
from trunkline.results import dscp
from trunkline.results.decode.columns import empty
from trunkline.results.table import Column, Table
from trunkline.results.tables import SCHEMAS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Fluid:
    """All there is about a network at flow level.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    roads, queues, sources, rates
        Ways, ports, flows and their rates.
    waits : array of float64, shape (Q,)
        Mean waits of classes [s]; nan where there is no answer.
    """

    network: Mapping[str, Any]
    roads: Roads
    queues: Queues
    sources: Sources
    rates: Rates
    waits: Floats


def tables(parts: Sequence[tuple[float, Fluid]]) -> dict[str, Table]:
    """Every table of ``SCHEMAS``; those of single packets are empty.

    Parameters
    ----------
    parts : sequence of (float, Fluid)
        Seconds of the measured time, and what holds in them.
    """
    network = parts[0][1].network
    lasted = [seconds for seconds, _ in parts]
    flows = _joined([_flows(its, s) for s, its in parts], lasted, "packets_delivered")
    flows["loss_ratio"] = _lost(flows["packets_sent"], flows["packets_delivered"])
    ports = _joined([_ports(its, s) for s, its in parts], lasted, "packets_sent")
    ports["loss_ratio"] = _lost(ports["bytes_offered"], ports["bytes_sent"])
    made: dict[str, Mapping[str, Any]] = {
        "flows": flows,
        "aggregates": _aggregates(flows),
        "ports": ports,
        "paths": {"path": [path["name"] for path in network["paths"]]},
        "summary": {"measured_s": np.array([sum(lasted)])},
    }
    return {
        name: Table(name, fields, _columns(name, made[name]) if name in made else empty(name))
        for name, fields in SCHEMAS.items()
    }


def _joined(parts: Sequence[dict[str, Any]], lasted: Sequence[float], by: str) -> dict[str, Any]:
    """Counts of all times in sum, rates by how long they hold, delays by the packets `by`."""
    if len(parts) == 1:
        return parts[0]
    found: dict[str, Any] = {}
    weights = {"time": np.array(lasted)[:, None], "packets": np.stack([each[by] for each in parts])}
    for name, first in parts[0].items():
        if not isinstance(first, np.ndarray) or name.startswith("start"):
            found[name] = first
            continue
        values = np.stack([each[name] for each in parts])
        if name.startswith(("packets", "bytes", "goodput_bytes")):
            found[name] = values.sum(axis=0)
            continue
        weight = weights["packets" if name.startswith(("delay", "wait")) else "time"]
        weight = np.broadcast_to(weight, values.shape)
        total = weight.sum(axis=0)
        weighed = np.where(weight > 0, values * weight, 0.0).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[name] = weighed / total
    return found


def _lost(sent: Floats, arrived: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(sent > 0, 1 - arrived / sent, np.nan)
    return np.where(np.abs(lost) < 1e-6, 0.0, lost)


def _columns(table: str, values: Mapping[str, Any]) -> dict[str, Column]:
    """Columns of a table, those without values null."""
    height = len(next(iter(values.values())))
    columns = {}
    for field in SCHEMAS[table]:
        given = values.get(field.name)
        if field.kind == "str":
            columns[field.name] = Column([None] * height if given is None else list(given))
            continue
        numbers = np.full(height, np.nan) if given is None else np.asarray(given, dtype=np.float64)
        there = np.isfinite(numbers)
        whole = np.where(there, numbers, 0.0)
        data = np.rint(whole).astype(np.int64) if field.kind == "i64" else whole
        valid = None if there.all() else there.tolist()
        columns[field.name] = Column(np.ascontiguousarray(data).data, valid)
    return columns


def _flows(its: Fluid, measured_s: float) -> dict[str, Any]:
    network, found, sources = its.network, its.rates, its.sources
    flows, nodes = network["flows"], [node["name"] for node in network["nodes"]]
    count = len(flows)
    unsure = its.roads.along(found.unknown.astype(np.float64))[:count] > 0
    uneven = its.queues.uneven & (found.overloaded | found.filled)
    unsure |= its.roads.along(uneven.astype(np.float64))[:count] > 0
    unsure |= np.isnan(sources.rate)
    sent = np.where(unsure & sources.tcp, np.nan, found.sent[:count])
    arrived = np.where(unsure, np.nan, found.arrived[:count])
    packets = measured_s / (8 * sources.size)
    delay = its.roads.fixed[:count] + its.roads.along(its.waits)[:count]
    delay = np.where((arrived > 0) & (sources.size > 0), delay, np.nan)
    goodput = arrived * sources.payload
    return {
        "flow": [flow["name"] for flow in flows],
        "source": [nodes[flow["src"]] for flow in flows],
        "destination": [nodes[flow["dst"]] for flow in flows],
        "protocol": [flow["agent"]["protocol"] for flow in flows],
        "dscp": [dscp.name(flow["dscp"]) for flow in flows],
        "packets_sent": sent * packets,
        "bytes_sent": sent * measured_s / 8,
        "packets_delivered": arrived * packets,
        "bytes_delivered": arrived * measured_s / 8,
        "goodput_bytes": goodput * measured_s / 8,
        "packets_dropped": (sent - arrived) * packets,
        "delay_mean_ns": delay * 1e9,
        "start_ns": [flow["start_ns"] for flow in flows],
        "start_s": np.array([flow["start_ns"] for flow in flows]) / 1e9,
        "offered_bit_s": sent,
        "throughput_bit_s": arrived,
        "goodput_bit_s": goodput,
        "delay_mean_s": delay,
    }


def _aggregates(flows: Mapping[str, Any]) -> dict[str, Any]:
    """Flows gathered by DSCP, in order of their first flow."""
    names = list(dict.fromkeys(flows["dscp"]))
    number = {name: at for at, name in enumerate(names)}
    of = np.array([number[name] for name in flows["dscp"]], dtype=np.int64)

    def total(name: str) -> Floats:
        return summed(of, flows[name], len(names))

    arrived = total("packets_delivered")
    delay = summed(of, flows["delay_mean_s"] * flows["packets_delivered"], len(names))
    squares = summed(of, np.square(flows["goodput_bytes"]), len(names))
    flows_of = np.bincount(of, minlength=len(names))
    sent = total("packets_sent")
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "dscp": names,
            "flows": flows_of,
            **{name: total(name) for name in _SUMMED},
            "delay_mean_s": delay / arrived,
            "loss_ratio": np.maximum(0.0, np.round(1 - arrived / sent, 9)),
            "jain_index": total("goodput_bytes") ** 2 / (flows_of * squares),
        }


_SUMMED: Sequence[str] = (
    "packets_sent",
    "bytes_sent",
    "packets_delivered",
    "bytes_delivered",
    "goodput_bytes",
    "packets_dropped",
    "offered_bit_s",
    "throughput_bit_s",
    "goodput_bit_s",
)


def _ports(its: Fluid, measured_s: float) -> dict[str, Any]:
    network, queues, found = its.network, its.queues, its.rates
    links = network["links"]
    offered = np.where(found.unknown, np.nan, found.offered)
    served = np.where(found.unknown, np.nan, found.served)
    through = np.where(offered > 0, served / np.where(offered > 0, offered, 1.0), 1.0)
    size = its.roads.size[its.roads.ways.stream] + its.roads.ways.header
    packets = summed(its.roads.queue, its.roads.wire * found.hop / size / 8, len(offered))
    packets = np.where(found.unknown, np.nan, packets) * measured_s
    names = [[each["name"] for each in port["classes"]] for port in network["ports"]]
    return {
        "link": [links[link]["name"] for link in queues.link.tolist()],
        "class": [name for link in links for name in names[link["port"]]],
        "packets_offered": packets,
        "bytes_offered": offered * measured_s / 8,
        "packets_sent": packets * through,
        "bytes_sent": served * measured_s / 8,
        "packets_dropped": packets * (1 - through),
        "wait_mean_ns": its.waits * 1e9,
        "wait_mean_s": its.waits,
        # Little's law.
        "queue_mean_packets": its.waits * packets * through / measured_s,
        "throughput_bit_s": served,
        "utilisation": served / queues.rate[queues.link],
    }
