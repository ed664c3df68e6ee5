"""Waits at one port by class, as a run of its link counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.results.decode.columns import read_int_columns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BUCKETS_PER_OCTAVE_BITS: Final = 6
"""A bucket of the engine's histograms is this many bits narrower than its octave."""


@dataclass(frozen=True, slots=True, eq=False)
class WaitDistribution:
    """Waits of one class at one port."""

    wait_ns: Floats  # shape (B,): Middle of each bucket, ascending [ns].
    share: Floats  # shape (B,): Share of the packets in it; the sum is 1.
    packets: int  # Packets counted.
    loss: float  # Share of the packets offered that the port dropped [0 .. 1].

    @property
    def mean_ns(self) -> float:
        """Mean wait [ns]."""
        return float(self.wait_ns @ self.share)


NO_WAIT: Final = WaitDistribution(np.zeros(1), np.ones(1), 0, 0.0)


def simulate_waits(network_json: str, seed: int) -> dict[int, WaitDistribution]:
    """Run a link network.

    network_json: As :func:`trunkline.decomposition.link_network.build_link_network` makes it.
    Returns: As `read_waits` does.
    """
    return read_waits(_core.run(network_json, seed))


def read_waits(raw: Mapping[str, Any]) -> dict[int, WaitDistribution]:
    """Read the waits out of the raw tables of the run of a link network.

    Returns: By class of the port of link 0; classes without packets are left out.
    """
    waits = read_int_columns(raw["waits"])
    ports = read_int_columns(raw["ports"], "link", "class", "packets_offered", "packets_dropped")
    found = {}
    for class_ in np.unique(ports["class"][ports["link"] == 0]).tolist():
        at_port = (ports["link"] == 0) & (ports["class"] == class_)
        offered, dropped = (
            int(ports[name][at_port].sum()) for name in ("packets_offered", "packets_dropped")
        )
        in_class = (waits["link"] == 0) & (waits["class"] == class_)
        packets = waits["packets"][in_class]
        total = int(packets.sum())
        loss = dropped / offered if offered else 0.0
        if total:
            middles = find_bucket_middles(waits["upper_ns"][in_class])
            found[class_] = WaitDistribution(middles, packets / total, total, loss)
        elif offered:
            found[class_] = WaitDistribution(np.zeros(1), np.ones(1), 0, loss)
    return found


def find_bucket_middles(upper: Ints) -> Floats:
    """Middle of the buckets that end at some values (`histogram.rs`): 64 to an octave."""
    octave = np.floor(np.log2(np.maximum(upper, 1))).astype(np.int64)
    width = 2.0 ** np.maximum(octave - BUCKETS_PER_OCTAVE_BITS, 0)
    return upper - (width - 1) / 2
