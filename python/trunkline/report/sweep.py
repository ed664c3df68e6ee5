"""A study of many points as the page shows it: a table and a chart for each value."""

import json
from math import inf, isnan
from pathlib import Path
from typing import Any

from trunkline.report.findings import Fact, FactSign, HeadlineNumber
from trunkline.report.grids import MAX_UNFOLDED_ROWS, Grid, GridCell
from trunkline.report.reported_run import ReportedRun
from trunkline.report.reproduced_study import ComparedTable
from trunkline.results import store
from trunkline.results.number_format import format_count
from trunkline.stats.service_levels import format_bound_value
from trunkline.study.outcome import failure_verdicts
from trunkline.study.outcome.failure_verdicts import FailureVerdict
from trunkline.study.outcome.study_tables import iterate_point_results
from trunkline.study.run import data_set
from trunkline.study.run.run_measures import SLA_PREFIX

MANIFEST_FILE = "manifest.json"

MAX_RUNS_SHOWN = 2


def read_sweep(folder: Path) -> dict[str, Any]:
    """Build the outcome of a study in the form of a reproduction without published values.

    Rows are values of the first parameter, columns the other parameters together.
    """
    runs = data_set.read(folder)
    cells = []
    fewest_runs = most_runs = None
    first = ""
    for labels, number, found in iterate_point_results(runs):
        fewest_runs = number if fewest_runs is None else min(fewest_runs, number)
        most_runs = number if most_runs is None else max(most_runs, number)
        part = labels.get("part", "")
        names = [name for name in labels if name != "part"]
        first = first or (names[0] if names else "")
        row = labels[names[0]] if names else part or "all"
        others = ", ".join(f"{name} {labels[name]}" for name in names[1:])
        for name, interval in found.items():
            title, unit = name, runs.units.get(name, "1")
            if name in runs.agreements:
                title, unit = f"runs that keep agreement {name.removeprefix(SLA_PREFIX)}", "%"
                interval = interval and interval.scale(100)
            cells.append(
                {
                    "table": f"{part}: {title}" if part else title,
                    "row": row,
                    "column": others or title,
                    "unit": unit,
                    "published": None,
                    "ours": interval and interval.mean,
                    "low": interval and interval.low,
                    "high": interval and interval.high,
                    "note": "",
                }
            )
    manifest = runs.manifest
    run_count = len(runs.table)
    return {
        "study": manifest["study"],
        "title": str(manifest.get("title") or manifest["study"]),
        "source": "",
        "tables": {},
        "row_title": first,
        "notes": [],
        "runs": most_runs or 0,
        "fewest": fewest_runs or 0,
        "cells": cells,
        "failures": failure_verdicts.list_failure_verdicts(runs),
        "claims": [],
        "fitted": [],
        "summary": {
            "tables": {},
            "runs": run_count,
            "of": manifest["runs"],
            "points": len(manifest["points"]),
            "packet_hops": int(runs.table["packet_hops"].sum()),
            "hash": manifest.get("hash") or "none yet: not all runs are done",
        },
    }


def list_headline_numbers(record: dict[str, Any]) -> list[HeadlineNumber]:
    """List the few numbers that sum a study up."""
    summary = record["summary"]
    runs = str(record["runs"])
    if record["fewest"] != record["runs"]:
        runs = f"{record['fewest']} to {runs}"
    pairs: list[FailureVerdict] = record["failures"]
    judged = [pair for pair in pairs if pair.bound is not None]
    found = []
    if judged:
        broken_failures = {pair.failure for pair in judged if pair.broken}
        all_failures = {pair.failure for pair in judged}
        found.append(
            HeadlineNumber(
                f"{len(all_failures - broken_failures)} of {len(all_failures)}",
                "failures keep every agreement",
            )
        )
    return [
        *found,
        HeadlineNumber(
            f"{format_count(summary['runs'])} of {format_count(summary['of'])}", "runs done"
        ),
        HeadlineNumber(format_count(summary["points"]), "points"),
        HeadlineNumber(runs, "runs a point"),
    ]


def list_facts(record: dict[str, Any]) -> list[Fact]:
    """List evidence for the numbers, and doubts about them."""
    summary = record["summary"]
    found = _list_failure_facts(record["failures"])
    if summary["runs"] == summary["of"]:
        found.append(Fact("held", "The study is complete", f"hash {summary['hash']}"))
    else:
        missing = summary["of"] - summary["runs"]
        found.append(
            Fact("doubt", "The study is not complete", f"{format_count(missing)} runs to go")
        )
    if record["fewest"] < 2:
        detail = "an interval needs at least two runs with different seeds"
        found.append(Fact("doubt", "Some points have a single run", detail))
    else:
        detail = f"95 % intervals by Student's t over at least {record['fewest']} runs"
        found.append(Fact("held", "Every point has an interval", detail))
    return found


def _list_failure_facts(pairs: list[FailureVerdict]) -> list[Fact]:
    """List which class breaks under which failure: the headline, then the worst of each class."""
    if not pairs:
        return []
    broken = [pair for pair in pairs if pair.broken]
    judged = any(pair.bound is not None for pair in pairs)
    sign: FactSign = "broken" if broken else "held" if judged else "known"
    facts = [Fact(sign, failure_verdicts.summarise_verdicts(pairs))]
    for dscp in dict.fromkeys(pair.dscp for pair in broken[1:]):
        if dscp == pairs[0].dscp:
            continue
        class_verdicts = [pair for pair in broken if pair.dscp == dscp]
        worst, other_count = class_verdicts[0], len(class_verdicts) - 1
        detail = f"and under {other_count} more" if other_count else ""
        statement = f"{dscp} breaks under {worst.failure}: {worst.describe()}"
        facts.append(Fact("broken", statement, detail))
    return facts


def build_failure_tables(pairs: list[FailureVerdict]) -> list[ComparedTable]:
    """Build the tables of failures and aggregates, the worst first."""
    if not pairs:
        return []
    dscps, rows = failure_verdicts.build_matrix(pairs)
    built = []
    if any(pair.bound for pair in pairs):
        lines = [
            [
                GridCell(failure),
                *(
                    _build_margin_cell(verdict_by_dscp[name])
                    if name in verdict_by_dscp
                    else GridCell("–")
                    for name in dscps
                ),
            ]
            for failure, verdict_by_dscp in rows
        ]
        note = "What the worst run leaves of the nearest bound, or how far it is beyond it."
        headers = [("failure", ""), *((name, f"class {name}") for name in dscps)]
        grid = Grid("margins", "", headers, lines, note)
        built.append(
            ComparedTable("margins", "Margin of each aggregate under each failure", "", grid, None)
        )
    lines = []
    for pair in pairs[:MAX_UNFOLDED_ROWS]:
        numbers = [(pair.loss, "1"), (pair.delay_p99, "s"), (pair.jitter, "s")]
        cells = [
            GridCell.of_number("–", None)
            if isnan(value)
            else GridCell(format_bound_value(value, unit), value)
            for value, unit in numbers
        ]
        bound_text = "" if pair.bound is None else f"{pair.bound.measure} of {pair.bound.sla}"
        names = [GridCell(pair.failure), GridCell(pair.dscp), GridCell(bound_text or "–")]
        lines.append([*names, *cells, _build_margin_cell(pair)])
    headers = [("failure", ""), ("dscp", ""), ("nearest bound", "measure of which agreement")]
    headers += [("loss", ""), ("delay p99", ""), ("jitter", ""), ("margin", "")]
    note = "Loss, 99th percentile of delay and jitter: the greatest of the runs."
    if len(pairs) > MAX_UNFOLDED_ROWS:
        note = f"The worst {MAX_UNFOLDED_ROWS} of {len(pairs)}. {note}"
    grid = Grid("fared", "", headers, lines, note, names=3)
    built.append(
        ComparedTable("fared", "How each aggregate fares under each failure", "", grid, None)
    )
    return built


def _build_margin_cell(pair: FailureVerdict) -> GridCell:
    if pair.bound is None:
        return GridCell("–", inf)
    return GridCell(
        failure_verdicts.format_margin(pair), pair.margin, "broken" if pair.broken else "held"
    )


def read_kept_runs(folder: Path) -> list[ReportedRun]:
    """Give the first runs whose tables were kept."""
    reported_runs: list[ReportedRun] = []
    for each in sorted((folder / "runs").glob("*"), key=lambda path: (len(path.name), path.name)):
        if len(reported_runs) < MAX_RUNS_SHOWN and (each / store.NETWORK_FILE).is_file():
            seed = json.loads((each / store.RUN_FILE).read_text("utf-8"))["runs"][0]["seed"]
            reported_runs.append(ReportedRun.read_folder(each, f"number {each.name}, seed {seed}"))
    return reported_runs
