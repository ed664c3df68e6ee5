"""``trunkline te solve``: compare routings of a scenario's demands with the optimum."""

import click

from trunkline.cli import te_common as common
from trunkline.cli.common import ScenarioSource, scenario_options


@click.command("solve", short_help="Compare routings with the optimum.")
@scenario_options
@click.option(
    "--method",
    type=click.Choice(["unsplit", "igp-weights", "optimum"]),
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
@common.output_options("New scenario with these paths or metrics.", "Utilisation map, as .svg.")
def solve(
    source: ScenarioSource,
    method: str,
    form: str | None,
    evaluations: int,
    outputs: common.OutputOptions,
) -> None:
    """Route the demands of FILE by several methods, and show their gap to the optimum.

    The optimum may split each demand over any number of paths (a linear program). `unsplit` gives
    each demand one path, `igp-weights` sets metrics for equal-cost multipath; both are heuristics.
    The paths of FILE and their constraints are ignored.
    """
    from trunkline.planning import plan_page, solve as optimise, write_solution
    from trunkline.planning.text_tables import tabulate_plan

    outputs.refuse_existing()
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
    closing_line = f"{count} demand{'s' * (count != 1)}; optimum by the form {solution.form}"
    outputs.print_plan(solution, lambda: tabulate_plan(solution)[:2], closing_line)
