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

from trunkline.results.convergence import NetworkChange, list_answered_changes
from trunkline.results.displayed_columns import DISPLAYED_COLUMNS
from trunkline.results.host_drops import describe_host_drops
from trunkline.results.loss_phases import LossPhase, phases
from trunkline.results.number_format import (
    format_count,
    format_duration,
    format_percent,
    format_quantity,
)
from trunkline.results.schemas import Field, find_field
from trunkline.results.summary_lines import build_summary_lines
from trunkline.results.table import Scalar, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table as RichTable

    from trunkline.results.results import Results

MAX_ROWS_SHOWN = 15  # Rows of a table; all are shown where all are asked for.


def render_results(
    results: Results,
    *,
    leading_tables: Sequence[RichTable] = (),
    width: int | None = None,
    colour: bool = False,
    show_all: bool = False,
) -> str:
    """Render a run: losses, waits, full links, then the measures of each flow.

    results: The run.
    leading_tables: Tables to show before those of the flows, such as that of service levels.
    width: Columns of the terminal; found out by itself if left out.
    colour: Whether to use the escape codes of a terminal.
    show_all: Whether all tables are shown, with all their rows.
    Returns: The lines and the tables of flows, each cut to its busiest rows if it is long; with
        ``show_all`` all tables, else a line that names those left out.
    """
    max_rows = None if show_all else MAX_ROWS_SHOWN
    tables = results.tables
    tables_shown = [*leading_tables, _build_busiest_table(results.flows, max_rows)]
    tables_shown += [
        _build_first_rows_table(tables[name], max_rows)
        for name in ("calls", "echoes", "videos")
        if tables[name]
    ]
    if len(results.completions):
        tables_shown.append(_build_completion_table(results.completions, max_rows))
    further_tables = _list_further_tables(results)
    if show_all:
        tables_shown += [draw_it() for draw_it in further_tables.values()]
    elif len(results.flows) > MAX_ROWS_SHOWN and "aggregates" in further_tables:
        # Where most flows are left out, their aggregates are the summary of all of them.
        tables_shown.insert(len(leading_tables) + 1, further_tables.pop("aggregates")())
    summary = results.summary
    host_drops_note = describe_host_drops([results])
    closing = f"{host_drops_note}\n" if host_drops_note else ""
    if not show_all:
        closing += f"{describe_hidden_tables(further_tables)}\n"
    measured = f"{format_quantity(summary['measured_s'], 's')} measured"
    if results.provenance.engine == "fluid":
        closing += (
            f"fluid engine: means over {format_quantity(summary['measured_s'], 's')}, "
            f"without packets"
        )
    elif results.provenance.engine == "decomposed":
        closing += (
            f"seed {results.seed}, each link simulated alone: counts are those expected in "
            f"{format_quantity(summary['measured_s'], 's')}"
        )
    else:
        closing += (
            f"seed {results.seed}, {measured}, "
            f"{format_count(summary['packet_hops'])} packet-hops, results hash "
            f"{results.hash()[:16]}"
        )
    return render_to_text(
        tables_shown,
        closing,
        opening_lines=build_summary_lines([results]),
        width=width,
        colour=colour,
    )


def describe_hidden_tables(names: Iterable[str]) -> str:
    """Say which tables ``--all`` adds."""
    return f"--all also shows: {', '.join(names)}"


def _list_further_tables(results: Results) -> dict[str, Callable[[], RichTable]]:
    """List the tables beyond those of flows, by name."""
    makers: dict[str, Callable[[], RichTable]] = {}
    if 1 < len(results.aggregates) < len(results.flows):
        makers["aggregates"] = lambda: _build_busiest_table(results.aggregates, None)
    if any(flows != 1 for flows in results.fairness["flows"]):
        makers["fairness"] = lambda: _build_fairness_table(results.fairness)
    makers["ports"] = lambda: _build_port_table(results.ports)
    if len(results.paths):
        makers["paths"] = lambda: _build_path_table(results.paths)
    if len(results.lsps):
        makers["signalled paths"] = lambda: _build_lsp_table(results.lsps)
        makers["control messages"] = lambda: _build_busiest_table(results.control, None, "bytes")
    if len(results.drops):
        makers["drops"] = lambda: _build_drop_table(results.drops)
    if len(results.marks):
        makers["marks"] = lambda: _build_mark_table(results.marks)
    answered_changes = list_answered_changes(results)
    if answered_changes:
        makers["convergence"] = lambda: _build_convergence_table(answered_changes)
    loss_phases = phases(results)
    if loss_phases:
        makers["losses by phase"] = lambda: _build_phase_table(loss_phases)
    if len(results.timeline):
        makers["timeline"] = lambda: _build_timeline_table(results.timeline)
    return makers


def render_to_text(
    tables: Sequence[RichTable],
    closing: str = "",
    *,
    opening_lines: Sequence[str] = (),
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Write first lines, rich tables and a closing line as text.

    A line that is too wide continues below the end of its first word, a table becomes several.
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
    for line in opening_lines:
        folded = fill(
            escape_unprintable(line),
            console.width,
            subsequent_indent=" " * 7,
            break_long_words=False,
        )
        console.print(folded, soft_wrap=True)
    if opening_lines:
        console.print()
    for table in tables:
        for block in _split_to_width(table, console):
            console.print(block)
            # A caption is below the empty line that ends a table.
            if block.caption:
                console.print()
    if closing:
        console.print(closing)
    return out.getvalue()


COMPARISON_HEADERS: Final = ("publ.", "err", "expected")
"""Heads of columns that stay in one block with the column before them."""


def _split_to_width(table: RichTable, console: Console) -> list[RichTable]:
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
        column_count = bisect_right(
            widths, console.width, key=lambda count: needs(names + numbers[:count])
        )
        column_count = max(1, column_count)
        while (
            1 < column_count < len(numbers)
            and str(numbers[column_count].header) in COMPARISON_HEADERS
        ):
            column_count -= 1
        blocks.append(part(names + numbers[:column_count]))
        numbers = numbers[column_count:]
    for block in blocks[1:]:
        block.title = None
    for block in blocks[:-1]:
        block.caption = None
    return blocks or [table]


def begin_table(
    title: str, columns: Sequence[str], *, names: int = 1, rows: Iterable[Sequence[str]] = ()
) -> RichTable:
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
    for row in rows:
        add_text_row(table, row)
    return table


def add_text_row(table: RichTable, cells: Sequence[str]) -> None:
    """Add a row of plain text: no markup, nothing that steers a terminal."""
    from rich.text import Text

    table.add_row(*(Text(escape_unprintable(cell)) for cell in cells))


def escape_unprintable(text: str, *, keep: str = "") -> str:
    """Spell out unprintable characters, so that a name cannot steer a terminal or turn the text.

    text: Any text, such as a name from a scenario.
    keep: Characters that do not change, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def _select_busiest_rows(
    table: Table, rank_column: str, max_rows: int | None
) -> tuple[list[dict[str, Scalar]], int]:
    """Rows in their order, the busiest only if there are many, and how many are left out."""
    if max_rows is None or len(table) <= max_rows:
        return list(table.rows()), 0
    names = [str(name) for name in table["flow"]]
    row_numbers = select_busiest(
        names, [float(value or 0) for value in table[rank_column]], max_rows
    )
    return [table.row(i) for i in row_numbers], len(table) - max_rows


def select_busiest(names: Sequence[str], sizes: Sequence[float], max_rows: int | None) -> list[int]:
    """Choose rows to show: of those that a scenario replicates first one each, the busiest.

    names: Their names; ``down[0]`` and ``down[1]`` are of one kind.
    sizes: Sizes for the rank; of equal ones the first comes first.
    max_rows: Maximum of rows; None for all.
    Returns: Their numbers, in order.
    """
    ranked = sorted(range(len(names)), key=lambda row: -sizes[row])
    if max_rows is None:
        return sorted(ranked)
    first = {names[row].partition("[")[0]: row for row in reversed(ranked)}
    firsts = set(first.values())
    ranked.sort(key=lambda row: row not in firsts)
    return sorted(ranked[:max_rows])


def describe_selection(names: Sequence[str], ranked: str) -> str:
    """Say which rows `select_busiest` chose, where some are replicated."""
    return f"{ranked} of each kind" if any("[" in name for name in names) else ranked


def _format_title(name: str, left_out: int, selection: str = "busiest") -> str:
    return f"{name} (the {selection}; {left_out} more: --all)" if left_out else name


def format_cell(value: Scalar, field: Field) -> str:
    """Write a value of a column in the column's unit."""
    if field.unit == "%":
        return format_percent(value)
    if field.unit:
        return format_quantity(value, field.unit)
    if value is None:
        return "–"
    return format_count(value) if field.kind == "i64" else f"{float(value):.3g}"


def _build_measure_table(
    table: Table,
    rows: list[dict[str, Scalar]],
    left_out: int,
    selection: str = "busiest",
    further_columns: str = "",
    hidden_column: str = "",
) -> RichTable:
    """Build a table of columns: names first, then measures, both by the names of the columns."""
    names, measures, caption = DISPLAYED_COLUMNS[table.name]
    fields = [
        find_field(table.name, name) for name in f"{names} {measures} {further_columns}".split()
    ]
    if hidden_column:
        fields = [field for field in fields if field.name != hidden_column]
        title_prefix = f"{find_field(table.name, hidden_column).title}:"
        caption = "; ".join(it for it in caption.split("; ") if not it.startswith(title_prefix))
    titles = [field.title for field in fields]
    rich_table = begin_table(
        _format_title(table.name.capitalize(), left_out, selection),
        titles,
        names=len(names.split()),
    )
    for row in rows:
        texts = (
            str(row[field.name]) if field.kind == "str" else format_cell(row[field.name], field)
            for field in fields
        )
        add_text_row(rich_table, list(texts))
    rich_table.caption = caption or None
    return rich_table


def _build_busiest_table(
    table: Table, max_rows: int | None, rank_column: str = "packets_sent"
) -> RichTable:
    rows, left_out = _select_busiest_rows(table, rank_column, max_rows)
    if table.name != "flows":
        return _build_measure_table(table, rows, left_out)
    others = [row for row in rows if row["protocol"] != "tcp"]
    for row in others:
        row["retransmissions"] = None
    # A column of which no row has a value would only take room.
    without = "retransmissions" if rows and len(others) == len(rows) else ""
    marked = "packets_ce" if any(row["packets_ce"] for row in rows) else ""
    selection = describe_selection([str(row["flow"]) for row in rows], "busiest")
    return _build_measure_table(table, rows, left_out, selection, marked, hidden_column=without)


def _build_fairness_table(table: Table) -> RichTable:
    return _build_measure_table(table, [row for row in table.rows() if row["flows"] != 1], 0)


def _build_first_rows_table(
    table: Table,
    max_rows: int | None,
    rows: list[dict[str, Scalar]] | None = None,
    further_columns: str = "",
) -> RichTable:
    """Build a table of columns with the first rows, and how many are left out."""
    count = len(table) if rows is None else len(rows)
    first_rows = list(islice(table.rows() if rows is None else rows, max_rows))
    return _build_measure_table(
        table, first_rows, count - len(first_rows), "first", further_columns
    )


def _build_completion_table(table: Table, max_rows: int | None) -> RichTable:
    rich_table = _build_first_rows_table(
        table, max_rows, select_informative_rows(list(table.rows()))
    )
    for name in rich_table.columns[:2]:
        name.no_wrap = True
    return rich_table


def select_informative_rows(rows: list[dict[str, Scalar]]) -> list[dict[str, Scalar]]:
    """Rows of completions that say something: no empty bins, nor a bin that holds all of them."""
    begun = [row for row in rows if row["started"]]
    started_by_flow = {row["flow"]: row["started"] for row in begun if row["sizes"] == "all"}
    summary_sizes = ("all", "pages")
    return [
        r
        for r in begun
        if r["sizes"] in summary_sizes or r["started"] != started_by_flow[r["flow"]]
    ]


def _build_port_table(table: Table) -> RichTable:
    busy = [row for row in table.rows() if row["packets_offered"]]
    marked = "packets_marked" if any(row["packets_marked"] for row in busy) else ""
    ranked = sorted(busy, key=lambda row: -float(row["utilisation"] or 0))
    return _build_measure_table(table, ranked, 0, further_columns=marked)


def _build_path_table(table: Table) -> RichTable:
    if all(row["packets_delivered"] is None for row in table.rows()):
        return _build_first_rows_table(table, None)
    rich_table = _build_first_rows_table(
        table, None, further_columns="loss_ratio delay_mean_s delay_p99_s delay_max_s"
    )
    rich_table.caption = "delay: mean, one way, its 99th percentile and maximum"
    return rich_table


def _build_lsp_table(table: Table) -> RichTable:
    blocked = any(row["blocked"] for row in table.rows())
    rich_table = _build_first_rows_table(
        table, None, further_columns="blocked blocking_ratio" if blocked else ""
    )
    rich_table.title = "Signalled paths"
    return rich_table


def _build_drop_table(table: Table) -> RichTable:
    rich_table = begin_table(
        "Drops", ["flow", "direction", "at", "class", "cause", "packets"], names=5
    )
    for row in table.rows():
        place = row["link"] if row["link"] is not None else row["node"]
        names = [row["flow"], row["direction"], place, row["class"] or "–", row["cause"]]
        add_text_row(rich_table, [*(str(name) for name in names), format_count(row["packets"])])
    return rich_table


def _build_mark_table(table: Table) -> RichTable:
    columns = ("flow", "direction", "link", "class", "precedence")
    rich_table = begin_table("Congestion marks", [*columns, "packets"], names=4)
    for row in table.rows():
        names = (str(row[name]) for name in columns)
        add_text_row(rich_table, [*names, format_count(row["packets"])])
    return rich_table


def _build_phase_table(loss_phases: Sequence[LossPhase]) -> RichTable:
    columns = ["after", "phase", "cause", "from", "to", "packets"]
    rich_table = begin_table("Lost by phase", columns, names=3)
    for each in loss_phases:
        times = [format_duration(each.from_ns), format_duration(each.to_ns)]
        for cause, packets in sorted(each.lost.items()) or [("–", 0)]:
            add_text_row(
                rich_table,
                [each.after_change or "–", each.name, cause, *times, format_count(packets)],
            )
    rich_table.caption = "packets of data; a phase ends with its last event before the next change"
    return rich_table


def _build_convergence_table(network_changes: Sequence[NetworkChange]) -> RichTable:
    rich_table = begin_table(
        "Convergence", ["after", "router or path", "knows", "computed", "in use"], names=2
    )
    for change in network_changes:
        for step in change.steps:
            times = (step.heard_ns, step.computed_ns, step.ended_ns)
            since = ("–" if at is None else format_duration(at - change.at_ns) for at in times)
            add_text_row(rich_table, [change.description, step.name, *since])
    rich_table.caption = "since the change; in use: other routes or labels, or the path moved"
    return rich_table


def _build_timeline_table(table: Table) -> RichTable:
    columns = ["time", "event", "protection", "link", "node"]
    rich_table = begin_table("Timeline", columns, names=5)
    for row in table.rows():
        names = (row[name] or "–" for name in columns[1:])
        add_text_row(
            rich_table, [f"{float(row['time_s'] or 0):.6f} s", *(str(name) for name in names)]
        )
    return rich_table
