"""``trunkline verify``: the simulator against the Linux kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.common import SEED, engine_faults, load_scenario, scenario_options
from trunkline.cli.engine_option import RUNNERS
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.linux.verify import Verdict

MOST_SEEDS = 1000


@click.command("verify", short_help="Compare the simulator with the Linux kernel.")
@scenario_options
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
    seed: int | None,
    seeds: int,
    runner: str | None,
    as_json: bool,
) -> int:
    """Run FILE in the simulator and in a Linux kernel, with the same traffic, and compare.

    Ends with status 3 if a measure differs by more than its tolerance.
    """
    scenario = load_scenario(file, overrides, strict)

    from trunkline.cli.common import echo_json, echo_tables
    from trunkline.linux.verify import verify
    from trunkline.network import compile

    first = scenario.run.seed if seed is None else seed
    if first + seeds > 2**64:
        raise click.UsageError(f"--seed {first} with --seeds {seeds} goes beyond 2^64 - 1.")
    listed = range(first, first + seeds)
    with engine_faults():
        verdict = verify(compile(scenario, seed=first).to_json(), list(listed), runner=runner)
    if as_json:
        echo_json(verdict.to_json())
    else:
        echo_tables(lambda **how: render(verdict, **how))
    return Status.DONE if verdict.agrees else Status.NOT_HELD


def render(verdict: Verdict, *, width: int | None = None, colour: bool = False) -> str:
    """The verdict as a table.

    Parameters
    ----------
    verdict : Verdict
        What came of it.
    width : int, optional
        Columns of the terminal.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    from trunkline.results.render import add, draw, frame

    drawn = frame(
        "Simulator against kernel",
        ["", "measure", "simulator", "kernel", "difference", "tolerance", "verdict"],
        names=2,
    )
    for row in verdict.rows:
        numbers = (row.simulator, row.kernel, row.difference, row.tolerance)
        verdict_text = "agrees" if row.agrees else "DIFFERS"
        add(
            drawn,
            [
                row.subject,
                f"{row.measure} [{row.unit}]" if row.unit else row.measure,
                *(f"{each:.6g}" for each in numbers),
                verdict_text,
            ],
        )
    parts = [drawn]
    if verdict.notes:
        listed = frame("Known differences", ["what the kernel does otherwise"])
        for note in verdict.notes:
            add(listed, [note])
        parts.append(listed)
    number = sum(not row.agrees for row in verdict.rows)
    how = "packet by packet" if verdict.exact else "by means over the seeds"
    said = "all agree" if verdict.agrees else f"{number} of {len(verdict.rows)} differ"
    seeds = f"seeds {verdict.seeds[0]} to {verdict.seeds[-1]}"
    if len(verdict.seeds) == 1:
        seeds = f"seed {verdict.seeds[0]}"
    return draw(parts, f"{said}; {how}, {seeds}; {verdict.kernel}", width=width, colour=colour)
