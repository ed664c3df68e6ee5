"""Screens of many failures: in this process, in processes of this machine, or on a Dask cluster.

A screen that takes long is divided into tasks of some failures each. A task is a call of
`screen_packed_failures`, with the network and its bounds as packed text; a worker unpacks it once.
Levels do not depend on where they are computed.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from trunkline.engine.packet_engine import count_cores
from trunkline.fluid.engine import list_omissions
from trunkline.fluid.unsupported import FluidUnsupportedError
from trunkline.planning.packet_trial import compile_impacts, compile_without_failures
from trunkline.planning.sla_screening import (
    Levels,
    ScreenedNetwork,
    SlaScreen,
    make_open_levels,
)
from trunkline.scenario.sla import SlaBound
from trunkline.study.errors import SystemLimitError
from trunkline.study.run.cluster import ClusterTask, ResultTaker, kill_new_children, run_tasks
from trunkline.study.run.execution import RunOptions

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from trunkline.planning.failure_screening import FailureImpact
    from trunkline.scenario import Scenario

IN_THIS_PROCESS: Final = RunOptions(threads=1)
LONG_SCREEN_S: Final = 10.0  # Shorter screens are not worth the start of workers [s].
FAILURES_PER_TASK: Final = 4

LevelListener = Callable[[str, Levels], None]
# An outcome: the levels of a failure, or why the fluid engine has none.
Outcome = Levels | str


def screen_slas(
    scenario: Scenario,
    failures: Sequence[FailureImpact],
    *,
    begin_ns: int,
    runs: int,
    known: Mapping[str, Levels] | None = None,
    on_level: LevelListener | None = None,
    options: RunOptions = IN_THIS_PROCESS,
) -> SlaScreen:
    """Screen agreements under failures, each alone and from `begin_ns` on.

    runs: Packet runs that the values are for.
    known: Levels of failures that were screened before.
    on_level: Called with each failure and its levels as soon as they are known, in any order.
    options: Where; a screen that is short runs in this process always.
    Raises StudyError, SystemLimitError: The cluster is not there or is lost, or a worker dies.
    """
    bounds = scenario.list_sla_bounds()
    network = compile_without_failures(scenario)
    levels = dict(known or {})
    missing = [each for each in failures if each.failure not in levels]
    refusals = dict.fromkeys((each.failure for each in missing), "; ".join(list_omissions(network)))
    if not any(refusals.values()):
        compiled = compile_impacts(scenario, missing, begin_ns)

        def take(number: int, outcome: Outcome) -> None:
            failure = missing[number].failure
            if isinstance(outcome, str):
                refusals[failure] = outcome
                return
            levels[failure] = outcome
            if on_level is not None:
                on_level(failure, outcome)

        _ScreenRun(network, bounds, runs, compiled, options).screen_all(take)
    open_levels = make_open_levels(bounds)
    return SlaScreen(
        {each.failure: levels.get(each.failure, open_levels) for each in failures},
        next(filter(None, refusals.values()), ""),
    )


def screen_packed_failures(packed: bytes, failures: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """Screen compiled failures of a packed network, on a worker."""
    network = _unpack_network(packed)
    return [_screen_failure(network, failure) for failure in failures]


def _screen_failure(network: ScreenedNetwork, failure: Mapping[str, Any]) -> Outcome:
    try:
        return network.screen_failure(failure)
    except FluidUnsupportedError as error:
        return error.text


def _pack_network(network: Mapping[str, Any], bounds: Sequence[SlaBound], runs: int) -> bytes:
    document = {"network": network, "bounds": [asdict(bound) for bound in bounds], "runs": runs}
    return zlib.compress(json.dumps(document).encode(), level=1)


@functools.lru_cache(maxsize=1)
def _unpack_network(packed: bytes) -> ScreenedNetwork:
    document = json.loads(zlib.decompress(packed))
    bounds = [SlaBound(**{**each, "rows": tuple(each["rows"])}) for each in document["bounds"]]
    return ScreenedNetwork(document["network"], bounds, document["runs"])


@dataclass(frozen=True, slots=True)
class _ScreenRun:
    """Compiled failures to screen, and where."""

    network: Mapping[str, Any]
    bounds: Sequence[SlaBound]
    runs: int
    failures: Sequence[Mapping[str, Any]]
    options: RunOptions

    def screen_all(self, take: Callable[[int, Outcome], None]) -> None:
        """Give numbers of failures and their outcomes to a function, in any order."""
        if not self.failures:
            return
        try:
            screened = ScreenedNetwork(self.network, self.bounds, self.runs)
        except FluidUnsupportedError as error:
            for number in range(len(self.failures)):
                take(number, error.text)
            return
        began = time.monotonic()
        take(0, _screen_failure(screened, self.failures[0]))
        is_long = (time.monotonic() - began) * (len(self.failures) - 1) > LONG_SCREEN_S
        threads = self.options.threads or count_cores()
        if is_long and self.options.cluster is not None:
            run_tasks(self.options.cluster, self._list_tasks(), _make_taker(take))
        elif is_long and threads > 1:
            self._screen_in_processes(threads, _make_taker(take))
        else:
            for number, failure in enumerate(self.failures[1:], 1):
                take(number, _screen_failure(screened, failure))

    def _list_tasks(self) -> list[ClusterTask]:
        packed = _pack_network(self.network, self.bounds, self.runs)
        return [
            ClusterTask(
                first,
                screen_packed_failures,
                (packed, self.failures[first : first + FAILURES_PER_TASK]),
            )
            for first in range(1, len(self.failures), FAILURES_PER_TASK)
        ]

    def _screen_in_processes(self, count: int, receiver: ResultTaker) -> None:
        earlier_children = multiprocessing.active_children()
        with ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), initializer=_begin_worker
        ) as pool:
            numbers = {
                pool.submit(task.function, *task.arguments): task.number
                for task in self._list_tasks()
            }
            try:
                for future in as_completed(numbers):
                    receiver.take_result(numbers[future], future.result())
            except BrokenProcessPool as error:
                raise SystemLimitError(f"a process of the screen died: {error}") from None
            except BaseException:
                kill_new_children(earlier_children)
                raise


def _make_taker(take: Callable[[int, Outcome], None]) -> ResultTaker:
    """Make a taker of tasks of several failures; a task has the number of its first failure."""

    def take_all(number: int, result: Sequence[Outcome]) -> None:
        for failure, outcome in enumerate(result, number):
            take(failure, outcome)

    return ResultTaker("failures from number", take_all)


def _begin_worker() -> None:
    """Leave Ctrl-C to the process that was started, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
