"""Commands during their collection: by node and program, each with its purpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget
from trunkline.results.terminal_tables import escape_unprintable

if TYPE_CHECKING:
    from trunkline.scenario import Scenario, ScenarioError

ConfigProgram = Literal["sysctl", "ip", "mpls", "tc"]


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """Something that the Linux kernel does not have."""

    text: str  # What, and what is nearest to it.
    path: tuple[str, ...]  # Where the scenario asks for it, by the names of the compiled network.


class UnsupportedError(ValueError):
    """The scenario asks for what the Linux kernel does not have.

    reasons: What, and what is nearest to it.
    """

    def __init__(self, reasons: list[UnsupportedFeature]) -> None:
        self.reasons = reasons
        super().__init__("\n".join(each.text for each in reasons))

    def render(self) -> str:
        """Render it for a command without the scenario's file: one line a reason."""
        return "\n".join(f"error[linux]: {escape_unprintable(each.text)}" for each in self.reasons)

    def to_scenario_error(self, scenario: Scenario) -> ScenarioError:
        """The same, with file, line and column."""
        from trunkline.scenario.unsupported import make_unsupported_error

        return make_unsupported_error(
            "linux", scenario, [(each.text, each.path) for each in self.reasons]
        )


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    program: ConfigProgram  # Which program reads it; a sysctl is ``key=value``.
    line: str  # Input of that program, generated names only.
    purpose: str = ""  # Its purpose in the scenario's words; empty: as the command before it.
    # It stands for the wire between routers, which a real network has already.
    is_wire: bool = False


@dataclass
class CommandScript:
    """Commands of every node, with the keys that they omit or approximate."""

    commands: list[list[Command]]  # By node, in order.
    # Features that the kernel lacks; empty if it has all.
    reasons: list[UnsupportedFeature] = field(default_factory=list)
    # Differences of the kernel, one sentence each.
    notes: list[str] = field(default_factory=list)
    target: CommandTarget = GUEST_TARGET  # Where the commands are to run.

    @classmethod
    def for_nodes(cls, nodes: int, target: CommandTarget = GUEST_TARGET) -> CommandScript:
        """A script without a command."""
        return cls([[] for _ in range(nodes)], target=target)

    def add_command(
        self,
        node: int,
        program: ConfigProgram,
        line: str,
        purpose: str = "",
        *,
        is_wire: bool = False,
    ) -> None:
        """Add a command; real routers have a wire already, those of a laboratory do not."""
        if is_wire and self.target.on_routers and not self.target.adds_wires:
            return
        self.commands[node].append(Command(program, line, purpose, is_wire))

    def refuse(self, path: tuple[str, ...], reason: str) -> None:
        """Record an unsupported feature with its place and the reason, once."""
        if all(reason != each.text for each in self.reasons):
            self.reasons.append(UnsupportedFeature(reason, path))

    def add_note(self, note: str) -> None:
        """Add a note once."""
        if note not in self.notes:
            self.notes.append(note)

    def list_lines(self, node: int, program: ConfigProgram) -> tuple[str, ...]:
        """List the lines of one program at a node, in order."""
        return tuple(each.line for each in self.commands[node] if each.program == program)


@dataclass(frozen=True, slots=True)
class ScenarioPart:
    """An element of a scenario; its name begins each note about it."""

    script: CommandScript
    name: str  # ``queue of core.EF``.
    path: tuple[str, ...]  # Where the scenario has it.

    def refuse(self, reason: str, *key: str) -> None:
        """Record an unsupported feature of it, and the key that asks for it."""
        self.script.refuse((*self.path, *key), f"{self.name}: {reason}")

    def add_note(self, difference: str) -> None:
        """Record a difference of the kernel for it."""
        self.script.add_note(f"{self.name}: {difference}")

    def require_qdisc(self, qdisc: str, *key: str) -> None:
        """Refuse a kind of qdisc whose module the kernel does not have."""
        if (module := f"sch_{qdisc}") in self.script.target.missing_modules:
            reason = f"this runner's kernel has no module {module}; nearest: --runner uml"
            self.refuse(reason, *key)
