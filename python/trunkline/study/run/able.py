"""What the system must allow this process before a study begins, so that its end does not fail."""

import os
import threading
import time

from trunkline.study.errors import Unable

FILES = 32
"""Files open at a time."""
THREADS = 16
"""Threads: those of the table library, which breaks or hangs without, and one that runs."""
ENDING_S = 1.0
"""How long a thread that was joined may still count against the limit of threads."""


def require() -> None:
    """See whether there are as many files and threads as the smallest study takes.

    Raises
    ------
    Unable
        There are not.
    """
    files = _files()
    if files is not None and files < FILES:
        raise Unable(
            f"only {files} files may be open at a time, a study needs {FILES}: raise ulimit -n"
        )
    started = _startable(THREADS)
    if started < THREADS:
        raise Unable(
            f"only {started} threads could be started, a study needs {THREADS}: raise ulimit -u, "
            "or the limit of the container"
        )


def _files() -> int | None:
    """Files that may be open; None without a limit."""
    try:
        import resource
    except ImportError:  # not on every platform
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if limit == resource.RLIM_INFINITY else limit


def _startable(wanted: int) -> int:
    """Threads that start when so many are to be there together."""
    over = threading.Event()
    started: list[threading.Thread] = []
    before = _threads()
    try:
        for _ in range(wanted):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:  # It cannot start a new thread.
        pass
    finally:
        over.set()
        for thread in started:
            thread.join()
    # Otherwise the study that follows could start fewer.
    end = time.monotonic() + ENDING_S
    while _threads() > before and time.monotonic() < end:
        time.sleep(0.001)
    return len(started)


def _threads() -> int:
    """Threads of this process that the system counts; 0 where it does not say."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0
