"""Delays of a network from runs of its links: groups, runs, and the sums along paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trunkline.decomposition.link_groups import LinkGroups
from trunkline.decomposition.link_network import build_link_network
from trunkline.decomposition.link_traffic import list_link_traffic
from trunkline.decomposition.path_delays import DelayComposer, PathWaits
from trunkline.decomposition.wait_distribution import NO_WAIT
from trunkline.fluid.port_queues import sum_by_index

if TYPE_CHECKING:
    from trunkline.decomposition.link_execution import ClassWaits, LinkExecutor
    from trunkline.fluid.tables import FluidState

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LinkWaits:
    """Waits at the links of a network: L links."""

    group: Ints  # shape (L,): Group of each link; -1 of one without packets.
    factor: Floats  # shape (Q,): Factor of the waits of each class of each link.


class LinkSimulations:
    """Runs of the links of one network and its variants.

    network: The compiled network.
    seed: Seed of every run.
    packets: That should reach a link in its run.
    groups: LinkGroups; links that share runs.
    runs: list of dict of int to WaitDistribution; waits of each group by class.
    """

    def __init__(self, network: Mapping[str, Any], seed: int, packets: int) -> None:
        self.network, self.seed, self.packets = network, seed, packets
        self.groups = LinkGroups(network)
        self.runs: list[ClassWaits] = []

    def place_links(self, state: FluidState) -> LinkWaits:
        """Find the groups of the links of a network or a variant; nothing runs yet."""
        group = np.full(len(self.network["links"]), -1, dtype=np.int64)
        factor = np.ones(len(state.queues.link))
        for traffic in list_link_traffic(state):
            number, factors = self.groups.place(state, traffic)
            group[traffic.link] = number
            first = int(state.queues.first[traffic.link])
            factor[first : first + len(factors)] = factors
        return LinkWaits(group, factor)

    def run(self, execute: LinkExecutor, on_done: Callable[[int, int], None] | None = None) -> None:
        """Run the groups that have not run yet.

        on_done: Called with the number of groups that have run, and of all.
        """
        missing = self.groups.groups[len(self.runs) :]
        found: dict[int, ClassWaits] = {}

        def take(number: int, waits: ClassWaits) -> None:
            found[number] = waits
            if on_done is not None:
                on_done(len(self.runs) + len(found), len(self.groups.groups))

        networks = (
            json.dumps(build_link_network(self.network, group.traffic, self.packets))
            for group in missing
        )
        execute(networks, self.seed, take)
        self.runs += [found[number] for number in range(len(missing))]

    def make_composer(self) -> tuple[DelayComposer, NDArray[np.int64]]:
        """A composer of the waits of all runs, and the number of each group's first distribution.

        The distributions of a group are numbered by class. The one before all is "no wait".
        """
        distributions = [NO_WAIT]
        first = []
        for group, waits in zip(self.groups.groups, self.runs, strict=True):
            first.append(len(distributions))
            count = len(group.profile.load)
            distributions += [waits.get(class_, NO_WAIT) for class_ in range(count)]
        laws = [flow["agent"]["size"] for flow in self.network["flows"]]
        return DelayComposer(distributions, _list_mixed_laws(laws)[0]), np.array(first)


def collect_path_waits(state: FluidState, links: LinkWaits, first: Ints) -> PathWaits:
    """Collect the waits along the paths of the data of all flows.

    Of two legs (1+1) the first counts.

    first: Number of the first distribution of each group.
    """
    paths, loads, sources = state.hop_loads.paths, state.hop_loads, state.sources
    flows = state.network["flows"]
    count = len(flows)
    hops = np.flatnonzero((paths.stream < count) & (state.rates.hop_rate > 0))
    hops = hops[_is_on_first_leg(paths.leg[hops], paths.stream[hops])]
    link, stream = paths.link[hops], paths.stream[hops]
    group = links.group[link]
    codes = [flow["dscp"] for flow in flows]
    number_of = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return PathWaits(
        stream=stream,
        step=paths.step[hops],
        distribution=np.where(group >= 0, first[group] + paths.class_[hops], 0),
        factor=links.factor[loads.queue[hops]],
        fixed=loads.fixed[:count],
        seconds_per_byte=sum_by_index(stream, 8 / state.queues.rate[link], count),
        size_law=_list_mixed_laws([flow["agent"]["size"] for flow in flows])[1],
        aggregate=np.array([number_of[code] for code in codes], dtype=np.int64),
        packet_rate=np.where(
            paths.lost[:count], 0.0, state.rates.sent[:count] / (8 * sources.size)
        ),
    )


def _is_on_first_leg(leg: Ints, stream: Ints) -> NDArray[np.bool_]:
    first_leg = np.full(int(stream.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_leg, stream, leg)
    is_first: NDArray[np.bool_] = leg == first_leg[stream]
    return is_first


def _list_mixed_laws(laws: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], Ints]:
    """Laws of more than one size, each once, and the number of each flow's law; -1 of one size."""
    numbers: dict[str, int] = {}
    mixed: list[Mapping[str, Any]] = []
    number_of = []
    for law in laws:
        if "fixed" in law:
            number_of.append(-1)
            continue
        key = repr(law)
        if key not in numbers:
            numbers[key] = len(mixed)
            mixed.append(law)
        number_of.append(numbers[key])
    return mixed, np.array(number_of, dtype=np.int64)
