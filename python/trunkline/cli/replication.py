"""Options of commands that replicate: number of runs, precision and warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import convert_engine_errors
from trunkline.cli.option_groups import DecoratedFunction, combine_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Precision
    from trunkline.stats.control_variates import ControlledValues, OfferedMean
    from trunkline.stats.metric import Metric
    from trunkline.study.outcome.steady_state import WarmUp


# A larger number is a typing error.
MAX_RUNS_OPTION = 1_000_000
DEFAULT_MAX_RUNS = 1000


class PercentType(click.ParamType):  # type: ignore[type-arg]
    """A share in per cent, ``2%``; a number without the sign would be ambiguous."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the share."""
        from trunkline.scenario.units import parse_real

        if isinstance(value, float):
            return value
        text = str(value).strip()
        percent = parse_real(text.removesuffix("%"))
        if not text.endswith("%") or percent is None or not 0 < percent < 100:
            self.fail(f"{value!r} is no percentage above 0 and below 100, such as 2%.", param, ctx)
        return percent / 100


METRIC_HELP = "Metric, e.g. delay_p99_s, ports.wait_mean_s or goodput_bit_s@FLOW; repeatable."


def until_options(
    help_text: str, counted_thing: str
) -> Callable[[DecoratedFunction], DecoratedFunction]:
    """Add ``--until-ci`` with its help text, and ``--max-runs`` for the counted thing."""
    return combine_options(
        click.option("--until-ci", type=PercentType(), metavar="PERCENT", help=help_text),
        click.option(
            "--max-runs",
            type=click.IntRange(2, MAX_RUNS_OPTION),
            default=DEFAULT_MAX_RUNS,
            show_default=True,
            help=f"Maximum number of {counted_thing} with --until-ci.",
        ),
    )


KNOWN_SOURCES = (
    "a source whose mean count is known: Poisson arrivals, exponential gaps or on-off, of "
    "datagrams or of transfers"
)
interval_option = click.option(
    "--interval",
    type=click.Choice(["t", "controlled"]),
    default="t",
    show_default=True,
    help="Intervals by Student's t distribution, or by control variates: narrower where random "
    "sources offer more in some runs than in others.",
)
precision_options = combine_options(
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


def parse_metrics(metrics: tuple[str, ...]) -> list[Metric]:
    """Read the metrics of ``--metric``; without any, take the default ones.

    Raises click.UsageError: A metric does not exist.
    """
    from trunkline.stats.metric import DEFAULT_METRICS, parse_metric

    try:
        return [parse_metric(text) for text in metrics or DEFAULT_METRICS]
    except ValueError as error:
        raise click.UsageError(f"--metric: {error}.") from None


def replicate_until(
    run: Callable[[list[int]], list[Results]],
    seeds: range,
    metrics: list[Metric],
    target: float,
    offered_means: Mapping[str, OfferedMean] | None = None,
) -> tuple[list[Results], Precision]:
    """Replicate until the interval of every metric is narrow enough.

    target: Half width of the interval divided by the mean.
    offered_means: Offered loads of known mean by flow, as controls; None for plain intervals.
    """
    from trunkline.stats import until
    from trunkline.stats.control_variates import (
        ControlledValues,
        read_offered_deviations,
        select_controls,
    )
    from trunkline.stats.metric import collect_values, find_flow_of_row

    results: list[Results] = []

    def more(start: int, end: int) -> dict[str, list[float] | ControlledValues]:
        results.extend(run(list(seeds[start:end])))
        deviations = read_offered_deviations(results, offered_means or {})
        measures: dict[str, list[float] | ControlledValues] = {}
        for (metric, row), values in collect_values(results, metrics).items():
            # A flow without a delivered packet has no delay, so its metric has no value.
            known_values = [value for value in values if value is not None]
            if known_values and offered_means:
                flow = find_flow_of_row(metric, row)
                controls = select_controls(deviations, flow, len(results))
                is_known = [value is not None for value in values]
                measures[f"{metric} of {row}"] = ControlledValues(known_values, controls[is_known])
            elif known_values:
                measures[f"{metric} of {row}"] = known_values
        return measures

    try:
        precision = until(more, target, max_runs=len(seeds))
    except ValueError as error:
        if type(error).__module__.startswith("trunkline."):
            raise
        raise click.UsageError(f"--metric: {error}.") from None
    return results, precision


def format_precision(precision: Precision, target: float) -> str:
    """Describe the precision of the runs in one line."""
    if not precision.widest:
        return "NOT ENOUGH: no metric has a value in these runs"
    widest = f"the widest interval is that of {precision.widest}: "
    if precision.relative is None:
        widest = f"{precision.widest} has no interval"
    else:
        widest += f"± {100 * precision.relative:.2g} % of its mean"
    if precision.plain_runs is not None:
        widest += f"; plain replication would need about {precision.plain_runs} runs"
    if precision.reached:
        return f"{precision.runs} runs reach ± {100 * target:g} %; {widest}"
    return f"NOT ENOUGH RUNS: {precision.runs} do not reach ± {100 * target:g} %; {widest}"


class WarmUpType(click.ParamType):  # type: ignore[type-arg]
    """``auto`` or a time."""

    name = "auto|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the value."""
        from trunkline.scenario.units import UnitError, parse_time

        if value != "auto":
            try:
                parse_time(str(value))
            except UnitError as error:
                self.fail(f"{value!r} is neither 'auto' nor a time: {error}.", param, ctx)
        return str(value)


warm_up_option = click.option(
    "--warm-up",
    type=WarmUpType(),
    metavar="auto|TIME",
    help="Time at which counters start. auto: the end of the warm-up by MSER-5 from 5 pilot runs.",
)


def add_warm_up_override(
    overrides: tuple[str, ...], warm_up_option_value: str | None
) -> tuple[str, ...]:
    """Add the warm-up to the overrides (``PATH=VALUE``); 0 s for ``auto``, None changes nothing."""
    if warm_up_option_value is None:
        return overrides
    return (
        *overrides,
        f"run.warm_up={'0 s' if warm_up_option_value == 'auto' else warm_up_option_value}",
    )


def find_warm_up(
    scenario: Scenario, warm_up_option_value: str | None, seed: int, threads: int | None
) -> tuple[Scenario, WarmUp | None]:
    """Find the warm-up of a scenario with pilot runs and set it, for ``--warm-up auto``.

    warm_up_option_value: ``auto``; :func:`add_warm_up_override` has already set any other value.
    Returns: The scenario, and the result of the pilot runs if there were any.
    """
    if warm_up_option_value != "auto":
        return scenario, None
    from trunkline.network import compile
    from trunkline.scenario.units import format_time
    from trunkline.study.outcome.steady_state import PILOT_RUNS, find_warm_up

    last = min(seed + PILOT_RUNS, 2**64)
    with convert_engine_errors():
        pilot_result = find_warm_up(
            compile(scenario), range(last - PILOT_RUNS, last), threads=threads
        )
    return scenario.with_({"run.warm_up": format_time(pilot_result.ns)}), pilot_result


def format_warm_up(pilot_result: WarmUp) -> str:
    """Describe the warm-up of the pilot runs in one line."""
    cut_texts = ", ".join(f"{name} {ns / 1e9:g} s" for name, ns in pilot_result.cuts.items())
    line = (
        f"warm-up {pilot_result.ns / 1e9:g} s by MSER-5 from {pilot_result.runs} pilot "
        f"runs ({cut_texts})"
    )
    if pilot_result.found:
        return line
    return f"{line}; NOT SETTLED within half of the run: make it longer"
