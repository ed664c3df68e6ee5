"""Write a scenario as one page that runs."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

from trunkline.report.page import PageEngine, render_runs_page
from trunkline.share.engine_module import load_engine_module
from trunkline.share.runnable_scenario import NotShareable, RunnableScenario

MAX_PAGE_BYTES = 25_000_000
"""Size of a page; mail servers refuse larger ones."""


def write_page(runnable: RunnableScenario, file: str | Path) -> Path:
    """Write the page of a scenario that a reader can run.

    Parameters
    ----------
    runnable : RunnableScenario
        From `build_runnable_scenario`.
    file : str or Path
        Where to write it; replaced if it exists.

    Returns
    -------
    Path
        The file: whole or not there.

    Raises
    ------
    EngineModuleMissing
        The package was built without the engine for pages.
    NotShareable
        The page would be too large.
    """
    from trunkline.report.report_files import write_atomically

    encoded = json.dumps(runnable.data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    packed = gzip.compress(encoded.encode(), 9, mtime=0)
    engine = PageEngine(
        load_engine_module(), base64.b64encode(packed).decode(), runnable.scenario.lesson
    )
    written = render_runs_page(runnable.reported_run, engine)
    if len(written) > MAX_PAGE_BYTES:
        raise NotShareable(
            f"the page would have {len(written) / 1e6:.0f} MB; at most "
            f"{MAX_PAGE_BYTES / 1e6:.0f} MB are allowed. Offer fewer values (--values)"
        )
    target = Path(file)
    write_atomically(target, written)
    return target
