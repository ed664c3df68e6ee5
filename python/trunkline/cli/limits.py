"""What a run may take: limits of time and memory, and a look ahead at what it will take."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trunkline.cli.common import Refused, echo_json, engine_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trunkline.engine.forecast import Forecast
    from trunkline.engine.sim import Compiled

F = TypeVar("F", bound="Callable[..., Any]")


class Size(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """Bytes written with a unit, ``4 GB``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        from trunkline.scenario.units import UnitError, parse_bytes

        if isinstance(value, int):
            return value
        try:
            return parse_bytes(str(value), lowest=1, highest=2**62)
        except UnitError as error:
            self.fail(f"{value!r} is no size: {error}.", param, ctx)


def limit_options(function: F) -> F:
    """Add ``--limit-time`` and ``--limit-memory``; they hold for all that the command runs."""

    @functools.wraps(function)
    def limited(
        *arguments: Any, limit_time: float | None, limit_memory: int | None, **named: Any
    ) -> Any:
        if limit_time is not None or limit_memory is not None:
            from trunkline.engine.sim import LIMITS, Limits
            from trunkline.scenario.resolved.replicas import MEMORY

            LIMITS.set(Limits(limit_time, limit_memory))
            if limit_memory is not None:
                MEMORY.set(limit_memory)
        return function(*arguments, **named)

    options = (
        click.option(
            "--limit-time",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Maximum time of one run; a longer one fails, the other runs of a study continue.",
        ),
        click.option(
            "--limit-memory",
            type=Size(),
            help="Maximum memory of the process, e.g. '4 GB'; a scenario that needs more is "
            "refused, and what has ended of a study is kept.",
        ),
    )
    for option in reversed(options):
        limited = option(limited)
    return limited  # type: ignore[return-value]


dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Estimate events, time and memory, then exit.",
)

TOLD_S = 60.0
"""Longer runs are announced before they begin [s of a core]."""


def look_ahead(
    networks: Sequence[Compiled | str],
    runs: int,
    *,
    dry_run: bool,
    as_json: bool,
    say: Callable[[Forecast], None],
    seed: int = 1,
) -> None:
    """Tell what large runs will take, and refuse those that are a slip of the pen.

    Whoever gives a limit of time has thought about it: nothing is refused then.

    Parameters
    ----------
    networks : sequence of Network or str
        Compiled networks, or their JSON, that stand for all that will be run.
    dry_run : bool
        Tell it however small they are, and end the command.
    say : callable
        Called with runs that take long.

    Raises
    ------
    Refused
        They would take a month of a core, or more memory than there may be.
    """
    from trunkline.engine.forecast import MOST_S, SMALL_HOPS, forecast, most_hops
    from trunkline.engine.sim import LIMITS
    from trunkline.scenario.resolved.replicas import MEMORY

    small = not dry_run and max(map(most_hops, networks)) * runs < SMALL_HOPS
    if small or (not dry_run and LIMITS.get().time_s is not None):
        return
    with engine_faults():
        written = [each if isinstance(each, str) else each.to_json() for each in networks]
        seen = forecast(written, runs, seed=seed)
    if dry_run:
        echo_json(seen.to_json()) if as_json else click.echo(seen)
        click.get_current_context().exit()
    hint = "look at duration, rates and what is recorded"
    if seen.core_s > MOST_S:
        raise Refused(f"{seen}: {hint}, or run it all the same with --limit-time SECONDS")
    if seen.memory > MEMORY.get():
        limit = MEMORY.get() / 1e9
        raise Refused(f"{seen}: {hint}; the limit is {limit:.3g} GB (--limit-memory)")
    if seen.core_s > TOLD_S:
        say(seen)
