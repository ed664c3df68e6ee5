"""Limits of queues: packets, bytes, or both."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from trunkline.scenario import units
from trunkline.scenario.fields import describe_value, is_numeric, make_invalid_error
from trunkline.scenario.units import UnitError


@dataclass(frozen=True)
class QueueLimit:
    """Limit of a queue."""

    packets: int | None = None  # Packets; None = no such limit.
    bytes: int | None = None  # Bytes on the wire [B]; None = no such limit.


def _parse_limit(value: Any) -> QueueLimit:
    if isinstance(value, QueueLimit):
        return value
    if value == "none":
        return QueueLimit()
    parts = value if isinstance(value, list | tuple) else [value]
    packets = None
    byte_count = None
    for part in parts:
        if not isinstance(part, str):
            raise make_invalid_error(
                "unit" if is_numeric(part) else "type",
                "a queue limit needs a unit",
                given=describe_value(part),
                allowed="packets or B, kB, MB, KiB",
                hint=f"did you mean {part} packets or {part} B?" if is_numeric(part) else "",
            )
        try:
            if re.search(r"packets?\s*\Z", part):
                packets = units.parse_packets(part, highest=2**31 - 1)
            else:
                byte_count = units.parse_bytes(part)
        except UnitError as error:
            raise make_invalid_error(
                error.code,
                str(error).replace("a size", "a queue limit"),
                given=part,
                allowed="packets or B, kB, MB, KiB" if error.code == "unit" else error.allowed,
                hint=error.hint,
            ) from None
    if not parts or len(parts) != (packets is not None) + (byte_count is not None):
        raise make_invalid_error(
            "type",
            "a queue limit is one in packets, one in bytes, or one of each",
            given=value,
            hint="no limit is `none`",
        )
    return QueueLimit(packets, byte_count)


def format_limit(limit: QueueLimit) -> str | list[str]:
    """Format a limit in its written form."""
    parts = []
    if limit.packets is not None:
        parts.append(units.format_packets(limit.packets))
    if limit.bytes is not None:
        parts.append(units.format_bytes(limit.bytes))
    return parts if len(parts) > 1 else parts[0] if parts else "none"


QueueLimitField = Annotated[
    QueueLimit,
    BeforeValidator(_parse_limit),
    PlainSerializer(format_limit, return_type=str | list[str], when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["100 packets", "64 kB", "none"]},
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
            ]
        }
    ),
]
