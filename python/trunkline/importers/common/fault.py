"""An element that an importer cannot translate, and its place."""

from dataclasses import dataclass
from typing import NoReturn

from trunkline.scenario.diagnostic import shortened


@dataclass(frozen=True, slots=True)
class SourceToken:
    """A word of a configuration and its place."""

    text: str  # The word, variables and macros replaced.
    # line, column: Where it stands, both from 1.
    line: int
    column: int


class ImportFault(ValueError):
    """A configuration that is not translated.

    line, column: Place, both from 1; line 0: the file as a whole.
    message: The fault there, with the given text.
    known: Texts that would have been read; empty if they do not help.
    file: Where it stands, if that is another file than the one asked for.
    others: tuple of ImportFault; further faults, further down.
    """

    def __init__(self, line: int, column: int, message: str, known: str = ""):
        self.line = line
        self.column = column
        self.message = shortened(message)
        self.known = shortened(known)
        self.file = ""
        self.others: tuple[ImportFault, ...] = ()
        super().__init__(self.render())

    def render(self, file: str = "") -> str:
        """Render it as text for people, a line for each fault."""
        place = ":".join(filter(None, [file, f"{self.line}:{self.column}" if self.line else ""]))
        known = f"; known: {self.known}" if self.known else ""
        lines = [f"{place}: {self.message}{known}", *(each.render(file) for each in self.others)]
        return "\n".join(lines)


class MissingPrerequisite(ImportFault):
    """Something that a command before should have made."""


class AbsentProtocol(ImportFault):
    """A condition that no packet of the simulator fulfils: a filter with it takes nothing."""


def make_absent_protocol(at: SourceToken, protocol: str) -> AbsentProtocol:
    """Make the fault of a protocol that the simulator does not have."""
    message = f"protocol {protocol} is not in the simulator"
    return AbsentProtocol(at.line, at.column, message, "tcp (6), udp (17)")


def make_missing_prerequisite(
    at: SourceToken, message: str, known: str = ""
) -> MissingPrerequisite:
    """Make the fault of a name that nothing has; arguments as in `make_fault`."""
    return MissingPrerequisite(at.line, at.column, message, known)


def make_fault(at: SourceToken, message: str, known: str = "") -> ImportFault:
    """Make the fault of a word, to be raised."""
    return ImportFault(at.line, at.column, message, known)


def raise_fault(at: SourceToken, message: str, known: str = "") -> NoReturn:
    """Raise the fault of a word."""
    raise make_fault(at, message, known)
