"""A web server on the loopback address, for pages that need a server.

Only this machine is answered (127.0.0.1), only requests that know the token in the address, name
this server as their host and come from no other page.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from trunkline.scenario.units import parse_integer

HOST = "127.0.0.1"
FIRST_PORT = 8470
PORTS_TRIED = 64
EVENT_INTERVAL_S = 1.0
KEEPALIVE_INTERVAL_S = 15.0
MAX_POST_BYTES = 1 << 16  # Bytes that a page may send.

Kind = TypeVar("Kind", dict, list, str, int, bool)  # type: ignore[type-arg]
_KINDS = {dict: "an object", list: "a list", str: "text", int: "a whole number", bool: "a bool"}

FILE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; sandbox allow-scripts"
)
"""Pages of others lie in results folders too: they get an origin of their own and fetch nothing."""


class LocalServer(ThreadingHTTPServer):
    """A server that a handler class answers for.

    handler: Kind of :class:`LocalHandler`.
    port: Port; the next free one from 8470 if left out.
    Raises OSError: The port, or every one that was tried, is taken.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, handler: type[LocalHandler], port: int | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.stopping = threading.Event()
        ports = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if port is None else (port,)
        last_error: OSError | None = None
        for number in ports:
            try:
                super().__init__((HOST, number), handler)
            except OSError as error:
                last_error = error
            else:
                return
        assert last_error is not None
        raise last_error

    @property
    def address(self) -> str:
        """Address for a browser; whoever has it may use the server."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def serve_until_interrupted(self) -> None:
        """Serve until the process is interrupted."""
        # In this thread: an interrupt between a thread's start and its watch would not end it.
        try:
            self.serve_forever(poll_interval=0.2)
        finally:
            self.stopping.set()
            self.server_close()


def posted(content: Mapping[str, Any], key: str, kind: type[Kind]) -> Kind:
    """A value of a posted object. Raises ValueError: It is not there, or of another kind."""
    value = content.get(key)
    # A bool is an int to isinstance.
    if type(value) is not kind:
        raise ValueError(f"{key} must be {_KINDS[kind]}")
    return value


class LocalHandler(BaseHTTPRequestHandler):
    """Answers permitted requests; `answer_get` and `post` decide the answer."""

    server: LocalServer
    protocol_version = "HTTP/1.1"
    server_version = "trunkline"
    sys_version = ""
    timeout = 60
    post_handlers: ClassVar[Mapping[str, Callable[[Any, dict[str, Any]], None]]] = {}
    """Handlers of posts, by the rest of the address; they raise ValueError to refuse."""

    def answer_get(self, rest: str) -> None:
        """Answer a request for the rest of the address."""
        self.send_refusal(404, f"there is nothing at {rest}")

    def do_GET(self) -> None:
        """Answer a request, or refuse it."""
        self._run_guarded(self._handle_get)

    def do_HEAD(self) -> None:
        """Answer as to GET, without the content (RFC 9110 section 9.3.2)."""
        self.do_GET()

    def do_POST(self) -> None:
        """Receive a post from a page of this server."""
        self._run_guarded(self._handle_post)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: the address holds the token."""

    def _run_guarded(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def _handle_get(self) -> None:
        rest = self._check_access()
        if rest is not None:
            self.answer_get(rest)

    def _handle_post(self) -> None:
        # The unread rest of a request would count as the next one.
        self.close_connection = True
        rest = self._check_access()
        if rest is None:
            return
        if self.headers.get("Origin") is None:
            self.send_refusal(403, "only a page of this server may change something")
            return
        length = parse_integer(self.headers.get("Content-Length", ""))
        if length is None or not 0 <= length <= MAX_POST_BYTES:
            self.send_refusal(
                413,
                f"up to {MAX_POST_BYTES} bytes are accepted, with their number in Content-Length",
            )
            return
        if self.headers.get("Content-Type") != "application/json":
            self.send_refusal(415, "JSON is taken")
            return
        post_handler = self.post_handlers.get(rest)
        if post_handler is None:
            self.send_refusal(404, "there is nothing here")
            return
        try:
            content = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError) as error:
            self.send_refusal(400, f"no JSON that can be read: {error}")
            return
        if not isinstance(content, dict):
            self.send_refusal(400, "a JSON object is taken")
            return
        try:
            post_handler(self, content)
        except ValueError as error:
            self.send_refusal(400, f"{error}")
            return
        except OSError as error:
            self.send_refusal(409, f"{error.filename or 'a file'}: {error.strerror or error}")
            return
        self.send_content(200, "application/json", b"{}", "default-src 'none'")

    def _check_access(self) -> str | None:
        """Return the part of the address behind the token; None if the request was refused."""
        known = {f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}"}
        if self.headers.get("Host", "") not in known:
            self.send_refusal(421, "this server answers to its own name only")
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}" for name in known}:
            self.send_refusal(403, "requests of other pages are not answered")
            return None
        token, _, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self.send_refusal(403, "the address lacks the token that was printed at the start")
            return None
        return rest

    def send_events(
        self, get_text: Callable[[], str], wait_for_change: Callable[[float], object]
    ) -> None:
        """Send some text, again whenever it changes, as server-sent events.

        wait_for_change: Waits up to so long [s] for it to change.
        """
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self._send_common_headers("default-src 'none'")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command == "HEAD":
            return
        before = None
        silent_s = 0.0
        while not self.server.stopping.is_set():
            text = get_text()
            silent_s += EVENT_INTERVAL_S
            if text != before:
                self.wfile.write(f"data: {text}\n\n".encode())
                before, silent_s = text, 0.0
            elif silent_s >= KEEPALIVE_INTERVAL_S:
                self.wfile.write(b": still here\n\n")
                silent_s = 0.0
            self.wfile.flush()
            wait_for_change(EVENT_INTERVAL_S)

    def send_content(self, status: int, kind: str, content: bytes, policy: str) -> None:
        """Send content of a kind, under a policy."""
        self.send_head(status, kind, len(content), policy)
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_head(self, status: int, kind: str, length: int, policy: str) -> None:
        """Send the head of an answer whose content follows."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self._send_common_headers(policy)
        self.end_headers()

    def send_refusal(self, status: int, reason: str) -> None:
        """Say why a request is not answered."""
        text = f"{reason}\n".encode(errors="backslashreplace")
        self.send_content(status, "text/plain; charset=utf-8", text, "default-src 'none'")

    def _send_common_headers(self, policy: str) -> None:
        self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
