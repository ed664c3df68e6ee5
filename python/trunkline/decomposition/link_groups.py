"""Links of like load and mix, which share one run.

Two links are alike if their ports and rates are the same, and each class has nearly the same load,
packet size and evenness of arrivals, over nearly as many links before. The rest of a difference
in load is made good by the ratio of the mean waits that formulas give the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.decomposition.link_traffic import NO_LINK, LinkTraffic

if TYPE_CHECKING:
    from trunkline.fluid.tables import FluidState

Floats = NDArray[np.float64]

LOAD_TOLERANCE: Final = 0.01
"""Difference of the load of a class, over the rate of the link."""
HEADROOM_TOLERANCE: Final = 0.05
"""Difference of the free rate, over the free rate: waits grow as one over it."""
CONCENTRATION_TOLERANCE: Final = 0.05
"""Difference of the sum of squared shares of the links that packets come over."""
MIX_TOLERANCE: Final = 0.1
"""Relative difference of the mean packet of a class, and difference of its gaps' squared
coefficient of variation."""
MAX_WAIT_FACTOR: Final = 2.0
"""A ratio of mean waits beyond this, or below one over it, is not used."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkProfile:
    """The numbers by which links are compared: C classes of the port.

    Parameters
    ----------
    load : array of float64, shape (C,)
        Load of each class over the link's rate.
    packet_bytes, gap_scv : array of float64, shape (C,)
        Mean packet, and squared coefficient of variation of gaps, weighted by load.
    concentration : float
        Sum of squared shares of the load by the link before; flows from the node itself count as
        so many links that they add nothing.
    wait : array of float64, shape (C,)
        Mean wait by formula [s]; nan without one.
    """

    load: Floats
    packet_bytes: Floats
    gap_scv: Floats
    concentration: float
    wait: Floats

    def is_like(self, other: LinkProfile) -> bool:
        """Whether two links of one port and one rate may share a run."""
        if np.abs(self.load - other.load).max(initial=0.0) > LOAD_TOLERANCE:
            return False
        free, other_free = 1 - self.load.sum(), 1 - other.load.sum()
        if abs(free - other_free) > HEADROOM_TOLERANCE * max(free, other_free, 0.0):
            return False
        if abs(self.concentration - other.concentration) > CONCENTRATION_TOLERANCE:
            return False
        busy = (self.load > 0) | (other.load > 0)
        if ((self.load > 0) != (other.load > 0)).any():
            return False
        size_ratio = self.packet_bytes[busy] / other.packet_bytes[busy]
        scv_gap = np.nan_to_num(self.gap_scv[busy]) - np.nan_to_num(other.gap_scv[busy])
        return bool(
            (np.abs(size_ratio - 1) <= MIX_TOLERANCE).all()
            and (np.abs(scv_gap) <= MIX_TOLERANCE).all()
        )

    def compute_wait_factors(self, representative: LinkProfile) -> Floats:
        """Mean waits over those of the representative; 1 where no formula says."""
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = self.wait / representative.wait
        usable = np.isfinite(factors) & (factors <= MAX_WAIT_FACTOR)
        usable &= factors >= 1 / MAX_WAIT_FACTOR
        return np.where(usable, factors, 1.0)


def profile_link(state: FluidState, traffic: LinkTraffic) -> LinkProfile:
    """Describe the traffic of a link."""
    sources, network = state.sources, state.network
    first, rate = int(state.queues.first[traffic.link]), float(state.queues.rate[traffic.link])
    count = len(network["ports"][network["links"][traffic.link]["port"]]["classes"])
    header = network["links"][traffic.link]["header_bytes"]
    size = sources.size[traffic.flow] + traffic.label_bytes + header
    wire = state.rates.sent[traffic.flow] * traffic.share * size / sources.size[traffic.flow]
    load = np.bincount(traffic.class_, wire, count) / rate
    packets = np.bincount(traffic.class_, wire / size, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        packet_bytes = load * rate / packets
        weighted = wire * np.nan_to_num(sources.gap_scv[traffic.flow], nan=1.0)
        gap_scv = np.bincount(traffic.class_, weighted, count) / (load * rate)
    comes_over, numbers = np.unique(traffic.links_before[:, 0], return_inverse=True)
    part = np.bincount(numbers, wire) / max(wire.sum(), 1e-9)
    concentration = float((part[comes_over != NO_LINK] ** 2).sum())
    return LinkProfile(
        load, packet_bytes, gap_scv, concentration, state.waits[first : first + count]
    )


@dataclass(slots=True)
class LinkGroup:
    """Links that share the run of their first.

    Parameters
    ----------
    profile : LinkProfile
        Values of the first.
    traffic : LinkTraffic
        Values of the first.
    """

    profile: LinkProfile
    traffic: LinkTraffic


@dataclass(slots=True)
class LinkGroups:
    """Groups of the links met so far, of one network or of its variants.

    Parameters
    ----------
    network : mapping
        The compiled network.
    groups : list of LinkGroup
        In the order in which their first was met.
    """

    network: Mapping[str, Any]
    groups: list[LinkGroup] = field(default_factory=list)
    _by_kind: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    _kind_of_port: dict[int, str] = field(default_factory=dict)
    _known: dict[tuple[int, bytes], tuple[int, Floats]] = field(default_factory=dict)

    def place(self, state: FluidState, traffic: LinkTraffic) -> tuple[int, Floats]:
        """The group of a link, and for each class the factor of its waits."""
        key = (traffic.link, traffic.make_key())
        if key not in self._known:
            self._known[key] = self._find_group(state, traffic)
        return self._known[key]

    def count_distinct(self) -> int:
        """Count links met so far, each once for each different traffic."""
        return len(self._known)

    def _find_group(self, state: FluidState, traffic: LinkTraffic) -> tuple[int, Floats]:
        profile = profile_link(state, traffic)
        link = self.network["links"][traffic.link]
        kind = (self._describe_port(link["port"]), link["rate_bit_s"], link["header_bytes"])
        alike = self._by_kind.setdefault(kind, [])
        for number in alike:
            representative = self.groups[number].profile
            if profile.is_like(representative):
                return number, profile.compute_wait_factors(representative)
        number = len(self.groups)
        self.groups.append(LinkGroup(profile, traffic))
        alike.append(number)
        return number, np.ones(len(profile.load))

    def _describe_port(self, number: int) -> str:
        """Everything of a port that acts on packets, but not which flows it knows by number."""
        if number not in self._kind_of_port:
            port = self.network["ports"][number]
            plain = {key: value for key, value in port.items() if key not in ("name", "classifier")}
            self._kind_of_port[number] = json.dumps(plain, sort_keys=True)
        return self._kind_of_port[number]
