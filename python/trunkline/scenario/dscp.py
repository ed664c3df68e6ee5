"""Code points of Differentiated Services by their names."""

from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from trunkline.scenario.diagnostic import suggest_nearest
from trunkline.scenario.fields import describe_value, make_invalid_error

DSCP_NAMES: dict[str, int] = {
    "DF": 0,
    "BE": 0,
    "LE": 1,
    **{f"CS{n}": 8 * n for n in range(8)},
    **{f"AF{x}{y}": 8 * x + 2 * y for x in range(1, 5) for y in range(1, 4)},
    "VA": 44,
    "EF": 46,
}
"""Names of code points: RFC 2474, 2597, 3246, 5865, 8622."""

_NAME_OF_DSCP = {value: name for name, value in reversed(DSCP_NAMES.items())}


def _parse_dscp(value: Any) -> int:
    if type(value) is int:
        if 0 <= value <= 63:
            return value
        raise make_invalid_error("range", "a DSCP must be from 0 to 63", given=value)
    if isinstance(value, str):
        if value in DSCP_NAMES:
            return DSCP_NAMES[value]
        raise make_invalid_error(
            "choice",
            "there is no such DSCP",
            given=value,
            allowed="0 to 63, DF, EF, VA, LE, CS0 to CS7, AF11 to AF43",
            hint=suggest_nearest(value, DSCP_NAMES),
        )
    raise make_invalid_error(
        "type", "a DSCP is a name or a number from 0 to 63", given=describe_value(value)
    )


def get_dscp_name(value: int) -> str | int:
    """Return the code point's RFC name, or its number where it has none."""
    return _NAME_OF_DSCP.get(value, value)


Dscp = Annotated[
    int,
    BeforeValidator(_parse_dscp),
    PlainSerializer(get_dscp_name, return_type=str | int, when_used="json"),
    WithJsonSchema(
        {"anyOf": [{"enum": list(DSCP_NAMES)}, {"type": "integer", "minimum": 0, "maximum": 63}]}
    ),
]
