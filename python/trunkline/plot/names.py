"""Where the names of nodes stand: each beside its node, on the side where it hides least."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.plot.layout import Place

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

ROUNDS = 4
"""How often each name may move, once the others have places."""


def beside(
    names: Sequence[tuple[Place, str]],
    nodes: Sequence[Place],
    radius: float,
    *,
    width: float,
    letter: float,
) -> list[tuple[Place, Box]]:
    """Find places for names: below their nodes, or else above, right or left of them.

    Parameters
    ----------
    names : sequence of ((float, float), str)
        Middles of the nodes that have a name beside them [px], and their names.
    nodes : sequence of (float, float)
        Middles of all nodes [px].
    radius : float
        Of a node [px].
    width : float
        Of the drawing, which no name leaves [px].
    letter : float
        Width of a letter, about [px].

    Returns
    -------
    list of ((float, float), Box)
        Middle and base line of each name, and where it stands.
    """
    circles = [(x - radius, y - radius, x + radius, y + radius) for x, y in nodes]
    choices = [_choices(node, name, radius, width, letter) for node, name in names]
    # What of the nodes a name hides does not depend on the others.
    hidden = [[_shared(box, circles) for _, box in each] for each in choices]
    chosen: list[tuple[Place, Box] | None] = [None] * len(names)
    for _ in range(1 + ROUNDS):
        before = list(chosen)
        for number, each in enumerate(choices):
            chosen[number] = None
            others = [its[1] for its in chosen if its is not None]
            costs = [
                own + _shared(box, others)
                for own, (_, box) in zip(hidden[number], each, strict=True)
            ]
            chosen[number] = each[costs.index(min(costs))]
        if chosen == before:
            break
    return [its for its in chosen if its is not None]


def _choices(
    node: Place, name: str, radius: float, width: float, letter: float
) -> list[tuple[Place, Box]]:
    (x, y), half = node, letter * len(name) / 2
    sides = [
        (x, y + radius + 15),
        (x, y - radius - 5),
        (x + radius + 4 + half, y + 4.5),
        (x - radius - 4 - half, y + 4.5),
    ]
    found = [(side, (side[0] - half, side[1] - 11, side[0] + half, side[1] + 2)) for side in sides]
    return [each for each in found if each[1][0] >= 0 and each[1][2] <= width] or found[:1]


def _shared(box: Box, others: Sequence[Box]) -> float:
    """Area that a box shares with others [px²]."""
    left, top, right, bottom = box
    return sum(
        (min(right, other[2]) - max(left, other[0])) * (min(bottom, other[3]) - max(top, other[1]))
        for other in others
        if left < other[2] and other[0] < right and top < other[3] and other[1] < bottom
    )
