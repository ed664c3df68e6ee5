"""``trunkline te``: traffic engineering: place paths, compare with the optimum, protect."""

import click

from trunkline.cli.common import Source, scenario_options
from trunkline.cli.te_common import Outputs, leniently, outputs
from trunkline.cli.te_solve import solve
from trunkline.cli.te_survive import survive


@click.group("te", short_help="Traffic engineering: place, solve, protect, survive.")
def command() -> None:
    """Place label-switched paths, compare with the optimum, and protect them."""


command.add_command(solve)


@command.command("place", short_help="Place the paths of a scenario.")
@scenario_options
@click.option(
    "--reoptimise",
    is_flag=True,
    help="Then move computed paths off the busiest link, within their constraints.",
)
@outputs(
    "New scenario with every route written out; placing it again gives the same.",
    "Utilisation map, as .svg.",
)
def place(source: Source, reoptimise: bool, outputs: Outputs) -> None:
    """Say where the paths of FILE go, what is refused by which constraint, and what is displaced.

    Paths with `route: auto` are computed: constrained shortest path first, in the order that the
    scenario's `te` says. Rates are those of the network itself, whatever its `scale`.
    """
    from trunkline.planning import explicit, pictures, place as planned
    from trunkline.planning.sheets import of_plan

    outputs.free()
    scenario = leniently(source)
    plan = planned(scenario, reoptimise=reoptimise)
    if outputs.out is not None:
        remarks = [f"Routes of {source.file} written out by `trunkline te place`."]
        refused = [each for each in plan.paths if not each.placed]
        remarks += [f"Not placed: {each.path}: {each.why}." for each in refused]
        routes = {each.path: each.route for each in plan.paths if each.placed}
        outputs.write(scenario, explicit(scenario, remarks=remarks, routes=routes))
    outputs.draw(pictures, scenario, plan)
    placed = sum(each.placed for each in plan.paths)
    outputs.show(plan, lambda: of_plan(plan), f"{placed} of {len(plan.paths)} paths placed")


@command.command("protect", short_help="Compute backups for the paths of a scenario.")
@scenario_options
@click.option(
    "--kind",
    type=click.Choice(["facility-bypass", "detour", "ti-lfa", "backup", "one-plus-one"]),
    help="Protection of all paths, where FILE has none with `backup: auto`. Default: "
    "facility-bypass.",
)
@click.option(
    "--around",
    type=click.Choice(["link", "node", "risk"]),
    help="What its backups go around. Default: link.",
)
@click.option(
    "--bandwidth", metavar="SHARE", help="Bandwidth that its backups must find, as 100 %."
)
@outputs("New scenario with every backup written out.", "Map at the worst single failure, as .svg.")
def protect(
    source: Source, kind: str | None, around: str | None, bandwidth: str | None, outputs: Outputs
) -> None:
    """Say which backups protect the paths of FILE, what bandwidth they share, and what has none.

    Protections with `backup: auto` say what is wanted; where FILE has none, all paths of its trunks
    are protected as the options say.
    """
    from trunkline.planning import explicit, protect as protected, protected_page, with_backups
    from trunkline.planning.sheets import of_protection
    from trunkline.scenario.resolved.placement import unplaced_paths_allowed

    outputs.free()
    scenario = leniently(source)
    if any(each.backup == "auto" for each in scenario.protections.values()):
        if kind or around or bandwidth:
            raise click.UsageError(
                f"{source.file} says itself which backups it wants: --kind, --around and "
                "--bandwidth are for files without `backup: auto`."
            )
    else:
        with unplaced_paths_allowed():
            scenario = with_backups(
                scenario, kind=kind or "facility-bypass", around=around or "link", share=bandwidth
            )
    plan = protected(scenario)
    if outputs.out is not None:
        bare = [each for each in plan.unprotected if not each.by_link]
        remarks = [f"Backups of {source.file} written out by `trunkline te protect`."]
        remarks += [f"Unprotected: {each.path} at {each.around}: {each.why}." for each in bare]
        outputs.write(scenario, explicit(scenario, remarks=remarks))
    outputs.draw(protected_page, scenario, plan)
    open_ = sum(not each.by_link for each in plan.unprotected)
    last = f"{plan.places - open_} of {plan.places} places have a backup"
    if not plan.places:
        last = "no trunk rides a path: there is nothing to protect"
    outputs.show(plan, lambda: of_protection(plan), last)


command.add_command(survive)
