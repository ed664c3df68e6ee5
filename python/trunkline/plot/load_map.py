"""The topology with every direction of a link in the colour of its utilisation."""

from collections.abc import Mapping, Sequence
from html import escape

from trunkline.plot.layout import NodePosition
from trunkline.plot.network_graph import (
    LEGEND_ROW_HEIGHT,
    MARGIN_X,
    GraphCanvas,
    create_graph_canvas,
    draw_node,
    wrap_svg,
)
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.results.number_format import format_percent
from trunkline.results.terminal_tables import escape_unprintable

UTILISATION_COLOURS: tuple[tuple[float, str], ...] = (
    (0.25, "#9ecae1"),
    (0.5, "#4292c6"),
    (0.75, "#fec44f"),
    (1.0, "#ec7014"),
    (float("inf"), "#b30000"),
)
"""Utilisation below which a direction has a colour: blue to red, told apart in grey as well."""
IDLE_COLOUR = "#d9d9d9"
LINK_WIDTH = 4.0


def draw_load_map(
    sketch: NetworkSketch,
    places: Mapping[str, NodePosition] | None,
    utilisations: Sequence[float],
    link_captions: Sequence[str],
) -> str:
    """Draw a network by the load of its links.

    places: Places of nodes that the scenario gives, y upward.
    utilisations: Utilisation of each one-way link [1].
    Returns: An SVG document; the same input gives the same text.
    """
    canvas, height = create_graph_canvas(sketch, places)
    for line in sketch.links:
        for index in line.links:
            # The first link of a line leads from its first end.
            ends = line.ends if index == line.links[0] else line.ends[::-1]
            _draw_direction(canvas, ends, utilisations[index], link_captions[index])
    for name in sketch.nodes:
        draw_node(canvas, name, host=False)
    busiest = sorted(range(len(utilisations)), key=lambda index: -utilisations[index])[:3]
    about = "Utilisation of links. Busiest: " + "; ".join(link_captions[index] for index in busiest)
    _draw_legend(canvas, height)
    return wrap_svg(sketch.name, about, "\n".join(canvas.parts), height + LEGEND_ROW_HEIGHT)


def choose_load_colour(utilisation: float) -> str:
    """Colour of a utilisation; grey for none."""
    if utilisation <= 0:
        return IDLE_COLOUR
    return next(shade for limit, shade in UTILISATION_COLOURS if utilisation <= limit)


def _draw_direction(
    canvas: GraphCanvas, ends: tuple[str, str], utilisation: float, caption: str
) -> None:
    slot = canvas.slots_used.get(ends, 0)
    canvas.slots_used[ends] = slot + 1
    (x1, y1), (x2, y2) = canvas.compute_segment(ends, (slot + 0.55) * (LINK_WIDTH + 0.6))
    canvas.parts.append(
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{choose_load_colour(utilisation)}" '
        f'stroke-width="{LINK_WIDTH:g}"><title>{escape(escape_unprintable(caption))}</title></line>'
    )


def _draw_legend(canvas: GraphCanvas, height: float) -> None:
    low = 0.0
    x = MARGIN_X / 2
    shades = [("idle", IDLE_COLOUR)]
    for limit, shade in UTILISATION_COLOURS:
        shades.append(
            (f"above {format_percent(low)}" if limit > 1 else f"to {format_percent(limit)}", shade)
        )
        low = limit
    for words, shade in shades:
        canvas.parts.append(
            f'<line x1="{x:.0f}" y1="{height:.0f}" x2="{x + 28:.0f}" y2="{height:.0f}" '
            f'stroke="{shade}" stroke-width="{LINK_WIDTH:g}"/>'
            f'<text class="about" x="{x + 34:.0f}" y="{height + 4:.0f}">{words}</text>'
        )
        x += 130
