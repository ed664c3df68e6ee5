"""What all classes of the model share."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

__all__ = ["Element", "merged"]

AnyElement = TypeVar("AnyElement", bound="Element")


class Element(BaseModel):
    """A mapping of the scenario with known keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True
    )


def merged(own: AnyElement, default: Element | None) -> AnyElement:
    """An element with the keys it leaves out taken from another.

    Parameters
    ----------
    own : Element
        What the user wrote for this element.
    default : Element or None
        What the user wrote for all such elements; only keys that are set there count.

    Returns
    -------
    Element
        Of the class of `own`; `own` itself where there is nothing to take.
    """
    if default is None or not default.model_fields_set:
        return own
    update: dict[str, Any] = {}
    for key in default.model_fields_set:
        if key not in type(own).model_fields:
            continue
        value = getattr(default, key)
        if key not in own.model_fields_set:
            update[key] = value
            continue
        mine = getattr(own, key)
        if isinstance(mine, Element) and type(value) is type(mine):
            update[key] = merged(mine, value)
    return own.model_copy(update=update)
