"""Options of commands that simulate each link of a network alone, and the table of their error."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.option_groups import combine_options
from trunkline.cli.status import Status
from trunkline.cli.study_command import convert_study_errors
from trunkline.decomposition.defaults import DEFAULT_CHECK_S, DEFAULT_LINK_PACKETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trunkline.cli.study_command import WorkerOptions
    from trunkline.decomposition.engine import DecomposedRun
    from trunkline.decomposition.full_check import FullCheck
    from trunkline.decomposition.link_execution import LinkExecutor
    from trunkline.network import Network
    from trunkline.planning.text_tables import TextTable
    from trunkline.scenario import Scenario


class DurationType(click.ParamType):  # type: ignore[type-arg]
    """A time, ``60 s`` or ``60s``, in seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the time."""
        from trunkline.scenario.units import UnitError, parse_time

        if isinstance(value, float):
            return value
        try:
            nanoseconds = parse_time(str(value))
        except UnitError as error:
            self.fail(f"{value!r} is no time: {error}.", param, ctx)
        if nanoseconds <= 0:
            self.fail(f"{value!r} is not above zero.", param, ctx)
        return nanoseconds / 1e9


link_run_options = combine_options(
    click.option(
        "--check",
        "check_s",
        type=DurationType(),
        metavar="TIME",
        help="With each link alone: time of one core for a full run that measures the error. "
        f"Default: {DEFAULT_CHECK_S:g} s.",
    ),
    click.option(
        "--link-packets",
        type=click.IntRange(1000, 100_000_000),
        metavar="N",
        help="With each link alone: packets that reach each link. "
        f"Default: {DEFAULT_LINK_PACKETS}.",
    ),
)
"""``--check`` and ``--link-packets``."""


def get_link_run_parameters(check_s: float | None, link_packets: int | None) -> dict[str, Any]:
    """Return the parameters of a decomposition, with their defaults."""
    return {"check_s": check_s or DEFAULT_CHECK_S, "packets": link_packets or DEFAULT_LINK_PACKETS}


@contextmanager
def open_link_runs(workers: WorkerOptions, out: str | None) -> Iterator[LinkExecutor]:
    """Make the executor of links; with `out` it keeps them next to that file or folder.

    Raises click.UsageError, MissingResources: There is nothing to resume, or no cluster.
    Raises click.exceptions.Exit: The user interrupted the links.
    """
    from trunkline.decomposition.link_execution import LINK_JOURNAL_SUFFIX, LinkJournal
    from trunkline.planning.link_cluster import choose_link_executor

    if workers.resume and out is None:
        raise click.UsageError("--resume needs --out, whose name the file with the links has.")
    execute = choose_link_executor(workers.make_run_options())
    journal = None
    if out is not None:
        path = Path(out)
        journal = LinkJournal(
            path.with_name(path.name + LINK_JOURNAL_SUFFIX), resume=workers.resume
        )
        execute = journal.keep_runs(execute)
    try:
        with convert_study_errors(out):
            yield execute
    except KeyboardInterrupt:
        hint = f"resume with --resume --out {out}" if out else "nothing was kept"
        click.echo(f"interrupted; {hint}", err=True)
        raise click.exceptions.Exit(Status.INTERRUPTED) from None
    finally:
        if journal is not None:
            journal.close()


def show_progress(workers: WorkerOptions, counted: str) -> Callable[[int, int], None]:
    """Show the progress of a function that calls this with how many are done and of how many.

    Without ``--progress`` only on a terminal.
    """
    from trunkline.study.run.progress import choose_progress

    progress = workers.make_progress(counted) if workers.progress else choose_progress(counted)

    def show(done: int, total: int) -> None:
        if done == 1:
            progress.begin(total, 0)
        progress.count_ended(0)
        progress.report_if_due()
        if done == total:
            progress.end()

    return show


def run_decomposed(
    network: Network,
    scenario: Scenario,
    seed: int,
    workers: WorkerOptions,
    out: str | None,
    parameters: dict[str, Any],
) -> DecomposedRun:
    """Simulate each link of a network alone.

    out: Folder of the results, next to which the links are kept.
    Raises ScenarioError: Parts of the network tie its links together.
    """
    from trunkline.cli.engine_options import placed_means
    from trunkline.decomposition.engine import simulate
    from trunkline.fluid.engine import list_omissions

    for note in list_omissions(network.data):
        click.echo(f"note: {note}", err=True)
    with placed_means(scenario, engine="decompose"), open_link_runs(workers, out) as execute:
        return simulate(
            network.to_json(),
            scenario=scenario.text,
            seed=seed,
            threads=workers.threads,
            execute=execute,
            on_done=show_progress(workers, "links run"),
            **parameters,
        )


def tabulate_check(check: FullCheck) -> TextTable:
    """The errors of each class."""
    from trunkline.planning.text_tables import TextTable
    from trunkline.results.number_format import format_percent

    rows = [
        [
            each.dscp,
            str(each.flows),
            format_percent(each.mean_error),
            format_percent(each.p99_error),
            format_percent(each.max_p99_error),
            format_percent(each.aggregate_p99_error),
            format_percent(each.queueing_error),
            f"{format_percent(each.loss)} {100 * each.loss_error:+.2g}",
        ]
        for each in check.classes
    ]
    heads = ["class", "flows", "mean delay", "p99", "worst p99", "p99 of class", "mean wait"]
    return TextTable(
        "Error against a full run", [*heads, "loss, error in points"], rows, 1, is_ranked=False
    )


def describe_check(check: FullCheck) -> str:
    """Describe which links were compared with a full run, and which were not."""
    from trunkline.results.number_format import format_count, format_quantity

    hint = f"--check '{math.ceil(check.needed_s)} s' would do" if check.needed_s else "no packets"
    if not check.seconds:
        return (
            "NOT CHECKED: --check allows no full run that is longer than the delays of its paths; "
            f"{hint}"
        )
    line = (
        f"error: compared with all packets for {format_quantity(check.seconds, 's')}, "
        f"{format_count(check.packets)} packets"
    )
    if check.uncompared:
        line += f"; NOT CHECKED, too few packets: {', '.join(check.uncompared)} ({hint})"
    return line
