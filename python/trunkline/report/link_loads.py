"""Load and loss of each link: means over the runs of an exhibit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from trunkline.report.reported_run import ReportedRun

FAILURE_CAUSES = ("failed_queued", "failed_in_flight", "link_down", "node_down")
"""Causes of drops through a failure of the link; a port counts none of them as its own drop."""

UNOFFERED_CAUSES = ("link_down", "node_down")
"""Causes of drops before the port: the link was down already."""


@dataclass(frozen=True, slots=True)
class ReportedLinkLoad:
    """One direction of a link, or one class of it."""

    utilisation: float = 0.0  # Bits sent over the link's capacity, 0 to 1.
    offered: float = 0.0  # Packets that came to it, those that found it down among them.
    dropped: float = 0.0  # Packets that its port dropped.
    lost_by_failure: float = 0.0  # Packets that its failures cost.

    @property
    def total_lost(self) -> float:
        """Packets lost, for whatever reason."""
        return self.dropped + self.lost_by_failure

    @property
    def loss_ratio(self) -> float | None:
        """Packets lost over those that came, 0 to 1; None where none came."""
        return self.total_lost / self.offered if self.offered else None

    @property
    def port_loss_ratio(self) -> float | None:
        """Packets that its port dropped over those that came, 0 to 1; None where none came."""
        return self.dropped / self.offered if self.offered else None

    def __add__(self, other: ReportedLinkLoad) -> ReportedLinkLoad:
        """Load of two classes together."""
        return ReportedLinkLoad(
            self.utilisation + other.utilisation,
            self.offered + other.offered,
            self.dropped + other.dropped,
            self.lost_by_failure + other.lost_by_failure,
        )


def compute_class_loads(reported_run: ReportedRun) -> dict[tuple[str, str], ReportedLinkLoad]:
    """Load of each link and class."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for run in reported_run.runs:
        for row in run.ports.rows():
            link_sums = sums[str(row["link"]), str(row["class"])]
            for index, name in enumerate(("utilisation", "packets_offered", "packets_dropped")):
                link_sums[index] += float(row[name] or 0)
        classes: dict[str, set[str]] = defaultdict(set)
        for link, name in sums:
            classes[link].add(name)
        for row in run.drops.rows():
            if row["link"] is not None and row["cause"] in FAILURE_CAUSES:
                # Packets in flight, or that never came, were in no class; with one class, in it.
                link = str(row["link"])
                only = next(iter(classes[link])) if len(classes[link]) == 1 else "–"
                link_sums = sums[link, str(row["class"] or only)]
                packets = float(row["packets"] or 0)
                link_sums[3] += packets
                link_sums[1] += packets if row["cause"] in UNOFFERED_CAUSES else 0.0
    runs = len(reported_run.runs)
    return {
        key: ReportedLinkLoad(*(value / runs for value in link_sums))
        for key, link_sums in sums.items()
    }


def compute_link_loads(reported_run: ReportedRun) -> dict[str, ReportedLinkLoad]:
    """Load of each link, its classes together."""
    loads: dict[str, ReportedLinkLoad] = defaultdict(ReportedLinkLoad)
    for (link, _), load in compute_class_loads(reported_run).items():
        loads[link] += load
    return dict(loads)
