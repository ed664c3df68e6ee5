"""What the commands of ``trunkline te`` share: options, files written, tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trunkline.cli.common import Source, echo_json, echo_tables, free
from trunkline.cli.options import gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from trunkline.planning.sheets import Sheet
    from trunkline.scenario import Scenario

F = TypeVar("F", bound="Callable[..., Any]")

JSON_SCHEMA = 1
SHOWN = 20


@dataclass(frozen=True)
class Outputs:
    """What a command writes."""

    out: str | None
    picture: str | None
    report: str | None
    overwrite: bool
    as_json: bool

    def free(self) -> None:
        """Refuse to replace earlier files unless told to."""
        free((self.out, self.picture, self.report), self.overwrite)

    def write(self, scenario: Scenario, text: str) -> None:
        """Write a scenario made of another, with the tables that it names."""
        from trunkline.scenario import ScenarioError
        from trunkline.scenario.save import save, tables_beside

        assert self.out is not None
        try:
            save(text, self.out, tables_beside(scenario), overwrite=self.overwrite)
        except ScenarioError:
            click.echo(f"{self.out} is not written, since it would not load:", err=True)
            raise
        click.echo(f"scenario written to {self.out}", err=True)

    def draw(self, pages: ModuleType, scenario: Scenario, plan: Any) -> None:
        """Write the picture and the page that were asked for."""
        drawn(
            (self.picture, lambda: pages.svg(scenario, plan)),
            (self.report, lambda: pages.html(scenario, plan)),
        )

    def show(self, plan: Any, sheets: Callable[[], Sequence[Sheet]], last: str) -> None:
        """Print a plan, as JSON or as tables with a closing line."""
        if self.as_json:
            echo_json({"schema": JSON_SCHEMA} | plan.to_dict())
        else:
            print_sheets(sheets(), last, plan.scale)


def outputs(scenario: str, picture: str) -> Callable[[F], F]:
    """Options for what a command writes, with what they say of the scenario and the picture."""
    file = click.Path(dir_okay=False)
    return gathered(
        "outputs",
        Outputs,
        click.option("-o", "--out", type=file, help=scenario),
        click.option("--picture", type=file, help=picture),
        click.option("--report", type=file, help="Page with map and tables, .html."),
        click.option("--overwrite", is_flag=True, help="Replace earlier files."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )


def leniently(source: Source) -> Scenario:
    """Load a scenario; a path that cannot be placed is listed later, not an error."""
    from trunkline.scenario.resolved.placement import unplaced_paths_allowed

    with unplaced_paths_allowed():
        return source.load()


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
