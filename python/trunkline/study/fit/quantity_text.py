"""Quantities as a reader wants them: few digits, and a unit that needs no power of ten."""

from __future__ import annotations

_NEXT_UNIT = {
    "bit/s": "kbit/s",
    "kbit/s": "Mbit/s",
    "Mbit/s": "Gbit/s",
    "B": "kB",
    "kB": "MB",
    "ns": "us",
    "us": "ms",
    "ms": "s",
}


def shorten_quantity(text: str, digits: int = 4) -> str:
    """Round a quantity to some significant digits; other texts are left alone."""
    number, _, unit = text.partition(" ")
    try:
        value = float(number)
    except ValueError:
        return text
    while abs(value) >= 1000 and unit in _NEXT_UNIT:
        value, unit = value / 1000, _NEXT_UNIT[unit]
    shown = f"{value:.{digits}g}"
    if "e" in shown:
        shown = f"{value:.0f}"
    return f"{shown} {unit}".strip()
