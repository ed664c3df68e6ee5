"""The network as a drawing: where each link runs, how wide, how loaded, which way paths take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.plot.layout import Place, layout
from trunkline.plot.names import Box, beside
from trunkline.plot.sketch import backup_paths
from trunkline.report import captions
from trunkline.report.captions import Caption, Wanted
from trunkline.report.exhibit import Exhibit
from trunkline.report.loads import Load, by_link
from trunkline.results.numbers import number, percent

if TYPE_CHECKING:
    from trunkline.network.types import Link

WIDTH = 960.0
LEAST_HEIGHT, MOST_HEIGHT = 150.0, 620.0
MARGIN_X, MARGIN_Y = 58.0, 46.0
THIN, THICK = 4.0, 11.0
LETTER = 7.7
"""Width of a letter of a name, about [px]."""
MOST_LETTERS = 14

LEVELS = (0.25, 0.5, 0.75, 0.95)
"""Shares of the capacity at which the colour of a link changes."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A node in the drawing."""

    name: str
    shown: str
    x: float
    y: float
    radius: float
    label: Place | None
    """Middle and base line of its name; None where nodes are too small for names."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One direction of a link in the drawing.

    Parameters
    ----------
    link : int
        Its number in the network.
    outline : str
        Points of an arrow as wide as the capacity.
    level : int
        Class of its utilisation, 0 to 4; -1 where nothing was sent.
    loss : float
        Packets lost there, at its port or by its failure, over those that came.
    about : str
        Capacity, delay, utilisation and loss in words.
    start, end : (float, float)
        Ends of its middle line.
    """

    link: int
    name: str
    outline: str
    level: int
    loss: float
    about: str
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Route:
    """A label-switched path in the drawing."""

    name: str
    backup: bool
    about: str
    points: str
    links: tuple[int, ...]
    colour: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """All of it, in a box from (0, 0) to (width, height), y downward."""

    width: float
    height: float
    spots: list[Spot]
    lanes: list[Lane]
    captions: list[Caption]
    routes: list[Route]
    summary: str
    usual: str
    """Capacity and delay of most links, or their capacity, in words; empty if they differ."""


def level(use: float) -> int:
    """Class of a utilisation, 0 to 4."""
    return sum(use >= limit for limit in LEVELS)


def draw(exhibit: Exhibit) -> Drawing:
    """Draw the network of an exhibit."""
    network = exhibit.network
    nodes = [str(node["name"]) for node in network["nodes"]]
    links = network["links"]
    ends = [(nodes[link["from"]], nodes[link["to"]]) for link in links]
    places = layout(nodes, ends, exhibit.places)
    tall = max((y for _, y in places.values()), default=0.0)
    wide = max((x for x, _ in places.values()), default=0.0)
    scale = WIDTH - 2 * MARGIN_X
    if wide < 1.0 and tall > 0:
        scale = min(scale, (MOST_HEIGHT - 2 * MARGIN_Y) / tall)
    height = min(max(tall * scale + 2 * MARGIN_Y, LEAST_HEIGHT), MOST_HEIGHT)
    stretch = min(scale, (height - 2 * MARGIN_Y) / tall) if tall else 0.0
    left = (WIDTH - wide * scale) / 2
    top = (height + tall * stretch) / 2
    points = {name: (left + x * scale, top - y * stretch) for name, (x, y) in places.items()}
    radius = 13.0 if len(nodes) <= 40 else 8.0 if len(nodes) <= 120 else 4.0
    spots, names = _spots(points, radius)
    of = by_link(exhibit)
    lanes, wanted = _lanes(exhibit, points, ends, radius, of)
    words = captions.place(wanted, list(points.values()), radius, names)
    routes = _routes(exhibit, lanes)
    summary = _summary(exhibit, of)
    return Drawing(WIDTH, height, spots, lanes, words, routes, summary, _usual(network["links"]))


def _usual(links: Sequence[Link]) -> str:
    """What the links without a caption are like, in words."""
    common = captions.usual(links)
    if not common:
        return ""
    alike = all(common in (captions.size(link), captions.capacity(link)) for link in links)
    return f"{'all links' if alike else 'most links, where nothing else is said'}: {common}"


def _spots(points: Mapping[str, Place], radius: float) -> tuple[list[Spot], list[Box]]:
    """Nodes with their names, and where the names stand that are beside their nodes."""
    shown = {
        name: name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
        for name in points
    }
    labels = {name: (x, y + 4) for name, (x, y) in points.items()} if radius > 6 else {}
    long = [name for name in labels if len(shown[name]) > 3 or radius <= 10]
    wanted = [(points[name], shown[name]) for name in long]
    places = beside(wanted, list(points.values()), radius, width=WIDTH, letter=LETTER)
    labels |= {name: place for name, (place, _) in zip(long, places, strict=True)}
    spots = [Spot(name, shown[name], *at, radius, labels.get(name)) for name, at in points.items()]
    return spots, [box for _, box in places]


def _lanes(
    exhibit: Exhibit,
    points: dict[str, tuple[float, float]],
    ends: list[tuple[str, str]],
    radius: float,
    of: dict[str, Load],
) -> tuple[list[Lane], list[Wanted]]:
    links = exhibit.network["links"]
    rates = [float(link["rate_bit_s"]) for link in links]
    low, high = math.log(min(rates, default=1)), math.log(max(rates, default=1))

    def width(rate: float) -> float:
        middle = 0.5 if high - low < 1e-9 else (math.log(rate) - low) / (high - low)
        # Where nodes are small, so are links.
        return (THIN + (THICK - THIN) * middle) * min(1.0, (radius + 3) / 13)

    together: dict[frozenset[str], list[int]] = defaultdict(list)
    for number_, pair in enumerate(ends):
        together[frozenset(pair)].append(number_)
    common = captions.usual(links)
    lanes: list[Lane] = []
    wanted: list[Wanted] = []
    for members in together.values():
        # Directions of one link are next to each other in the network.
        sides: dict[tuple[str, str], float] = defaultdict(float)
        for link in members:
            wide = width(rates[link])
            offset = sides[ends[link]] + wide / 2 + 1.2
            sides[ends[link]] += wide + 2.0
            lanes.append(_lane(exhibit, link, points, ends[link], (offset, wide, radius), of))
        here, there = (points[name] for name in ends[members[0]])
        losses = [of.get(str(links[each]["name"]), Load()).loss for each in members]
        texts = captions.words(links, members, losses, math.dist(here, there), common)
        wanted.append(Wanted(texts, (here, there), max(sides.values())))
    lanes.sort(key=lambda lane: lane.link)
    return lanes, wanted


def _lane(
    exhibit: Exhibit,
    link: int,
    points: dict[str, tuple[float, float]],
    ends: tuple[str, str],
    size: tuple[float, float, float],
    of: dict[str, Load],
) -> Lane:
    offset, wide, radius = size
    (x1, y1), (x2, y2) = points[ends[0]], points[ends[1]]
    long = math.hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / long, (y2 - y1) / long
    nx, ny = uy, -ux  # keeps to the left of its direction, as seen on the screen
    gap = min(radius + 2.0, long / 3)
    start = (x1 + ux * gap + nx * offset, y1 + uy * gap + ny * offset)
    end = (x2 - ux * gap + nx * offset, y2 - uy * gap + ny * offset)
    tip = min(wide * 0.9, long / 4)
    half = wide / 2
    shape = (
        (start[0] + nx * half, start[1] + ny * half),
        (end[0] - ux * tip + nx * half, end[1] - uy * tip + ny * half),
        end,
        (end[0] - ux * tip - nx * half, end[1] - uy * tip - ny * half),
        (start[0] - nx * half, start[1] - ny * half),
    )
    about = exhibit.network["links"][link]
    name = str(about["name"])
    load = of.get(name, Load())
    said = f"{name}: {captions.capacity(about)}, {captions.delay(about)}"
    if load.offered:
        said += f"; utilisation {percent(load.use)}, loss {percent(load.loss)}"
        said += f" ({number(load.lost)} packets"
        said += f", {number(load.failed)} of them by its failure)" if load.failed else ")"
    else:
        said += "; nothing was sent"
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape)
    shade = level(load.use) if load.offered else -1
    return Lane(link, name, outline, shade, load.loss, said, start, end)


def _routes(exhibit: Exhibit, lanes: list[Lane]) -> list[Route]:
    network = exhibit.network
    backups = backup_paths(network)
    rates = _path_rates(exhibit)
    routes = []
    for index, path in enumerate(network["paths"]):
        corners: list[tuple[float, float]] = []
        for link in path["links"]:
            corners += [lanes[link].start, lanes[link].end]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        name = str(path["name"])
        kind = f"backup of {', '.join(backups[name])}" if name in backups else "working path"
        hops = " ".join(str(network["links"][link]["name"]) for link in path["links"])
        about = (
            f"{kind}; {len(path['links'])} links: {hops}; carried of its own {rates.get(name, '–')}"
        )
        routes.append(Route(name, name in backups, about, points, tuple(path["links"]), index % 6))
    return routes


def _path_rates(exhibit: Exhibit) -> dict[str, str]:
    from trunkline.results.numbers import interval
    from trunkline.stats import across

    return {
        row.key["path"]: interval(row.measures.get("throughput_bit_s"), "bit/s")
        for row in across(exhibit.runs, "paths")
    }


def _summary(exhibit: Exhibit, of: dict[str, Load]) -> str:
    """Put the drawing into words, for who cannot see it."""
    network = exhibit.network
    busiest = sorted(of.items(), key=lambda item: -item[1].use)[:3]
    said = f"Network of {len(network['nodes'])} nodes and {len(network['links']) // 2} links"
    if busiest and busiest[0][1].use > 0:
        parts = [f"{name} {percent(load.use)}" for name, load in busiest if load.use > 0]
        said += f". Busiest: {', '.join(parts)}"
    lossy = sorted(((load.loss, name) for name, load in of.items() if load.loss), reverse=True)[:3]
    if lossy:
        said += f". Loss: {', '.join(f'{name} {percent(loss)}' for loss, name in lossy)}"
    return said + "."
