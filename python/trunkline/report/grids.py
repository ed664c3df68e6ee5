"""The tables of a report: cells with sort keys, means with intervals over several runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.report.failure_load import compute_failure_loads
from trunkline.report.link_loads import compute_class_loads
from trunkline.report.reported_run import ReportedRun
from trunkline.results.convergence import list_answered_changes
from trunkline.results.displayed_columns import DISPLAYED_COLUMNS
from trunkline.results.loss_phases import phases
from trunkline.results.number_format import (
    format_count,
    format_duration,
    format_interval,
    format_number,
    format_percent,
    format_quantity,
)
from trunkline.results.schemas import Field, find_field
from trunkline.results.table import Scalar
from trunkline.stats import Interval, average_runs

MAX_GRID_ROWS = 200

MAX_UNFOLDED_ROWS = 40  # Rows of a table that is not folded away.


_MAX_SORT_KEY = 1e300  # Beyond all numbers of pages.


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell: its text, and the number of its sort key (text by itself)."""

    text: str
    sort: float | None = None
    mark: str = ""  # ``good`` or ``bad``, where the page puts a sign next to it.

    @classmethod
    def of_number(cls, text: str, value: float | None) -> GridCell:
        """A cell of a number; one without a value is sorted below all numbers."""
        return cls(text, -math.inf if value is None else value)

    @property
    def order(self) -> float | None:
        """Keys by which scripts sort: finite, because they subtract."""
        if self.sort is None or math.isfinite(self.sort):
            return self.sort
        return _MAX_SORT_KEY if self.sort > 0 else -_MAX_SORT_KEY


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the page."""

    key: str
    title: str
    heads: list[tuple[str, str]]  # Name and meaning (may be empty) of each column.
    rows: list[list[GridCell]]
    note: str = ""
    names: int = 1  # Columns from the left that hold names.
    folded: bool = False


_COLUMNS_BY_TABLE = {
    "aggregates": (
        "flows offered_bit_s throughput_bit_s goodput_bit_s loss_ratio delay_mean_s delay_p99_s "
        "delay_max_s jitter_s"
    ),
    "echoes": (
        "requests replies loss_ratio reordered rtt_min_s rtt_mean_s rtt_p99_s rtt_max_s "
        "there_mean_s loss_there_ratio reordered_there back_mean_s loss_back_ratio reordered_back"
    ),
    "completions": (
        "started unfinished fct_mean_s fct_p50_s fct_p95_s fct_p99_s fct_max_s slowdown_mean"
    ),
}
"""Measures that the page shows of each table."""

_PATH_QUALITY_COLUMNS = " loss_ratio delay_mean_s delay_p99_s jitter_s reordered"
"""Measures that the paths of a scenario have where it asks for them."""


def build_grids(reported_run: ReportedRun) -> list[Grid]:
    """Build the tables of an exhibit, those without rows left out."""
    grids = [
        _build_measure_grid(reported_run, "aggregates", "offered_bit_s"),
        _build_measure_grid(reported_run, "flows", "offered_bit_s"),
        _build_measure_grid(reported_run, "echoes", "requests"),
        _build_measure_grid(reported_run, "calls", "loss_ratio"),
        _build_measure_grid(reported_run, "videos", "stall_ratio"),
        _build_measure_grid(reported_run, "completions", "started", "started"),
        _build_measure_grid(reported_run, "fairness", "flows", plural_measure="flows"),
        _build_measure_grid(reported_run, "ports", "utilisation", "packets_offered"),
        _build_failure_load_grid(reported_run),
        _build_measure_grid(reported_run, "paths", "packets"),
        _build_drop_grid(reported_run),
        _build_mark_grid(reported_run),
        _build_colour_grid(reported_run),
        _build_convergence_grid(reported_run),
        _build_phase_grid(reported_run),
        _build_timeline_grid(reported_run),
        _build_lsp_grid(reported_run),
        _build_signalling_grid(reported_run),
    ]
    return [grid for grid in grids if grid.rows]


def _list_columns(reported_run: ReportedRun, table: str) -> list[Field]:
    names = _COLUMNS_BY_TABLE.get(table, DISPLAYED_COLUMNS[table][1])
    if table == "paths" and any(
        value is not None for value in reported_run.first_run.paths["delay_mean_s"]
    ):
        names += _PATH_QUALITY_COLUMNS
    marks = {"ports": "packets_marked", "flows": "packets_ce"}.get(table)
    if marks and any(reported_run.first_run.tables[table][marks]):
        names += f" {marks}"
    return [find_field(table, name) for name in names.split()]


def describe_numbers(reported_run: ReportedRun) -> str:
    """Describe the numbers of the tables."""
    runs = len(reported_run.runs)
    if runs == 1:
        return f"One run, seed {reported_run.first_run.seed}: no interval can be given."
    seeds = f"{reported_run.first_run.seed} to {reported_run.runs[-1].seed}"
    return (
        f"Mean ± half of the 95 % interval over {runs} runs, seeds {seeds} (Student's t); "
        "without ±: the same in every run."
    )


def _build_measure_grid(
    reported_run: ReportedRun,
    table: str,
    rank_measure: str,
    required_measure: str = "",
    plural_measure: str = "",
) -> Grid:
    columns = _list_columns(reported_run, table)
    rows = average_runs(reported_run.runs, table)
    if required_measure:
        rows = [row for row in rows if row.get_mean(required_measure) > 0]
    if plural_measure:
        rows = [row for row in rows if row.get_mean(plural_measure) > 1]
    hidden_rows = len(rows) - MAX_GRID_ROWS
    if hidden_rows > 0:
        rows = sorted(rows, key=lambda row: -row.get_mean(rank_measure))[:MAX_GRID_ROWS]
    names = list(rows[0].key) if rows else ["name"]
    headers = [(name, "") for name in names] + [
        (field.title, field.definition) for field in columns
    ]
    dscp_by_flow = {str(r["flow"]): str(r["dscp"]) for r in reported_run.first_run.flows.rows()}
    if table == "flows":
        headers.insert(1, ("DSCP", "DSCP of the source"))
    failed = {}
    if table == "ports":
        failed = {
            key: load.lost_by_failure
            for key, load in compute_class_loads(reported_run).items()
            if load.lost_by_failure
        }
    if failed:
        headers.append(("by failure", "packets that failures of the link cost, mean of the runs"))
    grid_rows = []
    for row in rows:
        cells = [GridCell(value) for value in row.key.values()]
        if table == "flows":
            cells.append(GridCell(dscp_by_flow.get(row.key["flow"], "–")))
        cells += [
            _build_interval_cell(row.measures.get(field.name), field.unit) for field in columns
        ]
        if failed:
            cost = failed.get((row.key["link"], row.key["class"]), 0.0)
            cells.append(GridCell(format_number(cost), cost))
        grid_rows.append(cells)
    note = describe_numbers(reported_run)
    if hidden_rows > 0:
        note += f" The {MAX_GRID_ROWS} busiest; {hidden_rows} more are in the tables."
    name_columns = len(names) + (table == "flows")
    return Grid(
        table,
        table.capitalize(),
        headers,
        grid_rows,
        note,
        name_columns,
        folded=len(grid_rows) > MAX_UNFOLDED_ROWS,
    )


def _build_interval_cell(found: Interval | None, unit: str) -> GridCell:
    return GridCell.of_number(format_interval(found, unit), None if found is None else found.mean)


def _build_failure_load_grid(reported_run: ReportedRun) -> Grid:
    loads = compute_failure_loads(reported_run)
    headers = [
        ("link", ""),
        ("use otherwise", "mean utilisation while nothing is down"),
        ("use", "mean utilisation while something is down"),
        ("most", "greatest utilisation of a step then"),
        ("queue", "most packets seen at the port then"),
        ("dropped", "packets that the port dropped then"),
    ]
    rows = [
        [
            GridCell(each.link),
            *(
                GridCell(format_percent(use), use)
                for use in (each.use_up, each.use_down, each.use_max)
            ),
            *(
                GridCell(format_count(packets), packets)
                for packets in (each.queue_max, each.dropped)
            ),
        ]
        for each in loads[:MAX_GRID_ROWS]
    ]
    step = format_duration(reported_run.probed.step_ns)
    note = f"The busiest then first. Seed {reported_run.first_run.seed}, in steps of {step}."
    title = "Links while something is down"
    return Grid("stress", title, headers, rows, note, folded=len(rows) > MAX_UNFOLDED_ROWS)


def _build_drop_grid(reported_run: ReportedRun) -> Grid:
    headers = [*_PLACE_HEADERS, ("cause", "")]
    return _build_place_grid(reported_run, "drops", "Drops", headers)


def _build_mark_grid(reported_run: ReportedRun) -> Grid:
    return _build_place_grid(reported_run, "marks", "Congestion marks", _PLACE_HEADERS)


_PLACE_HEADERS = [
    ("flow", ""),
    ("direction", "forward: data, reverse: acknowledgements"),
    ("at", ""),
    ("class", "class of the port"),
    ("precedence", "drop precedence, 0 is dropped last"),
]


def _build_place_grid(
    reported_run: ReportedRun, table: str, title: str, headers: list[tuple[str, str]]
) -> Grid:
    """Build the packets by flow and place, those of all runs together."""
    total: dict[tuple[str, ...], float] = defaultdict(float)
    for run in reported_run.runs:
        for row in run.tables[table].rows():
            place = row["link"] if row["link"] is not None else row["node"]
            key = tuple(_format_scalar(place if name == "at" else row[name]) for name, _ in headers)
            total[key] += float(row["packets"] or 0)
    runs = len(reported_run.runs)
    ranked = sorted(total.items(), key=lambda item: -item[1])
    rows = [
        [*map(GridCell, key), GridCell(format_number(packets / runs, 4), packets / runs)]
        for key, packets in ranked[:MAX_GRID_ROWS]
    ]
    note = "" if len(ranked) <= MAX_GRID_ROWS else f"The {MAX_GRID_ROWS} largest of {len(ranked)}."
    headers = [*headers, ("packets", "mean over runs" if runs > 1 else "")]
    names = len(headers) - 1
    return Grid(table, title, headers, rows, note, names=names, folded=len(rows) > 12)


def _build_colour_grid(reported_run: ReportedRun) -> Grid:
    rows = []
    for row in reported_run.first_run.colours.rows():
        names = [
            _format_scalar(row[name])
            for name in ("link", "end", "conditioner", "profile", "colour")
        ]
        packets = float(row["packets"] or 0)
        share = row["share"]
        rows.append(
            [
                *map(GridCell, names),
                GridCell(format_count(packets), packets),
                GridCell.of_number(format_percent(share), None if share is None else float(share)),
            ]
        )
    heads = [(name, "") for name in ("link", "end", "conditioner", "profile", "colour", "packets")]
    heads.append(("share", "of the packets of its profile"))
    note = f"Seed {reported_run.first_run.seed}."
    return Grid("colours", "Colours of meters", heads, rows[:MAX_GRID_ROWS], note, names=5)


def _build_convergence_grid(reported_run: ReportedRun) -> Grid:
    """Build the times at which each router and head knew of a change, and had reacted."""
    rows = []
    for change in list_answered_changes(reported_run.first_run):
        for step in change.steps:
            cells = [GridCell(change.description), GridCell(step.name)]
            for at in (step.heard_ns, step.computed_ns, step.ended_ns):
                since = None if at is None else (at - change.at_ns) / 1e9
                cells.append(GridCell.of_number(format_quantity(since, "s"), since))
            rows.append(cells)
    heads = [
        ("after", ""),
        ("router or path", ""),
        ("knows", "it noticed, or the news reached it"),
        ("computed", "its last computation of routes"),
        ("in use", "other routes or labels, or the path moved"),
    ]
    note = f"Seed {reported_run.first_run.seed}. Times are since the change."
    return Grid("convergence", "Convergence", heads, rows[:MAX_GRID_ROWS], note, names=2)


def _build_phase_grid(reported_run: ReportedRun) -> Grid:
    """Build the table of losses in each phase after a failure."""
    rows = []
    for each in phases(reported_run.first_run):
        ends = [GridCell(f"{at / 1e9:.6f} s", at / 1e9) for at in (each.from_ns, each.to_ns)]
        for cause, packets in sorted(each.lost.items()) or [("–", 0)]:
            names = [GridCell(name) for name in (each.after_change or "–", each.name, cause)]
            rows.append([*names, *ends, GridCell(format_count(packets), packets)])
    heads = [
        ("after", ""),
        ("phase", "it ends with its last event before the next failure or repair"),
        ("cause", ""),
        ("from", ""),
        ("to", ""),
        ("packets", "of data, without messages"),
    ]
    note = f"Seed {reported_run.first_run.seed}, from the trace."
    return Grid("phases", "Lost by phase", heads, rows[:MAX_GRID_ROWS], note, names=3)


def _build_timeline_grid(reported_run: ReportedRun) -> Grid:
    columns = ("event", "protection", "path", "link", "node")
    return _build_event_grid(reported_run, "timeline", "Timeline of failures and recovery", columns)


def _build_event_grid(
    reported_run: ReportedRun, table: str, title: str, columns: Sequence[str]
) -> Grid:
    """Build the rows of a table by their times."""
    rows = []
    for row in reported_run.first_run.tables[table].rows():
        at = float(row["time_s"] or 0)
        rows.append(
            [
                GridCell(f"{at:.6f} s", at),
                *(GridCell(_format_scalar(row[name])) for name in columns),
            ]
        )
    heads = [("LSP" if name == "lsp" else name, "") for name in ("time", *columns)]
    note = f"Seed {reported_run.first_run.seed}."
    if len(rows) > MAX_GRID_ROWS:
        note += f" The first {MAX_GRID_ROWS} of {len(rows)}."
    return Grid(table, title, heads, rows[:MAX_GRID_ROWS], note, names=0, folded=True)


def _build_lsp_grid(reported_run: ReportedRun) -> Grid:
    """Build the table of signalled paths and their outcomes."""
    counted = ("asked", "up", "moved", "down", "refused", "preempted", "blocked")
    rows = []
    for row in reported_run.first_run.lsps.rows():
        cells = [
            GridCell(_format_scalar(row[column_name]), float(row[column_name] or 0))
            for column_name in counted
        ]
        for column_name in ("setup_mean_s", "setup_max_s", "out_s"):
            value = None if row[column_name] is None else float(row[column_name] or 0)
            cells.append(GridCell.of_number(format_quantity(value, "s"), value))
        rows.append([GridCell(_format_scalar(row["path"])), *cells])
    heads = [("path", ""), *((name, "") for name in counted), ("set-up", "mean")]
    heads += [("longest", "set-up"), ("out", "asked for and not up")]
    note = f"Seed {reported_run.first_run.seed}."
    return Grid("lsps", "Signalled paths", heads, rows[:MAX_GRID_ROWS], note, names=1)


def _build_signalling_grid(reported_run: ReportedRun) -> Grid:
    columns = ("event", "path", "lsp", "node", "link", "error")
    return _build_event_grid(reported_run, "signalling", "Events of signalling", columns)


def _format_scalar(value: Scalar) -> str:
    return "–" if value is None else str(value)
