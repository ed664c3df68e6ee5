"""Calls of functions on a Dask cluster; of a study one call a run: the same measures and records.

Dask's own protocol carries functions by name and arguments as text; like all of Dask it trusts
every machine that can reach the scheduler.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import multiprocessing
import queue
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trunkline.engine.packet_engine import (
    Job,
    ResultsDecoder,
    get_engine_file,
    get_engine_version,
    stream_runs,
)
from trunkline.scenario.units import parse_integer
from trunkline.study.errors import StudyError, SystemLimitError
from trunkline.study.run.journal import RunRecord, build_record
from trunkline.study.run.run_plan import RunTask, StudyPoint

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from distributed import Client, Future

    from trunkline.study.run.execution import ResultSink, RunOptions

CONNECT_TIMEOUT_S = 5
TASKS_PER_THREAD = 4  # Tasks sent ahead for each thread of a worker.
CLUSTER_LOST = "the cluster was lost"
FETCH_TIMEOUT_S = 5  # Longest time to wait for the outcome of a run that has ended [s].
NO_WORKERS_TIMEOUT_S = 30  # A cluster that has had no worker for this time is given up [s].


@functools.cache
def describe_build() -> str:
    """Version of this package, and a digest of its files: the engine's and the language's."""
    package = Path(__file__).parent.parent.parent
    digest = hashlib.sha256()
    for path in [get_engine_file(), *sorted(package.rglob("*.py"))]:
        digest.update(path.read_bytes())
    return f"{get_engine_version()} ({digest.hexdigest()[:12]})"


@dataclass(frozen=True, slots=True, eq=False)
class ClusterTask:
    """A call of a function of this package on a worker."""

    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class TaskReceiver(Protocol):
    """Receives the results of tasks."""

    noun: str  # Name of the tasks in messages: ``runs``.

    def take_result(self, number: int, result: Any) -> None:
        """A task has returned."""

    def take_failure(self, number: int, text: str) -> None:
        """A task has raised an error, or has made its worker die twice."""

    def has_enough(self) -> bool:
        """Whether the other tasks are not wanted any more; asked again and again."""


class ResultTaker:
    """Gives the results of tasks to a function; a task that fails ends all.

    noun: Name of the tasks in messages.
    take: Called with the number of each task and its result.
    """

    def __init__(self, noun: str, take: Callable[[int, Any], None]) -> None:
        self.noun, self._take = noun, take

    def take_result(self, number: int, result: Any) -> None:
        """Give it to the function."""
        self._take(number, result)

    def take_failure(self, number: int, text: str) -> None:
        """End all. Raises SystemLimitError."""
        raise SystemLimitError(f"a worker failed with {self.noun} {number}: {text}")

    def has_enough(self) -> bool:
        """Whether the other tasks are not wanted any more: never."""
        return False


def call_on_worker(
    function: Callable[..., Any], arguments: tuple[Any, ...], required_build: str
) -> dict[str, Any]:
    """Call a function, on a worker; a worker of another build refuses."""
    if describe_build() != required_build:
        return {"refused": describe_build()}
    return {"result": function(*arguments)}


def run_on_worker(
    network_json: str,
    seed: int,
    measure: str,
    is_kept: bool,
    limits: tuple[float | None, int | None],
) -> dict[str, Any]:
    """Run one point with one seed, on a worker.

    Returns: The record, with the raw tables of a run that is kept; or a failure and its text.
    """
    outcomes: list[tuple[str | None, Any]] = []
    stream_runs(
        [(network_json, seed)],
        lambda _, failure, outcome: outcomes.append((failure, outcome)),
        threads=1,
        limit_time_s=limits[0],
        limit_memory=limits[1],
    )
    failure, outcome = outcomes[0]
    if failure is not None:
        return {"failure": failure, "text": outcome}
    results = ResultsDecoder().decode_results(Job(network_json, seed), outcome)
    point = StudyPoint(network_json, (seed,), measure)
    run_record = build_record(RunTask(0, 0, point, seed, is_kept=False), results)
    return {"record": run_record.to_json(), "raw": outcome if is_kept else None}


class _RunReceiver:
    """Brings the runs of a study to its store."""

    noun = "runs"

    def __init__(self, missing: list[RunTask], sink: ResultSink) -> None:
        self._tasks = {task.number: task for task in missing}
        self._sink, self._decoder = sink, ResultsDecoder()

    def take_result(self, number: int, result: Any) -> None:
        task = self._tasks[number]
        if "failure" in result:
            self._sink.add_failure(task, result["failure"], result["text"])
            return
        worker_record = RunRecord.from_json(result["record"])
        if task.is_kept:
            job = Job(task.network_json, task.seed, task.point.scenario())
            self._sink.store.write_run(task, self._decoder.decode_results(job, result["raw"]))
        self._sink.add_record(
            RunRecord(
                task.number,
                worker_record.hash,
                worker_record.events,
                worker_record.packet_hops,
                worker_record.values,
            )
        )

    def take_failure(self, number: int, text: str) -> None:
        self._sink.add_failure(self._tasks[number], "worker", text)

    def has_enough(self) -> bool:
        self._sink.flush_if_due()
        return bool(self._sink.out_of_memory)


def run_on_cluster(missing: list[RunTask], options: RunOptions, sink: ResultSink) -> None:
    """Run tasks of a study on a cluster. Raises as `run_tasks` does."""
    assert options.cluster is not None
    limits = (options.limit_time_s, options.limit_memory)
    tasks = (
        ClusterTask(
            task.number,
            run_on_worker,
            (task.network_json, task.seed, task.point.measure, task.is_kept, limits),
        )
        for task in missing
    )
    run_tasks(options.cluster, tasks, _RunReceiver(missing, sink))


def count_local_workers(address: str) -> int | None:
    """Count the workers of a cluster on this machine, such as ``local:2``; None for another.

    Raises StudyError: Local, but without a count from 1 to 1024.
    """
    kind, _, count = address.partition(":")
    if kind != "local":
        return None
    workers = parse_integer(count)
    if workers is None or not 1 <= workers <= 1024:
        raise StudyError(f"cluster {address!r} is not like local:2")
    return workers


def run_tasks(cluster: str, tasks: Iterable[ClusterTask], receiver: TaskReceiver) -> None:
    """Call functions on a cluster.

    Raises StudyError: No scheduler answers, or a worker has another version.
    Raises SystemLimitError: The cluster is lost, or has no workers any more.
    """
    with _connect_client(cluster) as client:
        _require_same_build(client)
        _ClusterRun(client, tasks, receiver).run_all()


@contextmanager
def _connect_client(address: str) -> Iterator[Client]:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise StudyError(
            f"a cluster needs the extra: pip install trunkline[dask] ({error})"
        ) from None

    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    worker_count = count_local_workers(address)
    # Which of the runs that a worker held made it die, only a run of each alone shows: see
    # _ClusterRun.
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.comm.timeouts.connect": CONNECT_TIMEOUT_S,
    }
    with dask.config.set(settings):
        if worker_count is not None:
            earlier_children = multiprocessing.active_children()
            with _block_interrupts():
                cluster = LocalCluster(
                    n_workers=worker_count,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    # Its pages, which cannot be left out: to this machine alone, any port.
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
            with cluster, Client(cluster, set_as_default=False) as client:
                try:
                    yield client
                except BaseException:
                    _kill_workers(cluster, earlier_children)
                    raise
            return
        try:
            client = Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise StudyError(f"no Dask scheduler answers at {address}: {error}") from None
        with client:
            yield client


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Start threads and processes that Ctrl-C does not reach: this process controls them."""
    if sys.platform == "win32":  # which has no masks
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _kill_workers(cluster: Any, earlier_children: Collection[BaseProcess]) -> None:
    """End the workers of this machine at once: their tasks are not needed any more."""
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # Otherwise it starts another worker, and its end waits for that.
    kill_new_children(earlier_children)


def kill_new_children(earlier_children: Collection[BaseProcess]) -> None:
    """Kill the processes that this one has started, but those that were there earlier."""
    for process in multiprocessing.active_children():
        if process not in earlier_children:
            process.kill()


def _require_same_build(client: Client) -> None:
    try:
        client.wait_for_workers(1, timeout=NO_WORKERS_TIMEOUT_S)
    except TimeoutError:
        raise StudyError(
            f"the cluster has no workers: none has come in {NO_WORKERS_TIMEOUT_S} s"
        ) from None
    try:
        builds = client.run(describe_build)
    except Exception as error:
        raise StudyError(f"a worker does not have this version: {error}") from None
    for worker, worker_build in sorted(builds.items()):
        if worker_build != describe_build():
            raise StudyError(
                f"worker {worker} has Trunkline {worker_build}, this is {describe_build()}"
            )


class _ClusterRun:
    """Keeps a cluster busy until all tasks have ended."""

    def __init__(
        self, client: Client, tasks: Iterable[ClusterTask], receiver: TaskReceiver
    ) -> None:
        self._client, self._receiver = client, receiver
        self._ended_futures: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._running: dict[Future, ClusterTask] = {}
        self._waiting_tasks = iter(tasks)
        # Held by a worker that died: tried once more when all others have ended, one at a time, so
        # that a task which makes its worker die again takes no other with it.
        self._suspect_tasks: list[ClusterTask] = []
        self._retried_tasks: set[int] = set()
        self._workers_seen_at = self._workers_checked_at = time.monotonic()

    def run_all(self) -> None:
        """Send tasks and receive results."""
        self._send_tasks()
        while self._running and not self._receiver.has_enough():
            self._require_workers()
            try:
                future = self._ended_futures.get(timeout=0.05)
            except queue.Empty:
                continue
            task = self._running[future]
            if _is_worker_killed(future) and task.number not in self._retried_tasks:
                self._suspect_tasks.append(task)
            elif not _take_result(future, task.number, self._receiver):
                # Its worker died with the result: the scheduler repeats it.
                future.add_done_callback(self._ended_futures.put)
                continue
            del self._running[future]
            self._send_tasks()

    def _send_tasks(self) -> None:
        threads = max(1, self._count_threads())
        while len(self._running) < threads * TASKS_PER_THREAD:
            task = next(self._waiting_tasks, None)
            if task is None:
                if self._running or not self._suspect_tasks:
                    return
                task = self._suspect_tasks.pop(0)
                self._retried_tasks.add(task.number)
            future = self._client.submit(
                call_on_worker, task.function, task.arguments, describe_build(), pure=False
            )
            self._running[future] = task
            future.add_done_callback(self._ended_futures.put)

    def _count_threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except OSError:
            raise SystemLimitError(CLUSTER_LOST) from None

    def _require_workers(self) -> None:
        now = time.monotonic()
        if now - self._workers_checked_at < 1.0:
            return
        self._workers_checked_at = now
        if self._count_threads():
            self._workers_seen_at = now
        elif now - self._workers_seen_at > NO_WORKERS_TIMEOUT_S:
            listed = ", ".join(str(task.number) for task in self._running.values())
            raise SystemLimitError(
                f"the cluster has had no worker for {NO_WORKERS_TIMEOUT_S} s; under way were "
                f"{self._receiver.noun} {listed}"
            )


def _is_worker_killed(future: Future) -> bool:
    from distributed.scheduler import KilledWorker

    return future.status == "error" and isinstance(future.exception(), KilledWorker)


def _take_result(future: Future, number: int, receiver: TaskReceiver) -> bool:
    """Take the result of a task; whether there was any."""
    if future.status == "error":
        receiver.take_failure(number, f"{type(future.exception()).__name__}: {future.exception()}")
        return True
    try:
        answer = future.result(timeout=FETCH_TIMEOUT_S)
    except TimeoutError:
        return False
    except (CancelledError, OSError):
        raise SystemLimitError(CLUSTER_LOST) from None
    if "refused" in answer:
        raise StudyError(f"a worker has Trunkline {answer['refused']}, this is {describe_build()}")
    receiver.take_result(number, answer["result"])
    return True
