"""``trunkline verify``: the simulator against the Linux kernel, or against formulas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trunkline.cli.common import (
    SEED_TYPE,
    convert_engine_errors,
    echo_json,
    echo_tables,
    load_scenario,
    override_options,
    show_progress,
)
from trunkline.cli.engine_options import (
    RUNNER_NAMES,
    check_control_option,
    control_option,
    place_kernel_errors,
    placed_means,
)
from trunkline.cli.replication import PercentType
from trunkline.cli.status import Status
from trunkline.cli.verdict_tables import render, render_proof

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trunkline.linux.judge.proof import VerdictProof
    from trunkline.linux.judge.verification import EngineVerdict
    from trunkline.scenario import Scenario
    from trunkline.stats.equivalence import EquivalenceOutcome

MAX_RUNS = 1000
DEFAULT_EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "diffserv-over-mpls": (),
    # Without this setting the simulator's TCP follows the RFCs, and the kernel's TCP differs.
    "hello": ("flows.tcp.preset=linux",),
}
"""Examples that are compared if no FILE is given, with their overrides."""
STATUS_BY_OUTCOME: dict[EquivalenceOutcome, Status] = {
    "agrees": Status.DONE,
    "differs": Status.NOT_HELD,
    "undecided": Status.UNDECIDED,
}


@click.command("verify", short_help="Compare the simulator with the Linux kernel or with formulas.")
@click.argument(
    "files", metavar="[FILE]...", nargs=-1, type=click.Path(dir_okay=False, allow_dash=True)
)
@override_options
@click.option("--seed", type=SEED_TYPE, help="First seed. Default: the seed of the scenario.")
@click.option(
    "--runs",
    type=click.IntRange(1, MAX_RUNS),
    default=1,
    show_default=True,
    help="Runs in each engine, with seeds SEED, SEED + 1, ...",
)
@click.option(
    "--until-decided",
    is_flag=True,
    help="Add seeds while a measure is undecided, up to --max-runs.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(1, MAX_RUNS),
    default=100,
    show_default=True,
    help="With --until-decided, the maximum number of runs.",
)
@click.option(
    "--runner",
    type=click.Choice(RUNNER_NAMES),
    help="Program that runs the kernel. Default: the first that is ready, but never native.",
)
@click.option(
    "--engine",
    type=click.Choice(["linux", "fluid"]),
    default="linux",
    show_default=True,
    help="Reference for the simulator: a Linux kernel, or rates and waits by formulas.",
)
@control_option
@click.option(
    "--focus",
    "focused",
    multiple=True,
    metavar="NAME",
    help="With --engine fluid: compare all packets with a focus on this direction of a link "
    "(A->B), path, trunk or failure.",
)
@click.option(
    "--against",
    metavar="OTHER",
    type=click.Path(dir_okay=False),
    help="Compare with this scenario in the simulator, not with the kernel: shows whether the "
    "comparison detects their difference.",
)
@click.option(
    "--routers",
    "laboratory",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="The kernel's routers are those of the files that export --to containerlab wrote into "
    "this folder: FRR's daemons and each router's script, and nothing else.",
)
@click.option(
    "--within",
    type=PercentType(),
    metavar="SHARE",
    help="Required power, such as 1%: a comparison agrees only if it would have detected a "
    "difference of this share; otherwise it is undecided.",
)
@click.option(
    "--prove",
    is_flag=True,
    help="Alter each key of the scenario by a step, one at a time, and list which alterations the "
    "verdict would have caught, and why not the others. The kernel runs once.",
)
@click.option(
    "--page",
    "page_path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the verdict as one HTML page, which needs no network.",
)
@click.option("--all", "every", is_flag=True, help="Print every comparison, one line each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    files: tuple[str, ...],
    overrides: tuple[str, ...],
    seed: int | None,
    until_decided: bool,
    max_runs: int,
    prove: bool,
    page_path: str | None,
    every: bool,
    as_json: bool,
    **reference_options: Any,
) -> int:
    """Run each FILE in the simulator and in a Linux kernel, with the same traffic, and compare.

    With --engine fluid the reference is rates and mean waits by formulas. With --control frr the
    reference is OSPF and LDP of FRR; the command compares routes, labels, convergence and losses.
    With --routers the reference is a network that comes up from exported files.

    Without FILE it compares two examples of trunkline: diffserv-over-mpls, and hello with a TCP
    sender like that of Linux (flows.tcp.preset=linux), through a drop-tail queue.

    The exit status is 0 if all agree, 3 if a measure differs and 6 if one is undecided. If FRR is
    missing, the command shows only the results of the simulator, and the status is 4.
    """
    max_seeds = max(max_runs, reference_options["runs"]) if until_decided else None
    comparison = _Comparison(**reference_options, max_seeds=max_seeds, as_json=as_json)
    comparison.check(files, prove=prove)
    scenarios = _load_scenarios(files, overrides, comparison.strict)
    first = [scenario.run.seed if seed is None else seed for scenario in scenarios]
    comparison.check_seeds(first)
    from trunkline.linux.judge.verification import combine_outcomes

    outcomes = []
    documents: list[dict[str, Any]] = []
    for name, unasked_verdict in comparison.yield_verdicts(scenarios, first):
        verdict = unasked_verdict.require_power(comparison.within)
        outcomes.append(verdict.outcome)
        document = {"scenario": name, **verdict.to_json()}
        if not as_json:
            echo_tables(partial(render, name, verdict, every=every))
        if prove:
            proof = _prove(name, verdict)
            document["proof"] = proof.to_json()
            if not as_json:
                echo_tables(partial(render_proof, name, proof, every=every))
        documents.append(document)
    outcome = combine_outcomes(outcomes)
    agrees = outcome == "agrees"
    verdict_document = {"schema": 1, "outcome": outcome, "agrees": agrees, "verdicts": documents}
    if page_path is not None:
        from trunkline.report.verdict_page import write_verdict_page

        with convert_engine_errors():
            write_verdict_page(verdict_document, Path(page_path))
        click.echo(f"page written to {page_path}", err=True)
    if as_json:
        echo_json(verdict_document)
    return STATUS_BY_OUTCOME[outcome]


def _prove(name: str, verdict: EngineVerdict) -> VerdictProof:
    """Judge alterations of the scenario of a verdict."""
    from trunkline.linux.judge.proof import prove_verdict

    with convert_engine_errors(), show_progress(f"prove: {name}") as show:
        return prove_verdict(verdict, on_progress=show)


def _load_scenarios(
    files: tuple[str, ...], overrides: tuple[str, ...], strict: bool
) -> list[Scenario]:
    """Load the scenarios of the files; without files, those of two examples."""
    from importlib.resources import as_file, files as package

    if files:
        return [load_scenario(file, overrides, strict) for file in files]
    example_texts = [
        " with ".join((name, *settings)) for name, settings in DEFAULT_EXAMPLES.items()
    ]
    click.echo(f"verify: the examples {' and '.join(example_texts)}", err=True)
    with as_file(package("trunkline").joinpath("examples")) as folder:
        return [
            load_scenario(str(folder / f"{name}.yaml"), (*settings, *overrides), strict)
            for name, settings in DEFAULT_EXAMPLES.items()
        ]


@dataclass(frozen=True)
class _Comparison:
    """Reference that the simulator is compared with, and the number of runs."""

    runs: int
    max_seeds: int | None  # Runs at most until all is decided; None: the runs alone.
    runner: str | None
    engine: str
    control: str | None
    focused: tuple[str, ...]
    against: str | None
    laboratory: str | None  # Folder of exported files.
    within: float | None
    strict: bool
    as_json: bool

    def check(self, files: tuple[str, ...], *, prove: bool) -> None:
        """Refuse options that exclude each other."""
        runner, control, is_fluid = self.runner, self.control, self.engine == "fluid"
        if self.against is not None and (len(files) != 1 or runner is not None):
            raise click.UsageError("--against takes one FILE, and no --runner: it needs no kernel.")
        if is_fluid and (runner is not None or self.against is not None):
            raise click.UsageError("--engine fluid takes no --runner and no --against.")
        check_control_option(control, self.engine, runner)
        if control is not None and (self.against is not None or not files or self.max_seeds):
            raise click.UsageError(
                "--control takes FILES, and neither --against nor --until-decided."
            )
        if prove and (is_fluid or control is not None):
            raise click.UsageError("--prove takes neither --engine fluid nor --control.")
        if self.focused and not is_fluid:
            raise click.UsageError("--focus is for --engine fluid.")
        if self.laboratory is not None and (
            len(files) != 1 or is_fluid or control or self.against or runner not in (None, "uml")
        ):
            raise click.UsageError(
                "--routers takes one FILE, runs in uml, and goes without --engine fluid, --control "
                "and --against."
            )

    def check_seeds(self, first: Sequence[int]) -> None:
        """Refuse first seeds whose last run is above the largest seed."""
        count = self.max_seeds or self.runs
        for first_seed in first:
            if first_seed + count > 2**64:
                raise click.UsageError(
                    f"--seed {first_seed} with --runs {count} goes beyond 2^64 - 1."
                )

    def yield_verdicts(
        self, scenarios: Sequence[Scenario], first: Sequence[int]
    ) -> Iterator[tuple[str, EngineVerdict]]:
        """Yield the verdict of each scenario as soon as it is known."""
        from trunkline.network import compile

        networks = [
            compile(scenario, seed=first_seed).to_json()
            for scenario, first_seed in zip(scenarios, first, strict=True)
        ]
        other_network = None
        if self.against is not None:
            other = load_scenario(self.against, (), self.strict)
            other_network = compile(other, seed=first[0]).to_json()
        with convert_engine_errors():
            runner = self.runner
            if self.engine == "linux" and other_network is None and self.laboratory is None:
                runner = self._choose_runner(scenarios, networks, first)
            reference = self.against or self.laboratory or f"kernel of {runner}"
            reference = "fluid engine" if self.engine == "fluid" else reference
            for scenario, network, first_seed in zip(scenarios, networks, first, strict=True):
                name = scenario.name or "scenario"
                seeds = list(range(first_seed, first_seed + self.runs))
                with show_progress(f"verify: {name}, {reference}") as show:
                    if self.engine == "fluid":
                        verdict = self._verify_fluid(scenario, network, seeds, show)
                    elif other_network is not None:
                        verdict = self._verify_scenario(network, other_network, seeds, show)
                    elif self.laboratory is not None:
                        with place_kernel_errors(scenario):
                            verdict = self._verify_laboratory(scenario, network, seeds, show)
                    else:
                        verdict = self._verify_kernel(network, seeds, runner, show)
                yield name, verdict

    def _choose_runner(
        self, scenarios: Sequence[Scenario], networks: Sequence[str], first: Sequence[int]
    ) -> str:
        """Choose the runner; unsupported features are reported before anything runs."""
        from trunkline.linux.guest.readiness import RunnerNotReady, choose_runner
        from trunkline.linux.judge import verification

        for scenario, network in zip(scenarios, networks, strict=True):
            with place_kernel_errors(scenario):
                verification.check_support(network, self.runner, self.control)
        try:
            return choose_runner(self.runner, self.control)
        except RunnerNotReady:
            if self.control is not None:
                _show_simulator_only(scenarios, networks, first, self.as_json)
            raise

    def _verify_kernel(
        self, network: str, seeds: list[int], runner: str | None, show: Callable[[float], None]
    ) -> EngineVerdict:
        """Compute the verdict with a Linux kernel, or its daemons, as the reference."""
        from trunkline.linux.judge import control_plane, verification

        if self.control is not None:
            return control_plane.verify_control(
                network, seeds, daemons=self.control, runner=runner, on_progress=show
            )
        return verification.verify_kernel(
            network,
            seeds,
            runner=runner,
            on_progress=show,
            max_seeds=self.max_seeds,
            within=self.within,
        )

    def _verify_fluid(
        self, scenario: Scenario, network: str, seeds: list[int], show: Callable[[float], None]
    ) -> EngineVerdict:
        """Compute the verdict with the fluid engine as the reference."""
        from trunkline.fluid.focus import expand_trunk_names
        from trunkline.fluid.verification import verify_fluid
        from trunkline.scenario import ScenarioError

        try:
            with placed_means(scenario):
                return verify_fluid(
                    network,
                    seeds,
                    max_seeds=self.max_seeds,
                    on_progress=show,
                    focus_names=expand_trunk_names(scenario, self.focused),
                )
        except ScenarioError:
            raise
        except ValueError as error:
            option = "--focus" if self.focused else "--engine fluid"
            raise click.UsageError(f"{option}: {error}.") from None

    def _verify_laboratory(
        self, scenario: Scenario, network: str, seeds: list[int], show: Callable[[float], None]
    ) -> EngineVerdict:
        """Compute the verdict with the routers of exported files as the reference."""
        from trunkline.routers.laboratory import LaboratoryFault, make_laboratory_runner

        try:
            run_seed = make_laboratory_runner(scenario, Path(str(self.laboratory)))
        except LaboratoryFault as fault:
            raise click.UsageError(f"--routers: {fault}.") from None
        return self._run_until_decided(network, seeds, run_seed, show)

    def _verify_scenario(
        self, network: str, other_network: str, seeds: list[int], show: Callable[[float], None]
    ) -> EngineVerdict:
        """Compute the verdict with another scenario in the simulator as the reference."""
        from trunkline.linux.judge import verification

        try:
            run_seed = verification.make_simulator_runner(network, other_network, str(self.against))
        except ValueError as error:
            raise click.UsageError(f"--against {self.against}: {error}.") from None
        return self._run_until_decided(network, seeds, run_seed, show)

    def _run_until_decided(
        self, network: str, seeds: list[int], run_seed: Any, show: Callable[[float], None]
    ) -> EngineVerdict:
        from trunkline.linux.judge import verification

        return verification.run_until_decided(
            [(network, seed) for seed in seeds],
            run_seed,
            on_progress=show,
            max_seeds=self.max_seeds,
            within=self.within,
        )


def _show_simulator_only(
    scenarios: Sequence[Scenario], networks: Sequence[str], first: Sequence[int], as_json: bool
) -> None:
    """Show the results of the simulator if the daemons are missing."""
    from trunkline.engine.packet_engine import simulate

    documents = []
    for scenario, network, seed in zip(scenarios, networks, first, strict=True):
        (results,) = simulate(network, seeds=[seed])
        name = scenario.name or "scenario"
        if as_json:
            documents.append({"scenario": name} | results.to_json())
        else:
            click.echo(f"{name}: the simulator alone\n")
            echo_tables(partial(results.render, show_all=True))
    if as_json:
        undecided_document = {"outcome": "undecided", "agrees": False, "verdicts": []}
        echo_json({"schema": 1} | undecided_document | {"simulator": documents})
