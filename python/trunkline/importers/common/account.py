"""The account of an import: elements of a file that were read, left out or assumed.

An element of a file is in exactly one of read and left out; `file_elements` holds readers of trees
and tables to that. An assumption is a rule that gave a value which the file does not have.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from trunkline.scenario.diagnostic import escape_unprintable, shortened

MAX_COMMENT_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class AccountEntry:
    """Elements of one kind, treated alike."""

    # Their name in the file (``links/link/setupCost``), or the assumption.
    element: str
    count: int  # How many there are.
    # Their translation, the reason to leave them out, or the assumed rule; may be empty for what
    # was read.
    reason: str
    line: int  # Where the first one is, from 1; 0: unknown.

    def render(self) -> str:
        """Render it as text for people: ``links/link/setupCost (17, first in line 12): reason``."""
        place = f", first in line {self.line}" if self.count > 1 else f"line {self.line}"
        if self.line == 0:
            place = ""
        number = str(self.count) if self.count > 1 else ""
        behind = f" ({number}{place})" if number or place else ""
        reason = f": {self.reason}" if self.reason else ""
        return escape_unprintable(f"{self.element}{behind}{reason}")


class ImportAccount:
    """Lines of a file that were read, left out and assumed, each with its count."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], AccountEntry] = {}
        self._left_out: dict[tuple[str, str], AccountEntry] = {}
        self._assumed: dict[tuple[str, str], AccountEntry] = {}

    @property
    def read(self) -> tuple[AccountEntry, ...]:
        """Items that are in the result."""
        return tuple(self._read.values())

    @property
    def left_out(self) -> tuple[AccountEntry, ...]:
        """Items of the file that are not in the result."""
        return tuple(self._left_out.values())

    @property
    def assumed(self) -> tuple[AccountEntry, ...]:
        """Items of the result that are not in the file."""
        return tuple(self._assumed.values())

    def add_read(self, element: str, became: str = "", *, count: int = 1, line: int = 0) -> None:
        """Count elements as read; ``became``: their form in the result."""
        _add_entry(self._read, element, became, count, line)

    def add_left_out(self, element: str, reason: str, *, count: int = 1, line: int = 0) -> None:
        """Count elements as left out for a reason."""
        _add_entry(self._left_out, element, reason, count, line)

    def add_assumption(self, element: str, rule: str, *, count: int = 1, line: int = 0) -> None:
        """Count values that a rule gave."""
        _add_entry(self._assumed, element, rule, count, line)

    def add_account(self, other: ImportAccount, part: str) -> None:
        """Add all of the account of another file, elements under the name of its part."""
        for own, others in (
            (self._read, other.read),
            (self._left_out, other.left_out),
            (self._assumed, other.assumed),
        ):
            for each in others:
                element = f"{part}: {each.element}"
                _add_entry(own, element, each.reason, each.count, each.line)

    def to_dict(self) -> dict[str, list[dict[str, object]]]:
        """The account as JSON: lists ``read``, ``left_out`` and ``assumed``."""
        return {
            title: [
                {
                    "element": each.element,
                    "count": each.count,
                    "reason": each.reason,
                    "line": each.line or None,
                }
                for each in entries
            ]
            for title, entries in self._list_parts()
        }

    def render_lines(self) -> list[str]:
        """A line for each entry, as ``--explain`` prints it."""
        return [
            f"{title.replace('_', ' ')}: {each.render()}"
            for title, entries in self._list_parts()
            for each in entries
        ]

    def render_comment(self) -> list[str]:
        """Render the comment at the head of the result; the read elements are one paragraph."""
        read = ", ".join(f"{each.element} {each.count}" for each in self.read)
        paragraphs = [f"read: {escape_unprintable(read)}"] if read else []
        paragraphs += [line for line in self.render_lines() if not line.startswith("read: ")]
        return [
            line
            for paragraph in paragraphs
            for line in textwrap.wrap(
                paragraph,
                MAX_COMMENT_COLUMNS,
                initial_indent="# ",
                subsequent_indent="#   ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]

    def _list_parts(self) -> tuple[tuple[str, tuple[AccountEntry, ...]], ...]:
        return (("read", self.read), ("left_out", self.left_out), ("assumed", self.assumed))


def _add_entry(
    entries: dict[tuple[str, str], AccountEntry], element: str, reason: str, count: int, line: int
) -> None:
    if count < 1:
        return
    element, reason = shortened(element), shortened(reason)
    earlier = entries.get((element, reason))
    if earlier is not None:
        count, line = earlier.count + count, earlier.line or line
    entries[element, reason] = AccountEntry(element, count, reason, line)
