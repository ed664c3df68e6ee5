"""The topology as SVG or as a page of HTML: links with capacity and delay, paths in colour.

Works without JavaScript and fetches nothing. Names are text, whatever they hold.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from trunkline.plot.figure import choose_colour
from trunkline.plot.layout import NodePosition, place_nodes
from trunkline.plot.name_placement import place_names
from trunkline.plot.network_sketch import NetworkSketch, SketchLink, SketchPath
from trunkline.results.terminal_tables import escape_unprintable

WIDTH = 960.0
MIN_HEIGHT, MAX_HEIGHT = 120.0, 760.0
MARGIN_X, MARGIN_Y = 70.0, 56.0
LETTER_WIDTH = 7.2  # Width of a letter of a name, about.
PATH_SPACING = 5.0  # Distance between paths side by side.
MAX_PATHS_LISTED = 24
LEGEND_ROW_HEIGHT = 22.0

STYLE = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1b1b1b}"
    ".halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    ".about{fill:#555;font-size:11.5px}"
    ".link{stroke:#9aa0a6;stroke-width:3;fill:none}"
    ".node{fill:#fff;stroke:#333;stroke-width:1.8}"
    ".path{fill:none;stroke-width:2.6;stroke-linejoin:round}"
    ".backup{stroke-dasharray:7 5}"
)


@dataclass
class GraphCanvas:
    """A drawing that grows: places of nodes, and the parts drawn so far."""

    points: dict[str, NodePosition]
    radius: float
    parts: list[str] = field(default_factory=list)
    slots_used: dict[tuple[str, str], int] = field(default_factory=dict)
    names: dict[str, NodePosition] = field(default_factory=dict)
    """Middle and base line of each name that is shown."""

    def compute_segment(
        self, ends: tuple[str, str], offset: float
    ) -> tuple[NodePosition, NodePosition]:
        """A line between two nodes, from rim to rim, shifted to the right of its direction."""
        (x1, y1), (x2, y2) = self.points[ends[0]], self.points[ends[1]]
        long = math.hypot(x2 - x1, y2 - y1) or 1.0
        ux, uy = (x2 - x1) / long, (y2 - y1) / long
        gap = min(self.radius, long / 3)
        sx, sy = -uy * offset, ux * offset
        return (
            (x1 + ux * gap + sx, y1 + uy * gap + sy),
            (x2 - ux * gap + sx, y2 - uy * gap + sy),
        )


def render_svg(sketch: NetworkSketch, places: Mapping[str, NodePosition] | None = None) -> str:
    """Draw a network.

    places: Places of nodes that the scenario gives, y upward.
    Returns: An SVG document; the same network gives the same text.
    """
    body, height = _draw_network(sketch, places)
    return wrap_svg(sketch.name, _describe_network(sketch), body, height)


def wrap_svg(title: str, about: str, body: str, height: float) -> str:
    """An SVG document around a drawing."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        f'width="{WIDTH:.0f}" height="{height:.0f}" role="img" aria-labelledby="t d">\n'
        f'<title id="t">{_escape_text(title)}</title>\n'
        f'<desc id="d">{_escape_text(about)}</desc>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect width="{WIDTH:.0f}" height="{height:.0f}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def render_html(sketch: NetworkSketch, places: Mapping[str, NodePosition] | None = None) -> str:
    """Draw a network on a page of its own, with its links and paths as tables."""
    drawing = render_svg(sketch, places).partition("\n")[2]
    links = "".join(
        f"<tr><td>{_escape_text(line.ends[0])} {'–' if line.is_bidirectional else '→'} "
        f"{_escape_text(line.ends[1])}</td>"
        f"<td>{_escape_text(line.about)}</td></tr>"
        for line in sketch.links
    )
    path_rows = "".join(
        f"<tr><td>{_escape_text(path_line.name)}</td><td>{_escape_text(_format_hops(path_line))}</td>"
        f"<td>{_escape_text(_describe_kind(path_line))}</td></tr>"
        for path_line in sketch.paths
    )
    paths = (
        f"<h2>Paths</h2><table><tr><th>Path</th><th>Nodes</th><th>Kind</th></tr>{path_rows}</table>"
        if path_rows
        else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_escape_text(sketch.name)}</title><style>"
        "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;"
        "background:#fff;color:#1b1b1b}svg{max-width:100%;height:auto}"
        "table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left}"
        f"</style></head><body><h1>{_escape_text(sketch.name)}</h1>\n{drawing}"
        f"<h2>Links</h2><table><tr><th>Between</th><th>Capacity, delay</th></tr>{links}</table>"
        f"{paths}</body></html>\n"
    )


def create_graph_canvas(
    sketch: NetworkSketch, places: Mapping[str, NodePosition] | None
) -> tuple[GraphCanvas, float]:
    """An empty drawing with a place for each node, and its height."""
    layout_places = place_nodes(sketch.nodes, [line.ends for line in sketch.links], places)
    x_extent = max((x for x, _ in layout_places.values()), default=0.0)
    y_extent = max((y for _, y in layout_places.values()), default=0.0)
    scale = WIDTH - 2 * MARGIN_X
    height = min(max(y_extent * scale + 2 * MARGIN_Y, MIN_HEIGHT), MAX_HEIGHT)
    upward = min(scale, (height - 2 * MARGIN_Y) / y_extent) if y_extent else 0.0
    left = (WIDTH - x_extent * scale) / 2
    bottom = (height + y_extent * upward) / 2
    points = {
        name: (left + x * scale, bottom - y * upward) for name, (x, y) in layout_places.items()
    }
    count = len(sketch.nodes)
    radius = 15.0 if count <= 40 else 9.0 if count <= 120 else 5.0
    return GraphCanvas(points, radius, names=_place_names(points, radius)), height


def _place_names(points: Mapping[str, NodePosition], radius: float) -> dict[str, NodePosition]:
    """Place short names in their nodes, others next to them; none where nodes are small."""
    if radius < 6:
        return {}
    shortened = {name: _shorten_name(name) for name in points}
    outside_names = [name for name in points if len(shortened[name]) > 3 or radius < 15]
    placed_names = [(points[name], shortened[name]) for name in outside_names]
    places = place_names(
        placed_names, list(points.values()), radius, width=WIDTH, letter=LETTER_WIDTH
    )
    name_places = {name: (x, y + 4.5) for name, (x, y) in points.items()}
    return name_places | {
        name: place for name, (place, _) in zip(outside_names, places, strict=True)
    }


def _shorten_name(name: str) -> str:
    printable_name = escape_unprintable(name)
    return printable_name if len(printable_name) <= 16 else printable_name[:15] + "…"


def _draw_network(
    sketch: NetworkSketch, places: Mapping[str, NodePosition] | None
) -> tuple[str, float]:
    canvas, height = create_graph_canvas(sketch, places)
    crowded = len(sketch.links) > 60
    common = _find_common_description(sketch)
    for line in sketch.links:
        _draw_link(canvas, line)
    listed = sketch.paths[:MAX_PATHS_LISTED]
    for number, path in enumerate(sketch.paths):
        _draw_path(canvas, path, number)
    for line in sketch.links:
        if not crowded and line.about != common:
            _draw_caption(canvas, line, height / 2)
    for name in sketch.nodes:
        draw_node(canvas, name, host=name in sketch.hosts)
    if common:
        which = "Other links" if any(line.about != common for line in sketch.links) else "All links"
        canvas.parts.append(
            f'<text class="about" x="{MARGIN_X / 2:.0f}" y="{height + 4:.0f}">'
            f"{_escape_text(f'{which}: {common}')}</text>"
        )
    height += LEGEND_ROW_HEIGHT if common else 0.0
    height = _draw_legend(canvas, listed, len(sketch.paths) - len(listed), height)
    return "\n".join(canvas.parts), height


def _list_link_descriptions(sketch: NetworkSketch) -> list[str]:
    return [line.about for line in sketch.links]


def _find_common_description(sketch: NetworkSketch) -> str:
    """Find the description that three links in four or more share, to show it once."""
    abouts = _list_link_descriptions(sketch)
    for about in dict.fromkeys(abouts):
        if len(abouts) > 3 and abouts.count(about) >= 0.75 * len(abouts):
            return about
    return ""


def _draw_link(canvas: GraphCanvas, line: SketchLink) -> None:
    (x1, y1), (x2, y2) = canvas.compute_segment(line.ends, 0.0)
    about = f"{line.ends[0]} {'–' if line.is_bidirectional else '→'} {line.ends[1]}: {line.about}"
    canvas.parts.append(
        f'<line class="link" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">'
        f"<title>{_escape_text(about)}</title></line>"
    )


def _draw_caption(canvas: GraphCanvas, line: SketchLink, middle: float) -> None:
    """Write capacity and delay next to a link and its paths, on the side away from the middle."""
    (x1, y1), (x2, y2) = canvas.compute_segment(line.ends, 0.0)
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    nx, ny = (y2 - y1) / length, (x1 - x2) / length
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    is_level = abs(ny) > 0.97
    upward = is_level or y <= middle
    if (ny > 0) == upward and abs(ny) > 0.05:
        nx, ny = -nx, -ny
    # The normal (nx, ny) is on the left of the direction if it is the one that was first worked
    # out, so paths of the other direction run there.
    left = nx * (y2 - y1) + ny * (x1 - x2) > 0
    paths_width = canvas.slots_used.get(line.ends[::-1] if left else line.ends, 0) * PATH_SPACING
    words = line.about.split(", ")
    text_lines = [line.about] if length > 6.4 * len(line.about) or abs(ny) < 0.5 else words
    below = not upward and abs(ny) > 0.05
    distance = (
        8 + paths_width + 3.1 * max(map(len, text_lines)) * abs(nx) + (6 if below else 0) * abs(ny)
    )
    x, y = x + nx * distance, y + ny * distance + 4 * abs(nx)
    for row, each in enumerate(text_lines if below else reversed(text_lines)):
        at = y + 13 * row if below else y - 13 * row
        canvas.parts.append(
            f'<text class="about halo" text-anchor="middle" x="{x:.1f}" y="{at:.1f}">'
            f"{_escape_text(each)}</text>"
        )


def _draw_path(canvas: GraphCanvas, path: SketchPath, number: int) -> None:
    """Draw a path next to its links, on the right of its direction, paths next to each other."""
    slots = [canvas.slots_used.get(hop, 0) for hop in path.hops]
    slot = max(slots, default=0)
    corners: list[NodePosition] = []
    for hop in path.hops:
        canvas.slots_used[hop] = slot + 1
        corners += canvas.compute_segment(hop, PATH_SPACING * (slot + 1))
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    kind = "path backup" if path.backup_of else "path"
    title = f"{path.name}: {_format_hops(path)}; {_describe_kind(path)}"
    canvas.parts.append(
        f'<polyline class="{kind}" stroke="{choose_colour(number)}" points="{joined}">'
        f"<title>{_escape_text(title)}</title></polyline>"
    )


def draw_node(canvas: GraphCanvas, name: str, *, host: bool) -> None:
    """Draw a node with its name."""
    x, y = canvas.points[name]
    radius = canvas.radius
    title = f"<title>{_escape_text(name)}</title>"
    if host:
        side = 2 * radius - 2
        canvas.parts.append(
            f'<rect class="node" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.0f}" '
            f'height="{side:.0f}" rx="4">{title}</rect>'
        )
    else:
        canvas.parts.append(
            f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.0f}">{title}</circle>'
        )
    if name in canvas.names:
        text_x, base = canvas.names[name]
        halo = 'class="halo" ' if (text_x, base) != (x, y + 4.5) else ""
        canvas.parts.append(
            f'<text text-anchor="middle" {halo}x="{text_x:.1f}" y="{base:.1f}">'
            f"{escape(_shorten_name(name))}</text>"
        )


def _draw_legend(
    canvas: GraphCanvas, paths: tuple[SketchPath, ...], hidden_count: int, height: float
) -> float:
    """List the paths below the drawing, in columns; gives the new height."""
    column, columns = 300.0, 3
    for number, path in enumerate(paths):
        x = MARGIN_X / 2 + column * (number % columns)
        y = height + LEGEND_ROW_HEIGHT * (number // columns)
        kind = "path backup" if path.backup_of else "path"
        label = escape_unprintable(path.name)
        label += (
            f" (backup of {', '.join(map(escape_unprintable, path.backup_of))})"
            if path.backup_of
            else ""
        )
        label = label if len(label) <= 36 else label[:35] + "…"
        canvas.parts.append(
            f'<line class="{kind}" stroke="{choose_colour(number)}" x1="{x:.0f}" y1="{y - 4:.0f}" '
            f'x2="{x + 34:.0f}" y2="{y - 4:.0f}"/>'
            f'<text x="{x + 42:.0f}" y="{y:.0f}">{escape(label)}</text>'
        )
    if paths:
        height += LEGEND_ROW_HEIGHT * ((len(paths) - 1) // columns + 1)
    if hidden_count > 0:
        canvas.parts.append(
            f'<text class="about" x="{MARGIN_X / 2:.0f}" y="{height:.0f}">'
            f"and {hidden_count} more</text>"
        )
        height += LEGEND_ROW_HEIGHT
    return height


def _format_hops(path: SketchPath) -> str:
    return ", ".join([*(hop[0] for hop in path.hops), *(hop[1] for hop in path.hops[-1:])])


def _describe_kind(path: SketchPath) -> str:
    return f"backup of {', '.join(path.backup_of)}" if path.backup_of else "working path"


def _describe_network(sketch: NetworkSketch) -> str:
    counts_text = (
        f"{len(sketch.nodes)} nodes, {len(sketch.links)} links, {len(sketch.paths)} paths. "
    )
    links = "; ".join(
        f"{a} to {b}: {line.about}" for line in sketch.links[:40] for a, b in [line.ends]
    )
    return counts_text + links


def _escape_text(words: str) -> str:
    return escape(escape_unprintable(words))
