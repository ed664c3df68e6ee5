"""Several runs of one scenario as tables for a terminal: means with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trunkline.results import Results
from trunkline.results.headline import headline
from trunkline.results.numbers import mean_and_half
from trunkline.results.own_drops import own_drops
from trunkline.results.render import SHOWN_ROWS, add, busiest, draw, frame, which_of, with_all
from trunkline.results.tables import column
from trunkline.stats.across import KEYS, Row, across
from trunkline.stats.interval import Interval

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_SHOWN = {
    "flows": (
        "goodput_bit_s throughput_bit_s loss_ratio delay_mean_s delay_p99_s",
        "offered_bit_s",
    ),
    "aggregates": ("goodput_bit_s loss_ratio delay_mean_s delay_p99_s jitter_s", "offered_bit_s"),
    "completions": ("unfinished fct_mean_s fct_p95_s fct_p99_s slowdown_mean", "started"),
    "echoes": ("loss_ratio rtt_min_s rtt_mean_s rtt_p99_s rtt_max_s", "requests"),
    "calls": ("mouth_to_ear_s late_ratio loss_ratio r_factor mos", "loss_ratio"),
    "ports": ("utilisation loss_ratio wait_mean_s queue_mean_packets", "utilisation"),
    "fairness": (
        "jain_index demand_share least_demand_share jain_of_demand starved_max_s",
        "flows",
    ),
}
"""Columns of each table, and the one by which its rows are ranked."""

ENOUGH = 0.1
"""Half width over the mean beyond which an interval says too little."""

BCA_RUNS = 20
"""Runs below which a bootstrap interval holds the mean too seldom."""

_MAIN = ("goodput_bit_s", "delay_mean_s", "delay_p99_s")
_KINDS = {"t": "Student's t", "bca": "BCa bootstrap"}


def render_many(
    runs: Sequence[Results],
    *,
    interval: str = "t",
    before: Sequence[RichTable] = (),
    width: int | None = None,
    colour: bool = False,
    whole: bool = False,
) -> str:
    """Write what was lost, who waits and what is full, and means of each flow with intervals.

    Parameters
    ----------
    runs : sequence of Results
        Runs of one scenario with different seeds.
    interval : {"t", "bca"}
        Student's, or the bias-corrected and accelerated bootstrap.
    before : sequence of RichTable, optional
        Tables to show before those of the flows, such as that of service levels.
    width : int, optional
        Columns of the terminal; found out by itself if left out.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    whole : bool, default False
        Whether all tables are shown, with all their rows.
    """
    most = None if whole else SHOWN_ROWS

    def rows(table: str, *also: str) -> list[Row]:
        shown, by = _SHOWN[table]
        return across(runs, table, interval=interval, columns={*shown.split(), by, *also})

    flows = rows("flows")
    tables = [_table("flows", flows, most)]
    more = ["aggregates"] if 1 < len(runs[0].aggregates) < len(flows) else []
    if more and (whole or len(flows) > SHOWN_ROWS):
        tables.append(_table("aggregates", rows("aggregates"), most))
        more = []
    if len(runs[0].completions):
        times = rows("completions")
        totals = {row.key["flow"]: row.measures["started"].mean for row in times[::-1]}
        begun = [
            row
            for row in times
            if (started := row.measures["started"].mean) > 0
            and (row.key["sizes"] in ("all", "pages") or started != totals[row.key["flow"]])
        ]
        tables.append(_table("completions", begun, most))
    tables += [
        _table(name, rows(name), most) for name in ("echoes", "calls") if runs[0].tables[name]
    ]
    if whole:
        ports = rows("ports", "packets_offered")
        busy = [row for row in ports if row.measures["packets_offered"].mean > 0]
        tables.append(_table("ports", busy, most))
        shares = [row for row in rows("fairness") if row.measures["flows"].mean > 1]
        tables += [_table("fairness", shares, most)] if shares else []
    else:
        more += ["ports", *(["fairness"] if len(flows) > 1 else [])]
    last = f"mean ± half of the 95 % interval over {len(runs)} runs ({_KINDS[interval]})"
    tables[0].caption = "p99: of all runs' packets together, its interval by sections"
    lines = [own_drops(runs), "" if whole else with_all(more), last, not_enough(flows)]
    if interval == "bca" and len(runs) < BCA_RUNS:
        lines.append(f"BCa of fewer than {BCA_RUNS} runs is too narrow: see --interval t")
    last, first = "\n".join(filter(None, lines)), headline(runs)
    return draw([*before, *tables], last, first=first, width=width, colour=colour)


def not_enough(flows: Sequence[Row], bound: float = ENOUGH) -> str:
    """Say which flow's interval is the widest for its mean, if that is too wide.

    Parameters
    ----------
    bound : float, default 0.1
        Half width over the mean that is still enough.

    Returns
    -------
    str
        A line with the number of runs that is likely to do; empty if there are enough.
    """
    shares = [
        (its.relative, name, row.key["flow"], its.n)
        for row in flows
        for name, its in row.measures.items()
        if name in _MAIN and its.relative is not None and its.mean
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


def intervals(runs: Sequence[Results], *, interval: str = "t") -> dict[str, list[dict[str, Any]]]:
    """Means and intervals of every measure as JSON has them, base units in the keys.

    Parameters
    ----------
    runs : sequence of Results
        Runs of one scenario with different seeds.
    interval : {"t", "bca"}
        Student's, or the bias-corrected and accelerated bootstrap.
    """
    return {
        table: [
            {**row.key, **{name: asdict(its) for name, its in row.measures.items()}}
            for row in across(runs, table, interval=interval)
        ]
        for table in KEYS
    }


def _table(table: str, rows: list[Row], most: int | None) -> RichTable:
    shown, by = _SHOWN[table]
    columns = [column(table, name) for name in shown.split()]
    title = table.capitalize()
    firsts = [next(iter(row.key.values())) for row in rows]
    kept = busiest(firsts, [row.measures[by].mean for row in rows], most)
    more = len(rows) - len(kept)
    names = list(rows[0].key) if rows else ["name"]
    which = which_of(firsts, "worst" if by == "loss_ratio" else "busiest")
    heading = f"{title} (the {which}; {more} more: --all)" if more else title
    drawn = frame(heading, [*names, *(each.title for each in columns)], names=len(names))
    for index in kept:
        row = rows[index]
        values = [_cell(row.measures.get(each.name), each.unit) for each in columns]
        add(drawn, [*row.key.values(), *values])
    for each_name in drawn.columns[: len(names)]:
        # In a narrow terminal names would give way first, and numbers without names say nothing.
        each_name.no_wrap = True
    return drawn


def _cell(interval: Interval | None, unit: str) -> str:
    if interval is None:
        return "–"
    factor = 100 if unit == "%" else 1
    if interval.low is None or interval.high is None:
        return mean_and_half(factor * interval.mean, None, unit)
    # The wider half, where a bootstrap interval leans to one side.
    half = max(interval.high - interval.mean, interval.mean - interval.low)
    return mean_and_half(factor * interval.mean, factor * half, unit)
