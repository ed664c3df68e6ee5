"""Leaf qdiscs, in which the packets of a class wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.aqm import add_queue
from trunkline.linux.plan.egress_port import EgressPort

if TYPE_CHECKING:
    from trunkline.network.types import PriorityShare, ShapedShare

_MAX_BANDS: Final = 16


@dataclass(frozen=True, slots=True)
class LeafQdisc:
    """The qdisc in which the packets of one class wait."""

    handle: str  # Handle of its queue's qdisc.
    kind: str  # Kind of that qdisc.
    priority: str  # Value of ``skbedit priority`` for packets to it; empty: none is necessary.
    # Which of the tins of a cake it is, as the kernel numbers them; None: the whole qdisc.
    tin: int | None = None


def add_leaf(egress_port: EgressPort, index: int, parent: str, priority: str) -> LeafQdisc:
    """Write the queue of the class ``index``: at ``parent``, reached by ``priority``."""
    handle = f"{0x100 + index:x}:"
    kind = add_queue(egress_port, index, parent, handle)
    egress_port.make_queue_part(index).require_qdisc(kind)
    return LeafQdisc(handle, kind, priority)


def rank_classes(
    egress_port: EgressPort, shares: Sequence[PriorityShare | ShapedShare]
) -> list[int]:
    """Rank the classes by priority; the kernel's have a rank each."""
    priorities = [share["priority"] for share in shares]
    if len(set(priorities)) < len(priorities):
        egress_port.scenario_part.refuse(
            "classes of equal priority take turns, the bands of Linux's prio do not; "
            "nearest: htb classes of one priority (scheduler: htb)",
            "classes",
        )
    if len(priorities) > _MAX_BANDS:
        reason = f"Linux's prio has at most {_MAX_BANDS} bands; nearest: {_MAX_BANDS} classes"
        egress_port.scenario_part.refuse(reason, "classes")
    return sorted(range(len(priorities)), key=lambda index: (priorities[index], index))
