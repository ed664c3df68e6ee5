"""Growth: when each link and each failure breaks first, and the cheapest upgrades that prevent it.

The demands grow; the routes of today stay, so each period is a screen of the same paths. Two kinds
of upgrades are computed for the last period: with today's routes, where each link gets the cheapest
modules that carry its worst failure, and over all routings, which bounds every plan that also moves
paths. Flows without a demand do not grow.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trunkline import te
from trunkline.planning.capacity_upgrade import list_failure_cases
from trunkline.planning.explicit_scenario import format_scenario_yaml, write_explicit_scenario
from trunkline.planning.failure_screening import compute_use_after_failure, survive
from trunkline.planning.offered_loads import list_offered_loads
from trunkline.planning.sla_growth import SlaBreak, find_sla_breaks
from trunkline.scenario.loader import load_text
from trunkline.scenario.resolved.placement import build_topology, unplaced_paths_allowed
from trunkline.te.capacity_expansion import (
    CapacityModule,
    InsufficientModulesError,
    choose_modules,
    cover_needs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trunkline.planning.failure_screening import Survival
    from trunkline.planning.screen_journal import ScreenJournal
    from trunkline.scenario import Scenario
    from trunkline.scenario.te import CapacityModuleOptions
    from trunkline.study.run.execution import RunOptions
    from trunkline.study.run.progress import Progress
    from trunkline.te.topology import Bools, Floats, Ints, Topology

BreakReason = Literal["overload", "loss"]
NO_FAILURE = "no failure"
MAX_GROWTH_PERIODS = 100


@dataclass(frozen=True, slots=True)
class GrowthPlan:
    """The periods of a growth, with the factor of each class of demands."""

    labels: tuple[str, ...]  # Names of the periods; the first is today.
    # Factor of all demands whose class has none of its own, by period; never falling.
    factors: tuple[float, ...]
    class_factors: Mapping[str, tuple[float, ...]]  # Factors of the demands of a class, by period.

    @property
    def is_uniform(self) -> bool:
        """Whether all demands grow alike."""
        return all(factors == self.factors for factors in self.class_factors.values())


def plan_yearly_growth(rates: Mapping[str | None, float], years: int) -> GrowthPlan:
    """Plan a growth by a rate a year, such as 0.1, for the class None of all others.

    Raises
    ------
    ValueError
        A rate below 0, or no year or too many.
    """
    if not 1 <= years <= MAX_GROWTH_PERIODS:
        raise ValueError(f"there are 1 to {MAX_GROWTH_PERIODS} years, not {years}")
    if any(not 0 <= rate <= 100 for rate in rates.values()):
        raise ValueError("a rate of growth is 0 or more, and at most 10000 % a year")

    def compound(rate: float) -> tuple[float, ...]:
        return tuple((1 + rate) ** year for year in range(years + 1))

    return GrowthPlan(
        ("today", *(f"year {year}" for year in range(1, years + 1))),
        compound(rates.get(None, 0.0)),
        {name: compound(rate) for name, rate in rates.items() if name is not None},
    )


def plan_scaled_growth(first: float, last: float, steps: int = 10) -> GrowthPlan:
    """Plan a growth of all demands from one factor to another, in equal steps.

    Raises ValueError: The first is not above 0, or the last not above the first.
    """
    if not 0 < first < last or not math.isfinite(last):
        raise ValueError("the demands grow from a factor above 0 to a larger one")
    factors = tuple(first + (last - first) * step / steps for step in range(steps + 1))
    return GrowthPlan(tuple(f"x {factor:.4g}" for factor in factors), factors, {})


@dataclass(frozen=True, slots=True)
class GrowthPeriod:
    """The network in a period, with today's routes and capacity."""

    label: str
    factor: float  # Offered load over that of the scenario [1].
    mlu: float  # Maximum utilisation without a failure [1].
    worst_mlu: float  # Maximum utilisation after any failure [1].
    # worst_failure, worst_link: Where that is.
    worst_failure: str
    worst_link: str
    # Failures that overload a link above the bound, or lose load that routing could carry.
    broken: int


@dataclass(frozen=True, slots=True)
class FirstBreak:
    """Time at which a link or a failure breaks first."""

    name: str  # Direction of a link, or failure.
    period: str | None  # Label of the first period in which it is broken; None: in none.
    # Growth at which it breaks, if all demands grow alike [1]; None: differently, or never.
    factor: float | None
    reason: BreakReason  # A failure with loss is broken already: no backup carries the load.
    at: str  # Of a link the failure that breaks it, of a failure the link.
    utilisation: float  # In the last period [1].


@dataclass(frozen=True, slots=True)
class MovedPathsLimit:
    """Growth that the network carries without upgrades if paths move at will."""

    # Largest growth that some routing carries in every failure [1]; None: not computed.
    factor: float | None
    period: str | None  # First period that no routing carries; None: none.
    failure: str  # The failure that limits it.


@dataclass(frozen=True, slots=True)
class UpgradeList:
    """Modules for links."""

    modules: dict[str, dict[str, int]]  # By link, how many of which module.
    link_costs: dict[str, float]  # By link, what its modules cost.
    cost: float  # Cost of all.
    bound: float  # No choice for this kind of routing costs less.
    gap: float  # Cost over bound, less one; 0: proven cheapest.
    # Links, or failures, that the catalogue cannot carry; with any, the list is not enough.
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """Time at which a growing network breaks, and the upgrades that prevent it."""

    bound: float  # Utilisation above which a link is broken [1].
    periods: tuple[GrowthPeriod, ...]
    # links, failures: The first to break first.
    links: tuple[FirstBreak, ...]
    failures: tuple[FirstBreak, ...]
    # Each bound of the agreements under each failure, the first to break first.
    slas: tuple[SlaBreak, ...]
    moved_paths: MovedPathsLimit  # Without upgrades.
    # kept_routes, any_routes: Upgrades for the last period; None: there is no catalogue.
    kept_routes: UpgradeList | None
    any_routes: UpgradeList | None
    # Utilisation of every direction of a link in the last period, after its worst failure [1].
    worst_use: dict[str, float]
    not_judged: tuple[str, ...]  # Bounds that the growth leaves out.
    scale: float

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def grow(
    scenario: Scenario,
    plan: GrowthPlan,
    *,
    kinds: Sequence[str] = ("link", "node", "risk"),
    bound: float = 1.0,
    progress: Progress | None = None,
    journal: ScreenJournal | None = None,
    options: RunOptions | None = None,
) -> Growth:
    """Find when a network breaks as its demands grow, and the cheapest upgrades.

    Parameters
    ----------
    scenario : Scenario
        With demands; ``te.modules`` is the catalogue.
    plan : GrowthPlan
        From `plan_yearly_growth` or `plan_scaled_growth`.
    kinds : sequence of {"link", "node", "risk", "named"}
        Failures, as for `survive`; none: only the network without a failure.
    bound : float
        Utilisation that no link may pass [1], above 0.
    progress : Progress, optional
        Counts the failures that are screened for agreements.
    journal : ScreenJournal, optional
        Keeps the levels of these failures; what it knows is not screened again.
    options : RunOptions, optional
        Where they are screened; by default in this process.

    Raises
    ------
    ValueError
        No demands, a class without demands, or a bound that is not above 0.
    """
    if not scenario.resolve().demands:
        raise ValueError("the scenario has no demands, so nothing grows")
    if not bound > 0:
        raise ValueError(f"the bound is above 0, not {bound:g}")
    _check_classes(scenario, plan)
    analysis = _GrowthAnalysis(scenario, plan, kinds, bound)
    slas = find_sla_breaks(
        analysis.scenarios, analysis.screens, plan.labels, progress, journal, options
    )
    return analysis.analyse(slas)


def _check_classes(scenario: Scenario, plan: GrowthPlan) -> None:
    classes = {demand.class_ for demand in scenario.resolve().demands.values()}
    for name in plan.class_factors:
        if name not in classes:
            raise ValueError(
                f"no demand is of class {name}; there are {', '.join(sorted(classes))}"
            )


def write_out_routes(scenario: Scenario) -> Scenario:
    """Replace computed routes and backups by explicit ones, so that they stay as demands grow."""
    origin = scenario._origin
    text = write_explicit_scenario(scenario)
    with unplaced_paths_allowed():
        return load_text(type(scenario), text, origin.file, origin.folder, {}, False)


def scale_demands(scenario: Scenario, plan: GrowthPlan, period: int) -> Scenario:
    """Scale the demands of a scenario with explicit routes to a period."""
    data = scenario.to_document()
    unscaled = scenario.resolve().get_unscaled()
    data["demands"] = {
        name: {
            "from": demand.source,
            "to": demand.target,
            "rate": f"{max(round(demand.rate * factor), 1)} bit/s",
            "class": demand.class_,
        }
        for name, demand in unscaled.demands.items()
        for factor in [plan.class_factors.get(demand.class_, plan.factors)[period]]
    }
    origin = scenario._origin
    text = format_scenario_yaml(scenario, data, ())
    with unplaced_paths_allowed():
        return load_text(type(scenario), text, origin.file, origin.folder, {}, False)


class _GrowthAnalysis:
    """The screens of all periods."""

    def __init__(self, scenario: Scenario, plan: GrowthPlan, kinds: Sequence[str], bound: float):
        self.plan, self.bound = plan, bound
        self.explicit = write_out_routes(scenario)
        self.scenarios = [
            scale_demands(self.explicit, plan, period) for period in range(len(plan.labels))
        ]
        self.screens: list[Survival] = [survive(each, kinds=kinds) for each in self.scenarios]
        self.last = self.scenarios[-1].resolve().get_unscaled()
        self.graph = build_topology(self.last)

    def analyse(self, slas: tuple[SlaBreak, ...]) -> Growth:
        modules = self.explicit.te.modules
        return Growth(
            self.bound,
            tuple(self._describe_period(number) for number in range(len(self.screens))),
            self._list_link_breaks(),
            self._list_failure_breaks(),
            slas,
            self._find_moved_paths_limit(),
            self._keep_routes(modules) if modules else None,
            self._free_routes(modules) if modules else None,
            self._compute_worst_use(),
            self._list_unjudged(slas),
            self.explicit.scale,
        )

    def _is_broken(self, mlu: float, avoidable: int = 0) -> bool:
        # A millionth is rounding of rates to whole bits.
        return avoidable > 0 or mlu > self.bound * (1 + 1e-6)

    def _describe_period(self, number: int) -> GrowthPeriod:
        screen = self.screens[number]
        worst = max(screen.failures, key=lambda each: each.mlu, default=None)
        busiest = max(
            range(len(self.graph.arcs)),
            key=lambda arc: screen.links[arc].needed_bit_s / screen.links[arc].capacity_bit_s,
        )
        worst_mlu = max(screen.mlu, worst.mlu if worst else 0.0)
        is_failure = worst is not None and worst.mlu > screen.mlu
        return GrowthPeriod(
            self.plan.labels[number],
            screen.offered_bit_s / max(self.screens[0].offered_bit_s, 1) * self.plan.factors[0],
            screen.mlu,
            worst_mlu,
            worst.failure if worst is not None and is_failure else NO_FAILURE,
            worst.worst_link if worst is not None and is_failure else screen.links[busiest].link,
            sum(self._is_broken(each.mlu, each.severity[0]) for each in screen.failures),
        )

    def _find_first_period(self, utilisations: Sequence[float]) -> str | None:
        for label, utilisation in zip(self.plan.labels, utilisations, strict=True):
            if self._is_broken(utilisation):
                return label
        return None

    def _find_break_factor(self, utilisation: float) -> float | None:
        """Find the growth at which a utilisation of the first period reaches the bound."""
        if not self.plan.is_uniform or utilisation <= 0:
            return None
        factor = self.bound / utilisation * self.plan.factors[0]
        return factor if factor <= self.plan.factors[-1] * (1 + 1e-9) else None

    def _list_link_breaks(self) -> tuple[FirstBreak, ...]:
        found = []
        for arc, link in enumerate(self.screens[-1].links):
            course = [
                screen.links[arc].needed_bit_s / screen.links[arc].capacity_bit_s
                for screen in self.screens
            ]
            found.append(
                FirstBreak(
                    link.link,
                    self._find_first_period(course),
                    self._find_break_factor(course[0]),
                    "overload",
                    link.failure or NO_FAILURE,
                    course[-1],
                )
            )
        return self._sort_breaks(found)

    def _list_failure_breaks(self) -> tuple[FirstBreak, ...]:
        by_name = [
            {(each.failure, each.kind): each for each in screen.failures} for screen in self.screens
        ]
        found = []
        for key, last in by_name[-1].items():
            course = [impacts[key] for impacts in by_name]
            is_lost = last.severity[0] > 0
            found.append(
                FirstBreak(
                    last.failure,
                    self.plan.labels[0]
                    if is_lost
                    else self._find_first_period([each.mlu for each in course]),
                    None if is_lost else self._find_break_factor(course[0].mlu),
                    "loss" if is_lost else "overload",
                    last.worst_link,
                    last.mlu,
                )
            )
        no_failure = [screen.mlu for screen in self.screens]
        found.append(
            FirstBreak(
                NO_FAILURE,
                self._find_first_period(no_failure),
                self._find_break_factor(no_failure[0]),
                "overload",
                self._describe_period(len(self.screens) - 1).worst_link,
                no_failure[-1],
            )
        )
        return self._sort_breaks(found)

    def _sort_breaks(self, breaks: list[FirstBreak]) -> tuple[FirstBreak, ...]:
        def key(each: FirstBreak) -> tuple[int, float, float]:
            labels = self.plan.labels
            number = len(labels) if each.period is None else labels.index(each.period)
            return number, -each.utilisation, 0.0

        return tuple(sorted(breaks, key=key))

    def _build_demand(self) -> Floats:
        demand = np.zeros((len(self.graph.nodes),) * 2)
        for load in list_offered_loads(self.last, self.graph, use_paths=False):
            demand[load.source, load.target] += load.rate
        return demand

    def _list_cases(self, *, broken_only: bool) -> list[tuple[str, Floats, Bools]]:
        """List traffic and dead arcs of the last period, the worst failure first."""
        demand, screen = self._build_demand(), self.screens[-1]
        cases = []
        if not broken_only or self._is_broken(screen.mlu):
            cases.append((NO_FAILURE, demand, np.zeros(len(self.graph.arcs), dtype=bool)))
        impacts = [
            each
            for each in screen.failures
            if not broken_only or self._is_broken(each.mlu, each.severity[0])
        ]
        return [*cases, *list_failure_cases(self.graph, demand, impacts)]

    def _find_moved_paths_limit(self) -> MovedPathsLimit:
        """Find the failure whose least maximum utilisation over all routings is largest.

        Today's routes carry a failure that is not broken in the last period, so only the others
        limit the growth within it.
        """
        if not self.plan.is_uniform:
            return MovedPathsLimit(None, None, "")
        worst, failure = 0.0, ""
        for name, traffic, dead in self._list_cases(broken_only=True):
            # The capacity of a dead arc is 1 bit/s at least: its own kind of program leaves it out.
            alive = _remove_arcs(self.graph, dead)
            mlu = te.optimal_routing.minimise_utilisation(alive, traffic).mlu
            if mlu > worst:
                worst, failure = mlu, name
        last = self.plan.factors[-1]
        if worst <= self.bound:
            return MovedPathsLimit(None, None, failure)
        factor = last * self.bound / worst
        period = next(
            label
            for label, each in zip(self.plan.labels, self.plan.factors, strict=True)
            if each > factor * (1 + 1e-9)
        )
        return MovedPathsLimit(factor, period, failure)

    def _list_modules(self, modules: Mapping[str, CapacityModuleOptions]) -> list[CapacityModule]:
        return [
            CapacityModule(
                name,
                math.floor(module.rate * self.bound),
                tuple(
                    module.cost if not module.links or link in module.links else math.inf
                    for link in self.graph.links
                ),
                module.most,
            )
            for name, module in modules.items()
        ]

    def _keep_routes(self, modules: Mapping[str, CapacityModuleOptions]) -> UpgradeList:
        """Choose for each link the modules that its worst failure needs in the last period."""
        needed = np.array([each.needed_bit_s for each in self.screens[-1].links], dtype=np.float64)
        lacking = np.ceil(needed - self.graph.capacity * self.bound - needed * 1e-6)
        worst = np.zeros(len(self.graph.links))
        np.maximum.at(worst, self.graph.link, lacking)
        catalogue = self._list_modules(modules)
        counts, short = cover_needs(worst.astype(np.int64).tolist(), catalogue)
        missing = tuple(self.graph.links[link] for link in short)
        return self._list_upgrades(counts, catalogue, missing=missing)

    def _free_routes(self, modules: Mapping[str, CapacityModuleOptions]) -> UpgradeList:
        """Choose the modules with which some routing carries every failure of the last period."""
        cases = self._list_cases(broken_only=True)
        catalogue = self._list_modules(modules)
        bounded = np.floor(self.graph.capacity * self.bound).astype(np.int64)
        graph = replace(self.graph, capacity=np.maximum(bounded, 1))
        if not cases:
            return UpgradeList({}, {}, 0.0, 0.0, 0.0, ())
        try:
            choice = choose_modules(
                graph, [(traffic, dead) for _, traffic, dead in cases], catalogue
            )
        except InsufficientModulesError as error:
            return UpgradeList({}, {}, 0.0, 0.0, 0.0, (cases[error.case][0],))
        return self._list_upgrades(choice.counts, catalogue, choice.bound, choice.gap)

    def _list_upgrades(
        self,
        counts: Ints,
        catalogue: Sequence[CapacityModule],
        bound: float | None = None,
        gap: float = 0.0,
        *,
        missing: tuple[str, ...] = (),
    ) -> UpgradeList:
        """List modules and costs by link; without a bound the choice is proven cheapest."""
        modules: dict[str, dict[str, int]] = {}
        link_costs: dict[str, float] = {}
        for number in np.flatnonzero(counts.any(axis=1)).tolist():
            link = self.graph.links[number]
            chosen = [
                (module, int(count))
                for module, count in zip(catalogue, counts[number], strict=True)
                if count
            ]
            modules[link] = {module.name: count for module, count in chosen}
            link_costs[link] = sum(module.costs[number] * count for module, count in chosen)
        cost = sum(link_costs.values())
        return UpgradeList(
            modules, link_costs, cost, cost if bound is None else bound, gap, missing
        )

    def _compute_worst_use(self) -> dict[str, float]:
        screen = self.screens[-1]
        worst = max(screen.failures, key=lambda each: each.mlu, default=None)
        if worst is not None and worst.mlu > screen.mlu:
            return compute_use_after_failure(self.scenarios[-1], worst.failure, worst.kind)
        healthy = survive(self.scenarios[-1], kinds=())
        return {each.link: each.needed_bit_s / each.capacity_bit_s for each in healthy.links}

    def _list_unjudged(self, slas: Sequence[SlaBreak]) -> tuple[str, ...]:
        remarks = []
        count = sum(each.is_open for each in slas)
        if not self.explicit.list_sla_bounds():
            remarks.append("service levels: the scenario has no `slas`")
        elif count:
            remarks.append(
                f"{count} of {len(slas)} pairs of a failure and an agreement are open in some "
                "period: the screen does not decide them, packets do (`te survive`)"
            )
        flows = [name for name in self.explicit.resolve().flows if name not in self.last.demands]
        if flows:
            remarks.append(f"{len(flows)} flows without a demand do not grow")
        lossy = sum(each.severity[0] > 0 for each in self.screens[-1].failures)
        if lossy:
            remarks.append(
                f"after {lossy} failures load has no backup: capacity alone does not help, with "
                "today's routes"
            )
        return tuple(remarks)


def _remove_arcs(graph: Topology, dead: Bools) -> Topology:
    """The graph without dead arcs."""
    alive = [arc for arc, is_dead in zip(graph.arcs, dead, strict=True) if not is_dead]
    return te.topology.build_topology(graph.nodes, alive)


def upgrade_links(scenario: Scenario, upgrades: UpgradeList) -> Scenario:
    """Add modules to the links of a scenario."""
    modules = scenario.te.modules
    rates = {
        link: sum(modules[name].rate * count for name, count in chosen.items())
        for link, chosen in upgrades.modules.items()
    }
    data = scenario.to_document()
    for arc in scenario.resolve().get_unscaled().arcs:
        if arc.link in rates:
            link, side = data["links"][arc.link], "backward" if arc.backward else "forward"
            rate = (arc.options.rate or 0) + rates[arc.link]
            link[side] = (link.get(side) or {}) | {"rate": f"{rate} bit/s"}
    for name in rates:
        link = data["links"][name]
        sides = [link["forward"]["rate"], link["backward"]["rate"]]
        if sides[0] == sides[1]:
            # One rate for both directions is written once.
            link["rate"] = sides[0]
            for side in ("forward", "backward"):
                del link[side]["rate"]
                if not link[side]:
                    del link[side]
    origin = scenario._origin
    text = format_scenario_yaml(scenario, data, ())
    with unplaced_paths_allowed():
        return load_text(type(scenario), text, origin.file, origin.folder, {}, False)
