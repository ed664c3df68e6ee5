"""What a study says: means with intervals for every point, and how far it is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trunkline.results.render import add, draw, frame, percent
from trunkline.stats import Interval, mean_interval, share_interval
from trunkline.study import journal, store
from trunkline.study.errors import Refused
from trunkline.study.frames import Runs
from trunkline.study.lock import holder
from trunkline.study.measure import SLA

MOST_COLUMNS = 6
CLOSING = "means with 95 % intervals (Student's t) over seeds"


def points(runs: Runs, values: Sequence[str] = ()) -> Iterator[tuple[dict[str, str], int, Any]]:
    """Every point that has ended runs.

    Parameters
    ----------
    runs : Runs
        The study.
    values : sequence of str
        What to look at; all numbers if left out.

    Yields
    ------
    (dict of str to str, int, dict of str to Interval or None)
        Part and labels; runs; value to its interval, None where a run has none. Of a service
        level agreement it is the share of runs that keep it, with the exact interval.
    """
    import polars as pl

    wanted, agreed = _wanted(runs, values), runs.agreements
    # Points that differ only in what is drawn for each seed have the same labels: they are one.
    for key, rows in runs.table.group_by(["part", *runs.labels], maintain_order=True):
        labels = dict(zip(("part", *runs.labels), key, strict=True))
        labels = {name: text for name, text in labels.items() if text}
        found: dict[str, Interval | None] = {}
        for name in wanted:
            column = rows[name].drop_nulls()
            assert column.dtype == pl.Float64
            numbers = column.to_list()
            if name in agreed:
                found[name] = share_interval(round(sum(numbers)), len(numbers)) if numbers else None
            elif numbers:
                known = not any(map(math.isnan, numbers))
                found[name] = mean_interval(numbers) if known else None
        yield labels, len(rows), found


def _wanted(runs: Runs, values: Sequence[str]) -> list[str]:
    import polars as pl

    numbers = [name for name in runs.values if runs.table[name].dtype == pl.Float64]
    for name in values:
        if name not in numbers:
            raise Refused(f"there is no value {name!r}; values: {', '.join(numbers)}")
    return list(values) or numbers


def to_json(runs: Runs, values: Sequence[str] = ()) -> dict[str, Any]:
    """As the object ``trunkline study show --json`` prints."""
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
                    if its is None
                    else {"mean": its.mean, "low": its.low, "high": its.high}
                    for name, its in found.items()
                },
            }
            for labels, count, found in points(runs, values)
        ],
    }


def render(
    runs: Runs, values: Sequence[str] = (), *, width: int | None = None, colour: bool = False
) -> str:
    """As tables for a terminal, one for each part.

    A row is a point, or one value of a point where there are many.
    """
    tables: dict[str, tuple[Any, list[str]]] = {}
    few = False
    for labels, count, found in points(runs, values):
        part = labels.pop("part", "")
        if part not in tables:
            title = str(runs.manifest["title"]) + (f": {part}" if part else "")
            tables[part] = (_frame(title, list(labels), list(found), runs.units), list(found))
        drawn, names = tables[part]
        few = few or count < 2
        agreed = runs.agreements
        cells = [(_share if name in agreed else _cell)(found.get(name)) for name in names]
        if len(names) > MOST_COLUMNS:
            for name, cell in zip(names, cells, strict=True):
                head = _head(name, runs.units.get(name, "1"))
                add(drawn, [*labels.values(), head, str(count), cell])
        else:
            add(drawn, [*labels.values(), str(count), *cells])
    done = f"{len(runs.table)} of {runs.manifest['runs']} runs; {CLOSING}"
    if runs.agreements:
        done += f"; {SLA}NAME: share of runs that keep the agreement (Clopper and Pearson)"
    if few:
        done += "; NOT ENOUGH RUNS for intervals: some points have one"
    if runs.complete:
        done += f"; hash {runs.manifest['hash'][:16]}"
    return draw([drawn for drawn, _ in tables.values()], done, width=width, colour=colour)


def _frame(title: str, labels: list[str], names: list[str], units: Mapping[str, str]) -> Any:
    if len(names) > MOST_COLUMNS:
        return frame(title, [*labels, "value", "runs", "mean"], names=len(labels) + 1)
    heads = [_head(name, units.get(name, "1")) for name in names]
    return frame(title, [*labels, "runs", *heads], names=len(labels))


def _head(name: str, unit: str) -> str:
    return name if unit == "1" else f"{name} [{unit}]"


def _cell(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    half = interval.half_width
    return f"{interval.mean:.5g}" + ("" if half is None else f" ± {half:.2g}")


def _share(interval: Interval | None) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return "–"
    return f"{percent(interval.mean)} ({percent(interval.low)} to {percent(interval.high)})"


def status(folder: Path) -> dict[str, Any]:
    """How far a study is.

    Parameters
    ----------
    folder : Path
        Folder of the study, or of its shards.

    Returns
    -------
    dict
        ``study``, ``done``, ``of``, ``complete``, ``hash``, ``held_by``, ``failed``, ``shards``.
    """
    below = store.shards(folder)
    if not (folder / store.MANIFEST).exists() and below:
        shards = [{"folder": shard.name, **status(shard)} for shard in below]
        first = store.manifest(below[0])
        # Shards of points know their own runs alone, those of runs know all.
        of = sum(each["of"] for each in shards) if "share" in first else first["runs"]
        return {
            "study": shards[0]["study"],
            "done": sum(each["done"] for each in shards),
            "of": of,
            "complete": False,
            "hash": "",
            "held_by": "",
            "failed": [failure for each in shards for failure in each["failed"]],
            "shards": [{key: each[key] for key in ("folder", "done", "of")} for each in shards],
        }
    said = store.manifest(folder)
    of = store.share(said)
    complete = bool(said.get("files"))
    ended = {record.run for record in journal.read(folder / store.JOURNAL)[0]}
    return {
        "study": said["study"],
        "done": of if complete else len(ended),
        "of": of,
        "complete": complete,
        "hash": said.get("hash", ""),
        "held_by": holder(folder),
        "failed": [_failure(path) for path in sorted(folder.glob("failed/*/failure.json"))],
        "shards": [],
    }


def _failure(path: Path) -> Mapping[str, Any]:
    said: dict[str, Any] = json.loads(path.read_text("utf-8"))
    said.pop("checksum", None)
    return said
