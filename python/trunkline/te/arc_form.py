"""Linear programs of routing by arcs, one commodity for each source, solved by HiGHS.

Columns are the traffic of each source on each arc, rows its conservation at each node: the size
depends on nodes and arcs, not on the number of demands.

Sources: R. K. Ahuja, T. L. Magnanti, J. B. Orlin, Network Flows, 1993, chapter 17 (multicommodity
flow); B. Fortz, M. Thorup, Internet Traffic Engineering by Optimizing OSPF Weights, INFOCOM 2000
(the piecewise linear cost, `minimum_congestion`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, hstack, identity, vstack

from trunkline.te.fortz_thorup import SLOPES, WIDTHS
from trunkline.te.highs import solve
from trunkline.te.optimum import Optimum, checked, proven
from trunkline.te.topology import Bools, Floats, Path, Topology

DUST = 1e-9
"""Part of a source's traffic below which a flow is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Cheapest:
    """A routing of least cost.

    Parameters
    ----------
    cost : float
        Its cost, which no routing undercuts.
    mlu : float
        Its maximum link utilisation [1].
    loads : array of float64, shape (E,)
        In the unit of the traffic.
    """

    cost: float
    mlu: float
    loads: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """Capacity that makes traffic fit.

    Parameters
    ----------
    capacity : array of float64, shape (L,)
        Added to both directions of each link.
    binds : array of bool, shape (L,)
        Links that some case fills, so that less there would cost more elsewhere.
    """

    capacity: Floats
    binds: Bools


class _Flows:
    """What the programs have in common: columns by source and arc, and their conservation."""

    def __init__(self, topology: Topology, traffic: Floats):
        self.topology = topology
        self.unit = float(traffic.max()) or 1.0
        self.sources = np.flatnonzero(traffic.any(axis=1))
        count, arcs = len(topology.nodes), np.arange(len(topology.arcs))
        ends: Any = csc_array(
            (
                np.repeat([1.0, -1.0], len(arcs)),
                (np.concatenate([topology.tail, topology.head]), np.concatenate([arcs, arcs])),
            ),
            shape=(count, len(arcs)),
        )
        self.conserved: Any = block_diag([ends] * len(self.sources), format="csc")
        supply = -traffic[self.sources] / self.unit
        supply[np.arange(len(self.sources)), self.sources] = -supply.sum(axis=1)
        self.supply: Floats = supply.ravel()
        self.total: Any = hstack([identity(len(arcs), format="csc")] * len(self.sources))
        self.columns = len(self.sources) * len(arcs)
        self.capacity: Floats = topology.capacity / self.unit

    def by_source(self, found: Any) -> Floats:
        flows: Floats = np.maximum(found.x[: self.columns], 0.0)
        return flows.reshape(len(self.sources), -1) * self.unit


def minimum_utilisation(topology: Topology, traffic: Floats) -> Optimum:
    """The least maximum utilisation, exactly.

    Parameters
    ----------
    traffic : array of float64, shape (N, N)
        From `optimum.checked`, not all zero.

    Returns
    -------
    Optimum
        With the paths that its flows make.

    Raises
    ------
    ValueError
        The solver did not end.
    """
    its = _Flows(topology, traffic)
    spare = csc_array((len(its.supply), 1))
    found = solve(
        its.columns,
        c=np.append(np.zeros(its.columns), 1.0),
        A_eq=hstack([its.conserved, spare], format="csc"),
        b_eq=its.supply,
        A_ub=hstack([its.total, csc_array(-its.capacity[:, None])], format="csc"),
        b_ub=np.zeros(len(its.capacity)),
    )
    flows = its.by_source(found)
    loads = flows.sum(axis=0)
    shares: dict[tuple[int, int], list[tuple[Path, float]]] = {}
    for row, source in enumerate(its.sources.tolist()):
        shares |= decomposed(topology, source, traffic[source], flows[row])
    mlu = float((loads / topology.capacity).max())
    # Duality: what conservation is worth is the value of the program.
    bound = float(found.eqlin.marginals @ its.supply)
    return Optimum("arcs", mlu, proven(mlu, bound), loads, shares)


def minimum_congestion(topology: Topology, traffic: Floats) -> Cheapest:
    """The least Fortz-Thorup cost of any routing, which bounds that of IGP weights.

    Parameters
    ----------
    traffic : array of float64, shape (N, N)
        From the row's node to the column's.

    Returns
    -------
    Cheapest
        Its cost in the unit of the traffic, see `fortz_thorup.cost`.

    Raises
    ------
    ValueError
        See `optimum.checked`; or the solver did not end.
    """
    its = _Flows(topology, checked(topology, traffic))
    if not its.columns:
        return Cheapest(0.0, 0.0, np.zeros(len(topology.arcs)))
    arcs = len(its.capacity)
    pieces = [-identity(arcs, format="csc")] * len(SLOPES)
    widths = np.concatenate([width * its.capacity for width in WIDTHS])
    upper = np.concatenate([np.full(its.columns, np.inf), widths])
    rows = [
        hstack([its.conserved, csc_array((len(its.supply), len(SLOPES) * arcs))]),
        hstack([its.total, *pieces]),
    ]
    found = solve(
        its.columns,
        c=np.concatenate([np.zeros(its.columns), np.repeat(SLOPES, arcs)]),
        A_eq=vstack(rows, format="csc"),
        b_eq=np.concatenate([its.supply, np.zeros(arcs)]),
        bounds=np.stack([np.zeros(len(upper)), upper], axis=1),
    )
    loads = its.by_source(found).sum(axis=0)
    return Cheapest(found.fun * its.unit, float((loads / topology.capacity).max()), loads)


def least_capacity(topology: Topology, cases: Sequence[tuple[Floats, Bools]]) -> Added:
    """The least capacity in sum with which every case fits, however it is routed.

    Parameters
    ----------
    cases : sequence of (array of float64, shape (N, N), array of bool, shape (E,))
        Traffic, not all zero, and the arcs that are down; each is routed by itself.

    Returns
    -------
    Added
        In the unit of the traffic.

    Raises
    ------
    ValueError
        The solver did not end, or some traffic has no way at all.
    """
    links, arcs = len(topology.links), len(topology.arcs)
    unit = max(float(traffic.max()) for traffic, _ in cases)
    one_link: Any = csc_array((-np.ones(arcs), (np.arange(arcs), topology.link)))
    flows = [_Flows(topology, traffic) for traffic, _ in cases]
    upper = [
        np.tile(np.where(dead, 0.0, np.inf), len(its.sources))
        for its, (_, dead) in zip(flows, cases, strict=True)
    ]
    bounds = np.concatenate([*upper, np.full(links, np.inf)])
    # Each case counts in a unit of its own.
    totals = block_diag([its.total * (its.unit / unit) for its in flows], format="csc")
    conserved = block_diag([its.conserved for its in flows], format="csc")
    supply = np.concatenate([its.supply for its in flows])
    columns = sum(its.columns for its in flows)
    found = solve(
        columns,
        c=np.concatenate([np.zeros(columns), np.ones(links)]),
        A_eq=hstack([conserved, csc_array((len(supply), links))], format="csc"),
        b_eq=supply,
        A_ub=hstack([totals, vstack([one_link] * len(cases))], format="csc"),
        b_ub=np.tile(topology.capacity / unit, len(cases)),
        bounds=np.stack([np.zeros(len(bounds)), bounds], axis=1),
    )
    if found is None:
        raise ValueError("some traffic has no way at all")
    dual = np.abs(found.ineqlin.marginals).reshape(len(cases), arcs).max(axis=0)
    binds = np.zeros(links, dtype=bool)
    binds[topology.link[dual > DUST]] = True
    return Added(np.maximum(found.x[columns:], 0.0) * unit, binds)


def decomposed(
    topology: Topology, source: int, traffic: Floats, flow: Floats
) -> dict[tuple[int, int], list[tuple[Path, float]]]:
    """Paths of the flow of one source, each destination served along the widest that is left.

    Parameters
    ----------
    source : int
        Its number.
    traffic : array of float64, shape (N,)
        To each node.
    flow : array of float64, shape (E,)
        On each arc; conserved. Loops are left out.

    Returns
    -------
    dict of (int, int) to list of (tuple of int, float)
        By source and destination: paths and their parts, which sum to 1.
    """
    left = flow.copy()
    dust = DUST * float(traffic.sum())
    result = {}
    for target in sorted(np.flatnonzero(traffic).tolist(), key=lambda t: (-traffic[t], t)):
        wanted = float(traffic[target])
        parts: list[tuple[Path, float]] = []
        while wanted > dust:
            path = _widest(topology, source, target, left)
            if path is None:
                break
            amount = min(wanted, float(left[list(path)].min()))
            if amount <= dust:
                break
            left[list(path)] -= amount
            wanted -= amount
            parts.append((path, amount))
        whole = sum(amount for _, amount in parts)
        result[source, target] = [(path, amount / whole) for path, amount in parts]
    return result


def _widest(topology: Topology, source: int, target: int, flow: Floats) -> Path | None:
    heap: list[tuple[float, int, int, int]] = [(-np.inf, 0, source, -1)]
    into: dict[int, int] = {}
    while heap:
        width, hops, node, arc = heappop(heap)
        if node in into:
            continue
        into[node] = arc
        if node == target:
            break
        for way in topology.leaving[node]:
            if flow[way] > 0:
                head = int(topology.head[way])
                heappush(heap, (max(width, -float(flow[way])), hops + 1, head, way))
    if target not in into:
        return None
    return topology.back(into, source, target)
