"""Limits that the system must grant this process, checked before a study begins."""

import os
import threading
import time

from trunkline.study.errors import SystemLimitError

REQUIRED_OPEN_FILES = 32  # Files open at a time.
REQUIRED_THREADS = 16
"""Threads: those of the table library, which breaks or hangs without, and one that runs."""
THREAD_END_TIMEOUT_S = 1.0
"""Time for which a joined thread may still count against the limit of threads."""


def require_system_limits() -> None:
    """Check whether there are as many files and threads as the smallest study takes.

    Raises SystemLimitError: There are not.
    """
    files = _read_open_file_limit()
    if files is not None and files < REQUIRED_OPEN_FILES:
        raise SystemLimitError(
            f"only {files} files may be open at a time, a study needs {REQUIRED_OPEN_FILES}: "
            f"raise ulimit -n"
        )
    started = _count_startable_threads(REQUIRED_THREADS)
    if started < REQUIRED_THREADS:
        raise SystemLimitError(
            f"only {started} threads could be started, a study needs {REQUIRED_THREADS}: "
            f"raise ulimit -u, "
            "or the limit of the container"
        )


def _read_open_file_limit() -> int | None:
    """Read the files that may be open; None without a limit."""
    try:
        import resource
    except ImportError:  # not on every platform
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if limit == resource.RLIM_INFINITY else limit


def _count_startable_threads(requested: int) -> int:
    """Threads that start when so many must run together."""
    released = threading.Event()
    started: list[threading.Thread] = []
    before = _count_threads()
    try:
        for _ in range(requested):
            thread = threading.Thread(target=released.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:  # It cannot start a new thread.
        pass
    finally:
        released.set()
        for thread in started:
            thread.join()
    # Otherwise the study that follows could start fewer.
    end = time.monotonic() + THREAD_END_TIMEOUT_S
    while _count_threads() > before and time.monotonic() < end:
        time.sleep(0.001)
    return len(started)


def _count_threads() -> int:
    """Threads of this process that the system counts; 0 where it does not say."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0
