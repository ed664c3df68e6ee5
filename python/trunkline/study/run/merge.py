"""Shards of a study, run on several machines, become one study."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trunkline.results.folder import flush
from trunkline.study.errors import Refused
from trunkline.study.run import journal
from trunkline.study.run.disk import checked
from trunkline.study.run.frames import keeps, records, seeds_of
from trunkline.study.run.journal import Record
from trunkline.study.run.lock import Lock
from trunkline.study.run.plan import differences
from trunkline.study.run.store import (
    DATA,
    JOURNAL,
    MANIFEST,
    RUNS,
    manifest,
    publish,
    shards as shards_in,
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
    sources : sequence of str or Path, optional
        Folders of the shards; those in the study's folder if left out.

    Raises
    ------
    Refused
        The shards are not of one study, or some runs are in none of them.
    """
    target = Path(folder)
    shards = [Path(each) for each in sources] or shards_in(target)
    if not shards:
        raise Refused(f"{target} holds no shards")
    if (target / MANIFEST).exists():
        raise Refused(f"{target} holds a study already")
    said = [manifest(shard) for shard in shards]
    shared_out = [each for each in said if "share" in each]
    plan, done, where = _by_points(shards, said) if shared_out else _by_runs(shards, said)
    target.mkdir(parents=True, exist_ok=True)
    lock = Lock(target)
    try:
        for run in sorted(keeps(plan)):
            copy_run(where[run], target / RUNS / str(run))
        publish(target, plan, done)
        flush(target)
    finally:
        lock.release()
    return target


_Whole = tuple[dict[str, Any], dict[int, Record], dict[int, Path]]
"""Plan of a study, its runs, and where the tables of each would be."""


def _by_runs(shards: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> _Whole:
    """Put together shards that each have every so-many-th run."""
    plan: dict[str, Any] = {}
    done: dict[int, Record] = {}
    where: dict[int, Path] = {}
    for shard, said in zip(shards, manifests, strict=True):
        files = said.pop("files", {})
        for key in ("shard", "hash"):
            said.pop(key, None)
        found = differences(plan, said) if plan else []
        if found:
            raise Refused(f"{shard} is of another study than {shards[0]}: {'; '.join(found[:5])}")
        plan = said
        for record in _ended(shard, files):
            done[record.run], where[record.run] = record, shard / RUNS / str(record.run)
    lost = plan["runs"] - len(done)
    if lost:
        missing = [str(run) for run in range(plan["runs"]) if run not in done]
        listed = ", ".join(missing[:10]) + (", ..." if lost > 10 else "")
        raise Refused(
            f"{lost} of {plan['runs']} runs have not ended: {listed}; resume their shards"
        )
    return plan, done, where


def _by_points(shards: Sequence[Path], manifests: Sequence[dict[str, Any]]) -> _Whole:
    """Put together shards that each have every so-many-th point, with runs of their own number."""
    first = manifests[0]
    _, count, networks = first.get("share", (1, 1, ""))
    keys = ("format", "study", "title", "version", "engine")
    parts: dict[int, tuple[Path, dict[str, Any]]] = {}
    for shard, said in zip(shards, manifests, strict=True):
        number, *of = said.get("share", (0,))
        if of != [count, networks] or any(said.get(key) != first.get(key) for key in keys):
            raise Refused(f"{shard} is of another study than {shards[0]}")
        if not said.get("files"):
            raise Refused(f"{shard} is not complete; resume it")
        parts[number] = (shard, said)
    lost = [str(number) for number in range(1, count + 1) if number not in parts]
    if lost:
        raise Refused(f"of {count} shards these are not there: {', '.join(lost)}")
    points: list[dict[str, Any]] = []
    measures: list[str] = []
    done: dict[int, Record] = {}
    where: dict[int, Path] = {}
    ended = {number: iter(_ended(shard, said["files"])) for number, (shard, said) in parts.items()}
    order = [(place, n) for n, (_, said) in parts.items() for place in range(len(said["points"]))]
    for place, number in sorted(order):
        shard, said = parts[number]
        point = said["points"][place]
        measure = said["measures"][point["measure"]]
        if measure not in measures:
            measures.append(measure)
        points.append({**point, "measure": measures.index(measure)})
        for _ in seeds_of(point):
            record = next(ended[number])
            where[len(done)] = shard / RUNS / str(record.run)
            done[len(done)] = replace(record, run=len(done))
    plan = {key: first.get(key) for key in keys}
    return {**plan, "runs": len(done), "measures": measures, "points": points}, done, where


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
