"""``trunkline te``: traffic engineering: place paths, compare with the optimum, protect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import echo_json, echo_tables, load_scenario, scenario_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.planning import Plan
    from trunkline.scenario import Scenario

JSON_SCHEMA = 1
SHOWN = 20


@click.group("te", short_help="Traffic engineering: place, solve, protect.")
def command() -> None:
    """Place label-switched paths, compare with the optimum, and protect them."""


@command.command("place", short_help="Place the paths of a scenario.")
@scenario_options
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    help="New scenario with every route written out; placing it again gives the same.",
)
@click.option("--picture", type=click.Path(dir_okay=False), help="Utilisation map, as .svg.")
@click.option("--report", type=click.Path(dir_okay=False), help="Page with map and tables, .html.")
@click.option("--overwrite", is_flag=True, help="Replace earlier files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def place(
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
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

    free((out, picture, report), overwrite)
    scenario = leniently(file, overrides, strict)
    plan = planned(scenario)
    if out is not None:
        refused = [each for each in plan.paths if not each.placed]
        write_scenario(
            scenario,
            file,
            out,
            [f"Routes of {file} written out by `trunkline te place`."]
            + [f"Not placed: {each.path}: {each.why}." for each in refused],
        )
    draw(scenario, plan, picture, report)
    if as_json:
        echo_json({"schema": JSON_SCHEMA} | plan.to_dict())
        return
    show(plan)


def leniently(file: str, overrides: tuple[str, ...], strict: bool) -> Scenario:
    """Load a scenario; a path that cannot be placed is listed later, not an error."""
    from trunkline.scenario.resolved.placement import LENIENT

    token = LENIENT.set(True)
    try:
        return load_scenario(file, overrides, strict)
    finally:
        LENIENT.reset(token)


def free(files: Sequence[str | None], overwrite: bool) -> None:
    """Refuse to replace files.

    Raises
    ------
    click.UsageError
        One exists.
    """
    import os

    for each in files:
        if each is not None and os.path.exists(each) and not overwrite:
            raise click.UsageError(f"{each} exists; --overwrite replaces it.")


def write_scenario(scenario: Scenario, file: str, out: str, remarks: list[str]) -> None:
    """Write a scenario with all written out, and the tables it names beside it."""
    import shutil
    from pathlib import Path

    from trunkline.planning import explicit

    here, there = Path(file).parent.resolve(), Path(out).parent.resolve()
    if here != there and file != "-":
        for demand in scenario.demands.values():
            if demand.file is not None:
                target = there / demand.file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(here / demand.file, target)
    Path(out).write_text(explicit(scenario, remarks=remarks), encoding="utf-8", newline="\n")
    click.echo(f"scenario written to {out}", err=True)


def draw(scenario: Scenario, plan: Plan, picture: str | None, report: str | None) -> None:
    """Draw what was asked for."""
    from pathlib import Path

    from trunkline.planning import pictures

    for target, make in ((picture, pictures.svg), (report, pictures.html)):
        if target is not None:
            Path(target).write_text(make(scenario, plan), encoding="utf-8", newline="\n")
            click.echo(f"{target} written", err=True)


def show(plan: Plan) -> None:
    """Print a plan for people."""
    from trunkline.results.render import add, draw, frame, percent, quantity

    refused = [each for each in plan.paths if not each.placed]
    displaced = [each for each in plan.paths if each.displaced_by]
    methods = frame("Maximum link utilisation", ["method", "utilisation", "bound", "gap"])
    for method in plan.methods:
        add(methods, [method.method, *(_ratio(v) for v in (method.mlu, method.bound, method.gap))])
    links = frame("Links by utilisation", ["link", "capacity", "load", "reserved", "utilisation"])
    for link in sorted(plan.links, key=lambda each: -each.utilisation)[:SHOWN]:
        amounts = (link.capacity_bit_s, link.load_bit_s, link.reserved_bit_s)
        add(links, [link.link, *(quantity(v, "bit/s") for v in amounts), percent(link.utilisation)])
    tables = [methods, links]
    if refused:
        table = frame("Not placed", ["path", "why", "bandwidth"], names=2)
        for path in refused[:SHOWN]:
            add(table, [path.path, path.why, quantity(path.bandwidth_bit_s, "bit/s")])
        tables.append(table)
    if displaced:
        table = frame("Displaced", ["path", "by"], names=2)
        for path in displaced[:SHOWN]:
            add(table, [path.path, ", ".join(path.displaced_by)])
        tables.append(table)
    placed = len(plan.paths) - len(refused)
    last = f"{placed} of {len(plan.paths)} paths placed"
    if plan.scale != 1:
        last += f"; {scaling(plan.scale)}"
    echo_tables(lambda **kind: draw(tables, last, **kind))


def scaling(scale: float) -> str:
    """What running at a scale does."""
    from trunkline.scenario.units import format_ratio

    return (
        f"a run has {format_ratio(scale)} of these rates: queueing times there are "
        f"{1 / scale:.6g} times as long, delays of links are not"
    )


def _ratio(value: float | None) -> str:
    from trunkline.results.render import percent

    return "–" if value is None else percent(value)
