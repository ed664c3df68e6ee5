"""Which way each flow goes: links, classes and labels, as the packet engine forwards it.

One datagram a flow and direction goes through the compiled network, alone, and its trace is read.
So label tables, classifiers and markings are derived once, in the engine.

Absent: failures; what a conditioner does to packets beyond its profile.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline import _core

__all__ = ["Ways", "ways"]

Ints = NDArray[np.int64]

GAP_NS: Final = 10_000_000_000
"""Between two datagrams, so that each finds queues empty and buckets full."""
LABEL_BYTES: Final = 4
_QUEUED = _core.PACKET_EVENTS.index("queued")
_DELIVERED = _core.PACKET_EVENTS.index("delivered")


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Hops of streams: data of F flows, then acknowledgements of TCP flows. H hops, S streams.

    Parameters
    ----------
    flow : array of int64, shape (S,)
        Flow of each stream.
    reverse : array of bool, shape (S,)
        Whether it is of acknowledgements.
    leg : array of int64, shape (H,)
        Number of the packet of each hop; 1+1 protection makes two of a stream.
    stream : array of int64, shape (H,)
        Stream of each hop.
    step : array of int64, shape (H,)
        Place of each hop in its leg, from 0. Hops are sorted by leg, then by step.
    link, class_ : array of int64, shape (H,)
        Link, and class of its port.
    header : array of int64, shape (H,)
        Bytes on the wire beside the IP packet.
    lost : array of bool, shape (S,)
        Whether it ends before its destination: no route, too large, TTL.
    """

    flow: Ints
    reverse: NDArray[np.bool_]
    leg: Ints
    stream: Ints
    step: Ints
    link: Ints
    class_: Ints
    header: Ints
    lost: NDArray[np.bool_]


def ways(network: Mapping[str, Any], sizes: Ints) -> Ways:
    """Follow every flow of a network.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    sizes : array of int64, shape (F,)
        IP bytes of a data packet of each flow.

    Returns
    -------
    Ways
        As they are without a failure.
    """
    flows = network["flows"]
    count = len(flows)
    back = [f for f in range(count) if flows[f]["agent"]["protocol"] == "tcp"]
    probe = _probe(network, sizes.tolist(), back)
    rows = {
        name: np.frombuffer(data, dtype=np.int64)
        for name, (_, data) in _core.run(json.dumps(probe), 1)["packets"].items()
        if name in ("time_ns", "event", "packet", "flow", "link", "class", *_STACK)
    }
    order = np.lexsort((np.arange(len(rows["flow"])), rows["packet"], rows["flow"]))
    rows = {name: column[order] for name, column in rows.items()}
    lost = np.ones(count + len(back), dtype=bool)
    lost[rows["flow"][rows["event"] == _DELIVERED]] = False
    kept = rows["event"] == _QUEUED
    stream, packet = rows["flow"][kept], rows["packet"][kept]
    first = np.r_[True, (stream[1:] != stream[:-1]) | (packet[1:] != packet[:-1])][: len(stream)]
    leg = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    labels = sum((rows[name][kept] >= 0).astype(np.int64) for name in _STACK)
    own = np.array([link["header_bytes"] for link in network["links"]], dtype=np.int64)
    link = rows["link"][kept]
    return Ways(
        flow=np.array([*range(count), *back], dtype=np.int64),
        reverse=np.arange(count + len(back)) >= count,
        leg=leg,
        stream=stream,
        step=np.arange(len(leg)) - starts[leg] if len(leg) else leg,
        link=link,
        class_=np.maximum(rows["class"][kept], 0),
        header=own[link] + LABEL_BYTES * labels,
        lost=lost,
    )


_STACK: Final = ("stack_1", "stack_2", "stack_3", "stack_4")


def _probe(network: Mapping[str, Any], sizes: list[int], back: list[int]) -> dict[str, Any]:
    """The same network, in which each stream sends one datagram."""
    flows = network["flows"]
    sent = [
        _datagram(flow, number, flow["src"], flow["dst"], flow["fec"], size)
        for number, (flow, size) in enumerate(zip(flows, sizes, strict=True))
    ]
    for number, index in enumerate(back, len(flows)):
        flow = flows[index]
        size, fec = flow["agent"]["ack_bytes"], flow["fec_reverse"]
        sent.append(_datagram(flow, number, flow["dst"], flow["src"], fec, size))
    links = [
        {key: value for key, value in link.items() if key not in ("scripted", "account")}
        | {"loss": 0.0}
        for link in network["links"]
    ]
    ports = [
        port | {"classifier": _classifier(port["classifier"], len(flows), back)}
        for port in network["ports"]
    ]
    conditioners = [
        each | {"classifier": _classifier(each["classifier"], len(flows), back)}
        for each in network.get("conditioners", ())
    ]
    run = network["run"] | {
        "duration_ns": (len(sent) + 1) * GAP_NS,
        "warmup_ns": 0,
        "trace": True,
    }
    protections = (network.get("recovery") or {}).get("protections", ())
    # 1+1 sends on both legs without a failure too; nothing else of recovery shows.
    twice = [each for each in protections if each["kind"] == "one-plus-one"]
    kept = dict(network) | {"recovery": {"protections": twice}}
    if conditioners:
        kept["conditioners"] = conditioners
    return kept | {"flows": sent, "links": links, "ports": ports, "probes": [], "run": run}


def _datagram(
    flow: Mapping[str, Any], number: int, src: int, dst: int, fec: int, size: int
) -> dict[str, Any]:
    return {
        "name": str(number),
        "src": src,
        "dst": dst,
        "start_ns": 0,
        "stop_ns": None,
        "start_jitter_ns": 0,
        "dscp": flow["dscp"],
        "ttl": flow["ttl"],
        "fec": fec,
        "fec_reverse": 0,
        "agent": {
            "protocol": "udp",
            "arrivals": {"schedule": {"times_ns": [number * GAP_NS], "sizes": [size]}},
            "rate_bit_s": 1,
            "size": {"fixed": {"bytes": size}},
            "header_bytes": 0,
        },
    }


def _classifier(its: Mapping[str, Any], count: int, back: list[int]) -> dict[str, Any]:
    """Rows by stream, where they were by flow and direction."""
    rows = its["flow_rows"]
    if not rows:
        return dict(its)
    own = [row for flow in range(count) for row in (rows[2 * flow], 0)]
    return {**its, "flow_rows": own + [row for flow in back for row in (rows[2 * flow + 1], 0)]}
