"""Offered load: demands, and UDP flows that no demand speaks for, with the paths that they ride."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.flow import Udp

if TYPE_CHECKING:
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Topology


@dataclass(frozen=True, slots=True)
class Offer:
    """Load between two nodes.

    Parameters
    ----------
    name : str
        Of the demand or flow.
    rate : float
        Bit/s.
    class_ : str
        Class of the demand, or the flow's DSCP.
    path : str or None
        Label-switched path that carries it; None: IP routing.
    """

    name: str
    source: int
    target: int
    rate: float
    class_: str
    path: str | None


def offers(scenario: Resolved, graph: Topology, *, paths: bool) -> list[Offer]:
    """All load that is offered.

    Parameters
    ----------
    scenario : Resolved
        The scenario; rates are those of the network itself, whatever its `scale`.
    paths : bool
        Whether load rides the paths of its trunks; else all follows IP routing.

    Returns
    -------
    list of Offer
        Demands, then flows, in their order. TCP flows without a demand offer nothing.
    """
    ridden = _ridden(scenario) if paths else {}
    scenario = scenario.unscaled()
    found = [
        Offer(name, graph.node[d.source], graph.node[d.target], d.rate, d.class_, ridden.get(name))
        for name, d in scenario.demands.items()
    ]
    for name, flow in scenario.flows.items():
        if name in scenario.demands or not isinstance(flow, Udp):
            continue
        ends = graph.node[flow.from_], graph.node[flow.to]
        rate = _mean(flow)
        if rate and ends[0] != ends[1]:
            found.append(Offer(name, *ends, rate, str(dscp_name(flow.dscp)), ridden.get(name)))
    return found


def _mean(flow: Udp) -> float:
    rate = float(flow.rate or 0) * (flow.replicate or 1)
    if flow.arrivals == "on-off" and flow.mean_on and flow.mean_off:
        rate *= flow.mean_on / (flow.mean_on + flow.mean_off)
    return rate


def _ridden(scenario: Resolved) -> dict[str, str]:
    """Path of the data of each flow; of trunks by DSCP the one that takes the flow's own."""
    found: dict[str, str] = {}
    for trunk in sorted(scenario.trunks.values(), key=lambda each: each.dscp is None):
        for name in trunk.flows:
            flow = scenario.flows.get(scenario.declared(name))
            if flow is None or (trunk.dscp is not None and flow.dscp not in trunk.dscp):
                continue
            found.setdefault(scenario.declared(name), trunk.path)
    return {name: path for name, path in found.items() if path in scenario.routes}
