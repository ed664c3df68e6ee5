"""Paths of the flows: links, classes and labels, as the packet engine forwards them.

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
from trunkline.fluid.shortest_paths import get_answer_bytes, route_streams
from trunkline.results.decode.columns import read_int_columns
from trunkline.te.topology import Ints

PROBE_GAP_NS: Final = 10_000_000_000
"""Between two datagrams, so that each finds queues empty and buckets full."""
LABEL_BYTES: Final = 4
_QUEUED = _core.PACKET_EVENTS.index("queued")
_DELIVERED = _core.PACKET_EVENTS.index("delivered")


@dataclass(frozen=True, slots=True, eq=False)
class StreamPaths:
    """Hops of streams: data of F flows, then their answers (TCP, echo). H hops, S streams."""

    flow: Ints  # shape (S,): Flow of each stream.
    reverse: NDArray[np.bool_]  # shape (S,): Whether it is of acknowledgements or answers.
    leg: Ints  # shape (H,): Number of the packet of each hop; 1+1 protection makes two of a stream.
    stream: Ints  # shape (H,): Stream of each hop.
    # shape (H,): Place of each hop in its leg, from 0. Hops are sorted by leg, then by step.
    step: Ints
    # link, class_: shape (H,): Link, and class of its port.
    link: Ints
    class_: Ints
    header: Ints  # shape (H,): Bytes on the wire besides the IP packet.
    # shape (S,): Whether it ends before its destination: no route, too large, TTL.
    lost: NDArray[np.bool_]


def trace_streams(network: Mapping[str, Any], sizes: Ints) -> StreamPaths:
    """Follow every flow of a network.

    network: The compiled network, parsed from its JSON.
    sizes: shape (F,): IP bytes of a data packet of each flow.
    """
    flows = network["flows"]
    answered = [f for f, flow in enumerate(flows) if get_answer_bytes(flow)]
    flow = np.array([*range(len(flows)), *answered], dtype=np.int64)
    reverse = np.arange(len(flow)) >= len(flows)
    routed = route_streams(network, flow, reverse, sizes)
    hops = [routed.hops]
    is_lost = routed.lost
    if len(routed.unrouted):
        traced, is_lost[routed.unrouted] = _trace_with_packets(
            network, sizes, answered, routed.unrouted
        )
        hops.append(traced)
    return sort_hops(flow, reverse, np.concatenate(hops, axis=1), is_lost)


def sort_hops(
    flow: Ints, reverse: NDArray[np.bool_], hops: Ints, lost: NDArray[np.bool_]
) -> StreamPaths:
    """Ways of hops in any order.

    flow, reverse, lost: shape (S,): As `StreamPaths` has them.
    hops: shape (6, H): Stream, packet, step, link, class and bytes on the wire besides the IP
        packet.
    """
    stream, packet, step, link, class_, header = hops
    order = np.lexsort((step, packet, stream))
    stream, packet = stream[order], packet[order]
    first = np.r_[True, (stream[1:] != stream[:-1]) | (packet[1:] != packet[:-1])][: len(stream)]
    return StreamPaths(
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


def _trace_with_packets(
    network: Mapping[str, Any], sizes: Ints, answered: list[int], streams: Ints
) -> tuple[Ints, NDArray[np.bool_]]:
    """Hops of some streams by the packet engine: stream, packet, step, link, class, header."""
    probe_network = make_probe(network, sizes.tolist(), answered, streams.tolist())
    hops, lost = run_probe(network, json.dumps(probe_network), len(streams), 1)
    hops[0] = streams[hops[0]]
    return hops, lost


def run_probe(
    network: Mapping[str, Any], probe_json: str, count: int, seed: int
) -> tuple[Ints, NDArray[np.bool_]]:
    """Run the hops of the datagrams of a probe, and which were lost.

    count, seed: Datagrams; seed of its run.
    Returns hops: Datagram, packet, step, link, class, and bytes on the wire besides the IP packet.
    Returns lost: Whether it ended before its destination.
    """
    names = ("event", "packet", "flow", "link", "class", *_LABEL_COLUMNS)
    rows = read_int_columns(_core.run(probe_json, seed)["packets"], *names)
    lost = np.ones(count, dtype=bool)
    lost[rows["flow"][rows["event"] == _DELIVERED]] = False
    order = np.lexsort((np.arange(len(rows["flow"])), rows["packet"], rows["flow"]))
    order = order[rows["event"][order] == _QUEUED]
    rows = {name: column[order] for name, column in rows.items()}
    stream, packet, link = rows["flow"], rows["packet"], rows["link"]
    first = np.r_[True, (stream[1:] != stream[:-1]) | (packet[1:] != packet[:-1])][: len(stream)]
    starts = np.flatnonzero(first)
    step = np.arange(len(stream)) - starts[np.cumsum(first) - 1] if len(stream) else stream
    labels = sum((rows[name] >= 0).astype(np.int64) for name in _LABEL_COLUMNS)
    link_headers = np.array([each["header_bytes"] for each in network["links"]], dtype=np.int64)
    header = link_headers[link] + LABEL_BYTES * labels
    class_ = np.maximum(rows["class"], 0)
    return np.stack([stream, packet, step, link, class_, header]), lost


_LABEL_COLUMNS: Final = ("stack_1", "stack_2", "stack_3", "stack_4")


def make_probe(
    network: Mapping[str, Any],
    sizes: list[int],
    answered: list[int],
    streams: list[int],
    times: list[float] | None = None,
) -> dict[str, Any]:
    """Make the same network, in which some streams send one datagram each.

    sizes, answered: IP bytes of a data packet of each flow; flows that are answered.
    streams: Which send; one may do so several times.
    times: When each does [ns]; by default far apart.
    """
    flows = network["flows"]
    # Flow and direction of each stream, as classifiers count them.
    directions = [(f, 0) for f in range(len(flows))] + [(f, 1) for f in answered]
    sent_directions = [directions[stream] for stream in streams]
    sent = [
        make_datagram(
            flows[f],
            number,
            direction,
            get_answer_bytes(flows[f]) if direction else sizes[f],
            number * PROBE_GAP_NS if times is None else max(0, int(times[number])),
        )
        for number, (f, direction) in enumerate(sent_directions)
    ]
    links = [
        {key: value for key, value in link.items() if key not in ("scripted", "account")}
        | {"loss": 0.0}
        for link in network["links"]
    ]
    ports = [
        port | {"classifier": select_classifier_rows(port["classifier"], sent_directions)}
        for port in network["ports"]
    ]
    conditioners = [
        each | {"classifier": select_classifier_rows(each["classifier"], sent_directions)}
        for each in network.get("conditioners", ())
    ]
    run = network["run"] | {
        "duration_ns": (len(sent) + 1) * PROBE_GAP_NS,
        "warmup_ns": 0,
        "trace": True,
    }
    protections = (network.get("recovery") or {}).get("protections", ())
    # 1+1 sends on both legs without a failure too; nothing else of recovery shows.
    one_plus_one = [each for each in protections if each["kind"] == "one-plus-one"]
    probe_network = dict(network) | {"recovery": {"protections": one_plus_one}}
    if conditioners:
        probe_network["conditioners"] = conditioners
    return probe_network | {"flows": sent, "links": links, "ports": ports, "probes": [], "run": run}


def make_datagram(
    flow: Mapping[str, Any], number: int, direction: int, size: int, time_ns: int
) -> dict[str, Any]:
    """A flow of one datagram of IP bytes, in the direction 0 of the given flow or 1 of answers."""
    return {
        "name": str(number),
        "src": flow["dst" if direction else "src"],
        "dst": flow["src" if direction else "dst"],
        "start_ns": 0,
        "stop_ns": None,
        "start_jitter_ns": 0,
        "dscp": flow["dscp"],
        "ttl": flow["ttl"],
        "fec": flow["fec_reverse" if direction else "fec"],
        "fec_reverse": 0,
        "agent": {
            "protocol": "udp",
            "arrivals": {"schedule": {"times_ns": [time_ns], "sizes": [size]}},
            "rate_bit_s": 1,
            "size": {"fixed": {"bytes": size}},
            "header_bytes": 0,
        },
    }


def select_classifier_rows(
    port_classifier: Mapping[str, Any], sent_directions: list[tuple[int, int]]
) -> dict[str, Any]:
    """Select the rows by stream, where they were by flow and direction."""
    rows = port_classifier["flow_rows"]
    if not rows:
        return dict(port_classifier)
    return {
        **port_classifier,
        "flow_rows": [
            row for f, direction in sent_directions for row in (rows[2 * f + direction], 0)
        ],
    }
