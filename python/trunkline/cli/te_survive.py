"""``trunkline te survive``: screen every failure, and judge the worst in packets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from trunkline.cli.common import ScenarioSource, echo_json, scenario_options
from trunkline.cli.limits import check_forecast
from trunkline.cli.status import Status
from trunkline.cli.study_command import ExecutionOptions, convert_study_errors, execution_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.planning.capacity_upgrade import CapacityUpgrade
    from trunkline.planning.failure_screening import FailureImpact, Survival
    from trunkline.planning.packet_trial import ScreenDeviation, SlaOutcome
    from trunkline.scenario import Scenario
    from trunkline.study import Runs

JSON_SCHEMA = 1


@click.command("survive", short_help="Screen all failures; try the worst in packets.")
@scenario_options
@click.option(
    "--each",
    "kinds",
    metavar="KINDS",
    default="link,node,risk",
    show_default=True,
    help="Failures to screen: link, node, risk, named (those of FILE), pair (of links).",
)
@click.option(
    "--ecmp",
    is_flag=True,
    help="Route all load, also that of paths, by equal-cost multipath that follows failures.",
)
@click.option(
    "--packets",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="K",
    help="Run the K worst failures in the packet engine, and judge them by `slas`.",
)
@click.option(
    "--runs",
    type=click.IntRange(2, 1000),
    default=3,
    show_default=True,
    help="Packet runs of each failure, with different seeds.",
)
@click.option(
    "--at",
    metavar="TIME",
    help="Time of the failure. Default: after a quarter of the measured time.",
)
@click.option("--out", type=click.Path(), help="Folder of the packet runs, a study.")
@execution_options
@click.option("--picture", type=click.Path(dir_okay=False), help="Map at the worst failure, .svg.")
@click.option("--report", type=click.Path(dir_okay=False), help="Page with map and tables, .html.")
@click.option(
    "--replays",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="New folder with a report and replay of each failure in packets; --report links to it.",
)
@click.option(
    "--mend",
    "mended",
    is_flag=True,
    help="Compute the least added capacity that carries the load after each failure, by a linear "
    "program.",
)
@click.option(
    "--judge", is_flag=True, help="Exit with status 3 if a service level agreement is broken."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def survive(
    source: ScenarioSource,
    kinds: str,
    ecmp: bool,
    packets: int,
    runs: int,
    at: str | None,
    out: str | None,
    execution: ExecutionOptions,
    picture: str | None,
    report: str | None,
    replays: str | None,
    mended: bool,
    judge: bool,
    as_json: bool,
) -> int:
    """Show the load of the network of FILE after each failure, and judge its agreements.

    The screen is at flow level, with the protections of FILE and, with `rerouting`, its routing.
    The times of the failures in FILE are ignored. Failures of several elements count as risk
    groups.
    """
    from trunkline.cli.common import refuse_existing_files
    from trunkline.cli.te_common import load_leniently, write_pages
    from trunkline.planning import survival_page as pages
    from trunkline.planning.capacity_upgrade import find_least_upgrade
    from trunkline.planning.failure_screening import survive as screened
    from trunkline.planning.failures import FAILURE_KINDS

    failure_kinds = [word for word in kinds.split(",") if word]
    if not failure_kinds or set(failure_kinds) - set(FAILURE_KINDS):
        raise click.UsageError(f"--each takes {', '.join(FAILURE_KINDS)}, not {kinds!r}.")
    if ecmp and packets:
        raise click.UsageError("--ecmp is only for the screen: leave out --packets.")
    if judge and not packets:
        raise click.UsageError("--judge needs --packets: agreements are judged in packets.")
    if replays is not None and not packets:
        raise click.UsageError("--replays needs --packets, which chooses the failures to replay.")
    refuse_existing_files((picture, report, replays), execution.overwrite)
    scenario = load_leniently(source)
    if execution.resume and out is None:
        raise click.UsageError("--resume needs --out, the folder of the study to continue.")
    if packets and not scenario.list_sla_bounds():
        raise click.UsageError(f"{source.file} has no `slas` to judge packets by.")
    survival = screened(scenario, kinds=failure_kinds, ecmp=ecmp)
    slas: tuple[SlaOutcome, ...] = ()
    gaps: tuple[ScreenDeviation, ...] = ()
    status = Status.DONE
    if packets:
        trial = _run_worst_failures(scenario, survival.failures[:packets], runs, at, out, execution)
        if isinstance(trial, Status):
            return trial
        slas, gaps = trial
        if judge and any(each.outcome == "refuted" for each in slas):
            status = Status.NOT_HELD
    page_extras = pages.PageExtras(
        find_least_upgrade(scenario, survival) if mended else None,
        _write_replays(scenario, survival.failures[:packets], at, replays, report),
    )
    write_pages(
        (picture, lambda: pages.svg(scenario, survival)),
        (report, lambda: pages.html(scenario, survival, slas, gaps, page_extras)),
    )
    if as_json:
        sla_documents = [each.to_dict() for each in slas]
        gap_documents = [each.to_dict() for each in gaps]
        engines = {"failures": "fluid", "links": "fluid", "slas": "sim"}
        document = {"schema": JSON_SCHEMA, "engines": engines} | survival.to_dict()
        mend_document = None if page_extras.mend is None else asdict(page_extras.mend)
        echo_json(document | {"slas": sla_documents, "gaps": gap_documents, "mend": mend_document})
    else:
        print_survival(survival, slas, gaps, page_extras.mend)
    return status


def _run_worst_failures(
    scenario: Scenario,
    worst: Sequence[FailureImpact],
    runs: int,
    at: str | None,
    out: str | None,
    execution: ExecutionOptions,
) -> tuple[tuple[SlaOutcome, ...], tuple[ScreenDeviation, ...]] | Status:
    """Run the worst failures in packets."""
    from trunkline.planning.packet_trial import judge_slas, measure_deviations, plan_failure_runs
    from trunkline.scenario.units import parse_time

    try:
        begin_ns = None if at is None else parse_time(at)
        plan = plan_failure_runs(scenario, worst, at_ns=begin_ns, runs=runs)
    except ValueError as error:
        raise click.UsageError(f"--at {at}: {error}.") from None
    announce = execution.make_progress(plan).announce_forecast
    check_forecast(
        [plan.points[0].network_json], len(plan), dry_run=False, as_json=False, announce=announce
    )

    def judge_runs(runs: Runs) -> tuple[tuple[SlaOutcome, ...], tuple[ScreenDeviation, ...]]:
        return judge_slas(scenario.list_sla_bounds(), runs), measure_deviations(
            scenario, worst, runs, at_ns=begin_ns
        )

    with convert_study_errors(out):
        return execution.run_plan(plan, out, judge_runs)


def _write_replays(
    scenario: Scenario,
    worst: Sequence[FailureImpact],
    at: str | None,
    folder: str | None,
    page: str | None,
) -> dict[str, str]:
    """Run each failure once more and write a report; return its path relative to the page."""
    if folder is None:
        return {}
    import os
    from pathlib import Path

    from trunkline.engine.packet_engine import Job, simulate_jobs
    from trunkline.planning.packet_trial import plan_failure_runs
    from trunkline.report import write_report
    from trunkline.results import store
    from trunkline.scenario.units import parse_time

    replay_pages = {}
    plan = plan_failure_runs(scenario, worst, at_ns=None if at is None else parse_time(at), runs=1)
    for number, (point, failure) in enumerate(zip(plan.points, worst, strict=True), 1):
        replay_folder = Path(folder) / str(number)
        (run,) = simulate_jobs([Job(point.network_json, 1, scenario.text)])
        store.write_results([run], replay_folder, network_json=point.network_json, overwrite=True)
        start = Path(page).parent if page is not None else Path.cwd()
        replay_pages[failure.failure] = Path(
            os.path.relpath(write_report(replay_folder), start)
        ).as_posix()
    click.echo(f"{len(replay_pages)} replays written to {folder}", err=True)
    return replay_pages


def print_survival(
    survival: Survival,
    slas: Sequence[SlaOutcome],
    gaps: Sequence[ScreenDeviation],
    mended: CapacityUpgrade | None,
) -> None:
    """Print the tables of failures, agreements, differences and added capacity."""
    from trunkline.cli.te_common import print_tables
    from trunkline.planning.text_tables import (
        tabulate_deviations,
        tabulate_failures,
        tabulate_slas,
        tabulate_upgrade,
    )
    from trunkline.results.number_format import format_percent, format_quantity

    sheets = tabulate_failures(survival)
    if slas:
        sheets.append(tabulate_slas(slas))
    if gaps:
        sheets.append(tabulate_deviations(gaps))
    if mended is not None:
        sheets.append(tabulate_upgrade(mended))
    closing_line = f"{format_percent(survival.mlu)} without a failure"
    broken = sum(each.outcome == "refuted" for each in slas)
    if slas:
        closing_line += f"; {broken} of {len(slas)} bounds broken in packets"
    if survival.left_out is not None:
        lost, max_utilisation = (
            format_quantity(survival.left_out.lost_bit_s, "bit/s"),
            format_percent(survival.left_out.mlu),
        )
        closing_line += (
            f"; {survival.left_out.pairs:,} pairs left out: each loses {lost} "
            f"and uses {max_utilisation} of a "
        )
        closing_line += (
            f"link at most, and {survival.left_out.certain:,} of those screened are worse"
        )
    print_tables(sheets, closing_line, survival.scale)
