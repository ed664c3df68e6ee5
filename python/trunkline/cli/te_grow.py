"""``trunkline te grow``: when a growing network breaks, and the cheapest upgrades."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from trunkline.cli.common import ScenarioSource, scenario_options
from trunkline.cli.option_groups import gather_options
from trunkline.cli.status import Status
from trunkline.cli.study_command import WorkerOptions, convert_study_errors, worker_choices
from trunkline.cli.te_common import (
    OutputOptions,
    load_leniently,
    output_options,
    parse_failure_kinds,
)

if TYPE_CHECKING:
    from trunkline.planning.growth import Growth, GrowthPlan
    from trunkline.planning.screen_journal import ScreenJournal
    from trunkline.scenario import Scenario


@click.command("grow", short_help="When a growing network breaks; the cheapest upgrades.")
@scenario_options
@click.option(
    "--by",
    "rates",
    multiple=True,
    metavar="[CLASS=]RATE",
    help="Growth a year, e.g. '10 %/year', or of a class of demands, e.g. video='30 %'; "
    "repeatable.",
)
@click.option(
    "--years",
    type=click.IntRange(1, 100),
    help="Number of years.  [default: 5]",
)
@click.option("--scale-demands", "span", metavar="A..B", help="In place of --by: ten equal steps.")
@click.option(
    "--each",
    "kinds",
    metavar="KINDS",
    default="link,node,risk",
    show_default=True,
    help="Failures to screen: link, node, risk, named (those of FILE), or none.",
)
@click.option(
    "--bound",
    metavar="SHARE",
    default="100 %",
    show_default=True,
    help="Utilisation above which a link is broken.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="NAME=RATE@COST",
    help="Module of the catalogue, e.g. '100G=100 Gbit/s@30000', besides those in te.modules of "
    "FILE; repeatable.",
)
@click.option(
    "--upgrade",
    type=click.Choice(["kept-routes", "any-routes"]),
    default="kept-routes",
    show_default=True,
    help="Upgrades that --out adds to the links.",
)
@output_options(
    "New scenario: upgraded links, and the demands of the last period. With `slas` the file of "
    "this name with the ending .screen.jsonl keeps the screen.",
    "Growth curve, as .svg.",
)
@gather_options(
    "workers",
    WorkerOptions,
    click.option("--resume", is_flag=True, help="Continue the screen that --out keeps."),
    worker_choices,
)
def grow(
    source: ScenarioSource,
    rates: tuple[str, ...],
    years: int | None,
    span: str | None,
    kinds: str,
    bound: str,
    modules: tuple[str, ...],
    upgrade: str,
    outputs: OutputOptions,
    workers: WorkerOptions,
) -> int:
    """Show when each link and each failure of FILE breaks first, and the cheapest upgrades.

    The routes of today stay. Upgrades come from a catalogue of modules: with today's routes, and
    over all routings, which bounds every plan. `--report` writes one page for management. Exit
    status 3: the catalogue is not enough.
    """
    from trunkline.planning import grow as find_growth, management_page
    from trunkline.planning.text_tables import tabulate_growth
    from trunkline.scenario.units import RATIO, parse_quantity

    outputs.refuse_existing()
    if workers.resume and outputs.out is None:
        raise click.UsageError("--resume needs --out, whose name the file with the screen has.")
    words = parse_failure_kinds(kinds, may_be_none=True)
    try:
        plan = _make_plan(rates, years, span)
    except ValueError as error:
        raise click.UsageError(f"growth: {error}.") from None
    scenario = _add_modules(load_leniently(source), modules)
    run_options = workers.make_run_options()
    progress = journal = None
    if not scenario.list_sla_bounds():
        if workers.resume or workers.threads or workers.cluster:
            msg = "--resume, --threads and --cluster are for the screen of agreements: "
            raise click.UsageError(f"{msg}{source.file} has no `slas`.")
    else:
        if outputs.out is not None:
            journal = _make_journal(scenario, plan, outputs.out, resume=workers.resume)
        progress = workers.make_progress("agreements")
    try:
        with convert_study_errors(outputs.out):
            growth = find_growth(
                scenario,
                plan,
                kinds=words,
                bound=float(parse_quantity(bound, RATIO)),
                progress=progress,
                journal=journal,
                options=run_options,
            )
    except ValueError as error:
        raise click.UsageError(f"{source.file}: {error}.") from None
    except KeyboardInterrupt:
        kept = "" if journal is None else f"; resume with --resume --out {outputs.out}"
        click.echo(f"interrupted{kept or '; nothing was kept'}", err=True)
        return Status.INTERRUPTED
    finally:
        if progress is not None and progress.total:
            progress.end()
        if journal is not None:
            journal.close()
    if outputs.out is not None:
        _write_upgraded(scenario, growth, plan, upgrade, source.file, outputs)
    outputs.write_pictures(management_page, scenario, growth)
    outputs.print_plan(
        growth, lambda: tabulate_growth(growth), management_page.describe_growth(growth)
    )
    lists = [growth.kept_routes, growth.any_routes]
    return Status.NOT_HELD if any(each and each.missing for each in lists) else Status.DONE


def _make_journal(scenario: Scenario, plan: GrowthPlan, out: str, *, resume: bool) -> ScreenJournal:
    """Make the file of the screened failures."""
    from pathlib import Path

    from trunkline.planning.screen_journal import JOURNAL_SUFFIX, ScreenJournal

    return ScreenJournal(
        Path(out + JOURNAL_SUFFIX), scenario, resume=resume, parameters=asdict(plan)
    )


def _make_plan(rates: tuple[str, ...], years: int | None, span: str | None) -> GrowthPlan:
    from trunkline.planning import plan_scaled_growth, plan_yearly_growth
    from trunkline.scenario.units import RATIO, parse_quantity

    if span is not None:
        if rates or years is not None:
            raise ValueError("--scale-demands is in place of --by and --years")
        first, dots, last = span.partition("..")
        try:
            ends = float(first), float(last)
        except ValueError:
            ends = 0.0, 0.0
        if not dots:
            ends = 0.0, 0.0
        return plan_scaled_growth(*ends)
    if not rates:
        raise ValueError("give --by RATE, such as --by '10 %/year', or --scale-demands A..B")
    by_class: dict[str | None, float] = {}
    for each in rates:
        name, sign, rate = each.rpartition("=")
        key = name.strip() if sign else None
        if key in by_class:
            raise ValueError(f"--by gives {key or 'all demands'} twice")
        share = rate.strip().removesuffix("/year").strip()
        by_class[key] = float(parse_quantity(share, RATIO))
    return plan_yearly_growth(by_class, 5 if years is None else years)


def _add_modules(scenario: Scenario, modules: tuple[str, ...]) -> Scenario:
    """Add modules of the command line to the catalogue of a scenario."""
    if not modules:
        return scenario
    from trunkline.scenario.loader import load_text
    from trunkline.scenario.resolved.placement import unplaced_paths_allowed
    from trunkline.scenario.yaml_text import block

    document = scenario.to_document()
    catalogue = document.setdefault("te", {}).setdefault("modules", {})
    for each in modules:
        name, sign, offer = each.partition("=")
        rate, at, cost = offer.rpartition("@")
        if not sign or not at:
            raise click.UsageError(f"--module takes NAME=RATE@COST, not {each!r}.")
        if name.strip() in catalogue:
            raise click.UsageError(f"--module gives {name.strip()!r} twice.")
        catalogue[name.strip()] = {"rate": rate.strip(), "cost": cost.strip()}
    origin = scenario._origin
    with unplaced_paths_allowed():
        return load_text(type(scenario), block(document), "--module", origin.folder, {}, False)


def _write_upgraded(
    scenario: Scenario,
    growth: Growth,
    plan: GrowthPlan,
    upgrade: str,
    file: str,
    outputs: OutputOptions,
) -> None:
    from trunkline.planning.growth import scale_demands, upgrade_links, write_out_routes
    from trunkline.scenario.resolved.placement import unplaced_paths_allowed

    chosen = growth.kept_routes if upgrade == "kept-routes" else growth.any_routes
    if chosen is None:
        raise click.UsageError("--out needs modules: te.modules of FILE, or --module.")
    if chosen.missing:
        click.echo(f"{outputs.out} is not written: the catalogue is not enough", err=True)
        return
    if upgrade == "kept-routes":
        routed = write_out_routes(scenario)
    else:
        # The routes are still to be found, and not each demand need fit on one path.
        with unplaced_paths_allowed():
            routed = scenario.with_({"te.unplaced": "igp"})
    grown = scale_demands(routed, plan, len(plan.labels) - 1)
    upgraded = upgrade_links(grown, chosen)
    remark = f"Made of {file} by `trunkline te grow`: demands of {plan.labels[-1]}, {upgrade}."
    outputs.write(scenario, f"# {remark}\n{upgraded.text}")
