"""One process at a time works on a study's folder."""

import contextlib
import itertools
import json
import os
import socket
import time
from pathlib import Path

from trunkline.study.errors import Refused
from trunkline.study.run.claim import claim

FILE = "lock"
_TRIES, _AGAIN_S = 10, 0.02
# Windows does not hand files on to other programs, and has no such flag.
CLOSED = getattr(os, "O_CLOEXEC", 0)


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
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | CLOSED, 0o644)
            try:
                claim(self._handle)
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
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, json.dumps(about).encode())
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give it back."""
        if os.name == "nt":  # which removes no file that is open
            os.close(self._handle)
            with contextlib.suppress(OSError):
                self.path.unlink()
            return
        self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def _is_at_its_path(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._handle), self.path.stat())
        except FileNotFoundError:
            return False


def holder(folder: Path) -> str:
    """Who works on a folder now; empty if nobody does."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | CLOSED)
    except FileNotFoundError:
        return ""
    try:
        claim(handle, shared=True)
    except BlockingIOError:
        return _said(handle) or "another process"
    finally:
        os.close(handle)
    return ""


def _said(handle: int) -> str:
    """Who the file of a lock says has it; empty if it says nothing."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        about = json.loads(os.read(handle, 4096))
        return f"process {about['pid']} on {about['host']} since {about['since']}"
    except (ValueError, KeyError, TypeError):
        return ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
