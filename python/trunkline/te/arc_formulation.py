"""Linear programs of routing by arcs, one commodity for each source, solved by HiGHS.

Columns are the traffic of each source on each arc, rows its conservation at each node: the size
depends on nodes and arcs, not on the number of demands.

Sources: R. K. Ahuja, T. L. Magnanti, J. B. Orlin, Network Flows, 1993, chapter 17 (multicommodity
flow); B. Fortz, M. Thorup, Internet Traffic Engineering by Optimizing OSPF Weights, INFOCOM 2000
(the piecewise linear cost, `minimise_congestion`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, hstack, identity, vstack

from trunkline.te.fortz_thorup import SLOPE_WIDTHS, SLOPES
from trunkline.te.linear_program import solve_linear_program
from trunkline.te.split_routing import OptimalRouting, tighten_bound, validate_traffic
from trunkline.te.topology import ArcPath, Bools, Floats, Topology

NEGLIGIBLE_SHARE = 1e-9  # Part of a source's traffic below which a flow is rounding.


@dataclass(frozen=True, slots=True, eq=False)
class MinCostRouting:
    """The loads of a routing of least ``cost``: no routing costs less."""

    cost: float
    mlu: float
    loads: Floats


@dataclass(frozen=True, slots=True, eq=False)
class AddedCapacity:
    """Capacity that makes traffic fit."""

    capacity: Floats  # shape (L,): Added to both directions of each link.
    # shape (L,): Links that some case fills: less capacity there costs more elsewhere.
    is_bottleneck: Bools
    # shape (C, E): Price of capacity of each arc in each of C cases, 0 or more: of one case
    # they are the weights of a metric inequality.
    prices: Floats


class _FlowProgram:
    """Columns by source and arc with their conservation, which all programs here share."""

    def __init__(self, topology: Topology, traffic: Floats):
        self.topology = topology
        self.unit = float(traffic.max())
        self.sources = np.flatnonzero(traffic.any(axis=1))
        count, arcs = len(topology.nodes), np.arange(len(topology.arcs))
        incidence: Any = csc_array(
            (
                np.repeat([1.0, -1.0], len(arcs)),
                (np.concatenate([topology.tail, topology.head]), np.concatenate([arcs, arcs])),
            ),
            shape=(count, len(arcs)),
        )
        self.conserved: Any = block_diag([incidence] * len(self.sources), format="csc")
        supply = -traffic[self.sources] / self.unit
        supply[np.arange(len(self.sources)), self.sources] = -supply.sum(axis=1)
        self.supply: Floats = supply.ravel()
        self.total: Any = hstack([identity(len(arcs), format="csc")] * len(self.sources))
        self.columns = len(self.sources) * len(arcs)
        self.capacity: Floats = topology.capacity / self.unit

    def flows_by_source(self, solution: Any) -> Floats:
        flows: Floats = np.maximum(solution.x[: self.columns], 0.0)
        return flows.reshape(len(self.sources), -1) * self.unit


def minimise_utilisation(topology: Topology, traffic: Floats) -> OptimalRouting:
    """Compute the least maximum utilisation exactly, with paths.

    ``traffic`` comes from `split_routing.validate_traffic` and is not all zero.

    Raises ValueError: The solver did not end.
    """
    program = _FlowProgram(topology, traffic)
    spare = csc_array((len(program.supply), 1))
    # Utilisation is in a unit of its own, so that the solver's tolerances suit any of it.
    unit = 1 / float(program.capacity.max())
    solution = solve_linear_program(
        columns=program.columns,
        c=np.append(np.zeros(program.columns), 1.0),
        A_eq=hstack([program.conserved, spare], format="csc"),
        b_eq=program.supply,
        A_ub=hstack([program.total, csc_array(-unit * program.capacity[:, None])], format="csc"),
        b_ub=np.zeros(len(program.capacity)),
    )
    flows = program.flows_by_source(solution)
    loads = flows.sum(axis=0)
    shares: dict[tuple[int, int], list[tuple[ArcPath, float]]] = {}
    for row, source in enumerate(program.sources.tolist()):
        shares |= decompose_flow(topology, source, traffic[source], flows[row])
    mlu = float((loads / topology.capacity).max())
    # Duality: the price of conservation is the value of the program.
    bound = unit * float(solution.eqlin.marginals @ program.supply)
    return OptimalRouting("arcs", mlu, tighten_bound(mlu, bound), loads, shares)


def minimise_congestion(topology: Topology, traffic: Floats) -> MinCostRouting:
    """Compute the least Fortz-Thorup cost of any routing, which bounds that of IGP weights.

    The cost is in the unit of the traffic, see `fortz_thorup.compute_cost`.

    Raises ValueError: See `split_routing.validate_traffic`; or the solver did not end.
    """
    validated = validate_traffic(topology, traffic)
    if not validated.any():
        return MinCostRouting(0.0, 0.0, np.zeros(len(topology.arcs)))
    program = _FlowProgram(topology, validated)
    arcs = len(program.capacity)
    pieces = [-identity(arcs, format="csc")] * len(SLOPES)
    widths = np.concatenate([width * program.capacity for width in SLOPE_WIDTHS])
    upper = np.concatenate([np.full(program.columns, np.inf), widths])
    rows = [
        hstack([program.conserved, csc_array((len(program.supply), len(SLOPES) * arcs))]),
        hstack([program.total, *pieces]),
    ]
    solution = solve_linear_program(
        columns=program.columns,
        c=np.concatenate([np.zeros(program.columns), np.repeat(SLOPES, arcs)]),
        A_eq=vstack(rows, format="csc"),
        b_eq=np.concatenate([program.supply, np.zeros(arcs)]),
        bounds=np.stack([np.zeros(len(upper)), upper], axis=1),
    )
    loads = program.flows_by_source(solution).sum(axis=0)
    return MinCostRouting(
        solution.fun * program.unit, float((loads / topology.capacity).max()), loads
    )


def minimise_added_capacity(
    topology: Topology,
    cases: Sequence[tuple[Floats, Bools]],
    capacity: Floats | None = None,
    cost: Floats | None = None,
) -> AddedCapacity:
    """Compute the capacity of least sum with which every case fits, however it is routed.

    Each case is traffic, not all zero, and the arcs that are down. It is routed alone.

    capacity: shape (E,): Available capacity; by default that of the topology.
    cost: shape (L,): Cost of a unit on each link, of which the sum is least; by default all are 1.
    Raises ValueError: The solver did not end, or some traffic has no path at all.
    """
    links, arcs = len(topology.links), len(topology.arcs)
    unit = max(float(traffic.max()) for traffic, _ in cases)
    one_link: Any = csc_array((-np.ones(arcs), (np.arange(arcs), topology.link)))
    programs = [_FlowProgram(topology, traffic) for traffic, _ in cases]
    upper = [
        np.tile(np.where(dead, 0.0, np.inf), len(program.sources))
        for program, (_, dead) in zip(programs, cases, strict=True)
    ]
    bounds = np.concatenate([*upper, np.full(links, np.inf)])
    # Each case counts in a unit of its own.
    totals = block_diag(
        [program.total * (program.unit / unit) for program in programs], format="csc"
    )
    conserved = block_diag([program.conserved for program in programs], format="csc")
    supply = np.concatenate([program.supply for program in programs])
    columns = sum(program.columns for program in programs)
    solution = solve_linear_program(
        columns=columns,
        c=np.concatenate([np.zeros(columns), np.ones(links) if cost is None else cost]),
        A_eq=hstack([conserved, csc_array((len(supply), links))], format="csc"),
        b_eq=supply,
        A_ub=hstack([totals, vstack([one_link] * len(cases))], format="csc"),
        b_ub=np.tile((topology.capacity if capacity is None else capacity) / unit, len(cases)),
        bounds=np.stack([np.zeros(len(bounds)), bounds], axis=1),
    )
    if solution is None:
        raise ValueError("some traffic has no way at all")
    prices: Floats = np.abs(solution.ineqlin.marginals).reshape(len(cases), arcs)
    binds = np.zeros(links, dtype=bool)
    binds[topology.link[prices.max(axis=0) > NEGLIGIBLE_SHARE]] = True
    return AddedCapacity(np.maximum(solution.x[columns:], 0.0) * unit, binds, prices)


def decompose_flow(
    topology: Topology, source: int, traffic: Floats, flow: Floats
) -> dict[tuple[int, int], list[tuple[ArcPath, float]]]:
    """Split the flow of one source into paths; each destination takes the widest path that is left.

    traffic: shape (N,): From the source to each node.
    flow: shape (E,): On each arc; conserved. Loops are left out.
    Returns: By source and destination: paths with their shares, which sum to 1.
    """
    remaining_flow = flow.copy()
    negligible = NEGLIGIBLE_SHARE * float(traffic.sum())
    result = {}
    for target in sorted(np.flatnonzero(traffic).tolist(), key=lambda t: (-traffic[t], t)):
        unserved = float(traffic[target])
        parts: list[tuple[ArcPath, float]] = []
        while unserved > negligible:
            path = _find_widest_path(topology, source, target, remaining_flow)
            if path is None:
                break
            amount = min(unserved, float(remaining_flow[list(path)].min()))
            if amount <= negligible:
                break
            remaining_flow[list(path)] -= amount
            unserved -= amount
            parts.append((path, amount))
        served = sum(amount for _, amount in parts)
        result[source, target] = [(path, amount / served) for path, amount in parts]
    return result


def _find_widest_path(topology: Topology, source: int, target: int, flow: Floats) -> ArcPath | None:
    heap: list[tuple[float, int, int, int]] = [(-np.inf, 0, source, -1)]
    arc_into: dict[int, int] = {}
    while heap:
        width, hops, node, arc = heappop(heap)
        if node in arc_into:
            continue
        arc_into[node] = arc
        if node == target:
            break
        for next_arc in topology.arcs_from[node]:
            if flow[next_arc] > 0:
                head = int(topology.head[next_arc])
                heappush(heap, (max(width, -float(flow[next_arc])), hops + 1, head, next_arc))
    if target not in arc_into:
        return None
    return topology.trace_back(arc_into, source, target)
