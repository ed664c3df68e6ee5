"""Tables of a study: means with intervals for every point, and progress."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trunkline.results.number_format import format_percent
from trunkline.results.terminal_tables import add_text_row, begin_table, render_to_text
from trunkline.stats import Interval, share_interval
from trunkline.stats.histogram import BUCKET_WIDTH_RATIO
from trunkline.study.errors import StudyError
from trunkline.study.outcome import failure_verdicts
from trunkline.study.run import checked_files, journal, store
from trunkline.study.run.data_set import Runs
from trunkline.study.run.folder_lock import find_lock_holder
from trunkline.study.run.run_measures import (
    SLA_PREFIX,
    list_agreements,
    list_controls,
    list_failure_values,
    list_percentiles,
)

MAX_COLUMNS_SHOWN = 6
MAX_ROWS_SHOWN = 60  # Rows of a table in which a point has a row for each value.
INTERVAL_NOTE = "means with 95 % intervals ({method}) over seeds"

_PointResult = tuple[dict[str, str], int, dict[str, "Interval | None"]]


def iterate_point_results(
    runs: Runs, values: Sequence[str] = ()
) -> Iterator[tuple[dict[str, str], int, Any]]:
    """Yield every point that has ended runs.

    values: Values to show; all numbers if left out.
    Yields: Part and labels; runs; value to its interval, None where a run has none. Of a service
        level agreement it is the share of runs that keep it, with the exact interval.
    """
    import polars as pl

    value_names, agreement_names = _select_values(runs, values), runs.agreements
    histogram_percentiles = set(list_percentiles(runs.manifest["measures"]))
    # Points that differ only in random draws have the same labels: they are one.
    for key, rows in runs.table.group_by(["part", *runs.labels], maintain_order=True):
        labels = dict(zip(("part", *runs.labels), key, strict=True))
        labels = {name: text for name, text in labels.items() if text}
        intervals: dict[str, Interval | None] = {}
        own = set(runs.list_measured_values(rows["point"].unique()))
        for name in (each for each in value_names if each in own):
            assert rows[name].dtype == pl.Float64
            numbers = rows[name].to_list()
            if None in numbers:
                intervals[name] = None
            elif name in agreement_names:
                intervals[name] = share_interval(round(sum(numbers)), len(numbers))
            else:
                interval = runs.estimate_mean(name, rows)
                intervals[name] = (
                    interval.at_least(interval.mean * BUCKET_WIDTH_RATIO)
                    if name in histogram_percentiles
                    else interval
                )
        yield labels, len(rows), intervals


def _select_values(runs: Runs, values: Sequence[str]) -> list[str]:
    import polars as pl

    numbers = [name for name in runs.values if runs.table[name].dtype == pl.Float64]
    for name in values:
        if name not in numbers:
            raise StudyError(f"there is no value {name!r}; values: {', '.join(numbers)}")
    failure_values = set(list_failure_values(runs.manifest["measures"]))
    return list(values) or [name for name in numbers if name not in failure_values]


def build_study_json(runs: Runs, values: Sequence[str] = ()) -> dict[str, Any]:
    """Build the object that ``trunkline study show --json`` prints."""
    return {
        "schema": 1,
        "study": runs.manifest["study"],
        "complete": runs.complete,
        "hash": runs.manifest.get("hash"),
        "runs": len(runs.table),
        "of": runs.manifest["runs"],
        "units": runs.units,
        "points": [
            {
                "labels": labels,
                "runs": count,
                "values": {
                    name: None
                    if interval is None
                    else {"mean": interval.mean, "low": interval.low, "high": interval.high}
                    for name, interval in found.items()
                },
            }
            for labels, count, found in iterate_point_results(runs, values)
        ],
        "failures": [
            _build_verdict_json(pair) for pair in failure_verdicts.list_failure_verdicts(runs)
        ],
    }


def _build_verdict_json(verdict: failure_verdicts.FailureVerdict) -> dict[str, Any]:
    """An aggregate under a failure as JSON; null where nothing arrived or nothing is promised."""
    numbers = {
        name: value if math.isfinite(value) else None
        for name in ("loss", "delay_p99", "jitter", "worst", "margin")
        for value in (getattr(verdict, name),)
    }
    bound = verdict.bound
    return {
        "failure": verdict.failure,
        "dscp": verdict.dscp,
        **numbers,
        "sla": bound and bound.sla,
        "measure": bound and bound.measure,
        "bound": bound and bound.value,
        "broken": verdict.broken,
        "runs": verdict.runs,
    }


def render_study(
    runs: Runs, values: Sequence[str] = (), *, width: int | None = None, colour: bool = False
) -> str:
    """Render it as tables for a terminal: for each part one of values and one of service levels.

    A row is a point, or one value of a point where all do not fit side by side.
    """
    parts: dict[str, list[_PointResult]] = {}
    for labels, count, found in iterate_point_results(runs, values):
        parts.setdefault(labels.pop("part", ""), []).append((labels, count, found))
    verdicts = [] if values else failure_verdicts.list_failure_verdicts(runs)
    tables = failure_verdicts.build_tables(verdicts) if verdicts else []
    agreements = runs.agreements
    for part, part_points in parts.items():
        title = str(runs.manifest["title"]) + (f": {part}" if part else "")
        names = list(part_points[0][2])
        if numbers := [name for name in names if name not in agreements]:
            tables.append(_build_value_table(title, part_points, numbers, runs.units, width))
        if agreement_names := [name for name in names if name in agreements]:
            tables.append(
                _build_agreement_table(
                    "Service levels" + (f": {part}" if part else ""), part_points, agreement_names
                )
            )
    closing = f"{failure_verdicts.summarise_verdicts(verdicts)}\n" if verdicts else ""
    is_controlled = any(map(list_controls, runs.manifest["measures"]))
    note = INTERVAL_NOTE.format(method="control variates" if is_controlled else "Student's t")
    closing += f"{len(runs.table)} of {runs.manifest['runs']} runs; {note}"
    counts = [count for part_points in parts.values() for _, count, _ in part_points]
    if set(agreements) & {name for part_points in parts.values() for name in part_points[0][2]}:
        least_share = share_interval(min(counts), min(counts)).low or 0
        closing += (
            f"; met: every run keeps the agreement; {min(counts)} of {min(counts)} show that at "
            f"least {format_percent(least_share)} of all would (Clopper and Pearson, 95 %)"
        )
    if min(counts, default=2) < 2:
        closing += "; NOT ENOUGH RUNS for intervals: some points have one"
    if runs.complete:
        closing += f"; hash {runs.manifest['hash'][:16]}"
    return render_to_text(tables, closing, width=width, colour=colour)


def _build_value_table(
    title: str,
    point_results: Sequence[_PointResult],
    names: list[str],
    units: Mapping[str, str],
    width: int | None,
) -> Any:
    headers = [_format_header(name, units.get(name, "1")) for name in names]
    labels = list(point_results[0][0])
    rows = [
        [*point.values(), str(count), *(_format_interval(found.get(name)) for name in names)]
        for point, count, found in point_results
    ]
    columns = [*labels, "runs", *headers]
    column_widths = [max(map(len, each)) for each in zip(columns, *rows, strict=True)]
    if len(names) <= MAX_COLUMNS_SHOWN and (
        width is None or sum(column_widths) + 2 * len(column_widths) < width
    ):
        table = begin_table(title, columns, names=len(labels))
        for row in rows:
            add_text_row(table, row)
        return table
    max_points = max(1, MAX_ROWS_SHOWN // len(names))
    if len(rows) > max_points:
        title += f" (the first {max_points} of {len(rows)} points; --value NAME shows one of all)"
    table = begin_table(title, [*labels, "value", "runs", "mean"], names=len(labels) + 1)
    for row in rows[:max_points]:
        point, (count, *cells) = row[: len(labels)], row[len(labels) :]
        for head, cell in zip(headers, cells, strict=True):
            add_text_row(table, [*point, head, count, cell])
    return table


def _build_agreement_table(
    title: str, point_results: Sequence[_PointResult], names: list[str]
) -> Any:
    """Build the table of agreements: which are kept at which point, and at how many."""
    labels = list(point_results[0][0])
    headers = [name.removeprefix(SLA_PREFIX) for name in names]
    table = begin_table(title, [*labels, "runs", *headers], names=len(labels))
    for point, count, found in point_results:
        add_text_row(
            table,
            [
                *point.values(),
                str(count),
                *(_format_agreement(found[name], count) for name in names),
            ],
        )
    table.add_section()
    met_counts = [
        sum(_is_agreement_met(found[name]) for _, _, found in point_results) for name in names
    ]
    blank = [""] * max(len(labels) - 1, 0)
    footer = ["points met", *blank, ""] if labels else ["points met"]
    add_text_row(table, [*footer, *(f"{each} of {len(point_results)}" for each in met_counts)])
    return table


def _is_agreement_met(share: Interval | None) -> bool:
    return share is not None and share.mean == 1


def _format_agreement(share: Interval | None, count: int) -> str:
    if share is None:
        return "–"
    broken = count - round(share.mean * count)
    return f"BROKEN in {broken} of {count}" if broken else "met"


def list_judged_agreements(measures: Sequence[str]) -> list[str]:
    """Agreements that a study judges. Raises StudyError: It has none."""
    if found := list_agreements(measures):
        return found
    raise StudyError("--judge: the scenarios have no slas to hold the runs to")


def has_broken_agreement(runs: Runs) -> bool:
    """Whether some run that has ended breaks an agreement.

    Raises StudyError: The study has none.
    """
    shares = (
        found.get(name)
        for _, _, found in iterate_point_results(runs)
        for name in list_judged_agreements(runs.manifest["measures"])
    )
    return any(share is not None and share.mean < 1 for share in shares)


def _format_header(name: str, unit: str) -> str:
    return name if unit == "1" else f"{name} [{unit}]"


def _format_interval(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    half_width = interval.half_width
    return f"{interval.mean:.5g}" + ("" if half_width is None else f" ± {half_width:.2g}")


def read_study_status(folder: Path) -> dict[str, Any]:
    """Read the progress of a study.

    Returns: ``study``, ``done``, ``of``, ``complete``, ``hash``, ``held_by``, ``failed``,
        ``shards``.
    """
    shard_folders = store.list_shards(folder)
    if not (folder / checked_files.MANIFEST_FILE).exists() and shard_folders:
        shards = [{"folder": shard.name, **read_study_status(shard)} for shard in shard_folders]
        first = checked_files.read_manifest(shard_folders[0])
        # Shards of points know their own runs alone, those of runs know all.
        planned_runs = sum(each["of"] for each in shards) if "share" in first else first["runs"]
        return {
            "study": shards[0]["study"],
            "done": sum(each["done"] for each in shards),
            "of": planned_runs,
            "complete": False,
            "hash": "",
            "held_by": "",
            "failed": [failure for each in shards for failure in each["failed"]],
            "shards": [{key: each[key] for key in ("folder", "done", "of")} for each in shards],
        }
    manifest = checked_files.read_manifest(folder)
    planned_runs = store.count_planned_runs(manifest)
    complete = bool(manifest.get("files"))
    ended = {record.run for record in journal.read_journal(folder / checked_files.JOURNAL_FILE)[0]}
    return {
        "study": manifest["study"],
        "done": planned_runs if complete else len(ended),
        "of": planned_runs,
        "complete": complete,
        "hash": manifest.get("hash", ""),
        "held_by": find_lock_holder(folder),
        "failed": [_read_failure(path) for path in sorted(folder.glob("failed/*/failure.json"))],
        "shards": [],
    }


def _read_failure(path: Path) -> Mapping[str, Any]:
    failure: dict[str, Any] = json.loads(path.read_text("utf-8"))
    failure.pop("checksum", None)
    return failure
