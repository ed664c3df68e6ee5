"""Robust placement with local repair: paths of demands, and a bypass round each arc that fails.

The bypass of an arc serves all demands over it. In the linear program its paths are columns of
their own for each traffic, which together carry at least the load of the arc. The cheapest path and
the cheapest bypass are both shortest paths at the prices of rows, so columns are generated exactly
and the bound is that of the program. With several traffics a bypass may there split differently in
each, which only lowers the bound. Single paths and bypasses move in turns.

Source: S. Orlowski, M. Pioro, Complexity of column generation in network design with path-based
survivability mechanisms, Networks 59(1), 2012 (local restoration is polynomial).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy.sparse import csr_matrix

from trunkline.te.linear_program import (
    IntegerSolution,
    solve_integer_program,
    solve_linear_program,
)
from trunkline.te.post_failure_routing import find_components
from trunkline.te.robust_program import (
    MAX_MOVES,
    MAX_ROUNDS,
    MAX_SEARCH_NODES,
    TARGET_GAP,
    ProtectedPath,
    ProtectionScheme,
    RobustProgram,
    list_simple_paths,
)
from trunkline.te.spf import find_cheapest_path
from trunkline.te.topology import ArcPath, Bools, Floats, Topology
from trunkline.te.unsplittable import UTILISATION_POWER

MAX_LISTED_PATHS = 400  # Paths and bypasses up to which all are listed.
MAX_TURNS = 20  # Turns in which demands and bypasses move.


class BypassProgram(RobustProgram):
    """The paths and bypasses that were found so far."""

    def __init__(
        self,
        topology: Topology,
        ends: Sequence[tuple[int, int]],
        rates: Floats,
        failures: Bools,
        protection: ProtectionScheme,
    ):
        super().__init__(topology, ends, rates, failures, protection)
        self.bypasses: dict[int, list[ArcPath]] = {}
        # Share of the load of an arc that each bypass carries in each traffic, shape (B, M).
        self.portions: dict[int, Floats] = {}
        self._unit = float(rates.sum(axis=1).max())
        metric = topology.igp.astype(np.float64)
        for arc in np.flatnonzero(failures.any(axis=0)).tolist():
            path = self._find_bypass(arc, metric)
            if path is not None:
                self.bypasses[arc] = [path]
                self.portions[arc] = np.ones((1, len(rates)))

    def get_bypasses(self, loads: Floats) -> dict[int, ArcPath]:
        """Return the path round each arc that fails and carries load.

        Raises ValueError: One has none, though no failure separates its ends.
        """
        used = np.flatnonzero(loads[:, 0].any(axis=0) & self.failures.any(axis=0)).tolist()
        for arc in used:
            if arc not in self.bypasses and self._is_joined_without(arc):
                names = self.topology.arcs[arc].tail, self.topology.arcs[arc].head
                raise ValueError(
                    f"no path round link {self.topology.arcs[arc].name} from {names[0]} to "
                    f"{names[1]} survives each failure of it"
                )
        return {arc: self._get_bypass(arc) for arc in used if arc in self.bypasses}

    def _is_joined_without(self, arc: int) -> bool:
        tail, head = self.topology.tail[arc], self.topology.head[arc]
        parts = [
            find_components(self.topology, ~dead) for dead in self.failures[self.failures[:, arc]]
        ]
        return all(part[tail] == part[head] for part in parts)

    def _find_bypass(self, arc: int, price: Floats) -> ArcPath | None:
        """Find the cheapest path round an arc that no failure of the arc takes down."""
        usable = self._find_usable_arcs(arc)
        ends = int(self.topology.tail[arc]), int(self.topology.head[arc])
        return find_cheapest_path(self.topology, price, *ends, usable)

    def _find_usable_arcs(self, arc: int) -> Bools:
        """Find the arcs that no failure of an arc takes down."""
        failing = self.failures[self.failures[:, arc]]
        return np.array(failing.sum(axis=0) == 0)

    def _list_all_columns(self) -> bool:
        return False

    def _sum_shares(self, shares: Floats) -> Floats:
        loads = super()._sum_shares(shares)
        before = loads[:, 0].copy()
        for arc, paths in self.bypasses.items():
            failures = self.failures[:, arc]
            for path, portion in zip(paths, self.portions[arc], strict=True):
                added = (portion * before[:, arc])[:, None, None]
                loads[np.ix_(np.arange(len(loads)), failures, np.array(path))] += added
        return loads

    def _build_program(self) -> tuple[Floats, Floats]:
        """Build the rows of loads, and of bypasses that carry what they must: both are at most 0.

        Columns are those of demands, each bypass in each traffic, and the utilisation.
        """
        count, traffic_count = len(self.columns), len(self.rates)
        traffics, failures, loaded_arcs = np.array(self.rows, dtype=np.int64).T
        listed = [(arc, path) for arc, paths in self.bypasses.items() for path in paths]
        place = {arc: number for number, arc in enumerate(self.bypasses)}
        on_path, _ = self._mark_arcs(self.columns)
        demand_of = np.array([column.demand for column in self.columns])
        crossings = np.zeros((len(self.rows), len(listed) * traffic_count))
        cover = np.zeros((len(place) * traffic_count, count + crossings.shape[1] + 1))
        for traffic, rates in enumerate(self.rates):
            carried = on_path[:, list(place)] * rates[demand_of][:, None] / self._unit
            cover[traffic::traffic_count, :count] = carried.T
        for number, (arc, path) in enumerate(listed):
            on_bypass = np.zeros(len(self.capacity))
            on_bypass[list(path)] = 1.0
            is_used = on_bypass[loaded_arcs] * self.failures[failures, arc]
            for traffic in range(traffic_count):
                column = number * traffic_count + traffic
                crossings[:, column] = (
                    is_used * (traffics == traffic) * self._unit / self.capacity[loaded_arcs]
                )
                cover[place[arc] * traffic_count + traffic, count + column] = -1.0
        last = -np.ones(len(self.rows))
        return np.column_stack([self._build_rows(self.rows), crossings, last]), cover

    def _solve_program(self) -> tuple[float, Floats, Floats, Floats]:
        count, traffic_count = len(self.columns), len(self.rates)
        load_rows, cover = self._build_program()
        demand_of = np.array([column.demand for column in self.columns])
        width = load_rows.shape[1]
        solution = solve_linear_program(
            c=np.append(np.zeros(width - 1), 1.0),
            A_ub=csr_matrix(np.vstack([load_rows, cover])),
            b_ub=np.zeros(len(load_rows) + len(cover)),
            A_eq=csr_matrix(
                (np.ones(count), (demand_of, np.arange(count))), shape=(len(self.ends), width)
            ),
            b_eq=np.ones(len(self.ends)),
        )
        row_prices = np.maximum(-solution.ineqlin.marginals, 0.0)
        prices = np.zeros((traffic_count, *self.failures.shape))
        for (traffic, failure, arc), price in zip(self.rows, row_prices, strict=False):
            prices[traffic, failure, arc] = price / self.capacity[arc]
        self._set_portions(solution.x[count:-1].reshape(-1, traffic_count))
        return float(solution.x[-1]), solution.x[:count], prices, solution.eqlin.marginals

    def _set_portions(self, amounts: Floats) -> None:
        start = 0
        for arc, paths in self.bypasses.items():
            used = np.maximum(amounts[start : start + len(paths)], 0.0)
            start += len(paths)
            total = used.sum(axis=0)
            even = np.full_like(used, 1.0 / len(paths))
            self.portions[arc] = np.divide(used, total, out=even, where=total > 1e-12)

    def _price_all(self, prices: Floats, demand_prices: Floats) -> tuple[float, bool]:
        floor = 1e-9 * float(prices.max(initial=0.0)) / len(self.failures) + 1e-300
        is_any_new = False
        # Price of a unit of load on an arc in its bypass: any such price is feasible.
        repair_prices = np.zeros((len(self.rates), len(self.capacity)))
        for arc, known in self.bypasses.items():
            for traffic in range(len(self.rates)):
                price = prices[traffic][self.failures[:, arc]].sum(axis=0)
                if not price.any():
                    continue
                path = self._find_bypass(arc, price + floor)
                assert path is not None
                repair_prices[traffic, arc] = float(price[list(path)].sum())
                cheapest = min(float(price[list(each)].sum()) for each in known)
                if repair_prices[traffic, arc] < cheapest * (1 - 1e-9):
                    known.append(path)
                    nothing = np.zeros((1, len(self.rates)))
                    self.portions[arc] = np.concatenate([self.portions[arc], nothing])
                    is_any_new = True
        least_total = 0.0
        tolerance = 1e-9 * max(float(np.abs(demand_prices).max(initial=0.0)), 1e-300)
        for demand, ends in enumerate(self.ends):
            rates = self.rates[:, demand]
            price = np.einsum("m,mfe->fe", rates, prices)
            price = (price * self.joined[demand][:, None]).sum(axis=0) + rates @ repair_prices
            path = find_cheapest_path(self.topology, price + floor, *ends)
            assert path is not None
            cost = float(price[list(path)].sum())
            least_total += cost
            if cost < demand_prices[demand] - tolerance:
                is_any_new |= self._add_column(demand, ProtectedPath(path, None))
        paid = float((prices * self.capacity).sum())
        return (least_total / paid if paid > 0 else 0.0), is_any_new

    # One path for each demand and one bypass for each arc.

    def _choose_single(
        self, shares: Floats, bound: float, is_complete: bool
    ) -> tuple[list[int], float]:
        for arc, portion in self.portions.items():
            self._choose_bypass(arc, int(portion.sum(axis=1).argmax()))
        chosen = [max(each, key=lambda number: shares[number]) for each in self.columns_of]
        best = np.inf
        for _ in range(MAX_TURNS):
            chosen = self._move_demands(chosen)
            self._move_bypasses(chosen)
            worst = float(self._find_worst(self._sum_loads(chosen)).max())
            if worst >= best * (1 - TARGET_GAP):
                break
            best = worst
        if best > bound * (1 + TARGET_GAP) and self._list_all_paths():
            return self._choose_by_program(chosen, bound)
        return chosen, bound

    def _list_all_paths(self) -> bool:
        """List every path and every bypass if there are few; return whether all are listed."""
        pairs = [
            *self.ends,
            *(
                (int(self.topology.tail[arc]), int(self.topology.head[arc]))
                for arc in self.bypasses
            ),
        ]
        listed = []
        left = MAX_LISTED_PATHS
        for ends in pairs:
            listed.append(list(islice(list_simple_paths(self.topology, *ends), left + 1)))
            left -= len(listed[-1])
            if left < 0:
                return False
        for demand, paths in enumerate(listed[: len(self.ends)]):
            for path in paths:
                self._add_column(demand, ProtectedPath(path, None))
        for (arc, known), paths in zip(
            self.bypasses.items(), listed[len(self.ends) :], strict=True
        ):
            usable = self._find_usable_arcs(arc)
            known += (each for each in paths if usable[list(each)].all() and each not in known)
            self._choose_bypass(arc, known.index(self._get_bypass(arc)))
        return True

    def _choose_by_program(self, chosen: list[int], bound: float) -> tuple[list[int], float]:
        """Choose by an integer program over all paths and bypasses."""
        best = float(self._find_worst(self._sum_loads(chosen)).max())
        for _ in range(MAX_ROUNDS):
            solution = self._solve_choice(best)
            # The rows of the program may be off by as much as the gap once more.
            if solution is None or best <= solution.bound * (1 + 2 * TARGET_GAP):
                return chosen, best
            bound = max(bound, solution.bound)
            if solution.values is None:
                break
            values = solution.values
            candidate = [
                next(number for number in numbers if values[number]) for numbers in self.columns_of
            ]
            before = {arc: self._get_bypass(arc) for arc in self.bypasses}
            start = len(self.columns) + sum(map(len, self.bypasses.values())) * len(self.rates)
            for arc, paths in self.bypasses.items():
                self._choose_bypass(arc, int(values[start : start + len(paths)].argmax()))
                start += len(paths)
            loads = self._sum_loads(candidate)
            value = float(self._find_worst(loads).max())
            if value < best:
                best, chosen = value, candidate
            else:
                for arc, path in before.items():
                    self._choose_bypass(arc, self.bypasses[arc].index(path))
            if not self._add_rows(loads, solution.bound * (1 + TARGET_GAP)):
                break
        return chosen, bound

    def _solve_choice(self, best: float) -> IntegerSolution | None:
        """The integer program: as the linear one, with one bypass chosen for each arc."""
        load_rows, cover = self._build_program()
        # Over the best so far, so that the solver's tolerances suit any utilisation.
        load_rows[:, :-1] /= best
        count, traffic_count = len(self.columns), len(self.rates)
        sizes = [len(paths) for paths in self.bypasses.values()]
        amounts, choices = sum(sizes) * traffic_count, sum(sizes)
        demand_of = np.array([column.demand for column in self.columns])
        choose = np.zeros((len(self.ends), count))
        choose[demand_of, np.arange(count)] = 1.0
        # An amount only on the bypass that is chosen, and one bypass for each arc.
        allow = np.repeat(np.eye(choices), traffic_count, axis=0)
        single = np.zeros((len(sizes), choices))
        single[np.repeat(np.arange(len(sizes)), sizes), np.arange(choices)] = -1.0
        rows = np.vstack(
            [
                np.insert(-np.vstack([load_rows, cover]), [count + amounts] * choices, 0.0, axis=1),
                np.hstack([choose, np.zeros((len(choose), amounts + choices + 1))]),
                np.hstack(
                    [np.zeros((amounts, count)), -np.eye(amounts), allow, np.zeros((amounts, 1))]
                ),
                np.hstack(
                    [np.zeros((len(sizes), count + amounts)), single, np.zeros((len(sizes), 1))]
                ),
            ]
        )
        least = np.zeros(len(rows))
        chosen_from = len(load_rows) + len(cover)
        least[chosen_from : chosen_from + len(choose)] = 1.0
        least[len(rows) - len(sizes) :] = -1.0
        costs = np.zeros(rows.shape[1])
        costs[-1] = 1.0
        most = np.concatenate([np.ones(count), np.ones(amounts), np.ones(choices), [1.0]])
        is_integer = np.concatenate(
            [np.ones(count), np.zeros(amounts), np.ones(choices), [0]]
        ).astype(bool)
        solution = solve_integer_program(
            costs, csr_matrix(rows), least, most, max_nodes=MAX_SEARCH_NODES, is_integer=is_integer
        )
        return None if solution is None else replace(solution, bound=best * solution.bound)

    def _choose_bypass(self, arc: int, number: int) -> None:
        self.portions[arc] = np.zeros((len(self.bypasses[arc]), len(self.rates)))
        self.portions[arc][number] = 1.0

    def _get_bypass(self, arc: int) -> ArcPath:
        return self.bypasses[arc][int(self.portions[arc][:, 0].argmax())]

    def _compute_use(self, number: int) -> Floats:
        use = super()._compute_use(number)
        column = self.columns[number]
        for arc in column.pair.path:
            if arc in self.bypasses:
                path = np.array(self._get_bypass(arc))
                added = self.rates[:, column.demand][:, None, None] / self.capacity[path]
                use[np.ix_(np.arange(len(use)), self.failures[:, arc], path)] += added
        return use

    def _find_cheap_pairs(
        self, demand: int, price: Floats, floor: float
    ) -> Iterator[ProtectedPath]:
        with_repairs = price.copy()
        for arc in self.bypasses:
            repair = price[self.failures[:, arc]][:, list(self._get_bypass(arc))].sum()
            with_repairs[0, arc] += repair
        yield from super()._find_cheap_pairs(demand, with_repairs, floor)

    def _move_bypasses(self, chosen: Sequence[int]) -> None:
        """Move bypasses off the busiest arc of the worst state while that helps."""
        use = self._sum_loads(chosen) / self.capacity
        before = use[:, 0] * self.capacity
        for _ in range(MAX_MOVES):
            busiest = tuple(int(each) for each in np.unravel_index(int(use.argmax()), use.shape))
            target = float(use[busiest]) * (1 - TARGET_GAP)
            moved = None
            for arc in np.flatnonzero(self.failures[busiest[1]]).tolist():
                if arc not in self.bypasses or busiest[2] not in self._get_bypass(arc):
                    continue
                failures = self.failures[:, arc]
                traffics = np.arange(len(use))
                rows = np.ix_(traffics, failures)
                old = np.array(self._get_bypass(arc))
                without = use.copy()
                load = before[:, arc][:, None, None]
                without[np.ix_(traffics, failures, old)] -= load / self.capacity[old]
                strain = ((without[rows] / target) ** (UTILISATION_POWER - 1)).sum(axis=(0, 1))
                path = self._find_bypass(arc, strain / self.capacity + 1e-12)
                assert path is not None
                new = np.array(path)
                without[np.ix_(traffics, failures, new)] += load / self.capacity[new]
                if without[rows].max() < target:
                    moved = arc, path, without
                    break
            if moved is None:
                return
            arc, path, use = moved
            if path not in self.bypasses[arc]:
                self.bypasses[arc].append(path)
            self._choose_bypass(arc, self.bypasses[arc].index(path))
