"""Charts as still pictures, for pages made without the charts library."""

from markupsafe import Markup, escape

from trunkline.report.charts import Chart, ChartLine, Numbers, format_value
from trunkline.results.number_format import format_number

WIDTH, HEIGHT = 720.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 84.0, 12.0, 12.0, 30.0


def draw_static_chart(chart: Chart) -> Markup:
    """Draw a chart as SVG.

    Returns: SVG whose names are escaped; colours come from the page's classes ``c0`` to ``c7``.
    """
    lines = [_list_points(chart, line) for line in chart.lines]
    xs = [x for points in lines for x, _ in points]
    ys = [y for points in lines for _, y in points]
    if not xs:
        return Markup("")
    left, right = min(xs), max(xs)
    low, high = min(0.0, *ys), max(ys)
    x_span, y_span = (right - left) or 1.0, (high - low) or 1.0

    def to_pixels(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - left) / x_span * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - (y - low) / y_span * (HEIGHT - TOP - BOTTOM),
        )

    parts = [
        f'<svg class="still" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-label="{escape(chart.alt)}">'
    ]
    for share in (0.0, 0.5, 1.0):
        _, y = to_pixels(left, low + share * y_span)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        unit = "%" if chart.kind == "quantile" else chart.unit
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{format_value(low + share * y_span, unit)}</text>"
        )
    ends = (
        (chart.categories[0], chart.categories[-1])
        if chart.categories
        else (
            f"{format_number(left, 4)} {chart.x_unit}",
            f"{format_number(right, 4)} {chart.x_unit}",
        )
    )
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 8}">{escape(ends[0])}</text>')
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(ends[1])}</text>'
    )
    for line in chart.lines:
        if line.low is None or line.high is None or chart.categories:
            continue
        band_points = [
            to_pixels(x, min(max(y, low), high))
            for side, step in ((line.low, 1), (line.high, -1))
            for x, y in [*zip(chart.x, side, strict=True)][::step]
            if x is not None and y is not None
        ]
        shape = " ".join(f"{x:.1f},{y:.1f}" for x, y in band_points)
        parts.append(f'<polygon class="c{line.colour}" points="{shape}"/>')
    for line, points in zip(chart.lines, lines, strict=True):
        placed = [to_pixels(x, y) for x, y in points]
        if chart.categories:
            parts += [
                f'<circle class="c{line.colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
                for x, y in placed
            ]
        else:
            shape = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
            parts.append(f'<polyline class="c{line.colour}" points="{shape}"/>')
    parts.append('</svg><ul class="key">')
    for line in chart.lines:
        parts.append(f'<li class="c{line.colour}">{escape(line.name)}</li>')
    parts.append(f"<li>[{escape(chart.unit)}]</li></ul>" if chart.unit else "</ul>")
    # Everything that is not a number was escaped above.
    return Markup("".join(parts))  # noqa: S704


def _list_points(chart: Chart, line: ChartLine) -> list[tuple[float, float]]:
    values: Numbers = line.values
    x: Numbers
    if chart.categories:
        x = [float(position) for position in range(len(values))]
    elif line.x is not None:
        x = line.x
    else:
        x = chart.x
    return [(a, b) for a, b in zip(x, values, strict=False) if a is not None and b is not None]
