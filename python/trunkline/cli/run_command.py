"""``trunkline run``: run a scenario and show its results."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from trunkline.cli.capture_options import CaptureOptions, capture_options
from trunkline.cli.common import ScenarioSource, echo_json, load_scenario, scenario_options
from trunkline.cli.decompose_options import describe_check, tabulate_check
from trunkline.cli.limits import dry_run_option, limit_options
from trunkline.cli.option_groups import gather_options
from trunkline.cli.replication import (
    add_warm_up_override,
    find_warm_up,
    format_precision,
    format_warm_up,
    parse_metrics,
)
from trunkline.cli.report_command import report_option, write_report
from trunkline.cli.run_output import (
    OutputSettings,
    check_output_folder,
    make_document,
    print_results,
)
from trunkline.cli.run_settings import RunSettings, run_settings
from trunkline.cli.status import Status
from trunkline.cli.te_common import print_tables

if TYPE_CHECKING:
    from pathlib import Path

    from trunkline.cli.run_settings import RunOutcome
    from trunkline.network import Network
    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Level
    from trunkline.study.outcome.steady_state import WarmUp

output_settings = gather_options(
    "output",
    OutputSettings,
    click.option(
        "--out",
        type=click.Path(file_okay=False),
        help="Write Parquet tables, run.json and report.html into this new folder.",
    ),
    report_option,
    click.option("--overwrite", is_flag=True, help="Replace earlier results in --out."),
    click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object instead of tables."
    ),
    click.option("--all", "show_all", is_flag=True, help="Show all tables with all their rows."),
    click.option(
        "--judge", is_flag=True, help="Exit with status 3 if a service level agreement is broken."
    ),
)


@click.command("run", short_help="Run a scenario and show the results.")
@scenario_options
@run_settings
@output_settings
@dry_run_option
@limit_options
@capture_options
def command(
    source: ScenarioSource,
    settings: RunSettings,
    output: OutputSettings,
    dry_run: bool,
    capture: CaptureOptions,
) -> None:
    """Run the scenario in FILE (- is standard input)."""
    settings.check_combinations(judge=output.judge, dry_run=dry_run, pcap=capture.pcap is not None)
    capture.check_combination(runs=settings.max_run_count)
    if settings.until_ci is not None:
        parse_metrics(settings.metrics)
    scenario = load_scenario(
        source.file,
        add_warm_up_override(capture.add_trace_override(source.overrides), settings.warm_up),
        source.strict,
    )
    if output.judge and not scenario.slas:
        raise click.UsageError("--judge: the scenario has no slas to judge by.")
    if output.out is not None:
        check_output_folder(output.out, overwrite=output.overwrite)
    first_seed = settings.find_first_seed(scenario)
    scenario, pilot = find_warm_up(scenario, settings.warm_up, first_seed, settings.threads)
    if pilot is not None:
        click.echo(format_warm_up(pilot), err=True)
    network = settings.compile_network(scenario, first_seed)
    capture.check_places(network)
    settings.check_size(network, first_seed, dry_run=dry_run, as_json=output.as_json)
    outcome = settings.perform(network, scenario, first_seed, output.out)
    results = outcome.results
    if len(results) > 1 and len({result.hash() for result in results}) == 1:
        click.echo(
            f"all {len(results)} runs are equal: nothing in this scenario is random", err=True
        )
    folder = None
    if output.out is not None:
        folder = _write_results(results, network, scenario, output.out, output.overwrite)
    if scenario.scale != 1:
        from trunkline.cli.te_common import describe_scaling

        click.echo(describe_scaling(scenario.scale), err=True)
    capture.write_file(results[0], network)
    # A service level agreement covers all flows of a class.
    levels = _judge_levels(scenario, results) if settings.has_packets_of_all_flows else []
    _show_outcome(outcome, levels, settings, output, scenario.scale, pilot)
    if folder is not None and output.report:
        write_report(folder)
    if output.judge and not all(level.met for level in levels):
        click.get_current_context().exit(Status.NOT_HELD)


def _write_results(
    results: list[Results], network: Network, scenario: Scenario, out: str, overwrite: bool
) -> Path:
    """Write the results into their folder, and return it."""
    from trunkline.planning import dump_plan_json
    from trunkline.results import store

    folder = store.write_results(
        results,
        out,
        network_json=network.to_json(),
        plan_json=dump_plan_json(scenario),
        overwrite=overwrite,
    )
    click.echo(f"results written to {folder}", err=True)
    return folder


def _show_outcome(
    outcome: RunOutcome,
    levels: list[Level],
    settings: RunSettings,
    output: OutputSettings,
    scale: float,
    pilot: WarmUp | None,
) -> None:
    """Print the outcome as tables or as JSON."""
    results, decomposed = outcome.results, outcome.decomposed
    interval, offered_means = settings.interval, outcome.offered_means
    if output.as_json:
        document = make_document(results, interval=interval, offered_means=offered_means)
        document["slas"] = [level.to_json() for level in levels]
        if scale != 1:
            document["scale"] = scale
        if outcome.precision is not None:
            document["precision"] = {"wanted": settings.until_ci, **asdict(outcome.precision)}
        if decomposed is not None:
            document["decomposition"] = decomposed.to_json()
        if pilot is not None:
            document["warm_up"] = asdict(pilot)
        if outcome.courses is not None:
            document["batches"] = [asdict(course) for course in outcome.courses]
        echo_json(document)
    else:
        print_results(
            results,
            levels=levels,
            interval=interval,
            offered_means=offered_means,
            courses=outcome.courses,
            show_all=output.show_all,
        )
        if decomposed is not None:
            print_tables([tabulate_check(decomposed.check)], describe_check(decomposed.check), 1.0)
    if outcome.precision is not None and settings.until_ci is not None:
        click.echo(format_precision(outcome.precision, settings.until_ci), err=True)


def _judge_levels(scenario: Scenario, results: list[Results]) -> list[Level]:
    """Judge the service level agreements of the scenario, if it has any."""
    if not scenario.slas:
        return []
    from trunkline.stats import judge_bounds

    return judge_bounds(scenario.list_sla_bounds(), results)
