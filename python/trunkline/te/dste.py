"""Bandwidth constraints of DiffServ-aware traffic engineering: unreserved bandwidth of a link.

``none`` counts all class types against the maximum reservable bandwidth M alone. Below, R(b, q) is
the bandwidth that class type b has reserved at holding priority q, and B_k is bandwidth
constraint k:

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
    """Bounds of a bandwidth constraints model on every arc."""

    model: BandwidthModel
    reservable: Ints  # shape (E,): M, bit/s.
    # shape (E, C): B_0 to B_(C-1), bit/s; C class types. Shape (E, 1) and equal to M for ``none``.
    constraints: Ints
    threshold: Ints  # shape (E,): T, bit/s; for ``mar`` alone.
    # Configured TE-classes: class type and preemption priority (RFC 4124, 4.2). None admits all.
    classes: frozenset[tuple[int, int]] | None = None

    @property
    def class_type_count(self) -> int:
        """Number of class types; 8 without a model."""
        return CLASS_TYPES if self.model == "none" else int(self.constraints.shape[1])

    def is_te_class(self, class_type: int, *priorities: int) -> bool:
        """Test whether a class type with each of some priorities is a configured TE-class."""
        return class_type < self.class_type_count and (
            self.classes is None or all((class_type, p) in self.classes for p in priorities)
        )

    def list_bounds(self) -> list[ClassTypeBound]:
        """List the sums that no set of reservations may pass: class types, and their bound by arc.

        The threshold of ``mar`` is not among them, since it only keeps new requests out.
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
        """Compute the unreserved bandwidth of each TE-class on some arcs.

        ``reserved`` has shape (A, 8, 8), by class type and holding priority; so has the result, by
        class type and priority. It is negative where newer reservations have taken over bandwidth
        and the displaced ones are not torn down yet.
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
    reservable: Ints | Sequence[int],
    model: BandwidthModel = "none",
    constraints: Ints | None = None,
    threshold: Ints | None = None,
    classes: frozenset[tuple[int, int]] | None = None,
) -> BandwidthConstraints:
    """Check the bounds of a model. The parameters are those of `BandwidthConstraints`.

    Every model but ``none`` needs ``constraints``; ``threshold`` is 0 by default.

    Raises ValueError: No constraints, more than 8 of them or of TE-classes, or Russian dolls of
        which an inner one is larger than the outer.
    """
    reservable = np.asarray(reservable, dtype=np.int64)
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


def scale_to_reservable(reservable: Ints | Sequence[int], factors: Sequence[float]) -> Ints:
    """Compute bandwidth constraints, shape (E, C), from C shares of the reservable bandwidth."""
    constraints: Ints = np.rint(np.outer(reservable, factors)).astype(np.int64)
    return constraints
