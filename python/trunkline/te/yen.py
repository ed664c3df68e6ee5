"""The k shortest loop-free paths, in order of metric, hops and names.

Source: J. Y. Yen, Finding the K Shortest Loopless Paths in a Network, Management Science 17(11),
1971.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from trunkline.te.cspf import shortest
from trunkline.te.topology import Bools, Ints, Path, Topology


def k_shortest(
    topology: Topology,
    source: int,
    target: int,
    metric: Ints,
    most: int,
    usable: Bools | None = None,
) -> Iterator[Path]:
    """Loop-free paths from the cheapest on.

    Parameters
    ----------
    source, target : int
        Nodes; different.
    metric : array of int64, shape (E,)
        Cost of each arc, 1 or more.
    most : int
        How many to give at most.
    usable : array of bool, shape (E,), optional
        Arcs that may be used.

    Yields
    ------
    tuple of int
        Arcs; each path once, found only when it is asked for.
    """
    up = np.ones(len(metric), dtype=bool) if usable is None else usable
    even = np.ones(len(metric))
    first = shortest(topology, source, target, metric, up, even)
    if first is None:
        return
    known: list[Path] = []
    heap = [(_key(topology, metric, first), first)]
    seen = {first}
    while heap and len(known) < most:
        _, path = heapq.heappop(heap)
        known.append(path)
        yield path
        if len(known) == most:
            return
        for turn in range(len(path)):
            root = path[:turn]
            left = up.copy()
            left[[o[turn] for o in known if o[:turn] == root and len(o) > turn]] = False
            if root:
                left &= ~np.isin(topology.tail, topology.tail[list(root)])
                left &= ~np.isin(topology.head, topology.tail[list(root)])
            spur = int(topology.tail[path[turn]])
            rest = shortest(topology, spur, target, metric, left, even)
            if rest is not None and (*root, *rest) not in seen:
                whole = (*root, *rest)
                seen.add(whole)
                heapq.heappush(heap, (_key(topology, metric, whole), whole))


def _key(
    topology: Topology, metric: Ints, path: Path
) -> tuple[int, int, tuple[tuple[int, str], ...]]:
    names = tuple((int(topology.rank[topology.head[a]]), topology.arcs[a].name) for a in path)
    return int(metric[list(path)].sum()), len(path), names
