"""A study in both engines: those of its tables that a Linux kernel can run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.linux.judge.comparisons import ComparisonRow
    from trunkline.linux.judge.verification import EngineVerdict
    from trunkline.study.language.model import Study
    from trunkline.study.outcome.reproduction import StudySubject
    from trunkline.study.run.run_plan import RunPlan

    Runs = list[tuple[str, int]]
    """Compiled networks and their seeds."""

MEASURE_COLUMNS: Final = {
    "mean delay": "delay_mean_s",
    "delay p50": "delay_p50_s",
    "delay p95": "delay_p95_s",
    "delay p99": "delay_p99_s",
    "packets lost": "packets_dropped",
    "goodput": "goodput_bit_s",
    "goodput, each of several": "goodput_bit_s",
}
"""What a study calls the mean of what is compared."""


def run_in_both_engines(
    subject: StudySubject,
    runner: str | None,
    stored_verdicts: StoredVerdicts,
    *,
    as_json: bool,
    judge: bool,
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

    from trunkline.cli.common import echo_json, echo_tables, show_progress
    from trunkline.cli.verdict_tables import render
    from trunkline.cli.verify_command import STATUS_BY_OUTCOME
    from trunkline.linux.guest.readiness import choose_runner
    from trunkline.linux.judge.verification import combine_outcomes, verify_runs

    tables = _collect_runnable_tables(subject.plan)
    if subject.study.kernel:
        changed = ", ".join(f"{name}: {value}" for name, value in subject.study.kernel.items())
        click.echo(f"reproduce: both engines with {changed}, as the kernel lacks others", err=True)
    runner = choose_runner(runner)
    outcomes = []
    listed: list[dict[str, Any]] = []
    for name, runs in tables.items():
        verdict = stored_verdicts.find_verdict(name, runs, runner)
        if verdict is None:
            try:
                with show_progress(f"reproduce: {name}, kernel of {runner}") as show:
                    verdict = verify_runs(runs, runner=runner, on_progress=show)
            except KeyboardInterrupt:
                click.echo(
                    f"interrupted: {len(listed)} of {len(tables)} tables "
                    f"{stored_verdicts.describe_state}",
                    err=True,
                )
                return Status.INTERRUPTED
            stored_verdicts.store_verdict(name, runs, runner, verdict)
        published = [_find_published_value(subject.study, name, row) for row in verdict.rows]
        document = verdict.to_json()
        for row, value in zip(document["rows"], published, strict=True):
            row["published"] = value
        outcomes.append(verdict.outcome)
        listed.append({"table": name, **document})
        if not as_json:
            echo_tables(partial(render, name, verdict, published))
    outcome = combine_outcomes(outcomes)
    if as_json:
        document = {"study": subject.plan.name, "outcome": outcome, "agrees": outcome == "agrees"}
        echo_json({"schema": 1, **document, "verdicts": listed})
    return STATUS_BY_OUTCOME[outcome] if judge else Status.DONE


class StoredVerdicts:
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
        from trunkline.study.run.checked_files import compute_checksum

        self._path = None if out is None else Path(out) / "kernel.json"
        self._tables: dict[str, Any] = {}
        if self._path is None or not self._path.exists() or overwrite:
            return
        if not resume:
            raise click.UsageError(f"{self._path} exists: --resume or --overwrite.")
        try:
            document = json.loads(self._path.read_bytes())
        except ValueError:
            document = {}
        if document.pop("checksum", None) != compute_checksum(document):
            raise click.UsageError(f"{self._path} is damaged: --overwrite.")
        self._tables = document["tables"]

    @property
    def describe_state(self) -> str:
        """What becomes of the tables that have ended."""
        if self._path is None:
            return "ended; nothing was kept"
        return f"kept; resume with --resume --out {self._path.parent}"

    def find_verdict(self, table: str, runs: Runs, runner: str) -> EngineVerdict | None:
        """The verdict of a table if these very runs have ended with it."""
        from trunkline.linux.judge.verification import EngineVerdict

        entry = self._tables.get(table)
        if entry is None or entry["of"] != _compute_digest(runs, runner):
            return None
        return EngineVerdict.from_json(entry["verdict"])

    def store_verdict(self, table: str, runs: Runs, runner: str, verdict: EngineVerdict) -> None:
        """Keep a verdict."""
        from trunkline.study.run.checked_files import write_json

        if self._path is not None:
            entry = {"of": _compute_digest(runs, runner), "verdict": verdict.to_json()}
            self._tables[table] = entry
            write_json(self._path, {"schema": 1, "tables": self._tables})


def _compute_digest(runs: Runs, runner: str) -> str:
    """What a verdict is of: networks, seeds, version and runner."""
    from trunkline import _core

    digest = hashlib.sha256(f"{_core.version()} {runner}".encode())
    for network, seed in runs:
        digest.update(f"{seed} {network}".encode())
    return digest.hexdigest()


def _find_published_value(study: Study, table: str, row: ComparisonRow) -> float | None:
    """What the document says of a row; a variant of a table stands beside that of the table."""
    if row.measure not in MEASURE_COLUMNS:
        return None
    for published_value in study.published:
        if published_value.row not in study.measures or published_value.column not in study.columns:
            continue
        measure, column = study.measures[published_value.row], study.columns[published_value.column]
        same_table = table.partition(", ")[0] == published_value.table
        same_value = (MEASURE_COLUMNS[row.measure], row.unit) == (measure.measure, measure.unit)
        if same_table and same_value and column.where == {"flow": row.subject}:
            return published_value.value
    return None


def _collect_runnable_tables(plan: RunPlan) -> dict[str, Runs]:
    """Runs by table, where the kernel lacks nothing; of the others the reasons are said."""
    from trunkline.linux.judge.verification import check_support
    from trunkline.linux.plan.command_script import UnsupportedError
    from trunkline.results.terminal_tables import escape_unprintable

    tables: dict[str, Runs] = {}
    for point in plan.points:
        name = ", ".join(
            unsupported for unsupported in (*point.labels.values(), point.part) if unsupported
        )
        runs = tables.setdefault(name, [])
        runs.extend((point.draw_network_json(seed), seed) for seed in point.seeds)
    runnable: dict[str, Runs] = {}
    reasons: dict[str, dict[str, None]] = {}
    for name, runs in tables.items():
        try:
            check_support(runs[0][0])
        except UnsupportedError as error:
            for unsupported in error.reasons:
                place, _, reason = unsupported.text.partition(": ")
                reasons.setdefault(reason or place, dict[str, None]())[place if reason else ""] = (
                    None
                )
        else:
            runnable[name] = runs
    reason_text = "; ".join(
        escape_unprintable(_format_reason(reason, list(place))) for reason, place in reasons.items()
    )
    if not runnable:
        raise click.UsageError(f"No table of {plan.name} can run on Linux: {reason_text}.")
    if reasons:
        left_out_count = len(tables) - len(runnable)
        click.echo(
            f"reproduce: {left_out_count} of {len(tables)} tables are left out: {reason_text}",
            err=True,
        )
    return runnable


def _format_reason(reason: str, places: list[str]) -> str:
    """A reason once, with the first of the places that have it."""
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{places[0]}{more}: {reason}" if places[0] else reason
