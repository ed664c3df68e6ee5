"""How the values of options are read."""

from collections.abc import Callable
from typing import Any

from trunkline.importers.common.fault import Word
from trunkline.importers.tc.words import Reader

Read = Callable[[Reader], Any]
Table = dict[str, tuple[str, Read]]
"""How each word is read, and the name of the option it sets; an empty name is left out."""


def flag(reader: Reader) -> bool:
    """A word that stands alone."""
    return True


def taken(what: str) -> Read:
    """A word as it is; ``what`` is said where it is missing."""
    return lambda reader: reader.take(what)


def count(low: int, high: int) -> Read:
    """A whole number within bounds."""
    return lambda reader: reader.number(low, high)


def _all(words: str, read: Read) -> dict[str, Read]:
    return dict.fromkeys(words.split(), read)


_USUAL = {
    **_all("bandwidth rate ceil peakrate", Reader.rate),
    **_all("avpkt allot mpu cell min max limit burst buffer maxburst minburst mtu", Reader.size),
    **_all("cburst cbuffer quantum memory_limit memlimit initial_quantum", Reader.size),
    **_all("latency target interval ce_threshold tupdate rtt", Reader.time),
    **_all("overhead linklayer split estimator", taken("a value")),
    "dev": taken("a device"),
    "parent": Reader.ids,
    "probability": Reader.probability,
}
"""How a word is read wherever nothing else is said; all others stand alone."""


def table(words: str, **own: Read) -> Table:
    """The words of a discipline, in order.

    Parameters
    ----------
    words : str
        ``word``; ``word=option`` where it sets an option of another name, ``word=`` where it is
        left out.
    own : callable
        How words are read that this discipline has for itself.
    """
    made = {}
    for each in words.split():
        word, renamed, option = each.partition("=")
        read = own.get(word) or _USUAL.get(word, flag)
        made[word] = (option if renamed else word, read)
    return made


def head(reader: Reader, what: str, known: Table) -> tuple[Word, dict[str, Any]]:
    """The first word that is not known, ``what`` by its meaning, and what those before it say."""
    found = {}
    while (word := reader.take(what)).text in known:
        name, read = known[word.text]
        found[name] = read(reader)
    return word, found
