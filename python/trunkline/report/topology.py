"""The network as a drawing: where each link runs, how wide, how loaded, which way paths take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.plot.layout import NodePosition, place_nodes
from trunkline.plot.name_placement import Box, place_names
from trunkline.plot.network_sketch import find_backup_paths
from trunkline.report import captions
from trunkline.report.captions import Caption, CaptionRequest
from trunkline.report.link_loads import ReportedLinkLoad, compute_link_loads
from trunkline.report.reported_run import ReportedRun
from trunkline.results.number_format import format_number, format_percent

if TYPE_CHECKING:
    from trunkline.network.types import Link

WIDTH = 960.0
MIN_HEIGHT, MAX_HEIGHT = 150.0, 620.0
MARGIN_X, MARGIN_Y = 58.0, 46.0
MIN_LINK_WIDTH, MAX_LINK_WIDTH = 4.0, 11.0
LETTER_WIDTH = 7.7  # Width of a letter of a name, about [px].
MAX_NAME_LETTERS = 14

UTILISATION_LEVELS = (0.25, 0.5, 0.75, 0.95)
"""Shares of the capacity at which the colour of a link changes."""


@dataclass(frozen=True, slots=True)
class NodeDot:
    """A node in the drawing."""

    name: str
    shown: str
    x: float
    y: float
    radius: float
    label: NodePosition | None
    """Middle and base line of its name; None where nodes are too small for names."""


@dataclass(frozen=True, slots=True)
class LinkArrow:
    """One direction of a link in the drawing."""

    link: int  # Its number in the network.
    name: str
    outline: str  # Points of an arrow as wide as the capacity.
    level: int  # Class of its utilisation, 0 to 4; -1 where nothing was sent.
    loss: float  # Packets lost there, at its port or by its failure, over those that came.
    about: str  # Capacity, delay, utilisation and loss in words.
    # start, end: Ends of its middle line.
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class DrawnPath:
    """A label-switched path in the drawing."""

    name: str
    backup: bool
    about: str
    points: str
    links: tuple[int, ...]
    colour: int


@dataclass(frozen=True, slots=True)
class NetworkDrawing:
    """All of it, in a box from (0, 0) to (width, height), y downward."""

    width: float
    height: float
    spots: list[NodeDot]
    lanes: list[LinkArrow]
    captions: list[Caption]
    routes: list[DrawnPath]
    summary: str
    usual: str
    """Capacity and delay of most links, or their capacity, in words; empty if they differ."""


def classify_utilisation(use: float) -> int:
    """Class of a utilisation, 0 to 4."""
    return sum(use >= limit for limit in UTILISATION_LEVELS)


def draw_network(reported_run: ReportedRun) -> NetworkDrawing:
    """Draw the network of an exhibit."""
    network = reported_run.network
    nodes = [str(node["name"]) for node in network["nodes"]]
    links = network["links"]
    ends = [(nodes[link["from"]], nodes[link["to"]]) for link in links]
    places = place_nodes(nodes, ends, reported_run.node_positions)
    y_extent = max((y for _, y in places.values()), default=0.0)
    x_extent = max((x for x, _ in places.values()), default=0.0)
    scale = WIDTH - 2 * MARGIN_X
    if x_extent < 1.0 and y_extent > 0:
        scale = min(scale, (MAX_HEIGHT - 2 * MARGIN_Y) / y_extent)
    height = min(max(y_extent * scale + 2 * MARGIN_Y, MIN_HEIGHT), MAX_HEIGHT)
    stretch = min(scale, (height - 2 * MARGIN_Y) / y_extent) if y_extent else 0.0
    left = (WIDTH - x_extent * scale) / 2
    top = (height + y_extent * stretch) / 2
    points = {name: (left + x * scale, top - y * stretch) for name, (x, y) in places.items()}
    radius = 13.0 if len(nodes) <= 40 else 8.0 if len(nodes) <= 120 else 4.0
    dots, names = _build_node_dots(points, radius)
    load_by_link = compute_link_loads(reported_run)
    arrows, caption_requests = _build_link_arrows(reported_run, points, ends, radius, load_by_link)
    placed_captions = captions.place_captions(
        caption_requests, list(points.values()), radius, names
    )
    drawn_paths = _build_drawn_paths(reported_run, arrows)
    summary = _describe_drawing(reported_run, load_by_link)
    return NetworkDrawing(
        WIDTH,
        height,
        dots,
        arrows,
        placed_captions,
        drawn_paths,
        summary,
        _describe_common_links(network["links"]),
    )


def _describe_common_links(links: Sequence[Link]) -> str:
    """Describe the links without a caption, in words."""
    common = captions.find_common_caption(links)
    if not common:
        return ""
    alike = all(
        common in (captions.format_capacity_and_delay(link), captions.format_capacity(link))
        for link in links
    )
    return f"{'all links' if alike else 'most links, unless another value is shown'}: {common}"


def _build_node_dots(
    points: Mapping[str, NodePosition], radius: float
) -> tuple[list[NodeDot], list[Box]]:
    """Build the nodes with their names, and the places of names next to their nodes."""
    shortened = {
        name: name if len(name) <= MAX_NAME_LETTERS else f"{name[: MAX_NAME_LETTERS - 1]}…"
        for name in points
    }
    labels = {name: (x, y + 4) for name, (x, y) in points.items()} if radius > 6 else {}
    long_names = [name for name in labels if len(shortened[name]) > 3 or radius <= 10]
    placed_names = [(points[name], shortened[name]) for name in long_names]
    places = place_names(
        placed_names, list(points.values()), radius, width=WIDTH, letter=LETTER_WIDTH
    )
    labels |= {name: place for name, (place, _) in zip(long_names, places, strict=True)}
    dots = [
        NodeDot(name, shortened[name], *at, radius, labels.get(name)) for name, at in points.items()
    ]
    return dots, [box for _, box in places]


def _build_link_arrows(
    reported_run: ReportedRun,
    points: dict[str, tuple[float, float]],
    ends: list[tuple[str, str]],
    radius: float,
    load_by_link: dict[str, ReportedLinkLoad],
) -> tuple[list[LinkArrow], list[CaptionRequest]]:
    links = reported_run.network["links"]
    rates = [float(link["rate_bit_s"]) for link in links]
    low, high = math.log(min(rates, default=1)), math.log(max(rates, default=1))

    def width(rate: float) -> float:
        middle = 0.5 if high - low < 1e-9 else (math.log(rate) - low) / (high - low)
        # Where nodes are small, so are links.
        return (MIN_LINK_WIDTH + (MAX_LINK_WIDTH - MIN_LINK_WIDTH) * middle) * min(
            1.0, (radius + 3) / 13
        )

    links_by_ends: dict[frozenset[str], list[int]] = defaultdict(list)
    for number_, pair in enumerate(ends):
        links_by_ends[frozenset(pair)].append(number_)
    common = captions.find_common_caption(links)
    arrows: list[LinkArrow] = []
    requests: list[CaptionRequest] = []
    for members in links_by_ends.values():
        # Directions of one link are next to each other in the network.
        sides: dict[tuple[str, str], float] = defaultdict(float)
        for link in members:
            arrow_width = width(rates[link])
            offset = sides[ends[link]] + arrow_width / 2 + 1.2
            sides[ends[link]] += arrow_width + 2.0
            arrows.append(
                _build_link_arrow(
                    reported_run,
                    link,
                    points,
                    ends[link],
                    (offset, arrow_width, radius),
                    load_by_link,
                )
            )
        first_end, second_end = (points[name] for name in ends[members[0]])
        losses = [
            load_by_link.get(str(links[each]["name"]), ReportedLinkLoad()).loss_ratio or 0.0
            for each in members
        ]
        texts = captions.list_caption_rows(
            links, members, losses, math.dist(first_end, second_end), common
        )
        requests.append(CaptionRequest(texts, (first_end, second_end), max(sides.values())))
    arrows.sort(key=lambda lane: lane.link)
    return arrows, requests


def _build_link_arrow(
    reported_run: ReportedRun,
    link: int,
    points: dict[str, tuple[float, float]],
    ends: tuple[str, str],
    size: tuple[float, float, float],
    load_by_link: dict[str, ReportedLinkLoad],
) -> LinkArrow:
    offset, arrow_width, radius = size
    (x1, y1), (x2, y2) = points[ends[0]], points[ends[1]]
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    nx, ny = uy, -ux  # keeps to the left of its direction, as seen on the screen
    gap = min(radius + 2.0, length / 3)
    start = (x1 + ux * gap + nx * offset, y1 + uy * gap + ny * offset)
    end = (x2 - ux * gap + nx * offset, y2 - uy * gap + ny * offset)
    tip = min(arrow_width * 0.9, length / 4)
    half = arrow_width / 2
    shape = (
        (start[0] + nx * half, start[1] + ny * half),
        (end[0] - ux * tip + nx * half, end[1] - uy * tip + ny * half),
        end,
        (end[0] - ux * tip - nx * half, end[1] - uy * tip - ny * half),
        (start[0] - nx * half, start[1] - ny * half),
    )
    link_data = reported_run.network["links"][link]
    name = str(link_data["name"])
    load = load_by_link.get(name, ReportedLinkLoad())
    description = (
        f"{name}: {captions.format_capacity(link_data)}, {captions.format_delay(link_data)}"
    )
    if load.offered:
        description += (
            f"; utilisation {format_percent(load.utilisation)}, loss "
            f"{format_percent(load.loss_ratio)}"
        )
        description += f" ({format_number(load.total_lost)} packets"
        description += (
            f", {format_number(load.lost_by_failure)} of them by its failure)"
            if load.lost_by_failure
            else ")"
        )
    else:
        description += "; nothing was sent"
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape)
    shade = classify_utilisation(load.utilisation) if load.offered else -1
    return LinkArrow(link, name, outline, shade, load.loss_ratio or 0.0, description, start, end)


def _build_drawn_paths(reported_run: ReportedRun, arrows: list[LinkArrow]) -> list[DrawnPath]:
    network = reported_run.network
    backups = find_backup_paths(network)
    rates = _format_path_rates(reported_run)
    drawn_paths = []
    for index, path in enumerate(network["paths"]):
        corners: list[tuple[float, float]] = []
        for link in path["links"]:
            corners += [arrows[link].start, arrows[link].end]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        name = str(path["name"])
        kind = f"backup of {', '.join(backups[name])}" if name in backups else "working path"
        hops = " ".join(str(network["links"][link]["name"]) for link in path["links"])
        about = f"{kind}; {len(path['links'])} links: {hops}; its own load {rates.get(name, '–')}"
        drawn_paths.append(
            DrawnPath(name, name in backups, about, points, tuple(path["links"]), index % 6)
        )
    return drawn_paths


def _format_path_rates(reported_run: ReportedRun) -> dict[str, str]:
    from trunkline.results.number_format import format_interval
    from trunkline.stats import average_runs

    return {
        row.key["path"]: format_interval(row.measures.get("throughput_bit_s"), "bit/s")
        for row in average_runs(reported_run.runs, "paths")
    }


def _describe_drawing(reported_run: ReportedRun, load_by_link: dict[str, ReportedLinkLoad]) -> str:
    """Put the drawing into words, for who cannot see it."""
    network = reported_run.network
    busiest = sorted(load_by_link.items(), key=lambda item: -item[1].utilisation)[:3]
    description = f"Network of {len(network['nodes'])} nodes and {len(network['links']) // 2} links"
    if busiest and busiest[0][1].utilisation > 0:
        parts = [
            f"{name} {format_percent(load.utilisation)}"
            for name, load in busiest
            if load.utilisation > 0
        ]
        description += f". Busiest: {', '.join(parts)}"
    lossy = sorted(
        ((load.loss_ratio, name) for name, load in load_by_link.items() if load.loss_ratio),
        reverse=True,
    )[:3]
    if lossy:
        description += (
            f". Loss: {', '.join(f'{name} {format_percent(loss)}' for loss, name in lossy)}"
        )
    return description + "."
