"""The packets that reach each link: which flows, over which link before, in which class.

A link of the mini network sees the flows that cross it, at the rates that the fluid engine finds
there, shaped by the rate of the link before it, with the offsets in time that the way to it takes.
So packets that come over one link of the same rate never meet each other, as in the full network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.flow_sources import heeds_congestion
from trunkline.fluid.unsupported import FluidUnsupportedError

if TYPE_CHECKING:
    from trunkline.fluid.stream_paths import StreamPaths
    from trunkline.fluid.tables import FluidState

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_LINK: Final = -1
"""The link before the first of a path."""
LINKS_BEFORE: Final = 2
"""Links before a link that are in its run: a small packet that has met a large one stays behind it,
and waits for it at every further link."""
RATE_TOLERANCE: Final = 1e-6
"""Relative difference below which two rates count as equal."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkTraffic:
    """The flows that cross one link: N of them, in the order of the network's flows.

    Parameters
    ----------
    link : int
        Number of the link.
    flow : array of int64, shape (N,)
        Number of each flow; one that 1+1 protection copies may come twice.
    class_ : array of int64, shape (N,)
        Class at the port of this link.
    links_before, classes_before : array of int64, shape (N, `LINKS_BEFORE`)
        Links that it comes over, the last one first, and its classes there; `NO_LINK` and 0 where
        its path begins later.
    label_bytes : array of int64, shape (N,)
        Bytes of labels on each packet on this link.
    share : array of float64, shape (N,)
        Share of the flow's packets that reaches this link, above 0 and at most 1.
    offset_ns : array of int64, shape (N,)
        Time without queues from the source to the first of the links before.
    """

    link: int
    flow: Ints
    class_: Ints
    links_before: Ints
    classes_before: Ints
    label_bytes: Ints
    share: Floats
    offset_ns: Ints

    def make_key(self) -> bytes:
        """Make a key that two loads of one link share if and only if they are the same."""
        shares = np.rint(self.share / RATE_TOLERANCE).astype(np.int64)
        rows = [self.flow, self.class_, self.label_bytes, shares, self.offset_ns]
        return np.stack([*rows, *self.links_before.T, *self.classes_before.T]).tobytes()


def check_decomposable(network: Mapping[str, Any]) -> None:
    """Refuse networks in which links do not act one by one.

    Raises
    ------
    FluidUnsupportedError
        A flow heeds congestion, answers, or sends for a part of the time; or links fail in mid-run.
    """
    failures = (network.get("recovery") or {}).get("failures", ())
    if failures:
        msg = (
            "a link that fails in mid-run changes the packets of others at that moment: leave "
            "`failures` out; te delays takes each failure as a separate network"
        )
        raise FluidUnsupportedError(msg, ("failures",))
    run = network["run"]
    for flow in network["flows"]:
        place = ("flows", flow["name"])
        if flow["agent"]["protocol"] != "udp" or heeds_congestion(flow["agent"]["arrivals"]):
            msg = (
                "a flow that heeds congestion is one loop over all its links: no link can be "
                "simulated alone; use the packet engine, or --focus"
            )
            raise FluidUnsupportedError(msg, place)
        if flow.get("echo") is not None:
            msg = "a flow that is answered depends on two directions: use the packet engine"
            raise FluidUnsupportedError(msg, place)
        stop = flow["stop_ns"]
        if flow["start_ns"] > run["warmup_ns"] or (stop or run["duration_ns"]) < run["duration_ns"]:
            msg = "decomposed links have one load: let the flow send in all of the measured time"
            raise FluidUnsupportedError(msg, place)
        if "schedule" in flow["agent"]["arrivals"]:
            msg = "packets at given times are no steady load: use the packet engine"
            raise FluidUnsupportedError(msg, place)


def list_link_traffic(state: FluidState) -> Iterator[LinkTraffic]:
    """List the traffic of each link that carries any, in the order of links."""
    paths, loads = state.hop_loads.paths, state.hop_loads
    network = state.network
    if not len(paths.link):
        return
    links_before, classes_before = _find_links_before(paths)
    offset = _compute_offsets(state)
    sent = state.rates.sent[paths.stream]
    share = np.where(sent > 0, state.rates.hop_rate / np.where(sent > 0, sent, 1.0), 0.0)
    headers = np.array([link["header_bytes"] for link in network["links"]], dtype=np.int64)
    # Streams of data come first, so a stream has the number of its flow.
    chosen = np.flatnonzero((share > 0) & ~paths.reverse[paths.stream])
    order = chosen[np.lexsort((paths.leg[chosen], paths.stream[chosen], paths.link[chosen]))]
    for hops in np.split(order, np.flatnonzero(np.diff(paths.link[order])) + 1):
        if len(hops):
            yield LinkTraffic(
                link=int(paths.link[hops[0]]),
                flow=loads.paths.flow[paths.stream[hops]],
                class_=paths.class_[hops],
                links_before=links_before[hops],
                classes_before=classes_before[hops],
                label_bytes=paths.header[hops] - headers[paths.link[hops]],
                share=np.minimum(share[hops], 1.0),
                offset_ns=offset[hops],
            )


def _find_links_before(paths: StreamPaths) -> tuple[Ints, Ints]:
    """Find the links and classes before each hop, the last one first, shape (H, `LINKS_BEFORE`)."""
    hops = len(paths.link)
    links = np.full((hops, LINKS_BEFORE), NO_LINK, dtype=np.int64)
    classes = np.zeros((hops, LINKS_BEFORE), dtype=np.int64)
    for back in range(1, min(LINKS_BEFORE, hops - 1) + 1):
        on_leg = np.flatnonzero(paths.leg[back:] == paths.leg[:-back]) + back
        links[on_leg, back - 1] = paths.link[on_leg - back]
        classes[on_leg, back - 1] = paths.class_[on_leg - back]
    return links, classes


def _compute_offsets(state: FluidState) -> Ints:
    """Propagation and transmission before the first link before each hop [ns]."""
    paths, loads = state.hop_loads.paths, state.hop_loads
    delay = np.array([link["delay_ns"] for link in state.network["links"]], dtype=np.float64)
    size = loads.packet_bytes[paths.stream] + paths.header
    hop_ns = delay[paths.link] + 8e9 * size / state.queues.rate[paths.link]
    before = np.cumsum(hop_ns) - hop_ns
    hops = np.arange(len(before))
    starts = np.flatnonzero(np.r_[True, paths.leg[1:] != paths.leg[:-1]])
    start = np.repeat(starts, np.diff(np.r_[starts, len(before)]))
    first = np.maximum(hops - LINKS_BEFORE, start)
    return np.rint(before[first] - before[start]).astype(np.int64)
