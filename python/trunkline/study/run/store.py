"""A study on disk: a folder with a manifest, a data set, and what is needed to go on with it.

``manifest.json`` says what is to be run and, once all is done, the checksum of every file;
``data/*.parquet`` hold a row for every run; ``runs/N`` hold all tables of the runs that are kept;
``failed/N`` hold what is needed to run again what failed; ``journal.jsonl`` holds the runs that
have ended while some have not; ``history.jsonl`` tells who worked on it. All but the last are the
same, byte for byte, however the study was run.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trunkline.results import Results, folder as folders, store as results_store
from trunkline.results.folder import flush
from trunkline.study.errors import Damaged, Refused
from trunkline.study.run import journal as journals
from trunkline.study.run.disk import checked, checksum, digest_of, write_bytes, write_json
from trunkline.study.run.journal import Journal, Record
from trunkline.study.run.lock import FILE as LOCK, Lock
from trunkline.study.run.plan import Plan, Task, differences

MANIFEST, JOURNAL, HISTORY = "manifest.json", "journal.jsonl", "history.jsonl"
DATA, RUNS, FAILED = "data", "runs", "failed"
RUNS_PER_FILE = 100_000
_SHARD = r"shard-\d+-of-\d+"


class Store:
    """The folder of a study that is being run.

    Parameters
    ----------
    folder : str or Path
        Folder; made if it is not there.
    plan : Plan
        What is to be run.
    resume : bool, default False
        Go on with what is there, if anything is.
    overwrite : bool, default False
        Replace an earlier study.
    shard : (int, int), optional
        Number and count, from 1: only every so-many-th run is this folder's.

    Raises
    ------
    Refused
        The folder holds something else, or another plan, or is in use.
    OSError
        The folder cannot be made or written to.
    """

    def __init__(
        self,
        folder: str | Path,
        plan: Plan,
        *,
        resume: bool = False,
        overwrite: bool = False,
        shard: tuple[int, int] | None = None,
    ) -> None:
        self.folder, self.plan = Path(folder), plan
        self.wanted = plan.to_json() | ({"shard": list(shard)} if shard else {})
        self.mine = [task for task in plan.tasks() if _in_shard(task.number, shard)]
        held = _look(self.folder)
        if held is not None and not (resume or overwrite):
            msg = (
                f"{self.folder} holds a study; go on with --resume, or replace it with --overwrite"
            )
            raise Refused(msg)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = Lock(self.folder)
        self.warnings: list[str] = []
        if self.lock.stale:
            self.warnings.append(f"{self.lock.stale} left {self.folder} without ending its work")
        try:
            self._begin(_look(self.folder), resume=resume)
        except BaseException:
            self.lock.release()
            raise

    def _begin(self, held: dict[str, Any] | None, *, resume: bool) -> None:
        if held is not None and not resume:
            _empty(self.folder)
            held = None
        if held is not None:
            found = differences(held, self.wanted)
            if held.get("shard") != self.wanted.get("shard"):
                found.insert(0, f"shard: {held.get('shard')} then, {self.wanted.get('shard')} now")
            if found:
                more = len(found) - 10
                listed = "".join(f"\n  {each}" for each in found[:10])
                listed += f"\n  and {more} more" if more > 0 else ""
                raise Refused(f"{self.folder} was begun with something else:{listed}")
        for place in (".", DATA, RUNS, FAILED):
            for left in (self.folder / place).glob(".*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        self._journal: Journal | None = None
        self.records: dict[int, Record] = {}
        if held is not None:
            self._read_back(held)
        self.complete = bool(held and held.get("files")) and len(self.records) == len(self.mine)
        if self.complete:
            (self.folder / JOURNAL).unlink(missing_ok=True)
            return  # There is nothing to add.
        if held is None:
            write_json(self.folder / MANIFEST, self.wanted)
        self._journal = Journal(self.folder / JOURNAL)
        if held is not None and held.get("files"):
            # Some of the data set is damaged: the rest of it goes back to the journal.
            self._journal.append(self.records.values())
            write_json(self.folder / MANIFEST, self.wanted)

    def _read_back(self, held: Mapping[str, Any]) -> None:
        for name, digest in held.get("files", {}).items():
            try:
                found = [] if name.startswith(RUNS) else _records(self.folder / name, digest)
            except (Damaged, FileNotFoundError) as error:
                self.warnings.append(f"{error}: its runs are done again")
                continue
            self.records |= {record.run: record for record in found}
        path = self.folder / JOURNAL
        records, damaged = journals.read(path)
        self.records |= {record.run: record for record in records}
        for line in damaged:
            self.warnings.append(f"{path}: line {line} is damaged: its run is done again")
        for task in self.mine:
            kept = self.folder / RUNS / str(task.number)
            if task.kept and task.number in self.records and not _whole(kept):
                del self.records[task.number]
                self.warnings.append(f"{kept} is damaged: its run is done again")

    def missing(self) -> list[Task]:
        """Runs that are still to be done, in order."""
        return [task for task in self.mine if task.number not in self.records]

    def keep(self, task: Task, results: Results) -> None:
        """Write all tables of a run."""
        folder = self.folder / RUNS / str(task.number)
        results_store.write(
            [results], folder, network_json=task.network_json, overwrite=folder.exists()
        )

    def append(self, records: Iterable[Record]) -> None:
        """Note runs that have ended; when this returns, the disk has them."""
        records = list(records)
        assert self._journal is not None
        self._journal.append(records)
        for record in records:
            self.records[record.run] = record
            failed = self.folder / FAILED / str(record.run)
            if failed.exists():
                shutil.rmtree(failed)

    def fail(self, task: Task, kind: str, text: str) -> Path:
        """Keep what is needed to run again a run that failed; its folder."""
        folder = self.folder / FAILED / str(task.number)
        about = about_failure(task, kind, text)

        def fill(made: Path) -> None:
            write_json(made / "failure.json", about)
            folders.write_text(made / "scenario.yaml", task.point.scenario())
            folders.write_text(made / "network.json", task.network_json + "\n")

        return folders.replace(folder, fill, marker="failure.json", overwrite=True)

    def finish(self) -> None:
        """Write the data set and the whole manifest, if every run has ended."""
        if self.complete or self.missing():
            return
        publish(self.folder, self.wanted, self.records)
        self.complete = True
        (self.folder / JOURNAL).unlink()
        shutil.rmtree(self.folder / FAILED, ignore_errors=True)
        flush(self.folder)

    def note(self, **about: Any) -> None:
        """Add a line to the history."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        machine = {"host": socket.gethostname(), "platform": platform.platform()}
        done = {"done": len(self.records), "of": len(self.mine)}
        journals.write_about(self.folder / HISTORY, {"at": when, **machine, **done, **about})

    def close(self) -> None:
        """Let others work on the folder."""
        if self._journal is not None:
            self._journal.close()
        self.lock.release()


def about_failure(task: Task, kind: str, text: str) -> dict[str, Any]:
    """Which run failed, and why."""
    return {
        "run": task.number,
        "seed": task.seed,
        "part": task.point.part,
        "labels": dict(task.point.labels),
        "kind": kind,
        "text": text,
    }


def told(failure: Mapping[str, Any]) -> str:
    """What :func:`about_failure` gave, in a line."""
    where = [failure["part"], *(f"{name} {value}" for name, value in failure["labels"].items())]
    point = "".join(f", {each}" for each in where if each)
    return (
        f"run {failure['run']}, seed {failure['seed']}{point}: {failure['kind']}: {failure['text']}"
    )


def shards(folder: Path) -> list[Path]:
    """Folders of shards inside that of their study."""
    return [path for path in sorted(folder.glob("shard-*")) if re.fullmatch(_SHARD, path.name)]


def share(said: Mapping[str, Any]) -> int:
    """Runs that a folder is to hold: all of the study, or those of a shard."""
    number, count = said.get("shard", (1, 1))
    return len(range(number - 1, said["runs"], count))


def publish(folder: Path, plan: Mapping[str, Any], records: Mapping[int, Record]) -> None:
    """Write the data set and, last, the manifest with all checksums.

    Parameters
    ----------
    folder : Path
        Folder of the study; the kept runs are in it.
    """
    from trunkline.study.run.frames import frame, keeps, labels_of, places_of

    files, places, labels = {}, places_of(plan), labels_of(plan)
    runs = sorted(records)
    for first in range(0, len(runs), RUNS_PER_FILE):
        name = f"{DATA}/{first // RUNS_PER_FILE:05}.parquet"
        part = {run: records[run] for run in runs[first : first + RUNS_PER_FILE]}
        written = folders.parquet(frame(plan, part, places, labels))
        files[name] = write_bytes(folder / name, written)
    for run in sorted(keeps(plan) & set(runs)):
        name = f"{RUNS}/{run}/run.json"
        files[name] = digest_of(folder / name)
    hashes = "\n".join(records[run].hash for run in runs)
    done = {"files": files, "hash": hashlib.sha256(hashes.encode()).hexdigest()}
    write_json(folder / MANIFEST, {**plan, **done})


def _in_shard(number: int, shard: tuple[int, int] | None) -> bool:
    return shard is None or number % shard[1] == shard[0] - 1


def _look(folder: Path) -> dict[str, Any] | None:
    """Manifest of the study in a folder; None if the folder is empty or not there."""
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is not a folder")
    if not folder.exists() or not set(os.listdir(folder)) - {LOCK, HISTORY}:
        return None
    if not (folder / MANIFEST).is_file():
        if (folder / "study.json").is_file():
            # A reproduction of a time when their runs were not kept: it can be replaced.
            return {"format": 0, "points": []}
        # Killed before the manifest was there: nothing but our own beginnings.
        if all(name.startswith((".", LOCK, "shard-")) for name in os.listdir(folder)):
            return None
        raise Refused(f"{folder} holds something else than a study")
    return manifest(folder)


def manifest(folder: Path) -> dict[str, Any]:
    """Manifest of a study.

    Raises
    ------
    Refused
        There is none, or it is not as it was written, or written by a later version.
    """
    path = folder / MANIFEST
    try:
        said = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise Refused(f"{folder} holds no study: there is no {MANIFEST}") from None
    except (ValueError, RecursionError):
        raise Damaged(f"{path} is damaged") from None
    if not isinstance(said, dict) or said.get("format") != 1:
        raise Refused(f"{path} was written by another version: its format is not 1")
    digest = said.pop("checksum", "")
    if digest != checksum(said):
        raise Damaged(f"{path} is damaged: its checksum is not right")
    return said


def _records(path: Path, digest: str) -> Iterator[Record]:
    from trunkline.study.run.frames import records

    return records(checked(path, digest))


def _whole(folder: Path) -> bool:
    try:
        results_store.read(folder)
    except Exception:
        return False
    return True


def _empty(folder: Path) -> None:
    """Remove an earlier study: its manifest last, so that an interruption leaves a study."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == MANIFEST):
        if path.name != LOCK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
