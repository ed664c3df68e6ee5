"""Shared parts of the commands of ``trunkline te``: options, output files, tables."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import ScenarioSource, echo_json, echo_tables, refuse_existing_files
from trunkline.cli.option_groups import DecoratedFunction, gather_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from trunkline.planning.text_tables import TextTable
    from trunkline.scenario import Scenario


JSON_SCHEMA = 1
MAX_RANKED_ROWS = 20


@dataclass(frozen=True)
class OutputOptions:
    """The files and the form of a command's output."""

    out: str | None
    picture: str | None
    report: str | None
    overwrite: bool
    as_json: bool

    def refuse_existing(self) -> None:
        """Refuse to replace earlier files, except with ``--overwrite``."""
        refuse_existing_files((self.out, self.picture, self.report), self.overwrite)

    def write(self, scenario: Scenario, text: str) -> None:
        """Write a scenario derived from another, with the tables of that one."""
        from trunkline.scenario import ScenarioError
        from trunkline.scenario.save import read_scenario_tables, save

        assert self.out is not None
        try:
            save(text, self.out, read_scenario_tables(scenario), overwrite=self.overwrite)
        except ScenarioError:
            click.echo(f"{self.out} was not written, because it would be invalid:", err=True)
            raise
        click.echo(f"scenario written to {self.out}", err=True)

    def write_pictures(self, pages: ModuleType, scenario: Scenario, plan: Any) -> None:
        """Write the picture and the page that the options name."""
        write_pages(
            (self.picture, lambda: pages.svg(scenario, plan)),
            (self.report, lambda: pages.html(scenario, plan)),
        )

    def print_plan(
        self,
        plan: Any,
        sheets: Callable[[], Sequence[TextTable]],
        last: str,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Print a plan, as JSON with some more keys, or as tables with a closing line."""
        if self.as_json:
            echo_json({"schema": JSON_SCHEMA} | plan.to_dict() | more)
        else:
            print_tables(sheets(), last, plan.scale)


def parse_failure_kinds(kinds: str, *more: str, may_be_none: bool = False) -> list[str]:
    """Read the value of ``--each``: kinds of failures, those of ``more`` too, or none."""
    from trunkline.planning.failures import FAILURE_KINDS

    words = [word for word in kinds.split(",") if word]
    if may_be_none and words == ["none"]:
        return []
    allowed = [kind for kind in FAILURE_KINDS if kind != "pair" or kind in more]
    if not words or set(words) - set(allowed):
        known = ", ".join(allowed) + " or none" * may_be_none
        raise click.UsageError(f"--each takes {known}, not {kinds!r}.")
    return words


def output_options(
    scenario: str, picture: str, *, is_folder: bool = False
) -> Callable[[DecoratedFunction], DecoratedFunction]:
    """Add the output options, with the given help for the scenario, or folder, and the picture."""
    file = click.Path(dir_okay=False)
    place = click.Path(file_okay=False) if is_folder else file
    return gather_options(
        "outputs",
        OutputOptions,
        click.option("-o", "--out", type=place, help=scenario),
        click.option("--picture", type=file, help=picture),
        click.option("--report", type=file, help="Page with map and tables, .html."),
        click.option("--overwrite", is_flag=True, help="Replace earlier files."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )


def load_leniently(source: ScenarioSource) -> Scenario:
    """Load a scenario; a path that cannot be placed is no error, because tables list it."""
    from trunkline.scenario.resolved.placement import unplaced_paths_allowed

    with unplaced_paths_allowed():
        return source.load()


def write_pages(*pages: tuple[str | None, Callable[[], str]]) -> None:
    """Write pictures and pages into the given files, and print their names."""
    from pathlib import Path

    for target, make in pages:
        if target is not None:
            Path(target).write_text(make(), encoding="utf-8", newline="\n")
            click.echo(f"{target} written", err=True)


def print_tables(sheets: Sequence[TextTable], closing_line: str, scale: float) -> None:
    """Print tables, ranked ones with their first rows only, and a closing line."""
    from trunkline.results.terminal_tables import add_text_row, begin_table, render_to_text

    tables = []
    for sheet in sheets:
        table = begin_table(sheet.title, sheet.heads, names=sheet.name_columns)
        for row in sheet.rows[: MAX_RANKED_ROWS if sheet.is_ranked else None]:
            add_text_row(table, row)
        tables.append(table)
    if scale != 1:
        closing_line += f"; {describe_scaling(scale)}"
    echo_tables(lambda **kind: render_to_text(tables, closing_line, **kind))


def describe_scaling(scale: float) -> str:
    """Describe the effect of a scale on a run."""
    from trunkline.scenario.units import format_ratio

    return (
        f"a run has {format_ratio(scale)} of these rates: queueing times there are "
        f"{1 / scale:.6g} times as long, delays of links are not"
    )
