"""Ways of routing the same demands, each with how far it can be from the best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.planning.loads import by_igp, matrix

if TYPE_CHECKING:
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.arc_form import Cheapest
    from trunkline.te.optimum import Form, Optimum
    from trunkline.te.topology import Floats, Path, Topology
    from trunkline.te.unsplit import Commodity, Unsplit
    from trunkline.te.weights import Weights


@dataclass(frozen=True, slots=True)
class Method:
    """How far a way of routing loads the network.

    Parameters
    ----------
    mlu : float or None
        Maximum link utilisation [1]; None: not known.
    bound : float or None
        No routing of its kind, split or on single paths, has a smaller one [1].
    gap : float or None
        The utilisation over the bound, less one.
    cost : float or None
        Fortz-Thorup cost over that of every demand on its fewest hops without congestion [1].
    cost_gap : float or None
        The cost over the least of any routing, less one; None where that is not computed.
    """

    method: str
    mlu: float | None
    bound: float | None
    gap: float | None
    cost: float | None = None
    cost_gap: float | None = None


class Methods:
    """The demands of a scenario, routed in several ways; each is computed when it is first asked.

    Parameters
    ----------
    scenario : Resolved
        Not scaled.
    form : {"arcs", "paths", "frank-wolfe"}, optional
        How the optimum is found; by size if left out.

    Raises
    ------
    ValueError
        See `trunkline.te.optimum.minimum_utilisation`; when a method is asked for.
    """

    def __init__(self, scenario: Resolved, graph: Topology, form: Form | None = None):
        self.scenario = scenario
        self.graph = graph
        self.form = form
        self.traffic = matrix(scenario, graph, scenario.demands)
        self.ideal = te.fortz_thorup.uncapacitated(graph, self.traffic) or 1.0

    @property
    def size(self) -> Form | None:
        """How the optimum would be found; None in a network too large for that."""
        try:
            found: Form = te.optimum.by_size(self.graph, self.traffic)
        except ValueError:
            return None
        return found

    @cached_property
    def optimum(self) -> Optimum:
        """The least maximum utilisation with splitting."""
        return te.optimum.minimum_utilisation(self.graph, self.traffic, self.form)

    @cached_property
    def single(self) -> float:
        """Bound of the maximum utilisation on single paths [1]."""
        return te.unsplit.bound(self.graph, self.commodities, self.optimum.bound)

    @cached_property
    def commodities(self) -> list[Commodity]:
        """Demands, in order."""
        node = self.graph.node
        return [
            te.unsplit.Commodity(node[each.source], node[each.target], float(each.rate))
            for each in self.scenario.demands.values()
        ]

    @cached_property
    def unsplit(self) -> Unsplit:
        """The better of two: begun greedily, and begun on each demand's largest part."""
        found: list[Unsplit] = [te.unsplit.unsplit(self.graph, self.commodities)]
        shares = self.optimum.shares
        if shares:
            major: list[Path] = [
                max(shares[each.source, each.target], key=lambda part: part[1])[0]
                for each in self.commodities
            ]
            found.append(te.unsplit.unsplit(self.graph, self.commodities, major))
        return min(found, key=lambda each: each.mlu)

    @cached_property
    def congestion(self) -> Cheapest | None:
        """The least Fortz-Thorup cost; None where the linear program is too large."""
        if te.optimum.by_size(self.graph, self.traffic) != "arcs":
            return None
        return te.arc_form.minimum_congestion(self.graph, self.traffic)

    def weights(self, evaluations: int | None) -> Weights:
        """IGP weights by local search."""
        return te.weights.search(self.graph, self.traffic, evaluations or te.weights.EVALUATIONS)

    def row(
        self, method: str, loads: Floats, bound: float | None, *, costs: bool = False
    ) -> Method:
        """A method by the loads that it makes."""
        mlu = float((loads / self.graph.capacity).max(initial=0.0))
        cost = te.fortz_thorup.cost(self.graph, loads) / self.ideal
        least = self.congestion if costs else None
        return Method(
            method,
            mlu,
            bound,
            None if bound is None else te.optimum.gap(mlu, bound),
            cost,
            None if least is None else te.optimum.gap(cost, least.cost / self.ideal),
        )

    def usual(self, *, costs: bool = False) -> list[Method]:
        """Routing by the IGP: as packets go, with equal-cost multipath, and the optimum."""
        single, bound = self.single, self.optimum.bound
        alone = by_igp(self.scenario, self.graph, self.scenario.demands)
        spread, _ = te.spf.ecmp(self.graph, self.graph.igp, self.traffic)
        return [
            self.row("igp", alone, single, costs=costs),
            self.row("ecmp", spread, bound, costs=costs),
            self.row("optimum", self.optimum.loads, bound, costs=costs),
        ]
