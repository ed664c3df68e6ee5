"""Numbers as people write them: units, metric prefixes, as many digits as mean something."""

import math
from typing import Protocol

from trunkline.results.table import Scalar


class Interval(Protocol):
    """A mean and half of its confidence interval, as ``trunkline.stats`` has them."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def half_width(self) -> float | None:
        """Half of the interval."""


def quantity(value: Scalar, unit: str) -> str:
    """Write a number with its unit and a metric prefix, four significant digits."""
    if value is None:
        return "–"
    shown = _above_the_clock(float(value), unit)
    factor, prefix = scale(shown, unit)
    return f"{shown / factor:.4g} {prefix}{unit}"


def _above_the_clock(value: float, unit: str) -> float:
    """The clock counts ns: less than a thousandth of one is what an average has left over."""
    return 0.0 if unit == "s" and abs(value) < 1e-12 else value


def mean_and_half(mean: float, half: float | None, unit: str) -> str:
    """Write a mean and half of its interval in one unit, to the digits that the interval allows.

    Two significant digits of the half width are kept, and the mean to the same place, unless
    that would give the mean more than three significant digits, or four if it is a rate.
    """
    mean = _above_the_clock(mean, unit)
    half = half and _above_the_clock(half, unit)
    factor, prefix = scale(mean, unit)
    end = f" {prefix}{unit}" if unit else ""
    if not half:
        # No exponent, however many packets there are.
        said = f"{mean / factor:{'.4g' if abs(mean) / factor < 10_000 else '.0f'}}"
        return f"{said}{end}" if half is None else f"{said} ± 0{end}"
    places = 1 - math.floor(math.log10(half / factor))
    if mean:
        most = 3 if unit == "bit/s" else 2
        places = min(places, most - math.floor(math.log10(abs(mean / factor))))
    places = min(max(places, 0), 4)
    return f"{mean / factor:.{places}f} ± {half / factor:.{places}f}{end}"


def scale(value: float, unit: str) -> tuple[float, str]:
    """Factor and metric prefix that suit a value; bits go up from 1, seconds down from 1."""
    up = [(1e9, "G"), (1e6, "M"), (1e3, "k")] if unit == "bit/s" else []
    down = [(1e-3, "m"), (1e-6, "µ"), (1e-9, "n")] if unit == "s" else []
    for factor, prefix in [*up, (1.0, ""), *down]:
        if abs(value) >= factor * 0.99995:
            return factor, prefix
    # An average may be below the least prefix.
    return down[-1] if down and value else (1.0, "")


def percent(value: Scalar) -> str:
    """Write a ratio in per cent, three significant digits."""
    return (
        "–" if value is None or math.isnan(float(value)) else f"{number(100 * float(value), 3)} %"
    )


def count(value: Scalar) -> str:
    """Write an integer with its thousands apart."""
    return "–" if value is None else f"{int(value):,}".replace(",", " ")


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with some significant digits and no exponent; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    written = f"{value:.{min(places, 9)}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


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


def span(ns: float) -> str:
    """Write a length of time [ns] in the unit that suits it."""
    return quantity(ns / 1e9, "s")


def rate(bit_s: float) -> str:
    """Write a rate in the unit that suits it."""
    return quantity(bit_s, "bit/s")
