"""What to read first of runs: what was lost, who waits, what is full."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.results.numbers import number, percent, quantity

if TYPE_CHECKING:
    from trunkline.results.results import Results

FULL = 0.95
"""Utilisation from which a link counts as full."""
MOST_NAMED = 3


def headline(runs: Sequence[Results]) -> list[str]:
    """Say the three things that matter first.

    Parameters
    ----------
    runs : sequence of Results
        Runs of one scenario; of several the means are given.

    Returns
    -------
    list of str
        Three lines, which begin with ``Lost:``, ``Waits:`` and ``Full:``.
    """
    return [f"Lost:  {_lost(runs)}", f"Waits: {_waits(runs)}", f"Full:  {_full(runs)}"]


def _lost(runs: Sequence[Results]) -> str:
    share: dict[tuple[str, str, str], float] = defaultdict(float)
    for run in runs:
        for row in run.drops.rows("flow", "link", "node", "cause", "packets"):
            place = row["link"] if row["link"] is not None else row["node"]
            key = (str(row["flow"]), str(place), str(row["cause"]))
            share[key] += float(row["packets"] or 0) / len(runs)
    lost = sum(share.values())
    sent = sum(float(run.summary["packets_sent"] or 0) for run in runs) / len(runs)
    if not lost:
        return _lost_at_ports(runs)
    (flow, place, cause), most = max(share.items(), key=lambda item: item[1])
    whole = f"{number(lost)} of {number(sent)} packets ({percent(lost / sent if sent else None)})"
    if len(share) == 1:
        return f"{whole}, all of {flow} at {place} ({cause})"
    return f"{whole}, {number(most)} of them of {flow} at {place} ({cause})"


def _lost_at_ports(runs: Sequence[Results]) -> str:
    """Of an engine that knows no single packets, and so no causes."""
    lost: dict[str, float] = defaultdict(float)
    for run in runs:
        for row in run.ports.rows("link", "packets_dropped"):
            lost[str(row["link"])] += float(row["packets_dropped"] or 0) / len(runs)
    total = sum(lost.values())
    if not total:
        return "nothing"
    worst = max(lost, key=lambda link: lost[link])
    return f"{number(total)} packets, {number(lost[worst])} of them at {worst}"


def _waits(runs: Sequence[Results]) -> str:
    wait: dict[tuple[str, str], float] = defaultdict(float)
    longest: dict[tuple[str, str], float] = defaultdict(float)
    for run in runs:
        for row in run.ports.rows("link", "class", "wait_mean_s", "queue_max_packets"):
            key = (str(row["link"]), str(row["class"]))
            wait[key] += float(row["wait_mean_s"] or 0) / len(runs)
            longest[key] = max(longest[key], float(row["queue_max_packets"] or 0))
    worst = max(wait, key=lambda key: wait[key], default=None)
    if worst is None or not wait[worst]:
        return "nobody"
    link, of_class = worst
    # A class is named where the port has several.
    place = link if sum(each == link for each, _ in wait) == 1 else f"{link}, class {of_class}"
    late: dict[str, float] = defaultdict(float)
    for run in runs:
        for row in run.flows.rows("flow", "delay_p99_s"):
            late[str(row["flow"])] += float(row["delay_p99_s"] or 0) / len(runs)
    flow = max(late, key=lambda name: late[name], default="")
    said = f"{quantity(wait[worst], 's')} on average at {place}"
    if longest[worst]:
        said += f", where up to {number(longest[worst])} packets queue"
    if flow and late[flow]:
        said += f"; the slowest flow is {flow}, 99th percentile {quantity(late[flow], 's')}"
    return said


def _full(runs: Sequence[Results]) -> str:
    use: dict[str, float] = defaultdict(float)
    for run in runs:
        of_link: dict[str, float] = {}
        for row in run.ports.rows("link", "utilisation"):
            # The classes of a port share the link, each with its part of the utilisation.
            name = str(row["link"])
            of_link[name] = of_link.get(name, 0.0) + float(row["utilisation"] or 0)
        for name, value in of_link.items():
            use[name] += value / len(runs)
    ranked = sorted(use, key=lambda name: (-use[name], name))
    full = [name for name in ranked if use[name] >= FULL]
    if full:
        named = ", ".join(f"{name} {percent(use[name])}" for name in full[:MOST_NAMED])
        more = len(full) - MOST_NAMED
        return named + (f" and {more} more links" if more > 0 else "") + " used"
    if not ranked or not use[ranked[0]]:
        offered = any(any(run.ports["packets_offered"]) for run in runs)
        return "not known, no packet has left a port" if offered else "no link, nothing was sent"
    busiest = f"{ranked[0]} is the busiest, {percent(use[ranked[0]])} used"
    # A port may be shaped below its link, and a burst fills a queue of an idle one.
    queues = _overflowing(runs)
    if not queues:
        return f"no link; {busiest}"
    more = len(queues) - MOST_NAMED
    named = ", ".join(queues[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"no link ({busiest}), but queues at times: {named}"


def _overflowing(runs: Sequence[Results]) -> list[str]:
    """Ports whose queue was full when a packet came, those with the most drops first."""
    lost: dict[str, float] = defaultdict(float)
    for run in runs:
        for row in run.drops.rows("link", "cause", "packets"):
            if row["cause"] == "queue_full" and row["link"] is not None:
                lost[str(row["link"])] += float(row["packets"] or 0)
    return sorted(lost, key=lambda link: (-lost[link], link))
