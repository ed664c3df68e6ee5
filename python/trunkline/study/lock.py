"""One process at a time works on a study's folder."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from trunkline.study.errors import Refused

FILE = "lock"


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
        while True:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                said = self._said()
                os.close(self._handle)
                raise Refused(f"{folder} is in use by {said or 'another process'}") from None
            if self._is_at_its_path():
                break
            os.close(self._handle)  # Its holder took the file away in between.
        self.stale = self._said()
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

    def _said(self) -> str:
        try:
            about = json.loads(os.pread(self._handle, 4096, 0))
            return f"process {about['pid']} on {about['host']} since {about['since']}"
        except (ValueError, KeyError, TypeError):
            return ""


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
        about = json.loads(os.pread(handle, 4096, 0) or b"{}")
        return f"process {about.get('pid')} on {about.get('host')} since {about.get('since')}"
    finally:
        os.close(handle)
    return ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
