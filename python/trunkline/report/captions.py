"""Where the words beside links stand: each where it covers no other, no node and no link."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.plot.names import Box
from trunkline.results.numbers import percent, short

if TYPE_CHECKING:
    from trunkline.network.types import Link

Point = tuple[float, float]

LETTER, ROW = 5.7, 12.5
"""Width of a letter and height of a row [px]; text of 10.5 px."""
LEAST_LENGTH, SHORT_LENGTH = 84.0, 110.0
"""Shorter links have no caption; a little longer ones only their capacity [px]."""
ALONG = (0.5, 0.38, 0.62, 0.26, 0.74)
"""Shares of a link's length at which its caption may stand, the best first."""
MOST_COVERED = 0.1
"""Share of a caption that may lie on other words or on nodes; a link's tooltip says all of it."""
NEAR = 150.0
"""More than half a caption's width [px]."""


@dataclass(frozen=True, slots=True)
class Caption:
    """Words beside a link, each with its place."""

    lines: tuple[tuple[float, float, str, bool], ...]
    """Middle, base line, text, and whether it shows losses."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caption has to say, and the link it belongs to.

    Parameters
    ----------
    texts : sequence of (str, bool)
        Rows, and whether each shows losses.
    ends : (Point, Point)
        Middles of the nodes [px].
    beside : float
        Room that the arrows take on either side of the line between them [px].
    """

    texts: Sequence[tuple[str, bool]]
    ends: tuple[Point, Point]
    beside: float


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    half_width: float
    half_height: float

    def covers(self, other: _Box) -> float:
        """Area that two boxes share [px²]."""
        wide = self.half_width + other.half_width - abs(self.x - other.x)
        high = self.half_height + other.half_height - abs(self.y - other.y)
        return wide * high if wide > 0 and high > 0 else 0.0


def words(
    links: Sequence[Link], members: Sequence[int], losses: Sequence[float], long: float, common: str
) -> list[tuple[str, bool]]:
    """Rows of a link's caption: capacity and delay where they are unusual, losses if any.

    Parameters
    ----------
    long : float
        Its length in the drawing [px].
    common : str
        What is said once for all: capacity and delay, or the capacity.
    """
    if len(members) > 2 or long < LEAST_LENGTH:
        return []
    link = links[members[0]]
    first = size(link)
    if first == common:
        first = ""
    elif capacity(link) == common:
        first = delay(link)
    elif long < SHORT_LENGTH:
        first = capacity(link)
    lost = [percent(each) for each in losses if each > 0]
    rows = [(first, False)] if first else []
    return [*rows, (f"loss {' / '.join(lost)}", True)] if lost else rows


def size(link: Link) -> str:
    """Capacity and delay of a link."""
    return f"{capacity(link)} · {delay(link)}"


def capacity(link: Link) -> str:
    """Capacity of a link."""
    return short(link["rate_bit_s"], "bit/s")


def delay(link: Link) -> str:
    """Delay of a link."""
    return short(link["delay_ns"] / 1e9, "s")


def usual(links: Sequence[Link]) -> str:
    """Capacity and delay of most links, or their capacity, to be said once; empty if none is."""
    for said in (size, capacity):
        common, times = Counter(map(said, links)).most_common(1)[0] if links else ("", 0)
        if times >= 0.5 * len(links) and len(links) > 4:
            return common
    return ""


def place(
    wanted: Sequence[Wanted], spots: Sequence[Point], radius: float, names: Sequence[Box]
) -> list[Caption]:
    """Find a place for each caption, one after the other.

    Of the places beside its link each takes the first that covers nothing, or the one that
    covers least. A caption that would cover others or nodes is left out, those of losses last.

    Parameters
    ----------
    wanted : sequence of Wanted
        One for every link, also where there is nothing to say: its arrows are in the way.
    spots : sequence of Point
        Middles of the nodes [px].
    radius : float
        Of a node [px].
    names : sequence of Box
        Where the names of nodes stand [px].
    """
    middle = _middle(spots)
    taken = [_Box(x, y, radius, radius) for x, y in spots]
    taken += [
        _Box((left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2)
        for left, top, right, bottom in names
    ]
    arrows = [box for each in wanted for box in _along(each)]
    captions = []
    for each in sorted(wanted, key=lambda each: not any(lossy for _, lossy in each.texts)):
        if not each.texts:
            continue
        choices = _choices(each, middle)
        near = _near(choices, taken) + _near(choices, arrows)
        covered = [sum(map(box.covers, near)) for box in choices]
        best = choices[covered.index(min(covered))]
        hidden = sum(best.covers(box) for box in _near([best], taken))
        if hidden > MOST_COVERED * 4 * best.half_width * best.half_height:
            continue
        taken.append(best)
        top = best.y - best.half_height
        captions.append(
            Caption(
                tuple(
                    (round(best.x, 1), round(top + ROW * (row + 0.8), 1), said, loss)
                    for row, (said, loss) in enumerate(each.texts)
                )
            )
        )
    return captions


def _middle(spots: Sequence[Point]) -> Point:
    xs, ys = [x for x, _ in spots], [y for _, y in spots]
    return ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2) if spots else (0.0, 0.0)


def _near(choices: Sequence[_Box], boxes: Sequence[_Box]) -> list[_Box]:
    """Those boxes that one of the choices may touch."""
    left = min(box.x - box.half_width for box in choices) - NEAR
    right = max(box.x + box.half_width for box in choices) + NEAR
    top = min(box.y - box.half_height for box in choices) - NEAR
    bottom = max(box.y + box.half_height for box in choices) + NEAR
    return [box for box in boxes if left < box.x < right and top < box.y < bottom]


def _along(wanted: Wanted) -> list[_Box]:
    """The arrows of a link as small boxes."""
    (x1, y1), (x2, y2) = wanted.ends
    count = max(1, int(math.hypot(x2 - x1, y2 - y1) / 6))
    half = wanted.beside
    return [
        _Box(x1 + (x2 - x1) * step / count, y1 + (y2 - y1) * step / count, half, half)
        for step in range(count + 1)
    ]


def _choices(wanted: Wanted, middle: Point) -> list[_Box]:
    """Places on both sides of a link, first those that look away from the drawing's middle."""
    (x1, y1), (x2, y2) = wanted.ends
    long = math.hypot(x2 - x1, y2 - y1) or 1.0
    nx, ny = (y2 - y1) / long, (x1 - x2) / long
    outward = ((x1 + x2) / 2 - middle[0]) * nx + ((y1 + y2) / 2 - middle[1]) * ny
    # A level link through the middle has its caption above.
    if outward < -1 or (abs(outward) <= 1 and ny > 0):
        nx, ny = -nx, -ny
    half_width = LETTER / 2 * max(len(said) for said, _ in wanted.texts)
    half_height = ROW / 2 * len(wanted.texts)
    # A level or upright link's arrows stay clear of the box; at a slant its corner does.
    away = wanted.beside + 2 + half_width * abs(nx) + half_height * abs(ny)
    return [
        _Box(
            x1 + (x2 - x1) * share + side * nx * away,
            y1 + (y2 - y1) * share + side * ny * away,
            half_width,
            half_height,
        )
        for side in (1, -1)
        for share in ALONG
    ]
