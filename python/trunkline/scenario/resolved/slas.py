"""Every bound of every service level agreement, in terms of the results."""

from collections.abc import Iterator
from typing import Literal

from trunkline.scenario.fields import ALL
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.sla import LowerBounds, Sla, SlaBound, UpperBounds, get_row_of_dscp


def resolve_slas(scenario: ResolvedScenario, problems: Problems) -> None:
    """Write out the bounds, in the order of the file."""
    scenario.sla_bounds = [
        each for name, sla in scenario.slas.items() for each in _list_bounds(scenario, name, sla)
    ]


def _list_bounds(scenario: ResolvedScenario, name: str, sla: Sla) -> Iterator[SlaBound]:
    table: Literal["flows", "aggregates"] = "flows"
    rows: tuple[str, ...]
    if sla.dscp is not None:
        table, rows = "aggregates", (get_row_of_dscp(sla.dscp),)
    else:
        rows = _expand_flows(scenario, sla.flow or ())
    for measure in UpperBounds.model_fields:
        limit = getattr(sla.at_most, measure)
        if limit is None:
            continue
        kind, _, statistic = measure.partition("_")
        if measure == "stall":
            yield SlaBound(name, "videos", rows, measure, "stall_ratio", "1", "most", limit)
        elif measure == "start_up":
            seconds = limit / 1e9
            yield SlaBound(name, "videos", rows, measure, "start_up_s", "s", "most", seconds)
        elif measure == "echo_loss":
            yield SlaBound(name, "echoes", rows, measure, "loss_ratio", "1", "most", limit)
        elif kind == "rtt":
            seconds = limit / 1e9
            yield SlaBound(name, "echoes", rows, measure, f"{measure}_s", "s", "most", seconds)
        elif kind in ("fct", "page"):
            sizes: Literal["all", "pages"] = "all" if kind == "fct" else "pages"
            seconds, column = limit / 1e9, f"fct_{statistic}_s"
            yield SlaBound(name, "completions", rows, measure, column, "s", "most", seconds, sizes)
        elif measure == "loss":
            yield SlaBound(name, table, rows, measure, "loss_ratio", "1", "most", limit)
        else:
            # Seconds by the same division as in the tables, so that equal times are equal.
            yield SlaBound(name, table, rows, measure, f"{measure}_s", "s", "most", limit / 1e9)
    for measure in LowerBounds.model_fields:
        limit = getattr(sla.at_least, measure)
        if limit is not None and measure == "mos":
            yield SlaBound(name, "calls", rows, measure, measure, "MOS", "least", limit)
        elif limit is not None:
            column = f"{measure}_bit_s"
            yield SlaBound(name, table, rows, measure, column, "bit/s", "least", float(limit))


def _expand_flows(scenario: ResolvedScenario, names: tuple[str, ...]) -> tuple[str, ...]:
    """Expand the flows by their own names, replicas one by one; ``all`` means every flow."""
    return tuple(
        flow_name
        for flow_name, declared in scenario.flow_names
        if ALL in names or flow_name in names or declared in names
    )
