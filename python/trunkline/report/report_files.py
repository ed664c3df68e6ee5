"""Put reports into results folders."""

import dataclasses
import json
import os
import tempfile
from pathlib import Path

from trunkline.report import reproduced_study
from trunkline.results import atomic_folder as folders, store

REPORT_FILE = "report.html"


def write_report(results: str | Path, output: str | Path | None = None) -> Path:
    """Write the report of a results folder.

    results: A folder that ``run --out``, ``reproduce --out`` or ``study run`` wrote.
    output: File to write, replaced if it exists; ``report.html`` in the folder if left out.
    Returns: The file: whole or not there.
    Raises FileNotFoundError: The folder holds no results.
    """
    from trunkline.report import page, sweep
    from trunkline.report.reported_run import ReportedRun

    folder = Path(results)
    if (folder / reproduced_study.RECORD_FILE).is_file():
        written = page.render_study_page(folder)
    elif (folder / store.RUN_FILE).is_file():
        written = page.render_runs_page(ReportedRun.read_folder(folder))
    elif (folder / sweep.MANIFEST_FILE).is_file():
        written = page.render_sweep_page(folder)
    else:
        raise FileNotFoundError(
            f"{folder} holds no results: no {store.RUN_FILE}, {reproduced_study.RECORD_FILE} or "
            f"{sweep.MANIFEST_FILE}"
        )
    target = folder / REPORT_FILE if output is None else Path(output)
    write_atomically(target, written)
    return target


def write_atomically(target: Path, written: str) -> None:
    """Write a file next to its place, then give it its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(written)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def add_featured_runs(name: str, folder: str | Path, *, threads: int | None = None) -> None:
    """Run the scenarios that represent a study and keep them next to its reproduction.

    threads: Runs at once; all cores if left out.
    """
    from trunkline.engine.packet_engine import simulate_jobs
    from trunkline.study.language.featured_runs import find_featured_runs, find_study_heading

    featured_runs = find_featured_runs(name)

    def fill(target: Path) -> None:
        for number, each in enumerate(featured_runs):
            runs = simulate_jobs(each.jobs, threads=threads)
            store.write_results(runs, target / str(number), network_json=each.jobs[0].network_json)
        about = {
            **dataclasses.asdict(find_study_heading(name)),
            "exhibits": [{"title": each.title, "about": each.about} for each in featured_runs],
        }
        folders.write_text(
            target / reproduced_study.FEATURED_RUNS_INDEX, json.dumps(about, indent=2) + "\n"
        )

    folders.write_folder(
        Path(folder) / reproduced_study.FEATURED_RUNS_FOLDER,
        fill,
        marker=reproduced_study.FEATURED_RUNS_INDEX,
        overwrite=True,
    )
