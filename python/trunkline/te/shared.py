"""Bandwidth of backups, shared where no single failure needs two of them at once.

What backups need on an arc is the maximum over single failures (a link, a node, a shared risk) of
what those that the failure calls upon carry there. Backups of different failures use the same
bandwidth. What the failed paths themselves leave free is not counted.

Source: RFC 4090 section 2 and RFC 3469 section 2.2.1 (shared protection of exclusive failures).
"""

from collections.abc import Iterable

import numpy as np

from trunkline.te.topology import Ints, Path, Topology

Event = tuple[str, int | str]
"""A single failure: ``("link", number)``, ``("node", number)`` or ``("risk", name)``."""


def events(topology: Topology, path: Path, *, nodes: bool) -> frozenset[Event]:
    """Single failures that break a path.

    Parameters
    ----------
    path : tuple of int
        Arcs.
    nodes : bool
        Whether those of the nodes between its ends count.

    Returns
    -------
    frozenset of Event
        Links, risks of links, and nodes.
    """
    found: set[Event] = set()
    for arc in path:
        found.add(("link", int(topology.link[arc])))
        found.update(("risk", risk) for risk in topology.arcs[arc].risks)
    if nodes:
        found.update(("node", int(topology.head[arc])) for arc in path[:-1])
    return frozenset(found)


class Shared:
    """What backups hold.

    Parameters
    ----------
    free : array of int64, shape (E,)
        What working paths leave of each arc, bit/s.
    """

    def __init__(self, free: Ints):
        self._free = free
        self._need: dict[Event, Ints] = {}
        self.unshared: Ints = np.zeros_like(free)
        """Bit/s on each arc if every backup had its own."""

    def free(self, by: Iterable[Event]) -> Ints:
        """What a backup could still get.

        Parameters
        ----------
        by : iterable of Event
            Failures that call upon it.

        Returns
        -------
        array of int64, shape (E,)
            Bit/s; 0 where backups that ask for nothing would already carry more than is left.
        """
        needs = [self._need[event] for event in by if event in self._need]
        left = self._free - np.max(needs, axis=0) if needs else self._free
        return np.maximum(left, 0)

    def hold(self, path: Path, bandwidth: int, by: Iterable[Event]) -> None:
        """Count a backup.

        Parameters
        ----------
        path : tuple of int
            Its arcs.
        bandwidth : int
            Bit/s.
        by : iterable of Event
            Failures that call upon it.
        """
        arcs = list(path)
        self.unshared[arcs] += bandwidth
        for event in by:
            need = self._need.setdefault(event, np.zeros_like(self._free))
            need[arcs] += bandwidth

    def total(self) -> Ints:
        """Bandwidth for backups.

        Returns
        -------
        array of int64, shape (E,)
            Bit/s: the maximum over failures.
        """
        if not self._need:
            return np.zeros_like(self._free)
        most: Ints = np.max(list(self._need.values()), axis=0)
        return most
