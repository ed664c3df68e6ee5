"""Shortest-path routes, as the packet engine finds them.

Source: Dijkstra's algorithm over link metrics. Equal cost: the next hop with the smallest node
index wins, then the smallest link index (`crates/engine/src/route.rs`).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.network.types import Link


def find_next_links(nodes: int, links: Sequence[Link], destination: int) -> list[int | None]:
    """Out-link of each node towards a destination; None there, and where no path leads there."""
    incoming: list[list[int]] = [[] for _ in range(nodes)]
    outgoing: list[list[int]] = [[] for _ in range(nodes)]
    for index, link in enumerate(links):
        incoming[link["to"]].append(index)
        outgoing[link["from"]].append(index)
    distance: dict[int, int] = {destination: 0}
    frontier = [(0, destination)]
    while frontier:
        cost, node = heapq.heappop(frontier)
        if cost > distance[node]:
            continue
        for index in incoming[node]:
            link = links[index]
            new_cost = cost + link["metric"]
            if new_cost < distance.get(link["from"], new_cost + 1):
                distance[link["from"]] = new_cost
                heapq.heappush(frontier, (new_cost, link["from"]))
    chosen: list[int | None] = []
    for node in range(nodes):
        costs = [
            (links[index]["metric"] + distance[links[index]["to"]], links[index]["to"], index)
            for index in outgoing[node]
            if links[index]["to"] in distance
        ]
        chosen.append(min(costs)[2] if costs and node != destination else None)
    return chosen
