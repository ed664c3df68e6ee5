"""Content of a folder of results: runs, reproductions, and studies in progress."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trunkline.report import reproduced_study
from trunkline.report.report_files import REPORT_FILE
from trunkline.results import store

MAX_FOLDER_DEPTH = 4  # Folders below the one that is looked through.

MAX_ENTRIES = 500

MANIFEST_FILE, JOURNAL_FILE = "manifest.json", "journal.jsonl"
"""Files of a study on disk, as ``trunkline.study.run.store`` writes them."""

_MARKER_FILES = {
    "reproduction": reproduced_study.RECORD_FILE,
    "run": store.RUN_FILE,
    "study": MANIFEST_FILE,
}


def list_results(root: Path) -> list[dict[str, Any]]:
    """Find results, the last written first.

    root: Folder to look through; links to elsewhere are not followed.
    Returns: ``path`` below the root, ``name``, ``kind``, ``done`` and ``of`` (runs; of a study that
        is going on), ``state`` and ``changed`` (seconds since 1970).
    """
    found = [
        entry
        for folder in _iterate_folders(root, MAX_FOLDER_DEPTH)
        if (entry := _build_entry(root, folder))
    ]
    found.sort(key=lambda entry: (-float(entry["changed"]), str(entry["path"])))
    return found[:MAX_ENTRIES]


def _iterate_folders(root: Path, depth: int) -> Iterator[Path]:
    yield root
    if depth == 0 or _find_kind(root) is not None:
        return
    try:
        below = sorted(os.scandir(root), key=lambda each: each.name)
    except OSError:
        return
    for each in below:
        if each.is_dir(follow_symlinks=False) and not each.name.startswith("."):
            yield from _iterate_folders(Path(each.path), depth - 1)


def _find_kind(folder: Path) -> str | None:
    return next((kind for kind, file in _MARKER_FILES.items() if (folder / file).is_file()), None)


def _build_entry(root: Path, folder: Path) -> dict[str, Any] | None:
    kind = _find_kind(folder)
    if kind is None:
        return None
    file = folder / _MARKER_FILES[kind]
    try:
        record = json.loads(file.read_text("utf-8"))
        changed = file.stat().st_mtime
        done, planned_runs, state = _read_progress(folder, kind, record)
        name = _find_name(folder, kind, record)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    path = folder.relative_to(root).as_posix()
    return {
        "path": "" if path == "." else path,
        "name": name,
        "kind": kind,
        "state": state,
        "done": done,
        "of": planned_runs,
        "changed": round(changed, 1),
        "report": state == "done" or (folder / REPORT_FILE).is_file(),
    }


def _find_name(folder: Path, kind: str, record: dict[str, Any]) -> str:
    """Find the name of a study, or of a run's scenario."""
    if kind == "run":
        from trunkline.report.findings import find_title

        return find_title(str(record["provenance"]["scenario"]), folder.name)
    return str(record.get("study") or record.get("name") or folder.name)


def _read_progress(folder: Path, kind: str, record: dict[str, Any]) -> tuple[int, int, str]:
    """Read runs done, runs wanted, and whether more are coming."""
    if kind == "run":
        return len(record["runs"]), len(record["runs"]), "done"
    if kind == "reproduction":
        return int(record["summary"]["runs"]), int(record["summary"]["runs"]), "done"
    number, count = record.get("shard") or (1, 1)
    planned_runs = len(range(number - 1, int(record["runs"]), count))
    from trunkline.study.run.folder_lock import find_lock_holder

    journal = folder / JOURNAL_FILE
    if not journal.is_file():
        return (
            (planned_runs, planned_runs, "done") if "hash" in record else (0, planned_runs, "begun")
        )
    with journal.open("rb") as lines:
        done = sum(line.endswith(b"\n") for line in lines)
    return done, planned_runs, "going on" if find_lock_holder(folder) else "stopped"
