"""The tables of a report: cells with what to sort by, means with intervals where runs are many."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.report.exhibit import Exhibit
from trunkline.report.loads import by_class
from trunkline.report.stress import stressed
from trunkline.results.convergence import changes
from trunkline.results.numbers import count, interval, number, percent, quantity, span
from trunkline.results.phases import phases
from trunkline.results.shown import SHOWN
from trunkline.results.table import Scalar
from trunkline.results.tables import Field, column
from trunkline.stats import Interval, across

MOST_ROWS = 200

MOST_OPEN = 40
"""Rows of a table that is not folded away."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what it says, and the number it is sorted by (text by itself)."""

    text: str
    sort: float | None = None
    mark: str = ""
    """``good`` or ``bad``, where the page puts a sign beside it."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the page."""

    key: str
    title: str
    heads: list[tuple[str, str]]
    """Name of each column, and what it means (may be empty)."""
    rows: list[list[Cell]]
    note: str = ""
    names: int = 1
    """Columns from the left that hold names."""
    folded: bool = False


_COLUMNS = {
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

_PATHS_ASKED = " loss_ratio delay_mean_s delay_p99_s jitter_s reordered"
"""Measures that the paths of a scenario have where it asks for them."""


def of(exhibit: Exhibit) -> list[Grid]:
    """The tables of an exhibit, those without rows left out."""
    grids = [
        _measured(exhibit, "aggregates", "offered_bit_s"),
        _measured(exhibit, "flows", "offered_bit_s"),
        _measured(exhibit, "echoes", "requests"),
        _measured(exhibit, "calls", "loss_ratio"),
        _measured(exhibit, "completions", "started", "started"),
        _measured(exhibit, "fairness", "flows", several="flows"),
        _measured(exhibit, "ports", "utilisation", "packets_offered"),
        _stressed(exhibit),
        _measured(exhibit, "paths", "packets"),
        _drops(exhibit),
        _colours(exhibit),
        _convergence(exhibit),
        _phases(exhibit),
        _timeline(exhibit),
        _lsps(exhibit),
        _signalling(exhibit),
    ]
    return [grid for grid in grids if grid.rows]


def _columns(exhibit: Exhibit, table: str) -> list[Field]:
    names = _COLUMNS.get(table, SHOWN[table][1])
    if table == "paths" and any(value is not None for value in exhibit.first.paths["delay_mean_s"]):
        names += _PATHS_ASKED
    return [column(table, name) for name in names.split()]


def spread(exhibit: Exhibit) -> str:
    """What the numbers of the tables are."""
    runs = len(exhibit.runs)
    if runs == 1:
        return f"One run, seed {exhibit.first.seed}: no interval can be given."
    seeds = f"{exhibit.first.seed} to {exhibit.runs[-1].seed}"
    return (
        f"Mean ± half of the 95 % interval over {runs} runs, seeds {seeds} (Student's t); "
        "without ±: the same in every run."
    )


def _measured(
    exhibit: Exhibit, table: str, busiest: str, needs: str = "", several: str = ""
) -> Grid:
    columns = _columns(exhibit, table)
    rows = across(exhibit.runs, table)
    if needs:
        rows = [row for row in rows if row.measures[needs].mean > 0]
    if several:
        rows = [row for row in rows if row.measures[several].mean > 1]
    more = len(rows) - MOST_ROWS
    if more > 0:
        rows = sorted(rows, key=lambda row: -row.measures[busiest].mean)[:MOST_ROWS]
    names = list(rows[0].key) if rows else ["name"]
    heads = [(name, "") for name in names] + [(its.title, its.about) for its in columns]
    extra = {str(r["flow"]): str(r["dscp"]) for r in exhibit.first.flows.rows()}
    if table == "flows":
        heads.insert(1, ("DSCP", "DSCP of the source"))
    failed = {}
    if table == "ports":
        failed = {key: load.failed for key, load in by_class(exhibit).items() if load.failed}
    if failed:
        heads.append(("by failure", "packets that failures of the link cost, mean of the runs"))
    made = []
    for row in rows:
        cells = [Cell(value) for value in row.key.values()]
        if table == "flows":
            cells.append(Cell(extra.get(row.key["flow"], "–")))
        cells += [_cell(row.measures.get(its.name), its.unit) for its in columns]
        if failed:
            cost = failed.get((row.key["link"], row.key["class"]), 0.0)
            cells.append(Cell(number(cost), cost))
        made.append(cells)
    note = spread(exhibit)
    if more > 0:
        note += f" The {MOST_ROWS} busiest; {more} more are in the tables."
    held = len(names) + (table == "flows")
    return Grid(table, table.capitalize(), heads, made, note, held, folded=len(made) > MOST_OPEN)


def _cell(found: Interval | None, unit: str) -> Cell:
    if found is None:
        return Cell("–", -1.0)
    return Cell(interval(found, unit), found.mean)


def _stressed(exhibit: Exhibit) -> Grid:
    found = stressed(exhibit)
    heads = [
        ("link", ""),
        ("use otherwise", "mean utilisation while nothing is down"),
        ("use", "mean utilisation while something is down"),
        ("most", "greatest utilisation of a step then"),
        ("queue", "most packets seen at the port then"),
        ("dropped", "packets that the port dropped then"),
    ]
    rows = [
        [
            Cell(each.link),
            *(Cell(percent(use), use) for use in (each.use_up, each.use_down, each.use_most)),
            *(Cell(count(packets), packets) for packets in (each.queue_most, each.dropped)),
        ]
        for each in found[:MOST_ROWS]
    ]
    step = span(exhibit.watched.step_ns)
    note = f"The busiest then first. Seed {exhibit.first.seed}, in steps of {step}."
    title = "Links while something is down"
    return Grid("stress", title, heads, rows, note, folded=len(rows) > MOST_OPEN)


def _drops(exhibit: Exhibit) -> Grid:
    total: dict[tuple[str, ...], float] = defaultdict(float)
    for run in exhibit.runs:
        for row in run.drops.rows():
            place = row["link"] if row["link"] is not None else row["node"]
            shown = (row["flow"], row["direction"], place, row["class"], row["precedence"])
            key = tuple(_text(value) for value in (*shown, row["cause"]))
            total[key] += float(row["packets"] or 0)
    runs = len(exhibit.runs)
    ranked = sorted(total.items(), key=lambda item: -item[1])
    rows = [
        [*map(Cell, key), Cell(number(packets / runs, 4), packets / runs)]
        for key, packets in ranked[:MOST_ROWS]
    ]
    heads = [("flow", ""), ("direction", "forward: data, reverse: acknowledgements"), ("at", "")]
    heads += [("class", "class of the port"), ("precedence", "drop precedence, 0 is dropped last")]
    heads += [("cause", ""), ("packets", "mean over runs" if runs > 1 else "")]
    note = "" if len(ranked) <= MOST_ROWS else f"The {MOST_ROWS} largest of {len(ranked)}."
    return Grid("drops", "Drops", heads, rows, note, names=6, folded=len(rows) > 12)


def _colours(exhibit: Exhibit) -> Grid:
    rows = []
    for row in exhibit.first.colours.rows():
        names = [_text(row[name]) for name in ("link", "end", "conditioner", "profile", "colour")]
        packets = float(row["packets"] or 0)
        share = row["share"]
        rows.append(
            [
                *map(Cell, names),
                Cell(count(packets), packets),
                Cell(percent(None if share is None else float(share)), float(share or 0)),
            ]
        )
    heads = [(name, "") for name in ("link", "end", "conditioner", "profile", "colour", "packets")]
    heads.append(("share", "of the packets of its profile"))
    note = f"Seed {exhibit.first.seed}."
    return Grid("colours", "Colours of meters", heads, rows[:MOST_ROWS], note, names=5)


def _convergence(exhibit: Exhibit) -> Grid:
    """When each router and head knew of a change, and had put something else into use."""
    rows = []
    for change in changes(exhibit.first):
        for step in change.steps:
            cells = [Cell(change.about), Cell(step.name)]
            for at in (step.heard_ns, step.computed_ns, step.ended_ns):
                since = None if at is None else (at - change.at_ns) / 1e9
                cells.append(Cell("–" if since is None else quantity(since, "s"), since or 0.0))
            rows.append(cells)
    heads = [
        ("after", ""),
        ("router or path", ""),
        ("knows", "it noticed, or the news reached it"),
        ("computed", "its last computation of routes"),
        ("in use", "other routes or labels, or the path moved"),
    ]
    note = f"Seed {exhibit.first.seed}. Times are since the change."
    return Grid("convergence", "Convergence", heads, rows[:MOST_ROWS], note, names=2)


def _phases(exhibit: Exhibit) -> Grid:
    """What was lost in each phase after a failure."""
    rows = []
    for each in phases(exhibit.first):
        ends = [Cell(f"{at / 1e9:.6f} s", at / 1e9) for at in (each.from_ns, each.to_ns)]
        for cause, packets in sorted(each.lost.items()) or [("–", 0)]:
            names = [Cell(name) for name in (each.after or "–", each.name, cause)]
            rows.append([*names, *ends, Cell(count(packets), packets)])
    heads = [
        ("after", ""),
        ("phase", "it ends with its last event before the next failure or repair"),
        ("cause", ""),
        ("from", ""),
        ("to", ""),
        ("packets", "of data, without messages"),
    ]
    note = f"Seed {exhibit.first.seed}, from the trace."
    return Grid("phases", "Lost by phase", heads, rows[:MOST_ROWS], note, names=3)


def _timeline(exhibit: Exhibit) -> Grid:
    columns = ("event", "protection", "path", "link", "node")
    return _events(exhibit, "timeline", "Timeline of failures and recovery", columns)


def _events(exhibit: Exhibit, table: str, title: str, columns: Sequence[str]) -> Grid:
    """Rows of a table by their times."""
    rows = []
    for row in exhibit.first.tables[table].rows():
        at = float(row["time_s"] or 0)
        rows.append([Cell(f"{at:.6f} s", at), *(Cell(_text(row[name])) for name in columns)])
    heads = [("LSP" if name == "lsp" else name, "") for name in ("time", *columns)]
    note = f"Seed {exhibit.first.seed}."
    if len(rows) > MOST_ROWS:
        note += f" The first {MOST_ROWS} of {len(rows)}."
    return Grid(table, title, heads, rows[:MOST_ROWS], note, names=0, folded=True)


def _lsps(exhibit: Exhibit) -> Grid:
    """What became of each signalled path."""
    counted = ("asked", "up", "moved", "down", "refused", "preempted", "blocked")
    rows = []
    for row in exhibit.first.lsps.rows():
        cells = [Cell(_text(row[n]), float(row[n] or 0)) for n in counted]
        for n in ("setup_mean_s", "setup_max_s", "out_s"):
            value = None if row[n] is None else float(row[n] or 0)
            cells.append(Cell(quantity(value, "s"), value or 0))
        rows.append([Cell(_text(row["path"])), *cells])
    heads = [("path", ""), *((name, "") for name in counted), ("set-up", "mean")]
    heads += [("longest", "set-up"), ("out", "asked for and not up")]
    note = f"Seed {exhibit.first.seed}."
    return Grid("lsps", "Signalled paths", heads, rows[:MOST_ROWS], note, names=1)


def _signalling(exhibit: Exhibit) -> Grid:
    columns = ("event", "path", "lsp", "node", "link", "error")
    return _events(exhibit, "signalling", "Events of signalling", columns)


def _text(value: Scalar) -> str:
    return "–" if value is None else str(value)
