"""Put reports into results folders."""

import dataclasses
import json
import os
import tempfile
from pathlib import Path

from trunkline.report import study
from trunkline.results import folder as folders, store

NAME = "report.html"


def write(results: str | Path, output: str | Path | None = None) -> Path:
    """Write the report of a results folder.

    Parameters
    ----------
    results : str or Path
        A folder that ``run --out``, ``reproduce --out`` or ``study run`` wrote.
    output : str or Path, optional
        File to write, replaced if it exists; ``report.html`` in the folder if left out.

    Returns
    -------
    Path
        The file: whole or not there.

    Raises
    ------
    FileNotFoundError
        The folder holds no results.
    """
    from trunkline.report import page, sweep
    from trunkline.report.exhibit import Exhibit

    folder = Path(results)
    if (folder / study.RECORD).is_file():
        written = page.of_study(folder)
    elif (folder / store.RUN).is_file():
        written = page.of_runs(Exhibit.read(folder))
    elif (folder / sweep.MANIFEST).is_file():
        written = page.of_sweep(folder)
    else:
        msg = f"{folder} holds no results: no {store.RUN}, {study.RECORD} or {sweep.MANIFEST}"
        raise FileNotFoundError(msg)
    target = folder / NAME if output is None else Path(output)
    _replace(target, written)
    return target


def _replace(target: Path, written: str) -> None:
    """Write a file beside its place, then give it its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(written)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(made, 0o644)
        os.replace(made, target)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def add_exhibits(name: str, folder: str | Path, *, threads: int | None = None) -> None:
    """Run the scenarios that stand for a study and keep them beside its reproduction.

    Parameters
    ----------
    threads : int, optional
        Runs at once; all cores if left out.
    """
    from trunkline.engine.sim import simulate_all
    from trunkline.study.language.exhibits import exhibits, heading

    shown = exhibits(name)

    def fill(made: Path) -> None:
        for number, each in enumerate(shown):
            runs = simulate_all(each.jobs, threads=threads)
            store.write(runs, made / str(number), network_json=each.jobs[0].network_json)
        about = {
            **dataclasses.asdict(heading(name)),
            "exhibits": [{"title": each.title, "about": each.about} for each in shown],
        }
        folders.write_text(made / study.INDEX, json.dumps(about, indent=2) + "\n")

    folders.replace(Path(folder) / study.EXHIBITS, fill, marker=study.INDEX, overwrite=True)
