"""A study of many points as the page shows it: a table and a chart for each value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trunkline.report.exhibit import Exhibit
from trunkline.report.verdict import Fact, Figure
from trunkline.report.words import count
from trunkline.results import store
from trunkline.study.outcome.show import points
from trunkline.study.run import frames

MANIFEST = "manifest.json"

MOST_EXHIBITS = 2


def record(folder: Path) -> dict[str, Any]:
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
            known = its is not None
            cells.append(
                {
                    "table": f"{part}: {name}" if part else name,
                    "row": row,
                    "column": others or name,
                    "unit": runs.units.get(name, "1"),
                    "published": None,
                    "ours": its.mean if known else None,
                    "low": its.low if known else None,
                    "high": its.high if known else None,
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
        "seeds": most or 0,
        "fewest": fewest or 0,
        "cells": cells,
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


def figures(said: dict[str, Any]) -> list[Figure]:
    """The few numbers that sum a study up."""
    summary = said["summary"]
    seeds = str(said["seeds"])
    if said["fewest"] != said["seeds"]:
        seeds = f"{said['fewest']} to {seeds}"
    return [
        Figure(f"{count(summary['runs'])} of {count(summary['of'])}", "runs done"),
        Figure(count(summary["points"]), "points"),
        Figure(seeds, "runs a point"),
    ]


def facts(said: dict[str, Any]) -> list[Fact]:
    """What speaks for the numbers, and against them."""
    summary = said["summary"]
    found = []
    if summary["runs"] == summary["of"]:
        found.append(Fact("held", "The study is complete", f"hash {summary['hash']}"))
    else:
        missing = summary["of"] - summary["runs"]
        found.append(Fact("doubt", "The study is not complete", f"{count(missing)} runs to go"))
    if said["fewest"] < 2:
        detail = "an interval needs at least two runs with different seeds"
        found.append(Fact("doubt", "Some points have a single run", detail))
    else:
        detail = f"95 % intervals by Student's t over at least {said['fewest']} runs"
        found.append(Fact("held", "Every point has an interval", detail))
    return found


def exhibits(folder: Path) -> list[Exhibit]:
    """Give the first runs whose tables were kept."""
    kept: list[Exhibit] = []
    for each in sorted((folder / "runs").glob("*"), key=lambda path: (len(path.name), path.name)):
        if len(kept) < MOST_EXHIBITS and (each / store.NETWORK).is_file():
            seed = json.loads((each / store.RUN).read_text("utf-8"))["runs"][0]["seed"]
            kept.append(Exhibit.read(each, f"number {each.name}, seed {seed}"))
    return kept
