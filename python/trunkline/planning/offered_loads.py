"""Offered load: demands, and UDP flows that no demand covers, with the paths that carry them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.flow import Udp

if TYPE_CHECKING:
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import Topology


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """Load between two nodes."""

    name: str  # Name of the demand or flow.
    source: int
    target: int
    rate: float  # Bit/s.
    class_: str  # Class of the demand, or DSCP of the flow.
    path: str | None  # Label-switched path that carries it; None: IP routing.


def list_offered_loads(
    scenario: ResolvedScenario, graph: Topology, *, use_paths: bool
) -> list[OfferedLoad]:
    """List all offered load: demands, then flows, in their order.

    Rates are not scaled by the `scale` of the scenario. TCP flows without a demand offer no load.
    With ``use_paths``, load takes the paths of its trunks; otherwise all follows IP routing.
    """
    path_of_flow = _map_flows_to_paths(scenario) if use_paths else {}
    scenario = scenario.get_unscaled()
    loads = [
        OfferedLoad(
            name,
            graph.node_number[demand.source],
            graph.node_number[demand.target],
            demand.rate,
            demand.class_,
            path_of_flow.get(name),
        )
        for name, demand in scenario.demands.items()
    ]
    for name, flow in scenario.flows.items():
        if name in scenario.demands or not isinstance(flow, Udp):
            continue
        ends = graph.node_number[flow.from_], graph.node_number[flow.to]
        rate = _compute_mean_rate(flow)
        if rate and ends[0] != ends[1]:
            loads.append(
                OfferedLoad(
                    name, *ends, rate, str(get_dscp_name(flow.dscp)), path_of_flow.get(name)
                )
            )
    return loads


def _compute_mean_rate(flow: Udp) -> float:
    rate = float(flow.rate or 0) * (flow.replicate or 1)
    if flow.arrivals == "on-off" and flow.mean_on and flow.mean_off:
        rate *= flow.mean_on / (flow.mean_on + flow.mean_off)
    return rate


def _map_flows_to_paths(scenario: ResolvedScenario) -> dict[str, str]:
    """Map the data of each flow to its path; of trunks by DSCP, its DSCP chooses one."""
    path_of_flow: dict[str, str] = {}
    for trunk in sorted(scenario.trunks.values(), key=lambda each: each.dscp is None):
        for name in trunk.flows:
            flow = scenario.flows.get(scenario.get_declared_name(name))
            if flow is None or (trunk.dscp is not None and flow.dscp not in trunk.dscp):
                continue
            path_of_flow.setdefault(scenario.get_declared_name(name), trunk.path)
    return {name: path for name, path in path_of_flow.items() if path in scenario.routes}
