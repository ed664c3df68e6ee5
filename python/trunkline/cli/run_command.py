"""``trunkline run``: run a scenario and show its results."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from trunkline.cli.capture_options import CaptureOptions, capture_options
from trunkline.cli.common import (
    SEED_TYPE,
    ScenarioSource,
    convert_engine_errors,
    echo_json,
    load_scenario,
    scenario_options,
)
from trunkline.cli.decompose_options import (
    describe_check,
    get_link_run_parameters,
    link_run_options,
    run_decomposed,
    tabulate_check,
)
from trunkline.cli.engine_options import (
    check_control_option,
    check_engine_options,
    control_option,
    engine_options,
    placed_means,
    run_fluid_engine,
    run_linux_engine,
)
from trunkline.cli.limits import check_forecast, dry_run_option, limit_options
from trunkline.cli.replication import (
    MAX_RUNS_OPTION,
    add_warm_up_override,
    find_warm_up,
    format_precision,
    format_warm_up,
    parse_metrics,
    precision_options,
    replicate_until,
    warm_up_option,
)
from trunkline.cli.report_command import report_option, write_report
from trunkline.cli.run_output import check_output_folder, make_document, print_results
from trunkline.cli.status import Status
from trunkline.cli.te_common import print_tables

if TYPE_CHECKING:
    from trunkline.network import Network
    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Level
    from trunkline.study.outcome.steady_state import FlowBatchMeans


@click.command("run", short_help="Run a scenario and show the results.")
@scenario_options
@click.option(
    "--seed",
    type=SEED_TYPE,
    help="Seed of the first run, 0 to 2^64 - 1. Default: the seed of the scenario, which is 1 "
    "unless set.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, MAX_RUNS_OPTION),
    default=1,
    show_default=True,
    help="Replications, with seeds SEED, SEED + 1, ...",
)
@engine_options
@control_option
@click.option(
    "--focus",
    "focused",
    multiple=True,
    metavar="NAME",
    help="Simulate packets only for the flows on this direction of a link (A->B), path or trunk, "
    "or hit by this failure; all other flows become background. Repeatable.",
)
@click.option(
    "--decompose",
    is_flag=True,
    help="Simulate each link alone with the packets that reach it, and put paths together: for "
    "networks at their real rates. Prints its error.",
)
@link_run_options
@precision_options
@click.option(
    "--interval",
    type=click.Choice(["t", "bca", "controlled"]),
    default="t",
    show_default=True,
    help="Intervals by Student's t distribution, by the BCa bootstrap for skewed values, or by "
    "control variates: narrower where random sources offer more in some runs than in others.",
)
@click.option(
    "--batches",
    is_flag=True,
    help="Show intervals of goodput, throughput and delay within one run, by batch means.",
)
@warm_up_option
@click.option(
    "--threads",
    type=click.IntRange(1, 4096),
    help="Runs at a time, or threads of one large run; default: all cores.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Write Parquet tables, run.json and report.html into this new folder.",
)
@report_option
@click.option("--overwrite", is_flag=True, help="Replace earlier results in --out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--all", "show_all", is_flag=True, help="Show all tables with all their rows.")
@click.option(
    "--judge", is_flag=True, help="Exit with status 3 if a service level agreement is broken."
)
@dry_run_option
@limit_options
@capture_options
def command(
    source: ScenarioSource,
    seed: int | None,
    runs: int,
    engine: str,
    runner: str | None,
    control: str | None,
    focused: tuple[str, ...],
    decompose: bool,
    check_s: float | None,
    link_packets: int | None,
    until_ci: float | None,
    max_runs: int,
    metrics: tuple[str, ...],
    interval: str,
    batches: bool,
    warm_up: str | None,
    threads: int | None,
    out: str | None,
    report: bool,
    overwrite: bool,
    as_json: bool,
    show_all: bool,
    judge: bool,
    dry_run: bool,
    capture: CaptureOptions,
) -> None:
    """Run the scenario in FILE (- is standard input)."""
    check_control_option(control, engine, runner)
    check_engine_options(
        engine, runner, pcap=capture.pcap is not None, batches=batches, warm_up=warm_up is not None
    )
    if decompose:
        _check_decompose_options(
            engine,
            runs=runs > 1 or until_ci is not None,
            focus=bool(focused),
            batches=batches,
            warm_up=warm_up is not None,
            judge=judge,
            dry_run=dry_run,
            pcap=capture.pcap is not None,
        )
        engine = "decomposed"
    elif check_s is not None or link_packets is not None:
        raise click.UsageError("--check and --link-packets are for --decompose.")
    capture.check_combination(runs=max_runs if until_ci else runs)
    is_replicated = runs > 1 or until_ci is not None
    if runs > 1 and until_ci is not None:
        raise click.UsageError("--runs and --until-ci exclude each other: give one.")
    if engine == "fluid" and is_replicated:
        raise click.UsageError("--engine fluid has no random values: more runs give the same.")
    if judge and (engine == "fluid" or focused):
        raise click.UsageError("--judge: service levels are judged by the packets of all flows.")
    if batches and is_replicated:
        raise click.UsageError("--batches is for one run; several runs already have intervals.")
    if metrics and until_ci is None:
        raise click.UsageError("--metric is for --until-ci; without it, all metrics are shown.")
    parsed_metrics = parse_metrics(metrics) if until_ci is not None else []
    scenario = load_scenario(
        source.file,
        add_warm_up_override(capture.add_trace_override(source.overrides), warm_up),
        source.strict,
    )
    if judge and not scenario.slas:
        raise click.UsageError("--judge: the scenario has no slas to judge by.")
    if out is not None:
        check_output_folder(out, overwrite=overwrite)

    from trunkline.engine import simulate
    from trunkline.fluid.offered_means import read_offered_means
    from trunkline.network import compile

    first_seed = scenario.run.seed if seed is None else seed
    max_run_count = max_runs if until_ci is not None else runs
    if first_seed + max_run_count > 2**64:
        raise click.UsageError(
            f"--seed {first_seed} with {max_run_count} runs goes beyond 2^64 - 1."
        )
    scenario, pilot = find_warm_up(scenario, warm_up, first_seed, threads)
    if pilot is not None:
        click.echo(format_warm_up(pilot), err=True)
    network = compile(scenario, seed=first_seed)
    if focused:
        from trunkline.fluid.focus import expand_trunk_names

        with placed_means(scenario):
            network = _focus_network(
                network, expand_trunk_names(scenario, focused), engine, first_seed
            )
    capture.check_places(network)
    if engine == "sim":
        min_run_count = 1 if until_ci else runs
        check_forecast(
            [network],
            min_run_count,
            dry_run=dry_run,
            as_json=as_json,
            announce=lambda estimate: click.echo(f"forecast: {estimate}", err=True),
            seed=first_seed,
        )
    elif dry_run:
        raise click.UsageError("--dry-run is only for the packet simulator.")

    offered_means = read_offered_means(network.data) if interval == "controlled" else {}
    if interval == "controlled" and not offered_means:
        raise click.UsageError(
            "--interval controlled needs a source whose mean count is known: Poisson arrivals, "
            "exponential gaps or on-off, of datagrams or of transfers. This scenario has none."
        )

    def run(seeds: list[int]) -> list[Results]:
        with convert_engine_errors():
            if engine == "linux":
                return run_linux_engine(network, seeds, runner, scenario, control)
            if engine == "fluid":
                return run_fluid_engine(network, seeds, scenario)
            return simulate(network, seeds=seeds, threads=threads, scenario=scenario.text)

    precision, courses, decomposed = None, None, None
    if decompose:
        decomposed = run_decomposed(
            network, scenario, first_seed, threads, get_link_run_parameters(check_s, link_packets)
        )
        results = [decomposed.results]
    elif until_ci is not None:
        results, precision = replicate_until(
            run,
            range(first_seed, first_seed + max_run_count),
            parsed_metrics,
            until_ci,
            offered_means if interval == "controlled" else None,
        )
    elif batches:
        results, courses = _run_with_batches(network, first_seed, threads, scenario.text)
    else:
        results = run(list(range(first_seed, first_seed + runs)))
    if len(results) > 1 and len({result.hash() for result in results}) == 1:
        click.echo(
            f"all {len(results)} runs are equal: nothing in this scenario is random", err=True
        )
    if out is not None:
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
    if scenario.scale != 1:
        from trunkline.cli.te_common import describe_scaling

        click.echo(describe_scaling(scenario.scale), err=True)
    capture.write_file(results[0], network)
    # A service level agreement covers all flows of a class.
    levels = (
        _judge_levels(scenario, results)
        if engine not in ("fluid", "decomposed") and not focused
        else []
    )
    if as_json:
        document = make_document(results, interval=interval, offered_means=offered_means)
        document["slas"] = [level.to_json() for level in levels]
        if scenario.scale != 1:
            document["scale"] = scenario.scale
        if precision is not None:
            document["precision"] = {"wanted": until_ci, **asdict(precision)}
        if decomposed is not None:
            document["decomposition"] = decomposed.to_json()
        if pilot is not None:
            document["warm_up"] = asdict(pilot)
        if courses is not None:
            document["batches"] = [asdict(course) for course in courses]
        echo_json(document)
    else:
        print_results(
            results,
            levels=levels,
            interval=interval,
            offered_means=offered_means,
            courses=courses,
            show_all=show_all,
        )
        if decomposed is not None:
            print_tables([tabulate_check(decomposed.check)], describe_check(decomposed.check), 1.0)
    if precision is not None and until_ci is not None:
        click.echo(format_precision(precision, until_ci), err=True)
    if out is not None and report:
        write_report(folder)
    if judge and not all(level.met for level in levels):
        click.get_current_context().exit(Status.NOT_HELD)


def _check_decompose_options(engine: str, **given: bool) -> None:
    """Refuse options that need all packets of one run, or several runs."""
    if engine != "sim":
        raise click.UsageError(f"--decompose is for the simulator, not for --engine {engine}.")
    for name, is_given in given.items():
        if is_given:
            raise click.UsageError(
                f"--{name.replace('_', '-')} and --decompose exclude each other."
            )


def _focus_network(network: Network, focused: tuple[str, ...], engine: str, seed: int) -> Network:
    """Keep the packets of some flows, and turn all other flows into background."""
    from trunkline.fluid.focus import BACKGROUND, focus_network
    from trunkline.fluid.unsupported import FluidUnsupportedError
    from trunkline.network import Network as Compiled

    if engine != "sim":
        raise click.UsageError(f"--focus is for the simulator, not for --engine {engine}.")
    try:
        focused_network = Compiled(focus_network(network.data, focused, seed).network)  # type: ignore[arg-type]
    except FluidUnsupportedError:
        raise
    except ValueError as error:
        raise click.UsageError(f"--focus: {error}.") from None
    background_count = sum(flow["name"].startswith(BACKGROUND) for flow in focused_network.flows)
    packet_flow_count = len(focused_network.flows) - background_count
    click.echo(
        f"focus: {packet_flow_count} of {len(network.flows)} flows as packets; "
        f"{background_count} background sources replace "
        "the others (verify --engine fluid --focus measures the error)",
        err=True,
    )
    return focused_network


def _judge_levels(scenario: Scenario, results: list[Results]) -> list[Level]:
    """Judge the service level agreements of the scenario, if it has any."""
    if not scenario.slas:
        return []
    from trunkline.stats import judge_bounds

    return judge_bounds(scenario.list_sla_bounds(), results)


def _run_with_batches(
    network: Network, seed: int, threads: int | None, text: str
) -> tuple[list[Results], list[FlowBatchMeans]]:
    """Run once plainly and once with the probes for batch means; probes change no result."""
    from trunkline.engine.packet_engine import Job, simulate_jobs
    from trunkline.study.outcome.steady_state import add_batch_probes, compute_batch_means

    with convert_engine_errors():
        jobs = [
            Job(network.to_json(), seed, text, network.data),
            Job(add_batch_probes(network), seed, text),
        ]
        plain, probed = simulate_jobs(jobs, threads=threads)
        return [plain], compute_batch_means(network, probed)
