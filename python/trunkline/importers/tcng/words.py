"""The words of a tcng configuration, read from the left."""

from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault, Word, refuse
from trunkline.importers.common.quantities import whole_number

Parameters = dict[str, list[Word]]
"""Values of ``(rate 2.8Mbps, bounded)`` by name; a name alone has itself for a value."""


@dataclass(slots=True)
class Cursor:
    """Words, and how far they are read."""

    words: list[Word]
    lines: int
    at: int = 0

    def more(self) -> bool:
        """Whether a word is left."""
        return self.at < len(self.words)

    def peek(self) -> str:
        """The next word; empty past the end."""
        return self.words[self.at].text if self.more() else ""

    def here(self) -> Word:
        """The next word itself."""
        if not self.more():
            raise ImportFault(self.lines, 1, "the configuration ends where more is expected")
        return self.words[self.at]

    def take(self, wanted: str | None = None) -> Word:
        """The next word, which must be there, and be this one if one is given."""
        if not self.more():
            said = wanted or "more"
            raise ImportFault(self.lines, 1, f"the configuration ends where {said} is expected")
        word = self.words[self.at]
        if wanted is not None and word.text != wanted:
            refuse(word, f"{word.text} stands where {wanted} is expected")
        self.at += 1
        return word

    def skip(self, text: str) -> bool:
        """Read the next word if it is this one."""
        if self.peek() == text:
            self.at += 1
            return True
        return False

    def number(self, low: int, high: int) -> int:
        """A whole number."""
        word = self.take()
        value = whole_number(word, "whole number")
        if not low <= value <= high:
            refuse(word, f"{word.text} is out of range", f"{low} to {high}")
        return value

    def parameters(self) -> Parameters:
        """What stands in brackets, if there are any."""
        result: Parameters = {}
        if not self.skip("("):
            return result
        while not self.skip(")"):
            if self.skip("<"):
                result.setdefault("<", []).append(self.take())
                self.take(">")
            else:
                name = self.take()
                values = [] if self.peek() in (",", ")") else [self.take()]
                result.setdefault(name.text, []).extend(values or [name])
            if self.peek() != ")":
                self.take(",")
        return result
