"""The words of one command, read from the left."""

from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault, SourceToken, raise_fault
from trunkline.importers.common.quantities import (
    TC_RATES,
    TC_SIZES,
    TC_TIMES,
    parse_quantity,
    probability,
    read_integer,
)


@dataclass(slots=True)
class WordReader:
    """Words of a command, and how far they are read."""

    words: list[SourceToken]
    position: int = 0

    def has_more(self) -> bool:
        """Whether a word is left."""
        return self.position < len(self.words)

    def peek_text(self) -> str:
        """The next word; empty at the end."""
        return self.words[self.position].text if self.has_more() else ""

    def take_word(self, expected: str) -> SourceToken:
        """The next word, which must be there."""
        if not self.has_more():
            last = self.words[-1]
            end = last.column + len(last.text)
            raise ImportFault(last.line, end, f"the command ends where {expected} is expected")
        self.position += 1
        return self.words[self.position - 1]

    def skip_word(self, *texts: str) -> bool:
        """Read the next word if it is one of these."""
        if self.has_more() and self.peek_text() in texts:
            self.position += 1
            return True
        return False

    def read_rate(self) -> int:
        """Read a rate [bit/s]."""
        word = self.take_word("a rate")
        value = parse_quantity(word, TC_RATES, "a rate")
        if value < 1:
            raise_fault(word, f"{word.text} is no rate above zero")
        return value

    def read_rate_or_zero(self) -> int:
        """Read a rate that may be 0 [bit/s]."""
        return parse_quantity(self.take_word("a rate"), TC_RATES, "a rate")

    def read_size(self) -> int:
        """Read a size [B]; a cell size, behind a slash, changes nothing here."""
        word = self.take_word("a size")
        size_word = SourceToken(word.text.partition("/")[0], word.line, word.column)
        return parse_quantity(size_word, TC_SIZES, "a size")

    def read_time(self) -> int:
        """Read a time [ns]."""
        return parse_quantity(self.take_word("a time"), TC_TIMES, "a time")

    def read_number(self, low: int, high: int) -> int:
        """Read a whole number, decimal, 0x hexadecimal or 0 octal as strtoul reads it."""
        word = self.take_word("a number")
        is_octal = len(word.text) > 1 and word.text[0] == "0" and word.text.isdigit()
        value = read_integer(word, "whole number", base=8 if is_octal else 0)
        if not low <= value <= high:
            raise_fault(word, f"{word.text} is out of range", f"{low} to {high}")
        return value

    def read_probability(self) -> float:
        """Read a probability."""
        return probability(self.take_word("a probability"))

    def read_ids(self) -> tuple[int, int]:
        """Major and minor number, hexadecimal: ``1:10``, ``1:``, ``:10``; ``10`` is ``0:10``."""
        word = self.take_word("an identifier")
        major, colon, minor = word.text.partition(":")
        if not colon:
            major, minor = "0", major
        expected, known = "identifier", "MAJOR:MINOR, both hexadecimal"
        one, other = (
            read_integer(word, expected, known, part=part or "0", base=16)
            for part in (major, minor)
        )
        if max(one, other) > 0xFFFF:
            raise_fault(word, f"{word.text} is no {expected}", known)
        return one, other
