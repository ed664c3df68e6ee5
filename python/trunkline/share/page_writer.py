"""Write a scenario as one page that runs."""

import base64
import gzip
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline.report.page import PageEngine, render_runs_page
from trunkline.report.reported_run import ReportedRun
from trunkline.share.engine_module import load_engine_module
from trunkline.share.runnable_scenario import (
    NotShareable,
    RunnableScenario,
    build_runnable_scenario,
)

MAX_PAGE_BYTES = 25_000_000  # Size of a page; mail servers refuse larger ones.


def share_page(
    file: str | Path,
    out: str | Path,
    *,
    overrides: Mapping[str, str] | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
    seed: int | None = None,
) -> Path:
    """Write a scenario as one page that runs it, as ``trunkline share`` does.

    Parameters
    ----------
    file : str or Path
        The scenario.
    out : str or Path
        Page to write; replaced if it exists.
    overrides : mapping of str to str, optional
        Values set over the scenario for good.
    values : mapping of str to sequence of str, optional
        Values to offer of parameters, in place of those of a slider.
    seed : int, optional
        Seed of the first run; the scenario's own if left out.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ScenarioError
        The scenario has errors.
    NotShareable, EngineModuleMissing
        As `build_runnable_scenario` and `write_page`.
    """
    runnable = build_runnable_scenario(
        Path(file), overrides=overrides, stated_values=values, seed=seed
    )
    return write_page(runnable, out)


def write_page(runnable: RunnableScenario, file: str | Path) -> Path:
    """Write the page of a scenario that a reader can run.

    runnable: From `build_runnable_scenario`.
    file: Where to write it; replaced if it exists.
    Returns: The file: whole or not there.
    Raises EngineModuleMissing: The package was built without the engine for pages.
    Raises NotShareable: The page would be too large.
    """
    return _write(runnable, runnable.reported_run, Path(file))


def write_live_report(results: str | Path, output: str | Path | None = None) -> Path:
    """Write the report of a folder of ``run --out`` as a page that also runs its scenario.

    results: The folder.
    output: File to write, replaced if it exists; ``report.html`` in the folder if left out.
    Raises FileNotFoundError: The folder holds no results of a run.
    Raises ScenarioError: Its scenario does not load there, such as one that names files which are
        not kept.
    Raises EngineModuleMissing, NotShareable: As `write_page`.
    """
    from trunkline.report import REPORT_FILE
    from trunkline.results import store

    folder = Path(results)
    if not (folder / store.RUN_FILE).is_file():
        raise FileNotFoundError(f"{folder} holds no results of a run: no {store.RUN_FILE}")
    reported_run = ReportedRun.read_folder(folder)
    first_run = reported_run.first_run
    if not first_run.provenance.scenario.strip():
        raise NotShareable(f"{folder} does not hold the text of its scenario")
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "scenario.yaml")
        file.write_text(first_run.provenance.scenario, encoding="utf-8")
        runnable = build_runnable_scenario(file, seed=first_run.seed)
    return _write(runnable, reported_run, Path(output or folder / REPORT_FILE))


def _write(runnable: RunnableScenario, reported_run: ReportedRun, target: Path) -> Path:
    from trunkline.report.report_files import write_atomically

    encoded = json.dumps(runnable.data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    packed = gzip.compress(encoded.encode(), 9, mtime=0)
    engine = PageEngine(
        load_engine_module(), base64.b64encode(packed).decode(), runnable.scenario.lesson
    )
    written = render_runs_page(reported_run, engine)
    if len(written) > MAX_PAGE_BYTES:
        raise NotShareable(
            f"the page would have {len(written) / 1e6:.0f} MB; at most "
            f"{MAX_PAGE_BYTES / 1e6:.0f} MB are allowed. Offer fewer values (--values)"
        )
    write_atomically(target, written)
    return target
