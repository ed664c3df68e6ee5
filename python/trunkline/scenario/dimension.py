"""Kinds of quantities: their base units, the units people write, and the units that mislead."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

MAX_TIME_NS = 100 * 365 * 86_400 * 10**9
"""Longest time anywhere [ns]: 100 years, below half of the range of signed 64-bit nanoseconds."""
MAX_RATE_BIT_S = 10**13  # Highest rate [bit/s].
MAX_BYTES = 2**62
MAX_PACKETS = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Dimension:
    """A kind of quantity and the text that stands for it."""

    name: str  # Name of the quantity in messages.
    base: str  # Base unit, in which values are whole numbers.
    units: Mapping[str, Fraction]  # Units as written, in base units.
    example: str  # Text that is accepted, for messages.
    # lowest, highest: Range [base unit].
    lowest: int
    highest: int
    # Units that are refused because they have two readings, with the readings.
    ambiguous_units: Mapping[str, str]


_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def _make_rate_units() -> dict[str, Fraction]:
    units: dict[str, Fraction] = {}
    for prefix, factor in (_PREFIXES | _BINARY_PREFIXES).items():
        for name in ("bit/s", "b/s", "bit"):
            units[prefix + name] = Fraction(factor)
        units[prefix.lower() + "bit"] = Fraction(factor)  # as tc prints it
        units[prefix.lower() + "bit/s"] = Fraction(factor)
        units[prefix + "B/s"] = Fraction(8 * factor)
    for prefix in ("k", "M", "G", "T"):
        units[prefix + "bps"] = Fraction(_PREFIXES[prefix])
    return units


def _make_ambiguous_rate_units() -> dict[str, str]:
    ambiguous = {}
    for prefix in ("", "k", "K", "m", "M", "g", "G", "t", "T"):
        shown_prefix = {"k": "k", "m": "M", "g": "G", "t": "T"}.get(prefix.lower(), "")
        readings = f"{shown_prefix}bit/s (bits) or {shown_prefix}B/s (bytes)"
        for name in ("bps", "Bps", "b", "B", "Bit", "Byte", "b/s", "p/s"):
            ambiguous[prefix + name] = readings
    ambiguous["m"] = "Mbit/s"
    ambiguous["M"] = "Mbit/s (bits) or MB/s (bytes)"
    ambiguous["k"] = ambiguous["K"] = "kbit/s (bits) or kB/s (bytes)"
    ambiguous["G"] = "Gbit/s (bits) or GB/s (bytes)"
    return ambiguous


def _make_size_units() -> dict[str, Fraction]:
    units = {"byte": Fraction(1), "bytes": Fraction(1)}
    for prefix, factor in (_PREFIXES | _BINARY_PREFIXES).items():
        units[prefix + "B"] = Fraction(factor)
    return units


def _make_ambiguous_size_units() -> dict[str, str]:
    ambiguous = {}
    for prefix in ("k", "K", "m", "M", "g", "G"):
        shown_prefix = {"k": "k", "m": "M", "g": "G"}[prefix.lower()]
        for name in ("", "b"):
            ambiguous[prefix + name] = (
                f"{shown_prefix}B (1000) or {shown_prefix.upper()}iB (1024), in bytes"
            )
    ambiguous["KB"] = "kB (1000 bytes) or KiB (1024 bytes)"
    ambiguous["b"] = ambiguous["bit"] = "B (bytes)"
    ambiguous["packets"] = "B (bytes)"
    return ambiguous


RATE = Dimension(
    "rate",
    "bit/s",
    _make_rate_units(),
    "10 Mbit/s",
    1,
    MAX_RATE_BIT_S,
    _make_ambiguous_rate_units(),
)
TIME = Dimension(
    "time",
    "ns",
    {
        "ns": Fraction(1),
        "us": Fraction(10**3),
        "µs": Fraction(10**3),
        "μs": Fraction(10**3),
        "ms": Fraction(10**6),
        "s": Fraction(10**9),
        "min": Fraction(60 * 10**9),
        "h": Fraction(3600 * 10**9),
    },
    "10 ms",
    0,
    MAX_TIME_NS,
    {"m": "min (minutes) or ms (milliseconds)", "M": "min (minutes) or ms (milliseconds)"},
)
BYTES = Dimension(
    "size", "B", _make_size_units(), "1500 B", 0, MAX_BYTES, _make_ambiguous_size_units()
)
PACKETS = Dimension(
    "number of packets",
    "packets",
    {"packets": Fraction(1), "packet": Fraction(1)},
    "50 packets",
    0,
    MAX_PACKETS,
    {"p": "packets", "pkts": "packets", "pkt": "packets", "segments": "packets"},
)
RATIO = Dimension("share", "1", {"%": Fraction(1, 100)}, "10 %", 0, 1, {})
