"""``trunkline te``: traffic engineering: place paths, compare with the optimum, protect."""

import click

from trunkline.cli.command_group import CommandGroup
from trunkline.cli.common import ScenarioSource, scenario_options
from trunkline.cli.te_common import OutputOptions, load_leniently, output_options
from trunkline.cli.te_delays import delays
from trunkline.cli.te_grow import grow
from trunkline.cli.te_migrate import migrate
from trunkline.cli.te_solve import solve
from trunkline.cli.te_survive import survive


@click.group(
    "te",
    cls=CommandGroup,
    short_help="Traffic engineering: place, solve, protect, survive, delays, grow, migrate.",
)
def command() -> None:
    """Place label-switched paths, compare with the optimum, and protect them."""


command.add_command(solve)
command.add_command(delays)


@command.command("place", short_help="Place the paths of a scenario.")
@scenario_options
@click.option(
    "--reoptimise",
    is_flag=True,
    help="After placement, move computed paths off the busiest link, within their constraints.",
)
@output_options(
    "New scenario with every route written out; `te place` gives the same routes again.",
    "Utilisation map, as .svg.",
)
def place(source: ScenarioSource, reoptimise: bool, outputs: OutputOptions) -> None:
    """Show the routes of the paths of FILE, the paths that a constraint refuses, and preemptions.

    Paths with `route: auto` are computed: constrained shortest path first, in the order of the
    scenario's `te`. Rates are those of the network without its `scale`.
    """
    from trunkline.planning import place as make_plan, plan_page, write_explicit_scenario
    from trunkline.planning.text_tables import tabulate_plan

    outputs.refuse_existing()
    scenario = load_leniently(source)
    plan = make_plan(scenario, reoptimise=reoptimise)
    if outputs.out is not None:
        remarks = [f"Routes of {source.file} written out by `trunkline te place`."]
        unplaced = [path for path in plan.paths if not path.placed]
        remarks += [f"Not placed: {path.path}: {path.why}." for path in unplaced]
        routes = {path.path: path.route for path in plan.paths if path.placed}
        outputs.write(scenario, write_explicit_scenario(scenario, remarks=remarks, routes=routes))
    outputs.write_pictures(plan_page, scenario, plan)
    placed = sum(path.placed for path in plan.paths)
    outputs.print_plan(
        plan, lambda: tabulate_plan(plan), f"{placed} of {len(plan.paths)} paths placed"
    )


@command.command("protect", short_help="Compute backups for the paths of a scenario.")
@scenario_options
@click.option(
    "--kind",
    type=click.Choice(["facility-bypass", "detour", "ti-lfa", "backup", "one-plus-one"]),
    help="Protection of all paths, if FILE has no `backup: auto`. Default: facility-bypass.",
)
@click.option(
    "--around",
    type=click.Choice(["link", "node", "risk"]),
    help="Element that the backups avoid. Default: link.",
)
@click.option(
    "--bandwidth",
    metavar="SHARE",
    help="Bandwidth that the backups need, as a share of that of the path, e.g. '100 %'.",
)
@output_options(
    "New scenario with every backup written out.", "Map at the worst single failure, as .svg."
)
def protect(
    source: ScenarioSource,
    kind: str | None,
    around: str | None,
    bandwidth: str | None,
    outputs: OutputOptions,
) -> None:
    """Show the backups of the paths of FILE, their shared bandwidth, and unprotected places.

    Protections with `backup: auto` define the backups. If FILE has none, the options apply to all
    paths of its trunks.
    """
    from trunkline.planning import (
        add_default_protection,
        protect as make_backups,
        protection_page,
        write_explicit_scenario,
    )
    from trunkline.planning.text_tables import tabulate_backups
    from trunkline.scenario.resolved.placement import unplaced_paths_allowed

    outputs.refuse_existing()
    scenario = load_leniently(source)
    if any(each.backup == "auto" for each in scenario.protections.values()):
        if kind or around or bandwidth:
            raise click.UsageError(
                f"{source.file} has protections with `backup: auto`: --kind, --around and "
                "--bandwidth are for files without."
            )
    else:
        with unplaced_paths_allowed():
            scenario = add_default_protection(
                scenario, kind=kind or "facility-bypass", around=around or "link", share=bandwidth
            )
    plan = make_backups(scenario)
    if outputs.out is not None:
        without_backup = [each for each in plan.unprotected if not each.by_link]
        remarks = [f"Backups of {source.file} written out by `trunkline te protect`."]
        remarks += [
            f"Unprotected: {each.path} at {each.around}: {each.why}." for each in without_backup
        ]
        outputs.write(scenario, write_explicit_scenario(scenario, remarks=remarks))
    outputs.write_pictures(protection_page, scenario, plan)
    unprotected_count = sum(not each.by_link for each in plan.unprotected)
    closing_line = f"{plan.places - unprotected_count} of {plan.places} places have a backup"
    if not plan.places:
        closing_line = "no trunk uses a path: there is nothing to protect"
    outputs.print_plan(plan, lambda: tabulate_backups(plan), closing_line)


command.add_command(survive)
command.add_command(grow)
command.add_command(migrate)
