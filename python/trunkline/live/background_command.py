"""A trunkline command that a page starts: its output line by line, and its exit status."""

import shlex
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_OUTPUT_LINES = 400  # Lines of its words that are kept.
STOP_TIMEOUT_S = 5.0  # How long a command that is stopped may take to end by itself [s].


@dataclass(slots=True)
class BackgroundCommand:
    """A ``trunkline`` command in a process of its own, without a shell."""

    kind: str  # Its name on the page.
    arguments: Sequence[str]  # Arguments of ``trunkline``.
    folder: Path  # Where it is run.
    notify_change: Callable[[], None]  # Called from another thread whenever there is something new.
    result_folder: Path | None = None  # Folder that it writes, which a report can be made of.
    output_lines: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_OUTPUT_LINES))
    status: int | None = None
    _process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it. Raises OSError: No process can be started."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trunkline", *self.arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=self.folder,
        )
        threading.Thread(target=self._follow, daemon=True).start()

    def stop(self) -> None:
        """End it, if it has not ended."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def to_json(self) -> dict[str, Any]:
        """Build the object for the page."""
        return {
            "kind": self.kind,
            "command": shlex.join(["trunkline", *self.arguments]),
            "text": "\n".join(self.output_lines),
            "status": self.status,
            "report": self.kind == "study" and self.status in (0, 3, 5),
        }

    def _follow(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        with process.stdout as stream:
            for line in stream:
                self.output_lines.append(line.rstrip("\n"))
                self.notify_change()
        self.status = process.wait()
        self.notify_change()
