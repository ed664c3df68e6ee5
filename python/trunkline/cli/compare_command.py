"""``trunkline compare``: two scenarios or results, by intervals of differences, with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import SEED, echo_json, echo_tables, engine_faults
from trunkline.cli.engine_option import ENGINES, run_linux
from trunkline.cli.replication import METRIC_HELP, MOST_RUNS, Percent, say_precision, until_options
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.compare import Side


@click.command("compare", short_help="Compare two scenarios or results by intervals.")
@click.argument("a", type=click.Path(exists=True))
@click.argument("b", type=click.Path(exists=True))
@click.option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
    default=10,
    show_default=True,
    help="Pairs of runs, where scenarios are run.",
)
@until_options(
    "As many pairs as it takes until half of the 95 % interval of every difference is within "
    "this share of the larger mean.",
    "pairs",
)
@click.option("--seed", type=SEED, help="Seed of the first pair; default: that of A.")
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
    type=click.Choice(ENGINES),
    default="sim",
    show_default=True,
    help="What runs A: the packet simulator, or a Linux kernel in virtual time.",
)
@click.option(
    "--engine-b",
    type=click.Choice(ENGINES),
    default="sim",
    show_default=True,
    help="What runs B.",
)
@click.option(
    "--within",
    type=Percent(),
    metavar="PERCENT",
    help="Margin of equivalence: the whole interval of the difference must be within this share "
    "of A's mean.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="End with 3 if the sides differ, or are not sure to be equal --within the margin.",
)
@click.option("--threads", type=click.IntRange(1, 4096), help="Runs at a time; default: all cores.")
@click.option("--all", "whole", is_flag=True, help="Show all differences, not the largest 40.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(
    a: str,
    b: str,
    runs: int,
    until_ci: float | None,
    max_runs: int,
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
    whole: bool,
    as_json: bool,
) -> int:
    """Compare A with B, each a scenario file or a folder of results.

    Both sides run with the same seeds, so that what chance does to both cancels in their
    differences; results that share no seed are compared as separate means. Every difference has
    its 95 % interval; its p-value is adjusted for the number of metrics.
    """
    from dataclasses import asdict

    from trunkline.compare import USUAL, compare, compare_until
    from trunkline.compare.render import render
    from trunkline.stats.metric import parse

    try:
        wanted = [parse(text) for text in metrics] or USUAL
    except ValueError as error:
        raise click.UsageError(f"--metric: {error}.") from None
    of_a, of_b = side(a, (*both, *only_a), engine_a), side(b, (*both, *only_b), engine_b)
    if seed is not None and (of_a.stored or of_b.stored):
        raise click.UsageError("--seed is for scenarios: results have their seeds.")
    if until_ci is not None and (of_a.stored or of_b.stored):
        raise click.UsageError("--until-ci is for scenarios: results have the runs they have.")
    how: dict[str, Any] = {"seed": seed, "within": within, "threads": threads}
    reached = None
    with engine_faults():
        try:
            if until_ci is None:
                done = compare(of_a, of_b, wanted, runs=runs, **how)
            else:
                done, reached = compare_until(of_a, of_b, wanted, until_ci, most=max_runs, **how)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise click.UsageError(f"{error}.") from None
    about = done.to_json()
    if reached is not None and until_ci is not None:
        click.echo(say_precision(reached, until_ci), err=True)
        about["precision"] = {"wanted": until_ci, **asdict(reached)}
    if as_json:
        echo_json(about)
    else:
        echo_tables(lambda **how: render(done, whole=whole, **how))
    return Status.NOT_HELD if judge and not done.held else Status.DONE


def side(place: str, items: tuple[str, ...], engine: str = "sim") -> Side:
    """One side of the comparison.

    Parameters
    ----------
    items : tuple of str
        ``path=value`` each, to be set in the scenario.
    engine : {"sim", "linux"}
        What runs the scenario.

    Raises
    ------
    ScenarioError
        The scenario is invalid.
    click.UsageError
        An override is malformed, the folder holds no results, or they are damaged.
    """
    import os

    from trunkline.cli.common import load_scenario
    from trunkline.compare import Side

    if os.path.isdir(place):
        if items:
            raise click.UsageError(f"{place} holds results: nothing can be set in them.")
        if engine != "sim":
            raise click.UsageError(f"{place} holds results: they were made by their engine.")
        if not os.path.exists(os.path.join(place, "run.json")):
            raise click.UsageError(f"{place} holds no results (run.json).")
        try:
            return Side.of_folder(place)
        except (ValueError, KeyError) as error:
            raise click.UsageError(f"{place} cannot be read: {error}.") from None
    scenario = load_scenario(place, items, strict=False)
    if engine == "sim":
        return Side.of_scenario(scenario, place)
    return Side.of_scenario(
        scenario,
        f"{place} on Linux",
        run=lambda network, seeds, _: run_linux(network, seeds, None, scenario),
    )
