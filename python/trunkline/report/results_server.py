"""A folder of results for a browser on this machine, with the progress of running studies.

What :mod:`trunkline.report.local_server` says of who is answered holds; nothing outside the folder
is given out.
"""

import json
import os
import threading
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from trunkline.report import page as pages
from trunkline.report.listing import list_results
from trunkline.report.local_server import FILE_POLICY, LocalHandler, LocalServer
from trunkline.report.report_files import REPORT_FILE, write_report

CONTENT_TYPES = {
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

CHUNK_BYTES = 1 << 20  # Bytes of a file in memory at once.


class ResultsServer(LocalServer):
    """The server of one folder.

    port: Port; the next free one from 8470 if left out.
    Raises OSError: The port, or every one that was tried, is taken.
    """

    def __init__(self, root: Path, port: int | None = None) -> None:
        self.root = root.resolve(strict=True)
        self.write_lock = threading.Lock()
        super().__init__(_ResultsHandler, port)


class _ResultsHandler(LocalHandler):
    server: ResultsServer

    def answer_get(self, rest: str) -> None:
        """The page of the folder, its events, or a file of it."""
        if rest == "":
            self.send_content(
                200,
                "text/html; charset=utf-8",
                *pages.render_served_page("serve.html.j2", ["serve.js"]),
            )
        elif rest == "events":
            self.send_events(
                lambda: json.dumps(list_results(self.server.root)), self.server.stopping.wait
            )
        elif rest.startswith("files/"):
            self._send_file(rest.removeprefix("files/"))
        else:
            self.send_refusal(404, "there is nothing here")

    def _send_file(self, quoted: str) -> None:
        """A file of the folder; a report is made if it is not there yet."""
        try:
            target = resolve_inside(self.server.root, unquote(quoted, errors="strict"))
        except UnicodeDecodeError:
            self.send_refusal(400, "names of files are UTF-8")
            return
        if target is None or target.suffix not in CONTENT_TYPES:
            self.send_refusal(404, "there is no such file")
            return
        if target.name == REPORT_FILE and not target.is_file():
            try:
                with self.server.write_lock:
                    if not target.is_file():
                        write_report(target.parent)
            except (FileNotFoundError, ValueError, OSError, RuntimeError) as error:
                self.send_refusal(404, f"no report can be made here: {error}")
                return
        try:
            with target.open("rb") as file:
                self._send_stream(CONTENT_TYPES[target.suffix], file)
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            self.send_refusal(404, "there is no such file")

    def _send_stream(self, kind: str, file: BinaryIO) -> None:
        """Send a file piece by piece: captures are larger than memory."""
        bytes_left = os.fstat(file.fileno()).st_size
        self.send_head(200, kind, bytes_left, FILE_POLICY)
        while (
            bytes_left > 0
            and self.command != "HEAD"
            and (piece := file.read(min(bytes_left, CHUNK_BYTES)))
        ):
            self.wfile.write(piece)
            bytes_left -= len(piece)
        # A file that was cut meanwhile leaves the answer short: its reader must notice.
        self.close_connection = self.close_connection or (bytes_left > 0 and self.command != "HEAD")


def resolve_inside(root: Path, name: str) -> Path | None:
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
