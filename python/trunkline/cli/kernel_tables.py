"""A study in both engines: those of its tables that a Linux kernel can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.linux.judge.compare import Row
    from trunkline.study.language.model import Study
    from trunkline.study.outcome.reproduction import Subject
    from trunkline.study.run.plan import Plan

    Runs = list[tuple[str, int]]
    """Compiled networks and their seeds."""

MEASURES: Final = {
    "mean delay": "delay_mean_s",
    "delay p50": "delay_p50_s",
    "delay p95": "delay_p95_s",
    "delay p99": "delay_p99_s",
    "packets lost": "packets_dropped",
    "goodput": "goodput_bit_s",
    "goodput, each of several": "goodput_bit_s",
}
"""What a study calls the mean of what is compared."""


def run_in_both(subject: Subject, runner: str | None, *, as_json: bool, judge: bool) -> int:
    """Run what the kernel can of a study in both engines; print what both say and the document.

    Parameters
    ----------
    subject : Subject
        The study.
    runner : str or None
        What runs the kernel; the first that is ready if None.
    as_json : bool
        Print one JSON object instead of tables.
    judge : bool
        End with 3 where they differ, with 6 where it is undecided.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    click.UsageError
        The kernel can run none of its tables.
    """
    from functools import partial

    from trunkline.cli.common import echo_json, echo_tables, part_shown
    from trunkline.cli.verdict_tables import render
    from trunkline.cli.verify_command import STATUS
    from trunkline.linux.guest.readiness import choose
    from trunkline.linux.judge.verify import overall, verify_runs

    tables = _able(subject.plan)
    if subject.study.kernel:
        changed = ", ".join(f"{name}: {value}" for name, value in subject.study.kernel.items())
        click.echo(f"reproduce: both engines with {changed}, as the kernel lacks others", err=True)
    runner = choose(runner)
    verdicts, listed = [], []
    for name, runs in tables.items():
        show = part_shown(f"reproduce: {name}, kernel of {runner}")
        try:
            verdict = verify_runs(runs, runner=runner, on_progress=show)
        finally:
            show(1)
        published = [_published(subject.study, name, row) for row in verdict.rows]
        about = verdict.to_json()
        for row, value in zip(about["rows"], published, strict=True):
            row["published"] = value
        verdicts.append(verdict)
        listed.append({"table": name, **about})
        if not as_json:
            echo_tables(partial(render, name, verdict, published))
    outcome = overall(verdict.outcome for verdict in verdicts)
    if as_json:
        about = {"study": subject.plan.name, "outcome": outcome, "agrees": outcome == "agrees"}
        echo_json({"schema": 1, **about, "verdicts": listed})
    return STATUS[outcome] if judge else Status.DONE


def _published(study: Study, table: str, row: Row) -> float | None:
    """What the document says of a row; a variant of a table stands beside that of the table."""
    if row.measure not in MEASURES:
        return None
    for each in study.published:
        if each.row not in study.measures or each.column not in study.columns:
            continue
        measure, column = study.measures[each.row], study.columns[each.column]
        same_table = table.partition(", ")[0] == each.table
        same_value = (MEASURES[row.measure], row.unit) == (measure.measure, measure.unit)
        if same_table and same_value and column.where == {"flow": row.subject}:
            return each.value
    return None


def _able(plan: Plan) -> dict[str, Runs]:
    """Runs by table, where the kernel lacks nothing; of the others the reasons are said."""
    from trunkline.linux.judge.verify import check
    from trunkline.linux.plan.script import UnsupportedError
    from trunkline.results.render import printable

    tables: dict[str, Runs] = {}
    for point in plan.points:
        name = ", ".join(each for each in (*point.labels.values(), point.part) if each)
        runs = tables.setdefault(name, [])
        runs.extend((point.network(seed), seed) for seed in point.seeds)
    able, reasons = {}, {}
    for name, runs in tables.items():
        try:
            check(runs[0][0])
        except UnsupportedError as error:
            reasons.update(dict.fromkeys(each.text for each in error.reasons))
        else:
            able[name] = runs
    said = "; ".join(printable(reason) for reason in reasons)
    if not able:
        raise click.UsageError(f"No table of {plan.name} can run on Linux: {said}.")
    if reasons:
        left = len(tables) - len(able)
        click.echo(f"reproduce: {left} of {len(tables)} tables are left out: {said}", err=True)
    return able
