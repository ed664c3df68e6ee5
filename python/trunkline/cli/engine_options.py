"""The engine that runs a scenario: its options and its call."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from trunkline.cli.option_groups import combine_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trunkline.network import Network
    from trunkline.results import Results
    from trunkline.scenario import Scenario


ENGINE_NAMES = ("sim", "linux", "fluid")
RUNNER_NAMES = ("uml", "qemu", "native")
CONTROL_DAEMONS = ("frr",)


engine_options = combine_options(
    click.option(
        "--engine",
        type=click.Choice(ENGINE_NAMES),
        default="sim",
        show_default=True,
        help="sim: the packet simulator; linux: routers of a real Linux kernel in virtual time; "
        "fluid: rates and mean waits by formulas.",
    ),
    click.option(
        "--runner",
        type=click.Choice(RUNNER_NAMES),
        help="With --engine linux: the program that runs the kernel. Default: the first that is "
        "ready, but never native, which runs in real time.",
    ),
)
"""Options of commands that take ``engine`` and ``runner``."""
control_option = click.option(
    "--control",
    type=click.Choice(CONTROL_DAEMONS),
    help="In the Linux kernel, let the daemons of FRR (ospfd, ldpd, zebra) compute routes and "
    "labels, in place of the simulator's OSPF and LDP.",
)


def check_control_option(control: str | None, engine: str, runner: str | None) -> None:
    """Refuse ``--control`` with an engine or a runner that cannot run daemons.

    Raises click.UsageError: The options contradict each other.
    """
    if control is not None and engine != "linux":
        raise click.UsageError("--control is for --engine linux.")
    if control is not None and runner not in (None, "uml"):
        raise click.UsageError(f"--control {control} runs in uml, not in {runner}.")


def check_engine_options(engine: str, runner: str | None, **simulator_options: bool) -> None:
    """Refuse options of the simulator with another engine, and ``--runner`` without linux.

    **simulator_options: Whether each option was given, by its name with underscores.
    Raises click.UsageError: The options contradict each other.
    """
    if engine != "linux" and runner is not None:
        raise click.UsageError("--runner is for --engine linux.")
    if engine == "sim":
        return
    for name, is_given in simulator_options.items():
        if is_given:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is for the simulator, not for --engine {engine}.")


@contextmanager
def place_kernel_errors(scenario: Scenario) -> Iterator[None]:
    """Report features that the kernel lacks, with their place in the scenario.

    Raises ScenarioError: The kernel lacks a feature.
    """
    from trunkline.linux.plan.command_script import UnsupportedError

    try:
        yield
    except UnsupportedError as error:
        raise error.to_scenario_error(scenario) from None


@contextmanager
def placed_means(scenario: Scenario, engine: str = "fluid") -> Iterator[None]:
    """Report features that the fluid engine, or another, lacks, with their place in the scenario.

    Raises ScenarioError: The fluid engine does not support a feature.
    """
    from trunkline.fluid.unsupported import FluidUnsupportedError

    try:
        yield
    except FluidUnsupportedError as error:
        raise error.locate_in_scenario(scenario, engine) from None


def run_fluid_engine(network: Network, seeds: Sequence[int], scenario: Scenario) -> list[Results]:
    """Run a network in the fluid engine, and print a note for each effect that it leaves out.

    seeds: Only the first is used: the fluid engine draws nothing.
    """
    from trunkline.fluid.engine import list_omissions, simulate

    for note in list_omissions(network.data):
        click.echo(f"note: {note}", err=True)
    with placed_means(scenario):
        return [simulate(network.to_json(), scenario=scenario.text, seed=seeds[0])]


def run_linux_engine(
    network: Network,
    seeds: Sequence[int],
    runner: str | None,
    scenario: Scenario,
    control: str | None = None,
) -> list[Results]:
    """Run a network in a guest, and print a note for each difference of its kernel.

    runner: one of "uml", "qemu", "native" or None; None for the first that is ready.
    control: "frr"; daemons that compute the routes.
    Returns: In the order of the seeds.
    """
    from trunkline.cli.common import show_progress
    from trunkline.linux.engine import simulate
    from trunkline.results.terminal_tables import escape_unprintable

    def noted(note_text: str) -> None:
        click.echo(f"note: {escape_unprintable(note_text)}", err=True)

    with show_progress("kernel") as show, place_kernel_errors(scenario):
        return simulate(
            network.to_json(),
            seeds=seeds,
            runner=runner,
            control=control,
            scenario=scenario.text,
            on_note=noted,
            on_progress=show,
        )
