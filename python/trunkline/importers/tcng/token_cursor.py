"""The words of a tcng configuration, read from the left."""

from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault, SourceToken, raise_fault
from trunkline.importers.common.quantities import read_integer

GivenParameters = dict[str, list[SourceToken]]
"""Values of ``(rate 2.8Mbps, bounded)`` by name; a name alone has itself for a value."""


@dataclass(slots=True)
class TokenCursor:
    """Words, and how far they are read."""

    words: list[SourceToken]
    line_count: int
    position: int = 0

    def has_more(self) -> bool:
        """Whether a word is left."""
        return self.position < len(self.words)

    def peek_text(self) -> str:
        """The next word; empty past the end."""
        return self.words[self.position].text if self.has_more() else ""

    def get_next(self) -> SourceToken:
        """Return the next word itself."""
        if not self.has_more():
            raise ImportFault(self.line_count, 1, "the configuration ends where more is expected")
        return self.words[self.position]

    def take_word(self, expected: str | None = None) -> SourceToken:
        """The next word, which must be there, and be this one if one is given."""
        if not self.has_more():
            expected_text = expected or "more"
            raise ImportFault(
                self.line_count, 1, f"the configuration ends where {expected_text} is expected"
            )
        word = self.words[self.position]
        if expected is not None and word.text != expected:
            raise_fault(word, f"{word.text} is where {expected} is expected")
        self.position += 1
        return word

    def skip_word(self, text: str) -> bool:
        """Read the next word if it is this one."""
        if self.peek_text() == text:
            self.position += 1
            return True
        return False

    def read_number(self, low: int, high: int) -> int:
        """Read a whole number."""
        word = self.take_word()
        value = read_integer(word, "whole number")
        if not low <= value <= high:
            raise_fault(word, f"{word.text} is out of range", f"{low} to {high}")
        return value

    def read_parameters(self) -> GivenParameters:
        """Read the parameters in brackets, if there are any."""
        result: GivenParameters = {}
        if not self.skip_word("("):
            return result
        while not self.skip_word(")"):
            if self.skip_word("<"):
                result.setdefault("<", []).append(self.take_word())
                self.take_word(">")
            else:
                name = self.take_word()
                values = [] if self.peek_text() in (",", ")") else [self.take_word()]
                result.setdefault(name.text, []).extend(values or [name])
            if self.peek_text() != ")":
                self.take_word(",")
        return result
