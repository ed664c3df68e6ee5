"""What each link carried and lost: means over the runs of an exhibit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from trunkline.report.exhibit import Exhibit

BY_FAILURE = ("failed_queued", "failed_in_flight", "link_down", "node_down")
"""Causes of what a failure of the link costs; a port counts none of them as its own drop."""

NEVER_CAME = ("link_down", "node_down")
"""Those of them that the port has not seen: the link was down already."""


@dataclass(frozen=True, slots=True)
class Load:
    """One direction of a link, or one class of it.

    Parameters
    ----------
    use : float
        Bits sent over the link's capacity, 0 to 1.
    offered : float
        Packets that came to it, those that found it down among them.
    dropped : float
        Packets that its port dropped.
    failed : float
        Packets that its failures cost.
    """

    use: float = 0.0
    offered: float = 0.0
    dropped: float = 0.0
    failed: float = 0.0

    @property
    def lost(self) -> float:
        """Packets lost, for whatever reason."""
        return self.dropped + self.failed

    @property
    def loss(self) -> float:
        """Packets lost over those that came, 0 to 1."""
        return self.lost / self.offered if self.offered else 0.0

    @property
    def refused(self) -> float:
        """Packets that its port dropped over those that came, 0 to 1."""
        return self.dropped / self.offered if self.offered else 0.0

    def __add__(self, other: Load) -> Load:
        """Load of two classes together."""
        return Load(
            self.use + other.use,
            self.offered + other.offered,
            self.dropped + other.dropped,
            self.failed + other.failed,
        )


def by_class(exhibit: Exhibit) -> dict[tuple[str, str], Load]:
    """Load of each link and class."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for run in exhibit.runs:
        for row in run.ports.rows():
            found = sums[str(row["link"]), str(row["class"])]
            for index, name in enumerate(("utilisation", "packets_offered", "packets_dropped")):
                found[index] += float(row[name] or 0)
        classes: dict[str, set[str]] = defaultdict(set)
        for link, name in sums:
            classes[link].add(name)
        for row in run.drops.rows():
            if row["link"] is not None and row["cause"] in BY_FAILURE:
                # What was in flight, or never came, was in no class; of one class, in that one.
                link = str(row["link"])
                only = next(iter(classes[link])) if len(classes[link]) == 1 else "–"
                found = sums[link, str(row["class"] or only)]
                packets = float(row["packets"] or 0)
                found[3] += packets
                found[1] += packets if row["cause"] in NEVER_CAME else 0.0
    runs = len(exhibit.runs)
    return {key: Load(*(value / runs for value in found)) for key, found in sums.items()}


def by_link(exhibit: Exhibit) -> dict[str, Load]:
    """Load of each link, its classes together."""
    found: dict[str, Load] = defaultdict(Load)
    for (link, _), load in by_class(exhibit).items():
        found[link] += load
    return dict(found)
