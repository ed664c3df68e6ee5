"""Service levels: whether runs keep the bounds that a scenario promises (RFC 2475 section 1.2).

An agreement holds for every customer in every period, not on average: a bound is met where each of
its flows keeps it in each run. A flow without a value, since nothing arrived, breaks the bound. A
flow that sent nothing is not judged. The mean over runs and its interval are given with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from trunkline.results import Results
from trunkline.results.number_format import (
    format_mean_and_half_width,
    format_percent,
    format_quantity,
)
from trunkline.results.terminal_tables import add_text_row, begin_table
from trunkline.stats.interval import Interval, mean_interval

if TYPE_CHECKING:
    from rich.table import Table as RichTable

MAX_BOUNDS_SHOWN = 60  # Maximum number of bounds that the terminal shows.
OUTCOMES = ("broken", "not judged", "met")  # In the order in which too many are shown.


class SlaBoundLike(Protocol):
    """A bound; a scenario's are those of ``Scenario.bounds()``."""

    @property
    def sla(self) -> str:
        """Name of the agreement."""

    @property
    def table(self) -> str:
        """Table of the results: flows, aggregates, calls or completions."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows of it that must keep the bound."""

    @property
    def sizes(self) -> str:
        """Kind of completions: ``all`` or ``pages``."""

    @property
    def measure(self) -> str:
        """The bounded measure, by its name in scenarios."""

    @property
    def column(self) -> str:
        """Column of the measure."""

    @property
    def unit(self) -> str:
        """Unit of column and bound: ``s``, ``1``, ``bit/s`` or ``MOS``."""

    @property
    def at(self) -> str:
        """``most`` or ``least``."""

    @property
    def value(self) -> float:
        """The bound."""


@dataclass(frozen=True, slots=True)
class Level:
    """Outcome of a bound.

    Parameters
    ----------
    bound : SlaBoundLike
        What was promised.
    values : tuple of (float or None)
        A value a run, that of the row farthest on the wrong side; None where some row has none.
    kept : int
        Runs in which every row keeps the bound.
    worst : float or None
        The value farthest on the wrong side of all runs; None where some run has none.
    worst_row : str
        Whose it is.
    worst_seed : int
        Seed of its run.
    unjudged : int
        Runs in which some row sent nothing and every other keeps the bound.
    """

    bound: SlaBoundLike
    values: tuple[float | None, ...]
    kept: int
    worst: float | None
    worst_row: str
    worst_seed: int
    unjudged: int

    @property
    def outcome(self) -> Literal["met", "broken", "not judged"]:
        """``not judged`` where no run breaks the bound and in some a row sent nothing."""
        if self.kept + self.unjudged < len(self.values):
            return "broken"
        return "not judged" if self.unjudged else "met"

    @property
    def met(self) -> bool:
        """Whether every run keeps it."""
        return self.kept == len(self.values)

    @property
    def interval(self) -> Interval | None:
        """Mean over the runs with its 95 % interval by Student's t; None if some have no value."""
        known = [value for value in self.values if value is not None]
        return mean_interval(known) if len(known) == len(self.values) else None

    @property
    def margin(self) -> float | None:
        """Distance from the worst value to the bound, in its unit; negative if it is broken."""
        if self.worst is None:
            return None
        gap = self.bound.value - self.worst
        return gap if self.bound.at == "most" else -gap

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``run --json`` prints."""
        mean = self.interval
        return {
            "sla": self.bound.sla,
            "table": self.bound.table,
            "rows": list(self.bound.rows),
            "measure": self.bound.measure,
            "unit": self.bound.unit,
            "at": self.bound.at,
            "bound": self.bound.value,
            "met": self.met,
            "outcome": self.outcome,
            "kept": self.kept,
            "runs": len(self.values),
            "values": list(self.values),
            "mean": None if mean is None else mean.mean,
            "low": None if mean is None else mean.low,
            "high": None if mean is None else mean.high,
            "worst": self.worst,
            "worst_row": self.worst_row,
            "worst_seed": self.worst_seed,
            "margin": self.margin,
        }


def judge_bounds(bounds: Iterable[SlaBoundLike], runs: Sequence[Results]) -> list[Level]:
    """Hold runs to bounds.

    Parameters
    ----------
    bounds : iterable of SlaBoundLike
        From ``Scenario.bounds()``.
    runs : sequence of Results
        Runs of that scenario; at least one.

    Returns
    -------
    list of Level
        One a bound, in their order.

    Raises
    ------
    ValueError
        No runs, or they lack a row: they are of another scenario.
    """
    if not runs:
        raise ValueError("at least one run is needed")
    return [_judge_bound(bound, runs) for bound in bounds]


def _judge_bound(bound: SlaBoundLike, runs: Sequence[Results]) -> Level:
    worst_of_run = [_find_worst(bound, run) for run in runs]
    ranked = [
        (_compute_excess(bound, value), index) for index, (value, _) in enumerate(worst_of_run)
    ]
    _, index = max(ranked, key=lambda pair: (pair[0], -pair[1]))
    value, row = worst_of_run[index]
    kept = unjudged = 0
    for run, (run_value, run_row) in zip(runs, worst_of_run, strict=True):
        # A silent row has no value; it is the worst where no other row breaks the bound.
        if _compute_excess(bound, run_value) <= 0:
            kept += 1
        elif run_row in _list_silent_rows(bound, run):
            unjudged += 1
    return Level(
        bound,
        tuple(each for each, _ in worst_of_run),
        kept,
        value,
        row,
        runs[index].seed,
        unjudged,
    )


def _list_silent_rows(bound: SlaBoundLike, run: Results) -> set[str]:
    """Rows of a bound that sent nothing in a run; none where the engine counts no packets."""
    key, table = ("dscp", "aggregates") if bound.table == "aggregates" else ("flow", "flows")
    counts = zip(run.tables[table][key], run.tables[table]["packets_sent"], strict=True)
    return {str(row) for row, packets in counts if packets == 0} & set(bound.rows)


def _find_worst(bound: SlaBoundLike, run: Results) -> tuple[float | None, str]:
    """Find the worst value of a run and whose it is; the first of several alike."""
    table = run.tables[bound.table]
    names = table["dscp" if bound.table == "aggregates" else "flow"]
    value_by_row = dict(zip(names, table[bound.column], strict=True))
    if bound.table == "completions":
        rows = zip(names, table["sizes"], table[bound.column], strict=True)
        value_by_row = {name: value for name, sizes, value in rows if sizes == bound.sizes}
    if bound.table == "videos":
        # A flow has a row a player: the worst of them counts.
        value_by_row = {}
        for name, value in zip(names, table[bound.column], strict=True):
            worse = name not in value_by_row or _compute_scalar_excess(
                bound, value
            ) > _compute_scalar_excess(bound, value_by_row[name])
            value_by_row[name] = value if worse else value_by_row[name]
    missing = [row for row in bound.rows if row not in value_by_row]
    if missing or not bound.rows:
        msg = f"SLA {bound.sla}: the {bound.table} of these runs have no {', '.join(missing)}"
        raise ValueError(msg)
    pairs = [(value_by_row[row], row) for row in bound.rows]
    known = [(None if value is None else float(value), row) for value, row in pairs]
    silent = _list_silent_rows(bound, run)
    judged = [pair for pair in known if pair[1] not in silent]
    worst = max(judged, key=lambda pair: _compute_excess(bound, pair[0]), default=None)
    if worst is None or (silent and _compute_excess(bound, worst[0]) <= 0):
        return next(pair for pair in known if pair[1] in silent)
    return worst


def _compute_scalar_excess(bound: SlaBoundLike, value: object) -> float:
    return _compute_excess(bound, None if value is None else float(str(value)))


def _compute_excess(bound: SlaBoundLike, value: float | None) -> float:
    """Compute how far on the wrong side a value is; above 0 is broken."""
    if value is None:
        return float("inf")
    return value - bound.value if bound.at == "most" else bound.value - value


def format_bound_value(value: float | None, unit: str) -> str:
    """Format a value of a bound's unit as people read it."""
    if unit == "MOS":
        return "–" if value is None else f"{value:.2f}"
    return format_percent(value) if unit == "1" else format_quantity(value, unit)


def format_promise(bound: SlaBoundLike) -> str:
    """Format the bound as people read it: ``delay_p99 at most 20 ms``."""
    return f"{bound.measure} at {bound.at} {format_bound_value(bound.value, bound.unit)}"


def describe_subject(bound: SlaBoundLike) -> str:
    """Whom the bound is for: a DSCP, a flow, or how many flows."""
    if bound.table == "aggregates":
        return f"DSCP {bound.rows[0]}"
    return bound.rows[0] if len(bound.rows) == 1 else f"{len(bound.rows)} flows"


def build_levels_table(levels: Sequence[Level]) -> RichTable:
    """Build levels as a table; broken ones first if there are too many for a terminal.

    levels: From :func:`judge_bounds`.
    """
    levels_shown = list(levels)
    title = "Service levels"
    if len(levels_shown) > MAX_BOUNDS_SHOWN:
        levels_shown = sorted(levels, key=lambda level: OUTCOMES.index(level.outcome))
        levels_shown = levels_shown[:MAX_BOUNDS_SHOWN]
        title = (
            f"Service levels ({MAX_BOUNDS_SHOWN}, the broken first; "
            f"{len(levels) - MAX_BOUNDS_SHOWN} more)"
        )
    several = any(len(level.values) > 1 for level in levels)
    return _build_levels_table(title, levels_shown, several=several)


def _build_levels_table(title: str, levels: Sequence[Level], *, several: bool) -> RichTable:
    names = ["SLA", "for", "promise", "is"]
    run_headers = ["mean", "kept"] if several else []
    rich_table = begin_table(title, [*names, *run_headers, "worst", "margin"], names=len(names))
    for level in levels:
        unit = level.bound.unit
        cells = [level.bound.sla, describe_subject(level.bound), format_promise(level.bound)]
        cells.append("BROKEN" if level.outcome == "broken" else level.outcome)
        if several:
            cells += [_format_mean(level.interval, unit), f"{level.kept} of {len(level.values)}"]
        add_text_row(
            rich_table,
            [*cells, format_bound_value(level.worst, unit), format_bound_value(level.margin, unit)],
        )
    rich_table.caption = (
        "worst: the flow and run nearest to the bound or farthest beyond it; margin: from there"
        " to the bound"
    )
    return rich_table


def _format_mean(interval: Interval | None, unit: str) -> str:
    if interval is None:
        return "–"
    factor, name = (100, "%") if unit == "1" else (1, unit)
    half_width = interval.half_width
    return format_mean_and_half_width(
        factor * interval.mean, None if half_width is None else factor * half_width, name
    )
