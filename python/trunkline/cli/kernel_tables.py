"""A study in both engines: those of its tables that a Linux kernel can run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.linux.judge.compare import Row
    from trunkline.linux.judge.verify import Verdict
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


def run_in_both(
    subject: Subject, runner: str | None, kept: Kept, *, as_json: bool, judge: bool
) -> int:
    """Run what the kernel can of a study in both engines; print what both say and the document.

    Parameters
    ----------
    runner : str or None
        What runs the kernel; the first that is ready if None.
    as_json : bool
        Print one JSON object instead of tables.
    judge : bool
        End with 3 where they differ, with 6 where it is undecided.

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
    outcomes = []
    listed: list[dict[str, Any]] = []
    for name, runs in tables.items():
        verdict = kept.get(name, runs, runner)
        if verdict is None:
            try:
                with part_shown(f"reproduce: {name}, kernel of {runner}") as show:
                    verdict = verify_runs(runs, runner=runner, on_progress=show)
            except KeyboardInterrupt:
                click.echo(
                    f"interrupted: {len(listed)} of {len(tables)} tables {kept.said}", err=True
                )
                return Status.INTERRUPTED
            kept.add(name, runs, runner, verdict)
        published = [_published(subject.study, name, row) for row in verdict.rows]
        about = verdict.to_json()
        for row, value in zip(about["rows"], published, strict=True):
            row["published"] = value
        outcomes.append(verdict.outcome)
        listed.append({"table": name, **about})
        if not as_json:
            echo_tables(partial(render, name, verdict, published))
    outcome = overall(outcomes)
    if as_json:
        about = {"study": subject.plan.name, "outcome": outcome, "agrees": outcome == "agrees"}
        echo_json({"schema": 1, **about, "verdicts": listed})
    return STATUS[outcome] if judge else Status.DONE


class Kept:
    """Verdicts of tables that have ended, each written to the folder as soon as it is known.

    A kernel takes minutes for what the simulator does in seconds: what was cut goes on here.

    Parameters
    ----------
    out : str or None
        Folder; nothing is kept if None.
    resume, overwrite : bool
        Go on with the verdicts in it, or replace them.

    Raises
    ------
    click.UsageError
        There are some already, and neither is asked for; or they are damaged.
    """

    def __init__(self, out: str | None, *, resume: bool, overwrite: bool) -> None:
        from trunkline.study.run.disk import checksum

        self._path = None if out is None else Path(out) / "kernel.json"
        self._tables: dict[str, Any] = {}
        if self._path is None or not self._path.exists() or overwrite:
            return
        if not resume:
            raise click.UsageError(f"{self._path} exists: --resume or --overwrite.")
        try:
            said = json.loads(self._path.read_bytes())
        except ValueError:
            said = {}
        if said.pop("checksum", None) != checksum(said):
            raise click.UsageError(f"{self._path} is damaged: --overwrite.")
        self._tables = said["tables"]

    @property
    def said(self) -> str:
        """What becomes of the tables that have ended."""
        if self._path is None:
            return "ended; nothing was kept"
        return f"kept; resume with --resume --out {self._path.parent}"

    def get(self, table: str, runs: Runs, runner: str) -> Verdict | None:
        """The verdict of a table if these very runs have ended with it."""
        from trunkline.linux.judge.verify import Verdict

        its = self._tables.get(table)
        if its is None or its["of"] != _digest(runs, runner):
            return None
        return Verdict.of_json(its["verdict"])

    def add(self, table: str, runs: Runs, runner: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        from trunkline.study.run.disk import write_json

        if self._path is not None:
            its = {"of": _digest(runs, runner), "verdict": verdict.to_json()}
            self._tables[table] = its
            write_json(self._path, {"schema": 1, "tables": self._tables})


def _digest(runs: Runs, runner: str) -> str:
    """What a verdict is of: networks, seeds, version and runner."""
    from trunkline import _core

    digest = hashlib.sha256(f"{_core.version()} {runner}".encode())
    for network, seed in runs:
        digest.update(f"{seed} {network}".encode())
    return digest.hexdigest()


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
    able: dict[str, Runs] = {}
    reasons: dict[str, dict[str, None]] = {}
    for name, runs in tables.items():
        try:
            check(runs[0][0])
        except UnsupportedError as error:
            for each in error.reasons:
                where, _, why = each.text.partition(": ")
                reasons.setdefault(why or where, dict[str, None]())[where if why else ""] = None
        else:
            able[name] = runs
    said = "; ".join(printable(_reason(why, list(where))) for why, where in reasons.items())
    if not able:
        raise click.UsageError(f"No table of {plan.name} can run on Linux: {said}.")
    if reasons:
        left = len(tables) - len(able)
        click.echo(f"reproduce: {left} of {len(tables)} tables are left out: {said}", err=True)
    return able


def _reason(why: str, where: list[str]) -> str:
    """A reason once, with the first of the places that have it."""
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return f"{where[0]}{more}: {why}" if where[0] else why
