"""A folder of results for a browser on this machine, with the progress of running studies.

Only this machine is answered (127.0.0.1), only requests that know the token in the address, name
this server as their host and come from no other page; nothing outside the folder is given out.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from trunkline.report import page as pages
from trunkline.report.library import policy_hash
from trunkline.report.listing import listing
from trunkline.report.write import NAME, write

HOST = "127.0.0.1"
PORT = 8470
PORTS_TRIED = 64
EVERY_S = 1.0

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

FILE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; sandbox allow-scripts"
)
"""Pages of others lie in results folders too: they get an origin of their own and fetch nothing."""
PIECE = 1 << 20
"""Bytes of a file in memory at once."""


class Server(ThreadingHTTPServer):
    """The server of one folder.

    Parameters
    ----------
    root : Path
        Folder with results.
    port : int, optional
        Port; the next free one from 8470 if left out.

    Raises
    ------
    OSError
        The port, or every one that was tried, is taken.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, root: Path, port: int | None = None) -> None:
        self.root = root.resolve(strict=True)
        self.token = secrets.token_urlsafe(24)
        self.writing = threading.Lock()
        self.stopping = threading.Event()
        wanted = range(PORT, PORT + PORTS_TRIED) if port is None else (port,)
        fault: OSError | None = None
        for number in wanted:
            try:
                super().__init__((HOST, number), _Handler)
            except OSError as error:
                fault = error
            else:
                return
        assert fault is not None
        raise fault

    @property
    def address(self) -> str:
        """Where a browser finds it; whoever has it may read the folder."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "trunkline"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Answer a request, or refuse it."""
        try:
            self._answer()
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def do_HEAD(self) -> None:
        """Answer as to GET, without the content (RFC 9110 section 9.3.2)."""
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: the address holds the token."""

    def _answer(self) -> None:
        known = {f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}"}
        if self.headers.get("Host", "") not in known:
            self._refuse(421, "this server answers to its own name only")
            return
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}" for name in known}:
            self._refuse(403, "requests of other pages are not answered")
            return
        token, _, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(403, "the address lacks the token that was printed at the start")
            return
        if rest == "":
            self._send(200, "text/html; charset=utf-8", *_index())
        elif rest == "events":
            self._events()
        elif rest.startswith("files/"):
            self._file(rest.removeprefix("files/"))
        else:
            self._refuse(404, "there is nothing here")

    def _file(self, quoted: str) -> None:
        """A file of the folder; a report is made if it is not there yet."""
        try:
            target = inside(self.server.root, unquote(quoted, errors="strict"))
        except UnicodeDecodeError:
            self._refuse(400, "names of files are UTF-8")
            return
        if target is None or target.suffix not in KINDS:
            self._refuse(404, "there is no such file")
            return
        if target.name == NAME and not target.is_file():
            try:
                with self.server.writing:
                    if not target.is_file():
                        write(target.parent)
            except (FileNotFoundError, ValueError, OSError, RuntimeError) as error:
                self._refuse(404, f"no report can be made here: {error}")
                return
        try:
            with target.open("rb") as file:
                self._stream(KINDS[target.suffix], file)
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            self._refuse(404, "there is no such file")

    def _stream(self, kind: str, file: BinaryIO) -> None:
        """A file as it stands now, piece by piece: captures are larger than memory."""
        left = os.fstat(file.fileno()).st_size
        self._head(200, kind, left, FILE_POLICY)
        while left > 0 and self.command != "HEAD" and (piece := file.read(min(left, PIECE))):
            self.wfile.write(piece)
            left -= len(piece)
        # A file that was cut meanwhile leaves the answer short: its reader must notice.
        self.close_connection = self.close_connection or (left > 0 and self.command != "HEAD")

    def _events(self) -> None:
        """The listing, again whenever it changes, as server-sent events."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self._common("default-src 'none'")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command == "HEAD":
            return
        before = None
        silent = 0
        while not self.server.stopping.is_set():
            now = json.dumps(listing(self.server.root))
            silent += 1
            if now != before:
                self.wfile.write(f"data: {now}\n\n".encode())
                before, silent = now, 0
            elif silent >= 15:
                self.wfile.write(b": still here\n\n")
                silent = 0
            self.wfile.flush()
            self.server.stopping.wait(EVERY_S)

    def _send(self, status: int, kind: str, content: bytes, policy: str) -> None:
        self._head(status, kind, len(content), policy)
        if self.command != "HEAD":
            self.wfile.write(content)

    def _head(self, status: int, kind: str, length: int, policy: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self._common(policy)
        self.end_headers()

    def _refuse(self, status: int, why: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{why}\n".encode(), "default-src 'none'")

    def _common(self, policy: str) -> None:
        self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")


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


def _index() -> tuple[bytes, str]:
    """The page of the folder and its policy."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    assets = pages.FOLDER / "assets"
    script = (assets / "serve.js").read_text("utf-8")
    style = (assets / "report.css").read_text("utf-8")
    environment = Environment(
        loader=FileSystemLoader(pages.FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    written = environment.get_template("serve.html.j2").render(
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
    )
    policy = (
        f"default-src 'none'; script-src '{policy_hash(script.encode())}'; "
        f"style-src '{policy_hash(style.encode())}'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )
    return written.encode(), policy


def run(server: Server) -> None:
    """Serve until the process is interrupted."""
    # In this thread: an interrupt between a thread's start and its watch would leave it running.
    try:
        server.serve_forever(poll_interval=0.2)
    finally:
        server.stopping.set()
        server.server_close()
