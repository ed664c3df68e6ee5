"""``trunkline schema``: the JSON Schema of scenario and study files."""

import click

from trunkline.cli.common import echo_json


@click.command("schema", short_help="Print the JSON Schema of scenario or study files.")
@click.argument("of", type=click.Choice(["scenario", "study"]), default="scenario")
def command(of: str) -> None:
    """Print the JSON Schema of scenario or study files; editors complete and check with it."""
    if of == "study":
        from trunkline.study.language.json_schema import build_study_schema as build_schema
    else:
        from trunkline.scenario.json_schema import schema as build_schema

    echo_json(build_schema(), pretty=True)
