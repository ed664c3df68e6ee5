"""How much a queue holds: packets, bytes, or both."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from trunkline.scenario import units
from trunkline.scenario.fields import invalid, kind, numeric
from trunkline.scenario.units import UnitError


@dataclass(frozen=True)
class Limit:
    """How much a queue holds.

    Attributes
    ----------
    packets : int or None
        Packets; None = no such limit.
    bytes : int or None
        Bytes on the wire [B]; None = no such limit.
    """

    packets: int | None = None
    bytes: int | None = None


def _limit(value: Any) -> Limit:
    if isinstance(value, Limit):
        return value
    if value == "none":
        return Limit()
    parts = value if isinstance(value, list | tuple) else [value]
    packets = None
    octets = None
    for part in parts:
        if not isinstance(part, str):
            raise invalid(
                "unit" if numeric(part) else "type",
                "a queue limit needs a unit",
                given=kind(part),
                allowed="packets or B, kB, MB, KiB",
                hint=f"did you mean {part} packets or {part} B?" if numeric(part) else "",
            )
        try:
            if re.search(r"packets?\s*\Z", part):
                packets = units.parse_packets(part, highest=2**31 - 1)
            else:
                octets = units.parse_bytes(part)
        except UnitError as error:
            raise invalid(
                error.code,
                str(error).replace("a size", "a queue limit"),
                given=part,
                allowed="packets or B, kB, MB, KiB" if error.code == "unit" else error.allowed,
                hint=error.hint,
            ) from None
    if not parts or len(parts) != (packets is not None) + (octets is not None):
        raise invalid(
            "type",
            "a queue limit is one in packets, one in bytes, or one of each",
            given=value,
            hint="no limit is `none`",
        )
    return Limit(packets, octets)


def limit_text(limit: Limit) -> str | list[str]:
    """A limit as it is written."""
    parts = []
    if limit.packets is not None:
        parts.append(units.format_packets(limit.packets))
    if limit.bytes is not None:
        parts.append(units.format_bytes(limit.bytes))
    return parts if len(parts) > 1 else parts[0] if parts else "none"


LimitField = Annotated[
    Limit,
    BeforeValidator(_limit),
    PlainSerializer(limit_text, return_type=str | list[str], when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["100 packets", "64 kB", "none"]},
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
            ]
        }
    ),
]
