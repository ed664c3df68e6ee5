"""The fluid engine: compiled networks in, rates and mean waits out, in the tables of the others."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.fluid.phases import phases
from trunkline.fluid.queues import Queues, queues
from trunkline.fluid.rates import rates
from trunkline.fluid.roads import roads
from trunkline.fluid.sources import Sources, sources
from trunkline.fluid.tables import Fluid, tables
from trunkline.fluid.unsupported import UnsupportedError
from trunkline.fluid.waits import waits
from trunkline.fluid.ways import Ways, ways
from trunkline.results import Provenance, Results


def simulate(network_json: str, *, scenario: str = "", seed: int = 1) -> Results:
    """Work out what a network does in the mean, without packets.

    Parameters
    ----------
    seed : int, default 1
        Of random failures and of what detects them; nothing else is random.

    Returns
    -------
    Results
        The tables of the packet engine, null where rates do not say: percentiles, jitter, single
        packets, films and pages.

    Raises
    ------
    UnsupportedError
        It has what formulas for means cannot stand for.
    ValueError
        The network is wrong.
    """
    found = tables(solved(json.loads(network_json), seed))
    version = f"{_core.version()} fluid"
    return Results(
        found,
        Provenance.of(scenario=scenario, network_json=network_json, version=version, seed=seed),
    )


def _refuse_signalling(network: Mapping[str, Any]) -> None:
    messages = network.get("signalling") or {}
    if messages.get("rsvp"):
        msg = "the fluid engine sets no paths up: leave `signalling` out, or run the packet engine"
        raise UnsupportedError(msg, ("signalling",))
    if messages:
        key = "ldp" if messages.get("ldp") else "ospf"
        msg = f"the fluid engine sends no messages: leave `{key}` out, or run the packet engine"
        raise UnsupportedError(msg, ("routing", key))


def solve(network: Mapping[str, Any]) -> Fluid:
    """Rates and waits of a compiled network without its failures."""
    ports, offered, sizes = _given(network)
    return _solved(network, ways(network, sizes), ports, offered)


def solved(network: Mapping[str, Any], seed: int) -> list[tuple[float, Fluid]]:
    """Rates and waits of a compiled network, before, during and after its failures.

    Returns
    -------
    list of (float, Fluid)
        Seconds of the measured time, and what holds in them.
    """
    ports, offered, sizes = _given(network)
    its = phases(network, ways(network, sizes), sizes, seed)
    return [(each.seconds, _solved(network, each.ways, ports, offered)) for each in its]


def _given(network: Mapping[str, Any]) -> tuple[Queues, Sources, NDArray[np.int64]]:
    _refuse_signalling(network)
    offered = sources(network["flows"], network["run"])
    sizes = np.maximum(1, np.rint(offered.size)).astype(np.int64)
    return queues(network), offered, sizes


def _solved(network: Mapping[str, Any], found: Ways, ports: Queues, offered: Sources) -> Fluid:
    delay = np.array([link["delay_ns"] for link in network["links"]], dtype=np.float64) / 1e9
    its = roads(found, ports, offered, delay)
    flow = rates(its, ports, offered)
    return Fluid(network, its, ports, offered, flow, waits(its, ports, offered, flow))


def notes(network: Mapping[str, Any]) -> tuple[str, ...]:
    """What the fluid engine leaves out of a network, a sentence each.

    Parameters
    ----------
    network : mapping
        A compiled network, parsed from its JSON.
    """
    said = []
    if (network.get("recovery") or {}).get("failures"):
        said.append(
            "between two moments of a failure rates are as if long so: TCP follows at once, "
            "and what waits or is under way at a moment is not lost"
        )
    if (network.get("routing") or {}).get("ecmp"):
        said.append("equal-cost paths are not shared: the next hop listed first takes all")
    conditioners = network.get("conditioners", ())
    profiles = [profile for each in conditioners for profile in each["profiles"]]
    if any(action["drop"] for profile in profiles for action in profile["actions"]):
        said.append("conditioners drop nothing: all packets count as within their profiles")
    if any(node.get("processing") for node in network["nodes"]):
        said.append("what nodes take to forward a packet is left out of delays")
    if any(link["loss"] or link.get("scripted") for link in network["links"]):
        said.append("losses on the wire are left out")
    return tuple(said)
