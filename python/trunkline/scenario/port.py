"""Port configurations: classifier, classes with their queues, scheduler."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from trunkline.scenario import presets
from trunkline.scenario.base import Element
from trunkline.scenario.diffserv import TrafficClass
from trunkline.scenario.fields import Name, RateOrShare, Whole
from trunkline.scenario.match import Match
from trunkline.scenario.queue import Queue
from trunkline.scenario.scheduler import AnyClass, Scheduler, read_classes
from trunkline.scenario.units import parse_whole


def _number(key: Any) -> Any:
    """A key of a mapping is text."""
    number = parse_whole(key) if isinstance(key, str) and key.isdecimal() else None
    return key if number is None else number


_TcKey = Annotated[TrafficClass, BeforeValidator(_number)]


class Rule(Match):
    """A rule of the classifier: all conditions given must hold; a list holds by any item."""

    class_: Name | None = Field(
        default=None, alias="class", description="Class it joins; absent: the only one."
    )
    precedence: Annotated[int, Whole("a drop precedence", 0, 15)] = Field(
        default=0, description="Drop precedence; 0 is dropped last."
    )


class Port(Element):
    """A port configuration that links refer to by name."""

    preset: Annotated[str, presets.Preset()] | None = Field(
        default=None,
        description="Ready-made configuration; keys beside it replace its own, classes by name.",
    )
    queue: Queue | None = Field(
        default=None, description="The queue of the only class, or of each flow with `per: flow`."
    )
    per: Literal["port", "flow"] = Field(
        default="port", description="`flow`: every flow has a class of its own."
    )
    scheduler: Scheduler | None = Field(
        default=None, description="Which class sends next; absent: fifo if there is one class."
    )
    bandwidth: RateOrShare | None = Field(
        default=None,
        description="With `cake`: rate it is shaped to, or its share of the link's; absent: all.",
    )
    classes: dict[Name, AnyClass] = Field(
        default={}, description="Classes by name; their keys are those of the scheduler."
    )
    classify: tuple[Rule, ...] = Field(
        default=(), description="Rules in order; the first that matches decides."
    )

    ecn_in_mpls: dict[_TcKey, TrafficClass] = Field(
        default={},
        description="Marks labelled packets (RFC 5129): traffic class, and the one that says the "
        "same and congestion experienced. Absent: what would be marked is dropped.",
    )

    @model_validator(mode="before")
    @classmethod
    def _expanded(cls, value: Any) -> Any:
        return presets.expand(value)

    @field_validator("classes", mode="wrap")
    @classmethod
    def _told_apart(cls, value: Any, _read: Any, info: ValidationInfo) -> Any:
        return read_classes(value, info)
