"""Port configurations: classifier, classes with their queues, scheduler."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from trunkline.scenario import presets
from trunkline.scenario.base import Element
from trunkline.scenario.diffserv import TrafficClass
from trunkline.scenario.fields import Name, PlainInteger, RateOrShare, default
from trunkline.scenario.match import MatchConditions
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.scheduler import AnyClass, SchedulerName, read_classes
from trunkline.scenario.units import parse_integer


def _parse_tc_key(key: Any) -> Any:
    """Parse a key of a mapping is text."""
    number = parse_integer(key) if isinstance(key, str) and key.isdecimal() else None
    return key if number is None else number


_TcKey = Annotated[TrafficClass, BeforeValidator(_parse_tc_key)]


class ClassifierRule(MatchConditions):
    """A rule of the classifier: all conditions given must hold; a list holds by any item."""

    class_: Name | None = Field(
        default=None, alias="class", description="Class it joins; absent: the only one."
    )
    precedence: Annotated[int, PlainInteger("a drop precedence", 0, 15)] = default(
        0, "Drop precedence; 0 is dropped last."
    )


class PortConfiguration(Element):
    """A port configuration that links refer to by name."""

    preset: Annotated[str, presets.PresetField()] | None = default(
        None, "Ready-made configuration; keys with it replace its own, classes by name."
    )
    queue: QueueOptions | None = default(
        None, "The queue of the only class, or of each flow with `per: flow`."
    )
    per: Literal["port", "flow"] = default("port", "`flow`: every flow has its own class.")
    scheduler: SchedulerName | None = default(
        None, "Which class sends next; absent: fifo if there is one class."
    )
    bandwidth: RateOrShare | None = default(
        None, "With `cake`: rate it is shaped to, or its share of the link's; absent: all."
    )
    classes: dict[Name, AnyClass] = default(
        {}, "Classes by name; their keys are those of the scheduler."
    )
    classify: tuple[ClassifierRule, ...] = default(
        (), "Rules in order; the first that matches decides."
    )

    ecn_in_mpls: dict[_TcKey, TrafficClass] = default(
        {},
        "Marks labelled packets (RFC 5129): traffic class, and the one that says the same and "
        "congestion experienced. Absent: packets to mark are dropped.",
    )

    @model_validator(mode="before")
    @classmethod
    def _expand_preset(cls, value: Any) -> Any:
        return presets.expand_preset(value)

    @field_validator("classes", mode="wrap")
    @classmethod
    def _read_classes_of_scheduler(cls, value: Any, _read: Any, info: ValidationInfo) -> Any:
        return read_classes(value, info)
