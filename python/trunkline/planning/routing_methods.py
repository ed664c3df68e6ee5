"""Routings of the same demands, each with its distance from the best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.planning.loads import build_demand_matrix, compute_igp_loads

if TYPE_CHECKING:
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.arc_formulation import MinCostRouting
    from trunkline.te.igp_weights import OptimisedWeights
    from trunkline.te.split_routing import Formulation, OptimalRouting
    from trunkline.te.topology import ArcPath, Floats, Topology
    from trunkline.te.unsplittable import Commodity, UnsplittableRouting


@dataclass(frozen=True, slots=True)
class RoutingMethod:
    """The load that a routing puts on the network, compared with bounds."""

    method: str
    mlu: float | None  # Maximum link utilisation [1]; None: not known.
    # Lower bound of it for all routings of this kind, split or on single paths [1].
    bound: float | None
    gap: float | None  # The utilisation over the bound, less one.
    # Fortz-Thorup cost over that of every demand on its fewest hops without congestion [1].
    cost: float | None = None
    # The cost over the least of any routing, less one; None where that is not computed.
    cost_gap: float | None = None


class MethodComparison:
    """The demands of a scenario in several routings, each computed when first asked for.

    scenario: Not scaled.
    form: one of "arcs", "paths", "frank-wolfe"; method for the optimum; by size if left out.
    Raises ValueError: See `trunkline.te.optimal_routing.minimise_utilisation`; when a method is
        asked for.
    """

    def __init__(
        self, scenario: ResolvedScenario, graph: Topology, form: Formulation | None = None
    ):
        self.scenario = scenario
        self.graph = graph
        self.form = form
        self.traffic = build_demand_matrix(scenario, graph, scenario.demands)
        self.uncongested_cost = (
            te.fortz_thorup.compute_uncapacitated_cost(graph, self.traffic) or 1.0
        )

    @property
    def preferred_form(self) -> Formulation | None:
        """Method for the optimum; None in a network too large for any."""
        try:
            found: Formulation = te.optimal_routing.choose_formulation(self.graph, self.traffic)
        except ValueError:
            return None
        return found

    @cached_property
    def optimum(self) -> OptimalRouting:
        """The routing of least maximum utilisation with splitting."""
        return te.optimal_routing.minimise_utilisation(self.graph, self.traffic, self.form)

    @cached_property
    def single_path_bound(self) -> float:
        """Bound of the maximum utilisation on single paths [1]."""
        return te.unsplittable.compute_lower_bound(self.graph, self.commodities, self.optimum.bound)

    @cached_property
    def commodities(self) -> list[Commodity]:
        """Demands, in order."""
        node = self.graph.node_number
        return [
            te.unsplittable.Commodity(node[each.source], node[each.target], float(each.rate))
            for each in self.scenario.demands.values()
        ]

    @cached_property
    def unsplit_routing(self) -> UnsplittableRouting:
        """The better of two: begun greedily, and begun on each demand's largest part."""
        candidates: list[UnsplittableRouting] = [
            te.unsplittable.route_unsplittable(self.graph, self.commodities)
        ]
        shares = self.optimum.shares
        if shares:
            largest_parts: list[ArcPath] = [
                max(shares[each.source, each.target], key=lambda part: part[1])[0]
                for each in self.commodities
            ]
            candidates.append(
                te.unsplittable.route_unsplittable(self.graph, self.commodities, largest_parts)
            )
        return min(candidates, key=lambda each: each.mlu)

    @cached_property
    def min_cost_routing(self) -> MinCostRouting | None:
        """The routing of least Fortz-Thorup cost; None where the linear program is too large."""
        if te.optimal_routing.choose_formulation(self.graph, self.traffic) != "arcs":
            return None
        return te.arc_formulation.minimise_congestion(self.graph, self.traffic)

    def search_weights(self, evaluations: int | None) -> OptimisedWeights:
        """IGP weights by local search."""
        return te.igp_weights.search_weights(
            self.graph, self.traffic, evaluations or te.igp_weights.DEFAULT_EVALUATIONS
        )

    def rate_loads(
        self, method: str, loads: Floats, bound: float | None, *, with_cost_gap: bool = False
    ) -> RoutingMethod:
        """Rate a method by its loads."""
        mlu = float((loads / self.graph.capacity).max(initial=0.0))
        cost = te.fortz_thorup.compute_cost(self.graph, loads) / self.uncongested_cost
        min_cost = self.min_cost_routing if with_cost_gap else None
        return RoutingMethod(
            method,
            mlu,
            bound,
            None if bound is None else te.split_routing.compute_gap(mlu, bound),
            cost,
            None
            if min_cost is None
            else te.split_routing.compute_gap(cost, min_cost.cost / self.uncongested_cost),
        )

    def rate_igp_and_optimum(self, *, with_cost_gap: bool = False) -> list[RoutingMethod]:
        """Routing by the IGP: as packets go, with equal-cost multipath, and the optimum."""
        single_bound, bound = self.single_path_bound, self.optimum.bound
        igp_loads = compute_igp_loads(self.scenario, self.graph, self.scenario.demands)
        ecmp_loads, _ = te.spf.compute_ecmp_loads(self.graph, self.graph.igp, self.traffic)
        return [
            self.rate_loads("igp", igp_loads, single_bound, with_cost_gap=with_cost_gap),
            self.rate_loads("ecmp", ecmp_loads, bound, with_cost_gap=with_cost_gap),
            self.rate_loads("optimum", self.optimum.loads, bound, with_cost_gap=with_cost_gap),
        ]
