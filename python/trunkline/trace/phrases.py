"""Numbers and events in words."""

from collections.abc import Mapping

DROP_CAUSE_PHRASES: Mapping[str, str] = {
    "queue_full": "the queue had no room",
    "early": "the AQM dropped it early, before the queue was full",
    "forced": "the AQM's average queue was above its upper threshold",
    "policed": "a policer refused it",
    "ttl_expired": "its time to live ran out",
    "no_route": "there was no route to its destination",
    "no_label": "its incoming label has no entry",
    "too_big": "it was larger than the link's MTU",
    "corrupted": "the link lost it at random",
    "failed_queued": "the link failed while it waited in the queue",
    "failed_in_flight": "the link failed while it was on it",
    "link_down": "the link was down",
    "node_down": "the node was down",
    "switching": "a protection switch was between its two positions",
    "unselected": "the tail of 1+1 protection took the other copy",
    "congestion_marked": "its label marked congestion, and its sender understands no mark",
}
"""Meaning of the causes of drops."""


def format_seconds(at_ns: int) -> str:
    """Format a moment, to the nanosecond. at_ns: After the start of the run [ns]."""
    return f"{at_ns // 10**9}.{at_ns % 10**9:09d} s"


def format_count(number: int | None, singular: str, plural: str | None = None) -> str:
    """Format a number with its noun.

    number: None, a value that an engine does not give, is a dash.
    plural: For others; with an s if left out.
    """
    noun = singular if number == 1 else plural or singular + "s"
    return f"– {noun}" if number is None else f"{number:,} {noun}"


def describe_label_change(before: str | None, after: str | None) -> str:
    """Describe the change of the label stack between two events, in words of RFC 3031 3.10.

    before, after: Stacks as in the table, from the top: ``label/TC/TTL``.
    Returns: Empty where no label came, went or changed.
    """
    old, new = (before or "").split(), (after or "").split()
    if old == new:
        return ""
    # Equal entries at the bottom were not touched, if there is more above it.
    while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
        old.pop()
        new.pop()
    changes = []
    if old and new:
        changes += [f"label {_get_label(each)} popped" for each in old[:-1]]
        last, first = old[-1], new.pop()
        # A label uncovered by a pop only takes over the time to live.
        if len(old) == 1 or _get_label(last) != _get_label(first):
            changes.append(f"label {_get_label(last)} swapped for {_format_entry(first)}")
    else:
        changes += [f"label {_get_label(each)} popped" for each in old]
    changes += [f"label {_format_entry(each)} pushed" for each in reversed(new)]
    return ", ".join(changes)


def _get_label(entry: str) -> str:
    return entry.partition("/")[0]


def _format_entry(entry: str) -> str:
    label, tc, ttl = entry.split("/")
    return f"{label} (TC {tc}, TTL {ttl})"
