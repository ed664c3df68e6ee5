"""Follows a scenario file: on each change, of the file or of a slider, it is attempted again."""

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trunkline.live.attempt import RunAttempt, RunRequest, attempt_run
from trunkline.live.background_command import BackgroundCommand
from trunkline.live.quick_study import write_quick_study
from trunkline.scenario import ScenarioError
from trunkline.scenario.loader import read_file_text

POLL_INTERVAL_S = 0.1  # How often the file is looked at [s].
MAX_SIBLING_FILES = 1000  # Files next to the scenario that are looked at too, as it may name them.
MAX_OVERRIDES = 200  # Values that may be set at once.


class ScenarioWatcher:
    """A scenario that is being written, and its newest results.

    overrides: Values set over it at the beginning.
    seed: Seed of the first run; the scenario's own if left out.
    limit_s: Longest time of one run [s].
    """

    def __init__(
        self,
        file: Path,
        overrides: Mapping[str, str] | None = None,
        *,
        seed: int | None = None,
        runs: int = 1,
        limit_s: float = 20.0,
    ) -> None:
        self.change_condition = threading.Condition()
        # The last attempt; the last that ran, which stays on the page next to errors; and the last
        # that ran and was no step of a slider that still moves, with which a new one is compared.
        self.latest: RunAttempt | None = None
        self.shown_attempt: RunAttempt | None = None
        self._reference: RunAttempt | None = None
        self.version = 0
        self.is_busy = False
        self.command: BackgroundCommand | None = None
        self._request = RunRequest(file, "", dict(overrides or {}), seed, runs, limit_s)
        self._is_settled = True
        self._attempted_signature: tuple[object, ...] = ()
        self._is_stopping = False

    @property
    def file_name(self) -> str:
        """The file without its folder."""
        return self._request.file.name

    @property
    def overrides(self) -> dict[str, str]:
        """Values that now override the scenario."""
        return dict(self._request.overrides)

    def set_parameters(self, overrides: Mapping[str, str], *, is_settled: bool, runs: int) -> None:
        """Set values over the scenario.

        is_settled: Whether this is no step of a slider that still moves.
        runs: Replications, 1 to 100.
        Raises ValueError: They are no such thing.
        """
        if not all(isinstance(x, str) for pair in overrides.items() for x in pair):
            raise ValueError("values are set as text")
        if len(overrides) > MAX_OVERRIDES or not 1 <= runs <= 100:
            raise ValueError("too many values or runs")
        with self.change_condition:
            self._request = replace(self._request, overrides=dict(overrides), runs=runs)
            self._is_settled = is_settled
            self.change_condition.notify_all()

    def start_verification(self) -> None:
        """Run the scenario on a Linux kernel too, and compare."""
        words = ["verify", *self._request.cli_arguments]
        self._start_command(BackgroundCommand("verify", words, Path.cwd(), self._announce_change))

    def start_study(self, parameter: str, values: list[str], runs: int) -> None:
        """Write a study over a parameter next to the scenario, and run it.

        Raises ValueError: There is no such parameter, or there are no values.
        """
        file = write_quick_study(self._request, parameter, values, runs)
        folder = file.with_suffix("")
        words = ["study", "run", str(file), "--out", str(folder), "--overwrite"]
        self._start_command(
            BackgroundCommand(
                "study", [*words, "--progress", "plain"], Path.cwd(), self._announce_change, folder
            )
        )

    def stop_command(self) -> None:
        """End the command that was started last."""
        if self.command is not None:
            self.command.stop()

    def follow_changes(self) -> None:
        """Attempt whatever changes, until stopped; to be run in a thread."""
        while not self._is_stopping:
            request, is_settled = self._request, self._is_settled
            signature = _compute_signature(request)
            with self.change_condition:
                if signature == self._attempted_signature:
                    self._settle_reference(request, is_settled)
                    self.change_condition.wait(POLL_INTERVAL_S)
                    continue
                self._attempted_signature = signature
                self.is_busy = True
                self.change_condition.notify_all()
            run_attempt = attempt_run(_read_content(request), self._reference)
            run_attempt.is_settled = is_settled
            with self.change_condition:
                self._accept_attempt(run_attempt)

    def stop_watching(self) -> None:
        """End the watch and the programs that it started."""
        self._is_stopping = True
        self.stop_command()
        with self.change_condition:
            self.change_condition.notify_all()

    def wait_for_change(self, seconds: float) -> None:
        """Wait for news, up to so long."""
        with self.change_condition:
            self.change_condition.wait(seconds)

    def _accept_attempt(self, run_attempt: RunAttempt) -> None:
        self.latest = run_attempt
        self.is_busy = False
        if run_attempt.reported_run is not None:
            self.shown_attempt = run_attempt
            if run_attempt.is_settled:
                self._reference = run_attempt
        self._bump_version()

    def _settle_reference(self, request: RunRequest, is_settled: bool) -> None:
        """The slider rests where it was run already."""
        latest = self.latest
        if (
            is_settled
            and latest is not None
            and latest.reported_run is not None
            and request is self._request
        ):
            latest.is_settled = True
            self._reference = latest

    def _start_command(self, command: BackgroundCommand) -> None:
        if self.command is not None and self.command.status is None:
            raise ValueError(f"{self.command.kind} is still going on")
        command.start()
        self.command = command
        self._announce_change()

    def _announce_change(self) -> None:
        with self.change_condition:
            self._bump_version()

    def _bump_version(self) -> None:
        self.version += 1
        self.change_condition.notify_all()


def _compute_signature(request: RunRequest) -> tuple[object, ...]:
    """Compute a signature of the file, of the files that it may name, and of the overrides."""
    signatures: list[tuple[str, int, int]] = []
    try:
        with os.scandir(request.file.parent) as entries:
            for entry, _ in zip(entries, range(MAX_SIBLING_FILES), strict=False):
                is_sibling = entry.name.endswith((".csv", ".txt", ".cdf", ".tsv"))
                if (is_sibling or entry.name == request.file.name) and entry.is_file():
                    state = entry.stat()
                    signatures.append((entry.name, state.st_mtime_ns, state.st_size))
    except OSError:
        pass
    return (*sorted(signatures), tuple(request.overrides.items()), request.runs)


def _read_content(request: RunRequest) -> RunRequest:
    try:
        return replace(request, content=read_file_text(str(request.file)))
    except ScenarioError:
        # The loader reports faults of the file.
        return replace(request, content="")
