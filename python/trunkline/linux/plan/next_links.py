"""Routes at the start of a run, those of the packet engine."""

import json

from trunkline import _core
from trunkline.network.types import NetworkData


def find_next_links(network: NetworkData) -> dict[int, list[int | None]]:
    """Out-link of each node towards every end of a flow, by destination.

    None at the destination, and where no route leads there.
    """
    count = len(network["nodes"])
    found: dict[int, list[int | None]] = {}
    for node, destination, link in _core.routes(json.dumps(network)):
        next_links = found.setdefault(destination, [None] * count)
        if link >= 0 and next_links[node] is None:
            next_links[node] = link
    return found
