"""Every bound of every service level agreement, in terms of the results."""

from collections.abc import Iterator
from typing import Literal

from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Resolved
from trunkline.scenario.sla import AtLeast, AtMost, Bound, Sla, row_of_dscp


def slas(scenario: Resolved, problems: Problems) -> None:
    """Writes out the bounds, in the order of the file."""
    scenario.bounds = [
        each for name, sla in scenario.slas.items() for each in _bounds(scenario, name, sla)
    ]


def _bounds(scenario: Resolved, name: str, sla: Sla) -> Iterator[Bound]:
    table: Literal["flows", "aggregates"] = "flows"
    rows: tuple[str, ...]
    if sla.dscp is not None:
        table, rows = "aggregates", (row_of_dscp(sla.dscp),)
    else:
        rows = _flows(scenario, sla.flow or ())
    for measure in AtMost.model_fields:
        limit = getattr(sla.at_most, measure)
        if limit is None:
            continue
        kind, _, which = measure.partition("_")
        if measure == "stall":
            yield Bound(name, "videos", rows, measure, "stall_ratio", "1", "most", limit)
        elif measure == "start_up":
            seconds = limit / 1e9
            yield Bound(name, "videos", rows, measure, "start_up_s", "s", "most", seconds)
        elif measure == "echo_loss":
            yield Bound(name, "echoes", rows, measure, "loss_ratio", "1", "most", limit)
        elif kind == "rtt":
            seconds = limit / 1e9
            yield Bound(name, "echoes", rows, measure, f"{measure}_s", "s", "most", seconds)
        elif kind in ("fct", "page"):
            sizes: Literal["all", "pages"] = "all" if kind == "fct" else "pages"
            seconds, column = limit / 1e9, f"fct_{which}_s"
            yield Bound(name, "completions", rows, measure, column, "s", "most", seconds, sizes)
        elif measure == "loss":
            yield Bound(name, table, rows, measure, "loss_ratio", "1", "most", limit)
        else:
            # Seconds by the same division as in the tables, so that equal times are equal.
            yield Bound(name, table, rows, measure, f"{measure}_s", "s", "most", limit / 1e9)
    for measure in AtLeast.model_fields:
        limit = getattr(sla.at_least, measure)
        if limit is not None and measure == "mos":
            yield Bound(name, "calls", rows, measure, measure, "MOS", "least", limit)
        elif limit is not None:
            column = f"{measure}_bit_s"
            yield Bound(name, table, rows, measure, column, "bit/s", "least", float(limit))


def _flows(scenario: Resolved, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Flows by their own names, replicas one by one; ``all`` means every flow."""
    return tuple(
        own
        for own, declared in scenario.names
        if "all" in wanted or own in wanted or declared in wanted
    )
