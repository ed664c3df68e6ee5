"""A study of many points as the page shows it: a table and a chart for each value."""

import json
from math import inf, isnan
from pathlib import Path
from typing import Any

from trunkline.report.exhibit import Exhibit
from trunkline.report.grids import MOST_OPEN, Cell, Grid
from trunkline.report.study import Compared
from trunkline.report.verdict import Fact, Figure, Sign
from trunkline.results import store
from trunkline.results.numbers import count
from trunkline.stats.sla import said
from trunkline.study.outcome import failing
from trunkline.study.outcome.failing import Pair
from trunkline.study.outcome.show import points
from trunkline.study.run import frames
from trunkline.study.run.measure import SLA

MANIFEST = "manifest.json"

MOST_EXHIBITS = 2


def read(folder: Path) -> dict[str, Any]:
    """Give what a study says in the form of a reproduction without published values.

    Rows are values of the first parameter, columns the other parameters together.
    """
    runs = frames.read(folder)
    cells = []
    fewest = most = None
    first = ""
    for labels, number, found in points(runs):
        fewest = number if fewest is None else min(fewest, number)
        most = number if most is None else max(most, number)
        part = labels.get("part", "")
        names = [name for name in labels if name != "part"]
        first = first or (names[0] if names else "")
        row = labels[names[0]] if names else part or "all"
        others = ", ".join(f"{name} {labels[name]}" for name in names[1:])
        for name, its in found.items():
            title, unit = name, runs.units.get(name, "1")
            if name in runs.agreements:
                title, unit = f"runs that keep agreement {name.removeprefix(SLA)}", "%"
                its = its and its.scaled(100)
            cells.append(
                {
                    "table": f"{part}: {title}" if part else title,
                    "row": row,
                    "column": others or title,
                    "unit": unit,
                    "published": None,
                    "ours": its and its.mean,
                    "low": its and its.low,
                    "high": its and its.high,
                    "note": "",
                }
            )
    manifest = runs.manifest
    done = len(runs.table)
    return {
        "study": manifest["study"],
        "title": str(manifest.get("title") or manifest["study"]),
        "source": "",
        "tables": {},
        "row_title": first,
        "notes": [],
        "runs": most or 0,
        "fewest": fewest or 0,
        "cells": cells,
        "failures": failing.pairs(runs),
        "claims": [],
        "fitted": [],
        "summary": {
            "tables": {},
            "runs": done,
            "of": manifest["runs"],
            "points": len(manifest["points"]),
            "packet_hops": int(runs.table["packet_hops"].sum()),
            "hash": manifest.get("hash") or "none yet: not all runs are done",
        },
    }


def figures(record: dict[str, Any]) -> list[Figure]:
    """The few numbers that sum a study up."""
    summary = record["summary"]
    runs = str(record["runs"])
    if record["fewest"] != record["runs"]:
        runs = f"{record['fewest']} to {runs}"
    pairs: list[Pair] = record["failures"]
    judged = [pair for pair in pairs if pair.bound is not None]
    found = []
    if judged:
        hit = {pair.failure for pair in judged if pair.broken}
        all_of = {pair.failure for pair in judged}
        found.append(
            Figure(f"{len(all_of - hit)} of {len(all_of)}", "failures keep every agreement")
        )
    return [
        *found,
        Figure(f"{count(summary['runs'])} of {count(summary['of'])}", "runs done"),
        Figure(count(summary["points"]), "points"),
        Figure(runs, "runs a point"),
    ]


def facts(record: dict[str, Any]) -> list[Fact]:
    """What speaks for the numbers, and against them."""
    summary = record["summary"]
    found = _answer(record["failures"])
    if summary["runs"] == summary["of"]:
        found.append(Fact("held", "The study is complete", f"hash {summary['hash']}"))
    else:
        missing = summary["of"] - summary["runs"]
        found.append(Fact("doubt", "The study is not complete", f"{count(missing)} runs to go"))
    if record["fewest"] < 2:
        detail = "an interval needs at least two runs with different seeds"
        found.append(Fact("doubt", "Some points have a single run", detail))
    else:
        detail = f"95 % intervals by Student's t over at least {record['fewest']} runs"
        found.append(Fact("held", "Every point has an interval", detail))
    return found


def _answer(pairs: list[Pair]) -> list[Fact]:
    """Which class breaks under which failure: the headline, then the worst of each class."""
    if not pairs:
        return []
    broken = [pair for pair in pairs if pair.broken]
    judged = any(pair.bound is not None for pair in pairs)
    sign: Sign = "broken" if broken else "held" if judged else "known"
    facts = [Fact(sign, failing.headline(pairs))]
    for dscp in dict.fromkeys(pair.dscp for pair in broken[1:]):
        if dscp == pairs[0].dscp:
            continue
        its = [pair for pair in broken if pair.dscp == dscp]
        worst, more = its[0], len(its) - 1
        detail = f"and under {more} more" if more else ""
        says = f"{dscp} breaks under {worst.failure}: {worst.sentence()}"
        facts.append(Fact("broken", says, detail))
    return facts


def failures(pairs: list[Pair]) -> list[Compared]:
    """The tables of failures and aggregates, the worst first."""
    if not pairs:
        return []
    dscps, rows = failing.matrix(pairs)
    made = []
    if any(pair.bound for pair in pairs):
        lines = [
            [Cell(failure), *(_margin(of[name]) if name in of else Cell("–") for name in dscps)]
            for failure, of in rows
        ]
        note = "What the worst run leaves of the nearest bound, or how far it is beyond it."
        heads = [("failure", ""), *((name, f"class {name}") for name in dscps)]
        grid = Grid("margins", "", heads, lines, note)
        made.append(
            Compared("margins", "Margin of each aggregate under each failure", "", grid, None)
        )
    lines = []
    for pair in pairs[:MOST_OPEN]:
        numbers = [(pair.loss, "1"), (pair.delay_p99, "s"), (pair.jitter, "s")]
        cells = [Cell("–" if isnan(v) else said(v, unit), v) for v, unit in numbers]
        promised = "" if pair.bound is None else f"{pair.bound.measure} of {pair.bound.sla}"
        names = [Cell(pair.failure), Cell(pair.dscp), Cell(promised or "–")]
        lines.append([*names, *cells, _margin(pair)])
    heads = [("failure", ""), ("dscp", ""), ("nearest bound", "measure of which agreement")]
    heads += [("loss", ""), ("delay p99", ""), ("jitter", ""), ("margin", "")]
    note = "Loss, 99th percentile of delay and jitter: the greatest of the runs."
    if len(pairs) > MOST_OPEN:
        note = f"The worst {MOST_OPEN} of {len(pairs)}. {note}"
    grid = Grid("fared", "", heads, lines, note, names=3)
    made.append(Compared("fared", "How each aggregate fares under each failure", "", grid, None))
    return made


def _margin(pair: Pair) -> Cell:
    if pair.bound is None:
        return Cell("–", inf)
    return Cell(failing.margin(pair), pair.margin, "broken" if pair.broken else "held")


def exhibits(folder: Path) -> list[Exhibit]:
    """Give the first runs whose tables were kept."""
    kept: list[Exhibit] = []
    for each in sorted((folder / "runs").glob("*"), key=lambda path: (len(path.name), path.name)):
        if len(kept) < MOST_EXHIBITS and (each / store.NETWORK).is_file():
            seed = json.loads((each / store.RUN).read_text("utf-8"))["runs"][0]["seed"]
            kept.append(Exhibit.read(each, f"number {each.name}, seed {seed}"))
    return kept
