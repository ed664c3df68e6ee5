"""Quantities of tc and of tcng: the same suffix means different things to them.

Source: tc(8), "Parameters" (kbit is 1000 bit, kbps 1000 byte a second, kb 1024 byte, a bare rate
is in bit/s, a bare time in microseconds); tcng reference manual (2002), "Units" (kbps is 1000
bit/s, kB 1000 byte, p packets).
"""

import re
from collections.abc import Mapping
from fractions import Fraction

from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.scenario.units import parse_integer, parse_number, parse_real

_DECIMAL_PREFIXES = ((1, ""), (10**3, "k"), (10**6, "m"), (10**9, "g"), (10**12, "t"))
_BINARY_PREFIXES = ((2**10, "ki"), (2**20, "mi"), (2**30, "gi"), (2**40, "ti"))

TC_RATES: dict[str, Fraction] = {
    "": Fraction(1),
    **{
        f"{prefix}bit": Fraction(scale) for scale, prefix in (*_DECIMAL_PREFIXES, *_BINARY_PREFIXES)
    },
    **{
        f"{prefix}bps": Fraction(8 * scale)
        for scale, prefix in (*_DECIMAL_PREFIXES, *_BINARY_PREFIXES)
    },
}
"""Rates [bit/s]."""
TC_SIZES: dict[str, Fraction] = {
    "": Fraction(1),
    "b": Fraction(1),
    **{f"{p}{b}": Fraction(2**n) for n, p in ((10, "k"), (20, "m"), (30, "g")) for b in ("", "b")},
    **{f"{p}bit": Fraction(2**n, 8) for n, p in ((10, "k"), (20, "m"), (30, "g"))},
}
"""Sizes [B]."""
TC_TIMES: dict[str, Fraction] = {
    **dict.fromkeys(("", "us", "usec", "usecs"), Fraction(10**3)),
    **dict.fromkeys(("ms", "msec", "msecs"), Fraction(10**6)),
    **dict.fromkeys(("s", "sec", "secs"), Fraction(10**9)),
    **dict.fromkeys(("ns", "nsec", "nsecs"), Fraction(1)),
}
"""Times [ns]."""

TCNG_RATES: dict[str, Fraction] = {f"{p}bps": Fraction(s) for s, p in _DECIMAL_PREFIXES}
"""Rates [bit/s]."""
TCNG_SIZES: dict[str, Fraction] = {
    **{f"{p}b": Fraction(s) for s, p in _DECIMAL_PREFIXES},
    **{f"{p}bit": Fraction(s, 8) for s, p in _DECIMAL_PREFIXES},
}
"""Sizes [B]."""
TCNG_TIMES: dict[str, Fraction] = {
    "s": Fraction(10**9),
    "ms": Fraction(10**6),
    "us": Fraction(10**3),
}
"""Times [ns]."""

_QUANTITY = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([A-Za-z]*)\Z")


def parse_quantity(word: SourceToken, units: Mapping[str, Fraction], meaning: str) -> int:
    """Parse a quantity in base units, rounded down as tc does.

    units: Size of each suffix, in lower case, in base units.
    meaning: ``a rate``, ``a size`` and so on, for the message.
    Raises ImportFault: The word is no such number.
    """
    found = _QUANTITY.match(word.text)
    exact = None if found is None else parse_number(found[1])
    if found is None or exact is None or found[2].lower() not in units:
        known = ", ".join(unit for unit in units if unit)
        raise_fault(
            word, f"{word.text} is no {meaning.removeprefix('a ')}", f"a number with {known}"
        )
    return int(exact * units[found[2].lower()])


def read_integer(
    word: SourceToken, meaning: str, known: str = "", *, part: str | None = None, base: int = 0
) -> int:
    """Read a integer_digits number.

    meaning: ``mark``, ``class`` and so on, for the message.
    known: Texts that would have been read.
    part: The part of the word that is the number; all of it if left out.
    base: 2 to 36, or 0: by its prefix, as ``0x1f``.
    Raises ImportFault: The word is no such number.
    """
    value = parse_integer(word.text if part is None else part, base)
    if value is None:
        raise_fault(word, f"{word.text} is no {meaning}", known)
    return value


def probability(word: SourceToken) -> float:
    """A probability above 0, up to 1. Raises ImportFault: The word is no such number."""
    value = parse_real(word.text)
    if value is None or not 0 < value <= 1:
        raise_fault(word, f"{word.text} is no probability", "above 0, up to 1")
    return value
