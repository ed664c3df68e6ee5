"""Decomposed runs: compiled networks in, the tables of the other engines out, with their error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline import _core
from trunkline.decomposition.defaults import DEFAULT_CHECK_S, DEFAULT_LINK_PACKETS
from trunkline.decomposition.full_check import FullCheck, check_delays
from trunkline.decomposition.link_execution import run_on_threads
from trunkline.decomposition.link_traffic import check_decomposable
from trunkline.decomposition.network_delays import (
    LinkSimulations,
    collect_path_waits,
)
from trunkline.decomposition.tables import build_tables
from trunkline.fluid.engine import solve_without_failures
from trunkline.results import Provenance, Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trunkline.decomposition.link_execution import LinkExecutor
    from trunkline.decomposition.network_delays import LinkWaits
    from trunkline.fluid.tables import FluidState


@dataclass(frozen=True, slots=True, eq=False)
class DecomposedRun:
    """Results of a decomposition, and how far they are from a full run."""

    # The tables of the packet engine, null where links alone do not say: jitter, single packets.
    results: Results
    check: FullCheck  # The error of delays and losses.
    # links, link_runs: Links that carry packets, and runs that they shared.
    links: int
    link_runs: int

    def to_json(self) -> dict[str, Any]:
        """The part of ``--json`` besides the tables."""
        return {"links": self.links, "link_runs": self.link_runs, "check": self.check.to_json()}


def simulate(
    network_json: str,
    *,
    scenario: str = "",
    seed: int = 1,
    packets: int = DEFAULT_LINK_PACKETS,
    check_s: float = DEFAULT_CHECK_S,
    threads: int | None = None,
    execute: LinkExecutor | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> DecomposedRun:
    """Simulate each link of a network alone, and put delays and losses together.

    packets: Packets that should reach each link.
    check_s: About how much time of one core the full run for the error takes [s].
    threads: Links that run at a time, and threads of the full run; all cores when left out.
    execute: Runs the links; on these threads when left out.
    on_done: Called with the number of links that have run, and of all that will.
    Raises FluidUnsupportedError: Parts of the network tie its links together.
    """
    network: Mapping[str, Any] = json.loads(network_json)
    check_decomposable(network)
    state = solve_without_failures(network)
    simulations = LinkSimulations(network, seed, packets)
    links = simulations.place_links(state)
    simulations.run(execute or run_on_threads(threads), on_done)
    composer, first = simulations.make_composer()
    delays = composer.compose(collect_path_waits(state, links, first))
    waits, losses = measure_ports(simulations, state, links)
    provenance = Provenance.for_network(
        scenario=scenario,
        network_json=network_json,
        version=f"{_core.version()} decomposed",
        seed=seed,
    )
    return DecomposedRun(
        Results(build_tables(state, delays, waits, losses), provenance),
        check_delays(network, state, delays, check_s, seed=seed, threads=threads),
        int((links.group >= 0).sum()),
        len(simulations.groups.groups),
    )


def measure_ports(
    simulations: LinkSimulations, state: FluidState, links: LinkWaits
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean wait [s] and loss ratio of each class of each link; 0 where no packets come."""
    waits, losses = np.zeros(len(state.queues.link)), np.zeros(len(state.queues.link))
    for link in np.flatnonzero(links.group >= 0).tolist():
        first = int(state.queues.first[link])
        for class_, measured in simulations.runs[int(links.group[link])].items():
            waits[first + class_] = measured.mean_ns * links.factor[first + class_] * 1e-9
            losses[first + class_] = measured.loss
    return waits, losses
