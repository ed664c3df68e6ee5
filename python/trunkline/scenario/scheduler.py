"""Schedulers by their words, and the classes of a port, whose keys are those of its scheduler."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from trunkline.scenario.fields import Name, invalid
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS
from trunkline.scenario.shares import (
    CakeClass,
    CbqClass,
    Class,
    DrrClass,
    FifoClass,
    HfscClass,
    HtbClass,
    Member,
    PriorityClass,
    ShapedClass,
    TbfClass,
    WeightedClass,
)

Scheduler = Literal[
    "fifo",
    "priority",
    "drr",
    "wrr",
    "wfq",
    "shaped",
    "tbf",
    "htb",
    "hfsc",
    "cake",
    "cbq",
    "cbq-ancestor-only",
    "fq-codel",
    "fq-pie",
    "sfq",
    "fq",
]

CLASS_OF: Mapping[str, type[Class]] = {
    "fifo": FifoClass,
    "priority": PriorityClass,
    "drr": DrrClass,
    "wrr": WeightedClass,
    "wfq": WeightedClass,
    "shaped": ShapedClass,
    "tbf": TbfClass,
    "htb": HtbClass,
    "hfsc": HfscClass,
    "cake": CakeClass,
    "cbq": CbqClass,
    "cbq-ancestor-only": CbqClass,
    **dict.fromkeys(FLOW_SCHEDULERS, FifoClass),
}
"""Type of the classes of each scheduler."""
ALONE = tuple(word for word, its in CLASS_OF.items() if its in (FifoClass, TbfClass))
"""Those that serve one class."""
SCHEDULERS = ", ".join(word for word in CLASS_OF if word not in ALONE)
"""Those that serve several classes, for messages."""
HIERARCHIES = tuple(word for word, its in CLASS_OF.items() if issubclass(its, Member))
"""Those that know parents."""

AnyClass = (
    FifoClass
    | PriorityClass
    | DrrClass
    | WeightedClass
    | ShapedClass
    | TbfClass
    | HtbClass
    | HfscClass
    | CakeClass
    | CbqClass
)
_READERS: Mapping[str, list[str]] = {
    key: [word for word, its in CLASS_OF.items() if key in its.model_fields]
    for kind in CLASS_OF.values()
    for key in kind.model_fields
}
"""Schedulers that read a key."""
_ADAPTERS = {kind: TypeAdapter(dict[Name, kind]) for kind in set(CLASS_OF.values())}  # type: ignore[valid-type]


def read_classes(value: Any, info: ValidationInfo) -> dict[str, Class]:
    """The classes of a port, each of the type of the port's scheduler.

    Raises
    ------
    ValidationError
        With a fault for each key that the scheduler does not read, and all others.
    """
    said = info.data.get("scheduler")
    if said is None and isinstance(value, Mapping) and len(value) > 1:
        said = _meant(value)
    scheduler = said or "fifo"
    kind = CLASS_OF[scheduler]
    foreign: list[InitErrorDetails] = []
    own: Any = value
    if isinstance(value, Mapping):
        own = {}
        for name, its in value.items():
            own[name] = its
            if isinstance(its, Mapping):
                own[name] = {key: each for key, each in its.items() if _reads(kind, key)}
                foreign += [
                    _means_nothing(scheduler, name, key) for key in its if not _reads(kind, key)
                ]
    try:
        made: dict[str, Class] = _ADAPTERS[kind].validate_python(own, context=info.context)
    except ValidationError as error:
        foreign += [_again(item) for item in error.errors(include_url=False)]
    if foreign:
        raise ValidationError.from_exception_data("classes", foreign)
    return made


def _meant(classes: Mapping[str, Any]) -> str:
    """A scheduler that reads all keys, where the port has several classes and names none."""
    keys = {key for its in classes.values() if isinstance(its, Mapping) for key in its}
    return next((word for word, its in CLASS_OF.items() if all(_reads(its, k) for k in keys)), "")


def _reads(kind: type[Class], key: str) -> bool:
    return key in kind.model_fields or key not in _READERS


def _means_nothing(scheduler: str, name: str, key: str) -> InitErrorDetails:
    error = invalid(
        "relation",
        f"{key} means nothing to {scheduler}",
        allowed=f"scheduler: {' or '.join(_READERS[key])}",
    )
    return InitErrorDetails(type=error, loc=(name, key, "[key]"), input=None)


def _again(item: Any) -> InitErrorDetails:
    """An error as it was found, to be raised with others."""
    kind: Any = item["type"]
    if "message" in item.get("ctx", {}):
        kind = PydanticCustomError(kind, "{message}", item["ctx"])
    return InitErrorDetails(
        type=kind, loc=item["loc"], input=item["input"], ctx=item.get("ctx", {})
    )
