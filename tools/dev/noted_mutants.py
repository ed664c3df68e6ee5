"""A plugin of pytest: notes the mutants of the engine that each test reaches, and its time.

Each test runs in a fork of its own: the engine notes a mutant once in a process. Those that were
reached before, while the tests were imported, count for each test.
``TRUNKLINE_NOTED`` has the file to write.
"""

import json
import os
import resource
import signal
import time

import pytest
from _pytest.runner import runtestprotocol

from pytest_server import MAX_WALL_FACTOR
from rust_mutant_build import SWITCH

FILE = os.environ["TRUNKLINE_NOTED"]
NOTES = f"{FILE}.notes"
MAX_TEST_S = 5
"""Processor's time after which a test is ended, as too slow to be tried on mutants."""


# Of this process and its forks, and of programs that they start.
os.environ[SWITCH] = f"notes:{NOTES}"
PROGRAM_NOTES = f"{NOTES}.programs"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool:
    """Run a test in a fork, and write what it reached if it passes."""
    start = os.path.getsize(NOTES) if os.path.exists(NOTES) else 0
    _noted_before.setdefault("size", start)
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.environ[SWITCH] = f"notes:{PROGRAM_NOTES}"
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_TEST_S, MAX_TEST_S))
        status = 1
        try:
            reports = runtestprotocol(item, log=False)
            status = 0 if all(report.passed for report in reports) else 1
        finally:
            os._exit(status)
    ended = 0
    while not ended:
        time.sleep(0.01)
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if not ended and time.monotonic() - begun > MAX_WALL_FACTOR * MAX_TEST_S:
            os.kill(child, signal.SIGKILL)
    used_s = usage.ru_utime + usage.ru_stime
    numbers = {*_read_numbers(NOTES, 0, _noted_before["size"]), *_read_numbers(NOTES, start, None)}
    numbers.update(_read_numbers(PROGRAM_NOTES, 0, None))
    if os.path.exists(PROGRAM_NOTES):
        os.remove(PROGRAM_NOTES)
    if status == 0 and numbers:
        with open(FILE, "a", encoding="utf-8") as stream:
            stream.write(json.dumps([item.nodeid, used_s, sorted(numbers)]) + "\n")
    return True


_noted_before: dict[str, int] = {}


def _read_numbers(path: str, start: int, end: int | None) -> list[int]:
    """Read the numbers of mutants in a part of a file; none if there is no file."""
    try:
        with open(path, "rb") as stream:
            stream.seek(start)
            content = stream.read(-1 if end is None else end - start)
    except OSError:
        return []
    return [int(each) for each in content.split()]
