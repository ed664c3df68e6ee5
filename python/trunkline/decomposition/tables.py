"""The tables of a decomposed run: those of the fluid engine, with measures of links and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trunkline.decomposition.path_delays import PathDelays
from trunkline.fluid.tables import make_tables, tabulate_aggregates, tabulate_state
from trunkline.results.table import Table

if TYPE_CHECKING:
    from trunkline.fluid.tables import FluidState

Floats = NDArray[np.float64]


def build_tables(
    state: FluidState, delays: PathDelays, port_waits: Floats, port_losses: Floats
) -> dict[str, Table]:
    """Build every table of ``SCHEMAS``; those of single packets are empty.

    port_waits, port_losses: shape (Q,): Mean wait [s] and loss ratio of each class of each link.
    """
    run = state.network["run"]
    measured_s = (run["duration_ns"] - run["warmup_ns"]) / 1e9
    values = tabulate_state(state, measured_s)
    flows = _replace_delays(values["flows"], delays)
    aggregates = tabulate_aggregates(flows) | _name_quantiles(delays.aggregate_quantiles)
    ports = values["ports"]
    sent = ports["packets_offered"] * (1 - port_losses)
    values |= {
        "flows": flows,
        "aggregates": aggregates,
        "ports": ports
        | {
            "packets_sent": sent,
            "packets_dropped": ports["packets_offered"] - sent,
            "bytes_sent": ports["bytes_offered"] * (1 - port_losses),
            "loss_ratio": np.where(ports["packets_offered"] > 0, port_losses, np.nan),
            "wait_mean_ns": port_waits * 1e9,
            "wait_mean_s": port_waits,
            "queue_mean_packets": port_waits * sent / measured_s,
        },
    }
    return make_tables(values)


def _replace_delays(flows: dict[str, Any], delays: PathDelays) -> dict[str, Any]:
    """Flows with the losses of their ports, and the delays of arrivals."""
    arrived = (flows["packets_delivered"] > 0) & (delays.loss < 1)
    kept = np.where(arrived, 1 - delays.loss, 0.0)
    sent = flows["packets_sent"]
    replaced = dict(flows)
    for name in ("packets", "bytes"):
        replaced[f"{name}_delivered"] = flows[f"{name}_sent"] * kept
    replaced["packets_dropped"] = sent - replaced["packets_delivered"]
    replaced["throughput_bit_s"] = flows["offered_bit_s"] * kept
    with np.errstate(divide="ignore", invalid="ignore"):
        goodput_share = flows["goodput_bit_s"] / flows["throughput_bit_s"]
    goodput_share = np.nan_to_num(goodput_share)
    replaced["goodput_bit_s"] = replaced["throughput_bit_s"] * goodput_share
    replaced["goodput_bytes"] = replaced["bytes_delivered"] * goodput_share
    replaced["loss_ratio"] = np.where(sent > 0, 1 - kept, np.nan)
    mean = np.where(arrived, delays.mean, np.nan)
    quantiles = {
        name: np.where(arrived, values, np.nan) for name, values in delays.quantiles.items()
    }
    return (
        replaced | {"delay_mean_s": mean, "delay_mean_ns": mean * 1e9} | _name_quantiles(quantiles)
    )


def _name_quantiles(quantiles: dict[str, Floats]) -> dict[str, Floats]:
    return {f"delay_{name}_s": values for name, values in quantiles.items()} | {
        f"delay_{name}_ns": values * 1e9 for name, values in quantiles.items()
    }
