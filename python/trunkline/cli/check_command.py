"""``trunkline check``: whether a code from a page solves the tasks of its lesson."""

import click

from trunkline.cli.common import convert_engine_errors, echo_json
from trunkline.cli.status import Status


@click.command("check", short_help="Check the code that a page gave for solved tasks.")
@click.argument("code")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(code: str, file: str, as_json: bool) -> int:
    """Check a CODE that a page of the scenario in FILE gave for solved tasks.

    The values of the code run again here. A task is solved if the results have the same hash and
    keep its targets. Ends with 0 if every task is solved, else with 3.
    """
    from trunkline.results.terminal_tables import escape_unprintable
    from trunkline.share.exercise_code import CodeError, check_code

    try:
        with convert_engine_errors():
            verdicts = check_code(code, file)
    except CodeError as error:
        raise click.UsageError(str(error)) from None
    solved = sum(each.outcome == "solved" for each in verdicts)
    if as_json:
        tasks = [
            {"task": each.task, "outcome": each.outcome, "reason": each.reason} for each in verdicts
        ]
        echo_json({"schema": 1, "solved": solved, "tasks": tasks})
    else:
        for each in verdicts:
            reason = f": {each.reason}" if each.reason else ""
            click.echo(escape_unprintable(f"{each.task}: {each.outcome}{reason}"))
        click.echo(f"{solved} of {len(verdicts)} tasks solved")
    return Status.DONE if solved == len(verdicts) else Status.NOT_HELD
