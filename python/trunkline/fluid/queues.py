"""Every class of every port as arrays: its priority, its weight, its ceiling, its queue.

Schedulers become strict levels with weighted shares inside a level (GPS: Parekh and Gallager 1993).
Priority, deficit, weighted fair and weighted round robin are that in the long run. Of HTB, HFSC,
CBQ and CAKE the guaranteed rates are the weights and the ceilings are kept.

Absent: hierarchies of classes, borrowing between them, real-time curves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXACT: Final = ("fifo", "priority")
WEIGHTED: Final = ("drr", "wfq", "wrr")
BY_PRECEDENCE: Final = ("precedence-drop-tail", "wred", "rio-c", "rio-d", "gred")


@dataclass(frozen=True, slots=True, eq=False)
class Queues:
    """Q classes of L links, sorted by link, then by their number.

    Parameters
    ----------
    first : array of int64, shape (L,)
        The first class of each link.
    link : array of int64, shape (Q,)
        Link of each class.
    rate : array of float64, shape (L,)
        Bit/s of each link.
    level : array of int64, shape (Q,)
        Strict priority, 0 first.
    weight : array of float64, shape (Q,)
        Share inside the level.
    by_packet : array of bool, shape (Q,)
        Whether the weight counts packets, not bits.
    ceiling : array of float64, shape (Q,)
        Maximum rate of the class [bit/s].
    full : array of float64, shape (Q, 2)
        What a full queue holds: bytes, and packets; infinite without a limit.
    least, most : array of float64, shape (Q,)
        Between which bytes or packets TCP keeps the queue: half way of RED's thresholds; nan where
        the policy keeps a delay.
    delay : array of float64, shape (Q,)
        Delay that the policy keeps [s]; nan where it keeps none.
    uneven : array of bool, shape (Q,)
        Whether the policy drops by precedence, so that flows do not lose the same share.
    waits : array of int64, shape (Q,)
        Formula of waits: 0 by level, 1 by weight, 2 none.
    """

    first: Ints
    link: Ints
    rate: Floats
    level: Ints
    weight: Floats
    by_packet: NDArray[np.bool_]
    ceiling: Floats
    full: Floats
    least: Floats
    most: Floats
    delay: Floats
    uneven: NDArray[np.bool_]
    waits: Ints


def queues(network: Mapping[str, Any]) -> Queues:
    """Read the ports of a compiled network.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    """
    read = [_port(port) for port in network["ports"]]
    used = [link["port"] for link in network["links"]]
    sizes = np.array([len(read[port]) for port in used], dtype=np.int64)
    table = np.concatenate([read[port] for port in used]) if used else np.zeros((0, 11))
    c = [np.ascontiguousarray(column) for column in table.T]
    return Queues(
        first=np.cumsum(sizes) - sizes,
        link=np.repeat(np.arange(len(used)), sizes),
        rate=np.array([link["rate_bit_s"] for link in network["links"]], dtype=np.float64),
        level=c[0].astype(np.int64),
        weight=c[1],
        by_packet=c[2] > 0,
        ceiling=c[3],
        full=np.stack([c[4], c[5]], axis=1),
        least=c[6],
        most=c[7],
        delay=c[8],
        uneven=c[9] > 0,
        waits=c[10].astype(np.int64),
    )


def _port(port: Mapping[str, Any]) -> Floats:
    """A row for each class of a port."""
    kind, shares = port["scheduler"]["kind"], port["scheduler"]["shares"]
    rows = []
    for its, share in zip(port["classes"], shares, strict=True):
        queue = its["queue"]
        packets, octets = queue["limit_packets"], queue["limit_bytes"]
        full = (
            np.inf if octets is None else float(octets),
            np.inf if packets is None else float(packets),
        )
        uneven = queue["aqm"]["kind"] in BY_PRECEDENCE
        formula = 0 if kind in EXACT else 1 if kind in WEIGHTED else 2
        rows.append((*_share(kind, share), *full, *_kept(queue), uneven, formula))
    return np.array(rows, dtype=np.float64).reshape(len(rows), 11)


def _share(kind: str, its: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """Level, weight, whether by packets, ceiling."""
    if kind == "priority":
        return its["priority"], 1.0, 0.0, np.inf
    if kind == "drr":
        return 0, float(its["weight"] * its["quantum_bytes"]), 0.0, np.inf
    if kind in ("wfq", "wrr"):
        return 0, float(its["weight"]), float(kind == "wrr"), np.inf
    if kind == "tbf":
        return 0, 1.0, 0.0, float(its["rate_bit_s"])
    if kind == "shaped":
        return its["priority"], 1.0, 0.0, float(its["rate_bit_s"])
    if kind == "htb":
        return 0, float(its["rate_bit_s"]), 0.0, float(its["ceil_bit_s"])
    if kind in ("cake", "cbq", "cbq-ancestor-only"):
        return 0, float(max(1, its["rate_bit_s"])), 0.0, np.inf
    if kind == "hfsc":
        curve = its["link_share"] or its["real_time"]
        limit = its["upper_limit"]
        ceiling = np.inf if limit is None else float(limit["m2_bit_s"])
        return 0, float(curve["m2_bit_s"] if curve else 1), 0.0, ceiling
    return 0, 1.0, 0.0, np.inf


def _kept(queue: Mapping[str, Any]) -> tuple[float, float, float]:
    """Where TCP keeps a queue: from, to [packets, negative in bytes]; and the delay kept [s]."""
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


def summed(index: Ints, value: Floats, count: int) -> Floats:
    """Sum of the values of each index [0, count)."""
    return np.bincount(index, value, count).astype(np.float64)


def serve(its: Queues, wanted: Floats, weight: Floats) -> Floats:
    """Divide every link among its classes.

    Parameters
    ----------
    wanted : array of float64, shape (Q,)
        Bit/s on the wire; infinite of a class that takes all it gets.
    weight : array of float64, shape (Q,)
        Weights that count bits.

    Returns
    -------
    array of float64, shape (Q,)
        What each gets: levels in order, inside a level by weight, what one leaves to the others.
    """
    links = len(its.rate)
    given = np.zeros(len(wanted))
    left = its.rate.copy()
    asked = np.minimum(wanted, its.ceiling)
    for level in np.unique(its.level):
        open_ = (its.level == level) & (asked > 0)
        while open_.any():
            total = summed(its.link[open_], weight[open_], links)
            fair = (left / np.where(total > 0, total, 1.0))[its.link] * weight
            content = open_ & (asked <= fair)
            at_rest = np.bincount(its.link[content], minlength=links) == 0
            # Where none is content with less than its share, all take their shares.
            ends = content | (open_ & at_rest[its.link])
            given[ends] = np.minimum(asked, fair)[ends]
            left -= summed(its.link[ends], given[ends], links)
            left = np.maximum(left, 0.0)
            open_ &= ~ends
    return given
