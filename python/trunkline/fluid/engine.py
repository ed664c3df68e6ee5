"""The fluid engine: compiled networks in, rates and mean waits out, in the tables of the others."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.fluid.failure_phases import split_into_phases
from trunkline.fluid.flow_sources import FlowSources, read_flow_sources
from trunkline.fluid.hop_loads import compute_hop_loads
from trunkline.fluid.network_writer import NetworkWriter
from trunkline.fluid.port_queues import PortQueues, read_port_queues
from trunkline.fluid.rates import compute_rates
from trunkline.fluid.stream_paths import StreamPaths, trace_streams
from trunkline.fluid.tables import FluidState, build_tables
from trunkline.fluid.unsupported import FluidUnsupportedError
from trunkline.fluid.waits import compute_mean_waits
from trunkline.results import Provenance, Results


def simulate(network_json: str, *, scenario: str = "", seed: int = 1) -> Results:
    """Compute the mean behaviour of a network, without packets.

    seed: Seed of random failures and of their detection; nothing else is random.
    Returns: The tables of the packet engine, null where rates do not say: percentiles, jitter,
        single packets, films and pages.
    Raises FluidUnsupportedError: It has features that formulas for means cannot model.
    Raises ValueError: The network is wrong.
    """
    result_tables = build_tables(solve_phases(json.loads(network_json), seed))
    version = f"{_core.version()} fluid"
    return Results(
        result_tables,
        Provenance.for_network(
            scenario=scenario, network_json=network_json, version=version, seed=seed
        ),
    )


def _refuse_signalling(network: Mapping[str, Any]) -> None:
    messages = network.get("signalling") or {}
    if messages.get("rsvp"):
        msg = "the fluid engine sets no paths up: leave `signalling` out, or run the packet engine"
        raise FluidUnsupportedError(msg, ("signalling",))
    if messages:
        key = "ldp" if messages.get("ldp") else "ospf"
        msg = f"the fluid engine sends no messages: leave `{key}` out, or run the packet engine"
        raise FluidUnsupportedError(msg, ("routing", key))


def solve_without_failures(network: Mapping[str, Any]) -> FluidState:
    """Solve the rates and waits of a compiled network without its failures."""
    ports, offered, sizes = _read_inputs(network)
    return _solve_paths(network, trace_streams(network, sizes), ports, offered)


def solve_phases(network: Mapping[str, Any], seed: int) -> list[tuple[float, FluidState]]:
    """Solve the rates and waits of a compiled network, before, during and after its failures.

    Returns: Seconds of the measured time, and the state in them.
    """
    failures = (network.get("recovery") or {}).get("failures", [])
    return FailureSolver(network).solve(failures, seed)


class FailureSolver:
    """Rates and waits of a compiled network under failures in place of its own.

    network: Parsed from its JSON.
    Raises FluidUnsupportedError: It has features that formulas for means cannot model.
    """

    def __init__(self, network: Mapping[str, Any]) -> None:
        self.network = network
        self._ports, self._offered, self._sizes = _read_inputs(network)
        self._base = trace_streams(network, self._sizes)
        self._writer = NetworkWriter(network)

    def solve(
        self, failures: Sequence[Mapping[str, Any]], seed: int
    ) -> list[tuple[float, FluidState]]:
        """Yield seconds of the measured time, and the state in them.

        failures: Compiled failures that happen in one run.
        Raises FluidUnsupportedError: Ways change too often.
        """
        recovery = self.network.get("recovery") or {"protections": [], "rerouting": None}
        failing = {**self.network, "recovery": {**recovery, "failures": list(failures)}}
        phases = split_into_phases(failing, self._base, self._sizes, seed, self._writer)
        return [
            (each.seconds, _solve_paths(failing, each.paths, self._ports, self._offered))
            for each in phases
        ]


def _read_inputs(network: Mapping[str, Any]) -> tuple[PortQueues, FlowSources, NDArray[np.int64]]:
    _refuse_signalling(network)
    offered = read_flow_sources(network["flows"], network["run"])
    sizes = np.maximum(1, np.rint(offered.size)).astype(np.int64)
    return read_port_queues(network), offered, sizes


def _solve_paths(
    network: Mapping[str, Any], paths: StreamPaths, ports: PortQueues, offered: FlowSources
) -> FluidState:
    delay = np.array([link["delay_ns"] for link in network["links"]], dtype=np.float64) / 1e9
    loads = compute_hop_loads(paths, ports, offered, delay)
    stream_rates = compute_rates(loads, ports, offered)
    return FluidState(
        network,
        loads,
        ports,
        offered,
        stream_rates,
        compute_mean_waits(loads, ports, offered, stream_rates),
    )


def list_omissions(network: Mapping[str, Any]) -> tuple[str, ...]:
    """List what the fluid engine leaves out of a network, a sentence each.

    network: A compiled network, parsed from its JSON.
    """
    sentences = []
    if (network.get("recovery") or {}).get("failures"):
        sentences.append(
            "between two moments of a failure rates are as if long so: TCP follows at once, "
            "and what waits or is under way at a moment is not lost"
        )
    if (network.get("routing") or {}).get("ecmp"):
        sentences.append("equal-cost paths are not shared: the next hop listed first takes all")
    conditioners = network.get("conditioners", ())
    profiles = [profile for each in conditioners for profile in each["profiles"]]
    if any(action["drop"] for profile in profiles for action in profile["actions"]):
        sentences.append("conditioners drop nothing: all packets count as within their profiles")
    if any(node.get("processing") for node in network["nodes"]):
        sentences.append("delays leave out the time that nodes take to forward a packet")
    if any(link["loss"] or link.get("scripted") for link in network["links"]):
        sentences.append("losses on the wire are left out")
    if any(link.get("reorder") for link in network["links"]):
        sentences.append("packets that a link reorders come in time")
    return tuple(sentences)
