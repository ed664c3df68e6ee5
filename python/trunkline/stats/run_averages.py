"""A table of several replications: the mean of every measure with its interval."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from trunkline.results import Results
from trunkline.results.decode.columns import QUANTILES
from trunkline.stats.bootstrap import bootstrap_interval
from trunkline.stats.control_variates import (
    OfferedMean,
    controlled_interval,
    read_offered_deviations,
    select_controls,
)
from trunkline.stats.histogram import (
    Histogram,
    pooled_quantile,
    read_completion_histograms,
    read_delay_histograms,
)
from trunkline.stats.interval import Interval, mean_interval

INTERVAL_METHODS: dict[str, Callable[[Sequence[float]], Interval]] = {
    "t": mean_interval,
    "bca": bootstrap_interval,
}
"""Kinds of intervals of a mean by name, but for ``controlled``, which needs the controls too."""

KEY_COLUMNS = {
    "flows": ("flow",),
    "aggregates": ("dscp",),
    "fairness": ("of", "name"),
    "ports": ("link", "class"),
    "paths": ("path",),
    "calls": ("flow",),
    "echoes": ("flow",),
    "videos": ("flow", "player"),
    "completions": ("flow", "sizes"),
    "summary": (),
}


@dataclass(frozen=True, slots=True)
class AveragedRow:
    """One row of every replication."""

    key: dict[str, str]  # Names that say which flow, DSCP, port or path it is.
    # Mean and interval of each measure; a measure that is null in every run is left out.
    measures: dict[str, Interval]

    def get_mean(self, name: str) -> float:
        """Return the mean of a measure to rank rows by; 0 where it is null in all runs."""
        interval = self.measures.get(name)
        return 0.0 if interval is None else interval.mean


def average_runs(
    runs: Sequence[Results],
    table: str = "flows",
    *,
    interval: str = "t",
    columns: Collection[str] | None = None,
    offered_means: Mapping[str, OfferedMean] | None = None,
) -> list[AveragedRow]:
    """Mean and 95 % interval of every measure over runs of one scenario.

    Parameters
    ----------
    runs : sequence of Results
        Runs with different seeds; at least one.
    table : str
        Which: one of ``KEYS``.
    interval : {"t", "bca", "controlled"}
        Student's, the bias-corrected and accelerated bootstrap, or Student's after a regression on
        the offered counts.
    columns : collection of str, optional
        Measures wanted; all if left out.
    offered_means : mapping of str to OfferedMean, optional
        Offered loads of known mean by flow, for ``controlled``.

    Returns
    -------
    list of AveragedRow
        In the order of the table. A measure that is null in some runs is averaged over the
        others, whose number is the interval's ``n``. Quantiles of delay are those of the runs'
        merged histograms (:func:`trunkline.stats.pooled_quantile`), if the runs have them.
    """
    if not runs:
        raise ValueError("at least one run is needed")
    if table not in KEY_COLUMNS:
        raise ValueError(f"{table!r} has no rows to average; choose from {', '.join(KEY_COLUMNS)}")
    deviations = read_offered_deviations(runs, offered_means or {})
    first = runs[0].tables[table]
    names = [field.name for field in first.fields if field.kind != "str" and field.in_json]
    names = [name for name in names if columns is None or name in columns]
    keys = [{name: str(value) for name, value in _select_keys(row, table)} for row in first.rows()]
    values = {name: [run.tables[table][name] for run in runs] for name in names}
    rows = []
    for index, key in enumerate(keys):
        measures = {}
        controls = select_controls(deviations, key.get("flow"), len(runs))
        for name in names:
            known_values = [float(run[index]) for run in values[name] if run[index] is not None]  # type: ignore[arg-type]
            if not known_values:
                continue
            if interval == "controlled":
                is_known = [run[index] is not None for run in values[name]]
                measures[name] = controlled_interval(known_values, controls[is_known])
            else:
                measures[name] = INTERVAL_METHODS[interval](known_values)
        rows.append(AveragedRow(key, measures))
    if table in ("flows", "aggregates"):
        _pool_quantiles(
            rows, [read_delay_histograms(run, table) for run in runs], KEY_COLUMNS[table][0]
        )
    if table == "completions":
        _pool_completions(rows, [read_completion_histograms(run) for run in runs])
    return rows


def _pool_completions(
    rows: list[AveragedRow], runs: list[dict[tuple[str, str], Histogram]]
) -> None:
    """The same for completion times."""
    for row in rows:
        key = (row.key["flow"], row.key["sizes"])
        parts = [run[key] for run in runs if key in run]
        for share in (50, 90, 95, 99) if parts else ():
            pooled = pooled_quantile(parts, share / 100)
            for column, factor in ((f"fct_p{share}_ns", 1.0), (f"fct_p{share}_s", 1e-9)):
                if column in row.measures:
                    row.measures[column] = pooled.scale(factor)


def _pool_quantiles(rows: list[AveragedRow], runs: list[dict[str, Histogram]], key: str) -> None:
    """Put quantiles of the merged histograms in the place of means of quantiles."""
    for row in rows:
        parts = [run[row.key[key]] for run in runs if row.key[key] in run]
        if not parts:
            continue
        merged = Histogram.merge(parts)
        for name, probability in QUANTILES.items():
            pooled = pooled_quantile(parts, probability, merged=merged)
            for column, factor in ((f"delay_{name}_ns", 1.0), (f"delay_{name}_s", 1e-9)):
                if column in row.measures:
                    row.measures[column] = pooled.scale(factor)


def _select_keys(row: dict[str, str | int | float | None], table: str) -> list[tuple[str, object]]:
    return [(name, row[name]) for name in KEY_COLUMNS[table]]
