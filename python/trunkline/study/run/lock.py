"""One process at a time works on a study's folder."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import socket
import time
from pathlib import Path

from trunkline.study.errors import Refused

FILE = "lock"
_TRIES, _AGAIN_S = 10, 0.02


class Lock:
    """A lock that the system drops when its holder ends, however it ends.

    Parameters
    ----------
    folder : Path
        Folder of the study, which exists.

    Raises
    ------
    Refused
        Another process holds it; the message says which, where and since when.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.stale = ""
        """Who held the lock and ended without giving it back; empty if nobody did."""
        for tries in itertools.count(1):
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                said = _said(self._handle)
                os.close(self._handle)
                # Who asks for the holder has the lock for a moment.
                if tries >= _TRIES:
                    raise Refused(f"{folder} is in use by {said or 'another process'}") from None
                time.sleep(_AGAIN_S)
                continue
            if self._is_at_its_path():
                break
            os.close(self._handle)  # Its holder took the file away in between.
        self.stale = _said(self._handle)
        about = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, json.dumps(about).encode(), 0)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give it back."""
        self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def _is_at_its_path(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._handle), self.path.stat())
        except FileNotFoundError:
            return False


def holder(folder: Path) -> str:
    """Who works on a folder now; empty if nobody does.

    Parameters
    ----------
    folder : Path
        Folder of a study.
    """
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _said(handle) or "another process"
    finally:
        os.close(handle)
    return ""


def _said(handle: int) -> str:
    """Who the file of a lock says has it; empty if it says nothing."""
    try:
        about = json.loads(os.pread(handle, 4096, 0))
        return f"process {about['pid']} on {about['host']} since {about['since']}"
    except (ValueError, KeyError, TypeError):
        return ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
