"""Ways by IP routing alone, for many flows at once: shortest paths, and classes by DSCP or flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.te.spf import choose_next_arcs, compute_distances, walk_paths
from trunkline.te.topology import Arc, Ints, Topology, build_topology

DESTINATIONS_PER_BATCH: Final = 256
"""Destinations that are routed together: the tables of more take too much memory."""


@dataclass(frozen=True, slots=True, eq=False)
class RoutedPaths:
    """Shortest-path routes of IP."""

    # shape (6, H): Stream, 0, step, link, class and bytes on the wire besides the IP packet, of
    # every hop.
    hops: Ints
    lost: NDArray[np.bool_]  # shape (S,): Whether there is no route.
    # Streams that meet label tables, conditioners, too small links or the end of their TTL.
    unrouted: Ints


def get_answer_bytes(flow: Mapping[str, Any]) -> int:
    """IP bytes of what answers a data packet; 0: nothing does."""
    if flow.get("echo") is not None:
        return int(flow["echo"]["reply_bytes"])
    return int(flow["agent"].get("ack_bytes", 0))


def route_streams(
    network: Mapping[str, Any], flow: Ints, reverse: NDArray[np.bool_], sizes: Ints
) -> RoutedPaths:
    """Route what needs no more than that.

    network: The compiled network, parsed from its JSON.
    flow: shape (S,): Flow of each stream.
    reverse: shape (S,): Whether it is of acknowledgements.
    sizes: shape (F,): IP bytes of a data packet of each flow.
    """
    flows, links = network["flows"], network["links"]
    column = {
        key: _read_column(flows, key) for key in ("src", "dst", "dscp", "ttl", "fec", "fec_reverse")
    }
    source = np.where(reverse, column["dst"][flow], column["src"][flow])
    target = np.where(reverse, column["src"][flow], column["dst"][flow])
    labelled_fecs = np.unique([entry["fec"] for entry in network["ftn"]])
    needs_trace = np.isin(
        np.where(reverse, column["fec_reverse"][flow], column["fec"][flow]), labelled_fecs
    )
    needs_trace |= bool(network.get("conditioners")) or (source == target)
    routing = network.get("routing", {})
    needs_trace |= bool(routing.get("static")) or bool(routing.get("without_igp"))
    stream, step, link, lost = _walk_routes(network, np.flatnonzero(~needs_trace), source, target)
    acks = np.array([get_answer_bytes(each) for each in flows], dtype=np.int64)
    size = np.where(reverse, acks[flow], sizes[flow])
    large = size[stream] > _read_column(links, "mtu_bytes")[link]
    needs_trace[stream[large | (step + 1 >= column["ttl"][flow][stream])]] = True
    is_kept = ~needs_trace[stream]
    stream, step, link = stream[is_kept], step[is_kept], link[is_kept]
    class_ = _classify_hops(
        network, link, 2 * flow[stream] + reverse[stream], column["dscp"][flow[stream]]
    )
    header = _read_column(links, "header_bytes")[link]
    hops = np.stack([stream, stream * 0, step, link, class_, header])
    return RoutedPaths(hops, lost & ~needs_trace, np.flatnonzero(needs_trace))


def _read_column(items: list[Mapping[str, Any]], key: str) -> Ints:
    return np.array([each[key] for each in items], dtype=np.int64)


def _walk_routes(
    network: Mapping[str, Any], streams: Ints, source: Ints, target: Ints
) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Stream, step and link of every hop, and which streams have no route."""
    graph = _build_graph(network)
    hop_parts: list[tuple[Ints, Ints, Ints]] = []
    lost = np.zeros(len(source), dtype=bool)
    targets, target_index = np.unique(target[streams], return_inverse=True)
    for begin in range(0, len(targets), DESTINATIONS_PER_BATCH):
        batch_targets = targets[begin : begin + DESTINATIONS_PER_BATCH]
        distance = compute_distances(graph, graph.igp, batch_targets)
        next_arc = choose_next_arcs(graph, graph.igp, distance)
        in_batch = (target_index >= begin) & (target_index < begin + DESTINATIONS_PER_BATCH)
        batch_streams, row = streams[in_batch], target_index[in_batch] - begin
        lost[batch_streams] = ~np.isfinite(distance[row, source[batch_streams]])
        for step, (walking, arcs) in enumerate(
            walk_paths(graph, next_arc, row, source[batch_streams])
        ):
            hop_parts.append((batch_streams[walking], np.full(len(walking), step), arcs))
    if not hop_parts:
        return (*np.zeros((3, 0), dtype=np.int64), lost)
    stream, steps_joined, link = (np.concatenate(each) for each in zip(*hop_parts, strict=True))
    return stream, steps_joined, link, lost


def _build_graph(network: Mapping[str, Any]) -> Topology:
    names = [node["name"] for node in network["nodes"]]
    return build_topology(
        names,
        (
            Arc(names[link["from"]], names[link["to"]], 1, link["name"], igp=link["metric"])
            for link in network["links"]
        ),
    )


def _classify_hops(network: Mapping[str, Any], link: Ints, row: Ints, dscp: Ints) -> Ints:
    """Class of each hop, by the flow's row and the DSCP (RFC 2475 section 2.3.1)."""
    ports = _read_column(network["links"], "port")[link]
    class_ = np.zeros(len(link), dtype=np.int64)
    for number, port in enumerate(network["ports"]):
        cells, rows = port["classifier"]["rows"], port["classifier"]["flow_rows"]
        at_port = ports == number
        if not cells or not at_port.any():
            continue
        table = np.array(cells, dtype=np.int64)[:, :, 0]
        class_rows = (
            np.array(rows, dtype=np.int64)[row[at_port]]
            if rows
            else np.zeros(at_port.sum(), dtype=int)
        )
        class_[at_port] = table[class_rows, dscp[at_port]]
    return class_
