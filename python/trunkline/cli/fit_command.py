"""``trunkline fit``: fit parameters of a scenario to measurements on a network."""

from __future__ import annotations

import functools

import click

from trunkline.cli.study_command import (
    ExecutionOptions,
    FitOptions,
    execution_options,
    fit_options,
    run_fit,
)


def _parse_pairs(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Parse texts such as NAME=VALUE as a mapping."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{text!r} is not like NAME=VALUE.")
        if name in pairs:
            raise click.BadParameter(f"{name} is given twice.")
        pairs[name] = value
    return pairs


@click.command("fit", short_help="Fit parameters of a scenario to measurements.")
@click.argument("scenario", type=click.Path())
@click.option(
    "--to",
    "measured",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Measurements: the output of tc -s qdisc show, a file of flent, or a capture.",
)
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="NAME=PRIOR",
    callback=_parse_pairs,
    help="Parameter, and what it may be: 'queue=[20 packets, 50 packets]', "
    "'capacity={from: 2 Mbit/s, to: 20 Mbit/s}' or 'delay={mean: 5 ms, deviation: 1 ms}'; "
    "repeatable.",
)
@click.option(
    "--match",
    "matches",
    multiple=True,
    metavar="NAME=PLACE",
    callback=_parse_pairs,
    help="Device, series or flow of the file, and the flow or direction of a link in the scenario; "
    "nothing after the sign leaves it out; repeatable. Default: the same name.",
)
@fit_options
@execution_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    scenario: str,
    measured: str,
    priors: dict[str, str],
    matches: dict[str, str],
    fit_choice: FitOptions,
    execution: ExecutionOptions,
    as_json: bool,
) -> int:
    """Infer parameters of SCENARIO from the measured values in a file.

    Packets that a device sent and dropped are compared with those of a direction of a link, rates
    and round trips with those of a flow. Counts are those of the run: let the scenario last as
    long as the measurement.
    """
    from trunkline.study.fit.scenario_fit import fit_scenario

    fit = functools.partial(fit_scenario, scenario, measured, priors, matches=matches)
    return run_fit(fit, fit_choice, execution, as_json=as_json)
