"""Ways by IP routing alone, for many flows at once: shortest paths, and classes by DSCP or flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.te.spf import distances, next_arcs, steps
from trunkline.te.topology import Arc, Topology, topology

Ints = NDArray[np.int64]
AT_ONCE: Final = 256
"""Destinations that are routed together: the tables of more take too much memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """What IP routing says.

    Parameters
    ----------
    hops : array of int64, shape (6, H)
        Stream, 0, step, link, class and bytes on the wire beside the IP packet, of every hop.
    lost : array of bool, shape (S,)
        Whether there is no route.
    others : array of int64
        Streams that meet label tables, conditioners, too small links or the end of their TTL.
    """

    hops: Ints
    lost: NDArray[np.bool_]
    others: Ints


def answer_bytes(flow: Mapping[str, Any]) -> int:
    """IP bytes of what answers a data packet; 0: nothing does."""
    if flow.get("echo") is not None:
        return int(flow["echo"]["reply_bytes"])
    return int(flow["agent"].get("ack_bytes", 0))


def by_routing(
    network: Mapping[str, Any], flow: Ints, reverse: NDArray[np.bool_], sizes: Ints
) -> Routed:
    """Route what needs no more than that.

    Parameters
    ----------
    network : mapping
        The compiled network, parsed from its JSON.
    flow : array of int64, shape (S,)
        Flow of each stream.
    reverse : array of bool, shape (S,)
        Whether it is of acknowledgements.
    sizes : array of int64, shape (F,)
        IP bytes of a data packet of each flow.
    """
    flows, links = network["flows"], network["links"]
    column = {key: _of(flows, key) for key in ("src", "dst", "dscp", "ttl", "fec", "fec_reverse")}
    source = np.where(reverse, column["dst"][flow], column["src"][flow])
    target = np.where(reverse, column["src"][flow], column["dst"][flow])
    bound = np.unique([entry["fec"] for entry in network["ftn"]])
    odd = np.isin(np.where(reverse, column["fec_reverse"][flow], column["fec"][flow]), bound)
    odd |= bool(network.get("conditioners")) or (source == target)
    stream, step, link, lost = _walked(network, np.flatnonzero(~odd), source, target)
    acks = np.array([answer_bytes(each) for each in flows], dtype=np.int64)
    size = np.where(reverse, acks[flow], sizes[flow])
    large = size[stream] > _of(links, "mtu_bytes")[link]
    odd[stream[large | (step + 1 >= column["ttl"][flow][stream])]] = True
    kept = ~odd[stream]
    stream, step, link = stream[kept], step[kept], link[kept]
    class_ = _classes(
        network, link, 2 * flow[stream] + reverse[stream], column["dscp"][flow[stream]]
    )
    header = _of(links, "header_bytes")[link]
    hops = np.stack([stream, stream * 0, step, link, class_, header])
    return Routed(hops, lost & ~odd, np.flatnonzero(odd))


def _of(items: list[Mapping[str, Any]], key: str) -> Ints:
    return np.array([each[key] for each in items], dtype=np.int64)


def _walked(
    network: Mapping[str, Any], streams: Ints, source: Ints, target: Ints
) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Stream, step and link of every hop, and which streams have no route."""
    graph = _graph(network)
    found: list[tuple[Ints, Ints, Ints]] = []
    lost = np.zeros(len(source), dtype=bool)
    targets, place = np.unique(target[streams], return_inverse=True)
    for begin in range(0, len(targets), AT_ONCE):
        these = targets[begin : begin + AT_ONCE]
        away = distances(graph, graph.igp, these)
        following = next_arcs(graph, graph.igp, away)
        here = (place >= begin) & (place < begin + AT_ONCE)
        mine, row = streams[here], place[here] - begin
        lost[mine] = ~np.isfinite(away[row, source[mine]])
        for step, (walkers, arcs) in enumerate(steps(graph, following, row, source[mine])):
            found.append((mine[walkers], np.full(len(walkers), step), arcs))
    if not found:
        return (*np.zeros((3, 0), dtype=np.int64), lost)
    stream, step_, link = (np.concatenate(each) for each in zip(*found, strict=True))
    return stream, step_, link, lost


def _graph(network: Mapping[str, Any]) -> Topology:
    names = [node["name"] for node in network["nodes"]]
    return topology(
        names,
        (
            Arc(names[link["from"]], names[link["to"]], 1, link["name"], igp=link["metric"])
            for link in network["links"]
        ),
    )


def _classes(network: Mapping[str, Any], link: Ints, row: Ints, dscp: Ints) -> Ints:
    """Class of each hop, by the flow's row and the DSCP (RFC 2475 section 2.3.1)."""
    ports = _of(network["links"], "port")[link]
    class_ = np.zeros(len(link), dtype=np.int64)
    for number, port in enumerate(network["ports"]):
        cells, rows = port["classifier"]["rows"], port["classifier"]["flow_rows"]
        mine = ports == number
        if not cells or not mine.any():
            continue
        table = np.array(cells, dtype=np.int64)[:, :, 0]
        of = np.array(rows, dtype=np.int64)[row[mine]] if rows else np.zeros(mine.sum(), dtype=int)
        class_[mine] = table[of, dscp[mine]]
    return class_
