"""Numbers as people write them: units, metric prefixes, significant digits."""

import math
from typing import Protocol

from trunkline.results.table import Scalar


class IntervalLike(Protocol):
    """A mean and half of its confidence interval, as ``trunkline.stats`` has them."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def half_width(self) -> float | None:
        """Half of the interval."""


def format_quantity(value: Scalar, unit: str) -> str:
    """Write a number with its unit and a metric prefix, four significant digits."""
    if value is None:
        return "–"
    rounded = _round_to_clock(float(value), unit)
    factor, prefix = choose_prefix(rounded, unit)
    return f"{rounded / factor:.4g} {prefix}{unit}"


def _round_to_clock(value: float, unit: str) -> float:
    """The clock counts ns: less than a thousandth of one is a remainder of an average."""
    return 0.0 if unit == "s" and abs(value) < 1e-12 else value


def format_mean_and_half_width(mean: float, half_width: float | None, unit: str) -> str:
    """Write a mean and half of its interval in one unit, to the digits that the interval allows.

    Two significant digits of the half width are kept, and the mean to the same place, unless
    that would give the mean more than three significant digits, or four if it is a rate.
    """
    mean = _round_to_clock(mean, unit)
    half_width = half_width and _round_to_clock(half_width, unit)
    factor, prefix = choose_prefix(mean, unit)
    unit_text = f" {prefix}{unit}" if unit else ""
    if not half_width:
        # No exponent, however many packets there are.
        mean_text = f"{mean / factor:{'.4g' if abs(mean) / factor < 10_000 else '.0f'}}"
        return f"{mean_text}{unit_text}" if half_width is None else f"{mean_text} ± 0{unit_text}"
    places = 1 - math.floor(math.log10(half_width / factor))
    if mean:
        leading_digits = 3 if unit == "bit/s" else 2
        places = min(places, leading_digits - math.floor(math.log10(abs(mean / factor))))
    places = min(max(places, 0), 4)
    return f"{mean / factor:.{places}f} ± {half_width / factor:.{places}f}{unit_text}"


def choose_prefix(value: float, unit: str) -> tuple[float, str]:
    """Factor and metric prefix that suit a value; bits go up from 1, seconds down from 1."""
    up = [(1e9, "G"), (1e6, "M"), (1e3, "k")] if unit == "bit/s" else []
    down = [(1e-3, "m"), (1e-6, "µ"), (1e-9, "n")] if unit == "s" else []
    for factor, prefix in [*up, (1.0, ""), *down]:
        if abs(value) >= factor * 0.99995:
            return factor, prefix
    # An average may be below the least prefix.
    return down[-1] if down and value else (1.0, "")


def format_percent(value: Scalar) -> str:
    """Write a ratio in per cent, three significant digits."""
    return (
        "–"
        if value is None or math.isnan(float(value))
        else f"{format_number(100 * float(value), 3)} %"
    )


def format_count(value: Scalar) -> str:
    """Write an integer with its thousands apart."""
    return "–" if value is None else f"{int(value):,}".replace(",", " ")


def format_number(value: float | None, digits: int = 4) -> str:
    """Write a number with some significant digits and no exponent; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    written = f"{value:.{min(places, 9)}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def format_interval(mean_interval: IntervalLike | None, unit: str) -> str:
    """Write a mean and half of its interval in one unit; per cent for ratios."""
    if mean_interval is None or math.isnan(mean_interval.mean):
        return "–"
    # Where all runs have the same value there is nothing to put an interval around.
    half_width = mean_interval.half_width or None
    if not unit and half_width is None:
        return (
            format_count(mean_interval.mean)
            if mean_interval.mean == int(mean_interval.mean)
            else format_number(mean_interval.mean, 3)
        )
    if unit == "%":
        return format_mean_and_half_width(
            100 * mean_interval.mean, None if half_width is None else 100 * half_width, "%"
        )
    return format_mean_and_half_width(mean_interval.mean, half_width, unit)


def format_short_quantity(value: float, unit: str) -> str:
    """Write a quantity with a prefix, three digits."""
    factor, prefix = choose_prefix(value, unit)
    return f"{format_number(value / factor, 3)} {prefix}{unit}"


def format_duration(ns: float | None) -> str:
    """Write a length of time [ns] in the unit that suits it; a dash for none."""
    return format_quantity(None if ns is None else ns / 1e9, "s")


def format_rate(bit_s: float | None) -> str:
    """Write a rate in the unit that suits it; a dash for none."""
    return format_quantity(bit_s, "bit/s")
