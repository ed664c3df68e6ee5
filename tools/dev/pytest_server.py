"""Runs pytest again and again, each time in a fork of a process with the imports of others done.

Most of the time of a short run of pytest goes into imports. What tests import is known after the
first run; the server imports it then, but nothing of this repository, which the next run may
change.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, TypedDict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPTIONS = ["-q", "-n0", "--slow", "-p", "no:cacheprovider"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
POLL_S = 0.01
MAX_WALL_FACTOR = 20
"""A run may take so many times its processor's time, as on a machine that others use."""


class Request(TypedDict):
    """A run that a client asks for."""

    arguments: list[str]
    """Options, and tests in the order in which they are to run."""
    limit_s: float | None
    variables: dict[str, str]
    writes_byte_code: bool


class PytestServer:
    """The server, for tests of one copy of the packages; used in a ``with`` statement.

    python: Path of the environment's Python.
    copy: Folder of the packages.
    byte_code: Folder for the compiled code of all that is imported.
    """

    def __init__(self, python: str, copy: str, byte_code: str) -> None:
        tools = os.path.dirname(os.path.abspath(__file__))
        variables = {
            "PYTHONPATH": os.pathsep.join([copy, tools]),
            "PYTHONPYCACHEPREFIX": byte_code,
            # Threads do not survive a fork: numpy is to start none.
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._server = subprocess.Popen(
            [python, os.path.abspath(__file__)],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "PytestServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def run(
        self,
        arguments: list[str],
        limit_s: float | None = None,
        variables: dict[str, str] | None = None,
        *,
        writes_byte_code: bool = False,
    ) -> tuple[int, str]:
        """Run pytest.

        Parameters
        ----------
        arguments : list of str
            Options, and tests in the order in which they are to run.
        limit_s : float, optional
            The run is ended after so much of the processor's time.
        variables : dict, optional
            Of its environment, besides those of this process.
        writes_byte_code : bool, optional
            Whether it may keep what it compiles: not where a file was changed for this run, as two
            changes of one length and second would share their code.

        Returns
        -------
        status : int
            Of pytest; negative where a signal ended it, as at the limit.
        output : str
            Of pytest.
        """
        request = Request(
            arguments=arguments,
            limit_s=limit_s,
            variables=variables or {},
            writes_byte_code=writes_byte_code,
        )
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        status, output = json.loads(self._server.stdout.readline())
        return int(status), str(output)


class TestsInGivenOrder:
    """A plugin: runs tests in the order of the arguments, whatever the repository prefers."""

    def __init__(self, arguments: list[str]) -> None:
        self._ranks = {argument: rank for rank, argument in enumerate(arguments)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Sort them."""
        items.sort(key=lambda item: self._ranks.get(item.nodeid, len(self._ranks)))

    # After all other plugins. Only the server's Python has pytest.
    vars(pytest_collection_modifyitems).update(pytest_impl={"trylast": True})


def serve_requests() -> None:
    """Answer requests until standard input ends."""
    is_first = True
    for line in sys.stdin:
        request: Request = json.loads(line)
        with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile() as modules:
            child = os.fork()
            if child == 0:
                _run_pytest(request, output.fileno(), modules.name)
            status = _wait(child, request["limit_s"])
            output.seek(0)
            print(json.dumps([status, output.read().decode("utf-8", "replace")]), flush=True)
            if is_first:
                _import_modules(modules.read().decode().split())
                is_first = False


def _run_pytest(request: Request, output: int, modules: str) -> None:
    """Run pytest as a process of its own, and write what it imported of others."""
    os.setpgid(0, 0)
    if request["limit_s"] is not None:
        most = int(request["limit_s"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(request["variables"])
    sys.dont_write_bytecode = not request["writes_byte_code"]
    status = 3
    try:
        import pytest

        plugin = TestsInGivenOrder(request["arguments"])
        status = int(pytest.main([*OPTIONS, *request["arguments"]], [plugin]))
        names = [name for name, module in list(sys.modules.items()) if _is_of_others(module)]
        with open(modules, "w", encoding="utf-8") as stream:
            stream.write("\n".join(names))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _is_of_others(module: Any) -> bool:
    path = getattr(module, "__file__", None) or ""
    return path.startswith(sys.prefix) or not path.startswith(ROOT + os.sep)


def _import_modules(names: list[str]) -> None:
    import gc

    for name in names:
        if not name.startswith("trunkline"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    # Imported objects stay: no child searches them for garbage, or copies them by that.
    gc.collect()
    gc.freeze()


def _wait(child: int, limit_s: float | None) -> int:
    """Wait for a child and end it at its limit: its exit status, negative for a signal."""
    begun = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if limit_s is not None and time.monotonic() - begun > MAX_WALL_FACTOR * limit_s:
            os.killpg(child, signal.SIGKILL)
            limit_s = None
        time.sleep(POLL_S)
    # Programs that its tests started and that still run.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    serve_requests()
