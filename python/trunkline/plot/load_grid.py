"""Links by steps: a grid whose cells have the colour of the utilisation of a link in a step."""

from collections.abc import Sequence
from html import escape

from trunkline.plot.load_map import UTILISATION_COLOURS, choose_load_colour
from trunkline.plot.network_graph import WIDTH, wrap_svg
from trunkline.results.number_format import format_percent
from trunkline.results.terminal_tables import escape_unprintable

ROW_HEIGHT, NAME_WIDTH, TOP, MAX_CELL_WIDTH = 18.0, 190.0, 30.0, 64.0
MIN_CELL_WIDTH_WITH_NUMBER = 34.0
DARK_FROM = 0.25
"""Utilisation from which a cell is dark enough for white letters; the yellow one is not."""


def draw_load_grid(
    title: str, links: Sequence[str], steps: Sequence[str], utilisations: Sequence[Sequence[float]]
) -> str:
    """Draw a grid as SVG.

    links, steps: Heads of the rows, and long names of the columns, which tooltips show.
    utilisations: Utilisation of each link in each step [1].
    """
    width = min(MAX_CELL_WIDTH, (WIDTH - NAME_WIDTH - 10) / max(len(steps), 1))
    parts = []
    for column in range(len(steps)):
        if width >= MIN_CELL_WIDTH_WITH_NUMBER or column % 10 == 0:
            x = NAME_WIDTH + (column + 0.5) * width
            head = f'x="{x:.1f}" y="{TOP - 8:.0f}" text-anchor="middle"'
            parts.append(f'<text class="about" {head}>{column or "start"}</text>')
    for row, link in enumerate(links):
        y = TOP + row * ROW_HEIGHT
        name = escape(escape_unprintable(link if len(link) <= 30 else link[:29] + "…"))
        place = f'x="{NAME_WIDTH - 8:.0f}" y="{y + 13:.0f}" text-anchor="end"'
        parts.append(f'<text class="about" {place}>{name}</text>')
        for column, step in enumerate(steps):
            parts.append(
                _draw_cell(
                    NAME_WIDTH + column * width,
                    y,
                    width,
                    utilisations[row][column],
                    f"{link}, {step}",
                )
            )
    height = TOP + len(links) * ROW_HEIGHT + 10
    legend, x = [], NAME_WIDTH
    for limit, shade in UTILISATION_COLOURS:
        words = f"to {format_percent(limit)}" if limit <= 1 else "above 100 %"
        legend.append(
            f'<rect x="{x:.0f}" y="{height:.0f}" width="20" height="12" fill="{shade}"/>'
            f'<text class="about" x="{x + 26:.0f}" y="{height + 10:.0f}">{words}</text>'
        )
        x += 120
    peak = max((max(row) for row in utilisations), default=0.0)
    about = f"{len(links)} links in {len(steps)} steps, at most {format_percent(peak)} used."
    return wrap_svg(title, about, "\n".join(parts + legend), height + 24)


def _draw_cell(x: float, y: float, width: float, utilisation: float, where: str) -> str:
    caption = escape(escape_unprintable(f"{where}: {format_percent(utilisation)}"))
    cell = (
        f'<rect x="{x:.1f}" y="{y:.0f}" width="{width - 1:.1f}" height="{ROW_HEIGHT - 1:.0f}" '
        f'fill="{choose_load_colour(utilisation)}"><title>{caption}</title></rect>'
    )
    if width < MIN_CELL_WIDTH_WITH_NUMBER:
        return cell
    is_dark = (
        utilisation > DARK_FROM and choose_load_colour(utilisation) != UTILISATION_COLOURS[2][1]
    )
    return cell + (
        f'<text x="{x + width / 2:.1f}" y="{y + 13:.0f}" text-anchor="middle" '
        f'style="font-size:11px;pointer-events:none;fill:{"#fff" if is_dark else "#1b1b1b"}">'
        f"{100 * utilisation:.0f}</text>"
    )
