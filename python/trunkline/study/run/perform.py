"""A plan is run and its results are read, in a folder of the user's or in one that goes away."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trunkline.study.run.execute import Failed, How, execute
from trunkline.study.run.frames import Runs, read
from trunkline.study.run.plan import Plan
from trunkline.study.run.progress import Progress
from trunkline.study.run.store import Store


class Incomplete(Exception):
    """Some runs of a study failed; the others have ended.

    Parameters
    ----------
    total : int
        Runs of the study.
    """

    def __init__(self, failed: Sequence[Failed], total: int) -> None:
        self.failed = list(failed)
        first = self.failed[0].said
        super().__init__(f"{len(self.failed)} of {total} runs failed; the first: {first}")


@contextmanager
def performed(
    plan: Plan,
    *,
    out: str | Path | None = None,
    how: How | None = None,
    progress: Progress | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> Iterator[Runs]:
    """Run what is missing of a plan, then read it back.

    Parameters
    ----------
    out : str or Path, optional
        Folder of the study; one that is removed in the end if left out.
    resume, overwrite : bool, default False
        What to do if the folder holds a study.

    Raises
    ------
    Incomplete
        Some failed.
    """
    with tempfile.TemporaryDirectory(prefix="trunkline-") as scratch:
        store = Store(
            Path(scratch) / "study" if out is None else out,
            plan,
            resume=resume,
            overwrite=overwrite,
        )
        watch = progress or Progress(plan.name)
        with working(store, how or How(), watch) as failed:
            if failed:
                raise Incomplete(failed, len(plan))
            yield read(store.folder)


@contextmanager
def working(store: Store, how: How, progress: Progress) -> Iterator[list[Failed]]:
    """Execute a study's missing runs while its folder is held, and note how it went.

    Parameters
    ----------
    store : Store
        The study; closed in the end.
    """
    for warning in store.warnings:
        progress.warn(warning)
    ended = "failed"
    try:
        store.note(pid=os.getpid(), begins=True, threads=how.threads, cluster=how.cluster)
        failed = execute(store, how, progress)
        ended = "partial" if failed else "done"
        yield failed
    except KeyboardInterrupt:
        ended = "interrupted"
        raise
    finally:
        try:
            store.note(pid=os.getpid(), ended=ended)
        finally:
            store.close()
