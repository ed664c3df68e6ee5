"""``trunkline verify``: the simulator against the Linux kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import SEED, engine_faults, load_scenario, override_options
from trunkline.cli.engine_option import RUNNERS, placed
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from trunkline.linux.judge.verify import Verdict

MOST_SEEDS = 1000
SHIPPED = ("diffserv-over-mpls", "hello")
"""The examples that are compared when no FILE is given: DiffServ over MPLS, and TCP."""


@click.command("verify", short_help="Compare the simulator with the Linux kernel.")
@click.argument(
    "files", metavar="[FILE]...", nargs=-1, type=click.Path(dir_okay=False, allow_dash=True)
)
@override_options
@click.option("--seed", type=SEED, help="First seed; the scenario's own if not given.")
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=1,
    show_default=True,
    help="Runs in each engine, with seeds SEED, SEED + 1, ...",
)
@click.option(
    "--runner",
    type=click.Choice(RUNNERS),
    help="What runs the kernel; the first that is ready if not given (never native).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    files: tuple[str, ...],
    overrides: tuple[str, ...],
    strict: bool,
    seed: int | None,
    seeds: int,
    runner: str | None,
    as_json: bool,
) -> int:
    """Run each FILE in the simulator and in a Linux kernel, with the same traffic, and compare.

    Without FILE it compares two of the examples that come with trunkline: diffserv-over-mpls and
    hello, which is TCP through a drop-tail queue.

    Ends with status 3 if a measure differs by more than its tolerance.
    """
    if not files:
        click.echo(f"verify: the examples {' and '.join(SHIPPED)}", err=True)
        with _examples() as folder:
            files = tuple(str(folder / f"{name}.yaml") for name in SHIPPED)
            scenarios = [load_scenario(file, overrides, strict) for file in files]
    else:
        scenarios = [load_scenario(file, overrides, strict) for file in files]

    from functools import partial

    from trunkline.cli.common import echo_json, echo_tables, part_shown
    from trunkline.linux.guest.readiness import choose
    from trunkline.linux.judge.verify import check, verify
    from trunkline.network import compile

    networks = []
    for scenario in scenarios:
        first = scenario.run.seed if seed is None else seed
        if first + seeds > 2**64:
            raise click.UsageError(f"--seed {first} with --seeds {seeds} goes beyond 2^64 - 1.")
        network = compile(scenario, seed=first).to_json()
        networks.append((scenario.name or "scenario", first, network))
    verdicts = []
    with engine_faults():
        # What the kernel cannot do is said before anything runs.
        for scenario, (_, _, network) in zip(scenarios, networks, strict=True):
            with placed(scenario):
                check(network)
        runner = choose(runner)
        for name, first, network in networks:
            show = part_shown(f"verify: {name}, kernel of {runner}")
            try:
                listed = list(range(first, first + seeds))
                verdict = verify(network, listed, runner=runner, on_progress=show)
            finally:
                show(1)
            verdicts.append({"scenario": name, **verdict.to_json()})
            if not as_json:
                echo_tables(partial(render, name, verdict))
    agrees = all(each["agrees"] for each in verdicts)
    if as_json:
        echo_json({"schema": 1, "agrees": agrees, "verdicts": verdicts})
    return Status.DONE if agrees else Status.NOT_HELD


def _examples() -> AbstractContextManager[Path]:
    """The folder of the examples."""
    from importlib.resources import as_file, files

    return as_file(files("trunkline").joinpath("examples"))


def render(
    name: str,
    verdict: Verdict,
    published: Sequence[float | None] = (),
    *,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """The verdict as a table.

    Parameters
    ----------
    name : str
        Of the scenario.
    verdict : Verdict
        What came of it.
    published : sequence of float or None, default ()
        What a document says of each row; a column of its own if it says anything.
    width : int, optional
        Columns of the terminal.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    from trunkline.results.render import add, draw, frame, printable

    said = list(published) if any(each is not None for each in published) else None
    heads = ["simulator", "kernel", "difference", "tolerance", "verdict"]
    drawn = frame(
        f"{printable(name)}: simulator against kernel",
        ["", "measure", *(["published"] if said else []), *heads],
        names=2,
    )
    for number, row in enumerate(verdict.rows):
        numbers = [row.simulator, row.kernel, row.difference, row.tolerance]
        cells = [f"{each:.6g}" for each in numbers]
        if said:
            value = said[number]
            cells.insert(0, "" if value is None else f"{value:g}")
        measure = f"{row.measure} [{row.unit}]" if row.unit else row.measure
        add(drawn, [row.subject, measure, *cells, "agrees" if row.agrees else "DIFFERS"])
    parts = [drawn]
    if verdict.notes:
        listed = frame("Known differences", ["what the kernel does otherwise"])
        for note in verdict.notes:
            add(listed, [note])
        parts.append(listed)
    differ = sum(not row.agrees for row in verdict.rows)
    how = "packet by packet" if verdict.exact else "by means over the seeds"
    whole = "all agree" if verdict.agrees else f"{differ} of {len(verdict.rows)} differ"
    seeds = f"seeds {verdict.seeds[0]} to {verdict.seeds[-1]}"
    if len(verdict.seeds) == 1:
        seeds = f"seed {verdict.seeds[0]}"
    return draw(parts, f"{whole}; {how}, {seeds}; {verdict.kernel}", width=width, colour=colour)
