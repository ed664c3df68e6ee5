"""Bandwidth of backups, shared where no single failure needs two of them at once.

The bandwidth for backups on an arc is the maximum over single failures (a link, a node, a shared
risk) of the bandwidth of those that the failure activates. Backups of different failures use the
same bandwidth. Bandwidth that the failed paths themselves free is not counted.

Source: RFC 4090 section 2 and RFC 3469 section 2.2.1 (shared protection of exclusive failures).
"""

from collections.abc import Iterable

import numpy as np

from trunkline.te.topology import ArcPath, Ints, Topology

SingleFailure = tuple[str, int | str]
"""A single failure: ``("link", number)``, ``("node", number)`` or ``("risk", name)``."""


def list_failures_of_path(
    topology: Topology, path: ArcPath, *, nodes: bool
) -> frozenset[SingleFailure]:
    """List the single failures that break a path; ``nodes`` adds those of inner nodes."""
    found: set[SingleFailure] = set()
    for arc in path:
        found.add(("link", int(topology.link[arc])))
        found.update(("risk", risk) for risk in topology.arcs[arc].risks)
    if nodes:
        found.update(("node", int(topology.head[arc])) for arc in path[:-1])
    return frozenset(found)


class SharedBandwidth:
    """Bandwidth that backups hold; ``free`` is the rest of each arc after working paths, bit/s."""

    def __init__(self, free: Ints):
        self._unreserved = free
        self._needed_by_failure: dict[SingleFailure, Ints] = {}
        self.unshared: Ints = np.zeros_like(free)
        """Bit/s on each arc if every backup had its own."""

    def get_free(self, failures: Iterable[SingleFailure]) -> Ints:
        """Return the bandwidth that a backup for some failures could still get, shape (E,).

        It is 0 where backups that reserve nothing would already carry more than is left.
        """
        needs = [
            self._needed_by_failure[failure]
            for failure in failures
            if failure in self._needed_by_failure
        ]
        remaining = self._unreserved - np.max(needs, axis=0) if needs else self._unreserved
        return np.maximum(remaining, 0)

    def reserve(self, path: ArcPath, bandwidth: int, failures: Iterable[SingleFailure]) -> None:
        """Add a backup that some failures activate."""
        arcs = list(path)
        self.unshared[arcs] += bandwidth
        for failure in failures:
            need = self._needed_by_failure.setdefault(failure, np.zeros_like(self._unreserved))
            need[arcs] += bandwidth

    def compute_total(self) -> Ints:
        """Compute the bandwidth for backups, the maximum over failures, shape (E,)."""
        if not self._needed_by_failure:
            return np.zeros_like(self._unreserved)
        largest_need: Ints = np.max(list(self._needed_by_failure.values()), axis=0)
        return largest_need
