"""Several runs of one scenario as tables for a terminal: means with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trunkline.results import Results
from trunkline.results.host_drops import describe_host_drops
from trunkline.results.number_format import format_mean_and_half_width
from trunkline.results.schemas import find_field
from trunkline.results.summary_lines import build_summary_lines
from trunkline.results.terminal_tables import (
    MAX_ROWS_SHOWN,
    add_text_row,
    begin_table,
    describe_hidden_tables,
    describe_selection,
    render_to_text,
    select_busiest,
)
from trunkline.stats.interval import Interval
from trunkline.stats.run_averages import KEY_COLUMNS, AveragedRow, average_runs

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.stats.control_variates import OfferedMean

_SHOWN_COLUMNS = {
    "flows": (
        "goodput_bit_s throughput_bit_s loss_ratio delay_mean_s delay_p99_s",
        "offered_bit_s",
    ),
    "aggregates": ("goodput_bit_s loss_ratio delay_mean_s delay_p99_s jitter_s", "offered_bit_s"),
    "completions": ("unfinished fct_mean_s fct_p95_s fct_p99_s slowdown_mean", "started"),
    "echoes": ("loss_ratio rtt_min_s rtt_mean_s rtt_p99_s rtt_max_s", "requests"),
    "calls": ("mouth_to_ear_s late_ratio loss_ratio r_factor mos", "loss_ratio"),
    "videos": ("start_up_s stalls stall_ratio bit_rate_bit_s switches", "stall_ratio"),
    "ports": ("utilisation loss_ratio wait_mean_s queue_mean_packets", "utilisation"),
    "fairness": (
        "jain_index demand_share least_demand_share jain_of_demand starved_max_s",
        "flows",
    ),
}
"""Columns of each table, and the one by which its rows are ranked."""

MAX_RELATIVE_HALF_WIDTH = 0.1  # Half width over the mean beyond which an interval says too little.

MIN_BCA_RUNS = 20  # Runs below which a bootstrap interval holds the mean too seldom.

_MAIN_MEASURES = ("goodput_bit_s", "delay_mean_s", "delay_p99_s")
_INTERVAL_NAMES = {
    "t": "Student's t",
    "bca": "BCa bootstrap",
    "controlled": "Student's t with control variates",
}


def render_run_averages(
    runs: Sequence[Results],
    *,
    interval: str = "t",
    offered_means: Mapping[str, OfferedMean] | None = None,
    leading_tables: Sequence[RichTable] = (),
    width: int | None = None,
    colour: bool = False,
    show_all: bool = False,
) -> str:
    """Render losses, waits and full links, and means of each flow with intervals.

    runs: Runs of one scenario with different seeds.
    interval: one of "t", "bca", "controlled"; see :func:`trunkline.stats.average_runs`.
    offered_means: Offered loads of known mean by flow, for ``controlled``.
    leading_tables: Tables to show before those of the flows, such as that of service levels.
    width: Columns of the terminal; found out by itself if left out.
    colour: Whether to use the escape codes of a terminal.
    show_all: Whether all tables are shown, with all their rows.
    """
    max_rows = None if show_all else MAX_ROWS_SHOWN

    def rows(table: str, *also: str) -> list[AveragedRow]:
        columns_text, rank_column = _SHOWN_COLUMNS[table]
        return average_runs(
            runs,
            table,
            interval=interval,
            columns={*columns_text.split(), rank_column, *also},
            offered_means=offered_means,
        )

    flows = rows("flows")
    tables = [_build_average_table("flows", flows, max_rows)]
    further_tables = ["aggregates"] if 1 < len(runs[0].aggregates) < len(flows) else []
    if further_tables and (show_all or len(flows) > MAX_ROWS_SHOWN):
        tables.append(_build_average_table("aggregates", rows("aggregates"), max_rows))
        further_tables = []
    if len(runs[0].completions):
        times = rows("completions")
        totals = {row.key["flow"]: row.get_mean("started") for row in reversed(times)}
        begun = [
            row
            for row in times
            if (started := row.get_mean("started")) > 0
            and (row.key["sizes"] in ("all", "pages") or started != totals[row.key["flow"]])
        ]
        tables.append(_build_average_table("completions", begun, max_rows))
    tables += [
        _build_average_table(name, rows(name), max_rows)
        for name in ("echoes", "calls", "videos")
        if runs[0].tables[name]
    ]
    if show_all:
        ports = rows("ports", "packets_offered")
        busy = [row for row in ports if row.get_mean("packets_offered") > 0]
        tables.append(_build_average_table("ports", busy, max_rows))
        shares = [row for row in rows("fairness") if row.get_mean("flows") > 1]
        tables += [_build_average_table("fairness", shares, max_rows)] if shares else []
    else:
        further_tables += ["ports", *(["fairness"] if len(flows) > 1 else [])]
    closing = (
        f"mean ± half of the 95 % interval over {len(runs)} runs ({_INTERVAL_NAMES[interval]})"
    )
    tables[0].caption = "p99: of all runs' packets together, its interval by sections"
    lines = [
        describe_host_drops(runs),
        "" if show_all else describe_hidden_tables(further_tables),
        closing,
        describe_wide_interval(flows),
    ]
    if interval == "bca" and len(runs) < MIN_BCA_RUNS:
        lines.append(f"BCa of fewer than {MIN_BCA_RUNS} runs is too narrow: see --interval t")
    closing, first = "\n".join(filter(None, lines)), build_summary_lines(runs)
    return render_to_text(
        [*leading_tables, *tables], closing, opening_lines=first, width=width, colour=colour
    )


def describe_wide_interval(
    flows: Sequence[AveragedRow], bound: float = MAX_RELATIVE_HALF_WIDTH
) -> str:
    """Say which flow's interval is the widest for its mean, if that is too wide.

    bound: Half width over the mean that is still enough.
    Returns: A line with the number of runs that is likely to do; empty if there are enough.
    """
    shares = [
        (interval.relative_half_width, name, row.key["flow"], interval.n)
        for row in flows
        for name, interval in row.measures.items()
        if name in _MAIN_MEASURES and interval.relative_half_width is not None and interval.mean
    ]
    if not shares:
        return ""
    share, name, flow, n = max(shares)
    if share <= bound:
        return ""
    # The width falls as one over the root of the number of runs.
    likely = math.ceil(n * (share / bound) ** 2)
    width = f"{100 * share:{'.2g' if share < 1 else '.0f'}}"
    return (
        f"NOT ENOUGH RUNS: {name} of {flow} is sure to ± {width} % of its mean; "
        f"± {100 * bound:g} % takes about {likely}"
    )


def build_interval_json(
    runs: Sequence[Results],
    *,
    interval: str = "t",
    offered_means: Mapping[str, OfferedMean] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Build the means and intervals of every measure as JSON has them, base units in the keys.

    runs: Runs of one scenario with different seeds.
    interval: one of "t", "bca", "controlled"; see :func:`trunkline.stats.average_runs`.
    offered_means: Offered loads of known mean by flow, for ``controlled``.
    """
    return {
        table: [
            {
                **row.key,
                **{name: asdict(mean_interval) for name, mean_interval in row.measures.items()},
            }
            for row in average_runs(runs, table, interval=interval, offered_means=offered_means)
        ]
        for table in KEY_COLUMNS
    }


def _build_average_table(table: str, rows: list[AveragedRow], max_rows: int | None) -> RichTable:
    columns_text, rank_column = _SHOWN_COLUMNS[table]
    columns = [find_field(table, name) for name in columns_text.split()]
    title = table.capitalize()
    first_names = [next(iter(row.key.values())) for row in rows]
    row_numbers = select_busiest(first_names, [row.get_mean(rank_column) for row in rows], max_rows)
    hidden_count = len(rows) - len(row_numbers)
    names = list(rows[0].key) if rows else ["name"]
    selection = describe_selection(
        first_names, "worst" if rank_column == "loss_ratio" else "busiest"
    )
    heading = f"{title} (the {selection}; {hidden_count} more: --all)" if hidden_count else title
    rich_table = begin_table(heading, [*names, *(each.title for each in columns)], names=len(names))
    for index in row_numbers:
        row = rows[index]
        values = [_format_interval(row.measures.get(each.name), each.unit) for each in columns]
        add_text_row(rich_table, [*row.key.values(), *values])
    for each_name in rich_table.columns[: len(names)]:
        # In a narrow terminal names would give way first, and numbers without names say nothing.
        each_name.no_wrap = True
    return rich_table


def _format_interval(interval: Interval | None, unit: str) -> str:
    if interval is None:
        return "–"
    factor = 100 if unit == "%" else 1
    half_width = interval.wider_half_width
    return format_mean_and_half_width(
        factor * interval.mean, None if half_width is None else factor * half_width, unit
    )
