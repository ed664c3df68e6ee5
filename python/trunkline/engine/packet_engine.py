"""The packet engine: compiled networks in, results out."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trunkline.results import Provenance, Results

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


class CompiledNetwork(Protocol):
    """A compiled network, as far as an engine needs to know it."""

    @property
    def data(self) -> NetworkData:
        """Parse its JSON."""
        ...

    def to_json(self) -> str:
        """Canonical JSON: keys sorted, no spaces."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """One run."""

    network_json: str  # Canonical JSON of a compiled network.
    seed: int  # Seed of the run, 0 to 2^64 - 1.
    scenario: str = ""  # Text of the scenario, kept as provenance.
    # Content of the JSON, where it need not be parsed again.
    network: NetworkData | None = field(default=None, repr=False, compare=False)


def simulate(
    network: CompiledNetwork | str,
    *,
    seeds: Sequence[int],
    threads: int | None = None,
    scenario: str = "",
    progress: Callable[[int], object] | None = None,
) -> list[Results]:
    """Run a network once for each seed.

    Parameters
    ----------
    network : NetworkData or str
        A compiled network, or its JSON.
    seeds : sequence of int
        Seeds, each 0 to 2^64 - 1.
    threads : int, optional
        Runs at a time; as many as this process may use cores if left out.
    scenario : str, default ""
        Text of the scenario, kept as provenance.
    progress : callable, optional
        Called now and then with the number of runs done.

    Returns
    -------
    list of Results
        One a seed, in the order of the seeds, whatever the number of threads.

    Raises
    ------
    ValueError
        The engine refuses the network.
    RuntimeError
        Time did not advance in the run.
    EngineFault
        The engine broke one of its own rules, or its packets do not add up: a bug.
    """
    network_data = None if isinstance(network, str) else network.data
    network_json = network if isinstance(network, str) else network.to_json()
    jobs = [Job(network_json, seed, scenario, network_data) for seed in seeds]
    return simulate_jobs(jobs, threads=threads, progress=progress)


def simulate_jobs(
    jobs: Sequence[Job],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Results]:
    """Run many networks, each with its seed.

    The interpreter lock is released while the engine runs, and an interrupt is heard.

    Returns: In the order of the jobs.
    """
    runs: dict[int, Results] = {}
    failures: dict[int, tuple[str, str]] = {}
    decoder = ResultsDecoder()

    def handle_end(number: int, failure: str | None, outcome: Any) -> None:
        if failure is not None:
            failures[number] = (failure, outcome)
            raise _StopAfterFailure
        runs[number] = decoder.decode_results(jobs[number], outcome)
        if progress is not None:
            progress(len(runs))

    limits = RUN_LIMITS.get()
    try:
        stream_runs(
            ((job.network_json, job.seed) for job in jobs),
            handle_end,
            threads=threads,
            # Threads in excess of the runs help each run; no result depends on it.
            threads_per_run=max((threads or count_cores()) // max(len(jobs), 1), 1),
            limit_time_s=limits.time_s,
            limit_memory=limits.memory,
        )
    except _StopAfterFailure:
        raise make_exception(*failures.popitem()[1]) from None
    return [runs[number] for number in range(len(jobs))]


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of time and memory of a run."""

    time_s: float | None = None  # Longest time of the clock [s].
    memory: int | None = None  # Maximum memory of the process [B].


RUN_LIMITS: ContextVar[RunLimits] = ContextVar("limits", default=RunLimits())  # noqa: B039 - it is frozen
"""Limits of the runs of :func:`simulate_jobs`."""


class _StopAfterFailure(Exception):
    """A run failed, so the others need not end."""


class EngineFault(RuntimeError):
    """The engine broke one of its own rules, or its packets do not add up: a bug."""


def make_exception(kind: str, text: str) -> Exception:
    """Exception for a kind of failure that :func:`stream_runs` reports."""
    if kind == "invalid":
        return ValueError(text)
    if kind == "memory":
        return MemoryError(f"the limit is reached: {text}")
    if kind == "time":
        return TimeoutError(errno.ETIME, f"the time limit is reached: {text}")
    return RuntimeError(text) if kind == "storm" else EngineFault(text)


EndCallback = Callable[[int, str | None, Any], object]


def stream_runs(
    jobs: Iterable[tuple[str, int]],
    on_end: EndCallback,
    *,
    threads: int | None = None,
    on_tick: Callable[[], object] | None = None,
    limit_time_s: float | None = None,
    limit_memory: int | None = None,
    threads_per_run: int = 1,
    on_fewer_threads: Callable[[int, int, str], object] | None = None,
) -> None:
    """Run networks one after the other on several threads, telling of each as it ends.

    The interpreter lock is released while the engine runs, and an interrupt is heard.

    jobs: Canonical JSON of a compiled network and a seed; taken as threads become free.
    on_end: Called in the order in which runs end: the number of the job, then None and the raw
        tables, or ``"invalid"``, ``"storm"``, ``"conservation"``, ``"panic"``, ``"time"`` or
        ``"memory"`` and a text.
    threads: Runs at a time; as many as this process may use cores if left out.
    on_tick: Called some hundred times a second.
    limit_time_s: A run that takes longer is stopped, others continue [s of the wall clock].
    limit_memory: When the process holds more, the runs under way are stopped and no other is begun
        [B].
    threads_per_run: Threads that one run may take; large networks end sooner on several.
    on_fewer_threads: Called where the system starts fewer threads than asked for, on which the runs
        then continue: how many it started, how many were asked for, and why it started no more.
    Raises OSError: The system did not start a single thread.
    """
    from trunkline import _core

    requested_threads = threads or count_cores()
    _core.run_stream(
        jobs,
        requested_threads,
        on_end,
        on_tick,
        limit_time_s,
        limit_memory,
        threads_a_run=threads_per_run,
        few=None
        if on_fewer_threads is None
        else lambda started, reason: on_fewer_threads(started, requested_threads, reason),
    )


class ResultsDecoder:
    """Makes results of the raw tables of runs; networks seen lately are parsed once."""

    _MAX_PARSED_NETWORKS = 64

    def __init__(self) -> None:
        from trunkline import _core

        self._version = _core.version()
        self._parsed: dict[str, NetworkData] = {}

    def decode_results(self, job: Job, raw: Any) -> Results:
        """Decode the results of a job."""
        network_json = job.network_json
        if network_json not in self._parsed:
            while len(self._parsed) >= self._MAX_PARSED_NETWORKS:
                del self._parsed[next(iter(self._parsed))]
            self._parsed[network_json] = (
                json.loads(network_json) if job.network is None else job.network
            )
        provenance = Provenance.for_network(
            scenario=job.scenario, network_json=network_json, version=self._version, seed=job.seed
        )
        return Results.from_raw(raw, self._parsed[network_json], provenance)


def get_engine_version() -> str:
    """Version of the engine, which is that of the package."""
    from trunkline import _core

    return _core.version()


def get_engine_file() -> Path:
    """Return the file of the engine."""
    from trunkline import _core

    return Path(_core.__file__)


def count_cores() -> int:
    """Count the cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1
