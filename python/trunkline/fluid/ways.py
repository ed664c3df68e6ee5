"""Which way each flow goes: links, classes and labels, as the packet engine forwards it.

What goes by IP routing alone is routed in arrays. Of every other flow and direction one datagram
goes through the compiled network, alone, and its trace is read: so label tables, markings and
copies are derived once, in the engine.

Absent: failures; what a conditioner does to packets beyond its profile.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.fluid.routed import answer_bytes, by_routing

Ints = NDArray[np.int64]

GAP_NS: Final = 10_000_000_000
"""Between two datagrams, so that each finds queues empty and buckets full."""
LABEL_BYTES: Final = 4
_QUEUED = _core.PACKET_EVENTS.index("queued")
_DELIVERED = _core.PACKET_EVENTS.index("delivered")


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Hops of streams: data of F flows, then what answers them (TCP, echo). H hops, S streams.

    Parameters
    ----------
    flow : array of int64, shape (S,)
        Flow of each stream.
    reverse : array of bool, shape (S,)
        Whether it is of acknowledgements or answers.
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
    """
    flows = network["flows"]
    back = [f for f, flow in enumerate(flows) if answer_bytes(flow)]
    flow = np.array([*range(len(flows)), *back], dtype=np.int64)
    reverse = np.arange(len(flow)) >= len(flows)
    plain = by_routing(network, flow, reverse, sizes)
    hops = [plain.hops]
    lost = plain.lost
    if len(plain.others):
        traced, lost[plain.others] = _traced(network, sizes, back, plain.others)
        hops.append(traced)
    return sorted_ways(flow, reverse, np.concatenate(hops, axis=1), lost)


def sorted_ways(
    flow: Ints, reverse: NDArray[np.bool_], hops: Ints, lost: NDArray[np.bool_]
) -> Ways:
    """Ways of hops in any order.

    Parameters
    ----------
    flow, reverse, lost : array, shape (S,)
        As `Ways` has them.
    hops : array of int64, shape (6, H)
        Stream, packet, step, link, class and bytes on the wire beside the IP packet.
    """
    stream, packet, step, link, class_, header = hops
    order = np.lexsort((step, packet, stream))
    stream, packet = stream[order], packet[order]
    first = np.r_[True, (stream[1:] != stream[:-1]) | (packet[1:] != packet[:-1])][: len(stream)]
    return Ways(
        flow=flow,
        reverse=reverse,
        leg=np.cumsum(first) - 1,
        stream=stream,
        step=step[order],
        link=link[order],
        class_=class_[order],
        header=header[order],
        lost=lost,
    )


def _traced(
    network: Mapping[str, Any], sizes: Ints, back: list[int], streams: Ints
) -> tuple[Ints, NDArray[np.bool_]]:
    """Hops of some streams by the packet engine: stream, packet, step, link, class, header."""
    its = probe(network, sizes.tolist(), back, streams.tolist())
    hops, lost = read(network, its, len(streams), 1)
    hops[0] = streams[hops[0]]
    return hops, lost


def read(
    network: Mapping[str, Any], probe: Mapping[str, Any], count: int, seed: int
) -> tuple[Ints, NDArray[np.bool_]]:
    """Hops of the datagrams of a probe, and which were lost.

    Parameters
    ----------
    count, seed : int
        Datagrams; seed of its run.

    Returns
    -------
    hops : array of int64, shape (6, H)
        Datagram, packet, step, link, class, and bytes on the wire beside the IP packet.
    lost : array of bool, shape (count,)
        Whether it ended before its destination.
    """
    rows = {
        name: np.frombuffer(data, dtype=np.int64)
        for name, (_, data) in _core.run(json.dumps(probe), seed)["packets"].items()
        if name in ("event", "packet", "flow", "link", "class", *_STACK)
    }
    lost = np.ones(count, dtype=bool)
    lost[rows["flow"][rows["event"] == _DELIVERED]] = False
    order = np.lexsort((np.arange(len(rows["flow"])), rows["packet"], rows["flow"]))
    order = order[rows["event"][order] == _QUEUED]
    rows = {name: column[order] for name, column in rows.items()}
    stream, packet, link = rows["flow"], rows["packet"], rows["link"]
    first = np.r_[True, (stream[1:] != stream[:-1]) | (packet[1:] != packet[:-1])][: len(stream)]
    starts = np.flatnonzero(first)
    step = np.arange(len(stream)) - starts[np.cumsum(first) - 1] if len(stream) else stream
    labels = sum((rows[name] >= 0).astype(np.int64) for name in _STACK)
    own = np.array([each["header_bytes"] for each in network["links"]], dtype=np.int64)
    header = own[link] + LABEL_BYTES * labels
    class_ = np.maximum(rows["class"], 0)
    return np.stack([stream, packet, step, link, class_, header]), lost


_STACK: Final = ("stack_1", "stack_2", "stack_3", "stack_4")


def probe(
    network: Mapping[str, Any],
    sizes: list[int],
    back: list[int],
    streams: list[int],
    times: list[float] | None = None,
) -> dict[str, Any]:
    """The same network, in which some streams send one datagram each.

    Parameters
    ----------
    sizes, back : list of int
        IP bytes of a data packet of each flow; flows that are answered.
    streams : list of int
        Which send; one may do so several times.
    times : list of float, optional
        When each does [ns]; by default far apart.
    """
    flows = network["flows"]
    # Flow and direction of each stream, as classifiers count them.
    ends = [(f, 0) for f in range(len(flows))] + [(f, 1) for f in back]
    chosen = [ends[stream] for stream in streams]
    sent = [
        _datagram(
            flows[f],
            number,
            way,
            answer_bytes(flows[f]) if way else sizes[f],
            number * GAP_NS if times is None else max(0, int(times[number])),
        )
        for number, (f, way) in enumerate(chosen)
    ]
    links = [
        {key: value for key, value in link.items() if key not in ("scripted", "account")}
        | {"loss": 0.0}
        for link in network["links"]
    ]
    ports = [
        port | {"classifier": classifier(port["classifier"], chosen)} for port in network["ports"]
    ]
    conditioners = [
        each | {"classifier": classifier(each["classifier"], chosen)}
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


def _datagram(flow: Mapping[str, Any], number: int, way: int, size: int, at: int) -> dict[str, Any]:
    return {
        "name": str(number),
        "src": flow["dst" if way else "src"],
        "dst": flow["src" if way else "dst"],
        "start_ns": 0,
        "stop_ns": None,
        "start_jitter_ns": 0,
        "dscp": flow["dscp"],
        "ttl": flow["ttl"],
        "fec": flow["fec_reverse" if way else "fec"],
        "fec_reverse": 0,
        "agent": {
            "protocol": "udp",
            "arrivals": {"schedule": {"times_ns": [at], "sizes": [size]}},
            "rate_bit_s": 1,
            "size": {"fixed": {"bytes": size}},
            "header_bytes": 0,
        },
    }


def classifier(its: Mapping[str, Any], chosen: list[tuple[int, int]]) -> dict[str, Any]:
    """Rows by stream, where they were by flow and direction."""
    rows = its["flow_rows"]
    if not rows:
        return dict(its)
    return {**its, "flow_rows": [row for f, way in chosen for row in (rows[2 * f + way], 0)]}
