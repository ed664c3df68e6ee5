"""Field types of the model: the values of a scalar, and its text in files.

In a file a quantity is text with its unit. From Python it may also be the exact integer in base
units, which is what the model holds.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from trunkline.scenario import units
from trunkline.scenario.units import PACKETS, RATE, TIME, Dimension, UnitError

ItemType = TypeVar("ItemType")
_ValidationInfo = core_schema.ValidationInfo

MAX_NAME_CHARACTERS = 64
ALL = "all"
"""Stands for every flow, path, demand or direction of a link where a key takes their names."""
AUTO = "auto"  # Asks for a computed route or backup where a key takes names of nodes or paths.
RESERVED_NAMES = (ALL, AUTO)
"""Words of the language: no element is called so where keys take its name or one of them."""
_NAME_PATTERN = re.compile(r"\w[\w.+-]*\Z")


def default(value: ItemType, description: str) -> ItemType:
    """A key that may be absent: its default, and its description for editors and the reference."""
    return Field(default=value, description=description)


def make_invalid_error(
    code: str,
    message: str,
    *,
    given: object = "",
    allowed: str = "",
    hint: str = "",
    at: tuple[str | int, ...] = (),
) -> PydanticCustomError:
    """Make an error that a validator raises, with all that a diagnostic shows."""
    context = {
        "message": message,
        "given": _shorten(given),
        "allowed": allowed,
        "hint": hint,
        "at": at,
    }
    return PydanticCustomError(code, "{message}", context)


def _shorten(given: object) -> str:
    text = given if isinstance(given, str) else repr(given) if given is not None else "nothing"
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class QuantityField:
    """Marks an integer field as a quantity: ``Annotated[int, Quantity(BYTES, 1, 1500)]``."""

    dimension: Dimension  # Its dimension.
    # lowest, highest: Range [base unit].
    lowest: int
    highest: int

    def validate(self, value: Any, info: _ValidationInfo) -> int:
        """The value in base units, from text or, outside files, from an integer."""
        if isinstance(value, str):
            try:
                return units.parse_base_units(value, self.dimension, self.lowest, self.highest)
            except UnitError as error:
                raise make_unit_error(error, value) from None
        if type(value) is int and not is_from_file(info):
            if self.lowest <= value <= self.highest:
                return value
            return self.validate(units.format_base(value, self.dimension), info)
        if is_numeric(value):
            return self.validate(str(value), info)
        name = self.dimension.name
        raise make_invalid_error(
            "type",
            f"a {name} is text such as {self.dimension.example}",
            given=describe_value(value),
        )

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: units.format_base(value, self.dimension), when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        pattern = r"^\s*\+?[0-9.]+([eE][+-]?[0-9]+)?\s*[A-Za-zµμ/]+\s*$|^\$"
        return {"type": "string", "pattern": pattern, "examples": [self.dimension.example]}


def is_from_file(info: _ValidationInfo) -> bool:
    """Whether the value comes from a file, where quantities must have units."""
    return bool(info.context and info.context.get("text"))


def make_unit_error(error: UnitError, given: object) -> PydanticCustomError:
    """Make a unit error as one that a validator raises."""
    return make_invalid_error(
        error.code, str(error), given=given, allowed=error.allowed, hint=error.hint
    )


def is_numeric(value: Any) -> bool:
    """Whether a value is a number, or text that may be one."""
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def describe_value(value: Any) -> str:
    """Describe a value as messages call it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return _shorten(value)


Rate = Annotated[int, QuantityField(RATE, 1, units.MAX_RATE_BIT_S)]
Time = Annotated[int, QuantityField(TIME, 0, units.MAX_TIME_NS)]
PositiveTime = Annotated[int, QuantityField(TIME, 1, units.MAX_TIME_NS)]
Packets = Annotated[int, QuantityField(PACKETS, 1, 2**31 - 1)]


def _validate_share(value: Any, info: _ValidationInfo) -> float:
    if isinstance(value, str):
        try:
            return units.parse_ratio(value)
        except UnitError as error:
            raise make_unit_error(error, value) from None
    if not is_from_file(info) and is_numeric(value):
        if 0 <= value <= 1:
            return float(value)
        raise make_invalid_error("range", "a share must be from 0 to 1", given=value)
    if is_numeric(value):
        return _validate_share(str(value), info)
    raise make_invalid_error("type", "a share is text such as 10 %", given=describe_value(value))


def _validate_probability(value: Any) -> float:
    if isinstance(value, str):
        try:
            return units.parse_ratio(value)
        except UnitError as error:
            raise make_unit_error(error, value) from None
    if not is_numeric(value):
        raise make_invalid_error(
            "type", "a probability is a number such as 0.1 or 10 %", given=describe_value(value)
        )
    if not 0 <= value <= 1:
        raise make_invalid_error("range", "a probability must be from 0 to 1", given=value)
    return float(value)


Probability = Annotated[
    float,
    BeforeValidator(_validate_probability),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$|^\$"},
            ]
        }
    ),
]
"""A probability: unlike a share it may be a bare number, which nobody reads as per cent."""

Share = Annotated[
    float,
    BeforeValidator(_validate_share),
    PlainSerializer(units.format_ratio, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$|^\$", "examples": ["10 %"]}),
]


MAX_FACTOR = 1e6


def _validate_factor(value: Any) -> float:
    if isinstance(value, str) and value.rstrip().endswith("%"):
        try:
            number = float(units.parse_quantity(value, units.RATIO))
        except UnitError as error:
            raise make_unit_error(error, value) from None
    elif is_numeric(value) and not isinstance(value, str):
        number = float(value)
    else:
        raise make_invalid_error(
            "type", "a factor is a number such as 1.2 or 120 %", given=describe_value(value)
        )
    if not 0 < number <= MAX_FACTOR:
        raise make_invalid_error(
            "range", "a factor must be above 0 and at most a million", given=value
        )
    return number


Factor = Annotated[
    float,
    BeforeValidator(_validate_factor),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_FACTOR},
                {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$|^\$"},
            ]
        }
    ),
]
"""A factor: 1.2 or `120 %`."""


def _validate_rate_or_share(value: Any, info: _ValidationInfo) -> int | float:
    if isinstance(value, float) or (isinstance(value, str) and value.rstrip().endswith("%")):
        share = _validate_share(value, info)
        if share == 0:
            raise make_invalid_error(
                "range", "a share of the link's rate must be above 0", given=value
            )
        return share
    return QuantityField(RATE, 1, units.MAX_RATE_BIT_S).validate(value, info)


def _format_rate_or_share(value: int | float) -> str:
    return units.format_ratio(value) if isinstance(value, float) else units.format_rate(value)


@dataclass(frozen=True)
class RateOrShareField:
    """Marks a field as a rate or a share of the link's rate."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(
            _validate_rate_or_share,
            serialization=core_schema.plain_serializer_function_ser_schema(
                _format_rate_or_share, when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        pattern = r"^\s*\+?[0-9.]+([eE][+-]?[0-9]+)?\s*([A-Za-z/]+|%)\s*$|^\$"
        return {"type": "string", "pattern": pattern, "examples": ["2 Mbit/s", "20 %"]}


RateOrShare = Annotated[int | float, RateOrShareField()]
"""A rate [bit/s] as an integer, or a share of the link's rate [above 0 to 1] as a float."""


@dataclass(frozen=True)
class PlainInteger:
    """Marks an integer field as a plain number: ``Annotated[int, Whole("a weight", 1, 100)]``."""

    noun: str  # Its name in messages.
    # lowest, highest: Range.
    lowest: int
    highest: int

    def validate(self, value: Any) -> int:
        """The value, if it is a whole number in range."""
        allowed = f"a whole number from {self.lowest} to {self.highest}"
        if type(value) is not int:
            message = f"{self.noun} must be a whole number"
            raise make_invalid_error("type", message, given=describe_value(value), allowed=allowed)
        if not self.lowest <= value <= self.highest:
            message = f"{self.noun} must be from {self.lowest} to {self.highest}"
            raise make_invalid_error("range", message, given=value)
        return value

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(int, when_used="json"),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        number = {"type": "integer", "minimum": self.lowest, "maximum": self.highest}
        return {"anyOf": [number, {"type": "string", "pattern": r"^\$"}]}


def _validate_switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("on", "off"):
        return bool(value == "on")
    raise make_invalid_error(
        "type", "a switch is true or false", given=describe_value(value), allowed="true, false"
    )


Switch = Annotated[
    bool,
    BeforeValidator(_validate_switch),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off"]}]}),
]


def write_as_name(label: str) -> str:
    """A label as a name of the language: characters that a name cannot hold become ``_``.

    Empty if the label has no letter and no digit.
    """
    return re.sub(r"[^\w.+-]+", "_", unicodedata.normalize("NFC", label.strip())).strip("_.+-")


def _validate_name(value: Any) -> str:
    if not isinstance(value, str):
        value = str(value)
    if not 1 <= len(value) <= MAX_NAME_CHARACTERS:
        raise make_invalid_error(
            "name", f"a name has 1 to {MAX_NAME_CHARACTERS} characters", given=value
        )
    if not _NAME_PATTERN.match(value):
        raise make_invalid_error(
            "name",
            "a name is made of letters, digits and _ . + -, and starts with a letter or digit",
            given=value,
        )
    return unicodedata.normalize("NFC", value)


def _refuse_reserved_name(name: str, reserved: tuple[str, ...] = RESERVED_NAMES) -> str:
    if name in reserved:
        raise make_invalid_error(
            "name", f"{name} is a word of the language, which no element is called", given=name
        )
    return name


Name = Annotated[str, BeforeValidator(_validate_name)]
ElementName = Annotated[Name, AfterValidator(_refuse_reserved_name)]
"""Name of an element for which a key may also have a word of the language, such as `all`."""
PathName = Annotated[Name, AfterValidator(partial(_refuse_reserved_name, reserved=(AUTO,)))]
"""Name of a path; whether one may be called `all` depends on the protections."""


@dataclass(frozen=True)
class TableName:
    """Marks a field that names a CSV file under the scenario's folder."""


Table = Annotated[str, TableName()]  # Name of a CSV file under the scenario's folder.


@dataclass(frozen=True)
class ShortForm:
    """Marks a field that may be written in a shorter form."""

    expand: Callable[[Any], Any]  # Gives the long form of a value; other values do not change.
    # JSON Schema of the short form; None: one item of the list.
    schema: dict[str, Any] | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        long = handler(schema)
        return {"anyOf": [long["items"] if self.schema is None else self.schema, long]}

    def __hash__(self) -> int:
        return hash(self.expand)


def _wrap_in_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _validate_reference(value: Any) -> str:
    if isinstance(value, str) or type(value) is int:
        return unicodedata.normalize("NFC", str(value))
    raise make_invalid_error("type", "a name is expected here", given=describe_value(value))


NameReference = Annotated[
    str, BeforeValidator(_validate_reference), WithJsonSchema({"type": ["string", "integer"]})
]
"""A name that must be borne by something; whether it is, is checked later."""


def write_scalar(value: Any) -> str:
    """Text of a scalar as files and ``--set`` have it: ``null``, ``true``, ``3``, ``5 ms``."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


OneOrMany = Annotated[
    tuple[ItemType, ...],
    ShortForm(_wrap_in_list),
]
"""One value or a list of them."""

NameReferences = OneOrMany[NameReference]  # One name or a list of them.
