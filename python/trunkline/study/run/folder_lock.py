"""One process at a time works on a study's folder."""

import contextlib
import itertools
import json
import os
import socket
import time
from pathlib import Path

from trunkline.study.errors import StudyError
from trunkline.study.run.file_lock import lock_file

LOCK_FILE = "lock"
_MAX_LOCK_TRIES, _RETRY_INTERVAL_S = 10, 0.02
# Windows does not hand files on to other programs, and has no such flag.
CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)


class FolderLock:
    """A lock that the system drops when its holder ends, however it ends.

    folder: Folder of the study, which exists.
    Raises StudyError: Another process holds it; the message says which, where and since when.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK_FILE
        self.stale_holder = ""
        """Previous holder that ended without releasing the lock; empty if there is none."""
        for tries in itertools.count(1):
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | CLOSE_ON_EXEC, 0o644)
            try:
                lock_file(self._handle)
            except BlockingIOError:
                current_holder = _read_lock_holder(self._handle)
                os.close(self._handle)
                # Who asks for the holder has the lock for a moment.
                if tries >= _MAX_LOCK_TRIES:
                    raise StudyError(
                        f"{folder} is in use by {current_holder or 'another process'}"
                    ) from None
                time.sleep(_RETRY_INTERVAL_S)
                continue
            if self._is_at_its_path():
                break
            os.close(self._handle)  # Its holder took the file away in between.
        self.stale_holder = _read_lock_holder(self._handle)
        holder_fields = {"pid": os.getpid(), "host": socket.gethostname(), "since": _format_now()}
        try:
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, json.dumps(holder_fields).encode())
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


def find_lock_holder(folder: Path) -> str:
    """Find who works on a folder now; empty if nobody does."""
    try:
        handle = os.open(folder / LOCK_FILE, os.O_RDONLY | CLOSE_ON_EXEC)
    except FileNotFoundError:
        return ""
    try:
        lock_file(handle, shared=True)
    except BlockingIOError:
        return _read_lock_holder(handle) or "another process"
    finally:
        os.close(handle)
    return ""


def _read_lock_holder(handle: int) -> str:
    """Read the holder from a lock's file; empty if the file has none."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        holder_fields = json.loads(os.read(handle, 4096))
        return (
            f"process {holder_fields['pid']} on {holder_fields['host']} since "
            f"{holder_fields['since']}"
        )
    except (ValueError, KeyError, TypeError):
        return ""


def _format_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
