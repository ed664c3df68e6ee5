"""Options that limit what a run may take: time of the clock, memory of the process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


class Size(click.ParamType[int]):
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
    """Add ``--limit-time`` and ``--limit-memory``; they hold for all that the command runs.

    Parameters
    ----------
    function : callable
        Command, which is not given them.

    Returns
    -------
    callable
    """

    @functools.wraps(function)
    def limited(
        *arguments: Any, limit_time: float | None, limit_memory: int | None, **named: Any
    ) -> Any:
        if limit_time is not None or limit_memory is not None:
            from trunkline.engine.sim import LIMITS, Limits
            from trunkline.scenario.check_flows import MEMORY

            LIMITS.set(Limits(limit_time, limit_memory))
            if limit_memory is not None:
                MEMORY.set(limit_memory)
        return function(*arguments, **named)

    options = (
        click.option(
            "--limit-time",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Longest time of one run, after which it fails.",
        ),
        click.option(
            "--limit-memory",
            type=Size(),
            help="Most memory of the process, e.g. '4 GB'; a scenario that needs more is refused.",
        ),
    )
    for option in reversed(options):
        limited = option(limited)
    return limited  # type: ignore[return-value]
