"""Output to a reader that may close it, as ``head`` does, without an error of the command."""

import io
import os
import sys
from typing import Any


class _OutputFile(io.FileIO):
    """A file that drops its output after its reader has closed it."""

    reader_left = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.reader_left = True
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            # Report a full disk once; later output is dropped.
            if not isinstance(error, BrokenPipeError):
                raise
            return memoryview(data).nbytes


def survive_closed_readers() -> None:
    """Drop output and errors of this process after their readers have closed them.

    A terminal does not close.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
            continue
        stream.flush()
        file = io.BufferedWriter(_OutputFile(stream.fileno(), "w", closefd=False))
        text_settings = {
            key: getattr(stream, key) for key in ("encoding", "errors", "line_buffering")
        }
        setattr(
            sys, name, io.TextIOWrapper(file, write_through=stream.write_through, **text_settings)
        )


def has_reader_left() -> bool:
    """Check whether a write to standard output has found its reader closed."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, _OutputFile) and raw.reader_left
