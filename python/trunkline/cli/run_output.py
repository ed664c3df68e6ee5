"""The output of ``trunkline run``: tables, JSON and the folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import echo_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table as RichTable

    from trunkline.results import Results
    from trunkline.stats import Level
    from trunkline.stats.control_variates import OfferedMean
    from trunkline.study.outcome.steady_state import FlowBatchMeans


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Form and place of the output."""

    out: str | None  # Folder for the results.
    report: bool
    overwrite: bool
    as_json: bool
    show_all: bool
    judge: bool  # Whether a broken service level ends with status 3.


def check_output_folder(out: str, *, overwrite: bool) -> None:
    """Check before the run that its results can be written.

    Raises click.UsageError: The folder exists and `overwrite` is false, or its nearest existing
        parent is not a writable folder.
    """
    folder = Path(out)
    if folder.exists() and not overwrite:
        raise click.UsageError(f"--out {out} exists; --overwrite replaces earlier results.")
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise click.UsageError(f"--out {out}: {parent} is not a folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise click.UsageError(f"--out {out}: {parent} is not writable.")


def make_document(
    results: list[Results],
    *,
    interval: str = "t",
    offered_means: Mapping[str, OfferedMean] | None = None,
) -> dict[str, Any]:
    """Make the object of ``--json``: one run, or all runs with their seeds and intervals.

    interval: one of "t", "bca", "controlled"; kind of the intervals over several runs.
    offered_means: Offered loads of known mean by flow, for ``controlled``.
    """
    if len(results) == 1:
        return results[0].to_json()
    from trunkline.stats.run_tables import build_interval_json

    return {
        "schema": 1,
        "runs": [{"seed": r.seed, **r.to_json()} for r in results],
        "intervals": build_interval_json(results, interval=interval, offered_means=offered_means),
    }


def print_results(
    results: list[Results],
    *,
    levels: Sequence[Level] = (),
    interval: str = "t",
    offered_means: Mapping[str, OfferedMean] | None = None,
    courses: list[FlowBatchMeans] | None = None,
    show_all: bool = False,
) -> None:
    """Print the tables of one run, or means with intervals over several.

    levels: Judged service level agreements.
    interval: one of "t", "bca", "controlled"; kind of the intervals over several runs.
    offered_means: Offered loads of known mean by flow, for ``controlled``.
    courses: Batch means, if there is one run.
    show_all: Whether to show all tables with all rows.
    """
    level_tables: list[RichTable] = []
    if levels:
        from trunkline.stats.service_levels import build_levels_table

        level_tables = [build_levels_table(levels)]
    if len(results) > 1:
        from trunkline.stats.run_tables import render_run_averages

        render_runs = partial(
            render_run_averages, results, interval=interval, offered_means=offered_means
        )
        echo_tables(partial(render_runs, leading_tables=level_tables, show_all=show_all))
        return
    echo_tables(partial(results[0].render, leading_tables=level_tables, show_all=show_all))
    if results[0].provenance.engine in ("fluid", "decomposed"):
        return
    if courses is None:
        click.echo(
            "one run gives no confidence intervals: use --runs 10, or --batches for those within "
            "this run",
            err=True,
        )
        return
    from trunkline.study.outcome.steady_state import render_batch_means

    echo_tables(lambda **how: render_batch_means(courses, **how))
