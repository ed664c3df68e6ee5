"""Schedulers by their words, and the classes of a port, whose keys are those of its scheduler."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from trunkline.scenario.fields import Name, make_invalid_error
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS
from trunkline.scenario.scheduler_classes import (
    CakeClass,
    CbqClass,
    DrrClass,
    FifoClass,
    HfscClass,
    HierarchyClass,
    HtbClass,
    PortClass,
    PriorityClass,
    ShapedClass,
    TbfClass,
    WeightedClass,
)

SchedulerName = Literal[
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

CLASS_OF_SCHEDULER: Mapping[str, type[PortClass]] = {
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
SINGLE_CLASS_SCHEDULERS = tuple(
    word for word, class_type in CLASS_OF_SCHEDULER.items() if class_type in (FifoClass, TbfClass)
)
"""Schedulers that serve one class."""
MULTI_CLASS_SCHEDULERS = ", ".join(
    word for word in CLASS_OF_SCHEDULER if word not in SINGLE_CLASS_SCHEDULERS
)
"""Schedulers that serve several classes, for messages."""
HIERARCHICAL_SCHEDULERS = tuple(
    word
    for word, class_type in CLASS_OF_SCHEDULER.items()
    if issubclass(class_type, HierarchyClass)
)
"""Schedulers with hierarchies."""

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
_SCHEDULERS_OF_KEY: Mapping[str, list[str]] = {
    key: [word for word, class_type in CLASS_OF_SCHEDULER.items() if key in class_type.model_fields]
    for kind in CLASS_OF_SCHEDULER.values()
    for key in kind.model_fields
}
"""Schedulers that read a key."""
_ADAPTERS = {kind: TypeAdapter(dict[Name, kind]) for kind in set(CLASS_OF_SCHEDULER.values())}  # type: ignore[valid-type]


def read_classes(value: Any, info: ValidationInfo) -> dict[str, PortClass]:
    """Read the classes of a port, each of the type of the port's scheduler.

    Raises ValidationError: With a fault for each key that the scheduler does not read, and all
        others.
    """
    given_scheduler = info.data.get("scheduler")
    if given_scheduler is None and isinstance(value, Mapping) and len(value) > 1:
        given_scheduler = _guess_scheduler(value)
    scheduler = given_scheduler or "fifo"
    kind = CLASS_OF_SCHEDULER[scheduler]
    foreign: list[InitErrorDetails] = []
    readable: Any = value
    if isinstance(value, Mapping):
        readable = {}
        for name, class_keys in value.items():
            readable[name] = class_keys
            if isinstance(class_keys, Mapping):
                readable[name] = {
                    key: each for key, each in class_keys.items() if _has_key(kind, key)
                }
                foreign += [
                    _make_foreign_key_error(scheduler, name, key)
                    for key in class_keys
                    if not _has_key(kind, key)
                ]
    try:
        classes: dict[str, PortClass] = _ADAPTERS[kind].validate_python(
            readable, context=info.context
        )
    except ValidationError as error:
        foreign += [_copy_error(item) for item in error.errors(include_url=False)]
    if foreign:
        raise ValidationError.from_exception_data("classes", foreign)
    return classes


def _guess_scheduler(classes: Mapping[str, Any]) -> str:
    """A scheduler that reads all keys, where the port has several classes and names none."""
    keys = {
        key
        for class_keys in classes.values()
        if isinstance(class_keys, Mapping)
        for key in class_keys
    }
    return next(
        (
            word
            for word, class_keys in CLASS_OF_SCHEDULER.items()
            if all(_has_key(class_keys, k) for k in keys)
        ),
        "",
    )


def _has_key(kind: type[PortClass], key: str) -> bool:
    return key in kind.model_fields or key not in _SCHEDULERS_OF_KEY


def _make_foreign_key_error(scheduler: str, name: str, key: str) -> InitErrorDetails:
    error = make_invalid_error(
        "relation",
        f"{key} means nothing to {scheduler}",
        allowed=f"scheduler: {' or '.join(_SCHEDULERS_OF_KEY[key])}",
    )
    return InitErrorDetails(type=error, loc=(name, key, "[key]"), input=None)


def _copy_error(item: Any) -> InitErrorDetails:
    """A found error, to be raised with others."""
    kind: Any = item["type"]
    if "message" in item.get("ctx", {}):
        kind = PydanticCustomError(kind, "{message}", item["ctx"])
    return InitErrorDetails(
        type=kind, loc=item["loc"], input=item["input"], ctx=item.get("ctx", {})
    )
