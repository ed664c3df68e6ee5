"""Follows a scenario file: on each change, of the file or of a slider, it is attempted again."""

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trunkline.live.attempt import Attempt, Wanted, attempt
from trunkline.live.errand import Errand
from trunkline.live.studied import write_study
from trunkline.scenario import ScenarioError
from trunkline.scenario.loader import file_text

LOOK_S = 0.1
"""How often the file is looked at [s]."""
MOST_BESIDE = 1000
"""Files beside the scenario that are looked at too, as it may name them."""
MOST_OVERRIDES = 200
"""Values that may be set at once."""


class Watcher:
    """What there is to know of a scenario that is being written.

    Parameters
    ----------
    overrides : mapping of str to str, optional
        Values set over it at the beginning.
    seed : int, optional
        Seed of the first run; the scenario's own if left out.
    limit_s : float, default 20
        Longest time of one run [s].
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
        self.changed = threading.Condition()
        # The last attempt; the last that ran, which stays on the page beside errors; and the last
        # that ran and was no step of a slider that still moves, with which a new one is compared.
        self.now: Attempt | None = None
        self.shown: Attempt | None = None
        self._reference: Attempt | None = None
        self.version = 0
        self.busy = False
        self.errand: Errand | None = None
        self._wanted = Wanted(file, "", dict(overrides or {}), seed, runs, limit_s)
        self._settled = True
        self._done: tuple[object, ...] = ()
        self._stopping = False

    @property
    def name(self) -> str:
        """The file without its folder."""
        return self._wanted.file.name

    @property
    def overrides(self) -> dict[str, str]:
        """What is set over the scenario by now."""
        return dict(self._wanted.overrides)

    def turn(self, overrides: Mapping[str, str], *, settled: bool, runs: int) -> None:
        """Set values over the scenario.

        Parameters
        ----------
        settled : bool
            Whether this is no step of a slider that still moves.
        runs : int
            Replications, 1 to 100.

        Raises
        ------
        ValueError
            They are no such thing.
        """
        if not all(isinstance(x, str) for pair in overrides.items() for x in pair):
            raise ValueError("values are set as text")
        if len(overrides) > MOST_OVERRIDES or not 1 <= runs <= 100:
            raise ValueError("too many values or runs")
        with self.changed:
            self._wanted = replace(self._wanted, overrides=dict(overrides), runs=runs)
            self._settled = settled
            self.changed.notify_all()

    def verify(self) -> None:
        """Run the scenario on a Linux kernel too, and compare."""
        words = ["verify", *self._wanted.words]
        self._begin(Errand("verify", words, Path.cwd(), self._news))

    def study(self, parameter: str, values: list[str], runs: int) -> None:
        """Write a study over a parameter beside the scenario, and run it.

        Raises
        ------
        ValueError
            There is no such parameter, or there are no values.
        """
        file = write_study(self._wanted, parameter, values, runs)
        folder = file.with_suffix("")
        words = ["study", "run", str(file), "--out", str(folder), "--overwrite"]
        self._begin(
            Errand("study", [*words, "--progress", "plain"], Path.cwd(), self._news, folder)
        )

    def stop_errand(self) -> None:
        """End the command that was started last."""
        if self.errand is not None:
            self.errand.stop()

    def follow(self) -> None:
        """Attempt whatever changes, until stopped; to be run in a thread."""
        while not self._stopping:
            wanted, settled = self._wanted, self._settled
            sign = _sign(wanted)
            with self.changed:
                if sign == self._done:
                    self._settle(wanted, settled)
                    self.changed.wait(LOOK_S)
                    continue
                self._done = sign
                self.busy = True
                self.changed.notify_all()
            made = attempt(_read(wanted), self._reference)
            made.settled = settled
            with self.changed:
                self._take(made)

    def stop(self) -> None:
        """End the following, and what was started."""
        self._stopping = True
        self.stop_errand()
        with self.changed:
            self.changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait for news, up to so long."""
        with self.changed:
            self.changed.wait(seconds)

    def _take(self, made: Attempt) -> None:
        self.now = made
        self.busy = False
        if made.exhibit is not None:
            self.shown = made
            if made.settled:
                self._reference = made
        self._tell()

    def _settle(self, wanted: Wanted, settled: bool) -> None:
        """The slider rests where it was run already."""
        now = self.now
        if settled and now is not None and now.exhibit is not None and wanted is self._wanted:
            now.settled = True
            self._reference = now

    def _begin(self, errand: Errand) -> None:
        if self.errand is not None and self.errand.status is None:
            raise ValueError(f"{self.errand.kind} is still going on")
        errand.start()
        self.errand = errand
        self._news()

    def _news(self) -> None:
        with self.changed:
            self._tell()

    def _tell(self) -> None:
        self.version += 1
        self.changed.notify_all()


def _sign(wanted: Wanted) -> tuple[object, ...]:
    """What changes with the file, the files that may be named in it, and what is set."""
    found: list[tuple[str, int, int]] = []
    try:
        with os.scandir(wanted.file.parent) as entries:
            for entry, _ in zip(entries, range(MOST_BESIDE), strict=False):
                beside = entry.name.endswith((".csv", ".txt", ".cdf", ".tsv"))
                if (beside or entry.name == wanted.file.name) and entry.is_file():
                    state = entry.stat()
                    found.append((entry.name, state.st_mtime_ns, state.st_size))
    except OSError:
        pass
    return (*sorted(found), tuple(wanted.overrides.items()), wanted.runs)


def _read(wanted: Wanted) -> Wanted:
    try:
        return replace(wanted, content=file_text(str(wanted.file)))
    except ScenarioError:
        # Loading says what is wrong with the file.
        return replace(wanted, content="")
