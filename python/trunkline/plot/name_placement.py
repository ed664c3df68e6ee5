"""Places of the names of nodes: each next to its node, on the side where it hides least."""

from collections.abc import Sequence

from trunkline.plot.layout import NodePosition

Box = tuple[float, float, float, float]  # Left, top, right, bottom.

PLACEMENT_ROUNDS = 4  # How often each name may move, once the others have places.


def place_names(
    names: Sequence[tuple[NodePosition, str]],
    nodes: Sequence[NodePosition],
    radius: float,
    *,
    width: float,
    letter: float,
) -> list[tuple[NodePosition, Box]]:
    """Find places for names: below their nodes, or else above, right or left of them.

    names: Middles of the nodes that have a name next to them [px], and their names.
    nodes: Middles of all nodes [px].
    radius: Radius of a node [px].
    width: Width of the drawing, which no name leaves [px].
    letter: Width of a letter, about [px].
    Returns: Middle and base line of each name, and where it stands.
    """
    circles = [(x - radius, y - radius, x + radius, y + radius) for x, y in nodes]
    positions = [_list_positions(node, name, radius, width, letter) for node, name in names]
    # The part of the nodes that a name hides does not depend on other names.
    node_overlaps = [[_compute_overlap(box, circles) for _, box in each] for each in positions]
    chosen: list[tuple[NodePosition, Box] | None] = [None] * len(names)
    for _ in range(1 + PLACEMENT_ROUNDS):
        before = list(chosen)
        for number, each in enumerate(positions):
            chosen[number] = None
            others = [placed[1] for placed in chosen if placed is not None]
            costs = [
                node_overlap + _compute_overlap(box, others)
                for node_overlap, (_, box) in zip(node_overlaps[number], each, strict=True)
            ]
            chosen[number] = each[costs.index(min(costs))]
        if chosen == before:
            break
    return [placed for placed in chosen if placed is not None]


def _list_positions(
    node: NodePosition, name: str, radius: float, width: float, letter: float
) -> list[tuple[NodePosition, Box]]:
    (x, y), half_width = node, letter * len(name) / 2
    sides = [
        (x, y + radius + 15),
        (x, y - radius - 5),
        (x + radius + 4 + half_width, y + 4.5),
        (x - radius - 4 - half_width, y + 4.5),
    ]
    positions = [
        (side, (side[0] - half_width, side[1] - 11, side[0] + half_width, side[1] + 2))
        for side in sides
    ]
    return [each for each in positions if each[1][0] >= 0 and each[1][2] <= width] or positions[:1]


def _compute_overlap(box: Box, others: Sequence[Box]) -> float:
    """Area that a box shares with others [px²]."""
    left, top, right, bottom = box
    return sum(
        (min(right, other[2]) - max(left, other[0])) * (min(bottom, other[3]) - max(top, other[1]))
        for other in others
        if left < other[2] and other[0] < right and top < other[3] and other[1] < bottom
    )
