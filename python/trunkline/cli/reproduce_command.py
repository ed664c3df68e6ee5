"""``trunkline reproduce``: a published study as one command."""

from __future__ import annotations

import click

from trunkline.cli.common import echo_json, echo_tables, engine_faults, progress_wanted
from trunkline.cli.run_command import check_folder
from trunkline.cli.status import Status


@click.command("reproduce", short_help="Reproduce a published study.")
@click.argument("name")
@click.option("--seeds", type=click.IntRange(1, 100_000), help="Replications of each point.")
@click.option("--threads", type=click.IntRange(1, 4096), help="Runs at a time; default: all cores.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Write tables and pictures into this new folder.",
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier reproduction in --out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--judge", is_flag=True, help="End with 3 when a claim or criterion does not hold.")
def command(
    name: str,
    seeds: int | None,
    threads: int | None,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    judge: bool,
) -> int:
    """Run the study NAME and compare with what was published.

    Prints our value with its 95 % interval beside each published one, whether each claim holds,
    and what had to be fitted because the publication leaves it unsaid.
    """
    if out is not None:
        check_folder(out, overwrite=overwrite)

    from trunkline.study import reproduce

    try:
        with engine_faults():
            done = reproduce(name, seeds=seeds, progress=progress_wanted(), threads=threads)
    except LookupError as error:
        raise click.UsageError(str(error.args[0] if error.args else error)) from None
    if as_json:
        echo_json(done.to_json())
    else:
        echo_tables(done.render)
    if out is not None:
        folder = done.write(out, overwrite=overwrite)
        click.echo(f"tables and pictures written to {folder}", err=True)
    written = done.to_json()
    broken = [claim for claim in written["claims"] if not claim["held"]]
    broken += [each for each in written.get("criteria", []) if not each["agrees"]]
    return Status.NOT_HELD if judge and broken else Status.DONE
