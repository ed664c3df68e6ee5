"""Shards of a study, run on several machines, become one study."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trunkline.study import journal
from trunkline.study.errors import Refused
from trunkline.study.frames import keeps, records
from trunkline.study.journal import Record
from trunkline.study.lock import Lock
from trunkline.study.plan import differences
from trunkline.study.store import (
    DATA,
    JOURNAL,
    MANIFEST,
    RUNS,
    checked,
    flush,
    manifest,
    publish,
)

SHARD = "shard-{:04}-of-{:04}"
"""Folder of a shard inside that of its study."""


def shard_folder(folder: Path, shard: tuple[int, int] | None) -> Path:
    """Folder that a shard works in, or the study's own."""
    return folder if shard is None else folder / SHARD.format(*shard)


def merge(folder: str | Path, sources: Sequence[str | Path] = ()) -> Path:
    """Put shards together to the study that one machine would have written, byte for byte.

    Parameters
    ----------
    folder : str or Path
        Folder of the study.
    sources : sequence of str or Path, optional
        Folders of the shards; those in the study's folder if left out.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    Refused
        The shards are not of one study, or some runs are in none of them.
    """
    target = Path(folder)
    shards = [Path(each) for each in sources] or sorted(target.glob("shard-*"))
    if not shards:
        raise Refused(f"{target} holds no shards")
    if (target / MANIFEST).exists():
        raise Refused(f"{target} holds a study already")
    plan: dict[str, Any] = {}
    done: dict[int, Record] = {}
    where: dict[int, Path] = {}
    for shard in shards:
        said = manifest(shard)
        files = said.pop("files", {})
        for key in ("shard", "hash"):
            said.pop(key, None)
        found = differences(plan, said) if plan else []
        if found:
            raise Refused(f"{shard} is of another study than {shards[0]}: {'; '.join(found[:5])}")
        plan = said
        for record in _ended(shard, files):
            done[record.run], where[record.run] = record, shard
    lost = plan["runs"] - len(done)
    if lost:
        missing = [str(run) for run in range(plan["runs"]) if run not in done]
        listed = ", ".join(missing[:10]) + (", ..." if lost > 10 else "")
        raise Refused(
            f"{lost} of {plan['runs']} runs have not ended: {listed}; resume their shards"
        )
    target.mkdir(parents=True, exist_ok=True)
    lock = Lock(target)
    try:
        for run in sorted(keeps(plan)):
            copy_run(where[run] / RUNS / str(run), target / RUNS / str(run))
        publish(target, plan, done)
        flush(target)
    finally:
        lock.release()
    return target


def _ended(shard: Path, files: dict[str, str]) -> list[Record]:
    if files:
        names = [name for name in files if name.startswith(DATA)]
        return [each for name in names for each in records(checked(shard / name, files[name]))]
    ended, damaged = journal.read(shard / JOURNAL)
    if damaged:
        raise Refused(f"{shard / JOURNAL} is damaged in line {damaged[0]}; resume that shard")
    return ended


def copy_run(source: Path, target: Path) -> None:
    """Copy the tables of a run that is kept, whole or not at all; nothing if they are there."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as made:
        whole = shutil.copytree(source, Path(made) / "run")
        for path in whole.iterdir():
            flush(path)
        flush(whole)
        whole.rename(target)
    flush(target.parent)
