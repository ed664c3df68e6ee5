"""``trunkline run``: run a scenario and show its results."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from trunkline.cli.capture import Capture, capture_options
from trunkline.cli.common import (
    SEED,
    Source,
    echo_json,
    engine_faults,
    load_scenario,
    scenario_options,
)
from trunkline.cli.engine_option import (
    check_control,
    check_engine,
    control_option,
    engine_options,
    placed_means,
    run_fluid,
    run_linux,
)
from trunkline.cli.limits import dry_run_option, limit_options, look_ahead
from trunkline.cli.replication import (
    MOST_RUNS,
    chosen,
    precision_options,
    replicate_until,
    say_precision,
    say_warm_up,
    warm_up_option,
    warm_up_overrides,
    with_warm_up,
)
from trunkline.cli.report_command import report_option, write_report
from trunkline.cli.run_output import check_folder, show, to_json
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.network import Network
    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Level
    from trunkline.study.outcome.pilot import Course


@click.command("run", short_help="Run a scenario and show the results.")
@scenario_options
@click.option(
    "--seed",
    type=SEED,
    help="Seed of the first run, 0 to 2^64 - 1; the scenario's own (default 1) if not given.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
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
    help="One-way link A->B, path, trunk or failure, repeatable: packets of the flows over it, on "
    "it or met by it alone, all others as background.",
)
@precision_options
@click.option(
    "--interval",
    type=click.Choice(["t", "bca"]),
    default="t",
    show_default=True,
    help="Intervals by Student's distribution, or by the BCa bootstrap for skewed values.",
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
@click.option("--all", "whole", is_flag=True, help="Show all tables with all their rows.")
@click.option(
    "--judge", is_flag=True, help="Exit with status 3 if a service level agreement is broken."
)
@dry_run_option
@limit_options
@capture_options
def command(
    source: Source,
    seed: int | None,
    runs: int,
    engine: str,
    runner: str | None,
    control: str | None,
    focused: tuple[str, ...],
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
    whole: bool,
    judge: bool,
    dry_run: bool,
    capture: Capture,
) -> None:
    """Run the scenario in FILE (- is standard input)."""
    check_control(control, engine, runner)
    check_engine(
        engine, runner, pcap=capture.pcap is not None, batches=batches, warm_up=warm_up is not None
    )
    capture.possible(runs=max_runs if until_ci else runs)
    several = runs > 1 or until_ci is not None
    if runs > 1 and until_ci is not None:
        raise click.UsageError("--runs and --until-ci: say how many runs, or how sure, not both.")
    if engine == "fluid" and several:
        raise click.UsageError("--engine fluid: nothing is random, so one run is all there is.")
    if judge and (engine == "fluid" or focused):
        raise click.UsageError("--judge: service levels are judged by the packets of all flows.")
    if batches and several:
        raise click.UsageError("--batches is for one run; several have intervals of their own.")
    if metrics and until_ci is None:
        raise click.UsageError("--metric says what --until-ci looks at; without it, all is shown.")
    wanted = chosen(metrics) if until_ci is not None else []
    scenario = load_scenario(
        source.file,
        warm_up_overrides(capture.overrides(source.overrides), warm_up),
        source.strict,
    )
    if judge and not scenario.slas:
        raise click.UsageError("--judge: the scenario has no slas to hold the run to.")
    if out is not None:
        check_folder(out, overwrite=overwrite)

    from trunkline.engine import simulate
    from trunkline.network import compile

    first = scenario.run.seed if seed is None else seed
    most = max_runs if until_ci is not None else runs
    if first + most > 2**64:
        raise click.UsageError(f"--seed {first} with {most} runs goes beyond 2^64 - 1.")
    scenario, pilot = with_warm_up(scenario, warm_up, first, threads)
    if pilot is not None:
        click.echo(say_warm_up(pilot), err=True)
    network = compile(scenario, seed=first)
    if focused:
        from trunkline.fluid.focus import of_trunks

        with placed_means(scenario):
            network = _narrowed(network, of_trunks(scenario, focused), engine, first)
    capture.check(network)
    if engine == "sim":
        least = 1 if until_ci else runs
        look_ahead(
            [network],
            least,
            dry_run=dry_run,
            as_json=as_json,
            say=lambda seen: click.echo(f"foreseen: {seen}", err=True),
            seed=first,
        )
    elif dry_run:
        raise click.UsageError("--dry-run looks ahead in the packet simulator alone.")

    def run(seeds: list[int]) -> list[Results]:
        with engine_faults():
            if engine == "linux":
                return run_linux(network, seeds, runner, scenario, control)
            if engine == "fluid":
                return run_fluid(network, seeds, scenario)
            return simulate(network, seeds=seeds, threads=threads, scenario=scenario.text)

    reached, courses = None, None
    if until_ci is not None:
        results, reached = replicate_until(run, range(first, first + most), wanted, until_ci)
    elif batches:
        results, courses = _with_batches(network, first, threads, scenario.text)
    else:
        results = run(list(range(first, first + runs)))
    if len(results) > 1 and len({result.hash() for result in results}) == 1:
        click.echo(
            f"all {len(results)} runs are alike: nothing in this scenario is random", err=True
        )
    if out is not None:
        from trunkline.planning import plan_json
        from trunkline.results import store

        folder = store.write(
            results,
            out,
            network_json=network.to_json(),
            plan_json=plan_json(scenario),
            overwrite=overwrite,
        )
        click.echo(f"results written to {folder}", err=True)
    if scenario.scale != 1:
        from trunkline.cli.te_common import scaling

        click.echo(scaling(scenario.scale), err=True)
    capture.write(results[0], network)
    # Agreements are about all flows of a class.
    levels = _levels(scenario, results) if engine != "fluid" and not focused else []
    if as_json:
        about = to_json(results, interval=interval)
        about["slas"] = [level.to_json() for level in levels]
        if scenario.scale != 1:
            about["scale"] = scenario.scale
        if reached is not None:
            about["precision"] = {"wanted": until_ci, **asdict(reached)}
        if pilot is not None:
            about["warm_up"] = asdict(pilot)
        if courses is not None:
            about["batches"] = [asdict(course) for course in courses]
        echo_json(about)
    else:
        show(results, levels=levels, interval=interval, courses=courses, whole=whole)
    if reached is not None and until_ci is not None:
        click.echo(say_precision(reached, until_ci), err=True)
    if out is not None and report:
        write_report(folder)
    if judge and not all(level.met for level in levels):
        click.get_current_context().exit(Status.NOT_HELD)


def _narrowed(network: Network, focused: tuple[str, ...], engine: str, seed: int) -> Network:
    """The network with some flows alone, and background."""
    from trunkline.fluid.focus import BACKGROUND, focus
    from trunkline.fluid.unsupported import UnsupportedError
    from trunkline.network import Network as Compiled

    if engine != "sim":
        raise click.UsageError(f"--focus is for the simulator, not for --engine {engine}.")
    try:
        narrow = Compiled(focus(network.data, focused, seed).network)  # type: ignore[arg-type]
    except UnsupportedError:
        raise
    except ValueError as error:
        raise click.UsageError(f"--focus: {error}.") from None
    added = sum(flow["name"].startswith(BACKGROUND) for flow in narrow.flows)
    kept = len(narrow.flows) - added
    click.echo(
        f"focus: {kept} of {len(network.flows)} flows as packets; {added} background sources stand "
        "for the others (verify --engine fluid --focus measures the error)",
        err=True,
    )
    return narrow


def _levels(scenario: Scenario, results: list[Results]) -> list[Level]:
    """How the scenario's agreements came out; none without agreements."""
    if not scenario.slas:
        return []
    from trunkline.stats import judge

    return judge(scenario.bounds(), results)


def _with_batches(
    network: Network, seed: int, threads: int | None, text: str
) -> tuple[list[Results], list[Course]]:
    """A run, and beside it the same run with the probes that batch means need."""
    from trunkline.engine.sim import Job, simulate_all
    from trunkline.study.outcome.pilot import batches, probed_for_batches

    with engine_faults():
        jobs = [
            Job(network.to_json(), seed, text, network.data),
            Job(probed_for_batches(network), seed, text),
        ]
        plain, probed = simulate_all(jobs, threads=threads)
        return [plain], batches(network, probed)
