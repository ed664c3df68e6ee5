"""Routes at the start of a run, as the packet engine computes them."""

import json

from trunkline import _core
from trunkline.network.types import NetworkData


def find_next_links(network: NetworkData) -> dict[int, list[int | None]]:
    """Out-link of each node towards every other, by destination.

    None at the destination, and where no route leads there.
    """
    count = len(network["nodes"])
    found: dict[int, list[int | None]] = {node: [None] * count for node in range(count)}
    for node, destination, link in _core.routes(json.dumps(network), True):
        next_links = found[destination]
        if link >= 0 and next_links[node] is None:
            next_links[node] = link
    return found
