"""``trunkline import``: configurations of routers as port configurations."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("import", short_help="Translate configurations of routers.")
def command() -> None:
    """Translate configurations of routers into port configurations."""


@command.command("tcng", short_help="Read a tcng configuration of Linux traffic control.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def tcng(file: str) -> None:
    """Print the `ports` of a scenario that do what the tcng configuration in FILE does."""
    import yaml

    from trunkline.scenario.tcng import TcngError, read

    try:
        ports, words = read(Path(file).read_text("utf-8"))
    except (TcngError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file}: {error}") from None
    for line in words:
        click.echo(f"# {line}")
    click.echo(yaml.safe_dump({"ports": ports}, sort_keys=False, allow_unicode=True), nl=False)
