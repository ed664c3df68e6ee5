"""Base of all classes of the model."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from trunkline.scenario.fields import QuantityField, RateOrShareField, TableName
from trunkline.scenario.units import BYTES, PACKETS, RATE, TIME, Dimension

CompiledKeys = dict[str, Any]  # An element as the engine reads it.
_UNIT_SUFFIX: Mapping[Dimension, str] = {
    RATE: "bit_s",
    BYTES: "bytes",
    PACKETS: "packets",
    TIME: "ns",
}

AnyElement = TypeVar("AnyElement", bound="Element")


class Element(BaseModel):
    """A mapping of the scenario with known keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True
    )

    def model_post_init(self, _context: Any) -> None:
        """A word that tells kinds apart counts as set: without it a file does not load."""
        self.model_fields_set.update(_words_of_kind(type(self)))

    def to_document(self) -> dict[str, Any]:
        """The keys that were set, as in a file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def compile_keys(self, *omitted: str, link_rate: int = 0) -> CompiledKeys:
        """Compile its keys for the engine: the key of a quantity has the base unit as suffix.

        *omitted: Keys of the scenario that are left out.
        link_rate: Rate of the link, of which rates may be shares [bit/s].
        """
        engine_keys = list_engine_keys(type(self))
        return {
            key: _compile_value(getattr(self, name), is_rate, link_rate)
            for name, (key, is_rate) in engine_keys.items()
            if name not in omitted
        }


@functools.cache
def _words_of_kind(kind: type[Element]) -> frozenset[str]:
    """Keys that have one value only."""
    fields = kind.model_fields.items()
    return frozenset(
        name
        for name, field in fields
        if get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
    )


def tables_of(value: Any) -> Iterator[str]:
    """Names of the CSV files that an element, or any in it, takes from the scenario's folder."""
    if isinstance(value, Element):
        for name, field in type(value).model_fields.items():
            member = getattr(value, name)
            marks = [*field.metadata, *_list_marks(field.annotation)]
            if isinstance(member, str) and any(isinstance(mark, TableName) for mark in marks):
                yield member
            yield from tables_of(member)
    elif isinstance(value, dict | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tables_of(each)


@functools.cache
def list_engine_keys(kind: type[Element]) -> Mapping[str, tuple[str, bool]]:
    """The engine's key for each of the scenario's, and whether it is a rate or a link's share."""
    found = {}
    for name, field in kind.model_fields.items():
        marks = [*field.metadata, *_list_marks(field.annotation)]
        is_rate = any(isinstance(mark, RateOrShareField) for mark in marks)
        units = [_UNIT_SUFFIX[mark.dimension] for mark in marks if isinstance(mark, QuantityField)]
        units += ["bit_s"] * is_rate
        found[name] = "_".join([name, *units[:1]]), is_rate
    return found


def _list_marks(annotation: Any) -> Iterator[Any]:
    """List the marks of the parts of a union or a tuple."""
    return (mark for part in get_args(annotation) for mark in get_args(part))


def _compile_value(value: Any, is_rate: bool, link_rate: int) -> Any:
    if is_rate:
        return resolve_rate(value, link_rate)
    if isinstance(value, Element):
        return value.compile_keys(link_rate=link_rate)
    if isinstance(value, tuple):
        return [_compile_value(each, is_rate, link_rate) for each in value]
    return value


def resolve_rate(rate: int | float | None, link_rate: int) -> int:
    """A rate or share of a link's rate [bit/s], rounded down; 0 for None."""
    # The millionth keeps 29 % of 100 Mbit/s, which is no binary number, from losing a bit/s.
    return int(rate * link_rate + 1e-6) if isinstance(rate, float) else rate or 0


def merge_defaults(element: AnyElement, default: Element | None) -> AnyElement:
    """An element with the keys it leaves out taken from another.

    default: Keys of the user for all such elements; only keys that are set there count.
    Returns: An element of the class of `element`; `element` itself where there is nothing to take.
    """
    if default is None or not default.model_fields_set:
        return element
    update: dict[str, Any] = {}
    for key in default.model_fields_set:
        if key not in type(element).model_fields:
            continue
        value = getattr(default, key)
        if key not in element.model_fields_set:
            update[key] = value
            continue
        own_value = getattr(element, key)
        if isinstance(own_value, Element) and type(value) is type(own_value):
            update[key] = merge_defaults(own_value, value)
    return element.model_copy(update=update)


def copy_with(model: AnyElement, update: dict[str, Any]) -> AnyElement:
    """A copy of `model` with other values, as `model_copy` makes it, in a third of the time."""
    copy = object.__new__(type(model))
    object.__setattr__(copy, "__dict__", model.__dict__ | update)
    object.__setattr__(copy, "__pydantic_fields_set__", model.model_fields_set)
    object.__setattr__(copy, "__pydantic_extra__", None)
    object.__setattr__(copy, "__pydantic_private__", None)
    return copy
