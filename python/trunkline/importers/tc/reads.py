"""How the values of options are read."""

from collections.abc import Callable

from trunkline.importers.tc.words import Reader

Read = Callable[[Reader], int | float | bool | list[int]]
Table = dict[str, tuple[str, Read]]
"""How each word is read, and the name of the option it sets; an empty name is left out."""


def rate(reader: Reader) -> int:
    """A rate [bit/s]."""
    return reader.rate()


def size(reader: Reader) -> int:
    """A size [B]."""
    return reader.size()


def time(reader: Reader) -> int:
    """A time [ns]."""
    return reader.time()


def flag(reader: Reader) -> bool:
    """A word that stands alone."""
    return True


def probability(reader: Reader) -> float:
    """A probability."""
    return reader.probability()


def count(low: int, high: int) -> Read:
    """A whole number within bounds."""
    return lambda reader: reader.number(low, high)
