"""Durations of recovery: the parts of an outage, the gap, and the time to regain goodput."""

from dataclasses import dataclass
from itertools import pairwise

from trunkline.results import Results

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RecoveryCycle:
    """One recovery cycle of a protection; instants [ns], None for steps that it did not reach.

    Parameters
    ----------
    failed, detected, notified, held_off, switched : int or None
        On the way to the alternative.
    repaired, reverted : int or None
        On the way back.
    """

    failed: int
    detected: int | None = None
    notified: int | None = None
    held_off: int | None = None
    switched: int | None = None
    repaired: int | None = None
    reverted: int | None = None

    @property
    def duration_ns(self) -> int | None:
        """Time from the failure until traffic took the alternative [ns]."""
        return None if self.switched is None else self.switched - self.failed


def outages(results: Results, protection: str) -> list[RecoveryCycle]:
    """Recovery cycles of a protection, in order.

    A cycle begins with the first failure after the end of the one before it; it ends when traffic
    is back on the working path, or when the failure has passed without a switch.
    """
    cycles: list[dict[str, int]] = []
    is_in_cycle = False
    for row in results.timeline.rows():
        if row["protection"] != protection:
            continue
        event, at = str(row["event"]).replace("-", "_"), int(row["time_ns"] or 0)
        if event == "failed" and not is_in_cycle:
            cycles.append({"failed": at})
            is_in_cycle = True
        elif not is_in_cycle:
            continue
        elif event in ("detected", "notified", "held_off", "switched", "reverted"):
            cycles[-1].setdefault(event, at)
            is_in_cycle = event != "reverted"
        elif event == "repaired":
            cycles[-1][event] = at
            is_in_cycle = "notified" in cycles[-1]
    return [RecoveryCycle(**cycle) for cycle in cycles]


def regained_after(
    results: Results, flow: str, failed_ns: int, *, share: float = 0.9, before_ns: int = NS_PER_S
) -> int | None:
    """Time from a failure until a flow has its earlier goodput again [ns].

    The earlier goodput is the mean of the steps within `before_ns` before the failure. It is
    regained at the end of the first step after the failure in which the goodput is at least `share`
    of it, once it was below; 0 if it never was below, None if it is not regained in the run.

    Parameters
    ----------
    results : Results
        One run with a probe `{flow: ..., measure: goodput}`.
    failed_ns : int
        When it failed [ns].
    share : float, default 0.9
        Part of the earlier goodput that counts as regained [0 to 1].
    before_ns : int, default 1 s
        Time before the failure whose mean is the earlier goodput [ns].

    Raises
    ------
    ValueError
        No step of goodput was recorded in that time.
    """
    series = results.series
    rows = zip(series["target"], series["measure"], series["time_ns"], series["value"], strict=True)
    goodput = [
        (int(at or 0), float(value or 0.0))
        for target, measure, at, value in rows
        if (target, measure) == (flow, "goodput")
    ]
    earlier = [value for at, value in goodput if failed_ns - before_ns < at <= failed_ns]
    if not earlier:
        msg = f"no goodput of flow {flow!r} was recorded in the time before {failed_ns} ns"
        raise ValueError(msg)
    threshold = share * sum(earlier) / len(earlier)
    has_fallen = False
    for at, value in goodput:
        if at <= failed_ns:
            continue
        if has_fallen and value >= threshold:
            return at - failed_ns
        has_fallen = has_fallen or value < threshold
    return None if has_fallen else 0


def gap(results: Results, flow: str, since_ns: int = 0) -> int | None:
    """Longest time between two packets of a flow at its destination [ns].

    Parameters
    ----------
    since_ns : int, default 0
        Packets that arrived before are left out [ns].

    Returns
    -------
    int or None
        None if fewer than two packets arrived.
    """
    packets = results.packets
    columns = (packets[name] for name in ("event", "direction", "flow", "time_ns"))
    arrived = [
        int(at or 0)
        for event, direction, name, at in zip(*columns, strict=True)
        if (event, direction, name) == ("delivered", "forward", flow) and int(at or 0) >= since_ns
    ]
    return max((b - a for a, b in pairwise(arrived)), default=None)
