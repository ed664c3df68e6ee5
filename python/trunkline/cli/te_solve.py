"""``trunkline te solve``: compare routings of a scenario's demands with the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trunkline.cli import te_common as common
from trunkline.cli.common import ScenarioSource, scenario_options

if TYPE_CHECKING:
    from trunkline.planning.robust_placement import HourDemand
    from trunkline.scenario import Scenario


@click.command("solve", short_help="Compare routings with the optimum.")
@scenario_options
@click.option(
    "--method",
    type=click.Choice(["unsplit", "igp-weights", "optimum", "robust"]),
    default="unsplit",
    show_default=True,
    help="Method whose paths and loads are shown, drawn and written.",
)
@click.option(
    "--form",
    type=click.Choice(["arcs", "paths", "frank-wolfe"]),
    help="Algorithm for the optimum. Default: by the size of the network.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(1, 10_000_000),
    default=2000,
    show_default=True,
    help="Number of weight vectors that the search for IGP weights evaluates.",
)
@click.option(
    "--each",
    "kinds",
    metavar="KINDS",
    help="With robust: failures that count: link, node, risk, named (those of FILE), or none. "
    "Default: link,node,risk; none with --matrix.",
)
@click.option(
    "--protection",
    type=click.Choice(["backup", "one-plus-one", "facility-bypass"]),
    help="With robust: backups that share bandwidth, or that carry a copy; a bypass round each "
    "link. Default: that of FILE, else backup.",
)
@click.option(
    "--matrix",
    "matrices",
    multiple=True,
    type=click.Path(exists=True),
    help="With robust: demands of other hours in place of those of FILE: a file or a folder with "
    "one interval or several, as of `import network`; repeatable.",
)
@click.option(
    "--unit", metavar="RATE", help="Unit of the numbers in --matrix that name none, e.g. Mbit/s."
)
@common.output_options("New scenario with these paths or metrics.", "Utilisation map, as .svg.")
def solve(
    source: ScenarioSource,
    method: str,
    form: str | None,
    evaluations: int,
    kinds: str | None,
    protection: str | None,
    matrices: tuple[str, ...],
    unit: str | None,
    outputs: common.OutputOptions,
) -> None:
    """Route the demands of FILE by several methods, and show their gap to the optimum.

    The optimum may split each demand over any number of paths (a linear program). `unsplit` gives
    each demand one path, `igp-weights` sets metrics for equal-cost multipath; both are heuristics.
    `robust` gives each demand a path and a backup such that the worst failure, or the worst hour,
    is loaded least. The paths of FILE and their constraints are ignored.
    """
    from trunkline.planning import plan_page, solve as optimise, write_solution
    from trunkline.planning.text_tables import tabulate_plan

    outputs.refuse_existing()
    if method == "robust":
        _place_robustly(source, kinds, protection, matrices, unit, outputs)
        return
    if kinds or protection or matrices or unit:
        raise click.UsageError("--each, --protection, --matrix and --unit are for --method robust.")
    scenario, file = common.load_leniently(source), source.file
    try:
        solution = optimise(scenario, method=method, form=form, evaluations=evaluations)  # type: ignore[arg-type]
        remarks = [f"Demands of {file} by the method {method} of `trunkline te solve`."]
        if method == "igp-weights":
            remarks.append("Made for equal-cost multipath; a run takes one of equal next hops.")
        text = None if outputs.out is None else write_solution(scenario, solution, remarks=remarks)
    except ValueError as error:
        raise click.UsageError(f"{file}: {error}.") from error
    if outputs.out is not None and text is not None:
        outputs.write(scenario, text)
    outputs.write_pictures(plan_page, scenario, solution)
    count = len(scenario.resolve().demands)
    demands = f"{count} demand{'s' * (count != 1)}"
    closing_line = f"{demands}; formulation of the optimum: {solution.form}"
    outputs.print_plan(solution, lambda: tabulate_plan(solution)[:2], closing_line)


def _place_robustly(
    source: ScenarioSource,
    kinds: str | None,
    protection: str | None,
    matrices: tuple[str, ...],
    unit: str | None,
    outputs: common.OutputOptions,
) -> None:
    """Place paths and backups for the worst failure and hour."""
    from trunkline.planning import place_robustly, plan_page, write_solution
    from trunkline.planning.text_tables import tabulate_robust_plan
    from trunkline.results.number_format import format_percent

    default = "none" if matrices else "link,node,risk"
    words = common.parse_failure_kinds(kinds or default, may_be_none=True)
    scenario, file = common.load_leniently(source), source.file
    hours = _read_hours(scenario, matrices, unit) if matrices else None
    try:
        plan = place_robustly(scenario, kinds=words, protection=protection, hours=hours)  # type: ignore[arg-type]
        remarks = [f"Demands of {file} placed for the worst state by `trunkline te solve`."]
        text = None if outputs.out is None else write_solution(scenario, plan, remarks=remarks)
    except ValueError as error:
        raise click.UsageError(f"{file}: {error}.") from error
    if text is not None:
        outputs.write(scenario, text)
    outputs.write_pictures(plan_page, scenario, plan)
    robust = plan.methods[0]
    closing_line = (
        f"{len(plan.paths)} demands, {len(plan.states)} states: {format_percent(robust.mlu)} at "
        f"most, and no placement has less than {format_percent(robust.bound)}"
    )
    outputs.print_plan(plan, lambda: tabulate_robust_plan(plan), closing_line)


def _read_hours(
    scenario: Scenario, matrices: tuple[str, ...], unit: str | None
) -> dict[str, list[HourDemand]]:
    """Read the demands of all hours, in bit/s, by the names of the scenario's nodes."""
    from pathlib import Path

    from trunkline.cli.import_account import ImportRefused
    from trunkline.cli.import_network import parse_unit
    from trunkline.importers import ImportFault
    from trunkline.importers.network import read_demand_series

    bits = parse_unit(unit)
    hours: dict[str, list[HourDemand]] = {}
    for matrix in matrices:
        try:
            series = read_demand_series(matrix, list(scenario.nodes), bits)
        except ImportFault as fault:
            raise ImportRefused(fault.render(fault.file or matrix)) from None
        for interval, demands in series.items():
            name = f"{Path(matrix).stem} {interval}".strip() if len(matrices) > 1 else interval
            hours[name or Path(matrix).stem] = demands
    return hours
