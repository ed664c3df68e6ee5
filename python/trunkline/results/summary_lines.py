"""Summary of runs: losses, waits, full links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, TypeVar

from trunkline.results.number_format import format_number, format_percent, format_quantity

if TYPE_CHECKING:
    from trunkline.results.results import Results

Key = TypeVar("Key")

FULL_UTILISATION = 0.95  # Utilisation from which a link counts as full.
MAX_LINKS_NAMED = 3


def build_summary_lines(runs: Sequence[Results]) -> list[str]:
    """Say the three things that matter first.

    runs: Runs of one scenario; of several the means are given.
    Returns: Three lines, which begin with ``Lost:``, ``Waits:`` and ``Full:``.
    """
    return [
        f"Lost:  {_describe_losses(runs)}",
        f"Waits: {_describe_waits(runs)}",
        f"Full:  {_describe_full_links(runs)}",
    ]


def _describe_losses(runs: Sequence[Results]) -> str:
    lost_by_place: dict[tuple[str, str, str], float] = defaultdict(float)
    for run in runs:
        for row in run.drops.rows("flow", "link", "node", "cause", "packets"):
            place = row["link"] if row["link"] is not None else row["node"]
            key = (str(row["flow"]), str(place), str(row["cause"]))
            lost_by_place[key] += float(row["packets"] or 0) / len(runs)
    lost = sum(lost_by_place.values())
    sent = sum(float(run.summary["packets_sent"] or 0) for run in runs) / len(runs)
    if not lost:
        return _describe_port_losses(runs)
    (flow, place, cause), largest_loss = max(lost_by_place.items(), key=lambda item: item[1])
    total_text = (
        f"{format_number(lost)} of {format_number(sent)} packets ("
        f"{format_percent(lost / sent if sent else None)})"
    )
    if len(lost_by_place) == 1:
        return f"{total_text}, all of {flow} at {place} ({cause})"
    return f"{total_text}, {format_number(largest_loss)} of them of {flow} at {place} ({cause})"


def _describe_port_losses(runs: Sequence[Results]) -> str:
    """Describe the losses of an engine that knows no single packets, and so no causes."""
    lost: dict[str, float] = defaultdict(float)
    for run in runs:
        for row in run.ports.rows("link", "packets_dropped"):
            lost[str(row["link"])] += float(row["packets_dropped"] or 0) / len(runs)
    total = sum(lost.values())
    unknown = _describe_unknown_links(runs, "packets_dropped")
    if not total:
        return unknown or "nothing"
    worst = max(lost, key=lambda link: lost[link])
    described = f"{format_number(total)} packets, {format_number(lost[worst])} of them at {worst}"
    return f"{described}; {unknown}" if unknown else described


def _describe_unknown_links(runs: Sequence[Results], column: str) -> str:
    """Describe where packets leave and a column is not known; empty: nowhere."""
    links: dict[str, bool] = {}
    for run in runs:
        for row in run.ports.rows("link", "packets_sent", column):
            is_unknown = row[column] is None and row["packets_sent"] != 0
            links[str(row["link"])] = links.get(str(row["link"]), False) or is_unknown
    unknown = [link for link, is_unknown in links.items() if is_unknown]
    if not unknown or len(unknown) == len(links):
        return "not known" if unknown else ""
    hidden_count = len(unknown) - MAX_LINKS_NAMED
    named = ", ".join(unknown[:MAX_LINKS_NAMED])
    return f"not known at {named}" + (f" and {hidden_count} more" if hidden_count > 0 else "")


def _describe_waits(runs: Sequence[Results]) -> str:
    waits: dict[tuple[str, str], list[float]] = defaultdict(list)
    max_queue_by_port: dict[tuple[str, str], float] = defaultdict(float)
    for run in runs:
        for row in run.ports.rows("link", "class", "wait_mean_s", "queue_max_packets"):
            key = (str(row["link"]), str(row["class"]))
            if row["wait_mean_s"] is not None:
                waits[key].append(float(row["wait_mean_s"]))
            max_queue_by_port[key] = max(
                max_queue_by_port[key], float(row["queue_max_packets"] or 0)
            )
    mean_wait_by_port = _gather_means(waits)
    worst = max(mean_wait_by_port, key=lambda key: mean_wait_by_port[key], default=None)
    unknown = _describe_unknown_links(runs, "wait_mean_s")
    if worst is None or not mean_wait_by_port[worst]:
        return unknown or "nobody"
    link, class_name = worst
    # A class is named where the port has several.
    place = (
        link
        if sum(each == link for each, _ in max_queue_by_port) == 1
        else f"{link}, class {class_name}"
    )
    delays: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for row in run.flows.rows("flow", "delay_p99_s"):
            if row["delay_p99_s"] is not None:
                delays[str(row["flow"])].append(float(row["delay_p99_s"]))
    delay_by_flow = _gather_means(delays)
    flow = max(delay_by_flow, key=lambda name: delay_by_flow[name], default="")
    sentence = f"{format_quantity(mean_wait_by_port[worst], 's')} on average at {place}"
    if max_queue_by_port[worst]:
        sentence += f", where up to {format_number(max_queue_by_port[worst])} packets queue"
    if flow:
        sentence += (
            f"; the slowest flow is {flow}, 99th percentile "
            f"{format_quantity(delay_by_flow[flow], 's')}"
        )
    return f"{sentence}; {unknown}" if unknown else sentence


def _gather_means(values: Mapping[Key, Sequence[float]]) -> dict[Key, float]:
    """Compute the mean of each over the runs that have a value."""
    return {key: fsum(numbers) / len(numbers) for key, numbers in values.items()}


def _describe_full_links(runs: Sequence[Results]) -> str:
    utilisation_by_link: dict[str, float] = defaultdict(float)
    for run in runs:
        of_link: dict[str, float] = {}
        for row in run.ports.rows("link", "utilisation"):
            # The classes of a port share the link, each with its part of the utilisation.
            name = str(row["link"])
            of_link[name] = of_link.get(name, 0.0) + float(row["utilisation"] or 0)
        for name, value in of_link.items():
            utilisation_by_link[name] += value / len(runs)
    ranked = sorted(utilisation_by_link, key=lambda name: (-utilisation_by_link[name], name))
    full = [name for name in ranked if utilisation_by_link[name] >= FULL_UTILISATION]
    if full:
        named = ", ".join(
            f"{name} {format_percent(utilisation_by_link[name])}" for name in full[:MAX_LINKS_NAMED]
        )
        hidden_count = len(full) - MAX_LINKS_NAMED
        return named + (f" and {hidden_count} more links" if hidden_count > 0 else "") + " used"
    unknown = _describe_unknown_links(runs, "utilisation")
    if unknown and not any(utilisation_by_link.values()):
        return unknown
    if not ranked or not utilisation_by_link[ranked[0]]:
        offered = any(any(run.ports["packets_offered"]) for run in runs)
        return "not known, no packet has left a port" if offered else "no link, nothing was sent"
    busiest = f"{ranked[0]} is the busiest, {format_percent(utilisation_by_link[ranked[0]])} used"
    if unknown:
        return f"{unknown}; of the others {busiest}"
    # A port may be shaped below its link, and a burst fills a queue of an idle one.
    queues = _list_overflowing_ports(runs)
    if not queues:
        return f"no link; {busiest}"
    hidden_count = len(queues) - MAX_LINKS_NAMED
    named = ", ".join(queues[:MAX_LINKS_NAMED]) + (
        f" and {hidden_count} more" if hidden_count > 0 else ""
    )
    return f"no link ({busiest}), but queues at times: {named}"


def _list_overflowing_ports(runs: Sequence[Results]) -> list[str]:
    """List the ports whose queue was full when a packet came, those with the most drops first."""
    lost: dict[str, float] = defaultdict(float)
    for run in runs:
        for row in run.drops.rows("link", "cause", "packets"):
            if row["cause"] == "queue_full" and row["link"] is not None:
                lost[str(row["link"])] += float(row["packets"] or 0)
    return sorted(lost, key=lambda link: (-lost[link], link))
