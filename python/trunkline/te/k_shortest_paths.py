"""The k shortest loop-free paths, in order of metric, hops and names.

Source: J. Y. Yen, Finding the K Shortest Loopless Paths in a Network, Management Science 17(11),
1971.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from trunkline.te.cspf import find_shortest_path
from trunkline.te.topology import ArcPath, Bools, Ints, Topology


def find_k_shortest_paths(
    topology: Topology,
    source: int,
    target: int,
    metric: Ints,
    max_count: int,
    usable: Bools | None = None,
) -> Iterator[ArcPath]:
    """Yield at most ``max_count`` loop-free paths from the cheapest on, each found on request."""
    arcs_up = np.ones(len(metric), dtype=bool) if usable is None else usable
    no_preference = np.ones(len(metric))
    first = find_shortest_path(topology, source, target, metric, arcs_up, no_preference)
    if first is None:
        return
    found_paths: list[ArcPath] = []
    heap = [(_make_sort_key(topology, metric, first), first)]
    seen = {first}
    while heap and len(found_paths) < max_count:
        _, path = heapq.heappop(heap)
        found_paths.append(path)
        yield path
        if len(found_paths) == max_count:
            return
        for spur_index in range(len(path)):
            root = path[:spur_index]
            left = arcs_up.copy()
            left[[o[spur_index] for o in found_paths if o[:spur_index] == root]] = False
            if root:
                left &= ~np.isin(topology.tail, topology.tail[list(root)])
                left &= ~np.isin(topology.head, topology.tail[list(root)])
            spur_node = int(topology.tail[path[spur_index]])
            spur_path = find_shortest_path(topology, spur_node, target, metric, left, no_preference)
            if spur_path is not None and (*root, *spur_path) not in seen:
                candidate = (*root, *spur_path)
                seen.add(candidate)
                heapq.heappush(heap, (_make_sort_key(topology, metric, candidate), candidate))


def _make_sort_key(
    topology: Topology, metric: Ints, path: ArcPath
) -> tuple[int, int, tuple[tuple[int, str], ...]]:
    names = tuple((int(topology.rank[topology.head[a]]), topology.arcs[a].name) for a in path)
    return int(metric[list(path)].sum()), len(path), names
