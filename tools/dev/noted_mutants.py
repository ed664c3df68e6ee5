"""A plugin of pytest: notes the mutants of the engine that each test reaches, and its time.

Each test runs in a fork of its own: the engine reads its switch once in a process.
``TRUNKLINE_NOTED`` has the file to write.
"""

import json
import os
import signal
import time

import pytest
from _pytest.runner import runtestprotocol

from rust_mutant_build import SWITCH

FILE = os.environ["TRUNKLINE_NOTED"]
NOTES = f"{FILE}.notes"
MAX_TEST_S = 6.0
"""Time after which a test is ended, as too slow to be tried on mutants."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool:
    """Run a test in a fork, and write what it reached if it passes."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.environ[SWITCH] = f"notes:{NOTES}"
        status = 1
        try:
            reports = runtestprotocol(item, log=False)
            status = 0 if all(report.passed for report in reports) else 1
        finally:
            os._exit(status)
    ended = 0
    while not ended:
        time.sleep(0.01)
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended and time.monotonic() - begun > MAX_TEST_S:
            os.kill(child, signal.SIGKILL)
    used_s = time.monotonic() - begun
    numbers = []
    if os.path.exists(NOTES):
        with open(NOTES, encoding="utf-8") as stream:
            numbers = [int(each) for each in stream.read().split()]
        os.remove(NOTES)
    if status == 0 and numbers:
        with open(FILE, "a", encoding="utf-8") as stream:
            stream.write(json.dumps([item.nodeid, used_s, numbers]) + "\n")
    return True
