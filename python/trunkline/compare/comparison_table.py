"""A comparison as a table for a terminal."""

from trunkline.compare.difference import Comparison, MetricDifference
from trunkline.results.number_format import format_mean_and_half_width
from trunkline.results.schemas import find_field
from trunkline.results.terminal_tables import (
    add_text_row,
    begin_table,
    escape_unprintable,
    render_to_text,
)

MAX_ROWS_SHOWN = 40  # Rows of the table; all are shown where all are asked for.


def render_comparison(
    comparison: Comparison,
    *,
    show_all: bool = False,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Write each metric of both sides, the difference with its interval, and the verdict.

    show_all: Whether all differences are shown; of more than `MAX_ROWS_SHOWN` the largest
        otherwise.
    width: Columns of the terminal; found out by itself if left out.
    colour: Whether to use the escape codes of a terminal.
    """
    headers = ["metric", "of", "A", "B", "B - A", "", "p"]
    differences_shown = (
        comparison.differences if show_all else comparison.list_largest(MAX_ROWS_SHOWN)
    )
    title = f"{escape_unprintable(comparison.a)} (A) and {escape_unprintable(comparison.b)} (B)"
    if len(differences_shown) < len(comparison.differences):
        title += (
            f" (the {len(differences_shown)} largest of {len(comparison.differences)} "
            f"differences: --all)"
        )
    rich_table = begin_table(title, headers, names=2)
    for each in differences_shown:
        add_text_row(rich_table, format_difference_cells(each))
    for names in rich_table.columns[:2]:
        names.no_wrap = True
    pairs = len(comparison.seeds)
    pairing_text = "over pairs of one seed" if comparison.paired else "of separate means"
    rich_table.caption = f"B - A: {pairing_text}, ± half of the 95 % interval; p: Holm"
    lines = [
        f"{pairs} pair{'s' if pairs > 1 else ''} of runs, seeds {_format_seeds(comparison.seeds)}"
    ]
    if not comparison.paired:
        lines = [
            f"seeds {_format_seeds(comparison.seeds)} of A, "
            f"{_format_seeds(comparison.seeds_b)} of B"
        ]
    lines += [f"note: {note}" for note in comparison.notes]
    lines += [f"only in A: {escape_unprintable(name)}" for name in comparison.only_a]
    lines += [f"only in B: {escape_unprintable(name)}" for name in comparison.only_b]
    lines += [f"on one side alone: {escape_unprintable(name)}" for name in comparison.one_sided]
    lines.append(comparison.verdict())
    return render_to_text([rich_table], "\n".join(lines), width=width, colour=colour)


def format_difference_cells(metric_difference: MetricDifference) -> list[str]:
    """Format a difference in words: metric, row, A, B, B - A, verdict and adjusted p."""
    table, _, measure = metric_difference.metric.partition(".")
    name = measure if table == "flows" else metric_difference.metric
    unit = find_field(table, measure).unit
    factor = 100 if unit == "%" else 1
    difference_text = format_mean_and_half_width(
        factor * metric_difference.difference.mean,
        None
        if metric_difference.difference.half_width is None
        else factor * metric_difference.difference.half_width,
        unit,
    )
    sides = [
        format_mean_and_half_width(factor * side.mean, None, unit)
        for side in (metric_difference.a, metric_difference.b)
    ]
    share = (
        None
        if metric_difference.relative_difference is None
        else 100 * metric_difference.relative_difference
    )
    relative = "" if share is None else f"{share:{'+.0f' if abs(share) >= 100 else '+.2g'}} %"
    p = (
        "–"
        if metric_difference.p_holm is None
        else "<.001"
        if metric_difference.p_holm < 0.001
        else f"{metric_difference.p_holm:.3f}"
    )
    verdict = {"no difference shown": "not shown"}.get(
        metric_difference.verdict, metric_difference.verdict
    )
    return [name, metric_difference.row, *sides, f"{difference_text}  {relative}", verdict, p]


def _format_seeds(seeds: list[int]) -> str:
    if len(seeds) > 1 and seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    seed_text = ", ".join(str(seed) for seed in seeds[:8])
    return seed_text + (", ..." if len(seeds) > 8 else "")
