"""Output whose reader may leave, as ``head`` does: files and the exit status stay what they are."""

import io
import os
import sys
from typing import Any


class _OutputFile(io.FileIO):
    """A file that says no more when nobody reads it."""

    reader_left = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.reader_left = True
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            # A full disk is an error, said once: what is still to be written goes nowhere.
            if not isinstance(error, BrokenPipeError):
                raise
            return memoryview(data).nbytes


def survive_closed_readers() -> None:
    """Let output and errors of this process go nowhere once their readers have left.

    A terminal has no reader that leaves.
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
    """Whether nobody reads standard output any more, as far as writing to it has shown."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, _OutputFile) and raw.reader_left
