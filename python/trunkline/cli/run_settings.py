"""Settings of ``trunkline run``: options, combinations that exclude each other, and the runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from trunkline.cli.common import SEED_TYPE, convert_engine_errors
from trunkline.cli.decompose_options import (
    get_link_run_parameters,
    link_run_options,
    run_decomposed,
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
from trunkline.cli.limits import check_forecast
from trunkline.cli.option_groups import gather_options
from trunkline.cli.replication import (
    KNOWN_SOURCES,
    MAX_RUNS_OPTION,
    parse_metrics,
    precision_options,
    replicate_until,
    warm_up_option,
)
from trunkline.cli.study_command import WorkerOptions, cluster_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trunkline.decomposition.engine import DecomposedRun
    from trunkline.network import Network
    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Precision
    from trunkline.stats.control_variates import OfferedMean
    from trunkline.study.outcome.steady_state import FlowBatchMeans


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Results of the runs, and their precision."""

    results: list[Results]
    offered_means: Mapping[str, OfferedMean]  # For intervals by control variates.
    precision: Precision | None = None  # With ``--until-ci``.
    courses: list[FlowBatchMeans] | None = None  # With ``--batches``.
    decomposed: DecomposedRun | None = None  # With ``--decompose``.


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Engine, seeds, replications and intervals of a run."""

    seed: int | None
    runs: int
    engine: str
    runner: str | None
    control: str | None
    focused: tuple[str, ...]
    decompose: bool
    check_s: float | None
    link_packets: int | None
    until_ci: float | None
    max_runs: int
    metrics: tuple[str, ...]
    interval: str
    batches: bool
    warm_up: str | None
    threads: int | None
    cluster: str | None
    resume: bool

    @property
    def is_replicated(self) -> bool:
        """Whether there are several runs."""
        return self.runs > 1 or self.until_ci is not None

    @property
    def max_run_count(self) -> int:
        """Maximum number of runs."""
        return self.max_runs if self.until_ci is not None else self.runs

    @property
    def has_packets_of_all_flows(self) -> bool:
        """Whether the runs have packets of all flows, as service levels need them."""
        return self.engine != "fluid" and not self.decompose and not self.focused

    def check_combinations(self, *, judge: bool, dry_run: bool, pcap: bool) -> None:
        """Refuse options that exclude each other. Raises click.UsageError."""
        check_control_option(self.control, self.engine, self.runner)
        has_warm_up = self.warm_up is not None
        check_engine_options(
            self.engine, self.runner, pcap=pcap, batches=self.batches, warm_up=has_warm_up
        )
        if self.decompose:
            _check_decompose_options(
                self.engine,
                runs=self.is_replicated,
                focus=bool(self.focused),
                batches=self.batches,
                warm_up=has_warm_up,
                judge=judge,
                dry_run=dry_run,
                pcap=pcap,
            )
        elif any((self.check_s, self.link_packets, self.cluster, self.resume)):
            raise click.UsageError(
                "--check, --link-packets, --cluster and --resume are for --decompose."
            )
        if self.runs > 1 and self.until_ci is not None:
            raise click.UsageError("--runs and --until-ci exclude each other: give one.")
        if self.engine == "fluid" and self.is_replicated:
            raise click.UsageError("--engine fluid has no random values: more runs give the same.")
        if judge and (self.engine == "fluid" or self.focused):
            raise click.UsageError(
                "--judge: service levels are judged by the packets of all flows."
            )
        if self.batches and self.is_replicated:
            raise click.UsageError("--batches is for one run; several runs already have intervals.")
        if self.metrics and self.until_ci is None:
            raise click.UsageError("--metric is for --until-ci; without it, all metrics are shown.")

    def find_first_seed(self, scenario: Scenario) -> int:
        """Find the seed of the first run. Raises click.UsageError: The last one is too large."""
        first_seed = scenario.run.seed if self.seed is None else self.seed
        if first_seed + self.max_run_count > 2**64:
            raise click.UsageError(
                f"--seed {first_seed} with {self.max_run_count} runs goes beyond 2^64 - 1."
            )
        return first_seed

    def compile_network(self, scenario: Scenario, first_seed: int) -> Network:
        """Compile the scenario; with ``--focus`` other flows become background."""
        from trunkline.network import compile

        network = compile(scenario, seed=first_seed)
        if not self.focused:
            return network
        from trunkline.fluid.focus import expand_trunk_names

        with placed_means(scenario):
            names = expand_trunk_names(scenario, self.focused)
            return _focus_network(network, names, self.engine, first_seed)

    def check_size(self, network: Network, seed: int, *, dry_run: bool, as_json: bool) -> None:
        """Forecast the runs of the simulator; with ``dry_run`` print it and end.

        Raises click.UsageError: Another engine has no forecast.
        """
        if self.engine == "sim" and not self.decompose:
            check_forecast(
                [network],
                1 if self.until_ci else self.runs,
                dry_run=dry_run,
                as_json=as_json,
                announce=lambda estimate: click.echo(f"forecast: {estimate}", err=True),
                seed=seed,
            )
        elif dry_run:
            raise click.UsageError("--dry-run is only for the packet simulator.")

    def read_offered_means(self, network: Network) -> Mapping[str, OfferedMean]:
        """Read the known means for ``--interval controlled``; else none."""
        if self.interval != "controlled":
            return {}
        from trunkline.fluid.offered_means import read_offered_means

        offered_means = read_offered_means(network.data)
        if not offered_means:
            raise click.UsageError(
                f"--interval controlled needs {KNOWN_SOURCES}. This scenario has none."
            )
        return offered_means

    def perform(
        self, network: Network, scenario: Scenario, first_seed: int, out: str | None
    ) -> RunOutcome:
        """Run the network with the seeds of the settings.

        out: Folder of the results.
        """
        offered_means = self.read_offered_means(network)
        if self.decompose:
            parameters = get_link_run_parameters(self.check_s, self.link_packets)
            workers = WorkerOptions(self.resume, self.threads, self.cluster, None)
            decomposed = run_decomposed(network, scenario, first_seed, workers, out, parameters)
            return RunOutcome([decomposed.results], offered_means, decomposed=decomposed)
        if self.batches:
            results, courses = _run_with_batches(network, first_seed, self.threads, scenario.text)
            return RunOutcome(results, offered_means, courses=courses)

        def run(seeds: list[int]) -> list[Results]:
            return self._run_engine(network, scenario, seeds)

        seeds = range(first_seed, first_seed + self.max_run_count)
        if self.until_ci is None:
            return RunOutcome(run(list(seeds)), offered_means)
        results, precision = replicate_until(
            run, seeds, parse_metrics(self.metrics), self.until_ci, offered_means or None
        )
        return RunOutcome(results, offered_means, precision=precision)

    def _run_engine(self, network: Network, scenario: Scenario, seeds: list[int]) -> list[Results]:
        from trunkline.engine import simulate

        with convert_engine_errors():
            if self.engine == "linux":
                return run_linux_engine(network, seeds, self.runner, scenario, self.control)
            if self.engine == "fluid":
                return run_fluid_engine(network, seeds, scenario)
            return simulate(network, seeds=seeds, threads=self.threads, scenario=scenario.text)


run_settings = gather_options(
    "settings",
    RunSettings,
    click.option(
        "--seed",
        type=SEED_TYPE,
        help="Seed of the first run, 0 to 2^64 - 1. Default: the seed of the scenario, which is 1 "
        "unless set.",
    ),
    click.option(
        "--runs",
        type=click.IntRange(1, MAX_RUNS_OPTION),
        default=1,
        show_default=True,
        help="Replications, with seeds SEED, SEED + 1, ...",
    ),
    engine_options,
    control_option,
    click.option(
        "--focus",
        "focused",
        multiple=True,
        metavar="NAME",
        help="Simulate packets only for the flows on this direction of a link (A->B), path or "
        "trunk, or hit by this failure; all other flows become background. Repeatable.",
    ),
    click.option(
        "--decompose",
        is_flag=True,
        help="Simulate each link alone with the packets that reach it, and put paths together: for "
        "networks at their real rates. Prints its error.",
    ),
    link_run_options,
    cluster_option,
    click.option(
        "--resume", is_flag=True, help="With --decompose: continue with the links that --out keeps."
    ),
    precision_options,
    click.option(
        "--interval",
        type=click.Choice(["t", "bca", "controlled"]),
        default="t",
        show_default=True,
        help="Intervals by Student's t distribution, by the BCa bootstrap for skewed values, or by "
        "control variates: narrower where random sources offer more in some runs than in others.",
    ),
    click.option(
        "--batches",
        is_flag=True,
        help="Show intervals of goodput, throughput and delay within one run, by batch means.",
    ),
    warm_up_option,
    click.option(
        "--threads",
        type=click.IntRange(1, 4096),
        help="Runs at a time, or threads of one large run; default: all cores.",
    ),
)


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
