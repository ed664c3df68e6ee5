"""Options of commands that replicate: how many runs, of what precision, after what warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from trunkline.cli.common import engine_faults
from trunkline.cli.options import together

if TYPE_CHECKING:
    from collections.abc import Callable

    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Precision
    from trunkline.stats.metric import Metric
    from trunkline.study.outcome.pilot import WarmUp

F = TypeVar("F", bound="Callable[..., Any]")

# 256 runs of a small scenario take seconds, and nobody means more than a million.
MOST_RUNS = 1_000_000
MAX_RUNS = 1000


class Percent(click.ParamType):  # type: ignore[type-arg]
    """A share written in per cent, ``2%``: a bare number could be either."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read it."""
        from trunkline.scenario.units import parse_real

        if isinstance(value, float):
            return value
        text = str(value).strip()
        percent = parse_real(text.removesuffix("%"))
        if not text.endswith("%") or percent is None or not 0 < percent < 100:
            self.fail(f"{value!r} is no percentage above 0 and below 100, such as 2%.", param, ctx)
        return percent / 100


METRIC_HELP = (
    "What to look at, e.g. delay_p99_s, ports.wait_mean_s or goodput_bit_s@FLOW; repeatable."
)


def until_options(said: str, counted: str) -> Callable[[F], F]:
    """Add ``--until-ci``, with what it says, and ``--max-runs``, of what is counted."""
    return together(
        click.option("--until-ci", type=Percent(), metavar="PERCENT", help=said),
        click.option(
            "--max-runs",
            type=click.IntRange(2, MOST_RUNS),
            default=MAX_RUNS,
            show_default=True,
            help=f"Maximum number of {counted} with --until-ci.",
        ),
    )


precision_options = together(
    until_options(
        "Replicate until half of the 95 % interval of every metric is within this share of its "
        "mean, e.g. 2%.",
        "runs",
    ),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="[TABLE.]COLUMN[@ROW]",
        help=f"{METRIC_HELP} Default: goodput and mean delay of every flow.",
    ),
)


def chosen(metrics: tuple[str, ...]) -> list[Metric]:
    """The metrics that were asked for, or the usual ones.

    Raises
    ------
    click.UsageError
        There is no such metric.
    """
    from trunkline.stats.metric import DEFAULT, parse

    try:
        return [parse(text) for text in metrics or DEFAULT]
    except ValueError as error:
        raise click.UsageError(f"--metric: {error}.") from None


def replicate_until(
    run: Callable[[list[int]], list[Results]],
    seeds: range,
    metrics: list[Metric],
    target: float,
) -> tuple[list[Results], Precision]:
    """Replicate until every metric is as sure as wanted.

    Parameters
    ----------
    target : float
        Half width over the mean.
    """
    from trunkline.stats import until
    from trunkline.stats.metric import values

    results: list[Results] = []

    def more(begin: int, end: int) -> dict[str, list[float]]:
        results.extend(run(list(seeds[begin:end])))
        found = values(results, metrics)
        known = {key: [v for v in its if v is not None] for key, its in found.items()}
        # A flow that never had a packet delivered has no delay: nothing to be sure of.
        return {" of ".join(key): its for key, its in known.items() if its}

    try:
        reached = until(more, target, most=len(seeds))
    except ValueError as error:
        if type(error).__module__.startswith("trunkline."):
            raise
        raise click.UsageError(f"--metric: {error}.") from None
    return results, reached


def say_precision(reached: Precision, target: float) -> str:
    """One line on how sure the runs are."""
    if not reached.widest:
        return "NOT ENOUGH: no metric has a value in these runs"
    widest = f"the widest interval is that of {reached.widest}: "
    if reached.relative is None:
        widest = f"{reached.widest} has no interval"
    else:
        widest += f"± {100 * reached.relative:.2g} % of its mean"
    if reached.reached:
        return f"{reached.runs} runs reach ± {100 * target:g} %; {widest}"
    return f"NOT ENOUGH RUNS: {reached.runs} do not reach ± {100 * target:g} %; {widest}"


class WarmUpOption(click.ParamType):  # type: ignore[type-arg]
    """``auto`` or a time."""

    name = "auto|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that it is one of them."""
        from trunkline.scenario.units import UnitError, parse_time

        if value != "auto":
            try:
                parse_time(str(value))
            except UnitError as error:
                self.fail(f"{value!r} is neither 'auto' nor a time: {error}.", param, ctx)
        return str(value)


warm_up_option = click.option(
    "--warm-up",
    type=WarmUpOption(),
    metavar="auto|TIME",
    help="Counters start here; auto finds the end of the warm-up by MSER-5 from 5 pilot runs.",
)


def warm_up_overrides(given: tuple[str, ...], wanted: str | None) -> tuple[str, ...]:
    """Add the warm-up to the values that the user sets; none yet if it is to be found.

    Parameters
    ----------
    given : tuple of str
        ``PATH=VALUE`` each.
    wanted : str or None
        ``auto``, a time, or None to leave the scenario's own.
    """
    if wanted is None:
        return given
    return (*given, f"run.warm_up={'0 s' if wanted == 'auto' else wanted}")


def with_warm_up(
    scenario: Scenario, wanted: str | None, seed: int, threads: int | None
) -> tuple[Scenario, WarmUp | None]:
    """Find the warm-up of a scenario and set it, if that is wanted.

    Parameters
    ----------
    wanted : str or None
        ``auto``; anything else is set already, by :func:`warm_up_overrides`.

    Returns
    -------
    Scenario, WarmUp or None
        What the pilot runs showed, if there were any.
    """
    if wanted != "auto":
        return scenario, None
    from trunkline.network import compile
    from trunkline.scenario.units import format_time
    from trunkline.study.outcome.pilot import PILOT_RUNS, warm_up

    last = min(seed + PILOT_RUNS, 2**64)
    with engine_faults():
        found = warm_up(compile(scenario), range(last - PILOT_RUNS, last), threads=threads)
    return scenario.with_({"run.warm_up": format_time(found.ns)}), found


def say_warm_up(found: WarmUp) -> str:
    """One line on the warm-up that the pilot runs showed."""
    shown = ", ".join(f"{name} {ns / 1e9:g} s" for name, ns in found.cuts.items())
    line = f"warm-up {found.ns / 1e9:g} s by MSER-5 from {found.runs} pilot runs ({shown})"
    if found.found:
        return line
    return f"{line}; NOT SETTLED within half of the run: make it longer"
