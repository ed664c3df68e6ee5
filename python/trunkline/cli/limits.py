"""Limits of time and memory for runs, and a forecast of both."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import NetworkRefused, convert_engine_errors, echo_json
from trunkline.cli.option_groups import DecoratedFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trunkline.engine.forecast import Forecast
    from trunkline.engine.packet_engine import CompiledNetwork


class SizeType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """A number of bytes with a unit, ``4 GB``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the size."""
        from trunkline.scenario.units import UnitError, parse_bytes

        if isinstance(value, int):
            return value
        try:
            return parse_bytes(str(value), lowest=1, highest=2**62)
        except UnitError as error:
            self.fail(f"{value!r} is no size: {error}.", param, ctx)


def limit_options(function: DecoratedFunction) -> DecoratedFunction:
    """Add ``--limit-time`` and ``--limit-memory``, which apply to all runs of the command."""

    @functools.wraps(function)
    def limited(
        *arguments: Any, limit_time: float | None, limit_memory: int | None, **options: Any
    ) -> Any:
        if limit_time is not None or limit_memory is not None:
            from trunkline.engine.packet_engine import RUN_LIMITS, RunLimits
            from trunkline.scenario.resolved.replicas import MEMORY_LIMIT

            RUN_LIMITS.set(RunLimits(limit_time, limit_memory))
            if limit_memory is not None:
                MEMORY_LIMIT.set(limit_memory)
        return function(*arguments, **options)

    options = (
        click.option(
            "--limit-time",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Maximum time of one run. A longer run fails; other runs of a study continue.",
        ),
        click.option(
            "--limit-memory",
            type=SizeType(),
            help="Maximum memory of the process, e.g. '4 GB'. A scenario that needs more is "
            "refused. A study stores its finished runs first.",
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

MIN_ANNOUNCED_CORE_S = 60.0
"""Forecast time from which runs are announced before they begin [s of a core]."""


def check_forecast(
    networks: Sequence[CompiledNetwork | str],
    runs: int,
    *,
    dry_run: bool,
    as_json: bool,
    announce: Callable[[Forecast], None],
    seed: int = 1,
) -> None:
    """Announce the forecast of long runs, and refuse runs that are probably a typing error.

    With ``--limit-time`` nothing is refused.

    networks: Compiled networks, or their JSON, as samples of all networks that will run.
    dry_run: Whether to print the forecast, also of small runs, and end the command.
    announce: Called with the forecast of long runs.
    Raises NetworkRefused: The runs would take a month of a core, or more memory than the limit.
    """
    from trunkline.engine.forecast import (
        MAX_PLAUSIBLE_CORE_S,
        MAX_UNOBSERVED_HOPS,
        estimate_packet_hops,
        forecast_runs,
    )
    from trunkline.engine.packet_engine import RUN_LIMITS
    from trunkline.scenario.resolved.replicas import MEMORY_LIMIT

    is_small = not dry_run and max(map(estimate_packet_hops, networks)) * runs < MAX_UNOBSERVED_HOPS
    if is_small or (not dry_run and RUN_LIMITS.get().time_s is not None):
        return
    with convert_engine_errors():
        network_jsons = [
            network if isinstance(network, str) else network.to_json() for network in networks
        ]
        estimate = forecast_runs(network_jsons, runs, seed=seed)
    if dry_run:
        echo_json(estimate.to_json()) if as_json else click.echo(estimate)
        click.get_current_context().exit()
    hint = "check the duration, the rates and the recorded series"
    if estimate.core_s > MAX_PLAUSIBLE_CORE_S:
        raise NetworkRefused(f"{estimate}: {hint}, or run it anyway with --limit-time SECONDS")
    if estimate.memory > MEMORY_LIMIT.get():
        limit = MEMORY_LIMIT.get() / 1e9
        raise NetworkRefused(f"{estimate}: {hint}; the limit is {limit:.3g} GB (--limit-memory)")
    if estimate.core_s > MIN_ANNOUNCED_CORE_S:
        announce(estimate)
