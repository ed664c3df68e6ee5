"""Positions of nodes in a picture of a network."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NodePosition = tuple[float, float]

LAYOUT_SEED = 1
MAX_EXACT_NODES = 80
"""Nodes up to which places follow the distances between nodes; beyond, springs are faster."""


PART_GAP = 0.6  # Room between parts that are not joined, in lengths of a part of two nodes.

FLAT_RATIO = 0.03  # Height over width below which a nearly straight layout is drawn as a line.


def place_nodes(
    nodes: Sequence[str],
    edges: Iterable[tuple[str, str]],
    given: Mapping[str, NodePosition] | None = None,
) -> dict[str, NodePosition]:
    """Place nodes, x to the right and y upward.

    given: Places that the scenario gives. If every node has one, they do not change;
        otherwise the others are found by springs around them.
    Returns: From 0 to 1 along the longer side; the same input gives the same places.
    """
    known = {name: place for name, place in (given or {}).items() if name in set(nodes)}
    if not nodes:
        return {}
    if len(known) == len(nodes):
        return _scale_to_unit({name: known[name] for name in nodes})
    # Only for a search: with its own imports it is 550 modules.
    import networkx as nx

    graph: Any = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((a, b) for a, b in edges if a != b)
    if known:
        start = _start_around(nodes, known)
        found = nx.spring_layout(
            graph, pos=start, fixed=sorted(known), seed=LAYOUT_SEED, iterations=200
        )
        return _scale_to_unit({name: _to_position(found[name]) for name in nodes})
    parts = [sorted(part, key=nodes.index) for part in nx.connected_components(graph)]
    parts.sort(key=lambda part: (-len(part), nodes.index(part[0])))
    placed = _arrange_parts([_place_part(graph.subgraph(part), part) for part in parts])
    return _scale_to_unit({name: placed[name] for name in nodes})


def _arrange_parts(parts: Sequence[Mapping[str, NodePosition]]) -> dict[str, NodePosition]:
    """Place parts side by side; more than three in rows, the whole wider than tall."""
    widths = [max(x for x, _ in part.values()) + PART_GAP for part in parts]
    heights = [max(y for _, y in part.values()) + PART_GAP for part in parts]
    max_row_width = sum(widths)
    if len(parts) > 3:
        area = sum(width * height for width, height in zip(widths, heights, strict=True))
        max_row_width = max(*widths, math.sqrt(4 * area))
    placed: dict[str, NodePosition] = {}
    left = top = row = 0.0
    for part, width, height in zip(parts, widths, heights, strict=True):
        if left and left + width > max_row_width + PART_GAP:
            left, top, row = 0.0, top - row, 0.0
        placed |= {name: (left + x, top - height + y) for name, (x, y) in part.items()}
        left, row = left + width, max(row, height)
    return placed


def _place_part(graph: Any, names: list[str]) -> dict[str, NodePosition]:
    """Places of one connected part, its longest direction lying, the first node at the left."""
    import networkx as nx

    if len(names) == 1:
        return {names[0]: (0.0, 0.0)}
    if len(names) <= MAX_EXACT_NODES:
        found = nx.kamada_kawai_layout(graph, pos=nx.circular_layout(names))
    else:
        found = nx.spring_layout(graph, seed=LAYOUT_SEED, iterations=100)
    points = {name: _to_position(found[name]) for name in names}
    centre = [sum(p[axis] for p in points.values()) / len(points) for axis in (0, 1)]
    moved = {name: (p[0] - centre[0], p[1] - centre[1]) for name, p in points.items()}
    xx, yy = (sum(p[axis] ** 2 for p in moved.values()) for axis in (0, 1))
    xy = sum(p[0] * p[1] for p in moved.values())
    turn = 0.5 * math.atan2(2 * xy, xx - yy)
    cos, sin = math.cos(turn), math.sin(turn)
    lying = {n: (cos * x + sin * y, cos * y - sin * x) for n, (x, y) in moved.items()}
    if lying[names[0]][0] > 0:
        lying = {name: (-x, -y) for name, (x, y) in lying.items()}
    # As many units as the part is wide in links, so that parts side by side look alike.
    return _shift_and_scale(lying, max(1.0, math.sqrt(len(names))))


def _start_around(
    nodes: Sequence[str], known: Mapping[str, NodePosition]
) -> dict[str, NodePosition]:
    """Start each node without a place on a circle around those that have one."""
    xs, ys = ([place[axis] for place in known.values()] for axis in (0, 1))
    middle = (sum(xs) / len(xs), sum(ys) / len(ys))
    radius = max(max(xs) - min(xs), max(ys) - min(ys), 1.0)
    start = dict(known)
    for number, name in enumerate(nodes):
        if name not in start:
            angle = 2 * math.pi * number / len(nodes)
            start[name] = (
                middle[0] + radius * math.cos(angle),
                middle[1] + radius * math.sin(angle),
            )
    return start


def _to_position(point: Any) -> NodePosition:
    return float(point[0]), float(point[1])


def _shift_and_scale(places: Mapping[str, NodePosition], longest: float) -> dict[str, NodePosition]:
    xs, ys = ([place[axis] for place in places.values()] for axis in (0, 1))
    size = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    scale = longest / size
    return {name: ((x - min(xs)) * scale, (y - min(ys)) * scale) for name, (x, y) in places.items()}


def _scale_to_unit(places: Mapping[str, NodePosition]) -> dict[str, NodePosition]:
    tall = max(y for _, y in places.values()) - min(y for _, y in places.values())
    wide = max(x for x, _ in places.values()) - min(x for x, _ in places.values())
    if tall < FLAT_RATIO * wide:
        places = {name: (x, 0.0) for name, (x, _) in places.items()}
    return {
        name: (round(x, 6), round(y, 6)) for name, (x, y) in _shift_and_scale(places, 1.0).items()
    }
