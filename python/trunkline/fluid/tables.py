"""The tables of a fluid run: expected counts of the measured time, null without an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trunkline.fluid.flow_sources import FlowSources
from trunkline.fluid.hop_loads import HopLoads
from trunkline.fluid.port_queues import PortQueues, sum_by_index
from trunkline.fluid.rates import StreamRates
from trunkline.results import dscp
from trunkline.results.decode.columns import make_empty_columns
from trunkline.results.schemas import SCHEMAS
from trunkline.results.table import Column, Table
from trunkline.te.topology import Floats


@dataclass(frozen=True, slots=True, eq=False)
class FluidState:
    """All there is about a network at flow level.

    roads, queues, sources, rates: Ways, ports, flows and their rates.
    """

    network: Mapping[str, Any]  # The compiled network, parsed from its JSON.
    hop_loads: HopLoads
    queues: PortQueues
    sources: FlowSources
    rates: StreamRates
    waits: Floats  # shape (Q,): Mean waits of classes [s]; nan where there is no answer.


def build_tables(states: Sequence[tuple[float, FluidState]]) -> dict[str, Table]:
    """Build every table of ``SCHEMAS``; those of single packets are empty.

    states: Seconds of the measured time, and the state in them.
    """
    network = states[0][1].network
    durations = [seconds for seconds, _ in states]
    flows = _join_phases(
        [_tabulate_flows(state, seconds_) for seconds_, state in states],
        durations,
        "packets_delivered",
    )
    flows["loss_ratio"] = _compute_loss_ratio(flows["packets_sent"], flows["packets_delivered"])
    ports = _join_phases(
        [_tabulate_ports(state, seconds_) for seconds_, state in states], durations, "packets_sent"
    )
    ports["loss_ratio"] = _compute_loss_ratio(ports["bytes_offered"], ports["bytes_sent"])
    values: dict[str, Mapping[str, Any]] = {
        "flows": flows,
        "aggregates": tabulate_aggregates(flows),
        "ports": ports,
        "paths": {"path": [path["name"] for path in network["paths"]]},
        "summary": {"measured_s": np.array([sum(durations)])},
    }
    return make_tables(values)


def tabulate_state(state: FluidState, measured_s: float) -> dict[str, dict[str, Any]]:
    """Values of the tables of flows, ports, paths and the run, for one state in all of the run."""
    return {
        "flows": _tabulate_flows(state, measured_s),
        "ports": _tabulate_ports(state, measured_s),
        "paths": {"path": [path["name"] for path in state.network["paths"]]},
        "summary": {"measured_s": np.array([measured_s])},
    }


def _join_phases(
    phase_values: Sequence[dict[str, Any]], durations: Sequence[float], packet_column: str
) -> dict[str, Any]:
    """Sums of counts, rates weighted by time, delays weighted by the packets of `packet_column`."""
    if len(phase_values) == 1:
        return phase_values[0]
    joined: dict[str, Any] = {}
    weights = {
        "time": np.array(durations)[:, None],
        "packets": np.stack([each[packet_column] for each in phase_values]),
    }
    for name, first in phase_values[0].items():
        if not isinstance(first, np.ndarray) or name.startswith("start"):
            joined[name] = first
            continue
        values = np.stack([each[name] for each in phase_values])
        if name.startswith(("packets", "bytes", "goodput_bytes")):
            joined[name] = values.sum(axis=0)
            continue
        weight = weights["packets" if name.startswith(("delay", "wait")) else "time"]
        weight = np.broadcast_to(weight, values.shape)
        total = weight.sum(axis=0)
        weighted_sum = np.where(weight > 0, values * weight, 0.0).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            joined[name] = weighted_sum / total
    return joined


def _compute_loss_ratio(sent: Floats, arrived: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        loss_ratio = np.where(sent > 0, 1 - arrived / sent, np.nan)
    return np.where(np.abs(loss_ratio) < 1e-6, 0.0, loss_ratio)


def make_tables(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Table]:
    """Make every table of ``SCHEMAS``, by name: empty where it has no values."""
    return {
        name: Table(
            name,
            fields,
            make_columns(name, values[name]) if name in values else make_empty_columns(name),
        )
        for name, fields in SCHEMAS.items()
    }


def make_columns(table: str, values: Mapping[str, Any]) -> dict[str, Column]:
    """Make the columns of a table, those without values null."""
    height = len(next(iter(values.values())))
    columns = {}
    for field in SCHEMAS[table]:
        column_values = values.get(field.name)
        if field.kind == "str":
            columns[field.name] = Column(
                [None] * height if column_values is None else list(column_values)
            )
            continue
        numbers = (
            np.full(height, np.nan)
            if column_values is None
            else np.asarray(column_values, dtype=np.float64)
        )
        is_known = np.isfinite(numbers)
        known = np.where(is_known, numbers, 0.0)
        data = np.rint(known).astype(np.int64) if field.kind == "i64" else known
        valid = None if is_known.all() else is_known.tolist()
        columns[field.name] = Column(np.ascontiguousarray(data).data, valid)
    return columns


def _tabulate_flows(state: FluidState, measured_s: float) -> dict[str, Any]:
    network, stream_rates, sources = state.network, state.rates, state.sources
    flows, nodes = network["flows"], [node["name"] for node in network["nodes"]]
    count = len(flows)
    is_unknown = state.hop_loads.sum_along(stream_rates.unknown.astype(np.float64))[:count] > 0
    uneven = state.queues.drops_by_precedence & (stream_rates.overloaded | stream_rates.filled)
    is_unknown |= state.hop_loads.sum_along(uneven.astype(np.float64))[:count] > 0
    is_unknown |= np.isnan(sources.rate)
    sent = np.where(is_unknown & sources.is_tcp, np.nan, stream_rates.sent[:count])
    arrived = np.where(is_unknown, np.nan, stream_rates.arrived[:count])
    packets = measured_s / (8 * sources.size)
    delay = state.hop_loads.fixed[:count] + state.hop_loads.sum_along(state.waits)[:count]
    delay = np.where((arrived > 0) & (sources.size > 0), delay, np.nan)
    goodput = arrived * sources.payload_share
    return {
        "flow": [flow["name"] for flow in flows],
        "source": [nodes[flow["src"]] for flow in flows],
        "destination": [nodes[flow["dst"]] for flow in flows],
        "protocol": [flow["agent"]["protocol"] for flow in flows],
        "dscp": [dscp.name_code_point(flow["dscp"]) for flow in flows],
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


def tabulate_aggregates(flows: Mapping[str, Any]) -> dict[str, Any]:
    """Tabulate flows gathered by DSCP, in order of their first flow."""
    names = list(dict.fromkeys(flows["dscp"]))
    number = {name: at for at, name in enumerate(names)}
    group = np.array([number[name] for name in flows["dscp"]], dtype=np.int64)

    def total(name: str) -> Floats:
        return sum_by_index(group, flows[name], len(names))

    arrived = total("packets_delivered")
    # A flow of which nothing arrives has no delay, and no part in that of all.
    weighted_sum = flows["delay_mean_s"] * flows["packets_delivered"]
    delay = sum_by_index(
        group, np.where(flows["packets_delivered"] == 0, 0.0, weighted_sum), len(names)
    )
    squares = sum_by_index(group, np.square(flows["goodput_bytes"]), len(names))
    flows_of = np.bincount(group, minlength=len(names))
    sent = total("packets_sent")
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "dscp": names,
            "flows": flows_of,
            **{name: total(name) for name in _SUMMED_COLUMNS},
            "delay_mean_s": delay / arrived,
            "loss_ratio": np.maximum(0.0, np.round(1 - arrived / sent, 9)),
            "jain_index": total("goodput_bytes") ** 2 / (flows_of * squares),
        }


_SUMMED_COLUMNS: Sequence[str] = (
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


def _tabulate_ports(state: FluidState, measured_s: float) -> dict[str, Any]:
    network, queues, stream_rates = state.network, state.queues, state.rates
    links = network["links"]
    offered = np.where(stream_rates.unknown, np.nan, stream_rates.offered)
    served = np.where(stream_rates.unknown, np.nan, stream_rates.served)
    passed_share = np.where(offered > 0, served / np.where(offered > 0, offered, 1.0), 1.0)
    size = state.hop_loads.packet_bytes[state.hop_loads.paths.stream] + state.hop_loads.paths.header
    packets = sum_by_index(
        state.hop_loads.queue,
        state.hop_loads.wire_bits_per_bit * stream_rates.hop_rate / size / 8,
        len(offered),
    )
    packets = np.where(stream_rates.unknown, np.nan, packets) * measured_s
    names = [[each["name"] for each in port["classes"]] for port in network["ports"]]
    return {
        "link": [links[link]["name"] for link in queues.link.tolist()],
        "class": [name for link in links for name in names[link["port"]]],
        "packets_offered": packets,
        "bytes_offered": offered * measured_s / 8,
        "packets_sent": packets * passed_share,
        "bytes_sent": served * measured_s / 8,
        "packets_dropped": packets * (1 - passed_share),
        "wait_mean_ns": state.waits * 1e9,
        "wait_mean_s": state.waits,
        # Little's law; nothing waits where nothing comes.
        "queue_mean_packets": np.where(
            packets == 0, 0.0, state.waits * packets * passed_share / measured_s
        ),
        "throughput_bit_s": served,
        "utilisation": served / queues.rate[queues.link],
    }
