"""``trunkline te survive``: every failure screened, the worst in packets, judged by agreements."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from trunkline.cli.common import Source, echo_json, scenario_options
from trunkline.cli.limits import look_ahead
from trunkline.cli.status import Status
from trunkline.cli.study_command import Execution, execution_options, study_faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.planning.mend import Mend
    from trunkline.planning.survive import Failed, Survival
    from trunkline.planning.trial import Gap, Kept
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
    help="All load by equal-cost multipath routing that follows failures, paths or none.",
)
@click.option(
    "--packets",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="K",
    help="Run the K worst failures in the packet engine, and judge them by `slas`.",
)
@click.option(
    "--runs", type=click.IntRange(2, 1000), default=3, show_default=True, help="Seeds of each."
)
@click.option("--at", metavar="TIME", help="When; default: a quarter into the measured time.")
@click.option("--out", type=click.Path(), help="Folder of the packet runs, a study.")
@execution_options
@click.option("--picture", type=click.Path(dir_okay=False), help="Map at the worst failure, .svg.")
@click.option("--report", type=click.Path(dir_okay=False), help="Page with map and tables, .html.")
@click.option(
    "--replays",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="New folder: a report with replay of each failure in packets, which --report links to.",
)
@click.option("--mend", "mended", is_flag=True, help="The least capacity that mends, by an LP.")
@click.option("--judge", is_flag=True, help="End with 3 if an agreement is broken.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def survive(
    source: Source,
    kinds: str,
    ecmp: bool,
    packets: int,
    runs: int,
    at: str | None,
    out: str | None,
    execution: Execution,
    picture: str | None,
    report: str | None,
    replays: str | None,
    mended: bool,
    judge: bool,
    as_json: bool,
) -> int:
    """Show what the network of FILE carries after each failure, and whether agreements are kept.

    Screening is at flow level, with the protections of FILE and, with `rerouting`, its routing. The
    failures of FILE do not happen at their times; those of several elements are screened as risks.
    """
    from trunkline.cli.common import free
    from trunkline.cli.te_common import drawn, leniently
    from trunkline.planning import survived_page as pages
    from trunkline.planning.failures import KINDS
    from trunkline.planning.mend import mend
    from trunkline.planning.survive import survive as screened

    wanted = [word for word in kinds.split(",") if word]
    if not wanted or set(wanted) - set(KINDS):
        raise click.UsageError(f"--each has {', '.join(KINDS)}, not {kinds!r}.")
    if ecmp and packets:
        raise click.UsageError("--ecmp is no routing of the packet engine: no --packets with it.")
    if judge and not packets:
        raise click.UsageError("--judge needs --packets: agreements are judged in packets.")
    if replays is not None and not packets:
        raise click.UsageError("--replays needs --packets: they replay what ran in packets.")
    free((picture, report, replays), execution.overwrite)
    scenario = leniently(source)
    if execution.resume and out is None:
        raise click.UsageError("--resume needs --out: the folder to go on with.")
    if packets and not scenario.bounds():
        raise click.UsageError(f"{source.file} has no `slas` to judge packets by.")
    found = screened(scenario, kinds=wanted, ecmp=ecmp)
    slas: tuple[Kept, ...] = ()
    gaps: tuple[Gap, ...] = ()
    status = Status.DONE
    if packets:
        tried = _tried(scenario, found.failures[:packets], runs, at, out, execution)
        if isinstance(tried, Status):
            return tried
        slas, gaps = tried
        if judge and any(each.outcome == "refuted" for each in slas):
            status = Status.NOT_HELD
    more = pages.More(
        mend(scenario, found) if mended else None,
        _replays(scenario, found.failures[:packets], at, replays, report),
    )
    drawn(
        (picture, lambda: pages.svg(scenario, found)),
        (report, lambda: pages.html(scenario, found, slas, gaps, more)),
    )
    if as_json:
        told = [each.to_dict() for each in slas]
        beside = [each.to_dict() for each in gaps]
        engines = {"failures": "fluid", "links": "fluid", "slas": "sim"}
        about = {"schema": JSON_SCHEMA, "engines": engines} | found.to_dict()
        least = None if more.mend is None else asdict(more.mend)
        echo_json(about | {"slas": told, "gaps": beside, "mend": least})
    else:
        show(found, slas, gaps, more.mend)
    return status


def _tried(
    scenario: Scenario,
    worst: Sequence[Failed],
    runs: int,
    at: str | None,
    out: str | None,
    execution: Execution,
) -> tuple[tuple[Kept, ...], tuple[Gap, ...]] | Status:
    """Run the worst failures in packets."""
    from trunkline.planning.trial import gaps, kept, plan_of
    from trunkline.scenario.units import parse_time

    try:
        begins = None if at is None else parse_time(at)
        plan = plan_of(scenario, worst, at=begins, runs=runs)
    except ValueError as error:
        raise click.UsageError(f"--at {at}: {error}.") from None
    say = execution.watch(plan).foresee
    look_ahead([plan.points[0].network_json], len(plan), dry_run=False, as_json=False, say=say)

    def judged(runs: Runs) -> tuple[tuple[Kept, ...], tuple[Gap, ...]]:
        return kept(scenario.bounds(), runs), gaps(scenario, worst, runs, at=begins)

    with study_faults(out):
        return execution.perform(plan, out, judged)


def _replays(
    scenario: Scenario,
    worst: Sequence[Failed],
    at: str | None,
    folder: str | None,
    page: str | None,
) -> dict[str, str]:
    """Run each failure once more and write it as a report; where each is, seen from the page."""
    if folder is None:
        return {}
    import os
    from pathlib import Path

    from trunkline.engine.sim import Job, simulate_all
    from trunkline.planning.trial import plan_of
    from trunkline.report import write
    from trunkline.results import store
    from trunkline.scenario.units import parse_time

    found = {}
    plan = plan_of(scenario, worst, at=None if at is None else parse_time(at), runs=1)
    for number, (point, each) in enumerate(zip(plan.points, worst, strict=True), 1):
        its = Path(folder) / str(number)
        (run,) = simulate_all([Job(point.network_json, 1, scenario.text)])
        store.write([run], its, network_json=point.network_json, overwrite=True)
        start = Path(page).parent if page is not None else Path.cwd()
        found[each.failure] = Path(os.path.relpath(write(its), start)).as_posix()
    click.echo(f"{len(found)} replays written to {folder}", err=True)
    return found


def show(found: Survival, slas: Sequence[Kept], gaps: Sequence[Gap], mended: Mend | None) -> None:
    """Print what failures do for people."""
    from trunkline.cli.te_common import print_sheets
    from trunkline.planning.sheets import of_failures, of_gaps, of_levels, of_mend
    from trunkline.results.numbers import percent, quantity

    sheets = of_failures(found)
    if slas:
        sheets.append(of_levels(slas))
    if gaps:
        sheets.append(of_gaps(gaps))
    if mended is not None:
        sheets.append(of_mend(mended))
    last = f"{percent(found.mlu)} without a failure"
    broken = sum(each.outcome == "refuted" for each in slas)
    if slas:
        last += f"; {broken} of {len(slas)} bounds broken in packets"
    if found.left_out is not None:
        lost, most = quantity(found.left_out.lost_bit_s, "bit/s"), percent(found.left_out.mlu)
        last += (
            f"; {found.left_out.pairs:,} pairs left out: each loses {lost} and uses {most} of a "
        )
        last += f"link at most, and {found.left_out.certain:,} of those screened are worse"
    print_sheets(sheets, last, found.scale)
