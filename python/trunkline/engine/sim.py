"""The packet engine: compiled networks in, results out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trunkline.results import Provenance, Results


class Compiled(Protocol):
    """A compiled network, as far as an engine needs to know it."""

    def to_json(self) -> str:
        """Canonical JSON: keys sorted, no spaces."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """One run.

    Parameters
    ----------
    network_json : str
        Canonical JSON of a compiled network.
    seed : int
        Seed of the run, 0 to 2^64 - 1.
    scenario : str, default ""
        Text of the scenario, kept as provenance.
    """

    network_json: str
    seed: int
    scenario: str = ""


def simulate(
    network: Compiled | str,
    *,
    seeds: Sequence[int],
    threads: int | None = None,
    scenario: str = "",
    progress: Callable[[int], object] | None = None,
) -> list[Results]:
    """Run a network once for each seed.

    Parameters
    ----------
    network : Network or str
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
        The run stood still in time, or its packets do not add up.
    """
    written = network if isinstance(network, str) else network.to_json()
    jobs = [Job(written, seed, scenario) for seed in seeds]
    return simulate_all(jobs, threads=threads, progress=progress)


def simulate_all(
    jobs: Sequence[Job],
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Results]:
    """Run many networks, each with its seed.

    The interpreter lock is released while the engine runs, and an interrupt is heard.

    Parameters
    ----------
    jobs : sequence of Job
        The runs.
    threads, progress
        As in :func:`simulate`.

    Returns
    -------
    list of Results
        In the order of the jobs.
    """
    from trunkline import _core

    networks, seeds = [job.network_json for job in jobs], [job.seed for job in jobs]
    raws = _core.run_grid(networks, seeds, threads or cores(), progress)
    causes, version = _core.causes(), _core.version()
    parsed: dict[str, dict[str, Any]] = {}
    runs = []
    for job, raw in zip(jobs, raws, strict=True):
        written = job.network_json
        if written not in parsed:
            parsed[written] = json.loads(written)
        provenance = Provenance.of(
            scenario=job.scenario, network_json=written, version=version, seed=job.seed
        )
        runs.append(Results.from_raw(raw, parsed[written], causes, provenance))
    return runs


def cores() -> int:
    """Count the cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1
