"""``trunkline share``: a scenario as a page that runs."""

import click

from trunkline.cli.common import (
    SEED_TYPE,
    convert_engine_errors,
    echo_json,
    open_in_browser,
    show_progress,
)


@click.command("share", short_help="Write a scenario as one page that runs it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(dir_okay=False),
    help="Page to write, also over an earlier one. Default: FILE with the ending .html.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a parameter or any value for good; the page does not offer it. Repeatable.",
)
@click.option(
    "--values",
    "value_lists",
    multiple=True,
    metavar="NAME=V1,V2,...",
    help="Values to offer of a parameter. Default for a number: a slider from a tenth of it to ten "
    "times it. Repeatable.",
)
@click.option(
    "--seed", type=SEED_TYPE, help="Seed of the first run. Default: the seed of the scenario."
)
@click.option("--open", "opened", is_flag=True, help="Show the page in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print what was made as one JSON object.")
def command(
    file: str,
    output: str | None,
    overrides: tuple[str, ...],
    value_lists: tuple[str, ...],
    seed: int | None,
    opened: bool,
    as_json: bool,
) -> None:
    """Write the scenario in FILE as one HTML page that runs it.

    The page holds the packet engine, the network, and a control for each parameter. It needs no
    server, no installation and no network: it can be mailed or opened from a disk. Its results are
    those of `trunkline run` with the same values and seed, to the results hash.
    """
    from pathlib import Path

    from trunkline.cli.common import parse_overrides
    from trunkline.share import build_runnable_scenario, write_page

    target = Path(output) if output is not None else Path(file).with_suffix(".html")
    stated = {
        name: [value.strip() for value in values.split(",") if value.strip()]
        for name, values in parse_overrides(value_lists, "--values", "NAME=V1,V2,...").items()
    }
    with (
        convert_engine_errors(),
        show_progress(f"compiling what {Path(file).name} offers") as show,
    ):
        runnable = build_runnable_scenario(
            file,
            overrides=parse_overrides(overrides),
            stated_values=stated,
            seed=seed,
            progress=lambda done, total: show(done / max(total, 1)),
        )
        page = write_page(runnable, target)
    offered = {
        parameter.name: list(parameter.values)
        for group in runnable.variants.groups
        for parameter in group.parameters
    }
    size = page.stat().st_size
    if as_json:
        echo_json(
            {
                "schema": 1,
                "page": str(page),
                "bytes": size,
                "offered": offered,
                "left_out": dict(runnable.variants.left_out),
                "hash": runnable.data["hash"],
            }
        )
    else:
        for name, reason in runnable.variants.left_out:
            click.echo(f"note: {name} is not offered: {reason}", err=True)
        names = ", ".join(offered) or "no parameter"
        click.echo(f"page written to {page} ({size / 1e6:.1f} MB); it offers {names}", err=True)
    if opened:
        open_in_browser(page)
