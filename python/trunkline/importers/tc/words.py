"""The words of one command, read from the left."""

from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault, Word, refuse
from trunkline.importers.common.quantities import (
    TC_RATES,
    TC_SIZES,
    TC_TIMES,
    probability,
    quantity,
    whole_number,
)


@dataclass(slots=True)
class Reader:
    """Words of a command, and how far they are read."""

    words: list[Word]
    at: int = 0

    def more(self) -> bool:
        """Whether a word is left."""
        return self.at < len(self.words)

    def peek(self) -> str:
        """The next word; empty at the end."""
        return self.words[self.at].text if self.more() else ""

    def take(self, what: str) -> Word:
        """The next word, which must be there."""
        if not self.more():
            last = self.words[-1]
            end = last.column + len(last.text)
            raise ImportFault(last.line, end, f"the command ends where {what} is expected")
        self.at += 1
        return self.words[self.at - 1]

    def skip(self, *texts: str) -> bool:
        """Read the next word if it is one of these."""
        if self.more() and self.peek() in texts:
            self.at += 1
            return True
        return False

    def rate(self) -> int:
        """A rate [bit/s]."""
        word = self.take("a rate")
        value = quantity(word, TC_RATES, "a rate")
        if value < 1:
            refuse(word, f"{word.text} is no rate above zero")
        return value

    def size(self) -> int:
        """A size [B]; what follows a slash, a cell size, changes nothing here."""
        word = self.take("a size")
        bare = Word(word.text.partition("/")[0], word.line, word.column)
        return quantity(bare, TC_SIZES, "a size")

    def time(self) -> int:
        """A time [ns]."""
        return quantity(self.take("a time"), TC_TIMES, "a time")

    def number(self, low: int, high: int) -> int:
        """A whole number, decimal, 0x hexadecimal or 0 octal as strtoul reads it."""
        word = self.take("a number")
        is_octal = len(word.text) > 1 and word.text[0] == "0" and word.text.isdigit()
        value = whole_number(word, "whole number", base=8 if is_octal else 0)
        if not low <= value <= high:
            refuse(word, f"{word.text} is out of range", f"{low} to {high}")
        return value

    def probability(self) -> float:
        """A probability."""
        return probability(self.take("a probability"))

    def ids(self) -> tuple[int, int]:
        """Major and minor number, hexadecimal: ``1:10``, ``1:``, ``:10``."""
        word = self.take("an identifier")
        major, colon, minor = word.text.partition(":")
        what, known = "identifier", "MAJOR:MINOR, both hexadecimal"
        one, other = (
            whole_number(word, what, known, part=part or "0", base=16) for part in (major, minor)
        )
        if not colon or max(one, other) > 0xFFFF:
            refuse(word, f"{word.text} is no {what}", known)
        return one, other
