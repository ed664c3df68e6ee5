"""What lies in a folder of results: runs, reproductions, and studies that are still going on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trunkline.report import study
from trunkline.report.write import NAME
from trunkline.results import store

DEPTH = 4
"""Folders below the one that is looked through."""

MOST = 500

MANIFEST, JOURNAL = "manifest.json", "journal.jsonl"
"""Files of a study on disk, as ``trunkline.study.run.store`` writes them."""

_FILES = {"reproduction": study.RECORD, "run": store.RUN, "study": MANIFEST}


def listing(root: Path) -> list[dict[str, Any]]:
    """Find results, the last written first.

    Parameters
    ----------
    root : Path
        Folder to look through; links to elsewhere are not followed.

    Returns
    -------
    list of dict
        ``path`` below the root, ``name``, ``kind``, ``done`` and ``of`` (runs; of a study that is
        going on), ``state`` and ``changed`` (seconds since 1970).
    """
    found = [entry for folder in _folders(root, DEPTH) if (entry := _entry(root, folder))]
    found.sort(key=lambda entry: (-float(entry["changed"]), str(entry["path"])))
    return found[:MOST]


def _folders(root: Path, depth: int) -> Iterator[Path]:
    yield root
    if depth == 0 or _kind(root) is not None:
        return
    try:
        below = sorted(os.scandir(root), key=lambda each: each.name)
    except OSError:
        return
    for each in below:
        if each.is_dir(follow_symlinks=False) and not each.name.startswith("."):
            yield from _folders(Path(each.path), depth - 1)


def _kind(folder: Path) -> str | None:
    return next((kind for kind, file in _FILES.items() if (folder / file).is_file()), None)


def _entry(root: Path, folder: Path) -> dict[str, Any] | None:
    kind = _kind(folder)
    if kind is None:
        return None
    file = folder / _FILES[kind]
    try:
        said = json.loads(file.read_text("utf-8"))
        changed = file.stat().st_mtime
        done, of, state = _progress(folder, kind, said)
        name = _name(folder, kind, said)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    path = folder.relative_to(root).as_posix()
    return {
        "path": "" if path == "." else path,
        "name": name,
        "kind": kind,
        "state": state,
        "done": done,
        "of": of,
        "changed": round(changed, 1),
        "report": state == "done" or (folder / NAME).is_file(),
    }


def _name(folder: Path, kind: str, said: dict[str, Any]) -> str:
    """Name of a study, or what a run's scenario is called."""
    if kind == "run":
        from trunkline.report.verdict import title

        return title(str(said["provenance"]["scenario"]), folder.name)
    return str(said.get("study") or said.get("name") or folder.name)


def _progress(folder: Path, kind: str, said: dict[str, Any]) -> tuple[int, int, str]:
    """Runs done, runs wanted, and whether more are coming."""
    if kind == "run":
        return len(said["runs"]), len(said["runs"]), "done"
    if kind == "reproduction":
        return int(said["summary"]["runs"]), int(said["summary"]["runs"]), "done"
    number, count = said.get("shard") or (1, 1)
    of = len(range(number - 1, int(said["runs"]), count))
    from trunkline.study.run.lock import holder

    journal = folder / JOURNAL
    if not journal.is_file():
        return (of, of, "done") if "hash" in said else (0, of, "begun")
    with journal.open("rb") as lines:
        done = sum(line.endswith(b"\n") for line in lines)
    return done, of, "going on" if holder(folder) else "stopped"
