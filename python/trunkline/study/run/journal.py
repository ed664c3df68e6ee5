"""Runs that have ended, one line each, kept until the data set is written.

Lines are only ever appended, each with its checksum, and flushed to the disk in batches. What a
crash, a full disk or a bad sector leaves of a line is recognised by the checksum.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trunkline.results import Results
from trunkline.study.run.run_measures import RunValues, parse_measure
from trunkline.study.run.run_plan import RunTask

# Windows translates line ends of files that are not opened as binary, and passes no handle on.
_OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run that has ended."""

    run: int  # Its number in the study.
    hash: str  # Results hash.
    # events, packet_hops: Events of the engine; packets sent on links.
    events: int
    packet_hops: int
    values: RunValues

    def to_json(self) -> str:
        """Format it as text; floats keep all their digits."""
        fields = [self.run, self.hash, self.events, self.packet_hops, self.values]
        return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """Read a record that `to_json` wrote."""
        run, digest, events, packet_hops, values = json.loads(text)
        return cls(run, digest, events, packet_hops, values)


def build_record(task: RunTask, results: Results) -> RunRecord:
    """Record the hash, the counts and the values of a run."""
    summary = results.summary
    return RunRecord(
        task.number,
        results.hash(),
        int(summary["events"] or 0),
        int(summary["packet_hops"] or 0),
        parse_measure(task.point.measure)(results),
    )


class Journal:
    """The file of ended runs, open for appending.

    path: The file; made if it is not there. A last line that is not whole is cut off.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o644)
        self._complete_length = os.lseek(self._handle, 0, os.SEEK_END)
        content = b"\n"
        if self._complete_length:
            os.lseek(self._handle, self._complete_length - 1, os.SEEK_SET)
            content = os.read(self._handle, 1)
        if content != b"\n":
            self._complete_length = path.read_bytes().rfind(b"\n") + 1
            os.ftruncate(self._handle, self._complete_length)

    def append(self, records: Iterable[RunRecord]) -> None:
        """Write records and wait until the disk has them.

        Raises OSError: There is no space; the file does not change.
        """
        lines = b"".join(_format_line(record.to_json()) for record in records)
        try:
            written = 0
            os.lseek(self._handle, self._complete_length, os.SEEK_SET)
            while written < len(lines):
                written += os.write(self._handle, lines[written:])
            os.fsync(self._handle)
        except OSError:
            os.ftruncate(self._handle, self._complete_length)
            raise
        self._complete_length += len(lines)

    def close(self) -> None:
        """Close the file; once more does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _format_line(text: str) -> bytes:
    content = text.encode()
    return b"%08x %b\n" % (zlib.crc32(content), content)


def read_journal(path: Path) -> tuple[list[RunRecord], list[int]]:
    """Read the records of a journal.

    path: The file; it may be missing.
    Returns: Records in the order written, and numbers of the lines, from 1, that are damaged. A
        last line without its end is not one of them: it was being written.
    """
    records, damaged = [], []
    for number, line in enumerate(_iterate_lines(path), 1):
        content = line[9:-1]
        if not line.endswith(b"\n"):
            break
        if line[:9] == b"%08x " % zlib.crc32(content):
            records.append(RunRecord.from_json(content.decode()))
        else:
            damaged.append(number)
    return records, damaged


def _iterate_lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        return


def append_log_line(path: Path, fields: dict[str, Any]) -> None:
    """Append a line of JSON to a log."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields, ensure_ascii=False) + "\n")
