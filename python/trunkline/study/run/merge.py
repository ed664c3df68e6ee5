"""Shards of a study, run on several machines, become one study."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trunkline.results.atomic_folder import flush_to_disk
from trunkline.study.errors import StudyError
from trunkline.study.run import journal
from trunkline.study.run.checked_files import (
    DATA_FOLDER,
    JOURNAL_FILE,
    MANIFEST_FILE,
    read_manifest,
    verify_digest,
)
from trunkline.study.run.data_set import expand_seeds, list_kept_runs, read_records
from trunkline.study.run.folder_lock import FolderLock
from trunkline.study.run.journal import RunRecord
from trunkline.study.run.run_plan import list_differences
from trunkline.study.run.store import RUNS_FOLDER, list_shards as shards_in, write_data_set

SHARD_FOLDER_FORMAT = "shard-{:04}-of-{:04}"  # Folder of a shard inside that of its study.


def build_shard_folder(folder: Path, shard: tuple[int, int] | None) -> Path:
    """Build the folder that a shard works in, or the study's own."""
    return folder if shard is None else folder / SHARD_FOLDER_FORMAT.format(*shard)


def merge_shards(folder: str | Path, sources: Sequence[str | Path] = ()) -> Path:
    """Put shards together to the study that one machine would have written, byte for byte.

    sources: Folders of the shards; those in the study's folder if left out.
    Raises StudyError: The shards are not of one study, or some runs are in none of them.
    """
    target = Path(folder)
    shards = [Path(each) for each in sources] or shards_in(target)
    if not shards:
        raise StudyError(f"{target} holds no shards")
    if (target / MANIFEST_FILE).exists():
        raise StudyError(f"{target} holds a study already")
    manifests = [read_manifest(shard) for shard in shards]
    point_shards = [each for each in manifests if "share" in each]
    plan, records_by_run, run_folders = (
        _merge_by_points(shards, manifests) if point_shards else _merge_by_runs(shards, manifests)
    )
    target.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(target)
    try:
        for run in sorted(list_kept_runs(plan)):
            copy_run(run_folders[run], target / RUNS_FOLDER / str(run))
        write_data_set(target, plan, records_by_run)
        flush_to_disk(target)
    finally:
        lock.release()
    return target


_MergedShards = tuple[dict[str, Any], dict[int, RunRecord], dict[int, Path]]
"""Plan of a study, its runs, and where the tables of each would be."""


def _merge_by_runs(shards: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> _MergedShards:
    """Put together shards that each have every so-many-th run."""
    plan: dict[str, Any] = {}
    records_by_run: dict[int, RunRecord] = {}
    run_folders: dict[int, Path] = {}
    for shard, shard_manifest in zip(shards, manifests, strict=True):
        files = shard_manifest.pop("files", {})
        for key in ("shard", "hash"):
            shard_manifest.pop(key, None)
        found = list_differences(plan, shard_manifest) if plan else []
        if found:
            raise StudyError(
                f"{shard} is of another study than {shards[0]}: {'; '.join(found[:5])}"
            )
        plan = shard_manifest
        for record in _read_ended_runs(shard, files):
            records_by_run[record.run], run_folders[record.run] = (
                record,
                shard / RUNS_FOLDER / str(record.run),
            )
    lost = plan["runs"] - len(records_by_run)
    if lost:
        missing = [str(run) for run in range(plan["runs"]) if run not in records_by_run]
        listed = ", ".join(missing[:10]) + (", ..." if lost > 10 else "")
        raise StudyError(
            f"{lost} of {plan['runs']} runs have not ended: {listed}; resume their shards"
        )
    return plan, records_by_run, run_folders


def _merge_by_points(shards: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> _MergedShards:
    """Put together shards that each have every so-many-th point, with runs of their own number."""
    first = manifests[0]
    _, count, networks = first.get("share", (1, 1, ""))
    keys = ("format", "study", "title", "version", "engine")
    parts: dict[int, tuple[Path, dict[str, Any]]] = {}
    for shard, shard_manifest in zip(shards, manifests, strict=True):
        number, *share_rest = shard_manifest.get("share", (0,))
        if share_rest != [count, networks] or any(
            shard_manifest.get(key) != first.get(key) for key in keys
        ):
            raise StudyError(f"{shard} is of another study than {shards[0]}")
        if not shard_manifest.get("files"):
            raise StudyError(f"{shard} is not complete; resume it")
        parts[number] = (shard, shard_manifest)
    lost = [str(number) for number in range(1, count + 1) if number not in parts]
    if lost:
        raise StudyError(f"of {count} shards these are not there: {', '.join(lost)}")
    points: list[dict[str, Any]] = []
    measures: list[str] = []
    records_by_run: dict[int, RunRecord] = {}
    run_folders: dict[int, Path] = {}
    ended = {
        number: iter(_read_ended_runs(shard, shard_manifest["files"]))
        for number, (shard, shard_manifest) in parts.items()
    }
    order = [
        (place, n)
        for n, (_, shard_manifest) in parts.items()
        for place in range(len(shard_manifest["points"]))
    ]
    for place, number in sorted(order):
        shard, shard_manifest = parts[number]
        point = shard_manifest["points"][place]
        measure = shard_manifest["measures"][point["measure"]]
        if measure not in measures:
            measures.append(measure)
        points.append({**point, "measure": measures.index(measure)})
        for _ in expand_seeds(point):
            record = next(ended[number])
            run_folders[len(records_by_run)] = shard / RUNS_FOLDER / str(record.run)
            records_by_run[len(records_by_run)] = replace(record, run=len(records_by_run))
    plan = {key: first.get(key) for key in keys}
    return (
        {**plan, "runs": len(records_by_run), "measures": measures, "points": points},
        records_by_run,
        run_folders,
    )


def _read_ended_runs(shard: Path, files: dict[str, str]) -> list[RunRecord]:
    if files:
        names = [name for name in files if name.startswith(DATA_FOLDER)]
        return [
            each
            for name in names
            for each in read_records(verify_digest(shard / name, files[name]))
        ]
    ended, damaged = journal.read_journal(shard / JOURNAL_FILE)
    if damaged:
        raise StudyError(
            f"{shard / JOURNAL_FILE} is damaged in line {damaged[0]}; resume that shard"
        )
    return ended


def copy_run(source: Path, target: Path) -> None:
    """Copy the tables of a run that is kept, whole or not at all; nothing if they are there."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as temporary:
        copied = shutil.copytree(source, Path(temporary) / "run")
        for path in copied.iterdir():
            flush_to_disk(path)
        flush_to_disk(copied)
        copied.rename(target)
    flush_to_disk(target.parent)
