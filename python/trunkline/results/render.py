"""Results as tables for a terminal."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from textwrap import fill
from typing import TYPE_CHECKING, Final

from trunkline.results.convergence import Change, changes
from trunkline.results.headline import headline
from trunkline.results.numbers import count, percent, quantity, span
from trunkline.results.own_drops import own_drops
from trunkline.results.phases import Phase, phases
from trunkline.results.shown import SHOWN
from trunkline.results.table import Scalar, Table
from trunkline.results.tables import Field, column

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table as RichTable

    from trunkline.results.results import Results

SHOWN_ROWS = 15
"""Rows of a table; all are shown where all are asked for."""


def render(
    results: Results,
    *,
    before: Sequence[RichTable] = (),
    width: int | None = None,
    colour: bool = False,
    whole: bool = False,
) -> str:
    """Write a run: what was lost, who waits, what is full, then what each flow got.

    Parameters
    ----------
    results : Results
        The run.
    before : sequence of RichTable, optional
        Tables to show before those of the flows, such as that of service levels.
    width : int, optional
        Columns of the terminal; found out by itself if left out.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    whole : bool, default False
        Whether all tables are shown, with all their rows.

    Returns
    -------
    str
        The lines and the tables of flows, each cut to its busiest rows if it is long; with
        ``whole`` all tables, else a line that names those left out.
    """
    most = None if whole else SHOWN_ROWS
    tables = results.tables
    shown = [*before, _busy(results.flows, most)]
    shown += [_first(tables[name], most) for name in ("calls", "echoes", "videos") if tables[name]]
    if len(results.completions):
        shown.append(_completions(results.completions, most))
    more = _more(results)
    if whole:
        shown += [draw_it() for draw_it in more.values()]
    elif len(results.flows) > SHOWN_ROWS and "aggregates" in more:
        # Where most flows are left out, their aggregates are the summary of all of them.
        shown.insert(len(before) + 1, more.pop("aggregates")())
    summary = results.summary
    own = own_drops([results])
    last = f"{own}\n" if own else ""
    if not whole:
        last += f"{with_all(more)}\n"
    measured = f"{quantity(summary['measured_s'], 's')} measured"
    if results.provenance.engine == "fluid":
        last += f"fluid engine: means over {quantity(summary['measured_s'], 's')}, without packets"
    else:
        last += (
            f"seed {results.seed}, {measured}, "
            f"{count(summary['packet_hops'])} packet-hops, results hash {results.hash()[:16]}"
        )
    return draw(shown, last, first=headline([results]), width=width, colour=colour)


def with_all(names: Iterable[str]) -> str:
    """Say which tables ``--all`` adds."""
    return f"with --all also: {', '.join(names)}"


def _more(results: Results) -> dict[str, Callable[[], RichTable]]:
    """The tables beyond those of flows, by what they are called."""
    found: dict[str, Callable[[], RichTable]] = {}
    if 1 < len(results.aggregates) < len(results.flows):
        found["aggregates"] = lambda: _busy(results.aggregates, None)
    if any(flows != 1 for flows in results.fairness["flows"]):
        found["fairness"] = lambda: _fairness(results.fairness)
    found["ports"] = lambda: _ports(results.ports)
    if len(results.paths):
        found["paths"] = lambda: _paths(results.paths)
    if len(results.lsps):
        found["signalled paths"] = lambda: _lsps(results.lsps)
        found["control messages"] = lambda: _busy(results.control, None, "bytes")
    if len(results.drops):
        found["drops"] = lambda: _drops(results.drops)
    moved = changes(results)
    if moved:
        found["convergence"] = lambda: _convergence(moved)
    parted = phases(results)
    if parted:
        found["losses by phase"] = lambda: _phases(parted)
    if len(results.timeline):
        found["timeline"] = lambda: _timeline(results.timeline)
    return found


def draw(
    tables: Sequence[RichTable],
    last: str = "",
    *,
    first: Sequence[str] = (),
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Write first lines, rich tables and a closing line as text.

    A line that is too wide goes on below the end of its first word, a table becomes several.
    """
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for line in first:
        folded = fill(
            printable(line), console.width, subsequent_indent=" " * 7, break_long_words=False
        )
        console.print(folded, soft_wrap=True)
    if first:
        console.print()
    for table in tables:
        for block in _blocks(table, console):
            console.print(block)
            # A caption stands below the empty line that ends a table.
            if block.caption:
                console.print()
    if last:
        console.print(last)
    return out.getvalue()


BESIDE: Final = ("publ.", "err", "expected")
"""Heads of columns that stay in one block with the column before them."""


def _blocks(table: RichTable, console: Console) -> list[RichTable]:
    """A table as one, or as several below each other that repeat the names and cut no number."""
    from rich.cells import cell_len

    def part(columns: list[Column]) -> RichTable:
        block = copy(table)
        block.columns = [replace(each, _index=index) for index, each in enumerate(columns)]
        return block

    def needs(columns: list[Column]) -> int:
        # Asked with all room there is: a measurement never exceeds the room it is given. The least
        # width leaves out a column of padding, for which the first name would be folded.
        room = console.options.update(width=10_000)
        return console.measure(part(columns), options=room).minimum + 1

    names = [each for each in table.columns if each.justify == "left"]
    numbers = [each for each in table.columns if each.justify != "left"]
    for each in table.columns:
        each.min_width = max(cell_len(str(text)) for text in (each.header, *each.cells))
    for each in names:
        # A name may be folded, but not to a column of single letters.
        share = max(4, console.width // (3 * len(names)))
        each.min_width = min(each.min_width or share, share)
    blocks: list[RichTable] = []
    while numbers:
        widths = range(1, len(numbers) + 1)
        taken = bisect_right(
            widths, console.width, key=lambda count: needs(names + numbers[:count])
        )
        taken = max(1, taken)
        while 1 < taken < len(numbers) and str(numbers[taken].header) in BESIDE:
            taken -= 1
        blocks.append(part(names + numbers[:taken]))
        numbers = numbers[taken:]
    for block in blocks[1:]:
        block.title = None
    for block in blocks[:-1]:
        block.caption = None
    return blocks or [table]


def frame(title: str, columns: Sequence[str], *, names: int = 1) -> RichTable:
    """Begin a table; the first ``names`` columns hold names, the others numbers."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
    )
    for index, title in enumerate(columns):
        if index < names:
            table.add_column(Text(title), justify="left", overflow="fold", min_width=4)
        else:
            table.add_column(Text(title), justify="right", no_wrap=True)
    return table


def add(table: RichTable, cells: Sequence[str]) -> None:
    """Add a row of plain text: no markup, nothing that steers a terminal."""
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells))


def printable(text: str, *, keep: str = "") -> str:
    """Spell out what is not printable, so that a name cannot steer a terminal or turn the writing.

    Parameters
    ----------
    text : str
        Any text, such as a name from a scenario.
    keep : str, default ""
        Characters left as they are, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def _busiest(table: Table, by: str, most: int | None) -> tuple[list[dict[str, Scalar]], int]:
    """Rows in their order, the busiest only if there are many, and how many are left out."""
    if most is None or len(table) <= most:
        return list(table.rows()), 0
    names = [str(name) for name in table["flow"]]
    kept = busiest(names, [float(value or 0) for value in table[by]], most)
    return [table.row(i) for i in kept], len(table) - most


def busiest(names: Sequence[str], sizes: Sequence[float], most: int | None) -> list[int]:
    """Choose rows to show: of those that a scenario replicates first one each, the busiest.

    Parameters
    ----------
    names : sequence of str
        Their names; ``down[0]`` and ``down[1]`` are of one kind.
    sizes : sequence of float
        What they are ranked by; of equal ones the first comes first.
    most : int or None
        Maximum of rows; None for all.

    Returns
    -------
    list of int
        Their numbers, in order.
    """
    ranked = sorted(range(len(names)), key=lambda row: -sizes[row])
    if most is None:
        return sorted(ranked)
    first = {names[row].partition("[")[0]: row for row in reversed(ranked)}
    firsts = set(first.values())
    ranked.sort(key=lambda row: row not in firsts)
    return sorted(ranked[:most])


def which_of(names: Sequence[str], ranked: str) -> str:
    """Say which rows `busiest` chose, where some are replicated, by the word for their rank."""
    return f"{ranked} of each kind" if any("[" in name for name in names) else ranked


def _title(name: str, left_out: int, which: str = "busiest") -> str:
    return f"{name} (the {which}; {left_out} more: --all)" if left_out else name


def cell(value: Scalar, field: Field) -> str:
    """Write a value of a column in the column's unit."""
    if field.unit == "%":
        return percent(value)
    if field.unit:
        return quantity(value, field.unit)
    if value is None:
        return "–"
    return count(value) if field.kind == "i64" else f"{float(value):.3g}"


def _measured(
    table: Table,
    rows: list[dict[str, Scalar]],
    left_out: int,
    which: str = "busiest",
    more: str = "",
    without: str = "",
) -> RichTable:
    """A table of columns: names first, then measures, both by the names of the columns."""
    names, measures, caption = SHOWN[table.name]
    fields = [column(table.name, name) for name in f"{names} {measures} {more}".split()]
    if without:
        fields = [field for field in fields if field.name != without]
        said = f"{column(table.name, without).title}:"
        caption = "; ".join(it for it in caption.split("; ") if not it.startswith(said))
    titles = [field.title for field in fields]
    drawn = frame(
        _title(table.name.capitalize(), left_out, which), titles, names=len(names.split())
    )
    for row in rows:
        texts = (
            str(row[field.name]) if field.kind == "str" else cell(row[field.name], field)
            for field in fields
        )
        add(drawn, list(texts))
    drawn.caption = caption or None
    return drawn


def _busy(table: Table, most: int | None, by: str = "packets_sent") -> RichTable:
    rows, left_out = _busiest(table, by, most)
    if table.name != "flows":
        return _measured(table, rows, left_out)
    others = [row for row in rows if row["protocol"] != "tcp"]
    for row in others:
        row["retransmissions"] = None
    # A column of which no row has a value would only take room.
    without = "retransmissions" if rows and len(others) == len(rows) else ""
    which = which_of([str(row["flow"]) for row in rows], "busiest")
    return _measured(table, rows, left_out, which, without=without)


def _fairness(table: Table) -> RichTable:
    return _measured(table, [row for row in table.rows() if row["flows"] != 1], 0)


def _first(
    table: Table, most: int | None, rows: list[dict[str, Scalar]] | None = None, more: str = ""
) -> RichTable:
    """A table of columns with the first rows, and how many are left out."""
    count = len(table) if rows is None else len(rows)
    shown = list(islice(table.rows() if rows is None else rows, most))
    return _measured(table, shown, count - len(shown), "first", more)


def _completions(table: Table, most: int | None) -> RichTable:
    drawn = _first(table, most, told_apart(list(table.rows())))
    for name in drawn.columns[:2]:
        name.no_wrap = True
    return drawn


def told_apart(rows: list[dict[str, Scalar]]) -> list[dict[str, Scalar]]:
    """Rows of completions that say something: no empty bins, nor a bin that holds all of them."""
    begun = [row for row in rows if row["started"]]
    whole = {row["flow"]: row["started"] for row in begun if row["sizes"] == "all"}
    alike = ("all", "pages")
    return [r for r in begun if r["sizes"] in alike or r["started"] != whole[r["flow"]]]


def _ports(table: Table) -> RichTable:
    busy = [row for row in table.rows() if row["packets_offered"]]
    return _measured(table, sorted(busy, key=lambda row: -float(row["utilisation"] or 0)), 0)


def _paths(table: Table) -> RichTable:
    if all(row["packets_delivered"] is None for row in table.rows()):
        return _first(table, None)
    drawn = _first(table, None, more="loss_ratio delay_mean_s delay_p99_s delay_max_s")
    drawn.caption = "delay: mean, one way, its 99th percentile and maximum"
    return drawn


def _lsps(table: Table) -> RichTable:
    blocked = any(row["blocked"] for row in table.rows())
    drawn = _first(table, None, more="blocked blocking_ratio" if blocked else "")
    drawn.title = "Signalled paths"
    return drawn


def _drops(table: Table) -> RichTable:
    drawn = frame("Drops", ["flow", "direction", "at", "class", "cause", "packets"], names=5)
    for row in table.rows():
        place = row["link"] if row["link"] is not None else row["node"]
        names = [row["flow"], row["direction"], place, row["class"] or "–", row["cause"]]
        add(drawn, [*(str(name) for name in names), count(row["packets"])])
    return drawn


def _phases(found: Sequence[Phase]) -> RichTable:
    columns = ["after", "phase", "cause", "from", "to", "packets"]
    drawn = frame("Lost by phase", columns, names=3)
    for each in found:
        times = [span(each.from_ns), span(each.to_ns)]
        for cause, packets in sorted(each.lost.items()) or [("–", 0)]:
            add(drawn, [each.after or "–", each.name, cause, *times, count(packets)])
    drawn.caption = "packets of data; a phase ends with its last event before the next change"
    return drawn


def _convergence(found: Sequence[Change]) -> RichTable:
    drawn = frame(
        "Convergence", ["after", "router or path", "knows", "computed", "in use"], names=2
    )
    for change in found:
        for step in change.steps:
            times = (step.heard_ns, step.computed_ns, step.ended_ns)
            since = ("–" if at is None else span(at - change.at_ns) for at in times)
            add(drawn, [change.about, step.name, *since])
    drawn.caption = "since the change; in use: other routes or labels, or the path moved"
    return drawn


def _timeline(table: Table) -> RichTable:
    columns = ["time", "event", "protection", "link", "node"]
    drawn = frame("Timeline", columns, names=5)
    for row in table.rows():
        names = (row[name] or "–" for name in columns[1:])
        add(drawn, [f"{float(row['time_s'] or 0):.6f} s", *(str(name) for name in names)])
    return drawn
