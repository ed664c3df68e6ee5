"""Attributes of links under the names and units that tools and operators use.

Sources of names: networkx, FNSS, the Topology Zoo, yEd, pyNTM, and headers of operators' lists such
as ``capacity_gbps``, ``delay_ms``, ``Bandwidth [Mbit/s]``, ``metric_ab``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.fields import delay, loss_share, metric, parse_number
from trunkline.importers.network.topology import ImportedLink
from trunkline.scenario import units
from trunkline.scenario.units import UnitError

QUANTITY_NAMES = {
    "capacity": ("capacity", "bandwidth", "linkspeedraw", "speed", "link_speed", "rate", "bw",
                 "cap"),
    "delay": ("delay", "latency", "propagation_delay", "prop_delay"),
    "metric": ("igp_metric", "igp_cost", "metric", "cost", "ospf_cost", "isis_metric", "igp",
               "weight", "link_weight"),
    "length": ("length", "distance", "dist", "len"),
    "loss": ("loss", "packet_loss", "loss_rate"),
    "risks": ("srlg", "srlgs", "srlg_id", "shared_risk", "shared_risks", "risk", "risks"),
    "colours": ("admin_group", "admin_groups", "administrative_group", "affinity", "affinities",
                "link_colour", "link_colours", "link_color", "link_colors"),
}  # fmt: skip
"""Names of attributes in lower case, words joined by `_`; of several, the first counts."""

UNITS: dict[str, dict[str, Fraction]] = {
    "capacity": {
        f"{prefix}{unit}": Fraction(factor)
        for prefix, factor in (("", 1), ("k", 10**3), ("m", 10**6), ("g", 10**9), ("t", 10**12))
        for unit in ("bps", "bit_s", "bits_s", "b_s", "bit", "bits", "b", "")
        if prefix + unit not in ("", "b")
    },
    "delay": {"ns": Fraction(1), "us": Fraction(10**3), "ms": Fraction(10**6), "s": Fraction(10**9),
              "sec": Fraction(10**9), "msec": Fraction(10**6), "usec": Fraction(10**3)},
    "length": {"km": Fraction(1), "m": Fraction(1, 1000), "mi": Fraction("1.609344"),
               "miles": Fraction("1.609344"), "kilometers": Fraction(1),
               "meters": Fraction(1, 1000)},
    "loss": {"percent": Fraction(1, 100), "pct": Fraction(1, 100)},
}  # fmt: skip
"""Base units in a unit, by quantity: bit/s, ns, km, share."""

_BACK_WORDS = ("ba", "bwd", "back", "backward", "reverse", "rev", "za", "b_to_a", "z_to_a")
_THERE_WORDS = ("ab", "fwd", "forward", "az", "a_to_b", "a_to_z")
_UNIT_OF_BARE_DELAYS = "ms"
_EMPTY_WORDS = ("", "-", "n/a", "na", "none", "null", "nan", "unknown")
_STEPS = {"STM": 155_520_000, "OC": 51_840_000}  # bit/s (ITU-T G.707, ANSI T1.105)
_PORT_SPEED = re.compile(
    r"(?:(?P<count>\d{1,4})\s*[x*×]\s*)?(?P<number>\d{1,15}(?:\.\d{1,15})?)\s*(?P<prefix>[kmgt])"
    r"(?:ig|igabit)?\s*(?:e|be|ige|bps|bit|bits|bit/s|bits/s|b/s|b)?\Z",
    re.IGNORECASE,
)
_STEP = re.compile(r"(STM|OC)-?(\d{1,4})c?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class AttributeName:
    """Meaning of an attribute, read from its name."""

    quantity: str  # A key of `QUANTITY_NAMES`.
    rank: int  # Position of its name there.
    unit: Fraction | None = None  # Base units in one unit, where the name has a unit.
    is_back: bool = False  # It is that of the direction from the second end to the first.


def parse_attribute_name(name: str) -> AttributeName | None:
    """Quantity, unit and direction of an attribute by its name; None: it is of no known quantity.

    Examples
    --------
    >>> parse_attribute_name("Delay [ms]").quantity
    'delay'
    >>> parse_attribute_name("metric_ba").is_back
    True
    """
    words = re.sub(r"[^a-z0-9]+", "_", name.replace("%", "percent").lower()).strip("_")
    is_back = False
    for direction in (*_BACK_WORDS, *_THERE_WORDS):
        if words.endswith(f"_{direction}"):
            words = words.removesuffix(f"_{direction}")
            is_back = direction in _BACK_WORDS
            break
    for quantity, names in QUANTITY_NAMES.items():
        for rank, known in enumerate(names):
            if words == known:
                unit = Fraction(1) if known == "linkspeedraw" else None
                return AttributeName(quantity, rank, unit, is_back)
            if words.startswith(f"{known}_"):
                unit = UNITS.get(quantity, {}).get(words.removeprefix(f"{known}_"))
                if unit is not None:
                    return AttributeName(quantity, rank, unit, is_back)
    return None


def parse_capacity(text: str, field_name: str, line: int) -> tuple[float, int | None]:
    """Parse a capacity as people write it, and bits per second in its unit; None: it has no unit.

    ``10G``, ``100GE``, ``10 Gbit/s``, ``2x10G``, ``STM-16``, ``OC-48``, ``40``.

    Raises ImportFault: The text has none of these forms.
    """
    value = units.parse_real(text)
    if value is not None:
        return value, None
    speed = find_port_speed(text)
    if speed is not None:
        return float(speed), 1
    try:
        return float(units.parse_quantity(text, units.RATE)), 1
    except (UnitError, OverflowError):
        known = "10G, 100GE, 10 Gbit/s, 2x10G, STM-16, OC-48"
        raise ImportFault(line, 1, f"{field_name} is no capacity: {text[:40]!r}", known) from None


def find_port_speed(text: str) -> int | None:
    """Bit/s of a text that is nothing but a speed: `10GE`, `2x10G`, `STM-16`, `OC-48`."""
    step = _STEP.match(text)
    if step is not None:
        return int(step[2]) * _STEPS[step[1].upper()]
    speed = _PORT_SPEED.match(text)
    if speed is None or re.search(r"B(?:/s|ps)?\Z", text):
        return None
    unit = UNITS["capacity"][f"{speed['prefix'].lower()}bps"]
    return round(Fraction(speed["number"]) * int(speed["count"] or 1) * unit)


def read_link_attributes(
    element: FileElement,
    link: ImportedLink,
    account: ImportAccount,
    *,
    unit_names: Mapping[str, str] | None = None,
) -> None:
    """Read the attributes of a link from the children of its element.

    link: Gets the values of the element.
    unit_names: Unit of numbers without one, by quantity, where the file names it.
    Raises ImportFault: A value is not one of its quantity.
    """
    found: dict[tuple[str, bool], list[tuple[AttributeName, FileElement]]] = {}
    for child in element.children:
        name = parse_attribute_name(child.name)
        if name is None or child.is_read or any(not e.name.startswith("@") for e in child.children):
            continue
        if str("" if child.value is None else child.value).strip().lower() in _EMPTY_WORDS:
            child.is_read = True
            continue
        found.setdefault((name.quantity, name.is_back), []).append((name, child))
    for (quantity, is_back), candidates in found.items():
        candidates.sort(key=lambda pair: pair[0].rank)
        for _, other in candidates[1:]:
            other.leave_out(f"{candidates[0][1].name} gives the {quantity}")
        name, child = candidates[0]
        unit = name.unit
        unit_name = (unit_names or {}).get(quantity)
        if unit is None and unit_name is not None:
            unit = get_unit(quantity, unit_name, child.line)
        child.is_read = True
        text = str(child.value).strip()
        if quantity == "capacity":
            _set_capacity(link, text, unit, child, is_back)
        else:
            fields, parse = _PARSERS[quantity]
            setattr(link, fields[is_back], parse(text, unit, child, account))


def get_unit(quantity: str, unit_name: str, line: int) -> Fraction:
    """Base units in a unit by its name. Raises ImportFault: There is no such unit."""
    words = re.sub(r"[^a-z0-9]+", "_", unit_name.lower()).strip("_")
    if words not in UNITS[quantity]:
        raise ImportFault(line, 1, f"there is no unit {unit_name[:20]!r} of a {quantity}")
    return UNITS[quantity][words]


def split_names(text: str) -> tuple[str, ...]:
    """Split the names of a list: `duct1;duct2`; signs that a name cannot have become `_`."""
    words = (re.sub(r"[^\w.+-]+", "_", word).strip("_.+-") for word in re.split(r"[;,|\s]+", text))
    return tuple(dict.fromkeys(word for word in words if word))


def _set_capacity(
    link: ImportedLink, text: str, unit: Fraction | None, child: FileElement, is_back: bool
) -> None:
    value, own_unit = parse_capacity(text, child.name, child.line)
    if own_unit is None and unit is not None:
        own_unit = int(unit)
    other = link.capacity if is_back else link.capacity_back
    if other is not None and (own_unit is None) != (link.unit is None):
        raise ImportFault(child.line, 1, "a link has a capacity with a unit and one without")
    setattr(link, "capacity_back" if is_back else "capacity", value * (own_unit or 1))
    link.unit = None if own_unit is None else 1


def parse_delay(text: str, unit: Fraction | None, field_name: str, line: int) -> int:
    """Parse a delay [ns]: a text with its unit, or a number in a unit; None: milliseconds.

    Raises ImportFault: It is neither, negative, or out of a scenario's range.
    """
    value = units.parse_real(text)
    if value is None:
        try:
            value = float(units.parse_quantity(text, units.TIME))
        except (UnitError, OverflowError) as error:
            raise ImportFault(line, 1, f"{field_name}: {error}") from None
    else:
        value *= float(UNITS["delay"][_UNIT_OF_BARE_DELAYS] if unit is None else unit)
    return delay(value, f"the {field_name}", line)


def _parse_link_delay(
    text: str, unit: Fraction | None, child: FileElement, account: ImportAccount
) -> int:
    if unit is None and units.parse_real(text) is not None:
        rule = f"in {_UNIT_OF_BARE_DELAYS}"
        account.add_assumption("delays without a unit", rule, line=child.line)
    return parse_delay(text, unit, child.name, child.line)


def _parse_metric(text: str, _: Fraction | None, child: FileElement, __: ImportAccount) -> float:
    return metric(parse_number(text, child.name, child.line), f"the {child.name}", child.line)


def _parse_length(
    text: str, unit: Fraction | None, child: FileElement, account: ImportAccount
) -> float:
    number = re.sub(r"\s*km\Z", "", text)
    if unit is None and number == text:
        account.add_assumption("lengths without a unit", "in km", line=child.line)
    return parse_number(number, child.name, child.line) * float(unit or 1)


def _parse_loss(text: str, unit: Fraction | None, child: FileElement, _: ImportAccount) -> float:
    if text.endswith("%"):
        text, unit = text[:-1], Fraction(1, 100)
    return loss_share(parse_number(text, child.name, child.line) * float(unit or 1), child.line)


def _parse_names(
    text: str, _: Fraction | None, __: FileElement, ___: ImportAccount
) -> tuple[str, ...]:
    return split_names(text)


_PARSERS: dict[str, tuple[tuple[str, str], Callable[..., object]]] = {
    "delay": (("delay", "delay_back"), _parse_link_delay),
    "metric": (("metric", "metric_back"), _parse_metric),
    "length": (("length", "length"), _parse_length),
    "loss": (("loss", "loss_back"), _parse_loss),
    "risks": (("risks", "risks"), _parse_names),
    "colours": (("colours", "colours"), _parse_names),
}
