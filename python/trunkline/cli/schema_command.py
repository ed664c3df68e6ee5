"""``trunkline schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import click

from trunkline.cli.common import echo_json


@click.command("schema", short_help="Print the JSON Schema of scenario files.")
def command() -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check YAML."""
    from trunkline.scenario import schema

    echo_json(schema(), pretty=True)
