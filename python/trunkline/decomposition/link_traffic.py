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

from trunkline.fluid.unsupported import FluidUnsupportedError

if TYPE_CHECKING:
    from trunkline.fluid.tables import FluidState

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_LINK: Final = -1
"""The link before the first of a path."""
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
    link_before : array of int64, shape (N,)
        Link that it comes over; `NO_LINK` at its source.
    class_before, class_ : array of int64, shape (N,)
        Class at the port of the link before, and of this link.
    label_bytes : array of int64, shape (N,)
        Bytes of labels on each packet on this link.
    share : array of float64, shape (N,)
        Part of what the flow sends that reaches this link, above 0 and at most 1.
    offset_ns : array of int64, shape (N,)
        Time from the source to this link without queues, and without the transmission on the link
        before, which the network of this link repeats.
    """

    link: int
    flow: Ints
    link_before: Ints
    class_before: Ints
    class_: Ints
    label_bytes: Ints
    share: Floats
    offset_ns: Ints

    def make_key(self) -> bytes:
        """What two loads of one link have in common if and only if they are the same."""
        rows = (self.flow, self.link_before, self.class_before, self.class_, self.label_bytes)
        shares = np.rint(self.share / RATE_TOLERANCE).astype(np.int64)
        return np.stack([*rows, shares, self.offset_ns]).tobytes()


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
        if flow["agent"]["protocol"] != "udp":
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
    """The traffic of each link that carries any, in the order of links."""
    paths, loads = state.hop_loads.paths, state.hop_loads
    network = state.network
    if not len(paths.link):
        return
    is_first = np.r_[True, paths.leg[1:] != paths.leg[:-1]]
    link_before = np.where(is_first, NO_LINK, np.r_[NO_LINK, paths.link[:-1]])
    class_before = np.where(is_first, 0, np.r_[0, paths.class_[:-1]])
    offset = _compute_offsets(state, is_first)
    sent = state.rates.sent[paths.stream]
    share = np.where(sent > 0, state.rates.hop_rate / np.where(sent > 0, sent, 1.0), 0.0)
    headers = np.array([link["header_bytes"] for link in network["links"]], dtype=np.int64)
    # Streams of data come first, so a stream has the number of its flow.
    chosen = np.flatnonzero((share > 0) & ~paths.reverse[paths.stream])
    order = chosen[np.lexsort((link_before[chosen], paths.stream[chosen], paths.link[chosen]))]
    for hops in np.split(order, np.flatnonzero(np.diff(paths.link[order])) + 1):
        if len(hops):
            yield LinkTraffic(
                link=int(paths.link[hops[0]]),
                flow=loads.paths.flow[paths.stream[hops]],
                link_before=link_before[hops],
                class_before=class_before[hops],
                class_=paths.class_[hops],
                label_bytes=paths.header[hops] - headers[paths.link[hops]],
                share=np.minimum(share[hops], 1.0),
                offset_ns=offset[hops],
            )


def _compute_offsets(state: FluidState, is_first: NDArray[np.bool_]) -> Ints:
    """Propagation and transmission before each hop [ns]."""
    paths, loads = state.hop_loads.paths, state.hop_loads
    delay = np.array([link["delay_ns"] for link in state.network["links"]], dtype=np.float64)
    size = loads.packet_bytes[paths.stream] + paths.header
    hop_ns = delay[paths.link] + 8e9 * size / state.queues.rate[paths.link]
    before = np.cumsum(hop_ns) - hop_ns
    starts = np.flatnonzero(is_first)
    leg_start = np.repeat(before[starts], np.diff(np.r_[starts, len(before)]))
    sending_ns = 8e9 * size / state.queues.rate[paths.link]
    repeated = np.where(is_first, 0.0, np.r_[0.0, sending_ns[:-1]])
    return np.rint(before - leg_start - repeated).astype(np.int64)
