"""Running what a study still lacks: on the threads of this machine, or on a cluster."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trunkline.engine.sim import Decoder, Job, stream
from trunkline.results import Results
from trunkline.study.errors import OutOfMemory, Refused
from trunkline.study.run.able import require
from trunkline.study.run.journal import Record
from trunkline.study.run.measure import measure
from trunkline.study.run.plan import Task
from trunkline.study.run.progress import Progress
from trunkline.study.run.store import Store, about_failure, told

FLUSH_S = 0.5
"""Runs that have ended are on the disk within this time [s]."""


@dataclass(frozen=True, slots=True)
class How:
    """Where and within what limits.

    Parameters
    ----------
    threads : int, optional
        Runs at a time on this machine; all cores if left out.
    cluster : str, optional
        Address of a Dask scheduler, or ``local:N`` for one on this machine with N workers.
    limit_time_s : float, optional
        Longest time of a run [s of the wall clock].
    limit_memory : int, optional
        Maximum memory of a process that runs points [B].
    """

    threads: int | None = None
    cluster: str | None = None
    limit_time_s: float | None = None
    limit_memory: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that failed.

    Parameters
    ----------
    folder : str
        Where what is needed to run it again has been kept.
    """

    task: Task
    kind: str
    text: str
    folder: str

    @property
    def said(self) -> str:
        """Which run, of which point, and why, in a line."""
        return told(about_failure(self.task, self.kind, self.text))


def record(task: Task, results: Results) -> Record:
    """What is kept of a run."""
    summary = results.summary
    return Record(
        task.number,
        results.hash(),
        int(summary["events"] or 0),
        int(summary["packet_hops"] or 0),
        measure(task.point.measure)(results),
    )


class Sink:
    """Takes what the engine gives and brings it to the disk."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self.store, self.progress = store, progress
        self.failed: list[Failed] = []
        self.out_of_memory: list[str] = []
        self._waiting: list[Record] = []
        self._flushed_at = time.monotonic()

    def done(self, made: Record) -> None:
        """A run has ended."""
        self._waiting.append(made)
        self.progress.ended(made.events)

    def fail(self, task: Task, kind: str, text: str) -> None:
        """A run has failed."""
        if kind == "memory":
            self.out_of_memory.append(text)
            return
        folder = self.store.fail(task, kind, text)
        self.failed.append(Failed(task, kind, text, str(folder)))
        self.progress.failed(f"run {task.number} (seed {task.seed}) failed: {text}")

    def tick(self) -> None:
        """Some time has passed."""
        self.progress.tick()
        if self._waiting and time.monotonic() - self._flushed_at > FLUSH_S:
            self.flush()

    def few(self, started: int, asked: int, why: str) -> None:
        """The system starts fewer threads than asked for."""
        self.progress.warn(f"only {started} of {asked} threads could be started: {why}")
        # The table library, which is loaded when all has ended, breaks where it may have fewer.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")

    def flush(self) -> None:
        """Bring to the disk what has ended."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self.store.append(waiting)
            self.progress.stored(self.store.records)
        self._flushed_at = time.monotonic()


def execute(store: Store, how: How, progress: Progress) -> list[Failed]:
    """Run what a study lacks, and write its data set when nothing is missing any more.

    Returns
    -------
    list of Failed
        Runs that failed; the others have ended.

    Raises
    ------
    Unable
        The system allows too few open files or threads.
    OutOfMemory
        The process held more memory than allowed; what had ended is on the disk.
    KeyboardInterrupt
        The user wants no more; what had ended is on the disk.
    """
    require()
    missing = store.missing()
    sink = Sink(store, progress)
    progress.begin(len(store.mine), len(store.mine) - len(missing))
    try:
        try:
            if missing and how.cluster is not None:
                from trunkline.study.run.cluster import run

                run(missing, how, sink)
            elif missing:
                _here(missing, how, sink)
        finally:
            sink.flush()
    finally:
        progress.end()
    if sink.out_of_memory:
        limit = (how.limit_memory or 0) / 1e6
        raise OutOfMemory(f"more than {limit:.0f} MB: " + "; ".join(sink.out_of_memory))
    store.finish()
    return sink.failed


def _here(missing: list[Task], how: How, sink: Sink) -> None:
    under_way: dict[int, Task] = {}
    decoder = Decoder()

    def jobs() -> Iterator[tuple[str, int]]:
        for number, task in enumerate(missing):
            under_way[number] = task
            yield task.network_json, task.seed

    def ended(number: int, failure: str | None, outcome: Any) -> None:
        task = under_way.pop(number)
        if failure is not None:
            sink.fail(task, failure, outcome)
            return
        text = task.point.scenario() if task.kept else ""
        results = decoder.results(Job(task.network_json, task.seed, text), outcome)
        if task.kept:
            sink.store.keep(task, results)
        sink.done(record(task, results))

    stream(
        jobs(),
        ended,
        threads=how.threads,
        tick=sink.tick,
        limit_time_s=how.limit_time_s,
        limit_memory=how.limit_memory,
        few=sink.few,
    )


def shard_of(said: str, environment: dict[str, str]) -> tuple[int, int]:
    """Number, from 1, and count of a shard.

    Parameters
    ----------
    said : str
        ``3/16``, or ``auto`` or ``auto/16`` for the place in a Slurm array or an indexed Job of
        Kubernetes.
    environment : dict
        Variables: ``SLURM_ARRAY_TASK_ID``, ``_MIN``, ``_STEP`` and ``_COUNT``, or
        ``JOB_COMPLETION_INDEX`` and ``JOB_COMPLETIONS``.

    Raises
    ------
    Refused
        It is neither, or the variables are not there.
    """
    which, _, of = said.partition("/")
    try:
        if which == "auto":
            number, known = _auto(environment)
            count = int(of or known)
        else:
            number, count = int(which), int(of)
    except ValueError:
        raise Refused(f"shard {said!r} is neither like 3/16 nor auto nor auto/16") from None
    except KeyError as error:
        msg = f"shard {said}: {error.args[0]} is not set; outside an array job say which, as 3/16"
        raise Refused(msg) from None
    if not 1 <= number <= count:
        raise Refused(f"shard {number} of {count}: the number must be from 1 to the count")
    return number, count


def _auto(environment: dict[str, str]) -> tuple[int, str]:
    if "SLURM_ARRAY_TASK_ID" in environment:
        first = int(environment.get("SLURM_ARRAY_TASK_MIN", "0"))
        step = int(environment.get("SLURM_ARRAY_TASK_STEP", "1"))
        number = (int(environment["SLURM_ARRAY_TASK_ID"]) - first) // step + 1
        return number, environment["SLURM_ARRAY_TASK_COUNT"]
    if "JOB_COMPLETION_INDEX" in environment:
        # Kubernetes tells the index only; how many there are is put beside it by hand.
        return int(environment["JOB_COMPLETION_INDEX"]) + 1, environment.get("JOB_COMPLETIONS", "")
    raise KeyError("SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX")
