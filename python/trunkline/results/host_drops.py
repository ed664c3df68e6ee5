"""Drops at hosts: packets that a source refuses at its own port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.results.results import Results

QUEUE_CAUSES = ("queue_full", "early", "forced")
"""Causes of which a queue's limit or AQM is the reason."""


def describe_host_drops(runs: Sequence[Results]) -> str:
    """Say which flows lose packets at the port of their own source, the most first.

    Returns: A sentence; empty if there are none, or but one link, whose queue is already shown.
    """
    first = runs[0]
    if len(set(first.ports["link"])) <= 2:
        return ""
    source = dict(zip(first.flows["flow"], first.flows["source"], strict=True))
    # A host has one link; at a router's port the packets of others wait too.
    links = Counter(str(link).partition("->")[0] for link in set(first.ports["link"]))
    hosts = {node for node in source.values() if links[str(node)] == 1}
    lost: dict[tuple[str, str], float] = {}
    for run in runs:
        for row in run.drops.rows("flow", "link", "node", "direction", "cause", "packets"):
            flow, link = row["flow"], row["link"]
            is_at_own_port = (
                link is not None and row["node"] in hosts and row["node"] == source.get(flow)
            )
            if is_at_own_port and row["direction"] == "forward" and row["cause"] in QUEUE_CAUSES:
                key = (str(flow), str(link))
                lost[key] = lost.get(key, 0.0) + float(row["packets"] or 0) / len(runs)
    if not lost:
        return ""
    (flow, link), packets = max(lost.items(), key=lambda item: item[1])
    others_text = f", as {len(lost) - 1} more flows do at theirs" if len(lost) > 1 else ""
    return (
        f"Dropped by the host itself: {flow} loses {packets:.0f} packets at its source's own port "
        f"{link}{others_text}; a real host waits there, so give that port a longer queue or "
        f"a higher rate"
    )
