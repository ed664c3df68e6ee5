"""Quantities as text: exact integers in base units, and back.

Rates are bit/s, times ns, sizes B. A number without a unit is refused, and so is a unit that
people read in two ways (``10 mb``, ``10 MBps``, ``5 m``): the message names the likely readings.
``k`` is 1000, ``Ki`` is 1024. Nothing is rounded: text that is no whole number of base units is
refused.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from trunkline.scenario.dimension import (
    BYTES,
    MAX_BYTES,
    MAX_PACKETS,
    MAX_RATE_BIT_S,
    MAX_TIME_NS,
    PACKETS,
    RATE,
    RATIO,
    TIME,
    Dimension,
)

__all__ = [
    "BYTES",
    "MAX_RATE_BIT_S",
    "MAX_TIME_NS",
    "NUMBER_PATTERN",
    "PACKETS",
    "RATE",
    "RATIO",
    "TIME",
    "Dimension",
    "UnitError",
    "format_bytes",
    "format_packets",
    "format_rate",
    "format_ratio",
    "format_time",
    "is_ambiguous_rate",
    "parse_base_units",
    "parse_bytes",
    "parse_integer",
    "parse_number",
    "parse_packets",
    "parse_quantity",
    "parse_rate",
    "parse_ratio",
    "parse_real",
    "parse_time",
]

NUMBER_PATTERN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_QUANTITY_PATTERN = re.compile(
    rf"\s*({NUMBER_PATTERN.pattern})\s*(\S.*?)?\s*\Z", re.ASCII | re.DOTALL
)
_MAX_CHARACTERS = 64  # characters; longer numbers cannot mean anything and cost time
MAX_DIGITS = 40
"""Decimal digits of the largest whole number that a scenario may hold, whatever it stands for."""
_MAX_EXPONENT = 400


class UnitError(ValueError):
    """Text that is not the quantity asked for.

    code: ``unit``, ``range`` or ``precision`` (see `trunkline.scenario.diagnostic.CODES`).
    allowed: Values that would have been accepted.
    hint: The likely meaning; empty if none.
    """

    def __init__(self, message: str, *, code: str = "unit", allowed: str = "", hint: str = ""):
        super().__init__(message)
        self.code = code
        self.allowed = allowed
        self.hint = hint


def parse_number(text: str) -> Fraction | None:
    """Read a decimal number exactly; None if it is not one or is absurdly long.

    Examples
    --------
    >>> parse_number("1.5e3")
    Fraction(1500, 1)
    """
    if len(text) > _MAX_CHARACTERS or not text.isascii():
        return None
    if text.isdigit():
        return Fraction(int(text))
    if not NUMBER_PATTERN.fullmatch(text):
        return None
    exponent = re.search(r"[eE]([+-]?\d+)", text)
    if exponent and abs(int(exponent[1])) > _MAX_EXPONENT:
        return None
    return Fraction(text)


def parse_integer(text: str, base: int = 10) -> int | None:
    """Read a whole number; None if it is not one or is absurdly long.

    Python refuses decimal numbers of more than 4,300 digits with an error of its own, in reading
    and in writing, so text of others is read by this function and not by ``int``.

    base: 2 to 36, or 0: by its prefix, as ``0x1f``.

    Examples
    --------
    >>> parse_integer("0x1f", 0), parse_integer("1" * 5000)
    (31, None)
    """
    if len(text) > _MAX_CHARACTERS or not text.isascii() or "_" in text:
        return None
    try:
        return int(text, base)
    except ValueError:
        return None


def parse_real(text: str) -> float | None:
    """Read a finite number to the nearest float; None if it is not one or is absurdly long.

    Examples
    --------
    >>> parse_real("-2.5e-1"), parse_real("1e999"), parse_real("nan")
    (-0.25, None, None)
    """
    number = parse_number(text.strip())
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None


def parse_quantity(text: str, dimension: Dimension) -> Fraction:
    """Read text as an exact number of base units, in range or not.

    text: Number and unit, with or without a space between.
    Returns: Exact value [base unit of `dimension`].
    Raises UnitError: Not a number, no unit, or a unit of another kind.
    """
    match = _QUANTITY_PATTERN.match(text)
    if not match:
        allowed = f"a {dimension.name} such as {dimension.example}"
        if re.match(r"(nan|inf)", text.strip().lower().lstrip("+-.")):
            message = f"a {dimension.name} must be a finite number"
            raise UnitError(message, code="range", allowed=allowed)
        raise UnitError(f"{_quote(text)} is not a {dimension.name}", allowed=allowed)
    number = parse_number(match[1])
    if number is None:
        raise UnitError(
            f"a {dimension.name} must be a finite number of at most {_MAX_CHARACTERS} characters",
            code="range",
            allowed=f"a {dimension.name} such as {dimension.example}",
        )
    unit = match[2]
    if unit is None:
        raise UnitError(
            f"a {dimension.name} needs a unit",
            allowed=_format_accepted_units(dimension),
            hint=_suggest_readings(match[1], dimension),
        )
    factor = dimension.units.get(unit)
    if factor is None:
        trap = dimension.ambiguous_units.get(unit)
        raise UnitError(
            f"{_quote(unit)} is not a unit of {dimension.name}",
            allowed=_format_accepted_units(dimension),
            hint=f"did you mean {trap}?" if trap else "",
        )
    if number.denominator == 1 and factor.denominator == 1:
        return Fraction(number.numerator * factor.numerator)
    return number * factor


@lru_cache(maxsize=4096)
def parse_base_units(text: str, dimension: Dimension, lowest: int, highest: int) -> int:
    """Read text as a whole number of base units within a range.

    Raises UnitError: Not such a quantity, not whole, or out of range.
    """
    value = parse_quantity(text, dimension)
    if value < lowest or value > highest:
        raise UnitError(
            f"a {dimension.name} must be {_format_range(dimension, lowest, highest)}",
            code="range",
        )
    if value.denominator != 1:
        raise UnitError(
            f"a {dimension.name} must be a whole number of {dimension.base}",
            code="precision",
            hint=f"the nearest are {format_base(value.numerator // value.denominator, dimension)}"
            f" and {format_base(value.numerator // value.denominator + 1, dimension)}",
        )
    return value.numerator


def parse_rate(text: str, *, lowest: int = 1, highest: int = MAX_RATE_BIT_S) -> int:
    """Read a rate.

    text: E.g. ``10 Mbit/s``, ``10mbit``, ``10Mb/s``, ``10 Mibit/s``, ``1250 kB/s``; ``10 Mbps`` is
        read as bits (the loader warns).
    lowest, highest: Range [bit/s].

    Examples
    --------
    >>> parse_rate("16.8 Mbit/s"), parse_rate("1250kB/s"), parse_rate("10Mibit")
    (16800000, 10000000, 10485760)
    """
    return parse_base_units(text, RATE, lowest, highest)


def parse_time(text: str, *, lowest: int = 0, highest: int = MAX_TIME_NS) -> int:
    """Read a time [ns]: ``1.5 ms``, ``200us``, ``2 min``.

    Examples
    --------
    >>> parse_time("1.5 ms"), parse_time("2 min")
    (1500000, 120000000000)
    """
    return parse_base_units(text, TIME, lowest, highest)


def parse_bytes(text: str, *, lowest: int = 0, highest: int = MAX_BYTES) -> int:
    """Read a size [B]: ``1500 B``, ``64 kB`` (64,000), ``64 KiB`` (65,536).

    Examples
    --------
    >>> parse_bytes("64 kB"), parse_bytes("64KiB")
    (64000, 65536)
    """
    return parse_base_units(text, BYTES, lowest, highest)


def parse_packets(text: str, *, lowest: int = 0, highest: int = MAX_PACKETS) -> int:
    """Read a number of packets: ``50 packets``."""
    return parse_base_units(text, PACKETS, lowest, highest)


def parse_ratio(text: str) -> float:
    """Read a share: ``10 %`` is 0.1.

    Returns: Share [1, from 0 to 1].
    Raises UnitError: Not a percentage, or out of range.
    """
    value = parse_quantity(text, RATIO)
    if not 0 <= value <= 1:
        raise UnitError("a share must be from 0 % to 100 %", code="range")
    return float(value)


def is_ambiguous_rate(text: str) -> bool:
    """Whether a rate is written ``10 Mbps``: read as bits, but tc means bytes by it."""
    match = _QUANTITY_PATTERN.match(text)
    return bool(match and match[2] and match[2].endswith("bps") and match[2] in RATE.units)


def _format_scaled(value: int, steps: tuple[tuple[int, str], ...]) -> str:
    for factor, unit in steps:
        # Three decimals at most, so that the text is exact and short.
        if abs(value) >= factor and value * 1000 % factor == 0:
            return f"{_format_decimal(Fraction(value, factor))} {unit}"
    return f"{value} {steps[-1][1]}"


def _format_decimal(value: Fraction) -> str:
    integer_part, thousandths = divmod(abs(value.numerator) * 1000 // value.denominator, 1000)
    sign = "-" if value < 0 else ""
    return f"{sign}{integer_part}.{thousandths:03d}".rstrip("0").rstrip(".")


def format_rate(bit_s: int) -> str:
    """Rate as text that reads back to the same number, e.g. ``16.8 Mbit/s``."""
    return _format_scaled(
        bit_s,
        ((10**12, "Tbit/s"), (10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s")),
    )


def format_time(ns: int) -> str:
    """Time as text that reads back to the same number, e.g. ``1.5 ms``."""
    if ns == 0:
        return "0 s"
    return _format_scaled(ns, ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")))


def format_bytes(size: int) -> str:
    """Size as text, always in bytes so that nobody asks whether k is 1000: ``64000 B``."""
    return f"{size} B"


def format_packets(count: int) -> str:
    """Format the number of packets as text, e.g. ``50 packets``."""
    return f"{count} packet{'' if count == 1 else 's'}"


def format_ratio(share: float) -> str:
    """Share as text that reads back to the same number, e.g. ``2.5 %``."""
    percent = Decimal(repr(share)).scaleb(2).normalize()
    return f"{percent:f} %" if -12 < percent.adjusted() < 4 else f"{percent} %"


def format_base(value: int, dimension: Dimension) -> str:
    """Format a value in base units as text that reads back to the same number."""
    formats = {
        "bit/s": format_rate,
        "ns": format_time,
        "B": format_bytes,
        "packets": format_packets,
    }
    return formats[dimension.base](value)


def _format_range(dimension: Dimension, lowest: int, highest: int) -> str:
    low, high = format_base(lowest, dimension), format_base(highest, dimension)
    if highest == MAX_TIME_NS and dimension is TIME:
        high = "100 years"
    if lowest == 1 and dimension is RATE:
        return f"above 0 and at most {high}"
    return f"from {low} to {high}"


def _format_accepted_units(dimension: Dimension) -> str:
    listed = {
        "rate": "bit/s, kbit/s, Mbit/s, Gbit/s, Mibit/s, kB/s, MB/s",
        "time": "ns, us, ms, s, min, h",
        "size": "B, kB (1000), MB, KiB (1024), MiB",
        "number of packets": "packets",
        "share": "%",
    }
    return listed[dimension.name]


def _suggest_readings(number: str, dimension: Dimension) -> str:
    readings = {
        "rate": ("bit/s", "kbit/s", "Mbit/s"),
        "time": ("ms", "s"),
        "size": ("B", "kB"),
        "number of packets": ("packets",),
        "share": ("%",),
    }[dimension.name]
    return "did you mean " + " or ".join(f"{number} {unit}" for unit in readings) + "?"


def _quote(text: str) -> str:
    cut = text if len(text) <= 40 else text[:37] + "..."
    return f"'{cut}'"
