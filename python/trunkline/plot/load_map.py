"""The topology with every direction of a link in the colour of its utilisation."""

from collections.abc import Mapping, Sequence
from html import escape

from trunkline.plot.graph import LEGEND_ROW, MARGIN_X, Canvas, canvas_of, document, node
from trunkline.plot.layout import Place
from trunkline.plot.sketch import Sketch
from trunkline.results.numbers import percent
from trunkline.results.render import printable

LEVELS: tuple[tuple[float, str], ...] = (
    (0.25, "#9ecae1"),
    (0.5, "#4292c6"),
    (0.75, "#fec44f"),
    (1.0, "#ec7014"),
    (float("inf"), "#b30000"),
)
"""Utilisation below which a direction has a colour: blue to red, told apart in grey as well."""
IDLE = "#d9d9d9"
WIDE = 4.0


def draw(
    sketch: Sketch, places: Mapping[str, Place] | None, use: Sequence[float], said: Sequence[str]
) -> str:
    """Draw a network by the load of its links.

    Parameters
    ----------
    places : mapping of str to (float, float), optional
        Places of nodes that the scenario gives, y upward.
    use : sequence of float
        Utilisation of each one-way link [1].

    Returns
    -------
    str
        An SVG document; the same input gives the same text.
    """
    canvas, height = canvas_of(sketch, places)
    for line in sketch.lines:
        for index in line.links:
            # The first link of a line leads from its first end.
            ends = line.ends if index == line.links[0] else line.ends[::-1]
            _way(canvas, ends, use[index], said[index])
    for name in sketch.nodes:
        node(canvas, name, host=False)
    busiest = sorted(range(len(use)), key=lambda index: -use[index])[:3]
    about = "Utilisation of links. Busiest: " + "; ".join(said[index] for index in busiest)
    _legend(canvas, height)
    return document(sketch.name, about, "\n".join(canvas.parts), height + LEGEND_ROW)


def colour(use: float) -> str:
    """Colour of a utilisation; grey for none."""
    if use <= 0:
        return IDLE
    return next(shade for limit, shade in LEVELS if use <= limit)


def _way(canvas: Canvas, ends: tuple[str, str], use: float, said: str) -> None:
    slot = canvas.taken.get(ends, 0)
    canvas.taken[ends] = slot + 1
    (x1, y1), (x2, y2) = canvas.segment(ends, (slot + 0.55) * (WIDE + 0.6))
    canvas.parts.append(
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour(use)}" '
        f'stroke-width="{WIDE:g}"><title>{escape(printable(said))}</title></line>'
    )


def _legend(canvas: Canvas, height: float) -> None:
    low = 0.0
    x = MARGIN_X / 2
    shades = [("idle", IDLE)]
    for limit, shade in LEVELS:
        shades.append((f"above {percent(low)}" if limit > 1 else f"to {percent(limit)}", shade))
        low = limit
    for words, shade in shades:
        canvas.parts.append(
            f'<line x1="{x:.0f}" y1="{height:.0f}" x2="{x + 28:.0f}" y2="{height:.0f}" '
            f'stroke="{shade}" stroke-width="{WIDE:g}"/>'
            f'<text class="about" x="{x + 34:.0f}" y="{height + 4:.0f}">{words}</text>'
        )
        x += 130
