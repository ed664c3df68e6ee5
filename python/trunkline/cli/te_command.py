"""``trunkline te``: traffic engineering: place paths, compare with the optimum, protect."""

import click

from trunkline.cli.common import echo_json, free, scenario_options
from trunkline.cli.te_common import (
    JSON_SCHEMA,
    draw_plan,
    drawn,
    leniently,
    outputs,
    print_sheets,
    write_scenario,
)
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
def place(
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
    reoptimise: bool,
    out: str | None,
    picture: str | None,
    report: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Say where the paths of FILE go, what is refused by which constraint, and what is displaced.

    Paths with `route: auto` are computed: constrained shortest path first, in the order that the
    scenario's `te` says. Rates are those of the network itself, whatever its `scale`.
    """
    from trunkline.planning import place as planned
    from trunkline.planning.sheets import of_plan

    free((out, picture, report), overwrite)
    scenario = leniently(file, overrides, strict)
    plan = planned(scenario, reoptimise=reoptimise)
    if out is not None:
        refused = [each for each in plan.paths if not each.placed]
        write_scenario(
            scenario,
            file,
            out,
            [f"Routes of {file} written out by `trunkline te place`."]
            + [f"Not placed: {each.path}: {each.why}." for each in refused],
            {each.path: each.route for each in plan.paths if each.placed},
        )
    draw_plan(scenario, plan, picture, report)
    if as_json:
        echo_json({"schema": JSON_SCHEMA} | plan.to_dict())
        return
    placed = sum(each.placed for each in plan.paths)
    last = f"{placed} of {len(plan.paths)} paths placed"
    print_sheets(of_plan(plan), last, plan.scale)


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
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
    kind: str | None,
    around: str | None,
    bandwidth: str | None,
    out: str | None,
    picture: str | None,
    report: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Say which backups protect the paths of FILE, what bandwidth they share, and what has none.

    Protections with `backup: auto` say what is wanted; where FILE has none, all paths of its trunks
    are protected as the options say.
    """
    from trunkline.planning import protect as protected, protected_page as pages, with_backups
    from trunkline.planning.sheets import of_protection

    free((out, picture, report), overwrite)
    scenario = leniently(file, overrides, strict)
    if any(each.backup == "auto" for each in scenario.protections.values()):
        if kind or around or bandwidth:
            raise click.UsageError(
                f"{file} says itself which backups it wants: --kind, --around and --bandwidth are "
                "for files without `backup: auto`."
            )
    else:
        scenario = with_backups(
            scenario, kind=kind or "facility-bypass", around=around or "link", share=bandwidth
        )
    plan = protected(scenario)
    if out is not None:
        bare = [each for each in plan.unprotected if not each.by_link]
        write_scenario(
            scenario,
            file,
            out,
            [f"Backups of {file} written out by `trunkline te protect`."]
            + [f"Unprotected: {each.path} at {each.around}: {each.why}." for each in bare],
        )
    drawn(
        (picture, lambda: pages.svg(scenario, plan)),
        (report, lambda: pages.html(scenario, plan)),
    )
    if as_json:
        echo_json({"schema": JSON_SCHEMA} | plan.to_dict())
        return
    open_ = sum(not each.by_link for each in plan.unprotected)
    last = f"{plan.places - open_} of {plan.places} places have a backup"
    if not plan.places:
        last = "no trunk rides a path: there is nothing to protect"
    print_sheets(of_protection(plan), last, plan.scale)


command.add_command(survive)
