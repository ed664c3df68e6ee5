"""A folder of results for a browser on this machine, with the progress of running studies.

What :mod:`trunkline.report.local` says of who is answered holds; nothing outside the folder is
given out.
"""

import json
import os
import threading
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from trunkline.report import page as pages
from trunkline.report.listing import listing
from trunkline.report.local import FILE_POLICY, Handler, LocalServer
from trunkline.report.write import NAME, write

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "text/plain; charset=utf-8",
    ".yaml": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".parquet": "application/vnd.apache.parquet",
    ".pcapng": "application/octet-stream",
}
"""Files that are given out, by the ending of their names."""

PIECE = 1 << 20
"""Bytes of a file in memory at once."""


class Server(LocalServer):
    """The server of one folder.

    Parameters
    ----------
    port : int, optional
        Port; the next free one from 8470 if left out.

    Raises
    ------
    OSError
        The port, or every one that was tried, is taken.
    """

    def __init__(self, root: Path, port: int | None = None) -> None:
        self.root = root.resolve(strict=True)
        self.writing = threading.Lock()
        super().__init__(_Handler, port)


class _Handler(Handler):
    server: Server

    def get(self, rest: str) -> None:
        """The page of the folder, its events, or a file of it."""
        if rest == "":
            self.send(200, "text/html; charset=utf-8", *pages.served("serve.html.j2", ["serve.js"]))
        elif rest == "events":
            self.events(lambda: json.dumps(listing(self.server.root)), self.server.stopping.wait)
        elif rest.startswith("files/"):
            self._file(rest.removeprefix("files/"))
        else:
            self.refuse(404, "there is nothing here")

    def _file(self, quoted: str) -> None:
        """A file of the folder; a report is made if it is not there yet."""
        try:
            target = inside(self.server.root, unquote(quoted, errors="strict"))
        except UnicodeDecodeError:
            self.refuse(400, "names of files are UTF-8")
            return
        if target is None or target.suffix not in KINDS:
            self.refuse(404, "there is no such file")
            return
        if target.name == NAME and not target.is_file():
            try:
                with self.server.writing:
                    if not target.is_file():
                        write(target.parent)
            except (FileNotFoundError, ValueError, OSError, RuntimeError) as error:
                self.refuse(404, f"no report can be made here: {error}")
                return
        try:
            with target.open("rb") as file:
                self._stream(KINDS[target.suffix], file)
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            self.refuse(404, "there is no such file")

    def _stream(self, kind: str, file: BinaryIO) -> None:
        """A file as it stands now, piece by piece: captures are larger than memory."""
        left = os.fstat(file.fileno()).st_size
        self.head(200, kind, left, FILE_POLICY)
        while left > 0 and self.command != "HEAD" and (piece := file.read(min(left, PIECE))):
            self.wfile.write(piece)
            left -= len(piece)
        # A file that was cut meanwhile leaves the answer short: its reader must notice.
        self.close_connection = self.close_connection or (left > 0 and self.command != "HEAD")


def inside(root: Path, name: str) -> Path | None:
    """Find a path below a folder; None if it leads out of it, even by a link, or is hidden."""
    parts = Path(name).parts
    if "\0" in name or any(part.startswith(".") for part in parts):
        return None
    try:
        target = (root / name).resolve()
        target.is_file()  # a path too long for this machine is an error here, not further on
    except (OSError, RuntimeError):
        return None
    return target if target.is_relative_to(root) and target != root else None
