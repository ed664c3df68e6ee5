"""``trunkline validate``: check a scenario without running it."""

from typing import Any

import click

from trunkline.cli.common import ScenarioSource, echo_json, scenario_options
from trunkline.cli.status import Status


@click.command("validate", short_help="Check a scenario without running it.")
@scenario_options
@click.option("--json", "as_json", is_flag=True, help="Print the diagnostics as JSON.")
def command(source: ScenarioSource, as_json: bool) -> int:
    """Check the scenario in FILE and list all its errors."""
    from trunkline.network import compile
    from trunkline.scenario import ScenarioError

    try:
        scenario = source.load()
        network = compile(scenario)
    except ScenarioError as error:
        if not as_json:
            raise
        echo_json(
            {
                "schema": 1,
                "valid": False,
                "diagnostics": make_diagnostic_documents(error.diagnostics),
            }
        )
        return Status.USAGE
    if as_json:
        echo_json(
            {
                "schema": 1,
                "valid": True,
                "diagnostics": make_diagnostic_documents(scenario.warnings),
            }
        )
        return Status.DONE
    import json

    network_data: dict[str, Any] = json.loads(network.to_json())
    parts = ", ".join(
        f"{len(network_data[key])} {word if len(network_data[key]) != 1 else word[:-1]}"
        for key, word in (
            ("nodes", "nodes"),
            ("links", "one-way links"),
            ("flows", "flows"),
            ("paths", "paths"),
        )
    )
    click.echo(f"{scenario.name}: valid; {parts}")
    return Status.DONE


def make_diagnostic_documents(diagnostics: Any) -> list[dict[str, Any]]:
    """Convert diagnostics to JSON values."""
    keys = ("file", "line", "column", "severity", "code", "message", "path", "given", "allowed")
    return [
        {key: getattr(diagnostic, key) for key in (*keys, "hint")} for diagnostic in diagnostics
    ]
