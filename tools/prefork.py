"""A command line that starts at once: each call is a fork of a process with all imports done.

Most of the processor time of a short command goes into imports: 0.35 s of 0.4 s. ``PreforkServer``
starts a server and gives a program in place of ``trunkline``: it passes its arguments, folder,
variables and standard streams to the server, which forks. So each call still is a process of its
own, with its own memory, threads, streams and exit status. Only what Python itself reads when it
starts (``PYTHON_VARIABLE_PREFIXES``) is the server's. A Python program need not start another to
ask: ``run``.

Source: prefork servers, as Python's own ``multiprocessing.forkserver``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import warnings

TYPE_CHECKING = False  # Without ``typing``, which takes longer to import than the rest.
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

    Request = dict[str, object]

STREAMS = (0, 1, 2)
MAX_MESSAGE_BYTES = 1 << 20
PYTHON_VARIABLE_PREFIXES = ("PYTHON", "LC_", "LANG", "TZ")
"""Prefixes of variables that Python reads at its start: those of the server count."""
PRELOADED_MODULES = (
    *("jinja2", "matplotlib.pyplot", "networkx", "polars"),
    *("rich.console", "rich.table", "scipy.stats"),
)
"""Modules of others that the command line imports where it needs them."""
ALLOWED_THREAD_PREFIXES = ("polars-ooc", "jemalloc")
"""Prefixes of threads of polars that may be missing: they only clean up after runs."""


class PreforkServer:
    """The server and its program; used in a ``with`` statement.

    folder: An empty folder for the socket and the program, which is called ``trunkline``.
    """

    def __init__(self, folder: str) -> None:
        import subprocess

        self.program = os.path.join(folder, "trunkline")
        socket_path = self._place = os.path.join(folder, "socket")
        with open(self.program, "w", encoding="utf-8") as stream:
            words = f'"{sys.executable}" -ISE "{os.path.abspath(__file__)}" "{socket_path}"'
            stream.write(f'#!/bin/sh\nexec {words} "$@"\n')
        os.chmod(self.program, 0o755)
        # Threads do not survive a fork: numpy is to start none.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self._server = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--serve", socket_path],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._server.stdout is not None
        if self._server.stdout.readline() != b"ready\n":
            raise RuntimeError("the prefork server does not start")

    def __enter__(self) -> PreforkServer:
        return self

    def __exit__(self, *_: object) -> None:
        # The server ends when nobody holds the other end of its standard input.
        self._server.communicate()

    def run(
        self,
        words: Sequence[str],
        *,
        folder: str,
        environment: Mapping[str, str],
        standard_input: str = "",
        longest_s: float | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, as ``subprocess.run`` does with ``capture_output``.

        Raises TimeoutError: It took longer than ``longest_s``, and was ended.
        """
        import subprocess
        import tempfile

        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in STREAMS]
            files[0].write(standard_input.encode())
            files[0].seek(0)
            request: Request = {"words": words, "folder": folder, "environment": dict(environment)}
            numbers = [each.fileno() for each in files]
            status = send_request(self._place, request, numbers, longest_s)
            outputs = []
            for each in files[1:]:
                each.seek(0)
                outputs.append(each.read().decode())
        return subprocess.CompletedProcess([self.program, *words], status, *outputs)


def send_request(
    place: str,
    request: Request,
    streams: Sequence[int] = STREAMS,
    longest_s: float | None = None,
) -> int:
    """Let the server run a command with these streams; its exit status, negative for a signal."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        text = json.dumps(request).encode()
        socket.send_fds(server, [len(text).to_bytes(4, "big")], streams)
        server.sendall(text)
        server.settimeout(longest_s)
        answer = server.recv(16)
    return int(answer) if answer else 255


def run_remotely(place: str, words: list[str]) -> int:
    """Let the server run a command as if this process were the command; its exit status."""
    request: Request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
    status = send_request(place, request)
    if status < 0:
        # Ended by a signal: so does this one.
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def serve_requests(place: str) -> None:
    """Import everything, then answer until standard input ends."""
    import gc
    import importlib
    import pkgutil
    import select

    import trunkline

    for module in pkgutil.walk_packages(trunkline.__path__, "trunkline."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in PRELOADED_MODULES:
        importlib.import_module(name)
    other_threads = [
        name for name in list_threads() if not name.startswith(ALLOWED_THREAD_PREFIXES)
    ]
    if other_threads:
        raise RuntimeError(f"threads cannot be forked: {', '.join(other_threads)}")
    # Imported objects stay: no child searches them for garbage, or copies them by that.
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen(64)
        print("ready", flush=True)
        running: dict[int, RunningCommand] = {}
        while True:
            descriptors = [
                number for command in running.values() for number in command.get_descriptors()
            ]
            ready = set(select.select([0, server.fileno(), *descriptors], [], [])[0])
            if 0 in ready:
                return
            for number, command in list(running.items()):
                if ready.intersection(command.get_descriptors()):
                    command.finish()
                    del running[number]
            if server.fileno() in ready:
                started = start_command(server)
                running[started.child] = started


def list_threads() -> list[str]:
    """List the names of the threads of this process but the one that runs it."""
    numbers = [each for each in os.listdir("/proc/self/task") if int(each) != os.getpid()]
    names = []
    for number in numbers:
        with open(f"/proc/self/task/{number}/comm", encoding="utf-8") as stream:
            names.append(stream.read().strip())
    return names


class RunningCommand:
    """A command that runs for a client, which waits for its exit status.

    child: Number of its process.
    client: Whoever asked for it.
    """

    def __init__(self, child: int, client: socket.socket) -> None:
        self.child = child
        self._client = client
        self._ended = os.pidfd_open(child)

    def get_descriptors(self) -> tuple[int, int]:
        """Return descriptors that become readable at the end of the command or of its client."""
        return self._client.fileno(), self._ended

    def finish(self) -> None:
        """Send the client the exit status; a command whose client has gone is killed."""
        import select

        if self._ended not in select.select([self._ended], [], [], 0)[0]:
            os.kill(self.child, signal.SIGKILL)
        _, status = os.waitpid(self.child, 0)
        with contextlib.suppress(BrokenPipeError):
            self._client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        self._client.close()
        os.close(self._ended)


def start_command(server: socket.socket) -> RunningCommand:
    """Take a request and run its command in a child."""
    client, _ = server.accept()
    length_bytes, streams, _, _ = socket.recv_fds(client, 4, len(STREAMS))
    size, text = int.from_bytes(length_bytes, "big"), b""
    while len(text) < size:
        text += client.recv(MAX_MESSAGE_BYTES)
    with warnings.catch_warnings():
        # Python warns of every thread there is, from 3.12 on.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        client.close()
        server.close()
        os._exit(run_command(json.loads(text), streams))
    for number in streams:
        os.close(number)
    return RunningCommand(child, client)


def run_command(request: Request, streams: list[int]) -> int:
    """Run the command line in this process, as ``python -m trunkline`` does; its exit status.

    What ends in ``.py`` is run as Python does.
    """
    import atexit
    import gc
    import runpy

    words, folder, environment = (request[key] for key in ("words", "folder", "environment"))
    assert isinstance(words, list)
    assert isinstance(environment, dict)
    for number, stream in zip(streams, STREAMS, strict=True):
        os.dup2(number, stream)
        os.close(number)
    os.chdir(str(folder))
    os.environ.clear()
    os.environ.update(environment)
    # Of the server's own streams nothing is left over.
    for name, number in zip(("stdin", "stdout", "stderr"), STREAMS, strict=True):
        mode = "r" if number == 0 else "w"
        errors = "backslashreplace" if number == 2 else "strict"
        setattr(sys, name, open(number, mode, encoding="utf-8", errors=errors, closefd=False))  # noqa: SIM115
        setattr(sys, f"__{name}__", getattr(sys, name))
    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.stdout.reconfigure(line_buffering=os.isatty(1))  # type: ignore[union-attr]
    sys.argv = ["trunkline", *words]
    import trunkline.cli

    try:
        if words and words[0].endswith(".py"):
            runpy.run_path(words[0], run_name="__main__")
        else:
            trunkline.cli.main()
        status: object = 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    gc.collect()
    atexit._run_exitfuncs()
    for output in (sys.stdout, sys.stderr):
        try:
            output.flush()
        except OSError:
            status = status or 120
    return status if isinstance(status, int) else int(status is not None)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve_requests(sys.argv[2])
    else:
        sys.exit(run_remotely(sys.argv[1], sys.argv[2:]))
