"""The cheapest modules with which every case fits, however it is routed: an integer program.

A case is traffic and the arcs that are down. Columns are the numbers of modules on each link, rows
are metric inequalities: for weights of arcs, the capacity so weighted is at least the sum of all
traffic times its shortest distance (M. Iri, 1971; K. Onaga, O. Kakusho, 1971). They hold for all
weights exactly if the traffic can be routed, so they replace its flows. The prices of the linear
program of a case that does not fit are the weights of a row that it breaks; rows are added until
all cases fit, first with modules in fractions.

Sources: M. Iri, On an extension of the maximum-flow minimum-cut theorem to multicommodity flows,
J. Oper. Res. Soc. Japan 13, 1971; A. M. Costa, J.-F. Cordeau, B. Gendron, Benders, metric and
cutset inequalities for multicommodity capacitated network design, Comput. Optim. Appl. 42, 2009.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trunkline.te.arc_formulation import minimise_added_capacity
from trunkline.te.linear_program import solve_integer_program, solve_linear_program
from trunkline.te.spf import compute_distances
from trunkline.te.topology import Bools, Floats, Ints, Topology

MAX_RELAXATION_ROUNDS = 200  # Rounds of new rows at most while modules come in fractions.
MAX_CUT_ROUNDS = 60  # Integer programs at most; beyond, the gap stays open.
MAX_SEARCH_NODES = 500  # Nodes of one integer program at most; beyond, the gap stays open.
MAX_TRIED_REMOVALS = 200  # Linear programs that look for modules that are not needed, at most.
MAX_ROWS_PER_ROUND = 8  # Rows that one round adds at most.
FITTING_TOLERANCE = 1e-6  # Missing capacity over the largest demand that counts as rounding.
TrafficCase = tuple[Floats, Bools]
"""Traffic, not all zero and between nodes that are joined, and the arcs that are down."""


@dataclass(frozen=True, slots=True)
class CapacityModule:
    """A module of a catalogue."""

    name: str
    rate: int  # Capacity that one adds to both directions of a link [bit/s], above 0.
    costs: tuple[float, ...]  # Cost of one on each link, 0 or more; infinite where it does not fit.
    most: int  # Largest number on one link.


@dataclass(frozen=True, slots=True, eq=False)
class ModuleChoice:
    """Modules for each link."""

    counts: Ints  # shape (L, M): Number of each of M modules on each link.
    cost: float
    bound: float  # No choice costs less.

    @property
    def gap(self) -> float:
        """The cost over the bound, less one; 0 if the choice is proven cheapest."""
        if _is_proven(self.cost, self.bound):
            return 0.0
        return self.cost / self.bound - 1 if self.bound > 0 else float("inf")


def _is_proven(cost: float, bound: float) -> bool:
    """Whether a cost is its bound but for rounding."""
    return cost < bound or math.isclose(cost, bound, rel_tol=1e-9, abs_tol=1e-9)


class InsufficientModulesError(ValueError):
    """Error where no number of modules is enough. case: Number of a case that they cannot carry."""

    def __init__(self, case: int):
        super().__init__("the modules of the catalogue are not enough")
        self.case = case


def choose_modules(
    topology: Topology, cases: Sequence[TrafficCase], modules: Sequence[CapacityModule]
) -> ModuleChoice:
    """Choose the cheapest modules with which every case fits, each routed alone and split at will.

    Raises InsufficientModulesError: A case does not fit with all that may be added.
    """
    return _ModuleProgram(topology, cases, modules).solve()


def cover_needs(needs: Sequence[int], modules: Sequence[CapacityModule]) -> tuple[Ints, list[int]]:
    """Choose the cheapest modules that add at least a capacity to each link.

    Returns short: Links for which all modules are not enough; they get none.
    """
    rates = np.array([module.rate for module in modules], dtype=np.float64)
    most = np.array([module.most for module in modules], dtype=np.float64)
    counts = np.zeros((len(needs), len(modules)), dtype=np.int64)
    short = []
    for link, need in enumerate(needs):
        if need <= 0:
            continue
        costs = np.array([module.costs[link] for module in modules])
        usable = np.isfinite(costs)
        found = None
        if usable.any():
            found = solve_integer_program(
                costs[usable],
                rates[None, usable] / need,
                np.ones(1),
                most[usable],
                max_nodes=MAX_SEARCH_NODES,
            )
        if found is None or found.values is None:
            short.append(link)
        else:
            counts[link, usable] = found.values
    return counts, short


class _ModuleProgram:
    """The integer program with the rows that were found so far."""

    def __init__(
        self,
        topology: Topology,
        cases: Sequence[TrafficCase],
        modules: Sequence[CapacityModule],
    ):
        self.topology, self.cases, self.modules = topology, cases, modules
        self.costs = np.array([module.costs for module in modules]).T.reshape(
            len(topology.links), len(modules)
        )
        self.link, self.module = np.nonzero(np.isfinite(self.costs))
        self.unit = max(float(traffic.max()) for traffic, _ in cases) if cases else 1.0
        self.rate: Floats = np.array([each.rate for each in modules])[self.module] / self.unit
        self.cost: Floats = self.costs[self.link, self.module]
        self.most: Floats = np.array([each.most for each in modules], dtype=np.float64)[self.module]
        # Capacity where it is dear counts more: cuts are cheap where modules are.
        with np.errstate(divide="ignore"):
            per_bit = self.costs / np.array([each.rate for each in modules])
        price = np.where(np.isfinite(per_bit), per_bit, np.inf).min(axis=1, initial=np.inf)
        known = price[np.isfinite(price) & (price > 0)]
        typical = float(np.median(known)) if len(known) else 1.0
        self.link_price: Floats = np.where(
            np.isfinite(price), np.maximum(price / typical, 1e-3), 1e3
        )
        self.order = list(range(len(cases)))
        self.rows: list[Floats] = []
        self.least: list[float] = []

    def solve(self) -> ModuleChoice:
        self._check_cases(self.most)
        self._add_rows_of_relaxation()
        best, best_cost, bound = self.most.astype(np.int64), np.inf, 0.0
        for _ in range(MAX_CUT_ROUNDS):
            found = solve_integer_program(
                self.cost,
                np.array(self.rows).reshape(len(self.rows), len(self.cost)),
                np.array(self.least),
                self.most,
                max_nodes=MAX_SEARCH_NODES,
            )
            if found is None:
                break
            bound = max(bound, found.bound)
            if found.values is None:
                break
            repaired = self._repair(found.values)
            if (cost := float(self.cost @ repaired)) < best_cost:
                best, best_cost = repaired, cost
            if _is_proven(best_cost, bound):
                break
            if not self._add_broken_rows(found.values.astype(np.float64)):
                break
        if not _is_proven(best_cost, bound):
            best = self._remove_unneeded(best)
            best_cost = float(self.cost @ best)
        counts = np.zeros(self.costs.shape, dtype=np.int64)
        counts[self.link, self.module] = best
        return ModuleChoice(counts, best_cost, min(bound, best_cost))

    def _check_cases(self, values: Floats) -> None:
        for number in range(len(self.cases)):
            if self._find_missing(number, values)[0].any():
                raise InsufficientModulesError(number)

    def _add_rows_of_relaxation(self) -> None:
        """Add rows until modules in fractions fit every case."""
        values = np.zeros(len(self.cost))
        for _ in range(MAX_RELAXATION_ROUNDS):
            if not self._add_broken_rows(values):
                return
            solution = solve_linear_program(
                columns=len(self.cost),
                c=self.cost,
                A_ub=-np.array(self.rows),
                b_ub=-np.array(self.least),
                bounds=np.stack([np.zeros(len(self.most)), self.most], axis=1),
            )
            if solution is None:
                return
            values = solution.x

    def _compute_capacity(self, values: Floats) -> Floats:
        """Compute the capacity of every arc in bit/s, with modules."""
        added = np.bincount(self.link, self.rate * values, len(self.topology.links)) * self.unit
        capacity: Floats = self.topology.capacity + added[self.topology.link]
        return capacity

    def _find_missing(self, case: int, values: Floats) -> tuple[Floats, Floats]:
        """Find the capacity of each link that a case lacks [bit/s], and the prices of arcs."""
        least = minimise_added_capacity(
            self.topology, [self.cases[case]], self._compute_capacity(values), self.link_price
        )
        missing = np.where(least.capacity > FITTING_TOLERANCE * self.unit, least.capacity, 0.0)
        return missing, least.prices[0]

    def _add_broken_rows(self, values: Floats) -> bool:
        """Add rows of cases that do not fit; return whether there was any.

        Cases that broke last are tried first, so that few fit in vain.
        """
        broken: list[int] = []
        for number in self.order:
            missing, prices = self._find_missing(number, values)
            if missing.any():
                self._add_row(*self.cases[number], prices)
                broken.append(number)
                if len(broken) == MAX_ROWS_PER_ROUND:
                    break
        self.order = [*broken, *(each for each in self.order if each not in broken)]
        return bool(broken)

    def _add_row(self, traffic: Floats, dead: Bools, prices: Floats) -> None:
        # Every weight is valid; an arc without one would be no arc.
        weights = np.maximum(prices, 1e-9)
        distance = compute_distances(self.topology, weights, usable=~dead).T
        needed = float((traffic[traffic > 0] * distance[traffic > 0]).sum()) / self.unit
        there = float(weights[~dead] @ self.topology.capacity[~dead]) / self.unit
        weight = np.bincount(
            self.topology.link, np.where(dead, 0.0, weights), len(self.topology.links)
        )
        row = weight[self.link] * self.rate
        # The largest coefficient is 1: rows are alike to the solver.
        scale = float(row.max(initial=0.0)) or 1.0
        self.rows.append(row / scale)
        self.least.append((needed - there) / scale * (1 - 1e-9))

    def _remove_unneeded(self, values: Ints) -> Ints:
        """Take off modules, the dearest first, while every case fits without them."""
        kept = values.copy()
        tried = 0
        for column in np.argsort(-self.cost, kind="stable").tolist():
            while kept[column] and tried < MAX_TRIED_REMOVALS:
                fewer = kept.copy()
                fewer[column] -= 1
                for number in self.order:
                    tried += 1
                    if self._find_missing(number, fewer.astype(np.float64))[0].any():
                        self.order = [number, *(each for each in self.order if each != number)]
                        break
                else:
                    kept = fewer
                    continue
                break
        return kept

    def _repair(self, values: Ints) -> Ints:
        """Add the cheapest modules until every case fits."""
        repaired = values.copy()
        for number in range(len(self.cases)):
            missing, _ = self._find_missing(number, repaired.astype(np.float64))
            while missing.any():
                counts, short = cover_needs(
                    np.ceil(missing).astype(np.int64).tolist(), self.modules
                )
                added = repaired + counts[self.link, self.module]
                before, repaired = repaired, np.minimum(added, self.most).astype(np.int64)
                # A link may lack more than what may still be added to it, and another have room.
                if short or (repaired == before).all():
                    return self.most.astype(np.int64)
                missing, _ = self._find_missing(number, repaired.astype(np.float64))
        return repaired
