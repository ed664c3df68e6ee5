"""Admission control: reserved and unreserved bandwidth of each arc (RFC 3209, RFC 4124).

Amounts are integers, so a reservation that is torn down leaves exactly nothing behind.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te.dste import CLASS_TYPES, PRIORITIES, BandwidthConstraints
from trunkline.te.topology import ArcPath, Ints


@dataclass(frozen=True, slots=True)
class Reservation:
    """Bandwidth in bit/s that a label-switched path holds on each of its arcs."""

    path: ArcPath
    bandwidth: int
    class_type: int = 0
    hold: int = 7


class Reservations:
    """The reservations of a network.

    reserved: shape (E, 8, 8): Bit/s by arc, class type and holding priority.
    free: shape (E, 8, 8): Unreserved bit/s by arc, class type and priority.
    holders: dict of str to Reservation; by name, in order of admission.
    """

    def __init__(self, constraints: BandwidthConstraints):
        count = len(constraints.reservable)
        self.constraints = constraints
        self.reserved: Ints = np.zeros((count, CLASS_TYPES, PRIORITIES), dtype=np.int64)
        self.free = constraints.compute_unreserved(self.reserved, np.arange(count))
        self.holders: dict[str, Reservation] = {}
        self._holders_by_arc: list[dict[str, None]] = [{} for _ in range(count)]

    def get_unreserved(self, class_type: int, priority: int) -> Ints:
        """Return the bandwidth that a request could get on each arc, shape (E,)."""
        return self.free[:, class_type, priority]

    def list_holders(self, arc: int) -> tuple[str, ...]:
        """List the names of those that hold bandwidth on an arc, in order of admission."""
        return tuple(self._holders_by_arc[arc])

    def reserve(self, name: str, reservation: Reservation) -> None:
        """Reserve bandwidth without a check of the free bandwidth; the caller has checked.

        Raises ValueError: The name is in use.
        """
        if name in self.holders:
            raise ValueError(f"{name} holds a reservation already")
        self.holders[name] = reservation
        self._add_bandwidth(reservation, reservation.bandwidth)
        for arc in reservation.path:
            self._holders_by_arc[arc][name] = None

    def tear_down(self, name: str) -> Reservation:
        """Remove a reservation and return it."""
        reservation = self.holders.pop(name)
        self._add_bandwidth(reservation, -reservation.bandwidth)
        for arc in reservation.path:
            del self._holders_by_arc[arc][name]
        return reservation

    def sum_reserved(self) -> Ints:
        """Sum the reserved bandwidth of each arc over class types and priorities, shape (E,)."""
        summed: Ints = self.reserved.sum(axis=(1, 2))
        return summed

    def _add_bandwidth(self, reservation: Reservation, change: int) -> None:
        arcs = np.array(reservation.path, dtype=np.int64)
        self.reserved[arcs, reservation.class_type, reservation.hold] += change
        self.free[arcs] = self.constraints.compute_unreserved(self.reserved[arcs], arcs)
