"""What the commands of ``trunkline te`` share: options, files written, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from trunkline.cli.common import echo_tables, load_scenario
from trunkline.cli.options import together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trunkline.planning import Plan
    from trunkline.planning.sheets import Sheet
    from trunkline.scenario import Scenario

F = TypeVar("F", bound="Callable[..., Any]")

JSON_SCHEMA = 1
SHOWN = 20


def outputs(scenario: str, picture: str) -> Callable[[F], F]:
    """Options for what a command writes, with what they say of the scenario and the picture."""
    file = click.Path(dir_okay=False)
    return together(
        click.option("-o", "--out", type=file, help=scenario),
        click.option("--picture", type=file, help=picture),
        click.option("--report", type=file, help="Page with map and tables, .html."),
        click.option("--overwrite", is_flag=True, help="Replace earlier files."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )


def leniently(file: str, overrides: tuple[str, ...], strict: bool) -> Scenario:
    """Load a scenario; a path that cannot be placed is listed later, not an error."""
    from trunkline.scenario.resolved.placement import LENIENT

    token = LENIENT.set(True)
    try:
        return load_scenario(file, overrides, strict)
    finally:
        LENIENT.reset(token)


def write_scenario(
    scenario: Scenario,
    file: str,
    out: str,
    remarks: list[str],
    routes: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a scenario with all written out, and the tables it names beside it."""
    from trunkline.planning import explicit

    write_text(scenario, file, out, explicit(scenario, remarks=remarks, routes=routes))


def write_text(scenario: Scenario, file: str, out: str, text: str) -> None:
    """Write a new scenario, and the tables that it names beside it."""
    import shutil
    from pathlib import Path

    here, there = Path(file).parent.resolve(), Path(out).parent.resolve()
    if here != there and file != "-":
        for demand in scenario.demands.values():
            if demand.file is not None:
                target = there / demand.file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(here / demand.file, target)
    Path(out).write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"scenario written to {out}", err=True)


def draw_plan(scenario: Scenario, plan: Plan, picture: str | None, report: str | None) -> None:
    """Draw what was asked for."""
    from trunkline.planning import pictures

    drawn(
        (picture, lambda: pictures.svg(scenario, plan)),
        (report, lambda: pictures.html(scenario, plan)),
    )


def drawn(*wanted: tuple[str | None, Callable[[], str]]) -> None:
    """Write pictures and pages into the files that were named, and say so."""
    from pathlib import Path

    for target, make in wanted:
        if target is not None:
            Path(target).write_text(make(), encoding="utf-8", newline="\n")
            click.echo(f"{target} written", err=True)


def print_sheets(sheets: Sequence[Sheet], last: str, scale: float) -> None:
    """Print tables for people, each cut to what matters most, and a closing line."""
    from trunkline.results.render import add, draw, frame

    tables = []
    for each in sheets:
        table = frame(each.title, each.heads, names=each.names)
        for row in each.rows[: SHOWN if each.ranked else None]:
            add(table, row)
        tables.append(table)
    if scale != 1:
        last += f"; {scaling(scale)}"
    echo_tables(lambda **kind: draw(tables, last, **kind))


def scaling(scale: float) -> str:
    """What running at a scale does."""
    from trunkline.scenario.units import format_ratio

    return (
        f"a run has {format_ratio(scale)} of these rates: queueing times there are "
        f"{1 / scale:.6g} times as long, delays of links are not"
    )
