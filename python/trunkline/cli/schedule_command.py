"""``trunkline schedule``: save the times and sizes of the datagrams of a flow."""

import click

from trunkline.cli.common import (
    SEED_TYPE,
    ScenarioSource,
    convert_engine_errors,
    refuse_existing_files,
    scenario_options,
)


@click.command("schedule", short_help="Save the packet schedule of a UDP flow as CSV.")
@scenario_options
@click.option("--flow", metavar="NAME", required=True, help="UDP flow whose datagrams are listed.")
@click.option("--seed", type=SEED_TYPE, help="Seed. Default: the seed of the scenario.")
@click.option("--out", type=click.Path(dir_okay=False), help="New file. Default: standard output.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier file in --out.")
def command(
    source: ScenarioSource, flow: str, seed: int | None, out: str | None, overwrite: bool
) -> None:
    """Print the time and the size of each datagram of a UDP flow of FILE.

    A flow with `arrivals: schedule` and `schedule: FILE.csv` sends the same datagrams again.
    """
    refuse_existing_files((out,), overwrite)
    scenario = source.load()

    from trunkline.engine.schedule import format_schedule_csv, record_schedule

    try:
        with convert_engine_errors():
            packet_schedule = record_schedule(scenario, flow, seed=seed)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    schedule_csv = format_schedule_csv(packet_schedule)
    if out is None:
        click.echo(schedule_csv, nl=False)
        return
    with open(out, "w", encoding="utf-8", newline="") as target:
        target.write(schedule_csv)
    click.echo(f"{len(packet_schedule.times_ns)} datagrams written to {out}", err=True)
