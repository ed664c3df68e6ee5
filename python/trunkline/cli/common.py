"""Parts that several commands share: the scenario argument, its options, and JSON output."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.option_groups import combine_options, gather_options
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from trunkline.scenario import Scenario

SEED_TYPE = click.IntRange(0, 2**64 - 1)
EXAMPLE_SUFFIX = ".yaml"


override_options = combine_options(
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="PATH=VALUE",
        help="Set a parameter or any value, e.g. udp_rate='8 Mbit/s' or run.duration='20 s'; "
        "repeatable.",
    ),
    click.option("--strict", is_flag=True, help="Treat warnings as errors."),
)
"""Options that change the loaded scenario: ``overrides`` and ``strict``."""


@dataclass(frozen=True)
class ScenarioSource:
    """A scenario's file and the options that change it."""

    file: str
    overrides: tuple[str, ...]
    strict: bool

    def load(self) -> Scenario:
        """Load the scenario; see :func:`load_scenario`."""
        return load_scenario(self.file, self.overrides, self.strict)


scenario_options = gather_options(
    "source",
    ScenarioSource,
    click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True)),
    override_options,
)


def load_scenario(file: str, overrides: tuple[str, ...], strict: bool) -> Scenario:
    """Load the scenario that `scenario_options` describe; print warnings to standard error.

    file: Path; ``-`` is standard input.
    overrides: ``path=value`` each.
    Raises ScenarioError: The scenario is invalid.
    Raises click.UsageError: An override has no ``=``, a path is set twice, or an example was not
        copied yet.
    """
    from pathlib import Path

    values = parse_overrides(overrides)
    from trunkline.scenario import load

    source = read_standard_input() if file == "-" else Path(file)
    if file != "-" and not Path(file).exists():
        _suggest_example(Path(file))
    scenario = load(source, overrides=values, strict=strict)
    if scenario.warnings:
        click.echo(scenario.render_warnings(), err=True)
    return scenario


def list_example_files() -> dict[str, Traversable]:
    """List the example scenarios and the lessons by name, each sorted."""
    from importlib.resources import files

    folder = files("trunkline").joinpath("examples")
    # The lessons follow the others.
    return {
        file.name.removesuffix(EXAMPLE_SUFFIX): file
        for part in (folder, folder.joinpath("lessons"))
        for file in sorted(part.iterdir(), key=lambda each: each.name)
        if file.is_file() and file.name.endswith(EXAMPLE_SUFFIX)
    }


def _suggest_example(file: Path) -> None:
    """Suggest to copy the example if a missing file has its name."""
    if file.stem in list_example_files():
        raise click.UsageError(f"There is no {file}: trunkline examples copy {file.stem} makes it.")


def parse_overrides(
    overrides: tuple[str, ...], option: str = "--set", form: str = "PATH=VALUE"
) -> dict[str, str]:
    """Split the values of ``--set``, or of an option like it, into paths and values.

    Raises click.UsageError: A value has no ``=``, or a path is set twice.
    """
    values: dict[str, str] = {}
    for item in overrides:
        path, sign, value = item.partition("=")
        if not sign or not path.strip():
            raise click.UsageError(f"{option} takes {form}, not {item!r}.")
        if path.strip() in values:
            raise click.UsageError(f"{option} gives {path.strip()!r} twice.")
        values[path.strip()] = value.strip()
    return values


# The same as the limit of a scenario file.
MAX_INPUT_BYTES = 10_000_000


def read_standard_input() -> str:
    """Read the scenario on standard input.

    Returns: Its text with a line end, which distinguishes it from a path.
    Raises click.UsageError: The text is larger than a scenario may be, or not UTF-8.
    """
    import sys

    data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise click.UsageError(f"standard input is larger than {MAX_INPUT_BYTES} bytes.")
    try:
        return data.decode("utf-8-sig") + "\n"
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not UTF-8: {error.reason}.") from None


def read_text(file: str) -> str:
    """Read a file of text; ``-`` is standard input.

    Raises click.UsageError: The text is larger than a scenario may be, or not UTF-8.
    """
    from pathlib import Path

    if file == "-":
        return read_standard_input()
    path = Path(file)
    if path.stat().st_size > MAX_INPUT_BYTES:
        raise click.UsageError(f"{file} is larger than {MAX_INPUT_BYTES} bytes.")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8: {error.reason}.") from None


def refuse_existing_files(files: Iterable[str | Path | None], overwrite: bool) -> None:
    """Refuse to replace files, except with ``--overwrite``.

    Raises click.UsageError: A file exists.
    """
    import os

    for file in files:
        if file is not None and os.path.exists(file) and not overwrite:
            raise click.UsageError(f"{file} exists; --overwrite replaces it.")


def echo_json(value: Any, *, pretty: bool = False) -> None:
    """Print a value as JSON, in one line or indented for people (`pretty`).

    Raises ValueError: The value contains infinity or NaN.
    """
    import json

    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2 if pretty else None))


def echo_tables(render: Callable[..., str]) -> None:
    """Print tables in the width of the terminal.

    They have colour on a terminal or with FORCE_COLOR, and none with NO_COLOR.

    render: Takes ``width`` and ``colour``, returns the text of the tables.
    """
    import os
    import shutil
    import sys

    wants_colour = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
    colour = wants_colour and not os.environ.get("NO_COLOR")
    text = render(width=shutil.get_terminal_size((100, 24)).columns, colour=colour)
    click.echo(text, nl=False, color=colour)


def open_in_browser(page: Path) -> None:
    """Show a page in the browser; without a browser, print its address."""
    import webbrowser

    address = page.absolute().as_uri()
    if not webbrowser.open(address):
        click.echo(f"no browser was found; open {address}", err=True)


def is_stderr_terminal() -> bool:
    """Check whether standard error is a terminal."""
    import sys

    return sys.stderr.isatty()


@contextmanager
def show_progress(task: str, *, plain: bool = False) -> Iterator[Callable[[float], None]]:
    """Show on a terminal how much of a task is done, in per cent.

    plain: Print a line for every 10 % if standard error is no terminal, as in a log.
    Yields: Takes the share, 0 to 1; with 1, and at the end, the line is removed.
    """
    on_terminal = is_stderr_terminal()
    last = -1

    def show(share: float) -> None:
        nonlocal last
        step = int(share * (100 if on_terminal else 10))
        if step == last or not (on_terminal or plain):
            return
        last = step
        text = f"{task}: {share:.0%}"
        if not on_terminal:
            click.echo(text, err=True)
        else:
            click.echo(f"\r{' ' * len(text)}\r" if share >= 1 else f"\r{text}", err=True, nl=False)

    try:
        yield show
    finally:
        if on_terminal:
            show(1)


class NetworkRefused(click.ClickException):
    """The engine refuses a network."""

    exit_code = Status.USAGE


class RunStopped(click.ClickException):
    """The engine stopped a run, such as an endless loop at one instant."""

    exit_code = Status.FAILED


@contextmanager
def convert_engine_errors() -> Iterator[None]:
    """Convert errors of the engine to an exit status; errors of trunkline's own classes pass.

    Raises NetworkRefused, RunStopped.
    """
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if type(error).__module__.startswith("trunkline."):
            raise
        refused = isinstance(error, ValueError)
        raise (NetworkRefused if refused else RunStopped)(str(error)) from error
