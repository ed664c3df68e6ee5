"""Reservations: who holds how much on which arc, and what is unreserved (RFC 3209, RFC 4124).

Amounts are integers, so that what is torn down leaves exactly nothing behind.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te.dste import CLASS_TYPES, PRIORITIES, BandwidthConstraints
from trunkline.te.topology import ArcPath, Ints


@dataclass(frozen=True, slots=True)
class Reservation:
    """Bandwidth that a label-switched path holds.

    Parameters
    ----------
    path : tuple of int
        Arcs, each once.
    bandwidth : int
        Bit/s.
    class_type : int
        From 0 to 7.
    hold : int
        Holding priority, 0 (strongest) to 7.
    """

    path: ArcPath
    bandwidth: int
    class_type: int = 0
    hold: int = 7


class Reservations:
    """The state of a network's admission control.

    Parameters
    ----------
    constraints : BandwidthConstraints
        What may be reserved on each of E arcs.

    Attributes
    ----------
    reserved : array of int64, shape (E, 8, 8)
        Bit/s by arc, class type and holding priority.
    free : array of int64, shape (E, 8, 8)
        Unreserved bit/s by arc, class type and priority.
    holders : dict of str to Reservation
        By name, in order of admission.
    """

    def __init__(self, constraints: BandwidthConstraints):
        count = len(constraints.reservable)
        self.constraints = constraints
        self.reserved: Ints = np.zeros((count, CLASS_TYPES, PRIORITIES), dtype=np.int64)
        self.free = constraints.compute_unreserved(self.reserved, np.arange(count))
        self.holders: dict[str, Reservation] = {}
        self._holders_by_arc: list[dict[str, None]] = [{} for _ in range(count)]

    def get_unreserved(self, class_type: int, priority: int) -> Ints:
        """What a request could get on each arc.

        Parameters
        ----------
        class_type : int
            From 0 to 7.
        priority : int
            Setup priority, 0 to 7.

        Returns
        -------
        array of int64, shape (E,)
            Bit/s.
        """
        return self.free[:, class_type, priority]

    def list_holders(self, arc: int) -> tuple[str, ...]:
        """Who holds bandwidth on an arc.

        Parameters
        ----------
        arc : int
            Its number.

        Returns
        -------
        tuple of str
            Names, in order of admission.
        """
        return tuple(self._holders_by_arc[arc])

    def reserve(self, name: str, reservation: Reservation) -> None:
        """Reserve, whatever is held already: who asks has looked at `unreserved`.

        Parameters
        ----------
        name : str
            Not in use.
        reservation : Reservation
            What to hold.

        Raises
        ------
        ValueError
            The name is in use.
        """
        if name in self.holders:
            raise ValueError(f"{name} holds a reservation already")
        self.holders[name] = reservation
        self._add_bandwidth(reservation, reservation.bandwidth)
        for arc in reservation.path:
            self._holders_by_arc[arc][name] = None

    def tear_down(self, name: str) -> Reservation:
        """Give up a reservation.

        Parameters
        ----------
        name : str
            Who.

        Returns
        -------
        Reservation
            What it held.
        """
        reservation = self.holders.pop(name)
        self._add_bandwidth(reservation, -reservation.bandwidth)
        for arc in reservation.path:
            del self._holders_by_arc[arc][name]
        return reservation

    def sum_reserved(self) -> Ints:
        """Bandwidth reserved on each arc.

        Returns
        -------
        array of int64, shape (E,)
            Bit/s, of all class types and priorities.
        """
        summed: Ints = self.reserved.sum(axis=(1, 2))
        return summed

    def _add_bandwidth(self, reservation: Reservation, change: int) -> None:
        arcs = np.array(reservation.path, dtype=np.int64)
        self.reserved[arcs, reservation.class_type, reservation.hold] += change
        self.free[arcs] = self.constraints.compute_unreserved(self.reserved[arcs], arcs)
