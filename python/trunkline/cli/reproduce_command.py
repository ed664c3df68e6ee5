"""``trunkline reproduce``: a published study as one command."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

import click

from trunkline.cli.closed_readers import has_reader_left
from trunkline.cli.common import convert_engine_errors, echo_json, echo_tables
from trunkline.cli.engine_options import check_engine_options, engine_options
from trunkline.cli.replication import until_options
from trunkline.cli.report_command import report_option, write_report
from trunkline.cli.status import Status
from trunkline.cli.study_command import ExecutionOptions, convert_study_errors, execution_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trunkline.study import Reproduction
    from trunkline.study.outcome.completed_tables import CompletedTables
    from trunkline.study.run.journal import RunRecord
    from trunkline.study.run.progress import Progress

# `--help` lists these without importing the studies; a test compares them with the studies.
STUDY_NAMES = (
    "andreozzi2001",
    "avallone2003",
    "bhani1999",
    "develder2003",
    "seddigh1999",
    "today2026",
    "ye2003",
)


@click.command(
    "reproduce",
    short_help="Reproduce a published study.",
    epilog=f"Studies: {', '.join(STUDY_NAMES)}.",
)
@click.argument("name")
@click.option(
    "--runs",
    type=click.IntRange(1, 100_000),
    help="Replications of each point. Default: the number in the study.",
)
@until_options(
    "Replicate until half of the 95 % interval of every difference that a claim is about is within "
    "this share of the larger of the two sides, e.g. 5%.",
    "runs of a point",
)
@click.option(
    "--out",
    type=click.Path(),
    help="Folder for the runs, tables, pictures and report.html. Default: store nothing.",
)
@click.option("--pdf", is_flag=True, help="Draw each picture as .pdf too, for papers; needs --out.")
@report_option
@engine_options
@execution_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--judge", is_flag=True, help="Exit with status 3 if a claim does not hold.")
@click.option(
    "--prove",
    is_flag=True,
    help="With --engine linux: alter keys of each table's scenario, one at a time, and store which "
    "alterations the verdict would have caught; the report has the share.",
)
def command(
    name: str,
    runs: int | None,
    until_ci: float | None,
    max_runs: int,
    out: str | None,
    pdf: bool,
    report: bool,
    engine: str,
    runner: str | None,
    execution: ExecutionOptions,
    as_json: bool,
    judge: bool,
    prove: bool,
) -> int:
    """Run the study NAME and compare the results with the published values.

    Print each table as soon as its runs have ended: our value with its 95 % interval next to the
    published one. Then print whether each claim holds, and the fitted values, which the
    publication does not give. With --engine linux, compare the simulator with a Linux kernel for
    all tables that the kernel can run; --out stores each verdict at once, and --resume continues.
    """
    threads, cluster = execution.threads, execution.cluster
    check_engine_options(engine, runner, threads=threads is not None, cluster=cluster is not None)
    if engine == "fluid":
        raise click.UsageError("--engine fluid cannot reproduce a study: publications use packets.")
    from trunkline.study.outcome.completed_tables import CompletedTables
    from trunkline.study.outcome.reproduction import StudySubject
    from trunkline.study.outcome.reproduction_tables import render_reproduction

    if execution.resume and out is None:
        raise click.UsageError("--resume needs --out, the folder of the study to continue.")
    if prove and engine != "linux":
        raise click.UsageError("--prove needs --engine linux.")
    if until_ci is not None and (runs is not None or engine == "linux"):
        raise click.UsageError("--until-ci excludes --runs, and needs the packet simulator.")
    if pdf and (out is None or engine == "linux"):
        raise click.UsageError("--pdf needs --out, and the packet simulator.")
    with convert_study_errors(out):
        subject = StudySubject(name, runs=runs, kernel=engine == "linux")
        if engine == "linux":
            from trunkline.cli.kernel_reproduction import StoredVerdicts, run_in_both_engines

            stored_verdicts = StoredVerdicts(out, **execution.folder_options)
            return run_in_both_engines(
                subject, runner, stored_verdicts, as_json=as_json, judge=judge, prove=prove
            )

        completed_tables = CompletedTables(subject)

        def show(reproduction: Reproduction) -> Reproduction:
            # Print before drawing the pictures, which takes seconds.
            if not as_json:
                echo_tables(
                    functools.partial(
                        render_reproduction, reproduction, without=completed_tables.names
                    )
                )
            if out is not None:
                reproduction.add_to(out, pdf=pdf)
            return reproduction

        if until_ci is not None:
            reproduction = execution.complete(
                subject.replicate_until_sure(
                    until_ci,
                    max_runs=max_runs,
                    options=execution.make_run_options(),
                    progress=lambda: execution.make_progress(subject.plan.name),
                    out=out,
                    **execution.folder_options,
                ),
                out,
                show,
            )
        else:
            progress = execution.make_progress(subject.plan.name)
            if not as_json:
                progress.listener = _make_table_printer(
                    completed_tables, progress, stops_without_reader=out is None and not judge
                )
            reproduction = execution.run_plan(
                subject.plan,
                out,
                lambda ended_runs: show(subject.build_reproduction(ended_runs)),
                progress=progress,
            )
    if isinstance(reproduction, Status):
        return reproduction
    if as_json:
        echo_json(reproduction.to_json())
    if reproduction.precision is not None:
        click.echo(reproduction.precision.describe(), err=True)
    if out is not None:
        click.echo(f"runs, tables and pictures written to {out}", err=True)
        if report:
            from trunkline.report import add_featured_runs

            with convert_engine_errors():
                add_featured_runs(name, out, threads=threads)
            write_report(out)
    return _get_status(reproduction) if judge else Status.DONE


def _make_table_printer(
    completed_tables: CompletedTables, progress: Progress, *, stops_without_reader: bool
) -> Callable[[Mapping[int, RunRecord]], None]:
    """Make the listener of runs that prints each table as soon as its runs have ended."""
    from trunkline.study.outcome.reproduction_tables import render_tables

    def print_completed(records: Mapping[int, RunRecord]) -> None:
        reproduction = completed_tables.collect_new(records)
        if reproduction is None:
            return
        with progress.pause():
            echo_tables(functools.partial(render_tables, reproduction))
        if has_reader_left() and stops_without_reader:
            # Nobody reads the output. SystemExit is not taken for an error of the engine.
            sys.exit(Status.DONE)

    return print_completed


def _get_status(reproduction: Reproduction) -> Status:
    """Return the exit status by the claims."""
    outcomes = {claim["outcome"] for claim in reproduction.to_json()["claims"]}
    if "refuted" in outcomes:
        return Status.NOT_HELD
    return Status.UNDECIDED if "undecided" in outcomes else Status.DONE
