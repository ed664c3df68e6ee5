"""Execution of the missing runs of a study: on threads of this machine, or on a cluster."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trunkline.engine.packet_engine import Job, ResultsDecoder, stream_runs
from trunkline.study.errors import MemoryLimitExceeded, StudyError
from trunkline.study.run.journal import RunRecord, build_record
from trunkline.study.run.progress import Progress
from trunkline.study.run.run_plan import RunTask
from trunkline.study.run.store import StudyStore, build_failure_record, format_failure
from trunkline.study.run.system_limits import require_system_limits

FLUSH_INTERVAL_S = 0.5  # Runs that have ended are on the disk within this time [s].


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Place and limits of the runs."""

    threads: int | None = None  # Runs at a time on this machine; all cores if left out.
    # Address of a Dask scheduler, or ``local:N`` for one on this machine with N workers.
    cluster: str | None = None
    limit_time_s: float | None = None  # Longest time of a run [s of the wall clock].
    limit_memory: int | None = None  # Maximum memory of a process that runs points [B].


@dataclass(frozen=True, slots=True)
class RunFailure:
    """A run that failed."""

    task: RunTask
    kind: str
    text: str
    folder: str  # Folder of the files with which it can run again.

    @property
    def description(self) -> str:
        """Describe in a line which run of which point failed, and why."""
        return format_failure(build_failure_record(self.task, self.kind, self.text))


class ResultSink:
    """Receives results of the engine and writes them to the disk."""

    def __init__(self, store: StudyStore, progress: Progress) -> None:
        self.store, self.progress = store, progress
        self.failed: list[RunFailure] = []
        self.out_of_memory: list[str] = []
        self._unflushed: list[RunRecord] = []
        self._flushed_at = time.monotonic()

    def add_record(self, run_record: RunRecord) -> None:
        """A run has ended."""
        self._unflushed.append(run_record)
        self.progress.count_ended(run_record.events)

    def add_failure(self, task: RunTask, kind: str, text: str) -> None:
        """A run has failed."""
        if kind == "memory":
            self.out_of_memory.append(text)
            return
        folder = self.store.write_failure(task, kind, text)
        self.failed.append(RunFailure(task, kind, text, str(folder)))
        self.progress.count_failed(f"run {task.number} (seed {task.seed}) failed: {text}")

    def flush_if_due(self) -> None:
        """Some time has passed."""
        self.progress.report_if_due()
        if self._unflushed and time.monotonic() - self._flushed_at > FLUSH_INTERVAL_S:
            self.flush()

    def warn_few_threads(self, started: int, requested: int, reason: str) -> None:
        """The system starts fewer threads than asked for."""
        self.progress.print_warning(
            f"only {started} of {requested} threads could be started: {reason}"
        )
        # The table library, which is loaded when all has ended, breaks where it may have fewer.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")

    def flush(self) -> None:
        """Write ended runs to the disk."""
        waiting, self._unflushed = self._unflushed, []
        if waiting:
            self.store.append_records(waiting)
            self.progress.notify_stored(self.store.records)
        self._flushed_at = time.monotonic()


def execute_study(store: StudyStore, options: RunOptions, progress: Progress) -> list[RunFailure]:
    """Run the missing runs of a study, and write its data set when all are there.

    Returns: Runs that failed; the others have ended.
    Raises SystemLimitError: The system allows too few open files or threads.
    Raises MemoryLimitExceeded: The process held more memory than allowed; ended runs are on the
        disk.
    Raises KeyboardInterrupt: The user wants no more; ended runs are on the disk.
    """
    require_system_limits()
    missing = store.list_missing()
    sink = ResultSink(store, progress)
    progress.begin(len(store.own_tasks), len(store.own_tasks) - len(missing))
    try:
        try:
            if missing and options.cluster is not None:
                from trunkline.study.run.cluster import run_on_cluster

                run_on_cluster(missing, options, sink)
            elif missing:
                _run_locally(missing, options, sink)
        finally:
            sink.flush()
    finally:
        progress.end()
    if sink.out_of_memory:
        limit = (options.limit_memory or 0) / 1e6
        raise MemoryLimitExceeded(f"more than {limit:.0f} MB: " + "; ".join(sink.out_of_memory))
    store.finish_data_set()
    return sink.failed


def _run_locally(missing: list[RunTask], options: RunOptions, sink: ResultSink) -> None:
    running: dict[int, RunTask] = {}
    decoder = ResultsDecoder()

    def jobs() -> Iterator[tuple[str, int]]:
        for number, task in enumerate(missing):
            running[number] = task
            yield task.network_json, task.seed

    def ended(number: int, failure: str | None, outcome: Any) -> None:
        task = running.pop(number)
        if failure is not None:
            sink.add_failure(task, failure, outcome)
            return
        text = task.point.scenario() if task.is_kept else ""
        results = decoder.decode_results(Job(task.network_json, task.seed, text), outcome)
        if task.is_kept:
            sink.store.write_run(task, results)
        sink.add_record(build_record(task, results))

    stream_runs(
        jobs(),
        ended,
        threads=options.threads,
        on_tick=sink.flush_if_due,
        limit_time_s=options.limit_time_s,
        limit_memory=options.limit_memory,
        on_fewer_threads=sink.warn_few_threads,
    )


def parse_shard(text: str, environment: dict[str, str]) -> tuple[int, int]:
    """Parse the number, from 1, and count of a shard.

    text: ``3/16``, or ``auto`` or ``auto/16`` for the place in a Slurm array or an indexed Job of
        Kubernetes.
    environment: Variables: ``SLURM_ARRAY_TASK_ID``, ``_MIN``, ``_STEP`` and ``_COUNT_SCHEMA``, or
        ``JOB_COMPLETION_INDEX`` and ``JOB_COMPLETIONS``.
    Raises StudyError: It is neither, or the variables are not there.
    """
    number_text, _, count_text = text.partition("/")
    try:
        if number_text == "auto":
            number, known = _read_array_index(environment)
            count = int(count_text or known)
        else:
            number, count = int(number_text), int(count_text)
    except ValueError:
        raise StudyError(f"shard {text!r} is neither like 3/16 nor auto nor auto/16") from None
    except KeyError as error:
        msg = f"shard {text}: {error.args[0]} is not set; outside an array job say which, as 3/16"
        raise StudyError(msg) from None
    if not 1 <= number <= count:
        raise StudyError(f"shard {number} of {count}: the number must be from 1 to the count")
    return number, count


def _read_array_index(environment: dict[str, str]) -> tuple[int, str]:
    if "SLURM_ARRAY_TASK_ID" in environment:
        first = int(environment.get("SLURM_ARRAY_TASK_MIN", "0"))
        step = int(environment.get("SLURM_ARRAY_TASK_STEP", "1"))
        number = (int(environment["SLURM_ARRAY_TASK_ID"]) - first) // step + 1
        return number, environment["SLURM_ARRAY_TASK_COUNT"]
    if "JOB_COMPLETION_INDEX" in environment:
        # Kubernetes gives only the index; the user adds the number of jobs by hand.
        return int(environment["JOB_COMPLETION_INDEX"]) + 1, environment.get("JOB_COMPLETIONS", "")
    raise KeyError("SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX")
