"""``trunkline te delays``: delays and losses of every class after every failure, link by link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trunkline.cli.common import (
    ScenarioSource,
    echo_json,
    refuse_existing_files,
    scenario_options,
)
from trunkline.cli.decompose_options import (
    describe_check,
    get_link_run_parameters,
    link_run_options,
    open_link_runs,
    show_progress,
    tabulate_check,
)
from trunkline.cli.option_groups import gather_options
from trunkline.cli.status import Status
from trunkline.cli.study_command import WorkerOptions, worker_choices

if TYPE_CHECKING:
    from trunkline.planning.failure_delays import FailureDelays

JSON_SCHEMA = 1


@click.command("delays", short_help="Delays of every class after every failure.")
@scenario_options
@click.option(
    "--each",
    "kinds",
    metavar="KINDS",
    default="link",
    show_default=True,
    help="Failures: link, node, risk, named (those of FILE).",
)
@link_run_options
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    help="New file for the JSON object. The file of this name with the ending .links.jsonl keeps "
    "the links that have run.",
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier file of --out.")
@gather_options(
    "workers",
    WorkerOptions,
    click.option("--resume", is_flag=True, help="Continue with the links that --out keeps."),
    worker_choices,
)
@click.option(
    "--judge",
    is_flag=True,
    help="Exit with status 3 if a bound of `slas` is broken after a failure, 6 if one is not "
    "decided.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def delays(
    source: ScenarioSource,
    kinds: str,
    check_s: float | None,
    link_packets: int | None,
    out: str | None,
    overwrite: bool,
    workers: WorkerOptions,
    judge: bool,
    as_json: bool,
) -> int:
    """Show the delays and losses of every class of FILE after each failure.

    Each link is simulated alone with the packets that reach it; links of like load share a run.
    The values hold after routers have found new routes. The error against a full run is shown, and
    decides nothing that is within it.
    """
    from trunkline.cli.engine_options import placed_means
    from trunkline.cli.te_common import load_leniently, parse_failure_kinds, print_tables
    from trunkline.planning.failure_delays import compute_failure_delays
    from trunkline.planning.text_tables import tabulate_delay_judgements, tabulate_failure_delays

    failure_kinds = parse_failure_kinds(kinds)
    refuse_existing_files((out,), overwrite)
    scenario = load_leniently(source)
    if judge and not scenario.list_sla_bounds():
        raise click.UsageError(f"{source.file} has no `slas` to judge.")
    with placed_means(scenario, engine="decompose"), open_link_runs(workers, out) as execute:
        found = compute_failure_delays(
            scenario,
            kinds=failure_kinds,
            threads=workers.threads,
            execute=execute,
            on_failure=show_progress(workers, "failures routed"),
            on_link=show_progress(workers, "links run"),
            **get_link_run_parameters(check_s, link_packets),
        )
    document = {"schema": JSON_SCHEMA} | found.to_dict()
    if out is not None:
        Path(out).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if as_json:
        echo_json(document)
    else:
        sheets = tabulate_failure_delays(found)
        if found.judgements:
            sheets += tabulate_delay_judgements(found)
        print_tables([*sheets, tabulate_check(found.check)], _describe(found), scenario.scale)
    if not judge:
        return Status.DONE
    if found.count("broken"):
        return Status.NOT_HELD
    is_open = found.count("undecided") or found.count("not judged")
    return Status.UNDECIDED if is_open else Status.DONE


def _describe(found: FailureDelays) -> str:
    lines = [
        f"{found.failures} failures; {found.links} links without a failure and "
        f"{found.distinct_links} with all of them share {found.link_runs} runs",
        describe_check(found.check),
    ]
    if found.judgements:
        total = len(found.judgements)
        lines.append(
            f"{found.count('broken')} of {total} bounds broken, {found.count('held')} held, "
            f"{found.count('undecided')} undecided, {found.count('not judged')} not judged"
        )
    return "\n".join(lines)
