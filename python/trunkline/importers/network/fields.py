"""Single fields of the files: numbers, rates, references to nodes."""

from collections.abc import Iterable, Mapping

from trunkline.importers.common.fault import ImportFault
from trunkline.scenario.diagnostic import suggest_nearest
from trunkline.scenario.fields import write_as_name
from trunkline.scenario.units import (
    MAX_RATE_BIT_S,
    MAX_TIME_NS,
    format_rate,
    parse_integer,
    parse_real,
)

MAX_METRIC = 2**32


def parse_number(text: object, field_name: str, line: int) -> float:
    """Parse a finite number. Raises ImportFault: The text is no finite number."""
    value = parse_real(str(text))
    if value is None:
        raise ImportFault(line, 1, f"{field_name} must be a number, not {str(text)[:40]!r}")
    return value


def parse_count(text: object, field_name: str, line: int) -> int:
    """Parse a whole number from 0. Raises ImportFault: The text is no such number."""
    digits = str(text)
    value = parse_integer(digits) if digits.isdecimal() and len(digits) < 16 else None
    if value is None:
        raise ImportFault(line, 1, f"{field_name} must be a whole number, not {digits[:40]!r}")
    return value


def convert_rate(value: float, unit: int, field_name: str, line: int) -> int | None:
    """A capacity [bit/s]; None where the file says 0, which means unknown.

    Raises ImportFault: It is negative or out of a scenario's range.
    """
    if value < 0:
        raise ImportFault(line, 1, f"{field_name} is negative: {value:g}")
    if value * unit > MAX_RATE_BIT_S:
        most = format_rate(MAX_RATE_BIT_S)
        raise ImportFault(line, 1, f"{field_name} is larger than {most}: {value * unit:g} bit/s")
    return round(value * unit) or None


def delay(ns: float, what: str, line: int) -> int:
    """A delay [ns]. Raises ImportFault: It is negative or out of a scenario's range."""
    if ns < 0:
        raise ImportFault(line, 1, f"{what} is negative: {ns:g} ns")
    if ns > MAX_TIME_NS:
        raise ImportFault(line, 1, f"{what} is longer than 100 years: {ns / 1e9:g} s")
    return round(ns)


def metric(value: float, what: str, line: int) -> float:
    """A metric of a link, which may have a fraction; 0 counts as 1.

    Raises ImportFault: It is negative or out of a scenario's range.
    """
    if value < 0:
        raise ImportFault(line, 1, f"{what} is negative: {value:g}")
    if value > MAX_METRIC:
        raise ImportFault(line, 1, f"{what} is larger than {MAX_METRIC}: {value:.10g}")
    return value or 1


def loss_share(value: float, line: int) -> float:
    """A share of lost packets. Raises ImportFault: It is not from 0 to 1."""
    if not 0 <= value <= 1:
        raise ImportFault(line, 1, f"the loss is not from 0 to 100 %: {100 * value:g} %")
    return value


def find_node_key(name: str, nodes: Iterable[str], line: int) -> str:
    """Find the key of a node that must exist.

    Raises ImportFault: There is no such node; the nearest name is in the message.
    """
    keys = nodes if isinstance(nodes, Mapping) else list(nodes)
    if name in keys:
        return name
    # A file may have the name that an import gave to the label, or the other way round.
    alike = [key for key in keys if write_as_name(key) == write_as_name(name)]
    if len(alike) == 1:
        return alike[0]
    hint = suggest_nearest(name, keys)
    message = f"there is no node {name[:64]}" + (f"; {hint}" if hint else "")
    raise ImportFault(line, 1, message)


def are_geographic(places: Iterable[tuple[float, float] | None]) -> bool:
    """Whether all places may be degrees of longitude and latitude."""
    given = [place for place in places if place is not None]
    return bool(given) and all(abs(x) <= 180 and abs(y) <= 90 for x, y in given)
