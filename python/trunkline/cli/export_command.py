"""``trunkline export``: a scenario as commands for real routers."""

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import ScenarioSource, convert_engine_errors, scenario_options
from trunkline.cli.engine_options import place_kernel_errors

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from trunkline.linux.plan.command_target import CommandTarget
    from trunkline.routers import RouterExport
    from trunkline.scenario import Scenario

_ROUTER_TARGETS = ("openconfig", "frr", "containerlab", "iosxr", "junos")


@click.command("export", short_help="Write a scenario as commands for real routers.")
@scenario_options
@click.option(
    "--to",
    "targets",
    type=click.Choice(["linux", *_ROUTER_TARGETS]),
    required=True,
    multiple=True,
    help="Target: commands of iproute2 (linux), or configurations of routers. Several: a folder "
    "for each in --out.",
)
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(file_okay=False),
    help="New folder with the files of each router. Default: standard output (linux alone).",
)
@click.option("--overwrite", is_flag=True, help="Replace files of an earlier export in --out.")
@click.option(
    "--addresses",
    type=click.Path(dir_okay=False),
    help="YAML file with devices and addresses of the routers. Missing ones are generated.",
)
@click.option(
    "--test-bed",
    is_flag=True,
    help="Write the commands of the guest: links limited to rate and delay, fixed neighbours, "
    "settings of TCP.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Write what a target can express; list the rest in omissions.csv.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: text by file name.")
def command(
    source: ScenarioSource,
    targets: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    addresses: str | None,
    test_bed: bool,
    partial: bool,
    as_json: bool,
) -> None:
    """Write FILE as configurations of real routers, or as commands of Linux.

    A script of linux sets its router up; with --teardown it removes the setup. The other targets
    write one or more files for each router, and two tables: omissions.csv has what a target cannot
    express, asked-and-expressed.csv the quantities that change in translation.
    """
    from pathlib import Path

    if output is not None and Path(output).exists() and not overwrite:
        raise click.UsageError(f"--out {output} exists; --overwrite replaces its files.")
    if addresses is not None and test_bed:
        raise click.UsageError("--test-bed has generated addresses; leave out --addresses.")
    targets = tuple(dict.fromkeys(targets))
    if "linux" not in targets:
        if test_bed:
            raise click.UsageError("--test-bed is of --to linux.")
        if output is None and not as_json:
            raise click.UsageError("give --out FOLDER, or --json.")
        _export_routers(source.load(), targets, output, addresses, partial, as_json)
        return
    if len(targets) > 1 or partial:
        raise click.UsageError("--to linux goes alone, and without --partial.")
    _export_linux(source.load(), output, addresses, test_bed, as_json)


def _export_linux(
    scenario: "Scenario", output: str | None, addresses: str | None, test_bed: bool, as_json: bool
) -> None:
    """Write the scripts of iproute2."""
    import json
    from pathlib import Path

    from trunkline.cli.common import echo_json
    from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget, read_command_target
    from trunkline.linux.plan.compiled_plan import compile_plan as plan
    from trunkline.linux.plan.router_scripts import write_router_scripts
    from trunkline.network import compile
    from trunkline.results.terminal_tables import escape_unprintable

    with convert_engine_errors(), place_kernel_errors(scenario):
        network = compile(scenario).to_json()
        ground = CommandTarget(on_routers=True)
        if addresses is not None:
            ground = read_command_target(addresses, json.loads(network))
        compiled = plan(network, target=GUEST_TARGET if test_bed else ground)
    for note in compiled.notes:
        click.echo(f"note: {escape_unprintable(note)}", err=True)
    script_texts = write_router_scripts(compiled)
    if output is not None:
        _write_files(Path(output), script_texts)
        click.echo(f"{len(script_texts)} scripts written to {output}", err=True)
    if as_json:
        echo_json(
            {"schema": 1, "to": "linux", "scripts": script_texts, "notes": list(compiled.notes)}
        )
    elif output is None:
        for text in script_texts.values():
            click.echo(text)


def _write_files(folder: "Path", texts: dict[str, str]) -> None:
    """Write files; scripts may be run."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
        if name.endswith(".sh"):
            file.chmod(0o755)


def _export_routers(
    scenario: "Scenario",
    targets: tuple[str, ...],
    output: str | None,
    addresses: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    """Write the configurations of routers."""
    from pathlib import Path

    from trunkline.cli.common import echo_json
    from trunkline.routers import ExportRefused, export_routers

    with convert_engine_errors():
        try:
            exports = export_routers(
                scenario, targets, _read_addresses(scenario, addresses), partial=partial
            )
        except ExportRefused as refused:
            raise refused.error from None
    for export in exports:
        if output is not None:
            folder = Path(output) / export.target if len(exports) > 1 else Path(output)
            _write_files(folder, export.list_files())
            click.echo(f"{export.target}: {_count_files(export)} written to {folder}", err=True)
    if as_json:
        echo_json(
            {
                "schema": 1,
                "exports": [
                    {
                        "to": export.target,
                        "files": dict(export.texts),
                        "omissions": _pick(
                            export.omissions, "router element reason changes_design"
                        ),
                        "asked_and_expressed": _pick(
                            export.rounded,
                            "router element quantity asked expressed difference unit",
                        ),
                    }
                    for export in exports
                ],
            }
        )


def _pick(rows: "Iterable[object]", names: str) -> list[dict[str, Any]]:
    """List some attributes of each row, in this order."""
    return [{name: getattr(row, name) for name in names.split()} for row in rows]


def _count_files(export: "RouterExport") -> str:
    parts = [f"{len(export.texts)} files"]
    if export.omissions:
        lost = sum(each.changes_design for each in export.omissions)
        parts.append(f"{len(export.omissions)} omissions, {lost} change the design")
    if export.rounded:
        parts.append(f"{len(export.rounded)} quantities changed")
    return "; ".join(parts)


def _read_addresses(scenario: "Scenario", addresses: str | None) -> "CommandTarget | None":
    """Read the file of --addresses."""
    if addresses is None:
        return None
    import json

    from trunkline.linux.plan.command_target import read_command_target
    from trunkline.network import compile

    return read_command_target(addresses, json.loads(compile(scenario).to_json()))
