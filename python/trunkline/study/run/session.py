"""Execution of a plan, in a folder of the user or in a temporary one, and its results."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trunkline.study.run.data_set import Runs, read
from trunkline.study.run.execution import RunFailure, RunOptions, execute_study
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_plan import RunPlan
from trunkline.study.run.store import StudyStore


class IncompleteStudy(Exception):
    """Some runs of a study failed; the others have ended. total: Runs of the study."""

    def __init__(self, failed: Sequence[RunFailure], total: int) -> None:
        self.failed = list(failed)
        first = self.failed[0].description
        super().__init__(f"{len(self.failed)} of {total} runs failed; the first: {first}")


@contextmanager
def perform_plan(
    plan: RunPlan,
    *,
    out: str | Path | None = None,
    options: RunOptions | None = None,
    progress: Progress | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> Iterator[Runs]:
    """Run the missing runs of a plan, then read it back.

    out: Folder of the study; one that is removed in the end if left out.
    resume, overwrite: Action if the folder holds a study.
    Raises IncompleteStudy: Some failed.
    """
    with tempfile.TemporaryDirectory(prefix="trunkline-") as scratch:
        store = StudyStore(
            Path(scratch) / "study" if out is None else out,
            plan,
            resume=resume,
            overwrite=overwrite,
        )
        active_progress = progress or Progress(plan.name)
        with hold_and_execute(store, options or RunOptions(), active_progress) as failed:
            if failed:
                raise IncompleteStudy(failed, len(plan))
            yield read(store.folder)


@contextmanager
def hold_and_execute(
    store: StudyStore, options: RunOptions, progress: Progress
) -> Iterator[list[RunFailure]]:
    """Execute a study's missing runs while its folder is held, and note how it went.

    store: The study; closed in the end.
    """
    for warning in store.warnings:
        progress.print_warning(warning)
    end_state = "failed"
    try:
        store.add_history(
            pid=os.getpid(), begins=True, threads=options.threads, cluster=options.cluster
        )
        failed = execute_study(store, options, progress)
        end_state = "partial" if failed else "done"
        yield failed
    except KeyboardInterrupt:
        end_state = "interrupted"
        raise
    finally:
        try:
            store.add_history(pid=os.getpid(), ended=end_state)
        finally:
            store.close()
