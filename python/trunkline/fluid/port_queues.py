"""Every class of every port as arrays: its priority, its weight, its ceiling, its queue.

Schedulers become strict levels with weighted shares inside a level (GPS: Parekh and Gallager 1993).
Priority, deficit, weighted fair and weighted round robin are that in the long run. Of HTB, HFSC,
CBQ and CAKE the guaranteed rates are the weights and the ceilings are kept.

Absent: hierarchies of classes, borrowing between them, real-time curves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.te.topology import Floats, Ints

LEVEL_SCHEDULERS: Final = ("fifo", "priority")
WEIGHTED_SCHEDULERS: Final = ("drr", "wfq", "wrr")
DRR_BASE_QUANTUM_BYTES: Final = 1500
"""Quantum of the class of the smallest weight, where weights are given (`sched/drr.rs`)."""
PRECEDENCE_AQMS: Final = ("precedence-drop-tail", "wred", "rio-c", "rio-d", "gred")


@dataclass(frozen=True, slots=True, eq=False)
class PortQueues:
    """Q classes of L links, sorted by link, then by their number."""

    first: Ints  # shape (L,): The first class of each link.
    link: Ints  # shape (Q,): Link of each class.
    rate: Floats  # shape (L,): Bit/s of each link.
    level: Ints  # shape (Q,): Strict priority, 0 first.
    weight: Floats  # shape (Q,): Share inside the level.
    by_packet: NDArray[np.bool_]  # shape (Q,): Whether the weight counts packets, not bits.
    ceiling: Floats  # shape (Q,): Maximum rate of the class [bit/s].
    # shape (Q, 2): Content of a full queue: bytes, and packets; infinite without a limit.
    limits: Floats
    # shape (Q, 2): Content of a queue when it begins to drop: bytes, and packets; 0 where the
    # policy does not say.
    drop_onset: Floats
    # tcp_min, tcp_max: shape (Q,): Between which bytes or packets TCP keeps the queue: half way of
    # RED's thresholds; nan where the policy keeps a delay.
    tcp_min: Floats
    tcp_max: Floats
    target_delay: Floats  # shape (Q,): Delay that the policy keeps [s]; nan where it keeps none.
    # shape (Q,): Whether the policy drops by precedence, so that flows do not lose the same share.
    drops_by_precedence: NDArray[np.bool_]
    wait_formula: Ints  # shape (Q,): Formula of waits: 0 by level, 1 by weight, 2 none.
    # shape (Q,): Whether the others share the unused rate of a class, up to their
    # ceilings.
    shares_link: NDArray[np.bool_]


def read_port_queues(network: Mapping[str, Any]) -> PortQueues:
    """Read the ports of a compiled network. network: The compiled network, parsed from its JSON."""
    port_rows = [_read_port(port) for port in network["ports"]]
    link_ports = [link["port"] for link in network["links"]]
    sizes = np.array([len(port_rows[port]) for port in link_ports], dtype=np.int64)
    table = (
        np.concatenate([port_rows[port] for port in link_ports])
        if link_ports
        else np.zeros((0, 14))
    )
    columns = [np.ascontiguousarray(column) for column in table.T]
    link = np.repeat(np.arange(len(link_ports)), sizes)
    rate = np.array([link["rate_bit_s"] for link in network["links"]], dtype=np.float64)
    return PortQueues(
        first=np.cumsum(sizes) - sizes,
        link=link,
        rate=rate,
        shares_link=columns[13] >= rate[link],
        level=columns[0].astype(np.int64),
        weight=columns[1],
        by_packet=columns[2] > 0,
        ceiling=columns[3],
        limits=np.stack([columns[4], columns[5]], axis=1),
        tcp_min=columns[6],
        tcp_max=columns[7],
        target_delay=columns[8],
        drops_by_precedence=columns[9] > 0,
        wait_formula=columns[10].astype(np.int64),
        drop_onset=np.stack([columns[11], columns[12]], axis=1),
    )


def _read_port(port: Mapping[str, Any]) -> Floats:
    """Read a row for each class of a port."""
    kind, shares = port["scheduler"]["kind"], port["scheduler"]["shares"]
    shared_rate = _read_shared_rate(kind, shares)
    bare_weights = [
        each["weight"] for each in shares if kind == "drr" and not each["quantum_bytes"]
    ]
    drr_base = DRR_BASE_QUANTUM_BYTES / min(bare_weights, default=1)
    rows = []
    for port_class, share in zip(port["classes"], shares, strict=True):
        queue = port_class["queue"]
        packets, octets = queue["limit_packets"], queue["limit_bytes"]
        limits = (
            np.inf if octets is None else float(octets),
            np.inf if packets is None else float(packets),
        )
        drops_by_precedence = queue["aqm"]["kind"] in PRECEDENCE_AQMS
        formula = 0 if kind in LEVEL_SCHEDULERS else 1 if kind in WEIGHTED_SCHEDULERS else 2
        rows.append(
            (
                *_read_share(kind, share, drr_base),
                *limits,
                *_read_tcp_queue(queue),
                drops_by_precedence,
                formula,
                *_read_drop_onset(queue["aqm"], limits),
                shared_rate,
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(rows), 14)


def _read_share(
    kind: str, parameters: Mapping[str, Any], drr_base: float
) -> tuple[float, float, float, float]:
    """Level, weight, whether by packets, ceiling; `drr_base` is the quantum of weight 1 [B]."""
    if kind == "priority":
        return parameters["priority"], 1.0, 0.0, np.inf
    if kind == "drr":
        quantum = parameters["quantum_bytes"] or parameters["weight"] * drr_base
        return 0, float(quantum), 0.0, np.inf
    if kind in ("wfq", "wrr"):
        return 0, float(parameters["weight"]), float(kind == "wrr"), np.inf
    if kind == "tbf":
        return 0, 1.0, 0.0, float(parameters["rate_bit_s"])
    if kind == "shaped":
        return parameters["priority"], 1.0, 0.0, float(parameters["rate_bit_s"])
    if kind == "htb":
        return 0, float(parameters["rate_bit_s"]), 0.0, float(parameters["ceil_bit_s"])
    if kind in ("cake", "cbq", "cbq-ancestor-only"):
        return 0, float(max(1, parameters["rate_bit_s"])), 0.0, np.inf
    if kind == "hfsc":
        curve = parameters["link_share"] or parameters["real_time"]
        limit = parameters["upper_limit"]
        ceiling = np.inf if limit is None else float(limit["m2_bit_s"])
        return 0, float(curve["m2_bit_s"] if curve else 1), 0.0, ceiling
    return 0, 1.0, 0.0, np.inf


def _read_shared_rate(kind: str, shares: Sequence[Mapping[str, Any]]) -> float:
    """Rate that the classes of a port share, each taking the rest of the others; 0: they do not."""
    if kind in ("tbf", "shaped", *LEVEL_SCHEDULERS, *WEIGHTED_SCHEDULERS):
        return np.inf
    if kind != "htb":
        return 0.0
    parents = {each["parent"] for each in shares} - {None}
    if not parents:
        return 0.0 if len(shares) > 1 else np.inf
    root = min(parents)
    return float(shares[root]["rate_bit_s"]) if parents == {root} else 0.0


def _read_tcp_queue(queue: Mapping[str, Any]) -> tuple[float, float, float]:
    """Read the bounds of TCP's queue [packets, negative in bytes], and its delay [s]."""
    aqm = queue["aqm"]
    kind = aqm["kind"]
    if kind == "red" and not aqm.get("adaptive"):
        sign = 1.0 if aqm["unit"] == "packets" else -1.0
        return sign * aqm["min_th"], sign * aqm["max_th"], np.nan
    if kind == "pie":
        return np.nan, np.nan, aqm["target_ns"] / 1e9
    if kind in ("drop-tail", "precedence-drop-tail"):
        return 0.0, np.inf, np.nan
    return np.nan, np.nan, np.nan


def _read_drop_onset(aqm: Mapping[str, Any], limits: tuple[float, float]) -> tuple[float, float]:
    """Read the bytes and packets at which a queue begins to drop: of precedences the first."""
    max_bytes, max_packets = limits
    kind = aqm["kind"]
    if kind == "drop-tail":
        return limits
    if kind == "precedence-drop-tail":
        return max_bytes, min(max_packets, *map(float, aqm["limits_packets"]))
    if kind == "red" and not aqm.get("adaptive"):
        if aqm["unit"] == "bytes":
            return min(max_bytes, aqm["min_th"]), max_packets
        return max_bytes, min(max_packets, aqm["min_th"])
    if kind in ("wred", "rio-c", "rio-d"):
        return max_bytes, min(max_packets, *(each["min_th"] for each in aqm["precedences"]))
    return 0.0, 0.0


def sum_by_index(index: Ints, value: Floats, count: int) -> Floats:
    """Sum of the values of each index [0, count)."""
    return np.bincount(index, value, count).astype(np.float64)


def compute_available_rates(port_queues: PortQueues, demand: Floats, weight: Floats) -> Floats:
    """Compute the rate that each class gets if it asks for all, and the others for their demand.

    Classes of the same number are asked at once: a link has one of each.
    """
    class_numbers = np.arange(len(demand)) - port_queues.first[port_queues.link]
    available = np.zeros(len(demand))
    for class_number in range(int(class_numbers.max(initial=-1)) + 1):
        same_number = class_numbers == class_number
        granted = divide_link_rates(port_queues, np.where(same_number, np.inf, demand), weight)
        available[same_number] = granted[same_number]
    return available


def divide_link_rates(port_queues: PortQueues, requested: Floats, weight: Floats) -> Floats:
    """Divide every link among its classes.

    requested: shape (Q,): Bit/s on the wire; infinite of a class that takes all it gets.
    weight: shape (Q,): Weights that count bits.
    Returns: shape (Q,): Rate of each: levels in order, inside a level by weight, what one leaves
        to the others.
    """
    links = len(port_queues.rate)
    served = np.zeros(len(requested))
    free = port_queues.rate.copy()
    demand = np.minimum(requested, port_queues.ceiling)
    for level in np.unique(port_queues.level):
        unserved = (port_queues.level == level) & (demand > 0)
        while unserved.any():
            total = sum_by_index(port_queues.link[unserved], weight[unserved], links)
            fair = (free / np.where(total > 0, total, 1.0))[port_queues.link] * weight
            satisfied = unserved & (demand <= fair)
            none_satisfied = np.bincount(port_queues.link[satisfied], minlength=links) == 0
            # Where none is content with less than its share, all take their shares.
            settled = satisfied | (unserved & none_satisfied[port_queues.link])
            served[settled] = np.minimum(demand, fair)[settled]
            free -= sum_by_index(port_queues.link[settled], served[settled], links)
            free = np.maximum(free, 0.0)
            unserved &= ~settled
    return served
