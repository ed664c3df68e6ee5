"""The topology as SVG or as a page of HTML: links with capacity and delay, paths in colour.

Works without JavaScript and fetches nothing. Names are text, whatever they hold.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from trunkline.plot.figure import colour_of
from trunkline.plot.layout import Place, layout
from trunkline.plot.names import beside
from trunkline.plot.sketch import Line, Sketch, Way
from trunkline.results.render import printable

WIDTH = 960.0
LEAST_HEIGHT, MOST_HEIGHT = 120.0, 760.0
MARGIN_X, MARGIN_Y = 70.0, 56.0
LETTER = 7.2
"""Width of a letter of a name, about."""
SLOT = 5.0
"""Distance between paths beside each other."""
MOST_LISTED = 24
LEGEND_ROW = 22.0

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
class Canvas:
    """A drawing that grows: places of nodes, and what is drawn so far."""

    points: dict[str, Place]
    radius: float
    parts: list[str] = field(default_factory=list)
    taken: dict[tuple[str, str], int] = field(default_factory=dict)
    names: dict[str, Place] = field(default_factory=dict)
    """Middle and base line of each name that is shown."""

    def segment(self, ends: tuple[str, str], offset: float) -> tuple[Place, Place]:
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


def svg(sketch: Sketch, places: Mapping[str, Place] | None = None) -> str:
    """Draw a network.

    Parameters
    ----------
    places : mapping of str to (float, float), optional
        Places of nodes that the scenario gives, y upward.

    Returns
    -------
    str
        An SVG document; the same network gives the same text.
    """
    body, height = _drawing(sketch, places)
    return document(sketch.name, _summary(sketch), body, height)


def document(title: str, about: str, body: str, height: float) -> str:
    """An SVG document around a drawing."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        f'width="{WIDTH:.0f}" height="{height:.0f}" role="img" aria-labelledby="t d">\n'
        f'<title id="t">{_text(title)}</title>\n'
        f'<desc id="d">{_text(about)}</desc>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect width="{WIDTH:.0f}" height="{height:.0f}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def html(sketch: Sketch, places: Mapping[str, Place] | None = None) -> str:
    """Draw a network on a page of its own, with its links and paths as tables."""
    drawing = svg(sketch, places).partition("\n")[2]
    links = "".join(
        f"<tr><td>{_text(line.ends[0])} {'–' if line.both_ways else '→'} {_text(line.ends[1])}</td>"
        f"<td>{_text(line.about)}</td></tr>"
        for line in sketch.lines
    )
    ways = "".join(
        f"<tr><td>{_text(way.name)}</td><td>{_text(_hops(way))}</td>"
        f"<td>{_text(_kind(way))}</td></tr>"
        for way in sketch.ways
    )
    paths = (
        f"<h2>Paths</h2><table><tr><th>Path</th><th>Nodes</th><th>Kind</th></tr>{ways}</table>"
        if ways
        else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(sketch.name)}</title><style>"
        "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;"
        "background:#fff;color:#1b1b1b}svg{max-width:100%;height:auto}"
        "table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left}"
        f"</style></head><body><h1>{_text(sketch.name)}</h1>\n{drawing}"
        f"<h2>Links</h2><table><tr><th>Between</th><th>Capacity, delay</th></tr>{links}</table>"
        f"{paths}</body></html>\n"
    )


def canvas_of(sketch: Sketch, places: Mapping[str, Place] | None) -> tuple[Canvas, float]:
    """An empty drawing with a place for each node, and its height."""
    found = layout(sketch.nodes, [line.ends for line in sketch.lines], places)
    wide = max((x for x, _ in found.values()), default=0.0)
    tall = max((y for _, y in found.values()), default=0.0)
    scale = WIDTH - 2 * MARGIN_X
    height = min(max(tall * scale + 2 * MARGIN_Y, LEAST_HEIGHT), MOST_HEIGHT)
    upward = min(scale, (height - 2 * MARGIN_Y) / tall) if tall else 0.0
    left = (WIDTH - wide * scale) / 2
    bottom = (height + tall * upward) / 2
    points = {name: (left + x * scale, bottom - y * upward) for name, (x, y) in found.items()}
    count = len(sketch.nodes)
    radius = 15.0 if count <= 40 else 9.0 if count <= 120 else 5.0
    return Canvas(points, radius, names=_names(points, radius)), height


def _names(points: Mapping[str, Place], radius: float) -> dict[str, Place]:
    """Short names stand in their nodes, others beside them; none where nodes are small."""
    if radius < 6:
        return {}
    shown = {name: _shown(name) for name in points}
    long = [name for name in points if len(shown[name]) > 3 or radius < 15]
    wanted = [(points[name], shown[name]) for name in long]
    places = beside(wanted, list(points.values()), radius, width=WIDTH, letter=LETTER)
    found = {name: (x, y + 4.5) for name, (x, y) in points.items()}
    return found | {name: place for name, (place, _) in zip(long, places, strict=True)}


def _shown(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= 16 else shown[:15] + "…"


def _drawing(sketch: Sketch, places: Mapping[str, Place] | None) -> tuple[str, float]:
    canvas, height = canvas_of(sketch, places)
    crowded = len(sketch.lines) > 60
    common = _usual(sketch)
    for line in sketch.lines:
        _link(canvas, line)
    listed = sketch.ways[:MOST_LISTED]
    for number, way in enumerate(sketch.ways):
        _way(canvas, way, number)
    for line in sketch.lines:
        if not crowded and line.about != common:
            _caption(canvas, line, height / 2)
    for name in sketch.nodes:
        node(canvas, name, host=name in sketch.hosts)
    if common:
        which = "Other links" if any(line.about != common for line in sketch.lines) else "All links"
        canvas.parts.append(
            f'<text class="about" x="{MARGIN_X / 2:.0f}" y="{height + 4:.0f}">'
            f"{_text(f'{which}: {common}')}</text>"
        )
    height += LEGEND_ROW if common else 0.0
    height = _legend(canvas, listed, len(sketch.ways) - len(listed), height)
    return "\n".join(canvas.parts), height


def _abouts(sketch: Sketch) -> list[str]:
    return [line.about for line in sketch.lines]


def _usual(sketch: Sketch) -> str:
    """What three links in four or more have in common, to be said once."""
    abouts = _abouts(sketch)
    for about in dict.fromkeys(abouts):
        if len(abouts) > 3 and abouts.count(about) >= 0.75 * len(abouts):
            return about
    return ""


def _link(canvas: Canvas, line: Line) -> None:
    (x1, y1), (x2, y2) = canvas.segment(line.ends, 0.0)
    about = f"{line.ends[0]} {'–' if line.both_ways else '→'} {line.ends[1]}: {line.about}"
    canvas.parts.append(
        f'<line class="link" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">'
        f"<title>{_text(about)}</title></line>"
    )


def _caption(canvas: Canvas, line: Line, middle: float) -> None:
    """Write capacity and delay beside a link and its paths, on the side away from the middle."""
    (x1, y1), (x2, y2) = canvas.segment(line.ends, 0.0)
    long = math.hypot(x2 - x1, y2 - y1) or 1.0
    nx, ny = (y2 - y1) / long, (x1 - x2) / long
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    level = abs(ny) > 0.97
    upward = level or y <= middle
    if (ny > 0) == upward and abs(ny) > 0.05:
        nx, ny = -nx, -ny
    # The normal (nx, ny) is on the left of the direction if it is the one that was first worked
    # out, so paths of the other direction run there.
    left = nx * (y2 - y1) + ny * (x1 - x2) > 0
    beside = canvas.taken.get(line.ends[::-1] if left else line.ends, 0) * SLOT
    words = line.about.split(", ")
    said = [line.about] if long > 6.4 * len(line.about) or abs(ny) < 0.5 else words
    below = not upward and abs(ny) > 0.05
    away = 8 + beside + 3.1 * max(map(len, said)) * abs(nx) + (6 if below else 0) * abs(ny)
    x, y = x + nx * away, y + ny * away + 4 * abs(nx)
    for row, each in enumerate(said if below else reversed(said)):
        at = y + 13 * row if below else y - 13 * row
        canvas.parts.append(
            f'<text class="about halo" text-anchor="middle" x="{x:.1f}" y="{at:.1f}">'
            f"{_text(each)}</text>"
        )


def _way(canvas: Canvas, way: Way, number: int) -> None:
    """Draw a path beside its links, on the right of its direction, paths next to each other."""
    slots = [canvas.taken.get(hop, 0) for hop in way.hops]
    slot = max(slots, default=0)
    corners: list[Place] = []
    for hop in way.hops:
        canvas.taken[hop] = slot + 1
        corners += canvas.segment(hop, SLOT * (slot + 1))
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    kind = "path backup" if way.backup_of else "path"
    canvas.parts.append(
        f'<polyline class="{kind}" stroke="{colour_of(number)}" points="{joined}">'
        f"<title>{_text(f'{way.name}: {_hops(way)}; {_kind(way)}')}</title></polyline>"
    )


def node(canvas: Canvas, name: str, *, host: bool) -> None:
    """Draw a node with its name."""
    x, y = canvas.points[name]
    r = canvas.radius
    title = f"<title>{_text(name)}</title>"
    if host:
        side = 2 * r - 2
        canvas.parts.append(
            f'<rect class="node" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.0f}" '
            f'height="{side:.0f}" rx="4">{title}</rect>'
        )
    else:
        canvas.parts.append(
            f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{r:.0f}">{title}</circle>'
        )
    if name in canvas.names:
        at, base = canvas.names[name]
        halo = 'class="halo" ' if (at, base) != (x, y + 4.5) else ""
        canvas.parts.append(
            f'<text text-anchor="middle" {halo}x="{at:.1f}" y="{base:.1f}">'
            f"{escape(_shown(name))}</text>"
        )


def _legend(canvas: Canvas, ways: tuple[Way, ...], more: int, height: float) -> float:
    """List the paths below the drawing, in columns; gives the new height."""
    column, columns = 300.0, 3
    for number, way in enumerate(ways):
        x = MARGIN_X / 2 + column * (number % columns)
        y = height + LEGEND_ROW * (number // columns)
        kind = "path backup" if way.backup_of else "path"
        said = printable(way.name)
        said += f" (backup of {', '.join(map(printable, way.backup_of))})" if way.backup_of else ""
        said = said if len(said) <= 36 else said[:35] + "…"
        canvas.parts.append(
            f'<line class="{kind}" stroke="{colour_of(number)}" x1="{x:.0f}" y1="{y - 4:.0f}" '
            f'x2="{x + 34:.0f}" y2="{y - 4:.0f}"/>'
            f'<text x="{x + 42:.0f}" y="{y:.0f}">{escape(said)}</text>'
        )
    if ways:
        height += LEGEND_ROW * ((len(ways) - 1) // columns + 1)
    if more > 0:
        canvas.parts.append(
            f'<text class="about" x="{MARGIN_X / 2:.0f}" y="{height:.0f}">and {more} more</text>'
        )
        height += LEGEND_ROW
    return height


def _hops(way: Way) -> str:
    return ", ".join([*(hop[0] for hop in way.hops), *(hop[1] for hop in way.hops[-1:])])


def _kind(way: Way) -> str:
    return f"backup of {', '.join(way.backup_of)}" if way.backup_of else "working path"


def _summary(sketch: Sketch) -> str:
    said = f"{len(sketch.nodes)} nodes, {len(sketch.lines)} links, {len(sketch.ways)} paths. "
    links = "; ".join(
        f"{a} to {b}: {line.about}" for line in sketch.lines[:40] for a, b in [line.ends]
    )
    return said + links


def _text(words: str) -> str:
    return escape(printable(words))
