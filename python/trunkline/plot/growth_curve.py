"""Utilisation over the periods of a growth: without a failure, and after the worst one."""

from collections.abc import Sequence
from html import escape

from trunkline.plot.network_graph import WIDTH, wrap_svg
from trunkline.results.number_format import format_percent
from trunkline.results.terminal_tables import escape_unprintable

HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 260.0, 64.0, 150.0, 16.0, 36.0
LINES = (("after the worst failure", "#b30000", ""), ("without a failure", "#4292c6", "6 3"))
MAX_LABELS = 11


def draw_growth_curve(
    title: str, labels: Sequence[str], worst: Sequence[float], normal: Sequence[float], bound: float
) -> str:
    """Draw two curves with the bound as SVG; utilisations are ratios by period."""
    top = max(*worst, *normal, bound) * 1.08
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def locate(period: int, value: float) -> tuple[float, float]:
        share = period / max(len(labels) - 1, 1)
        return LEFT + width * share, TOP + height * (1 - value / top)

    parts = []
    tick = _choose_tick(top)
    for step in range(int(top / tick) + 1):
        y = locate(0, step * tick)[1]
        parts.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + width:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text class="about" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{format_percent(step * tick)}</text>"
        )
    every = -(-len(labels) // MAX_LABELS)
    for period in range(0, len(labels), every):
        words = escape(escape_unprintable(labels[period]))
        parts.append(
            f'<text class="about" x="{locate(period, 0)[0]:.1f}" y="{HEIGHT - 12:.0f}" '
            f'text-anchor="middle">{words}</text>'
        )
    y = locate(0, bound)[1]
    parts.append(
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + width:.1f}" y2="{y:.1f}" stroke="#1b1b1b" '
        f'stroke-dasharray="2 3"/><text class="about" x="{LEFT + width + 8:.1f}" '
        f'y="{y + 4:.1f}">bound {format_percent(bound)}</text>'
    )
    ends: list[float] = [y]
    for (words, colour, dash), values in zip(LINES, (worst, normal), strict=True):
        points = [locate(period, value) for period, value in enumerate(values)]
        route = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{route}" fill="none" stroke="{colour}" stroke-width="2.5" '
            f'stroke-dasharray="{dash or "none"}"/>'
        )
        for (x, y), value, label in zip(points, values, labels, strict=True):
            caption = escape(escape_unprintable(f"{label}, {words}: {format_percent(value)}"))
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{caption}</title>'
                "</circle>"
            )
        x, y = points[-1]
        # Labels at the ends of the lines keep apart.
        while any(abs(y - other) < 14 for other in ends):
            y += 4
        ends.append(y)
        parts.append(
            f'<text class="about" x="{x + 8:.1f}" y="{y + 4:.1f}" style="fill:{colour}">'
            f"{words}</text>"
        )
    about = (
        f"From {format_percent(worst[0])} to {format_percent(worst[-1])} after the worst failure."
    )
    return wrap_svg(title, about, "\n".join(parts), HEIGHT)


def _choose_tick(top: float) -> float:
    """Choose a round step that gives three to eight lines."""
    return next(
        (step for step in (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10) if top / step <= 7), top / 4
    )
