"""Running points on a Dask cluster: one task a run, the same measures, the same records.

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
from collections.abc import Collection, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.engine.sim import Decoder, Job, binary, stream, version
from trunkline.scenario.units import parse_whole
from trunkline.study.errors import Refused, Unable
from trunkline.study.run.journal import Record
from trunkline.study.run.plan import Point, Task

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from distributed import Client, Future

    from trunkline.study.run.execute import How, Sink

CONNECT_S = 5
PER_WORKER = 4
"""Tasks sent ahead for each thread of a worker."""
LOST = "the cluster was lost"
FETCH_S = 5
"""Longest time to wait for the outcome of a run that has ended [s]."""
NO_WORKERS_S = 30
"""A cluster that has had no worker for so long is given up [s]."""


@functools.cache
def build() -> str:
    """Version of this package, and a digest of its files: the engine's and the language's."""
    package = Path(__file__).parent.parent.parent
    digest = hashlib.sha256()
    for path in [binary(), *sorted(package.rglob("*.py"))]:
        digest.update(path.read_bytes())
    return f"{version()} ({digest.hexdigest()[:12]})"


def work(
    network_json: str,
    seed: int,
    measured: str,
    kept: bool,
    limits: tuple[float | None, int | None],
    wanted: str,
) -> dict[str, Any]:
    """Run one point with one seed, on a worker.

    Returns
    -------
    dict
        The record, with the raw tables of a run that is kept; or a failure and its text.
    """
    from trunkline.study.run.execute import record

    if build() != wanted:
        return {"refused": build()}
    came: list[tuple[str | None, Any]] = []
    stream(
        [(network_json, seed)],
        lambda _, failure, outcome: came.append((failure, outcome)),
        threads=1,
        limit_time_s=limits[0],
        limit_memory=limits[1],
    )
    failure, outcome = came[0]
    if failure is not None:
        return {"failure": failure, "text": outcome}
    results = Decoder().results(Job(network_json, seed), outcome)
    point = Point(network_json, (seed,), measured)
    made = record(Task(0, 0, point, seed, kept=False), results)
    return {"record": made.to_json(), "raw": outcome if kept else None}


def run(missing: list[Task], how: How, sink: Sink) -> None:
    """Run tasks on a cluster.

    Raises
    ------
    Refused
        No scheduler answers, or a worker has another version.
    Unable
        The cluster is lost, or has no workers any more.
    """
    with _client(how) as client:
        _same_build(client)
        _Drive(client, missing, how, sink).run()


@contextmanager
def _client(how: How) -> Iterator[Client]:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise Refused(f"a cluster needs the extra: pip install trunkline[dask] ({error})") from None

    assert how.cluster is not None
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    kind, _, count = how.cluster.partition(":")
    # Which of the runs that a worker held made it die, only running each alone tells: see _Drive.
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.comm.timeouts.connect": CONNECT_S,
    }
    with dask.config.set(settings):
        if kind == "local":
            workers = parse_whole(count)
            if workers is None or not 1 <= workers <= 1024:
                raise Refused(f"cluster {how.cluster!r} is not like local:2")
            others = multiprocessing.active_children()
            with _deaf():
                cluster = LocalCluster(
                    n_workers=workers,
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
                    _kill(cluster, others)
                    raise
            return
        try:
            client = Client(how.cluster, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise Refused(f"no Dask scheduler answers at {how.cluster}: {error}") from None
        with client:
            yield client


@contextmanager
def _deaf() -> Iterator[None]:
    """Start threads and processes that Ctrl-C does not reach: this one tells them what to do."""
    if sys.platform == "win32":  # which has no masks
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _kill(cluster: Any, others: Collection[BaseProcess]) -> None:
    """End the workers of this machine at once: what they are doing is not wanted any more.

    Children that were there before the cluster are not its.
    """
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # Otherwise it starts another worker, and its end waits for that.
    for process in multiprocessing.active_children():
        if process not in others:
            process.kill()


def _same_build(client: Client) -> None:
    try:
        client.wait_for_workers(1, timeout=NO_WORKERS_S)
    except TimeoutError:
        raise Refused(f"the cluster has no workers: none has come in {NO_WORKERS_S} s") from None
    try:
        builds = client.run(build)
    except Exception as error:
        raise Refused(f"a worker does not have this version: {error}") from None
    for worker, its in sorted(builds.items()):
        if its != build():
            raise Refused(f"worker {worker} has Trunkline {its}, this is {build()}")


class _Drive:
    """Keeps a cluster busy until all runs have ended."""

    def __init__(self, client: Client, missing: list[Task], how: How, sink: Sink) -> None:
        self._client, self._how, self._sink = client, how, sink
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._under_way: dict[Future, Task] = {}
        self._waiting = iter(missing)
        # Held by a worker that died: tried once more when all others have ended, one at a time, so
        # that a run which makes its worker die again takes no other with it.
        self._suspect: list[Task] = []
        self._again: set[int] = set()
        self._decoder = Decoder()
        self._seen_at = self._asked_at = time.monotonic()

    def run(self) -> None:
        """Send runs and take what comes."""
        self._send()
        while self._under_way and not self._sink.out_of_memory:
            self._sink.tick()
            self._any_workers()
            try:
                future = self._ended.get(timeout=0.05)
            except queue.Empty:
                continue
            task = self._under_way[future]
            if _killed(future) and task.number not in self._again:
                self._suspect.append(task)
            elif not _took(future, task, self._sink, self._decoder):
                # Its worker died with the result: the scheduler repeats it.
                future.add_done_callback(self._ended.put)
                continue
            del self._under_way[future]
            self._send()

    def _send(self) -> None:
        threads = max(1, self._threads())
        while len(self._under_way) < threads * PER_WORKER:
            task = next(self._waiting, None)
            if task is None:
                if self._under_way or not self._suspect:
                    return
                task = self._suspect.pop(0)
                self._again.add(task.number)
            point = task.point
            future = self._client.submit(
                work,
                task.network_json,
                task.seed,
                point.measure,
                task.kept,
                (self._how.limit_time_s, self._how.limit_memory),
                build(),
                pure=False,
            )
            self._under_way[future] = task
            future.add_done_callback(self._ended.put)

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except OSError:
            raise Unable(LOST) from None

    def _any_workers(self) -> None:
        now = time.monotonic()
        if now - self._asked_at < 1.0:
            return
        self._asked_at = now
        if self._threads():
            self._seen_at = now
        elif now - self._seen_at > NO_WORKERS_S:
            listed = ", ".join(str(task.number) for task in self._under_way.values())
            raise Unable(
                f"the cluster has had no worker for {NO_WORKERS_S} s; under way were runs {listed}"
            )


def _killed(future: Future) -> bool:
    from distributed.scheduler import KilledWorker

    return future.status == "error" and isinstance(future.exception(), KilledWorker)


def _took(future: Future, task: Task, sink: Sink, decoder: Decoder) -> bool:
    """Take the results of a run; whether there were any."""
    if future.status == "error":
        sink.fail(task, "worker", f"{type(future.exception()).__name__}: {future.exception()}")
        return True
    try:
        came = future.result(timeout=FETCH_S)
    except TimeoutError:
        return False
    except (CancelledError, OSError):
        raise Unable(LOST) from None
    if "refused" in came:
        raise Refused(f"a worker has Trunkline {came['refused']}, this is {build()}")
    if "failure" in came:
        sink.fail(task, came["failure"], came["text"])
        return True
    made = Record.from_json(came["record"])
    if task.kept:
        job = Job(task.network_json, task.seed, task.point.scenario())
        sink.store.keep(task, decoder.results(job, came["raw"]))
    sink.done(Record(task.number, made.hash, made.events, made.packet_hops, made.values))
    return True
