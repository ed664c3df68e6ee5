"""Places of texts next to links: each covers no other text, no node and no link."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.plot.name_placement import Box
from trunkline.results.number_format import format_percent, format_short_quantity

if TYPE_CHECKING:
    from trunkline.network.types import Link

Point = tuple[float, float]

LETTER_WIDTH, ROW_HEIGHT = 5.7, 12.5  # Width of a letter and height of a row [px]; text of 10.5 px.
MIN_CAPTIONED_LENGTH, MIN_FULL_CAPTION_LENGTH = 84.0, 110.0
"""Shorter links have no caption; a little longer ones only their capacity [px]."""
CAPTION_POSITIONS = (0.5, 0.38, 0.62, 0.26, 0.74)
"""Shares of a link's length at which its caption may stand, the best first."""
MAX_COVERED_SHARE = 0.1
"""Share of a caption that may lie on other words or on nodes; a link's tooltip says all of it."""
NEAR_DISTANCE = 150.0  # More than half a caption's width [px].


@dataclass(frozen=True, slots=True)
class Caption:
    """Texts next to a link, each with its place."""

    lines: tuple[tuple[float, float, str, bool], ...]
    """Middle, base line, text, and whether it shows losses."""


@dataclass(frozen=True, slots=True)
class CaptionRequest:
    """Text of a caption, and its link."""

    texts: Sequence[tuple[str, bool]]  # Rows, and whether each shows losses.
    ends: tuple[Point, Point]  # Middles of the nodes [px].
    arrow_room: float  # Room that the arrows take on either side of the line between them [px].


@dataclass(frozen=True, slots=True)
class _CaptionBox:
    x: float
    y: float
    half_width: float
    half_height: float

    def compute_overlap(self, other: _CaptionBox) -> float:
        """Area that two boxes share [px²]."""
        overlap_width = self.half_width + other.half_width - abs(self.x - other.x)
        overlap_height = self.half_height + other.half_height - abs(self.y - other.y)
        return overlap_width * overlap_height if overlap_width > 0 and overlap_height > 0 else 0.0


def list_caption_rows(
    links: Sequence[Link],
    members: Sequence[int],
    losses: Sequence[float],
    length: float,
    common: str,
) -> list[tuple[str, bool]]:
    """List the rows of a link's caption: capacity and delay where they are unusual, losses if any.

    length: Its length in the drawing [px].
    common: Text that all share: capacity and delay, or the capacity.
    """
    if len(members) > 2 or length < MIN_CAPTIONED_LENGTH:
        return []
    link = links[members[0]]
    first = format_capacity_and_delay(link)
    if first == common:
        first = ""
    elif format_capacity(link) == common:
        first = format_delay(link)
    elif length < MIN_FULL_CAPTION_LENGTH:
        first = format_capacity(link)
    lost = [format_percent(each) for each in losses if each > 0]
    rows = [(first, False)] if first else []
    return [*rows, (f"loss {' / '.join(lost)}", True)] if lost else rows


def format_capacity_and_delay(link: Link) -> str:
    """Format the capacity and delay of a link."""
    return f"{format_capacity(link)} · {format_delay(link)}"


def format_capacity(link: Link) -> str:
    """Format the capacity of a link."""
    return format_short_quantity(link["rate_bit_s"], "bit/s")


def format_delay(link: Link) -> str:
    """Format the delay of a link."""
    return format_short_quantity(link["delay_ns"] / 1e9, "s")


def find_common_caption(links: Sequence[Link]) -> str:
    """Find the capacity and delay that most links share, to show them once; empty if none."""
    for formatter in (format_capacity_and_delay, format_capacity):
        common, times = Counter(map(formatter, links)).most_common(1)[0] if links else ("", 0)
        if times >= 0.5 * len(links) and len(links) > 4:
            return common
    return ""


def place_captions(
    requests: Sequence[CaptionRequest], dots: Sequence[Point], radius: float, names: Sequence[Box]
) -> list[Caption]:
    """Find a place for each caption, one after the other.

    Of the places next to its link each takes the first that covers nothing, or the one that
    covers least. A caption that would cover others or nodes is left out, those of losses last.

    requests: One for every link, also where there is nothing to say: its arrows are in the way.
    dots: Middles of the nodes [px].
    radius: Radius of a node [px].
    names: Positions of the names of nodes [px].
    """
    middle = _find_middle(dots)
    occupied = [_CaptionBox(x, y, radius, radius) for x, y in dots]
    occupied += [
        _CaptionBox((left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2)
        for left, top, right, bottom in names
    ]
    arrows = [box for each in requests for box in _build_arrow_boxes(each)]
    captions = []
    for each in sorted(requests, key=lambda each: not any(lossy for _, lossy in each.texts)):
        if not each.texts:
            continue
        positions = _list_positions(each, middle)
        near_boxes = _select_near(positions, occupied) + _select_near(positions, arrows)
        covered = [sum(map(box.compute_overlap, near_boxes)) for box in positions]
        best = positions[covered.index(min(covered))]
        hidden = sum(best.compute_overlap(box) for box in _select_near([best], occupied))
        if hidden > MAX_COVERED_SHARE * 4 * best.half_width * best.half_height:
            continue
        occupied.append(best)
        top = best.y - best.half_height
        captions.append(
            Caption(
                tuple(
                    (round(best.x, 1), round(top + ROW_HEIGHT * (row + 0.8), 1), text, loss)
                    for row, (text, loss) in enumerate(each.texts)
                )
            )
        )
    return captions


def _find_middle(dots: Sequence[Point]) -> Point:
    xs, ys = [x for x, _ in dots], [y for _, y in dots]
    return ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2) if dots else (0.0, 0.0)


def _select_near(
    positions: Sequence[_CaptionBox], boxes: Sequence[_CaptionBox]
) -> list[_CaptionBox]:
    """Select those boxes that one of the choices may touch."""
    left = min(box.x - box.half_width for box in positions) - NEAR_DISTANCE
    right = max(box.x + box.half_width for box in positions) + NEAR_DISTANCE
    top = min(box.y - box.half_height for box in positions) - NEAR_DISTANCE
    bottom = max(box.y + box.half_height for box in positions) + NEAR_DISTANCE
    return [box for box in boxes if left < box.x < right and top < box.y < bottom]


def _build_arrow_boxes(request: CaptionRequest) -> list[_CaptionBox]:
    """Build the arrows of a link as small boxes."""
    (x1, y1), (x2, y2) = request.ends
    count = max(1, int(math.hypot(x2 - x1, y2 - y1) / 6))
    half_size = request.arrow_room
    return [
        _CaptionBox(
            x1 + (x2 - x1) * step / count, y1 + (y2 - y1) * step / count, half_size, half_size
        )
        for step in range(count + 1)
    ]


def _list_positions(request: CaptionRequest, middle: Point) -> list[_CaptionBox]:
    """Place on both sides of a link, first those that look away from the drawing's middle."""
    (x1, y1), (x2, y2) = request.ends
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    nx, ny = (y2 - y1) / length, (x1 - x2) / length
    outward = ((x1 + x2) / 2 - middle[0]) * nx + ((y1 + y2) / 2 - middle[1]) * ny
    # A level link through the middle has its caption above.
    if outward < -1 or (abs(outward) <= 1 and ny > 0):
        nx, ny = -nx, -ny
    half_width = LETTER_WIDTH / 2 * max(len(text) for text, _ in request.texts)
    half_height = ROW_HEIGHT / 2 * len(request.texts)
    # A level or upright link's arrows stay clear of the box; at a slant its corner does.
    distance = request.arrow_room + 2 + half_width * abs(nx) + half_height * abs(ny)
    return [
        _CaptionBox(
            x1 + (x2 - x1) * share + side * nx * distance,
            y1 + (y2 - y1) * share + side * ny * distance,
            half_width,
            half_height,
        )
        for side in (1, -1)
        for share in CAPTION_POSITIONS
    ]
