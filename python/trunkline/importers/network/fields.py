"""Single fields of the files: numbers, rates, references to nodes."""

import math
from collections.abc import Iterable

from trunkline.importers.common.fault import ImportFault
from trunkline.scenario.diagnostic import nearest
from trunkline.scenario.units import MAX_RATE_BIT_S


def number(text: object, what: str, line: int) -> float:
    """A finite number.

    Raises
    ------
    ImportFault
        It is none.
    """
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ImportFault(line, 1, f"{what} must be a number, not {str(text)[:40]!r}")
    return value


def count(text: object, what: str, line: int) -> int:
    """A whole number from 0.

    Raises
    ------
    ImportFault
        It is none.
    """
    shown = str(text)
    if not (shown.isascii() and shown.isdecimal() and len(shown) < 16):
        raise ImportFault(line, 1, f"{what} must be a whole number, not {shown[:40]!r}")
    return int(shown)


def rate(value: float, unit: int, what: str, line: int) -> int | None:
    """A capacity [bit/s]; None where the file says 0, which means unknown.

    Raises
    ------
    ImportFault
        It is negative or beyond what a scenario may say.
    """
    if value < 0:
        raise ImportFault(line, 1, f"{what} is negative: {value:g}")
    bits = round(value * unit)
    if bits > MAX_RATE_BIT_S:
        raise ImportFault(line, 1, f"{what} is larger than 1000 Tbit/s: {value:g}")
    return bits or None


def known(name: str, nodes: Iterable[str], line: int) -> str:
    """The key of a node that must exist.

    Raises
    ------
    ImportFault
        There is no such node; the nearest name is in the message.
    """
    keys = nodes if isinstance(nodes, dict) else list(nodes)
    if name in keys:
        return name
    hint = nearest(name, keys)
    message = f"there is no node {name[:64]}" + (f"; {hint}" if hint else "")
    raise ImportFault(line, 1, message)


def looks_geographic(places: Iterable[tuple[float, float] | None]) -> bool:
    """Whether all places may be degrees of longitude and latitude."""
    given = [place for place in places if place is not None]
    return bool(given) and all(abs(x) <= 180 and abs(y) <= 90 for x, y in given)
