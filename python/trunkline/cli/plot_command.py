"""``trunkline plot``: named plots of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli.status import Status

if TYPE_CHECKING:
    from pathlib import Path

    from trunkline.plot.plot_sources import PlotSource

# `--help` lists these without importing the plots; a test compares them with the plots.
PLOT_KINDS = {
    "time-sequence": "bytes sent, sent again, acknowledged and lost over time; needs a trace",
    "cwnd": "congestion window and threshold over time; needs a probe of cwnd",
    "queue": "packets in a port over time; needs a probe of queue-packets",
    "queue-bytes": "bytes in a port over time; needs a probe of queue-bytes",
    "throughput": "throughput over time; needs a probe of throughput",
    "goodput": "goodput over time; needs a probe of goodput",
    "delay": "one-way delay over time; needs a probe of delay",
    "srtt": "smoothed round-trip time over time; needs a probe of srtt",
    "rtt": "samples of the round-trip time over time; needs a probe of rtt",
    "rto": "retransmission timeout over time; needs a probe of rto",
    "pacing-rate": "pace of a sender over time; needs a probe of pacing-rate",
    "inflight": "segments in the network over time; needs a probe of inflight",
    "marks": "marks of a port over time; needs a probe of marks",
    "utilisation": "share of a link's capacity in use; needs a probe of utilisation",
    "cdf": "distribution of one-way delays; needs nothing more",
    "histogram": "density of one-way delays with a fit; needs nothing more",
    "completions": "distribution of times of transfers and pages; needs flows that have them",
    "scores": "opinion scores of calls by DSCP; needs calls",
    "bars": "a column of a table, with intervals over the runs; needs nothing more",
    "convergence": "events of routers and head ends after each failure, and the packets lost",
    "red-curves": "drop probability against average queue of RED ports; needs only a scenario",
    "published": "published values and ours; needs a reproduction",
}
SCENARIO_KINDS = ("red-curves",)  # Kinds that need only a scenario.
FIT_NAMES = ("best", "exponential", "normal", "gamma", "lognormal", "none")
KIND_LIST = "\b\nKinds:\n" + "\n".join(f"  {name:<14}{about}" for name, about in PLOT_KINDS.items())


class PlotRefused(click.ClickException):
    """The results lack data for the plot."""

    exit_code = Status.USAGE


@click.command("plot", short_help="Draw a named plot of results.", epilog=KIND_LIST)
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True))
@click.argument("kind", metavar="KIND")
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Picture to write, .png, .svg or .pdf; default: KIND.png.",
)
@click.option(
    "--only", multiple=True, metavar="NAME", help="Draw only this flow, link or class; repeatable."
)
@click.option("--measure", metavar="COLUMN", help="bars: the column; default: goodput_bit_s.")
@click.option(
    "--table",
    metavar="TABLE",
    help="bars: the table of the column; default: the first that has it. published: a table of "
    "the study.",
)
@click.option(
    "--fit",
    type=click.Choice(FIT_NAMES),
    default="best",
    show_default=True,
    help="histogram: the fit.",
)
@click.option(
    "--from",
    "since",
    type=float,
    metavar="SECONDS",
    default=0.0,
    help="Plots over time: first time; default: the start.",
)
@click.option(
    "--to",
    "until",
    type=float,
    metavar="SECONDS",
    help="Plots over time: last time; default: the end.",
)
@click.option("--title", metavar="WORDS", help="Title in place of the default one.")
def command(
    results: tuple[str, ...],
    kind: str,
    output: str | None,
    only: tuple[str, ...],
    measure: str | None,
    table: str | None,
    fit: str,
    since: float,
    until: float | None,
    title: str | None,
) -> None:
    """Draw KIND from folders that `run --out` or `reproduce --out` wrote, in one picture.

    The kind red-curves also takes scenario files.
    """
    import math
    from pathlib import Path

    if kind not in PLOT_KINDS:
        import difflib

        near = difflib.get_close_matches(kind, PLOT_KINDS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PLOT_KINDS)}"
        raise click.UsageError(f"no kind of plot is called {kind!r}; {hint}")
    target = Path(output or f"{kind}.png")
    ending = target.suffix.removeprefix(".")
    if ending not in ("png", "svg", "pdf"):
        raise click.UsageError(f"-o {target}: a picture ends in .png, .svg or .pdf.")

    from trunkline.plot import save_figure
    from trunkline.plot.kinds import draw
    from trunkline.plot.plot_sources import MissingData, PlotChoice
    from trunkline.results.terminal_tables import escape_unprintable

    sources = [load_source(Path(folder), label, kind) for folder, label in label_folders(results)]
    end = math.inf if until is None else until
    choice = PlotChoice(frozenset(only), measure, table, fit, title, since, end)
    try:
        figure = draw(kind, sources, choice)
    except MissingData as error:
        raise PlotRefused("\n".join(map(escape_unprintable, str(error).splitlines()))) from error
    save_figure(figure, target)
    click.echo(f"{kind} written to {target}", err=True)


def label_folders(folders: tuple[str, ...]) -> list[tuple[str, str]]:
    """Give each folder a distinct label: its name, or as much of its path as is needed."""
    from pathlib import Path

    parts = [Path(folder).resolve().parts for folder in folders]
    part_count = 1
    while part_count < max(map(len, parts)) and len(
        {folder_parts[-part_count:] for folder_parts in parts}
    ) < len(set(parts)):
        part_count += 1
    return [
        (folder, "/".join(folder_parts[-part_count:]))
        for folder, folder_parts in zip(folders, parts, strict=True)
    ]


def load_source(folder: Path, label: str, kind: str) -> PlotSource:
    """Read results, a reproduction, or a scenario if the kind of picture needs only that.

    label: Name of the source in the picture.
    Raises click.UsageError: The folder has neither results nor a reproduction.
    Raises ScenarioError: The scenario is invalid.
    """
    import json

    from trunkline.plot.plot_sources import PlotSource
    from trunkline.results import store

    if folder.is_file() and kind in SCENARIO_KINDS:
        from trunkline import network as networks, scenario as scenarios

        compiled = networks.compile(scenarios.load(folder)).to_json()
        return PlotSource(label.removesuffix(folder.suffix), network=json.loads(compiled))
    if (folder / "study.json").is_file():
        record = json.loads((folder / "study.json").read_text(encoding="utf-8"))
        return PlotSource(label, (), record)
    if (folder / store.RUN_FILE).is_file():
        network = folder / store.NETWORK_FILE
        network_data = json.loads(network.read_text(encoding="utf-8")) if network.is_file() else {}
        return PlotSource(label, store.read_results(folder), network=network_data)
    raise click.UsageError(f"{folder} holds neither results of a run nor of a reproduction.")
