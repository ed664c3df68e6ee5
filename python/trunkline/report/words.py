"""Numbers as people write them."""

from __future__ import annotations

import math

from trunkline.results.render import count, mean_and_half, quantity, scale
from trunkline.stats import Interval

__all__ = ["count", "instant", "interval", "length", "number", "quantity", "ratio", "short"]


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with some significant digits and no exponent; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    written = f"{value:.{min(places, 9)}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def ratio(value: float | None) -> str:
    """Write a ratio in per cent."""
    return "–" if value is None or math.isnan(value) else f"{number(100 * value, 3)} %"


def interval(found: Interval | None, unit: str) -> str:
    """Write a mean and half of its interval in one unit; per cent for ratios."""
    if found is None or math.isnan(found.mean):
        return "–"
    # Where all runs have the same value there is nothing to put an interval around.
    half = found.half_width or None
    if not unit and half is None:
        return count(found.mean) if found.mean == int(found.mean) else number(found.mean, 3)
    if unit == "%":
        return mean_and_half(100 * found.mean, None if half is None else 100 * half, "%")
    return mean_and_half(found.mean, half, unit)


def short(value: float, unit: str) -> str:
    """Write a quantity with a prefix, three digits."""
    factor, prefix = scale(value, unit)
    return f"{number(value / factor, 3)} {prefix}{unit}"


def instant(ns: float) -> str:
    """Write an instant [ns] in seconds."""
    return f"{number(ns / 1e9, 9)} s"


def length(ns: float) -> str:
    """Write a length of time [ns] in the unit that suits it."""
    return quantity(ns / 1e9, "s")
