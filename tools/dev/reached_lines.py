"""A plugin of pytest: notes the lines of packages that each test runs, and how long it takes.

``TRUNKLINE_REACHED`` has the file to write, a folder, and packages below it, with colons between.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

FILE, FOLDER, *_packages = os.environ["TRUNKLINE_REACHED"].split(":")
PACKAGES = tuple(os.path.join(FOLDER, each) + os.sep for each in _packages)
MAX_TEST_S = 5.0
"""Processor's time of a test while it is followed, after which it is ended and not noted."""
_failed_tests: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember tests that fail."""
    if report.failed:
        _failed_tests.add(report.nodeid)


class TestTooSlow(BaseException):
    """A test has used its time."""


def _end_test(*_: object) -> None:
    raise TestTooSlow


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Follow a test with its fixtures."""
    lines: dict[str, set[int]] = defaultdict(set)

    def follow_call(frame: FrameType, event: str, _: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGES):
            return None
        reached = lines[os.path.relpath(path, FOLDER)]

        def follow_line(frame: FrameType, event: str, _: Any) -> Any:
            reached.add(frame.f_lineno)
            return follow_line

        return follow_line(frame, event, None)

    begun = time.process_time()
    threading.settrace(follow_call)
    sys.settrace(follow_call)
    signal.signal(signal.SIGPROF, _end_test)
    signal.setitimer(signal.ITIMER_PROF, MAX_TEST_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.settrace(None)
        threading.settrace(None)
        used_s = time.process_time() - begun
        listed = {path: sorted(found) for path, found in lines.items()}
        # A line for each test that passes: of a run that is ended the tests before stay.
        if item.nodeid not in _failed_tests:
            with open(FILE, "a", encoding="utf-8") as stream:
                stream.write(json.dumps([item.nodeid, used_s, listed]) + "\n")
