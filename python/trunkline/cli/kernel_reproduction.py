"""``reproduce --engine linux``: a study in both engines, for tables that a Linux kernel can run."""

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

MAX_ALTERATIONS_OF_TABLE: Final = 20
"""Alterations of a table that a proof draws; a study has up to a hundred tables."""
MEASURE_COLUMNS: Final = {
    "mean delay": "delay_mean_s",
    "delay p50": "delay_p50_s",
    "delay p95": "delay_p95_s",
    "delay p99": "delay_p99_s",
    "packets lost": "packets_dropped",
    "goodput": "goodput_bit_s",
    "goodput, each of several": "goodput_bit_s",
}
"""Column of a study's values for each measure that verdicts compare."""


def run_in_both_engines(
    subject: StudySubject,
    runner: str | None,
    stored_verdicts: StoredVerdicts,
    *,
    as_json: bool,
    judge: bool,
    prove: bool = False,
) -> int:
    """Run a study in both engines; print both results and the published values.

    Tables that the kernel cannot run are left out.

    runner: one of "uml", "qemu", "native" or None; None for the first that is ready.
    as_json: Whether to print one JSON object in place of tables.
    judge: Whether to return status 3 if the engines differ and 6 if it is undecided.
    prove: Whether to alter keys of each table, and to store which a verdict would have caught.
    Raises click.UsageError: The kernel can run no table of the study.
    """
    from functools import partial

    from trunkline.cli.common import echo_json, echo_tables, show_progress
    from trunkline.cli.verdict_tables import render, render_proof
    from trunkline.cli.verify_command import STATUS_BY_OUTCOME
    from trunkline.linux.guest.readiness import choose_runner
    from trunkline.linux.judge.proof import VerdictProof, prove_verdict
    from trunkline.linux.judge.verification import combine_outcomes, verify_runs

    tables = _collect_runnable_tables(subject.plan)
    if subject.study.kernel:
        changed = ", ".join(f"{name}: {value}" for name, value in subject.study.kernel.items())
        click.echo(f"reproduce: both engines use {changed}: the kernel has no other", err=True)
    runner = choose_runner(runner)
    outcomes = []
    listed: list[dict[str, Any]] = []
    for name, runs in tables.items():
        verdict = stored_verdicts.find_verdict(name, runs, runner)
        proof_document = stored_verdicts.find_proof(name)
        proof: VerdictProof | None = None
        if verdict is None or (prove and proof_document is None):
            try:
                with show_progress(f"reproduce: {name}, kernel of {runner}") as show:
                    verdict = verify_runs(runs, runner=runner, on_progress=show)
                if prove:
                    with show_progress(f"prove: {name}") as show:
                        proof = prove_verdict(
                            verdict, limit=MAX_ALTERATIONS_OF_TABLE, on_progress=show
                        )
                proof_document = proof.to_json() if proof else None
            except KeyboardInterrupt:
                click.echo(
                    f"interrupted: {len(listed)} of {len(tables)} tables {stored_verdicts.state}",
                    err=True,
                )
                return Status.INTERRUPTED
            stored_verdicts.store_verdict(name, runs, runner, verdict, proof_document)
        published = [_find_published_value(subject.study, name, row) for row in verdict.rows]
        document = verdict.to_json()
        for row, value in zip(document["rows"], published, strict=True):
            row["published"] = value
        if proof_document is not None:
            document["proof"] = proof_document
        outcomes.append(verdict.outcome)
        listed.append({"table": name, **document})
        if not as_json:
            echo_tables(partial(render, name, verdict, published))
            if proof is not None:
                echo_tables(partial(render_proof, name, proof))
    outcome = combine_outcomes(outcomes)
    if as_json:
        document = {"study": subject.plan.name, "outcome": outcome, "agrees": outcome == "agrees"}
        echo_json({"schema": 1, **document, "verdicts": listed})
    return STATUS_BY_OUTCOME[outcome] if judge else Status.DONE


class StoredVerdicts:
    """Verdicts of finished tables, each written to the folder at once.

    A kernel takes minutes for a run that the simulator does in seconds, so an interrupted command
    must be able to resume.

    out: Folder; None to store nothing.
    resume, overwrite: Whether to use earlier verdicts in the folder, or to replace them.
    Raises click.UsageError: The folder has verdicts and neither option is given, or they are
        damaged.
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
    def state(self) -> str:
        """Whether the finished tables were stored, and how to resume."""
        if self._path is None:
            return "ended; nothing was kept"
        return f"kept; resume with --resume --out {self._path.parent}"

    def find_verdict(self, table: str, runs: Runs, runner: str) -> EngineVerdict | None:
        """Find the verdict of a table if it is stored for exactly these runs."""
        from trunkline.linux.judge.verification import EngineVerdict

        entry = self._tables.get(table)
        if entry is None or entry["of"] != _compute_digest(runs, runner):
            return None
        return EngineVerdict.from_json(entry["verdict"])

    def find_proof(self, table: str) -> dict[str, Any] | None:
        """Find the proof that is stored with the verdict of a table."""
        entry = self._tables.get(table)
        return None if entry is None else entry["verdict"].get("proof")

    def store_verdict(
        self,
        table: str,
        runs: Runs,
        runner: str,
        verdict: EngineVerdict,
        proof_document: dict[str, Any] | None = None,
    ) -> None:
        """Write a verdict to the folder, with its proof if there is one."""
        from trunkline.study.run.checked_files import write_json

        if self._path is not None:
            document = verdict.to_json()
            if proof_document is not None:
                document["proof"] = proof_document
            self._tables[table] = {"of": _compute_digest(runs, runner), "verdict": document}
            write_json(self._path, {"schema": 1, "tables": self._tables})


def _compute_digest(runs: Runs, runner: str) -> str:
    """Hash the input of a verdict: networks, seeds, version and runner."""
    from trunkline import _core

    digest = hashlib.sha256(f"{_core.version()} {runner}".encode())
    for network, seed in runs:
        digest.update(f"{seed} {network}".encode())
    return digest.hexdigest()


def _find_published_value(study: Study, table: str, row: ComparisonRow) -> float | None:
    """Find the published value of a row; a variant of a table has the values of the table."""
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
    """Collect the runs of tables that the kernel supports; print why others are left out."""
    from trunkline.linux.judge.verification import check_support
    from trunkline.linux.plan.command_script import UnsupportedError
    from trunkline.results.terminal_tables import escape_unprintable

    tables: dict[str, Runs] = {}
    for point in plan.points:
        name = ", ".join(label for label in (*point.labels.values(), point.part) if label)
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
    """Format a reason with its first place and the number of the others."""
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{places[0]}{more}: {reason}" if places[0] else reason
