"""A comparison as a table for a terminal."""

from trunkline.compare.difference import Comparison, Difference
from trunkline.results.numbers import mean_and_half
from trunkline.results.render import add, draw, frame, printable
from trunkline.results.tables import column

SHOWN_ROWS = 40
"""Rows of the table; all are shown where all are asked for."""


def render(
    done: Comparison, *, whole: bool = False, width: int | None = None, colour: bool = False
) -> str:
    """Write each metric of both sides, the difference with its interval, and the verdict.

    Parameters
    ----------
    whole : bool, default False
        Whether all differences are shown; of more than `SHOWN_ROWS` the largest otherwise.
    width : int, optional
        Columns of the terminal; found out by itself if left out.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    heads = ["metric", "of", "A", "B", "B - A", "", "p"]
    shown = done.differences if whole else done.largest(SHOWN_ROWS)
    title = f"{printable(done.a)} (A) and {printable(done.b)} (B)"
    if len(shown) < len(done.differences):
        title += f" (the {len(shown)} largest of {len(done.differences)} differences: --all)"
    drawn = frame(title, heads, names=2)
    for each in shown:
        add(drawn, cells(each))
    for names in drawn.columns[:2]:
        names.no_wrap = True
    pairs, over = len(done.seeds), "over pairs of one seed" if done.paired else "of separate means"
    drawn.caption = f"B - A: {over}, ± half of the 95 % interval; p: Holm"
    lines = [f"{pairs} pair{'s' if pairs > 1 else ''} of runs, seeds {_range(done.seeds)}"]
    if not done.paired:
        lines = [f"seeds {_range(done.seeds)} of A, {_range(done.seeds_b)} of B"]
    lines += [f"note: {note}" for note in done.notes]
    lines += [f"only in A: {printable(name)}" for name in done.only_a]
    lines += [f"only in B: {printable(name)}" for name in done.only_b]
    lines.append(done.verdict())
    return draw([drawn], "\n".join(lines), width=width, colour=colour)


def cells(each: Difference) -> list[str]:
    """A difference in words: metric, row, A, B, B - A, verdict and adjusted p."""
    table, _, measure = each.metric.partition(".")
    name = measure if table == "flows" else each.metric
    unit = column(table, measure).unit
    factor = 100 if unit == "%" else 1
    shown = mean_and_half(
        factor * each.difference.mean,
        None if each.difference.half_width is None else factor * each.difference.half_width,
        unit,
    )
    sides = [mean_and_half(factor * side.mean, None, unit) for side in (each.a, each.b)]
    share = None if each.relative is None else 100 * each.relative
    relative = "" if share is None else f"{share:{'+.0f' if abs(share) >= 100 else '+.2g'}} %"
    p = "–" if each.p_holm is None else "<.001" if each.p_holm < 0.001 else f"{each.p_holm:.3f}"
    verdict = {"no difference shown": "not shown"}.get(each.verdict, each.verdict)
    return [name, each.row, *sides, f"{shown}  {relative}", verdict, p]


def _range(seeds: list[int]) -> str:
    if len(seeds) > 1 and seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    shown = ", ".join(str(seed) for seed in seeds[:8])
    return shown + (", ..." if len(seeds) > 8 else "")
