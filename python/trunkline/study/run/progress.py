"""Progress of a study: a bar on a terminal or in a notebook, lines in a log, JSON for programs."""

from __future__ import annotations

import html
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from trunkline.scenario.diagnostic import escape_unprintable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from trunkline.engine.forecast import Forecast
    from trunkline.study.run.journal import RunRecord


class Progress:
    """Counts, and shows nothing; the other kinds show its counts.

    out: Where reports go; standard error if left out.
    clock: Seconds of a clock that never goes back.
    listener: callable or None; is given the records of all ended runs, by number, each time that
        more are on the disk.
    """

    report_interval_s = 10.0  # Time between two reports [s].

    def __init__(
        self,
        name: str,
        *,
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self._clock = name, clock
        self._out = out or sys.stderr
        self.total = self.done_before = self.done = self.failures = self.events = 0
        self.listener: Callable[[Mapping[int, RunRecord]], None] | None = None
        self._started_at = self._reported_at = clock()

    def announce_forecast(self, forecast: Forecast) -> None:
        """Runs will take so much."""

    def begin(self, total: int, done_before: int) -> None:
        """Begin with the number of all runs, and of those done by an earlier process."""
        self.total, self.done_before, self.done = total, done_before, 0
        self._started_at = self._reported_at = self._clock()
        self.report()

    def count_ended(self, events: int) -> None:
        """Count a run has ended after so many events."""
        self.done += 1
        self.events += events

    def count_failed(self, text: str) -> None:
        """Count a run has failed."""
        self.failures += 1
        self.print_message(text)

    def notify_stored(self, records: Mapping[int, RunRecord]) -> None:
        """More runs are on the disk: these, by number. The listener hears of them."""
        if self.listener is not None:
            self.listener(records)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Make room on the terminal for other output."""
        yield

    def report_if_due(self) -> None:
        """Report if it is time to."""
        now = self._clock()
        if now - self._reported_at >= self.report_interval_s:
            self._reported_at = now
            self.report()

    def end(self) -> None:
        """The last report."""
        self.report()

    def get_counts(self) -> dict[str, Any]:
        """Counts, events per second, and the time left at this pace [s]; None at the start."""
        spent = self._clock() - self._started_at
        ended = self.done + self.failures
        left = self.total - self.done_before - ended
        return {
            "study": self.name,
            "done": self.done_before + self.done,
            "failed": self.failures,
            "of": self.total,
            "events_per_s": round(self.events / spent) if spent > 0 else 0,
            "left_s": round(spent / ended * left, 1) if ended else None,
        }

    def report(self) -> None:
        """Say how far the study is."""

    def print_message(self, text: str) -> None:
        """Show an event."""
        print(escape_unprintable(text), file=self._out, flush=True)

    def print_warning(self, text: str) -> None:
        """Warn before the start."""
        print(f"warning: {escape_unprintable(text)}", file=self._out, flush=True)


class PlainProgress(Progress):
    """A line now and then."""

    def announce_forecast(self, forecast: Forecast) -> None:
        """Say it."""
        self.print_message(f"forecast: {forecast}")

    def report(self) -> None:
        """Print a line."""
        counts = self.get_counts()
        left = "" if counts["left_s"] is None else f", {format_clock_time(counts['left_s'])} left"
        rate = f", {counts['events_per_s'] / 1e6:.1f} M events/s" if self.events else ""
        failed = f", {counts['failed']} failed" if counts["failed"] else ""
        self.print_message(
            f"{counts['study']}: {counts['done']} of {counts['of']} done{failed}{rate}{left}"
        )


class JsonProgress(Progress):
    """An object a line."""

    report_interval_s = 0.5

    def announce_forecast(self, forecast: Forecast) -> None:
        """Print an object."""
        self.print_message(json.dumps({"study": self.name, "foreseen": forecast.to_json()}))

    def report(self) -> None:
        """Print an object."""
        self.print_message(json.dumps(self.get_counts()))

    def count_failed(self, text: str) -> None:
        """Print why as an object."""
        self.failures += 1
        self.print_message(json.dumps({"study": self.name, "failure": text}))

    def print_warning(self, text: str) -> None:
        """Print it as an object."""
        self.print_message(json.dumps({"study": self.name, "warning": text}))


class TerminalProgressBar(PlainProgress):
    """A bar that moves."""

    report_interval_s = 0.1

    def __init__(self, name: str, thread_count: int, **options: Any) -> None:
        super().__init__(name, **options)
        self._thread_count = thread_count
        self._bar: RichProgress | None = None

    def begin(self, total: int, done_before: int) -> None:
        """Show the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress as RichProgress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
        console = Console(file=self._out)
        self._bar = RichProgress(*columns, console=console, transient=True, auto_refresh=False)
        self._task = self._bar.add_task(self.name, total=total, note="")
        self._bar.start()
        super().begin(total, done_before)

    def report(self) -> None:
        """Move the bar."""
        assert self._bar is not None
        counts = self.get_counts()
        running = min(self._thread_count, counts["of"] - counts["done"] - counts["failed"])
        message = (
            f"{counts['done']} of {counts['of']}, {running} running, {counts['failed']} failed"
        )
        message += f", {counts['events_per_s'] / 1e6:.1f} M events/s"
        if counts["left_s"] is not None:
            message += f", {format_clock_time(counts['left_s'])} left"
        self._bar.update(self._task, completed=counts["done"], note=message)
        self._bar.refresh()

    def print_message(self, text: str) -> None:
        """Print above the bar, or where it will be."""
        if self._bar is None:
            super().print_message(text)
        else:
            self._bar.console.print(escape_unprintable(text), markup=False, highlight=False)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Take the bar away for a while."""
        assert self._bar is not None
        self._bar.stop()
        yield
        self._bar.start()

    def end(self) -> None:
        """Take the bar away."""
        assert self._bar is not None
        self._bar.stop()


class NotebookProgressBar(PlainProgress):
    """A bar in the output of a notebook's cell, as HTML without a script."""

    report_interval_s = 0.25

    def begin(self, total: int, done_before: int) -> None:
        """Show the bar; the display can update it in its place."""
        # A notebook has it, and it is asked for nowhere else.
        self._handle = sys.modules["IPython"].display.display(self, display_id=True)
        super().begin(total, done_before)

    def report(self) -> None:
        """Move the bar."""
        self._handle.update(self)

    def _repr_html_(self) -> str:
        counts = self.get_counts()
        ended = counts["done"] + counts["failed"]
        message = f"{counts['done']} of {counts['of']} runs"
        message += f", {counts['failed']} failed" if counts["failed"] else ""
        if counts["left_s"] is not None and ended < counts["of"]:
            message += f", {format_clock_time(counts['left_s'])} left"
        name = html.escape(escape_unprintable(self.name))
        return f'{name} <progress value="{ended}" max="{counts["of"]}"></progress> {message}'


def is_in_notebook() -> bool:
    """Whether a notebook's kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def choose_progress(name: str) -> Progress:
    """Progress for whoever calls from Python: a bar where someone looks, otherwise nothing."""
    if is_in_notebook():
        return NotebookProgressBar(name)
    return create_progress("bar" if sys.stderr.isatty() else "none", name)


def create_progress(kind: str | None, name: str, *, thread_count: int = 1) -> Progress:
    """Progress of a kind.

    kind: one of "bar", "plain", "json", "none" or None; None: a bar if standard error is a
        terminal, else lines.
    """
    if kind is None:
        kind = "bar" if sys.stderr.isatty() else "plain"
    if kind == "bar":
        return TerminalProgressBar(name, thread_count)
    return {"plain": PlainProgress, "json": JsonProgress, "none": Progress}[kind](name)


def format_clock_time(seconds: float) -> str:
    """Format a time as people read it: ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    rounded = round(seconds)
    if rounded < 100:
        return f"{rounded} s"
    if rounded < 6000:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"
