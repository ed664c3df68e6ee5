"""``trunkline export``: a scenario as commands for real routers."""

import click

from trunkline.cli.common import ScenarioSource, convert_engine_errors, scenario_options
from trunkline.cli.engine_options import place_kernel_errors


@click.command("export", short_help="Write a scenario as commands for real routers.")
@scenario_options
@click.option(
    "--to",
    "target",
    type=click.Choice(["linux"]),
    required=True,
    help="Target of the commands: iproute2 of Linux (ip, tc).",
)
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(file_okay=False),
    help="New folder with one script for each router. Default: standard output.",
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: text by file name.")
def command(
    source: ScenarioSource,
    target: str,
    output: str | None,
    overwrite: bool,
    addresses: str | None,
    test_bed: bool,
    as_json: bool,
) -> None:
    """Write a script of commands for each router of FILE.

    A script sets its router up; with --teardown it removes the setup. If a command fails, the
    script removes its own setup. Its comments name the links, ports, classes and paths of the
    scenario.
    """
    import json
    from pathlib import Path

    if output is not None and Path(output).exists() and not overwrite:
        raise click.UsageError(f"--out {output} exists; --overwrite replaces its scripts.")
    if addresses is not None and test_bed:
        raise click.UsageError("--test-bed has generated addresses; leave out --addresses.")
    scenario = source.load()

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
        folder = Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in script_texts.items():
            (folder / name).write_text(text, encoding="ascii", newline="\n")
            (folder / name).chmod(0o755)
        click.echo(f"{len(script_texts)} scripts written to {folder}", err=True)
    if as_json:
        echo_json(
            {"schema": 1, "to": target, "scripts": script_texts, "notes": list(compiled.notes)}
        )
    elif output is None:
        for text in script_texts.values():
            click.echo(text)
