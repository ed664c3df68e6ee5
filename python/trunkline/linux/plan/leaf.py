"""Where the packets of a class wait in a port's qdiscs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.aqm import queue
from trunkline.linux.plan.outlet import Outlet

if TYPE_CHECKING:
    from trunkline.network.types.ports import PriorityShare, ShapedShare

_MOST_BANDS: Final = 16


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where the packets of one class wait.

    Parameters
    ----------
    handle : str
        Handle of its queue's qdisc.
    kind : str
        Kind of that qdisc.
    priority : str
        What ``skbedit priority`` sends a packet there; empty: it goes there by itself.
    tin : int, optional
        Which of the tins of a cake it is, as the kernel numbers them; None: the whole qdisc.
    """

    handle: str
    kind: str
    priority: str
    tin: int | None = None


def leaf(out: Outlet, index: int, parent: str, priority: str) -> Leaf:
    """Says the queue of the class ``index``: at ``parent``, reached by ``priority``."""
    handle = f"{0x100 + index:x}:"
    kind = queue(out, index, parent, handle)
    out.queue(index).need(kind)
    return Leaf(handle, kind, priority)


def order(out: Outlet, shares: Sequence[PriorityShare | ShapedShare]) -> list[int]:
    """Classes by priority; the kernel's have a rank each."""
    priorities = [its["priority"] for its in shares]
    if len(set(priorities)) < len(priorities):
        out.part.refuse(
            "classes of equal priority take turns, the bands of Linux's prio do not; "
            "nearest: htb classes of one priority (scheduler: htb)",
            "classes",
        )
    if len(priorities) > _MOST_BANDS:
        why = f"Linux's prio has at most {_MOST_BANDS} bands; nearest: {_MOST_BANDS} classes"
        out.part.refuse(why, "classes")
    return sorted(range(len(priorities)), key=lambda index: (priorities[index], index))
