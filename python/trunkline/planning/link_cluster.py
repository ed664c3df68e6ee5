"""Links simulated alone where a study's runs go: on threads here, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trunkline.decomposition.link_execution import LinkExecutor, TakeWaits, run_on_threads
from trunkline.decomposition.wait_distribution import simulate_waits
from trunkline.study.run.cluster import ClusterTask, ResultTaker, run_tasks

if TYPE_CHECKING:
    from trunkline.study.run.execution import RunOptions


def choose_link_executor(options: RunOptions) -> LinkExecutor:
    """Make the executor of links for options of a study's runs.

    It raises StudyError, SystemLimitError: The cluster is not there or is lost, or a worker dies.
    """
    if options.cluster is None:
        return run_on_threads(options.threads)
    cluster = options.cluster

    def execute(networks: Iterable[str], seed: int, take: TakeWaits) -> None:
        tasks = (
            ClusterTask(number, simulate_waits, (network, seed))
            for number, network in enumerate(networks)
        )
        run_tasks(cluster, tasks, ResultTaker("links", take))

    return execute
