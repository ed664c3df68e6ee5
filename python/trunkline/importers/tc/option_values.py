"""Readers of the values of options."""

from collections.abc import Callable
from typing import Any

from trunkline.importers.common.fault import SourceToken
from trunkline.importers.tc.word_reader import WordReader

OptionReader = Callable[[WordReader], Any]
OptionTable = dict[str, tuple[str, OptionReader]]
"""Reader of each word, and the name of its option; an empty name is left out."""


def read_flag(reader: WordReader) -> bool:
    """Read a word that stands alone."""
    return True


def make_word_reader(description: str) -> OptionReader:
    """Return a word unchanged; ``description`` names it where it is missing."""
    return lambda reader: reader.take_word(description)


def make_count_reader(low: int, high: int) -> OptionReader:
    """Make a whole number within bounds."""
    return lambda reader: reader.read_number(low, high)


def _assign_reader(words: str, option_reader: OptionReader) -> dict[str, OptionReader]:
    return dict.fromkeys(words.split(), option_reader)


_DEFAULT_READERS = {
    **_assign_reader("bandwidth rate ceil peakrate", WordReader.read_rate),
    **_assign_reader(
        "avpkt allot mpu cell min max limit burst buffer maxburst minburst mtu",
        WordReader.read_size,
    ),
    **_assign_reader(
        "cburst cbuffer quantum memory_limit memlimit initial_quantum", WordReader.read_size
    ),
    **_assign_reader("latency target interval ce_threshold tupdate rtt", WordReader.read_time),
    **_assign_reader("overhead linklayer split", make_word_reader("a value")),
    "dev": make_word_reader("a device"),
    "parent": WordReader.read_ids,
    "probability": WordReader.read_probability,
}
"""Reader of a word's value by default; all other words have no value."""


def make_option_table(words: str, **readers: OptionReader) -> OptionTable:
    """Make the words of a discipline, in order.

    words: ``word``; ``word=option`` where it sets an option of another name, ``word=`` where it is
        left out.
    readers: How words are read that this discipline has for itself.
    """
    option_table = {}
    for entry in words.split():
        word, is_renamed, option = entry.partition("=")
        read = readers.get(word) or _DEFAULT_READERS.get(word, read_flag)
        option_table[word] = (option if is_renamed else word, read)
    return option_table


def read_head(
    reader: WordReader, description: str, option_table: OptionTable
) -> tuple[SourceToken, dict[str, Any]]:
    """Find the first unknown word, and the words before it."""
    values = {}
    while (word := reader.take_word(description)).text in option_table:
        name, read = option_table[word.text]
        values[name] = read(reader)
    return word, values
