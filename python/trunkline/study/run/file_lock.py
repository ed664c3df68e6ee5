"""A lock on an open file that the system drops when its holder ends, on every system."""

import sys

if sys.platform == "win32":
    import msvcrt
    import os

    # Windows locks bytes, and nobody else can read a locked one: this one is behind all content.
    _LOCKED_BYTE = 1 << 30

    def lock_file(handle: int, *, shared: bool = False) -> None:
        """Lock an open file, or raise BlockingIOError; Windows knows no shared lock here."""
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from None

else:
    import fcntl

    def lock_file(handle: int, *, shared: bool = False) -> None:
        """Lock an open file, or raise BlockingIOError if another process has it.

        Parameters
        ----------
        shared : bool, default False
            Whether others may have it too that ask for no more.
        """
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
