"""Running other programs: quietly with a log, or in the open with ``--plain``."""

import os
import subprocess
import sys
import time


class StepFailed(Exception):
    """A step that failed, with the exit status to end with."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def print_message(text: str) -> None:
    """Talk to the user, on standard error. text: The message."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def is_plain() -> bool:
    """Whether every command should be shown."""
    return bool(os.environ.get("TRUNKLINE_DEV_PLAIN"))


def run_program(
    command: list[str],
    *,
    cwd: str,
    log: str | None = None,
    environment: dict[str, str] | None = None,
) -> None:
    """Run a program to its end.

    command: The program and its arguments.
    cwd: Where it runs.
    log: File that takes its output; without it, or with ``--plain``, the output is shown.
    environment: Variables to add.
    Raises StepFailed: It could not be started or did not end with 0; the end of the log is shown.
    """
    if is_plain():
        words = [f"{key}={value}" for key, value in (environment or {}).items()]
        print_message("$ " + " ".join(words + command))
    full_environment = {**os.environ, **(environment or {})}
    name = os.path.basename(command[0])
    try:
        if log is None or is_plain():
            status = subprocess.call(command, cwd=cwd, env=full_environment)
        else:
            os.makedirs(os.path.dirname(log), exist_ok=True)
            with open(log, "wb") as stream:
                status = subprocess.call(
                    command, cwd=cwd, env=full_environment, stdout=stream, stderr=subprocess.STDOUT
                )
    except OSError as error:
        raise StepFailed(f"{name} cannot be started: {error.strerror}", 4) from error
    if status == 0:
        return
    if log is not None and not is_plain():
        with open(log, encoding="utf-8", errors="replace") as stream:
            print("".join(stream.readlines()[-40:]), file=sys.stderr, end="")
        raise StepFailed(f"{name} ended with {status}; its output is in {log}")
    raise StepFailed(f"{name} ended with {status}", 130 if status in {-2, 130} else 1)


class Stopwatch:
    """Wall seconds since it was made."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def __str__(self) -> str:
        return f"{time.monotonic() - self.start:.1f} s"
