"""What a runner needs, what of it this machine has, and what to do about the rest."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trunkline.linux.guest import frr, native, qemu, uml
from trunkline.linux.guest.cache import agent
from trunkline.linux.guest.needs import Part
from trunkline.linux.plan.frr import NAME as FRR

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNNERS: Final = ("uml", "qemu", "native")
"""In the order in which one is chosen; ``native`` is never chosen, only asked for."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a runner can run."""

    runner: str
    parts: tuple[Part, ...]

    @property
    def ready(self) -> bool:
        """Nothing is missing."""
        return all(part.found for part in self.parts)

    @property
    def reason(self) -> str:
        """What is missing and what to do about it; empty if nothing is."""
        return "; ".join(f"{part.name}: {part.detail}" for part in self.parts if not part.found)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = [{"name": p.name, "found": p.found, "detail": p.detail} for p in self.parts]
        return {"runner": self.runner, "ready": self.ready, "parts": parts}


class Unready(Exception):
    """No runner can run, or not the one that was asked for.

    Parameters
    ----------
    states : iterable of Readiness
        Of those that were considered.
    """

    def __init__(self, states: Iterable[Readiness]) -> None:
        self.states = tuple(states)
        lines = [f"{state.runner} is not ready: {state.reason}" for state in self.states]
        super().__init__("\n".join(lines))


def examine(runner: str) -> Readiness:
    """Look at what a runner needs.

    Parameters
    ----------
    runner : {"uml", "qemu", "native", "frr"}
        Which; ``frr`` is no runner, but runs in one.
    """
    common = [_system(), _agent()]
    if not common[0].found:
        return Readiness(runner, tuple(common))
    needs = {"uml": uml.needs, "qemu": qemu.needs, "native": native.needs, FRR: frr.needs}
    own = needs[runner]()
    return Readiness(runner, (*common, *own))


def lacks(runner: str) -> frozenset[str]:
    """Modules of disciplines that a runner's kernel does not have; `native` says so in a run."""
    if runner == uml.NAME:
        return uml.lacks()
    return qemu.lacks() if runner == qemu.NAME else frozenset()


def choose(runner: str | None, control: str | None = None) -> str:
    """The runner to use.

    Parameters
    ----------
    runner : str or None
        The one asked for; None: the first of ``uml`` and ``qemu`` that is ready.
    control : {"frr"}, optional
        Daemons that are to run in it; they run in ``uml``.

    Raises
    ------
    Unready
    """
    states = []
    listed = RUNNERS[:2] if runner is None else (runner,)
    if control is not None:
        listed = (uml.NAME,)
        if not (its := examine(control)).ready:
            raise Unready([its])
    for name in listed:
        state = examine(name)
        # A plan may need less of the host's kernel than scenarios do; it says what it refuses.
        lacking = {part.name for part in state.parts if not part.found}
        if not lacking or (name, lacking) == (native.NAME, {native.KERNEL}):
            return name
        states.append(state)
    raise Unready(states)


def _system() -> Part:
    found = sys.platform == "linux"
    detail = f"{platform.system()} {platform.machine()}"
    return Part("system", found, detail if found else f"{detail}; the Linux engine needs Linux")


def _agent() -> Part:
    if agent() is not None:
        return Part("agent", True, "in the package")
    return Part("agent", False, "left out when the package was built: build it again with rustc")
