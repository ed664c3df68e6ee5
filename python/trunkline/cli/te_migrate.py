"""``trunkline te migrate``: the order in which paths move from one scenario to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import ScenarioSource
from trunkline.cli.status import Status
from trunkline.cli.te_common import OutputOptions, load_leniently, output_options

if TYPE_CHECKING:
    from trunkline.planning.migration_steps import StepScenario
    from trunkline.scenario import Scenario

STATUS_OF_OUTCOME = {
    "found": Status.DONE,
    "impossible": Status.NOT_HELD,
    "undecided": Status.UNDECIDED,
}


@click.command("migrate", short_help="Order the moves from one scenario to another.")
@click.argument("before", metavar="BEFORE", type=click.Path(dir_okay=False))
@click.argument("after", metavar="AFTER", type=click.Path(dir_okay=False))
@click.option(
    "--bound",
    metavar="SHARE",
    default="100 %",
    show_default=True,
    help="Largest utilisation of a link in any step, old and new reservation included.",
)
@click.option(
    "--preempt",
    is_flag=True,
    help="A path may be torn down for a stronger one, and set up again in a later step.",
)
@output_options(
    "New folder with a scenario for each step, which `trunkline run` performs.",
    "Links by steps, as .svg.",
    is_folder=True,
)
@click.option("--packets", is_flag=True, help="Run each step in the packet engine; show the loss.")
def migrate(
    before: str, after: str, bound: str, preempt: bool, packets: bool, outputs: OutputOptions
) -> int:
    """Show the order in which the paths of BEFORE move to the routes of AFTER.

    Each move is make before break: the old and the new reservation are both held where they share
    no link. No link passes the bound. Fewest paths take a detour. Exit status 3: it is proven that
    no order exists; 6: the search did not end.
    """
    from trunkline.planning import migrate as find_migration, migration_page, write_migration_steps
    from trunkline.planning.text_tables import tabulate_migration
    from trunkline.scenario import ScenarioError
    from trunkline.scenario.units import parse_ratio

    outputs.refuse_existing()
    first, second = (load_leniently(ScenarioSource(file, (), False)) for file in (before, after))
    try:
        share = parse_ratio(bound)
    except ValueError as error:
        raise click.UsageError(f"--bound {bound}: {error}.") from None
    try:
        migration = find_migration(first, second, bound=share, preemption=preempt)
    except ScenarioError:
        raise
    except ValueError as error:
        raise click.UsageError(f"{before} to {after}: {error}.") from None
    steps = write_migration_steps(first, second, migration)
    losses = _run_steps(first, steps) if packets else None
    if outputs.out is not None:
        _write_steps(first, steps, outputs)
    outputs.write_pictures(migration_page, first, migration)
    closing_line = migration_page.describe_outcome(migration)
    if losses is not None:
        lossy = [step.name for step, lost in zip(steps, losses, strict=True) if lost]
        closing_line += f"; {len(steps)} steps in packets, {len(lossy)} with loss"
        closing_line += f": {', '.join(lossy)}" if lossy else ""
    extra = {} if losses is None else {"lost_packets": losses}
    outputs.print_plan(migration, lambda: tabulate_migration(migration), closing_line, extra)
    status = STATUS_OF_OUTCOME[migration.outcome]
    return Status.NOT_HELD if losses is not None and any(losses) else status


def _write_steps(before: Scenario, steps: list[StepScenario], outputs: OutputOptions) -> None:
    """Write every step, with the tables of the first scenario."""
    from pathlib import Path

    from trunkline.scenario.save import prove, read_scenario_tables, save

    assert outputs.out is not None
    tables = read_scenario_tables(before)
    folder = Path(outputs.out)
    files = {folder / f"{step.name}.yaml": step.text for step in steps}
    for file, text in files.items():
        prove(text, file, tables)
    for file, text in files.items():
        save(text, file, tables, overwrite=outputs.overwrite)
    click.echo(f"{len(files)} scenarios written to {outputs.out}", err=True)


def _run_steps(before: Scenario, steps: list[StepScenario]) -> list[int]:
    """Run each step and count the data packets that it loses in the measured time."""
    from trunkline.engine.packet_engine import Job, simulate_jobs
    from trunkline.network import compile
    from trunkline.scenario.save import prove, read_scenario_tables

    tables = read_scenario_tables(before)
    jobs = []
    for step in steps:
        scenario = prove(step.text, step.name, tables)
        jobs.append(Job(compile(scenario).to_json(), scenario.resolve().run.seed, step.text))
    return [
        int(results.drops.column("packets").to_array().sum()) for results in simulate_jobs(jobs)
    ]
