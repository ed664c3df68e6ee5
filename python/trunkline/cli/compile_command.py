"""``trunkline compile``: print the compiled network, the input of the engine."""

import click

from trunkline.cli.common import SEED_TYPE, ScenarioSource, echo_json, scenario_options


@click.command("compile", short_help="Print the compiled network as JSON.")
@scenario_options
@click.option("--seed", type=SEED_TYPE, help="Seed to write into the network.")
@click.option("--pretty", is_flag=True, help="Indent the JSON; the hash is that of the other form.")
def command(source: ScenarioSource, seed: int | None, pretty: bool) -> None:
    """Print the compiled network of FILE: canonical JSON, every default written out."""
    from trunkline.network import compile

    written = compile(source.load(), seed=seed).to_json()
    if pretty:
        import json

        echo_json(json.loads(written), pretty=True)
    else:
        click.echo(written)
