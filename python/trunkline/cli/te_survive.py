"""``trunkline te survive``: screen every failure, and judge every agreement under each."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import ScenarioSource, echo_json, scenario_options
from trunkline.cli.decompose_options import (
    describe_check,
    get_link_run_parameters,
    link_run_options,
    open_link_runs,
    show_progress,
    tabulate_check,
)
from trunkline.cli.engine_options import placed_means
from trunkline.cli.limits import check_forecast
from trunkline.cli.status import Status
from trunkline.cli.study_command import ExecutionOptions, convert_study_errors, execution_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.decomposition.full_check import FullCheck
    from trunkline.planning.capacity_upgrade import CapacityUpgrade
    from trunkline.planning.failure_screening import FailureImpact, Survival
    from trunkline.planning.sla_judgement import SlaJudge, SlaJudgement
    from trunkline.planning.sla_screening import Levels, SlaScreen
    from trunkline.scenario import Scenario
    from trunkline.study import Runs

JSON_SCHEMA = 2
MAX_UNREPORTED_FAILURES = 20  # Failures that are screened without a display of progress.


@click.command("survive", short_help="Screen all failures; judge each agreement under each.")
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
    "--drained",
    metavar="LINK|each",
    help="Drain a link and take it out of service, and screen every failure during that; each: one "
    "link after the other.",
)
@click.option(
    "--packets",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="K",
    help="Run K failures in packets, those that are worst for the bounds of `slas`. Default with "
    "--judge: all that the judgement needs.",
)
@click.option(
    "--decompose",
    is_flag=True,
    help="Judge delays and losses that the screen leaves open by each link simulated alone, within "
    "their error; run no failure in packets but those of --packets.",
)
@link_run_options
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
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the packet runs, a study; with --drained each a folder of one for each link.",
)
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
    "--judge",
    is_flag=True,
    help="Judge every bound of `slas` under every failure. Exit with status 3 if one is broken, "
    "6 if one is not decided.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def survive(
    source: ScenarioSource,
    kinds: str,
    ecmp: bool,
    drained: str | None,
    packets: int,
    decompose: bool,
    check_s: float | None,
    link_packets: int | None,
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
    from trunkline.cli.te_common import load_leniently, parse_failure_kinds, write_pages
    from trunkline.planning import survival_page as pages
    from trunkline.planning.capacity_upgrade import find_least_upgrade
    from trunkline.planning.failure_screening import survive as screened
    from trunkline.planning.maintenance import screen_planned_outage

    failure_kinds = parse_failure_kinds(kinds, "pair")
    _check_options(
        ecmp=ecmp,
        packets=packets > 0,
        judge=judge,
        decompose=decompose,
        has_link_options=bool(check_s or link_packets),
        replays=replays is not None,
    )
    refuse_existing_files((picture, report, replays), execution.overwrite)
    scenario = load_leniently(source)
    if execution.resume and out is None:
        raise click.UsageError("--resume needs --out, the folder of the study to continue.")
    if (packets or judge) and not scenario.list_sla_bounds():
        raise click.UsageError(f"{source.file} has no `slas` to judge.")
    if drained is not None and (ecmp or "pair" in failure_kinds):
        raise click.UsageError("--drained takes neither --ecmp nor pairs.")
    if drained == "each":
        if picture or report or replays or mended or decompose:
            msg = "--drained each takes no --picture, --report, --replays, --mend or --decompose."
            raise click.UsageError(msg)
        outage_run = _OutageRun(scenario, failure_kinds, packets, runs, at, out, execution)
        return outage_run.screen_each_link(judge=judge, as_json=as_json)
    outage = None
    if drained is not None:
        try:
            outage, scenario = screen_planned_outage(scenario, drained, kinds=failure_kinds)
        except LookupError as error:
            raise click.UsageError(f"--drained: {error}.") from None
    survival = (
        screened(scenario, kinds=failure_kinds, ecmp=ecmp, every_pair=judge)
        if outage is None
        else outage.survival
    )
    judgement: SlaJudgement | None = None
    tried: Sequence[FailureImpact] = ()
    check: FullCheck | None = None
    status = Status.DONE
    if packets or judge:
        with convert_study_errors(out):
            judged = _judge_failures(
                *(scenario, survival, packets, runs, at, out, execution),
                get_link_run_parameters(check_s, link_packets) if decompose else None,
            )
        if isinstance(judged, Status):
            return judged
        judgement, tried, check = judged
        status = _get_status(judgement) if judge else status
    page_extras = pages.PageExtras(
        find_least_upgrade(scenario, survival) if mended else None,
        judgement,
        _write_replays(scenario, tried, at, replays, report),
    )
    write_pages(
        (picture, lambda: pages.svg(scenario, survival)),
        (report, lambda: pages.html(scenario, survival, page_extras)),
    )
    if as_json:
        echo_json(_make_document(survival, judgement, page_extras.mend, check))
    else:
        print_survival(survival, judgement, page_extras.mend, check)
    return status


def _check_options(
    *,
    ecmp: bool,
    packets: bool,
    judge: bool,
    decompose: bool,
    has_link_options: bool,
    replays: bool,
) -> None:
    """Refuse options that exclude or need each other; each argument: whether it is given."""
    if ecmp and packets:
        raise click.UsageError("--ecmp is only for the screen: leave out --packets.")
    if ecmp and judge:
        raise click.UsageError("--ecmp is only for the screen of loads: leave out --judge.")
    if decompose and not (packets or judge):
        raise click.UsageError("--decompose needs --judge or --packets: agreements to judge.")
    if has_link_options and not decompose:
        raise click.UsageError("--check and --link-packets are for --decompose.")
    if replays and not (packets or judge):
        msg = "--replays needs --packets or --judge, which choose the failures to replay."
        raise click.UsageError(msg)


def _make_document(
    survival: Survival,
    judgement: SlaJudgement | None,
    mend: CapacityUpgrade | None,
    check: FullCheck | None,
) -> dict[str, Any]:
    """Make the JSON object of all that the command found."""
    slas = () if judgement is None else judgement.outcomes
    gaps = () if judgement is None else judgement.deviations
    document = {"schema": JSON_SCHEMA, "engines": {"failures": "fluid", "links": "fluid"}}
    return (
        document
        | survival.to_dict()
        | {
            "slas": [each.to_dict() for each in slas],
            "gaps": [each.to_dict() for each in gaps],
            "judgement": None if judgement is None else judgement.to_dict(),
            "mend": None if mend is None else asdict(mend),
            "check": None if check is None else check.to_json(),
        }
    )


def _get_status(judgement: SlaJudgement) -> Status:
    """Return the exit status of a judgement."""
    if judgement.broken:
        return Status.NOT_HELD
    return Status.UNDECIDED if judgement.unjudged else Status.DONE


@dataclass(frozen=True)
class _OutageRun:
    """Every planned outage with every failure during it."""

    scenario: Scenario
    kinds: Sequence[str]
    packets: int
    runs: int
    at: str | None
    out: str | None  # Folder with one for each link.
    execution: ExecutionOptions

    def screen_each_link(self, *, judge: bool, as_json: bool) -> int:
        """Screen, judge and print all outages."""
        from trunkline.cli.te_common import print_tables
        from trunkline.planning.maintenance import screen_planned_outage
        from trunkline.planning.sla_judgement import join_judgements
        from trunkline.planning.text_tables import (
            describe_judgement,
            tabulate_outages,
            tabulate_slas,
        )
        from trunkline.study.run.progress import create_progress

        links = list(dict.fromkeys(arc.link for arc in self.scenario.resolve().arcs))
        progress = create_progress(self.execution.progress, "drained links", thread_count=1)
        progress.begin(len(links), 0)
        outages, judgements = [], []
        for link in links:
            outage, drained = screen_planned_outage(self.scenario, link, kinds=self.kinds)
            outages.append(outage)
            if judge or self.packets:
                folder = None if self.out is None else os.path.join(self.out, link)
                if self.out is not None:
                    os.makedirs(self.out, exist_ok=True)
                with convert_study_errors(folder):
                    judged = _judge_failures(
                        *(drained, outage.survival, self.packets, self.runs, self.at),
                        *(folder, self.execution),
                    )
                if isinstance(judged, Status):
                    return judged
                judgements.append(judged[0])
            progress.count_ended(0)
            progress.report_if_due()
        progress.end()
        outages.sort(key=lambda each: each.survival.failures[0].severity, reverse=True)
        judgement = join_judgements(judgements) if judgements else None
        if as_json:
            document = {
                "schema": JSON_SCHEMA,
                "drained": [each.to_dict() for each in outages],
                "slas": [each.to_dict() for each in judgement.outcomes] if judgement else [],
                "judgement": None if judgement is None else judgement.to_dict(),
            }
            echo_json(document)
        else:
            sheets = tabulate_outages(outages)
            closing_line = f"{len(outages)} planned outages, each with every failure during it"
            cutting = sum(bool(each.cut_off) for each in outages)
            if cutting:
                closing_line += f"; {cutting} of them cut the network"
            if judgement is not None:
                sheets += tabulate_slas(judgement.outcomes)
                closing_line += f"\n{describe_judgement(judgement)}"
            print_tables(sheets, closing_line, self.scenario.scale)
        return _get_status(judgement) if judge and judgement is not None else Status.DONE


def _judge_failures(
    scenario: Scenario,
    survival: Survival,
    packets: int,
    runs: int,
    at: str | None,
    out: str | None,
    execution: ExecutionOptions,
    link_parameters: dict[str, Any] | None = None,
) -> tuple[SlaJudgement, list[FailureImpact], FullCheck | None] | Status:
    """Judge every agreement.

    link_parameters: With ``--decompose``, the parameters of the link runs.
    Returns: Also the failures that ran in packets, and the error of links simulated alone.
    """
    from trunkline.decomposition.link_traffic import check_decomposable
    from trunkline.planning.packet_trial import (
        compile_without_failures,
        find_failure_time,
        plan_failure_runs,
    )
    from trunkline.planning.sla_judgement import SlaJudge
    from trunkline.scenario.units import parse_time

    try:
        begin_ns = find_failure_time(scenario, None if at is None else parse_time(at))
    except ValueError as error:
        raise click.UsageError(f"--at {at}: {error}.") from None
    if link_parameters is not None:
        with placed_means(scenario, engine="decompose"):
            check_decomposable(compile_without_failures(scenario))
    screen = _screen_slas(scenario, survival, begin_ns, runs, out, execution)
    if isinstance(screen, Status):
        return screen
    check = None
    if link_parameters is not None:
        screen, check = _screen_by_links(
            scenario, screen, survival, begin_ns, out, execution, link_parameters
        )
    judge = SlaJudge(scenario, survival, screen, begin_ns=begin_ns)
    tried: list[FailureImpact] = []
    if check is not None and not packets:
        return judge.conclude(), tried, check
    round_number = 1
    while chosen := judge.choose_failures(packets or None):
        plan = plan_failure_runs(scenario, chosen, at_ns=begin_ns, runs=runs)
        announce = execution.make_progress(plan.name).announce_forecast
        check_forecast(
            [plan.points[0].network_json],
            len(plan),
            dry_run=False,
            as_json=False,
            announce=announce,
        )
        folder = out if out is None or round_number == 1 else f"{out}-{round_number}"

        def add_runs(results: Runs, chosen: Sequence[FailureImpact] = chosen) -> SlaJudge:
            judge.add_runs(chosen, results)
            return judge

        done = execution.run_plan(plan, folder, add_runs)
        if isinstance(done, Status):
            return done
        tried += chosen
        round_number += 1
    return judge.conclude(), tried, check


def _screen_by_links(
    scenario: Scenario,
    screen: SlaScreen,
    survival: Survival,
    begin_ns: int,
    out: str | None,
    execution: ExecutionOptions,
    link_parameters: dict[str, Any],
) -> tuple[SlaScreen, FullCheck]:
    """Narrow the limits of delays by links simulated alone, and measure their error."""
    from trunkline.planning.link_screening import screen_by_links

    with placed_means(scenario, engine="decompose"), open_link_runs(execution, out) as execute:
        narrowed = screen_by_links(
            scenario,
            screen,
            survival.failures,
            begin_ns=begin_ns,
            threads=execution.threads,
            execute=execute,
            on_failure=show_progress(execution, "failures routed"),
            on_link=show_progress(execution, "links run"),
            **link_parameters,
        )
    return narrowed.screen, narrowed.check


def _screen_slas(
    scenario: Scenario,
    survival: Survival,
    begin_ns: int,
    runs: int,
    out: str | None,
    execution: ExecutionOptions,
) -> SlaScreen | Status:
    """Screen the agreements, with progress; with `out` into a journal that can be resumed."""
    from pathlib import Path

    from trunkline.planning.screen_execution import screen_slas
    from trunkline.planning.screen_journal import JOURNAL_SUFFIX, ScreenJournal

    journal = None
    if out is not None:
        journal = ScreenJournal(
            Path(out + JOURNAL_SUFFIX),
            scenario,
            resume=execution.resume,
            parameters={"begin_ns": begin_ns, "runs": runs},
        )
    known = {} if journal is None else journal.get_levels()
    progress = execution.make_progress("screen")
    # A screen that takes no longer than this is not worth a line.
    is_long = len(survival.failures) > MAX_UNREPORTED_FAILURES
    if is_long:
        progress.begin(len(survival.failures), len(known))

    def count_screened(failure: str, levels: Levels) -> None:
        if journal is not None:
            journal.add_levels(failure, levels)
        progress.count_ended(0)
        if is_long:
            progress.report_if_due()

    try:
        return screen_slas(
            scenario,
            survival.failures,
            begin_ns=begin_ns,
            runs=runs,
            known=known,
            on_level=count_screened,
            options=execution.make_run_options(),
        )
    except KeyboardInterrupt:
        done = f"screened {len(known) + progress.done} of {len(survival.failures)} failures"
        hint = f"; resume with --resume --out {out}" if out else "; nothing was kept"
        click.echo(f"interrupted: {done}{hint}", err=True)
        return Status.INTERRUPTED
    finally:
        if is_long:
            progress.end()
        if journal is not None:
            journal.close()


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
    judgement: SlaJudgement | None,
    mended: CapacityUpgrade | None,
    check: FullCheck | None = None,
) -> None:
    """Print the tables of failures, agreements, differences, added capacity and link errors."""
    from trunkline.cli.te_common import print_tables
    from trunkline.planning.text_tables import (
        describe_judgement,
        tabulate_deviations,
        tabulate_failures,
        tabulate_slas,
        tabulate_upgrade,
    )
    from trunkline.results.number_format import format_percent, format_quantity

    sheets = tabulate_failures(survival)
    if judgement is not None:
        sheets += tabulate_slas(judgement.outcomes)
        if judgement.deviations:
            sheets.append(tabulate_deviations(judgement.deviations))
    if mended is not None:
        sheets.append(tabulate_upgrade(mended))
    if check is not None:
        sheets.append(tabulate_check(check))
    closing_line = f"{format_percent(survival.mlu)} without a failure"
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
    if judgement is not None:
        closing_line += f"\n{describe_judgement(judgement)}"
    if check is not None:
        closing_line += f"\n{describe_check(check)}"
    print_tables(sheets, closing_line, survival.scale)
