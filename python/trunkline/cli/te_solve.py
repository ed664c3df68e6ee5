"""``trunkline te solve``: the demands of a scenario beside the best possible routing."""

import click

from trunkline.cli import te_common as common
from trunkline.cli.common import echo_json, free, scenario_options


@click.command("solve", short_help="Compare routings with the optimum.")
@scenario_options
@click.option(
    "--method",
    type=click.Choice(["unsplit", "igp-weights", "optimum"]),
    default="unsplit",
    show_default=True,
    help="Whose paths and loads are shown, drawn and written.",
)
@click.option(
    "--form",
    type=click.Choice(["arcs", "paths", "frank-wolfe"]),
    help="How the optimum is found. Default: by size.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(1, 10_000_000),
    default=2000,
    show_default=True,
    help="Weight vectors that the search for IGP weights looks at.",
)
@common.outputs("New scenario with these paths or metrics.", "Utilisation map, as .svg.")
def solve(
    file: str,
    overrides: tuple[str, ...],
    strict: bool,
    method: str,
    form: str | None,
    evaluations: int,
    out: str | None,
    picture: str | None,
    report: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Route the demands of FILE as well as can be, and say how far each way is from the bound.

    The optimum splits demands at will (a linear program). `unsplit` gives each demand one path,
    `igp-weights` sets metrics for equal-cost multipath; both are heuristics, their gap says how
    good they are. Paths of FILE and their constraints are not looked at.
    """
    from trunkline.planning import solve as optimise, solved

    free((out, picture, report), overwrite)
    scenario = common.leniently(file, overrides, strict)
    try:
        found = optimise(scenario, method=method, form=form, evaluations=evaluations)  # type: ignore[arg-type]
        remark = f"Demands of {file} by the method {method} of `trunkline te solve`."
        remarks = [remark]
        if method == "igp-weights":
            remarks.append("Made for equal-cost multipath; a run takes one of equal next hops.")
        text = None if out is None else solved(scenario, found, remarks=remarks)
    except ValueError as error:
        raise click.UsageError(f"{file}: {error}.") from error
    if out is not None and text is not None:
        common.write_text(scenario, file, out, text)
    common.draw_plan(scenario, found, picture, report)
    if as_json:
        echo_json({"schema": common.JSON_SCHEMA} | found.to_dict())
        return
    from trunkline.planning.sheets import of_plan

    count = len(scenario.resolved().demands)
    last = f"{count} demand{'s' * (count != 1)}; optimum by the form {found.form}"
    common.print_sheets(of_plan(found)[:2], last, found.scale)
