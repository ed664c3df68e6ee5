"""``trunkline run``: run a scenario and show what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.capture import Capture, capture_options
from trunkline.cli.common import (
    SEED,
    echo_json,
    echo_tables,
    engine_faults,
    load_scenario,
    scenario_options,
)

if TYPE_CHECKING:
    from trunkline.results import Results

# 256 runs of a small scenario take seconds, and nobody means more than a million.
MOST_RUNS = 1_000_000


@click.command("run", short_help="Run a scenario and show the results.")
@scenario_options
@click.option(
    "--seed",
    type=SEED,
    help="Seed of the first run, 0 to 2^64 - 1; the scenario's own (default 1) if not given.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
    default=1,
    show_default=True,
    help="Replications, with seeds SEED, SEED + 1, ...",
)
@click.option("--threads", type=click.IntRange(1, 4096), help="Runs at a time; default: all cores.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Write Parquet tables and run.json into this new folder.",
)
@click.option("--overwrite", is_flag=True, help="Replace earlier results in --out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@capture_options
def command(
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
    seed: int | None,
    runs: int,
    threads: int | None,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    pcap: str | None,
    pcap_at: tuple[str, ...],
    pcap_snaplen: int | None,
) -> None:
    """Run the scenario in FILE (- is standard input)."""
    capture = Capture.of(pcap, pcap_at, pcap_snaplen, runs=runs)
    scenario = load_scenario(file, capture.overrides(overrides), strict)
    if out is not None:
        check_folder(out, overwrite=overwrite)

    from trunkline.engine import simulate
    from trunkline.network import compile

    first = scenario.run.seed if seed is None else seed
    if first + runs > 2**64:
        raise click.UsageError(f"--seed {first} with --runs {runs} goes beyond 2^64 - 1.")
    seeds = list(range(first, first + runs))
    network = compile(scenario, seed=first)
    capture.check(network)
    with engine_faults():
        results = simulate(network, seeds=seeds, threads=threads, scenario=scenario.text)
    if runs > 1 and len({result.hash() for result in results}) == 1:
        click.echo(f"all {runs} runs are alike: nothing in this scenario is random", err=True)
    if out is not None:
        from trunkline.results import store

        folder = store.write(results, out, network_json=network.to_json(), overwrite=overwrite)
        click.echo(f"results written to {folder}", err=True)
    capture.write(results[0], network)
    if as_json:
        echo_json(to_json(results))
    else:
        show(results)


def check_folder(out: str, *, overwrite: bool) -> None:
    """Find out before the run whether its results can be written.

    Parameters
    ----------
    out : str
        Folder to be made.
    overwrite : bool
        It may hold earlier results.

    Raises
    ------
    click.UsageError
        It exists, or its nearest existing parent is not a folder one may write to.
    """
    import os
    from pathlib import Path

    folder = Path(out)
    if folder.exists() and not overwrite:
        raise click.UsageError(f"--out {out} exists; --overwrite replaces earlier results.")
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise click.UsageError(f"--out {out}: {parent} is not a folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise click.UsageError(f"--out {out}: {parent} is not writable.")


def to_json(results: list[Results]) -> dict[str, Any]:
    """The object of ``--json``: that of the run, or of all runs with their seeds.

    Parameters
    ----------
    results : list of Results
        One or more.

    Returns
    -------
    dict
    """
    if len(results) == 1:
        return results[0].to_json()
    return {"schema": 1, "runs": [{"seed": r.seed, **r.to_json()} for r in results]}


def show(results: list[Results]) -> None:
    """Print the tables of one run, or means with intervals over several.

    Parameters
    ----------
    results : list of Results
        One or more.
    """
    if len(results) == 1:
        echo_tables(results[0].render)
        return
    from trunkline.stats.render import render_many

    echo_tables(lambda **how: render_many(results, **how))
