"""``trunkline compare``: two scenarios or results, by intervals of differences, with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import SEED_TYPE, convert_engine_errors, echo_json, echo_tables
from trunkline.cli.engine_options import ENGINE_NAMES, run_linux_engine
from trunkline.cli.replication import (
    KNOWN_SOURCES,
    MAX_RUNS_OPTION,
    METRIC_HELP,
    PercentType,
    format_precision,
    interval_option,
    until_options,
)
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trunkline.compare import ComparisonOperand
    from trunkline.stats.control_variates import OfferedMean


@click.command("compare", short_help="Compare two scenarios or results by intervals.")
@click.argument("a", type=click.Path(exists=True))
@click.argument("b", type=click.Path(exists=True))
@click.option(
    "--runs",
    type=click.IntRange(1, MAX_RUNS_OPTION),
    default=10,
    show_default=True,
    help="Number of pairs of runs, for scenarios.",
)
@until_options(
    "Add pairs until half of the 95 % interval of every difference is within this share of the "
    "larger mean.",
    "pairs",
)
@interval_option
@click.option("--seed", type=SEED_TYPE, help="Seed of the first pair; default: that of A.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="[TABLE.]COLUMN[@ROW]",
    help=f"{METRIC_HELP} Default: goodput, delay, its 99th percentile and loss of every flow.",
)
@click.option("--set", "both", multiple=True, metavar="PATH=VALUE", help="Set a value in A and B.")
@click.option("--set-a", "only_a", multiple=True, metavar="PATH=VALUE", help="Set a value in A.")
@click.option("--set-b", "only_b", multiple=True, metavar="PATH=VALUE", help="Set a value in B.")
@click.option(
    "--engine-a",
    type=click.Choice(ENGINE_NAMES),
    default="sim",
    show_default=True,
    help="Engine for A: the packet simulator, or a Linux kernel in virtual time.",
)
@click.option(
    "--engine-b",
    type=click.Choice(ENGINE_NAMES),
    default="sim",
    show_default=True,
    help="Engine for B.",
)
@click.option(
    "--within",
    type=PercentType(),
    metavar="PERCENT",
    help="Margin of equivalence: all of the interval of the difference must be within this share "
    "of A's mean.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="Exit with status 3 if the sides differ, or with --within if they may differ by more.",
)
@click.option("--threads", type=click.IntRange(1, 4096), help="Runs at a time; default: all cores.")
@click.option("--all", "show_all", is_flag=True, help="Show all differences, not the largest 40.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(
    a: str,
    b: str,
    runs: int,
    until_ci: float | None,
    max_runs: int,
    interval: str,
    seed: int | None,
    metrics: tuple[str, ...],
    both: tuple[str, ...],
    only_a: tuple[str, ...],
    only_b: tuple[str, ...],
    engine_a: str,
    engine_b: str,
    within: float | None,
    judge: bool,
    threads: int | None,
    show_all: bool,
    as_json: bool,
) -> int:
    """Compare A with B, each a scenario file or a folder of results.

    Both sides run with the same seeds, so that the effect of chance on both cancels in their
    differences. Results without a common seed are compared as separate means. Every difference
    has its 95 % interval; its p-value is adjusted for the number of metrics.
    """
    from dataclasses import asdict

    from trunkline.compare import DEFAULT_COMPARED_METRICS, compare_operands, compare_until_precise
    from trunkline.compare.comparison_table import render_comparison
    from trunkline.stats.metric import parse_metric

    try:
        parsed_metrics = [parse_metric(text) for text in metrics] or DEFAULT_COMPARED_METRICS
    except ValueError as error:
        raise click.UsageError(f"--metric: {error}.") from None
    operand_a = load_operand(a, (*both, *only_a), engine_a)
    operand_b = load_operand(b, (*both, *only_b), engine_b)
    if seed is not None and (operand_a.is_stored or operand_b.is_stored):
        raise click.UsageError("--seed is for scenarios; stored results already have seeds.")
    if until_ci is not None and (operand_a.is_stored or operand_b.is_stored):
        raise click.UsageError("--until-ci is for scenarios; stored results get no more runs.")
    how: dict[str, Any] = {"seed": seed, "within": within, "threads": threads}
    if interval == "controlled":
        how["offered_means"] = _read_offered_means(operand_a), _read_offered_means(operand_b)
        if not any(how["offered_means"]):
            raise click.UsageError(f"--interval controlled needs {KNOWN_SOURCES}.")
    precision = None
    with convert_engine_errors():
        try:
            if until_ci is None:
                comparison = compare_operands(
                    operand_a, operand_b, parsed_metrics, runs=runs, **how
                )
            else:
                comparison, precision = compare_until_precise(
                    operand_a, operand_b, parsed_metrics, until_ci, max_pairs=max_runs, **how
                )
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise click.UsageError(f"{error}.") from None
    document = comparison.to_json()
    if precision is not None and until_ci is not None:
        click.echo(format_precision(precision, until_ci), err=True)
        document["precision"] = {"wanted": until_ci, **asdict(precision)}
    if as_json:
        echo_json(document)
    else:
        echo_tables(lambda **how: render_comparison(comparison, show_all=show_all, **how))
    return Status.NOT_HELD if judge and not comparison.held else Status.DONE


def _read_offered_means(operand: ComparisonOperand) -> Mapping[str, OfferedMean]:
    """Read the known mean loads of a side; none of results without their network."""
    from trunkline.fluid.offered_means import read_offered_means

    return {} if operand.network is None else read_offered_means(operand.network)


def load_operand(source: str, overrides: tuple[str, ...], engine: str = "sim") -> ComparisonOperand:
    """Load one side of the comparison.

    overrides: ``path=value`` each, to set in the scenario.
    engine: one of "sim", "linux"; engine that runs the scenario.
    Raises ScenarioError: The scenario is invalid.
    Raises click.UsageError: An override is malformed, the folder holds no results, or they are
        damaged.
    """
    import os

    from trunkline.cli.common import load_scenario
    from trunkline.compare import ComparisonOperand

    if os.path.isdir(source):
        if overrides:
            raise click.UsageError(f"{source} holds results: nothing can be set in them.")
        if engine != "sim":
            raise click.UsageError(f"{source} holds results: --engine is for scenarios.")
        if not os.path.exists(os.path.join(source, "run.json")):
            raise click.UsageError(f"{source} holds no results (run.json is missing).")
        try:
            return ComparisonOperand.read_folder(source)
        except (ValueError, KeyError) as error:
            raise click.UsageError(f"{source} cannot be read: {error}.") from None
    scenario = load_scenario(source, overrides, strict=False)
    if engine == "sim":
        return ComparisonOperand.from_scenario(scenario, source)
    return ComparisonOperand.from_scenario(
        scenario,
        f"{source} on Linux",
        run=lambda network, seeds, _: run_linux_engine(network, seeds, None, scenario),
    )
