"""Reactions of routers and heads of paths to each change of the network, with times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trunkline.results.results import Results

NOTICE_EVENTS = ("detected", "repair-detected", "lsa-learnt")
"""A router gets to know of the change."""
COMPLETION_EVENTS = ("rerouted", "ldp-labels")
"""Events that put other routes, or labels, into use than before."""
CHANGE_KINDS = {"failed": "failure", "repaired": "repair", "drained": "drain"}


@dataclass
class ConvergenceStep:
    """Reaction of a router, or of the head of a signalled path, to a change."""

    name: str  # Name of the router, or ``path`` and its name.
    heard_ns: int  # When it got to know.
    computed_ns: int | None = None  # When it last computed its routes; None of a head.
    # When other routes or labels, or another path, were in use for good; None if they never were.
    ended_ns: int | None = None


@dataclass
class NetworkChange:
    """A failure, a repair or a drain, and the events until the next one."""

    at_ns: int  # When.
    kind: str  # ``failure``, ``repair`` or ``drain``.
    links: list[str] = field(default_factory=list)  # One-way links.
    # In the order in which they heard of it; those with nothing to change included.
    steps: list[ConvergenceStep] = field(default_factory=list)

    @property
    def description(self) -> str:
        """The event, its subject, and its time."""
        return f"{self.kind} of {self.links[0]}, {self.at_ns / 1e9:g} s"


def list_answered_changes(results: Results) -> list[NetworkChange]:
    """List the failures and repairs that routing or signalling answered to, in order of time."""
    rows = list(results.timeline.rows())
    network_changes = find_network_changes(rows)
    answers = list(results.tables["signalling"].rows())
    for number, change in enumerate(network_changes):
        last = network_changes[number + 1].at_ns if number + 1 < len(network_changes) else None
        change.steps = _collect_router_steps(_select_between(rows, change.at_ns, last))
        change.steps += _collect_head_steps(_select_between(answers, change.at_ns, last))
        change.steps.sort(key=lambda step: step.heard_ns)
    return [change for change in network_changes if change.steps]


def find_network_changes(rows: Sequence[dict[str, Any]]) -> list[NetworkChange]:
    """Find the failures and repairs in the rows of a timeline, without later events."""
    found: list[NetworkChange] = []
    for row in rows:
        kind = CHANGE_KINDS.get(str(row["event"]))
        if kind is None or row["link"] is None:
            continue
        at = int(row["time_ns"] or 0)
        if not found or (found[-1].at_ns, found[-1].kind) != (at, kind):
            found.append(NetworkChange(at, kind))
        found[-1].links.append(str(row["link"]))
    return found


def _select_between(
    rows: Sequence[dict[str, Any]], first: int, last: int | None
) -> list[dict[str, Any]]:
    return [
        row for row in rows if first <= row["time_ns"] and (last is None or row["time_ns"] < last)
    ]


def _collect_router_steps(rows: Sequence[dict[str, Any]]) -> list[ConvergenceStep]:
    """Collect the steps of routers; none where nodes only noticed."""
    steps: dict[str, ConvergenceStep] = {}
    for row in rows:
        name, event, at = row["node"], row["event"], row["time_ns"]
        if name is None:
            continue
        if event in NOTICE_EVENTS:
            steps.setdefault(name, ConvergenceStep(name, at))
        elif name in steps and event == "spf":
            steps[name].computed_ns = at
        elif event in COMPLETION_EVENTS:
            steps.setdefault(name, ConvergenceStep(name, at)).ended_ns = at
    routed = any(
        step.computed_ns is not None or step.ended_ns is not None for step in steps.values()
    )
    return list(steps.values()) if routed else []


def _collect_head_steps(rows: Sequence[dict[str, Any]]) -> list[ConvergenceStep]:
    """Steps of heads: from the news that a path is broken or repaired to the one in its place."""
    steps: dict[str, ConvergenceStep] = {}
    for row in rows:
        name, event, at = f"path {row['path']}", row["event"], row["time_ns"]
        if event in ("down", "repaired"):
            steps.setdefault(name, ConvergenceStep(name, at))
        elif event in ("up", "moved") and name in steps and steps[name].ended_ns is None:
            steps[name].ended_ns = at
    return list(steps.values())
