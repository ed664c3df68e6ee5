"""A study on disk: a folder with a manifest, a data set, and the files that a resumption needs.

``manifest.json`` lists the runs and, once all have ended, the checksum of every file;
``data/*.parquet`` hold a row for every run; ``runs/N`` hold all tables of the runs that are kept;
``failed/N`` hold what is needed to run again what failed; ``journal.jsonl`` holds the runs that
have ended while some have not; ``history.jsonl`` lists who worked on it. All but the last are the
same, byte for byte, however the study was run.
"""

import hashlib
import os
import platform
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trunkline.results import Results, atomic_folder as folders, store as results_store
from trunkline.results.atomic_folder import flush_to_disk
from trunkline.study.errors import DamagedStudyFile, StudyError
from trunkline.study.run import journal as journals
from trunkline.study.run.checked_files import (
    DATA_FOLDER,
    JOURNAL_FILE,
    MANIFEST_FILE,
    compute_file_digest,
    read_manifest,
    verify_digest,
    write_bytes,
    write_json,
)
from trunkline.study.run.folder_lock import LOCK_FILE as LOCK, FolderLock
from trunkline.study.run.journal import Journal, RunRecord
from trunkline.study.run.run_plan import RunPlan, RunTask, list_differences

HISTORY_FILE, RUNS_FOLDER, FAILED_FOLDER = "history.jsonl", "runs", "failed"
RUNS_PER_FILE = 100_000
_SHARD_PATTERN = r"shard-\d+-of-\d+"


class StudyStore:
    """The folder of a study that is being run.

    folder: Folder; made if it is not there.
    plan: The planned runs.
    resume: Continue with the content of the folder, if there is any.
    overwrite: Replace an earlier study.
    shard: Number and count, from 1: only every so-many-th run is this folder's.
    Raises StudyError: The folder holds something else, or another plan, or is in use.
    Raises OSError: The folder cannot be made or written to.
    """

    def __init__(
        self,
        folder: str | Path,
        plan: RunPlan,
        *,
        resume: bool = False,
        overwrite: bool = False,
        shard: tuple[int, int] | None = None,
    ) -> None:
        self.folder, self.plan = Path(folder), plan
        self.planned_manifest = plan.to_json() | ({"shard": list(shard)} if shard else {})
        self.own_tasks = [task for task in plan.iterate_tasks() if _is_in_shard(task.number, shard)]
        existing_manifest = _read_existing_manifest(self.folder)
        if existing_manifest is not None and not (resume or overwrite):
            raise StudyError(
                f"{self.folder} holds a study; continue with --resume, or replace it with "
                "--overwrite"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = FolderLock(self.folder)
        self.warnings: list[str] = []
        if self.lock.stale_holder:
            self.warnings.append(
                f"{self.lock.stale_holder} left {self.folder} without ending its work"
            )
        try:
            self._begin(_read_existing_manifest(self.folder), resume=resume)
        except BaseException:
            self.lock.release()
            raise

    def _begin(self, existing_manifest: dict[str, Any] | None, *, resume: bool) -> None:
        if existing_manifest is not None and not resume:
            _remove_study(self.folder)
            existing_manifest = None
        if existing_manifest is not None:
            found = list_differences(existing_manifest, self.planned_manifest)
            if existing_manifest.get("shard") != self.planned_manifest.get("shard"):
                found.insert(
                    0,
                    f"shard: {existing_manifest.get('shard')} then, "
                    f"{self.planned_manifest.get('shard')} now",
                )
            if found:
                unlisted_count = len(found) - 10
                listed = "".join(f"\n  {each}" for each in found[:10])
                listed += f"\n  and {unlisted_count} more" if unlisted_count > 0 else ""
                raise StudyError(f"{self.folder} was begun with something else:{listed}")
        for subfolder in (".", DATA_FOLDER, RUNS_FOLDER, FAILED_FOLDER):
            for leftover in (self.folder / subfolder).glob(".*"):
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        self._journal: Journal | None = None
        self.records: dict[int, RunRecord] = {}
        if existing_manifest is not None:
            self._read_back(existing_manifest)
        self.is_complete = bool(existing_manifest and existing_manifest.get("files")) and len(
            self.records
        ) == len(self.own_tasks)
        if self.is_complete:
            (self.folder / JOURNAL_FILE).unlink(missing_ok=True)
            return  # There is nothing to add.
        if existing_manifest is None:
            write_json(self.folder / MANIFEST_FILE, self.planned_manifest)
        self._journal = Journal(self.folder / JOURNAL_FILE)
        if existing_manifest is not None and existing_manifest.get("files"):
            # Some of the data set is damaged: the rest of it goes back to the journal.
            self._journal.append(self.records.values())
            write_json(self.folder / MANIFEST_FILE, self.planned_manifest)

    def _read_back(self, existing_manifest: Mapping[str, Any]) -> None:
        for name, digest in existing_manifest.get("files", {}).items():
            try:
                found = (
                    []
                    if name.startswith(RUNS_FOLDER)
                    else _read_verified_records(self.folder / name, digest)
                )
            except (DamagedStudyFile, FileNotFoundError) as error:
                self.warnings.append(f"{error}: its runs are done again")
                continue
            self.records |= {record.run: record for record in found}
        path = self.folder / JOURNAL_FILE
        records, damaged = journals.read_journal(path)
        self.records |= {record.run: record for record in records}
        for line in damaged:
            self.warnings.append(f"{path}: line {line} is damaged: its run is done again")
        for task in self.own_tasks:
            run_folder = self.folder / RUNS_FOLDER / str(task.number)
            if task.is_kept and task.number in self.records and not _is_readable(run_folder):
                del self.records[task.number]
                self.warnings.append(f"{run_folder} is damaged: its run is done again")

    def list_missing(self) -> list[RunTask]:
        """List the runs that are still to be done, in order."""
        return [task for task in self.own_tasks if task.number not in self.records]

    def write_run(self, task: RunTask, results: Results) -> None:
        """Write all tables of a run."""
        folder = self.folder / RUNS_FOLDER / str(task.number)
        results_store.write_results(
            [results], folder, network_json=task.network_json, overwrite=folder.exists()
        )

    def append_records(self, records: Iterable[RunRecord]) -> None:
        """Note runs that have ended; when this returns, the disk has them."""
        records = list(records)
        assert self._journal is not None
        self._journal.append(records)
        for record in records:
            self.records[record.run] = record
            failed = self.folder / FAILED_FOLDER / str(record.run)
            if failed.exists():
                shutil.rmtree(failed)

    def write_failure(self, task: RunTask, kind: str, text: str) -> Path:
        """Store the files with which a failed run can run again; return the folder."""
        folder = self.folder / FAILED_FOLDER / str(task.number)
        failure_record = build_failure_record(task, kind, text)

        def fill(target: Path) -> None:
            write_json(target / "failure.json", failure_record)
            folders.write_text(target / "scenario.yaml", task.point.scenario())
            folders.write_text(target / "network.json", task.network_json + "\n")

        return folders.write_folder(folder, fill, marker="failure.json", overwrite=True)

    def finish_data_set(self) -> None:
        """Write the data set and the whole manifest, if every run has ended."""
        if self.is_complete or self.list_missing():
            return
        write_data_set(self.folder, self.planned_manifest, self.records)
        self.is_complete = True
        (self.folder / JOURNAL_FILE).unlink()
        shutil.rmtree(self.folder / FAILED_FOLDER, ignore_errors=True)
        flush_to_disk(self.folder)

    def add_history(self, **fields: Any) -> None:
        """Add a line to the history."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        machine = {"host": socket.gethostname(), "platform": platform.platform()}
        done = {"done": len(self.records), "of": len(self.own_tasks)}
        journals.append_log_line(
            self.folder / HISTORY_FILE, {"at": when, **machine, **done, **fields}
        )

    def close(self) -> None:
        """Let others work on the folder."""
        if self._journal is not None:
            self._journal.close()
        self.lock.release()


def build_failure_record(task: RunTask, kind: str, text: str) -> dict[str, Any]:
    """Build the record of a failed run: which, and why."""
    return {
        "run": task.number,
        "seed": task.seed,
        "part": task.point.part,
        "labels": dict(task.point.labels),
        "kind": kind,
        "text": text,
    }


def format_failure(failure: Mapping[str, Any]) -> str:
    """Format the record of :func:`build_failure_record` in a line."""
    point_parts = [
        failure["part"],
        *(f"{name} {value}" for name, value in failure["labels"].items()),
    ]
    point = "".join(f", {each}" for each in point_parts if each)
    return (
        f"run {failure['run']}, seed {failure['seed']}{point}: {failure['kind']}: {failure['text']}"
    )


def list_shards(folder: Path) -> list[Path]:
    """List the folders of shards inside that of their study."""
    return [
        path for path in sorted(folder.glob("shard-*")) if re.fullmatch(_SHARD_PATTERN, path.name)
    ]


def count_planned_runs(plan_manifest: Mapping[str, Any]) -> int:
    """Count the runs that a folder is to hold: all of the study, or those of a shard."""
    number, count = plan_manifest.get("shard", (1, 1))
    return len(range(number - 1, plan_manifest["runs"], count))


def write_data_set(folder: Path, plan: Mapping[str, Any], records: Mapping[int, RunRecord]) -> None:
    """Write the data set and, last, the manifest with all checksums.

    folder: Folder of the study; the kept runs are in it.
    """
    from trunkline.study.run.data_set import (
        build_frame,
        list_kept_runs,
        list_labels,
        list_run_places,
    )

    files, places, labels = {}, list_run_places(plan), list_labels(plan)
    runs = sorted(records)
    for first in range(0, len(runs), RUNS_PER_FILE):
        name = f"{DATA_FOLDER}/{first // RUNS_PER_FILE:05}.parquet"
        part = {run: records[run] for run in runs[first : first + RUNS_PER_FILE]}
        written = folders.encode_parquet(build_frame(plan, part, places, labels))
        files[name] = write_bytes(folder / name, written)
    for run in sorted(list_kept_runs(plan) & set(runs)):
        name = f"{RUNS_FOLDER}/{run}/run.json"
        files[name] = compute_file_digest(folder / name)
    hashes = "\n".join(records[run].hash for run in runs)
    closing_fields = {"files": files, "hash": hashlib.sha256(hashes.encode()).hexdigest()}
    write_json(folder / MANIFEST_FILE, {**plan, **closing_fields})


def _is_in_shard(number: int, shard: tuple[int, int] | None) -> bool:
    return shard is None or number % shard[1] == shard[0] - 1


def _read_existing_manifest(folder: Path) -> dict[str, Any] | None:
    """Manifest of the study in a folder; None if the folder is empty or not there."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is not a folder")
    if not folder.exists() or not set(os.listdir(folder)) - {LOCK, HISTORY_FILE}:
        return None
    if not (folder / MANIFEST_FILE).is_file():
        if (folder / "study.json").is_file():
            # A reproduction of a time when their runs were not kept: it can be replaced.
            return {"format": 0, "points": []}
        # Killed before the manifest was there: nothing but our own beginnings.
        if all(name.startswith((".", LOCK, "shard-")) for name in os.listdir(folder)):
            return None
        raise StudyError(f"{folder} holds something else than a study")
    return read_manifest(folder)


def _read_verified_records(path: Path, digest: str) -> Iterator[RunRecord]:
    from trunkline.study.run.data_set import read_records

    return read_records(verify_digest(path, digest))


def _is_readable(folder: Path) -> bool:
    try:
        results_store.read_results(folder)
    except Exception:
        return False
    return True


def _remove_study(folder: Path) -> None:
    """Remove an earlier study: its manifest last, so that an interruption leaves a study."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == MANIFEST_FILE):
        if path.name != LOCK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
