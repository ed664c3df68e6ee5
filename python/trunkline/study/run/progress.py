"""How far a study is: a bar on a terminal or in a notebook, lines in a log, JSON for programs."""

from __future__ import annotations

import html
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from trunkline.scenario.diagnostic import printable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from trunkline.engine.forecast import Forecast
    from trunkline.study.run.journal import Record

KINDS = ("bar", "plain", "json", "none")


class Progress:
    """Counts, and says nothing; the other kinds say what this one counts.

    Parameters
    ----------
    out : text stream, optional
        Where reports go; standard error if left out.
    clock : callable
        Seconds of a clock that never goes back.

    Attributes
    ----------
    listener : callable or None
        Is given the records of all ended runs, by number, each time that more are on the disk.
    """

    every_s = 10.0
    """Time between two reports [s]."""

    def __init__(
        self,
        name: str,
        *,
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self._clock = name, clock
        self._out = out or sys.stderr
        self.total = self.before = self.done = self.failures = self.events = 0
        self.listener: Callable[[Mapping[int, Record]], None] | None = None
        self._began = self._said = clock()

    def foresee(self, seen: Forecast) -> None:
        """Runs will take so much."""

    def begin(self, total: int, before: int) -> None:
        """So many runs in all, so many done by an earlier process."""
        self.total, self.before = total, before
        self._began = self._said = self._clock()
        self.report()

    def ended(self, events: int) -> None:
        """A run has ended after so many events."""
        self.done += 1
        self.events += events

    def failed(self, text: str) -> None:
        """A run has failed."""
        self.failures += 1
        self.say(text)

    def stored(self, records: Mapping[int, Record]) -> None:
        """More runs are on the disk: these, by number. The listener hears of them."""
        if self.listener is not None:
            self.listener(records)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Make room on the terminal for what others print there."""
        yield

    def tick(self) -> None:
        """Report if it is time to."""
        now = self._clock()
        if now - self._said >= self.every_s:
            self._said = now
            self.report()

    def end(self) -> None:
        """The last report."""
        self.report()

    def numbers(self) -> dict[str, Any]:
        """Counts, events per second, and the time left at this pace [s]; None at the start."""
        spent = self._clock() - self._began
        ended = self.done + self.failures
        left = self.total - self.before - ended
        return {
            "study": self.name,
            "done": self.before + self.done,
            "failed": self.failures,
            "of": self.total,
            "events_per_s": round(self.events / spent) if spent > 0 else 0,
            "left_s": round(spent / ended * left, 1) if ended else None,
        }

    def report(self) -> None:
        """Say how far the study is."""

    def say(self, text: str) -> None:
        """Show what happened."""
        print(printable(text), file=self._out, flush=True)

    def warn(self, text: str) -> None:
        """Say before the start what is not as it should be."""
        print(f"warning: {printable(text)}", file=self._out, flush=True)


class Plain(Progress):
    """A line now and then."""

    def foresee(self, seen: Forecast) -> None:
        """Say it."""
        self.say(f"foreseen: {seen}")

    def report(self) -> None:
        """Print a line."""
        now = self.numbers()
        left = "" if now["left_s"] is None else f", {clock_time(now['left_s'])} left"
        rate = f", {now['events_per_s'] / 1e6:.1f} M events/s" if self.done else ""
        failed = f", {now['failed']} failed" if now["failed"] else ""
        self.say(f"{now['study']}: {now['done']} of {now['of']} done{failed}{rate}{left}")


class Json(Progress):
    """An object a line."""

    every_s = 0.5

    def foresee(self, seen: Forecast) -> None:
        """Print an object."""
        self.say(json.dumps({"study": self.name, "foreseen": seen.to_json()}))

    def report(self) -> None:
        """Print an object."""
        self.say(json.dumps(self.numbers()))

    def failed(self, text: str) -> None:
        """Print why as an object."""
        self.failures += 1
        self.say(json.dumps({"study": self.name, "failure": text}))

    def warn(self, text: str) -> None:
        """Print it as an object."""
        self.say(json.dumps({"study": self.name, "warning": text}))


class Bar(Plain):
    """A bar that moves."""

    every_s = 0.1

    def __init__(self, name: str, running: int, **how: Any) -> None:
        super().__init__(name, **how)
        self._running = running
        self._bar: RichProgress | None = None

    def begin(self, total: int, before: int) -> None:
        """Show the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress as RichProgress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
        console = Console(file=self._out)
        self._bar = RichProgress(*columns, console=console, transient=True, auto_refresh=False)
        self._task = self._bar.add_task(self.name, total=total, said="")
        self._bar.start()
        super().begin(total, before)

    def report(self) -> None:
        """Move the bar."""
        assert self._bar is not None
        now = self.numbers()
        running = min(self._running, now["of"] - now["done"] - now["failed"])
        said = f"{now['done']} of {now['of']}, {running} running, {now['failed']} failed"
        said += f", {now['events_per_s'] / 1e6:.1f} M events/s"
        if now["left_s"] is not None:
            said += f", {clock_time(now['left_s'])} left"
        self._bar.update(self._task, completed=now["done"], said=said)
        self._bar.refresh()

    def say(self, text: str) -> None:
        """Print above the bar, or where it will be."""
        if self._bar is None:
            super().say(text)
        else:
            self._bar.console.print(printable(text), markup=False, highlight=False)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away for a while."""
        assert self._bar is not None
        self._bar.stop()
        yield
        self._bar.start()

    def end(self) -> None:
        """Take the bar away."""
        assert self._bar is not None
        self._bar.stop()


class Cell(Plain):
    """A bar in the output of a notebook's cell, as HTML without a script."""

    every_s = 0.25

    def begin(self, total: int, before: int) -> None:
        """Show the bar; what it is shown by can show it anew in its place."""
        # A notebook has it, and it is asked for nowhere else.
        self._handle = sys.modules["IPython"].display.display(self, display_id=True)
        super().begin(total, before)

    def report(self) -> None:
        """Move the bar."""
        self._handle.update(self)

    def _repr_html_(self) -> str:
        now = self.numbers()
        ended = now["done"] + now["failed"]
        said = f"{now['done']} of {now['of']} runs"
        said += f", {now['failed']} failed" if now["failed"] else ""
        if now["left_s"] is not None and ended < now["of"]:
            said += f", {clock_time(now['left_s'])} left"
        name = html.escape(printable(self.name))
        return f'{name} <progress value="{ended}" max="{now["of"]}"></progress> {said}'


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def seen(name: str) -> Progress:
    """Progress for whoever calls from Python: a bar where someone looks, otherwise nothing."""
    if in_notebook():
        return Cell(name)
    return progress("bar" if sys.stderr.isatty() else "none", name)


def progress(kind: str | None, name: str, *, running: int = 1) -> Progress:
    """Progress of a kind.

    Parameters
    ----------
    kind : {"bar", "plain", "json", "none"} or None
        None: a bar if standard error is a terminal, else lines.
    """
    if kind is None:
        kind = "bar" if sys.stderr.isatty() else "plain"
    if kind == "bar":
        return Bar(name, running)
    return {"plain": Plain, "json": Json, "none": Progress}[kind](name)


def clock_time(seconds: float) -> str:
    """A time as people read it: ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
