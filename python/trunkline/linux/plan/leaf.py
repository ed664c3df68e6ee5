"""Where the packets of a class wait in a port's qdiscs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.addresses import Side
from trunkline.linux.plan.aqm import queue
from trunkline.linux.plan.script import Script

if TYPE_CHECKING:
    from trunkline.network.types.ports import Port, PriorityShare, ShapedShare

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


def leaf(
    script: Script,
    side: Side,
    config: Port,
    index: int,
    parent: str,
    priority: str,
) -> Leaf:
    """Says the queue of the class ``index``: at ``parent``, reached by ``priority``."""
    its = config["classes"][index]
    handle = f"{0x100 + index:x}:"
    kind = queue(script, side, its["queue"], parent, handle, (config["name"], its["name"]))
    place = ("ports", config["name"], "classes", its["name"], "queue")
    need(script, f"queue of {config['name']}.{its['name']}", kind, place)
    return Leaf(handle, kind, priority)


def need(script: Script, what: str, kind: str, place: tuple[str, ...]) -> None:
    """Refuses a kind of qdisc whose module the kernel does not have."""
    module = f"sch_{kind}"
    if module in script.ground.lacks:
        script.refuse(
            place, f"{what}: this runner's kernel has no module {module}; nearest: --runner uml"
        )


def order(script: Script, config: Port, shares: Sequence[PriorityShare | ShapedShare]) -> list[int]:
    """Classes by priority; the kernel's have a rank each."""
    priorities = [its["priority"] for its in shares]
    if len(set(priorities)) < len(priorities):
        script.refuse(
            ("ports", config["name"], "classes"),
            f"port {config['name']}: classes of equal priority take turns, the bands of Linux's "
            "prio do not; nearest: htb classes of one priority (scheduler: htb)",
        )
    if len(priorities) > _MOST_BANDS:
        script.refuse(
            ("ports", config["name"], "classes"),
            f"port {config['name']}: Linux's prio has at most {_MOST_BANDS} bands; "
            f"nearest: {_MOST_BANDS} classes",
        )
    return sorted(range(len(priorities)), key=lambda index: (priorities[index], index))
