"""The program of robust placement: columns of protected paths, rows of states.

A state is one traffic and one failure, or none. Each demand gets one working path and, where the
network is protected, one backup that no failure of the path takes down. A column is such a pair,
with the load that it puts on each arc in each state. The linear program over all columns, in which
demands may split, is solved over a few of them and over the rows that matter: rows and columns are
added while the prices of the rows call for them. Then each demand keeps one column: an integer
program decides in small networks, elsewhere demands move off the busiest arc of the worst state.

With backups that share bandwidth the cheapest column is hard to find (it is NP-hard), so columns
are tried: the best backup of each of several paths. Their bound is that of free rerouting in each
state, which no protection undercuts. Where every column is listed, the program itself is exact.

Sources: S. Orlowski, M. Pioro, Complexity of column generation in network design with path-based
survivability mechanisms, Networks 59(1), 2012; A. Altin, H. Yaman, M. C. Pinar, The robust network
loading problem under hose demand uncertainty, INFORMS J. Computing 23(1), 2011 (several traffics).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix

from trunkline.te.disjoint_paths import Disjointness, find_disjoint_pair
from trunkline.te.joint_pairs import PairMember, find_joint_pair
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.linear_program import solve_integer_program, solve_linear_program
from trunkline.te.optimal_routing import minimise_utilisation
from trunkline.te.path_constraints import PathConstraints
from trunkline.te.post_failure_routing import find_components
from trunkline.te.spf import find_cheapest_path
from trunkline.te.topology import ArcPath, Bools, Floats, Topology, build_topology
from trunkline.te.unsplittable import UTILISATION_POWER, Commodity, compute_lower_bound

ProtectionScheme = Literal["none", "backup", "one-plus-one", "facility-bypass"]
SCHEMES_WITHOUT_PAIRS = ("none", "facility-bypass")  # Those whose columns have no backup.
MAX_LISTED_COLUMNS = 3000  # Columns up to which all are listed.
MAX_INTEGER_COLUMNS = 1500  # Columns up to which an integer program chooses.
MAX_SEARCH_NODES = 5000
MAX_ROUNDS = 100
MAX_ROWS_PER_ROUND = 300
MAX_TRIED_PATHS = 6  # Working paths of a demand for which a backup is priced in a round.
MAX_FIRST_PATHS = 64  # Shortest paths that are tried as the first of a pair.
MAX_MOVES = 3000
TARGET_GAP = 1e-6


@dataclass(frozen=True, slots=True)
class ProtectedPath:
    """A working path and its backup, None without one."""

    path: ArcPath
    backup: ArcPath | None


@dataclass(frozen=True, slots=True, eq=False)
class RobustRouting:
    """One protected path for each demand, and how good they are."""

    paths: list[ProtectedPath]
    mlu: float  # Maximum link utilisation over all states.
    split_mlu: float  # The same if demands could split over the columns that were found.
    # bound, single_path_bound: No routing of this kind has less, with splitting and on single
    # paths.
    bound: float
    single_path_bound: float
    shortest_mlu: float  # That of the pairs of least metric, from which the search began.
    worst: Floats  # shape (M, F): Maximum link utilisation in each traffic and each failure.
    loads: Floats  # shape (M, F, E): Loads of every arc in each state, in the unit of the traffic.
    # Whether every column was listed: the bounds are then the optima, to the limit of the search.
    is_complete: bool
    # With ``"facility-bypass"``: the path round each arc that fails and carries a demand.
    bypasses: dict[int, ArcPath]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A protected path of a demand, and the failures in which each of both carries it."""

    demand: int
    pair: ProtectedPath
    path_carries: Bools
    backup_carries: Bools


class RobustProgram:
    """The columns and rows that were found so far."""

    def __init__(
        self,
        topology: Topology,
        ends: Sequence[tuple[int, int]],
        rates: Floats,
        failures: Bools,
        protection: ProtectionScheme,
    ):
        self.topology, self.ends, self.rates, self.failures = topology, list(ends), rates, failures
        self.protection = protection
        self.capacity = topology.capacity.astype(np.float64)
        self.all_arcs = np.ones(len(self.capacity), dtype=bool)
        components = np.array([find_components(topology, ~dead) for dead in failures])
        sources, targets = [source for source, _ in ends], [target for _, target in ends]
        self.joined: Bools = (components[:, sources] == components[:, targets]).T
        """Whether the ends of a demand are joined in a failure, shape (D, F)."""
        self.columns: list[_Column] = []
        self.columns_of: list[list[int]] = [[] for _ in self.ends]
        self.seen: set[tuple[int, ProtectedPath]] = set()
        self.rows: list[tuple[int, int, int]] = []
        self.row_numbers: set[tuple[int, int, int]] = set()

    # The program.

    def solve(self) -> RobustRouting:
        """Generate columns, then choose one for each demand."""
        for demand in range(len(self.ends)):
            self._add_column(demand, self._find_first_pair(demand))
        shortest = [columns[0] for columns in self.columns_of]
        shortest_mlu = float(self._find_worst(self._sum_loads(shortest)).max(initial=0.0))
        is_complete = self._list_all_columns()
        split_mlu, bound, shares = self._generate(is_complete)
        if not is_complete:
            bound = max(bound, self._bound_by_free_rerouting(shares, bound))
        chosen, single_bound = self._choose_single(shares, bound, is_complete)
        loads = self._sum_loads(chosen)
        worst = self._find_worst(loads)
        mlu = float(worst.max(initial=0.0))
        for traffic in self.rates:
            commodities = [
                Commodity(*each, float(rate)) for each, rate in zip(self.ends, traffic, strict=True)
            ]
            single_bound = max(single_bound, compute_lower_bound(self.topology, commodities, bound))
        return RobustRouting(
            [self.columns[column].pair for column in chosen],
            mlu,
            split_mlu,
            min(bound, split_mlu),
            min(single_bound, mlu),
            shortest_mlu,
            worst,
            loads,
            is_complete,
            self.get_bypasses(loads),
        )

    def get_bypasses(self, loads: Floats) -> dict[int, ArcPath]:
        """Return the path round each arc that carries load; empty without local repair."""
        return {}

    def _generate(self, is_complete: bool) -> tuple[float, float, Floats]:
        """Add rows and columns until neither lowers or breaks the program."""
        bound, value, shares = 0.0, np.inf, np.zeros(0)
        self._add_rows(self._sum_loads([each[0] for each in self.columns_of]), 0.0)
        for _ in range(MAX_ROUNDS):
            relaxed, shares, prices, demand_prices = self._solve_program()
            loads = self._sum_shares(shares)
            value = float(self._find_worst(loads).max(initial=0.0))
            is_any_new = self._add_rows(loads, relaxed * (1 + TARGET_GAP))
            if is_complete:
                bound = max(bound, relaxed)
            else:
                lower, is_new_column = self._price_all(prices, demand_prices)
                bound, is_any_new = max(bound, lower), is_any_new or is_new_column
            if not is_any_new or value - bound <= TARGET_GAP * value:
                break
        # Columns of the last round have no share yet.
        return value, bound, np.pad(shares, (0, len(self.columns) - len(shares)))

    def _solve_program(self) -> tuple[float, Floats, Floats, Floats]:
        """Utilisation, shares of columns, prices (M, F, E), and the price of each demand."""
        count = len(self.columns)
        coefficients = self._build_rows(self.rows)
        demand_of = np.array([column.demand for column in self.columns])
        demand_rows = csr_matrix(
            (np.ones(count), (demand_of, np.arange(count))), shape=(len(self.ends), count + 1)
        )
        solution = solve_linear_program(
            c=np.append(np.zeros(count), 1.0),
            A_ub=csr_matrix(np.column_stack([coefficients, -np.ones(len(self.rows))])),
            b_ub=np.zeros(len(self.rows)),
            A_eq=demand_rows,
            b_eq=np.ones(len(self.ends)),
        )
        prices = np.zeros((len(self.rates), *self.failures.shape))
        row_prices = np.maximum(-solution.ineqlin.marginals, 0.0)
        for (traffic, failure, arc), price in zip(self.rows, row_prices, strict=True):
            prices[traffic, failure, arc] = price / self.capacity[arc]
        return float(solution.x[-1]), solution.x[:count], prices, solution.eqlin.marginals

    def _build_rows(self, rows: Sequence[tuple[int, int, int]]) -> Floats:
        """Compute the load that each column adds to the rows, over their capacity, shape (R, C).

        A row names traffic, failure and arc; the arc is up in that failure.
        """
        traffics, failures, arcs = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        demand_of = np.array([column.demand for column in self.columns])
        on_path, on_backup = self._mark_arcs(self.columns)
        path_carries = np.array([column.path_carries for column in self.columns])
        backup_carries = np.array([column.backup_carries for column in self.columns])
        crossings = (
            on_path[:, arcs] * path_carries[:, failures]
            + on_backup[:, arcs] * backup_carries[:, failures]
        )
        built: Floats = (
            crossings.T * self.rates[traffics][:, demand_of] / self.capacity[arcs][:, None]
        )
        return built

    def _mark_arcs(self, columns: Sequence[_Column]) -> tuple[Floats, Floats]:
        on_path = np.zeros((len(columns), len(self.capacity)))
        on_backup = np.zeros_like(on_path)
        for number, column in enumerate(columns):
            on_path[number, list(column.pair.path)] = 1.0
            on_backup[number, list(column.pair.backup or ())] = 1.0
        return on_path, on_backup

    def _sum_shares(self, shares: Floats) -> Floats:
        """Sum the loads of all states by shares of columns, shape (M, F, E)."""
        used = np.flatnonzero(shares > 1e-12)
        columns = [self.columns[number] for number in used]
        on_path, on_backup = self._mark_arcs(columns)
        demand_of = [column.demand for column in columns]
        path_carries = np.array([column.path_carries for column in columns])
        backup_carries = np.array([column.backup_carries for column in columns])
        loads = []
        for traffic in self.rates:
            amount = (shares[used] * traffic[demand_of])[:, None]
            loads.append(
                (amount * path_carries).T @ on_path + (amount * backup_carries).T @ on_backup
            )
        return np.where(self.failures, 0.0, np.array(loads))

    def _sum_loads(self, chosen: Sequence[int]) -> Floats:
        shares = np.zeros(len(self.columns))
        shares[list(chosen)] = 1.0
        return self._sum_shares(shares)

    def _find_worst(self, loads: Floats) -> Floats:
        worst: Floats = (loads / self.capacity).max(axis=2)
        return worst

    def _add_rows(self, loads: Floats, above: float) -> bool:
        """Add the arcs and states whose utilisation is above a value, the busiest first.

        Returns whether any is new.
        """
        use = loads / self.capacity
        order = np.argsort(-use, axis=None, kind="stable")[: 4 * MAX_ROWS_PER_ROUND]
        busiest = zip(*(each.tolist() for each in np.unravel_index(order, use.shape)), strict=True)
        new = [row for row in busiest if use[row] > above and row not in self.row_numbers]
        new = new[:MAX_ROWS_PER_ROUND]
        self.row_numbers.update(new)
        self.rows += new
        return bool(new)

    # Columns.

    def _add_column(self, demand: int, pair: ProtectedPath) -> bool:
        if (demand, pair) in self.seen:
            return False
        self.seen.add((demand, pair))
        self.columns_of[demand].append(len(self.columns))
        self.columns.append(self._make_column(demand, pair))
        return True

    def _make_column(self, demand: int, pair: ProtectedPath) -> _Column:
        joined = self.joined[demand]
        nothing = np.zeros_like(joined)
        if pair.backup is None:
            # Local repair leaves the rest of a path in use; without protection nothing fails.
            return _Column(demand, pair, joined, nothing)
        if self.protection == "one-plus-one":
            return _Column(demand, pair, joined, joined)
        broken = self.failures[:, list(pair.path)].any(axis=1)
        backup_broken = self.failures[:, list(pair.backup)].any(axis=1)
        return _Column(demand, pair, joined & ~broken, joined & broken & ~backup_broken)

    def _find_avoided_arcs(self, demand: int, path: ArcPath) -> Bools:
        """Arcs that fail with a path, in failures that leave the ends of its demand joined."""
        broken = self.failures[:, list(path)].any(axis=1) & self.joined[demand]
        avoided: Bools = self.failures[broken].any(axis=0)
        return avoided

    def _find_first_pair(self, demand: int) -> ProtectedPath:
        """Find the pair of least metric that is found soon, or proven the only kind there is."""
        source, target = self.ends[demand]
        names = self.topology.nodes[source], self.topology.nodes[target]
        is_joined = False
        for path in find_k_shortest_paths(
            self.topology, source, target, self.topology.igp, MAX_FIRST_PATHS
        ):
            is_joined = True
            if self.protection in SCHEMES_WITHOUT_PAIRS:
                return ProtectedPath(path, None)
            backup = self._find_backup(demand, path, self.topology.igp.astype(np.float64))
            if backup is not None:
                return ProtectedPath(path, backup)
        if not is_joined:
            raise ValueError(f"no links lead from {names[0]} to {names[1]}")
        member = PairMember(
            source, target, PathConstraints(), self.topology.capacity, self.all_arcs
        )
        kinds: tuple[Disjointness, ...] = ("risk", "node", "link")
        for kind in kinds:
            pair = find_joint_pair(self.topology, member, member, kind)
            if (
                pair is not None
                and not self._find_avoided_arcs(demand, pair[0])[list(pair[1])].any()
            ):
                return ProtectedPath(*pair)
        raise ValueError(
            f"no two paths from {names[0]} to {names[1]} were found that no failure takes down "
            "together"
        )

    def _find_backup(self, demand: int, path: ArcPath, price: Floats) -> ArcPath | None:
        usable = ~self._find_avoided_arcs(demand, path)
        return find_cheapest_path(self.topology, price, *self.ends[demand], usable)

    def _list_all_columns(self) -> bool:
        """List every column if there are few; return whether they all are listed."""
        listed: list[tuple[int, ProtectedPath]] = []
        paths_between: dict[tuple[int, int], list[ArcPath]] = {}
        for demand, ends in enumerate(self.ends):
            if ends not in paths_between:
                found = list(islice(list_simple_paths(self.topology, *ends), MAX_LISTED_COLUMNS))
                if len(found) == MAX_LISTED_COLUMNS:
                    return False
                paths_between[ends] = found
            paths = paths_between[ends]
            marks = np.zeros((len(paths), len(self.capacity)), dtype=bool)
            for number, path in enumerate(paths):
                marks[number, list(path)] = True
            for path in paths:
                if self.protection == "none":
                    listed.append((demand, ProtectedPath(path, None)))
                else:
                    avoided = self._find_avoided_arcs(demand, path)
                    apart = np.flatnonzero(~(marks & avoided).any(axis=1))
                    listed += ((demand, ProtectedPath(path, paths[other])) for other in apart)
                if len(listed) > MAX_LISTED_COLUMNS:
                    return False
        for each in listed:
            self._add_column(*each)
        return True

    def _price_all(self, prices: Floats, demand_prices: Floats) -> tuple[float, bool]:
        """Add columns that are cheaper than their demand pays; return a bound and if any is new."""
        floor = 1e-9 * float(prices.max(initial=0.0)) / len(self.failures) + 1e-300
        least_total, is_any_new = 0.0, False
        tolerance = 1e-9 * max(float(np.abs(demand_prices).max(initial=0.0)), 1e-300)
        for demand in range(len(self.ends)):
            price = np.einsum("m,mfe->fe", self.rates[:, demand], prices)
            price = price * self.joined[demand][:, None]
            least_total += self._bound_price(demand, price)
            for pair in self._find_cheap_pairs(demand, price, floor):
                column = self._make_column(demand, pair)
                cost = float(
                    price[column.path_carries][:, list(pair.path)].sum()
                    + price[column.backup_carries][:, list(pair.backup or ())].sum()
                )
                if cost < demand_prices[demand] - tolerance:
                    is_any_new |= self._add_column(demand, pair)
        # The prices of all capacity sum to 1: they are those of one utilisation.
        paid = float((prices * self.capacity).sum())
        return (least_total / paid if paid > 0 else 0.0), is_any_new

    def _bound_price(self, demand: int, price: Floats) -> float:
        """Bound the price of a demand's columns from below; 0 if unknown (see the header)."""
        if self.protection == "backup":
            return 0.0
        total = np.where(self.failures, 0.0, price).sum(axis=0)
        if self.protection == "none":
            path = find_cheapest_path(self.topology, total + 1e-300, *self.ends[demand])
            return float(total[list(path or ())].sum())
        # Pairs that share no link cost no more than pairs that share no failure. Whole prices,
        # rounded down, make the bound safe.
        if not self.joined[demand].all() or not self._covers_all_links:
            return 0.0
        unit = float(total.max()) / 1e6 or 1.0
        pair = find_disjoint_pair(
            self.topology, *self.ends[demand], np.floor(total / unit).astype(np.int64)
        )
        return 0.0 if pair is None else pair.cost * unit

    @property
    def _covers_all_links(self) -> bool:
        """Whether each link fails alone or with others, so that all pairs share no link."""
        return bool(self.failures.any(axis=0).all())

    def _find_cheap_pairs(
        self, demand: int, price: Floats, floor: float
    ) -> Iterator[ProtectedPath]:
        """Find the pairs that may be the cheapest at prices of failures and arcs, shape (F, E)."""
        ends = self.ends[demand]
        total = price.sum(axis=0) + floor
        first = find_cheapest_path(self.topology, total, *ends)
        if first is None:
            return
        if self.protection in SCHEMES_WITHOUT_PAIRS:
            yield ProtectedPath(first, None)
            return
        known = [self.columns[number].pair for number in self.columns_of[demand]]
        candidates = dict.fromkeys(
            [first, *(pair.path for pair in known[::-1]), *(pair.backup or () for pair in known)]
        )
        for path in islice((each for each in candidates if each), MAX_TRIED_PATHS):
            broken = self.failures[:, list(path)].any(axis=1)
            carried = total
            if self.protection == "backup":
                carried = price[broken].sum(axis=0) + floor
            backup = self._find_backup(demand, path, carried)
            if backup is not None:
                yield ProtectedPath(path, backup)

    def _bound_by_free_rerouting(self, shares: Floats, bound: float) -> float:
        """The least utilisation of each state alone, however it is routed: the worst is a bound."""
        worst = self._find_worst(self._sum_shares(shares))
        for place in np.argsort(-worst, axis=None, kind="stable").tolist():
            traffic_number, failure = np.unravel_index(place, worst.shape)
            if worst[traffic_number, failure] <= bound * (1 + TARGET_GAP):
                break
            traffic = np.zeros((len(self.topology.nodes),) * 2)
            for demand, rate in enumerate(self.rates[traffic_number]):
                if self.joined[demand, failure]:
                    traffic[self.ends[demand]] += rate
            usable = ~self.failures[failure]
            arcs = [arc for arc, is_up in zip(self.topology.arcs, usable, strict=True) if is_up]
            left = build_topology(self.topology.nodes, arcs)
            bound = max(bound, minimise_utilisation(left, traffic).bound)
        return bound

    # One column for each demand.

    def _choose_single(
        self, shares: Floats, bound: float, is_complete: bool
    ) -> tuple[list[int], float]:
        """Choose a column for each demand; return them and a bound for all such choices."""
        starts = [[max(each, key=lambda number: shares[number]) for each in self.columns_of]]
        starts.append([each[0] for each in self.columns_of])
        found = [self._move_demands(start) for start in starts]
        chosen = min(found, key=lambda each: self._find_worst(self._sum_loads(each)).max())
        if len(self.columns) > MAX_INTEGER_COLUMNS:
            return chosen, bound
        best = float(self._find_worst(self._sum_loads(chosen)).max(initial=0.0))
        single_bound = bound
        for _ in range(MAX_ROUNDS):
            if best <= single_bound * (1 + TARGET_GAP):
                break
            solved = self._solve_integer_program(best)
            if solved is None:
                # No choice is better than the best so far.
                single_bound = best
                break
            candidate, lower = solved
            single_bound = max(single_bound, min(lower, best))
            if candidate is None:
                break
            loads = self._sum_loads(candidate)
            if (value := float(self._find_worst(loads).max())) < best:
                best, chosen = value, candidate
            if not self._add_rows(loads, lower * (1 + TARGET_GAP)):
                break
        return chosen, single_bound if is_complete else bound

    def _solve_integer_program(self, best: float) -> tuple[list[int] | None, float] | None:
        """A choice of least utilisation over the rows so far, and its bound."""
        count = len(self.columns)
        # Over the best so far, so that the solver's tolerances suit any utilisation.
        use = self._build_rows(self.rows) / best
        demand_of = np.array([column.demand for column in self.columns])
        choose = csr_matrix(
            (np.ones(count), (demand_of, np.arange(count))), shape=(len(self.ends), count)
        ).toarray()
        rows = np.block(
            [
                [-use, np.ones((len(use), 1))],
                [choose, np.zeros((len(choose), 1))],
            ]
        )
        solution = solve_integer_program(
            np.append(np.zeros(count), 1.0),
            csr_matrix(rows),
            np.append(np.zeros(len(use)), np.ones(len(choose))),
            np.ones(count + 1),
            max_nodes=MAX_SEARCH_NODES,
            is_integer=np.append(np.ones(count, dtype=bool), False),
        )
        if solution is None:
            return None
        if solution.values is None:
            return None, best * solution.bound
        chosen = [
            next(number for number in numbers if solution.values[number])
            for numbers in self.columns_of
        ]
        return chosen, best * solution.bound

    def _move_demands(self, start: Sequence[int]) -> list[int]:
        """Move demands off the busiest arc of the worst state while that helps."""
        chosen = list(start)
        use = self._sum_loads(chosen) / self.capacity
        for _ in range(MAX_MOVES):
            busiest = tuple(int(each) for each in np.unravel_index(int(use.argmax()), use.shape))
            target = float(use[busiest]) * (1 - TARGET_GAP)
            rates = self.rates[busiest[0]]
            moved = False
            for demand in sorted(range(len(chosen)), key=lambda each: (-rates[each], each)):
                if not rates[demand]:
                    break
                old = self._compute_use(chosen[demand])
                if not old[busiest]:
                    continue
                without = use - old
                best: tuple[float, int, Floats] | None = None
                for number in self._list_alternatives(demand, without):
                    new = self._compute_use(number)
                    total = without + new
                    if total[new > 0].max(initial=0.0) >= target or total[busiest] >= target:
                        continue
                    strain = float(((total / target) ** UTILISATION_POWER).sum())
                    if best is None or strain < best[0]:
                        best = strain, number, total
                if best is not None:
                    chosen[demand], use, moved = best[1], best[2], True
                    break
            if not moved:
                break
        return chosen

    def _list_alternatives(self, demand: int, use: Floats) -> list[int]:
        """List the columns of a demand, with new ones for the present utilisation."""
        highest = float(use.max()) or 1.0
        strain = (use / highest) ** (UTILISATION_POWER - 1) / self.capacity
        price = np.einsum("m,mfe->fe", self.rates[:, demand], strain)
        for pair in list(
            self._find_cheap_pairs(
                demand, price * self.joined[demand][:, None], 1e-12 * float(price.max()) + 1e-300
            )
        ):
            self._add_column(demand, pair)
        return self.columns_of[demand]

    def _compute_use(self, number: int) -> Floats:
        """Compute the utilisation that a column adds in each state, shape (M, F, E)."""
        column = self.columns[number]
        use = np.zeros(self.failures.shape)
        use[np.ix_(column.path_carries, np.array(column.pair.path))] = 1.0
        if column.pair.backup is not None:
            use[np.ix_(column.backup_carries, np.array(column.pair.backup))] += 1.0
        use = np.where(self.failures, 0.0, use) / self.capacity
        added: Floats = self.rates[:, column.demand][:, None, None] * use
        return added


def list_simple_paths(topology: Topology, source: int, target: int) -> Iterator[ArcPath]:
    """List every path without a loop between two nodes."""
    stack: list[tuple[int, ArcPath, frozenset[int]]] = [(source, (), frozenset((source,)))]
    while stack:
        node, path, visited = stack.pop()
        if node == target:
            yield path
            continue
        for arc in reversed(topology.arcs_from[node]):
            head = int(topology.head[arc])
            if head not in visited:
                stack.append((head, (*path, arc), visited | {head}))
