"""Requirements of a runner, which of them this machine has, and how to get the rest."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trunkline.linux.guest import frr_daemons, native, qemu, uml
from trunkline.linux.guest.cache import read_agent
from trunkline.linux.guest.requirements import Requirement
from trunkline.linux.plan.frr_config import NAME as FRR

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNNERS: Final = ("uml", "qemu", "native")
"""Runners in the order of choice; ``native`` runs only on request."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a runner can run."""

    runner: str
    requirements: tuple[Requirement, ...]

    @property
    def is_ready(self) -> bool:
        """Whether nothing is missing."""
        return all(part.found for part in self.requirements)

    @property
    def reason(self) -> str:
        """The missing parts and how to get them; empty if nothing is missing."""
        return "; ".join(
            f"{part.name}: {part.detail}" for part in self.requirements if not part.found
        )

    def to_dict(self) -> dict[str, Any]:
        """Build the JSON object."""
        requirement_dicts = [
            {"name": requirement.name, "found": requirement.found, "detail": requirement.detail}
            for requirement in self.requirements
        ]
        return {"runner": self.runner, "ready": self.is_ready, "parts": requirement_dicts}


class RunnerNotReady(Exception):
    """Neither a runner nor the requested one can run.

    states: States of the considered runners.
    """

    def __init__(self, states: Iterable[Readiness]) -> None:
        self.states = tuple(states)
        lines = [f"{state.runner} is not ready: {state.reason}" for state in self.states]
        super().__init__("\n".join(lines))


def examine_runner(runner: str) -> Readiness:
    """Check the requirements of a runner.

    runner: one of "uml", "qemu", "native", "frr"; which; ``frr`` is no runner, but runs in one.
    """
    common = [_check_system(), _check_agent()]
    if not common[0].found:
        return Readiness(runner, tuple(common))
    listers = {
        "uml": uml.list_requirements,
        "qemu": qemu.list_requirements,
        "native": native.list_requirements,
        FRR: frr_daemons.list_requirements,
    }
    runner_requirements = listers[runner]()
    return Readiness(runner, (*common, *runner_requirements))


def list_missing_modules(runner: str) -> frozenset[str]:
    """Modules of disciplines that a runner's kernel does not have; `native` says so in a run."""
    if runner == uml.NAME:
        return uml.list_missing_modules()
    return qemu.list_missing_modules() if runner == qemu.NAME else frozenset()


def choose_runner(runner: str | None, control: str | None = None) -> str:
    """Choose the runner to use.

    runner: The one asked for; None: the first of ``uml`` and ``qemu`` that is ready.
    control: "frr"; daemons that are to run in it; they run in ``uml``.
    Raises RunnerNotReady.
    """
    states = []
    candidates = RUNNERS[:2] if runner is None else (runner,)
    if control is not None:
        candidates = (uml.NAME,)
        if not (control_readiness := examine_runner(control)).is_ready:
            raise RunnerNotReady([control_readiness])
    for name in candidates:
        state = examine_runner(name)
        # A plan may need less of the host's kernel than scenarios do; it lists what it refuses.
        missing = {part.name for part in state.requirements if not part.found}
        if not missing or (name, missing) == (native.NAME, {native.KERNEL_REQUIREMENT}):
            return name
        states.append(state)
    raise RunnerNotReady(states)


def _check_system() -> Requirement:
    found = sys.platform == "linux"
    detail = f"{platform.system()} {platform.machine()}"
    return Requirement(
        "system", found, detail if found else f"{detail}; the Linux engine needs Linux"
    )


def _check_agent() -> Requirement:
    if read_agent() is not None:
        return Requirement("agent", True, "in the package")
    return Requirement(
        "agent", False, "left out when the package was built: build it again with rustc"
    )
