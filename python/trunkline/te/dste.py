"""Bandwidth constraints of DiffServ-aware traffic engineering: what is unreserved on a link.

``none`` counts all class types against the maximum reservable bandwidth M alone. In what follows
R(b, q) is what class type b has reserved at holding priority q, and B_k is bandwidth constraint k:

- ``mam`` (RFC 4125, 4.1): B_c bounds class type c, M bounds all.
- ``rdm`` (RFC 4127, 4): B_k bounds class types k and above together; B_0 is M.
- ``mar`` (RFC 4126, 4): M bounds all; a class type above its B_c leaves a threshold T free for the
  others.

Only reservations with a holding priority numerically up to p are counted for priority p.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trunkline.te.topology import Ints

CLASS_TYPES = 8
PRIORITIES = 8
BandwidthModel = Literal["none", "mam", "rdm", "mar"]
ClassTypeBound = tuple[frozenset[int], Ints]
"""Class types that share a bound, and the bound on each arc in bit/s."""


@dataclass(frozen=True, slots=True, eq=False)
class BandwidthConstraints:
    """Bounds of a bandwidth constraints model on every arc.

    Parameters
    ----------
    model : {"none", "mam", "rdm", "mar"}
        Which rules.
    reservable : array of int64, shape (E,)
        M, bit/s.
    constraints : array of int64, shape (E, C)
        B_0 to B_(C-1), bit/s; C class types. Shape (E, 1) and equal to M for ``none``.
    threshold : array of int64, shape (E,)
        T, bit/s; for ``mar`` alone.
    classes : frozenset of (int, int) or None
        TE-classes that are configured: class type and preemption priority (RFC 4124, 4.2). None
        admits all.
    """

    model: BandwidthModel
    reservable: Ints
    constraints: Ints
    threshold: Ints
    classes: frozenset[tuple[int, int]] | None = None

    @property
    def class_type_count(self) -> int:
        """Number of class types; 8 where there is no model."""
        return CLASS_TYPES if self.model == "none" else int(self.constraints.shape[1])

    def is_te_class(self, class_type: int, *priorities: int) -> bool:
        """Whether a class type may be used at some priorities.

        Parameters
        ----------
        class_type : int
            From 0.
        *priorities : int
            Setup and holding priority, from 0 to 7.

        Returns
        -------
        bool
            Each pair is a configured TE-class.
        """
        return class_type < self.class_type_count and (
            self.classes is None or all((class_type, p) in self.classes for p in priorities)
        )

    def list_bounds(self) -> list[ClassTypeBound]:
        """Sums that no set of reservations may pass.

        Returns
        -------
        list of (frozenset of int, array of int64)
            Class types and, by arc, what they may reserve together. The threshold of ``mar`` is not
            among them: it only keeps newcomers out.
        """
        all_types = frozenset(range(self.class_type_count))
        total = (all_types, self.reservable)
        if self.model == "mam":
            single = [
                (frozenset({c}), self.constraints[:, c]) for c in range(self.class_type_count)
            ]
            return [*single, total]
        if self.model == "rdm":
            dolls = [
                (frozenset(range(k, self.class_type_count)), self.constraints[:, k])
                for k in all_types
            ]
            return [*dolls, total]
        return [total]

    def compute_unreserved(self, reserved: Ints, arcs: Ints) -> Ints:
        """Unreserved bandwidth of each TE-class.

        Parameters
        ----------
        reserved : array of int64, shape (A, 8, 8)
            Bit/s on some arcs by class type and holding priority.
        arcs : array of int64, shape (A,)
            Which arcs these are.

        Returns
        -------
        array of int64, shape (A, 8, 8)
            By class type and priority; negative where newer reservations took over and the victims
            are not gone yet.
        """
        held = reserved.cumsum(axis=2)
        free = np.full(reserved.shape, np.iinfo(np.int64).max)
        for types, bound in self.list_bounds():
            members = sorted(types)
            remaining = bound[arcs, None] - held[:, members, :].sum(axis=1)
            for c in members:
                np.minimum(free[:, c], remaining, out=free[:, c])
        if self.model == "mar":
            count = self.class_type_count
            above = held[:, :count] > self.constraints[arcs, :, None]
            free[:, :count] -= np.where(above, self.threshold[arcs, None, None], 0)
        free[:, self.class_type_count :] = 0
        return free


def make_bandwidth_constraints(
    reservable: Ints,
    model: BandwidthModel = "none",
    constraints: Ints | None = None,
    threshold: Ints | None = None,
    classes: frozenset[tuple[int, int]] | None = None,
) -> BandwidthConstraints:
    """Bounds of a model, checked.

    Parameters
    ----------
    reservable : array of int64, shape (E,)
        Maximum reservable bandwidth, bit/s.
    model : {"none", "mam", "rdm", "mar"}
        Which rules.
    constraints : array of int64, shape (E, C), optional
        B_0 to B_(C-1); needed by every model but ``none``. C is 1 to 8.
    threshold : array of int64, shape (E,), optional
        For ``mar``; 0 by default.
    classes : frozenset of (int, int), optional
        Configured TE-classes, 8 at most.

    Returns
    -------
    BandwidthConstraints
        To be handed to `admission.Reservations`.

    Raises
    ------
    ValueError
        No constraints, more than 8 of them or of TE-classes, or Russian dolls of which an inner one
        is larger than the outer.
    """
    if model == "none" or constraints is None:
        if model != "none":
            raise ValueError(f"the model {model} needs bandwidth constraints")
        constraints = reservable[:, None]
    if not 1 <= constraints.shape[1] <= CLASS_TYPES:
        raise ValueError(f"there are 1 to {CLASS_TYPES} class types, not {constraints.shape[1]}")
    if classes is not None and len(classes) > CLASS_TYPES:
        raise ValueError(f"there are at most {CLASS_TYPES} TE-classes (RFC 4124, 4.2)")
    if model == "rdm" and (np.diff(constraints, axis=1) > 0).any():
        raise ValueError("in rdm no bandwidth constraint is larger than the one before it")
    thresholds = np.zeros(len(reservable), dtype=np.int64) if threshold is None else threshold
    return BandwidthConstraints(model, reservable, constraints, thresholds, classes)


def scale_to_reservable(reservable: Ints, factors: Sequence[float]) -> Ints:
    """Bandwidth constraints as shares of the maximum reservable bandwidth.

    Parameters
    ----------
    reservable : array of int64, shape (E,)
        Bit/s.
    factors : sequence of float
        One for each of C class types, from 0.

    Returns
    -------
    array of int64, shape (E, C)
        Bit/s, to the nearest.
    """
    constraints: Ints = np.rint(np.outer(reservable, factors)).astype(np.int64)
    return constraints
