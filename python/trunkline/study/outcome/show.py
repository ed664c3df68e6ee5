"""What a study says: means with intervals for every point, and how far it is."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trunkline.results.numbers import percent
from trunkline.results.render import add, draw, frame
from trunkline.stats import Interval, mean_interval, share_interval
from trunkline.stats.histogram import BUCKET
from trunkline.study.errors import Refused
from trunkline.study.outcome import failing
from trunkline.study.run import journal, store
from trunkline.study.run.frames import Runs
from trunkline.study.run.lock import holder
from trunkline.study.run.measure import SLA, agreements, answers, percentiles

MOST_COLUMNS = 6
MOST_ROWS = 60
"""Rows of a table in which a point has a row for each value."""
CLOSING = "means with 95 % intervals (Student's t) over seeds"

_Point = tuple[dict[str, str], int, dict[str, "Interval | None"]]


def points(runs: Runs, values: Sequence[str] = ()) -> Iterator[tuple[dict[str, str], int, Any]]:
    """Every point that has ended runs.

    Parameters
    ----------
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
    coarse = set(percentiles(runs.manifest["measures"]))
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
                its = mean_interval(numbers) if known else None
                found[name] = its.at_least(its.mean * BUCKET) if its and name in coarse else its
        yield labels, len(rows), found


def _wanted(runs: Runs, values: Sequence[str]) -> list[str]:
    import polars as pl

    numbers = [name for name in runs.values if runs.table[name].dtype == pl.Float64]
    for name in values:
        if name not in numbers:
            raise Refused(f"there is no value {name!r}; values: {', '.join(numbers)}")
    hidden = set(answers(runs.manifest["measures"]))
    return list(values) or [name for name in numbers if name not in hidden]


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
        "failures": [_said(pair) for pair in failing.pairs(runs)],
    }


def _said(pair: failing.Pair) -> dict[str, Any]:
    """An aggregate under a failure as JSON; null where nothing arrived or nothing is promised."""
    numbers = {
        name: value if math.isfinite(value) else None
        for name in ("loss", "delay_p99", "jitter", "worst", "margin")
        for value in (getattr(pair, name),)
    }
    its = pair.bound
    return {
        "failure": pair.failure,
        "dscp": pair.dscp,
        **numbers,
        "sla": its and its.sla,
        "measure": its and its.measure,
        "bound": its and its.value,
        "broken": pair.broken,
        "runs": pair.runs,
    }


def render(
    runs: Runs, values: Sequence[str] = (), *, width: int | None = None, colour: bool = False
) -> str:
    """As tables for a terminal: for each part one of values and one of service levels.

    A row is a point, or one value of a point where all do not fit beside each other.
    """
    parts: dict[str, list[_Point]] = {}
    for labels, count, found in points(runs, values):
        parts.setdefault(labels.pop("part", ""), []).append((labels, count, found))
    answered = [] if values else failing.pairs(runs)
    tables = failing.tables(answered) if answered else []
    agreed = runs.agreements
    for part, its in parts.items():
        title = str(runs.manifest["title"]) + (f": {part}" if part else "")
        names = list(its[0][2])
        if numbers := [name for name in names if name not in agreed]:
            tables.append(_numbers(title, its, numbers, runs.units, width))
        if kept := [name for name in names if name in agreed]:
            tables.append(_levels("Service levels" + (f": {part}" if part else ""), its, kept))
    done = f"{failing.headline(answered)}\n" if answered else ""
    done += f"{len(runs.table)} of {runs.manifest['runs']} runs; {CLOSING}"
    counts = [count for its in parts.values() for _, count, _ in its]
    if set(agreed) & {name for its in parts.values() for name in its[0][2]}:
        least = share_interval(min(counts), min(counts)).low or 0
        done += (
            f"; met: every run keeps the agreement; {min(counts)} of {min(counts)} show that at "
            f"least {percent(least)} of all would (Clopper and Pearson, 95 %)"
        )
    if min(counts, default=2) < 2:
        done += "; NOT ENOUGH RUNS for intervals: some points have one"
    if runs.complete:
        done += f"; hash {runs.manifest['hash'][:16]}"
    return draw(tables, done, width=width, colour=colour)


def _numbers(
    title: str, its: Sequence[_Point], names: list[str], units: Mapping[str, str], width: int | None
) -> Any:
    heads = [_head(name, units.get(name, "1")) for name in names]
    labels = list(its[0][0])
    rows = [
        [*point.values(), str(count), *(_cell(found.get(name)) for name in names)]
        for point, count, found in its
    ]
    columns = [*labels, "runs", *heads]
    longest = [max(map(len, each)) for each in zip(columns, *rows, strict=True)]
    if len(names) <= MOST_COLUMNS and (width is None or sum(longest) + 2 * len(longest) < width):
        drawn = frame(title, columns, names=len(labels))
        for row in rows:
            add(drawn, row)
        return drawn
    most = max(1, MOST_ROWS // len(names))
    if len(rows) > most:
        title += f" (the first {most} of {len(rows)} points; --value NAME shows one of all)"
    drawn = frame(title, [*labels, "value", "runs", "mean"], names=len(labels) + 1)
    for row in rows[:most]:
        point, (count, *cells) = row[: len(labels)], row[len(labels) :]
        for head, cell in zip(heads, cells, strict=True):
            add(drawn, [*point, head, count, cell])
    return drawn


def _levels(title: str, its: Sequence[_Point], names: list[str]) -> Any:
    """Which agreement is kept at which point, and at how many of them."""
    labels = list(its[0][0])
    heads = [name.removeprefix(SLA) for name in names]
    drawn = frame(title, [*labels, "runs", *heads], names=len(labels))
    for point, count, found in its:
        add(drawn, [*point.values(), str(count), *(_level(found[name], count) for name in names)])
    drawn.add_section()
    met = [sum(_is_met(found[name]) for _, _, found in its) for name in names]
    blank = [""] * max(len(labels) - 1, 0)
    foot = ["points met", *blank, ""] if labels else ["points met"]
    add(drawn, [*foot, *(f"{each} of {len(its)}" for each in met)])
    return drawn


def _is_met(share: Interval | None) -> bool:
    return share is not None and share.mean == 1


def _level(share: Interval | None, count: int) -> str:
    if share is None:
        return "–"
    broken = count - round(share.mean * count)
    return f"BROKEN in {broken} of {count}" if broken else "met"


def judged(measures: Sequence[str]) -> list[str]:
    """Agreements that a study judges.

    Raises
    ------
    Refused
        It has none.
    """
    if found := agreements(measures):
        return found
    raise Refused("--judge: the scenarios have no slas to hold the runs to")


def broken(runs: Runs) -> bool:
    """Whether some run that has ended breaks an agreement.

    Raises
    ------
    Refused
        The study has none.
    """
    shares = (
        found.get(name)
        for _, _, found in points(runs)
        for name in judged(runs.manifest["measures"])
    )
    return any(share is not None and share.mean < 1 for share in shares)


def _head(name: str, unit: str) -> str:
    return name if unit == "1" else f"{name} [{unit}]"


def _cell(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    half = interval.half_width
    return f"{interval.mean:.5g}" + ("" if half is None else f" ± {half:.2g}")


def status(folder: Path) -> dict[str, Any]:
    """How far a study is.

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
