"""What a scheduler owes a class: one type of keys for each scheduler, told apart by its word."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from trunkline.scenario.aqm import Compiled
from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Name,
    PositiveTime,
    Quantity,
    RateOrShare,
    Switch,
    Whole,
    Word,
    invalid,
)
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS
from trunkline.scenario.queue import Queue
from trunkline.scenario.units import BYTES, PACKETS

__all__ = [
    "CLASS_OF",
    "HIERARCHIES",
    "SCHEDULERS",
    "AnyClass",
    "Class",
    "DrrClass",
    "HtbClass",
    "Member",
    "Scheduler",
    "rate_of",
    "read_classes",
]

Scheduler = Literal[
    "fifo",
    "priority",
    "drr",
    "wfq",
    "shaped",
    "htb",
    "cbq",
    "cbq-ancestor-only",
    "fq-codel",
    "fq-pie",
    "sfq",
    "fq",
]

DEFAULT_BURST_BYTES = 1600
"""As tc sets it where the clock is fine: the MTU of Ethernet, rounded up [B]."""
Burst = Annotated[int, Quantity(BYTES, 1, 2_000_000_000)]
Priority = Annotated[int, Whole("a priority", 0, 1_000_000)] | None
Weight = Annotated[int, Whole("a weight", 1, 1_000_000)]
Quantum = Annotated[int, Quantity(BYTES, 1, 2**31 - 1)] | None
_FIRST = "0 is served first; absent: the order of the classes."


def rate_of(rate: int | float | None, link_rate: int) -> int:
    """A rate or share of a link's rate [bit/s], rounded down; 0 for None."""
    # The millionth keeps 29 % of 100 Mbit/s, which is no binary number, from losing a bit/s.
    return int(rate * link_rate + 1e-6) if isinstance(rate, float) else rate or 0


class Class(Element):
    """A class of a port: a queue. What the scheduler owes it is in the classes below."""

    queue: Queue = Field(default=Queue(), description="Its queue.")

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it.

        Parameters
        ----------
        index : int
            Its place among the classes.
        link_rate : int
            Rate of the link, of which rates may be shares [bit/s].
        names : list of str
            Names of all classes.
        """
        return {}


class FifoClass(Class):
    """The only class of a port."""


class PriorityClass(Class):
    """A class under strict priority."""

    priority: Priority = Field(default=None, description=_FIRST)

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return {"priority": index if self.priority is None else self.priority}


class DrrClass(Class):
    """A class in a deficit round robin."""

    weight: Weight = Field(default=1, description="Weight among the classes without a quantum.")
    quantum: Quantum = Field(default=None, description="Quantum; absent: from the weight.")

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return {"quantum_bytes": self.quantum or 0, "weight": self.weight}


class WfqClass(Class):
    """A class under weighted fair queueing."""

    weight: Weight = Field(default=1, description="Weight among its peers.")

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return {"weight": self.weight}


class ShapedClass(Class):
    """A class shaped by a token bucket."""

    priority: Priority = Field(default=None, description=_FIRST)
    rate: RateOrShare | None = Field(
        default=None, description="Rate it is shaped to, or its share of the link's; absent: none."
    )
    burst: Burst = Field(default=DEFAULT_BURST_BYTES, description="Depth of its bucket.")

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return {
            "priority": index if self.priority is None else self.priority,
            "rate_bit_s": rate_of(self.rate, link_rate),
            "burst_bytes": self.burst,
        }


class Member(Class):
    """A class of a hierarchy."""

    rate: RateOrShare = Field(description="Rate it is due, or its share of the link's.")
    quantum: Quantum = Field(default=None, description="Quantum of its turn; absent: by its rate.")
    parent: Word | None = Field(
        default=None, description="Class whose rate it shares; only leaves hold packets."
    )

    def member(self, link_rate: int, names: list[str]) -> Compiled:
        """What hierarchies have in common as the engine reads it."""
        return {
            "rate_bit_s": rate_of(self.rate, link_rate),
            "quantum_bytes": self.quantum or 0,
            "parent": None if self.parent is None else names.index(self.parent),
        }


class HtbClass(Member):
    """A class of a hierarchical token bucket."""

    priority: Annotated[int, Whole("a priority of htb", 0, 7)] = Field(
        default=0, description="0 is served first."
    )
    ceil: RateOrShare | None = Field(
        default=None, description="Most it may borrow up to; absent: its rate."
    )
    burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its rate."
    )
    cburst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its ceiling."
    )

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return self.member(link_rate, names) | {
            "priority": self.priority,
            "ceil_bit_s": rate_of(self.ceil, link_rate),
            "burst_bytes": self.burst,
            "cburst_bytes": self.cburst,
        }


class CbqClass(Member):
    """A class of class-based queueing."""

    priority: Annotated[int, Whole("a priority", 0, 1_000_000)] = Field(
        default=0, description="0 is served first."
    )
    bounded: Switch = Field(default=False, description="It never borrows.")
    isolated: Switch = Field(
        default=False, description="What it leaves is not lent to classes outside it."
    )
    max_burst: Annotated[int, Quantity(PACKETS, 1, 1_000_000)] = Field(
        default=16, description="Packets that may go back to back after a silence."
    )
    average_packet: Annotated[int, Quantity(BYTES, 1, 65_551)] = Field(
        default=1000, description="Packet size on the wire that max_burst counts in."
    )
    ewma_log: Annotated[int, Whole("an ewma_log", 1, 16)] = Field(
        default=5, description="Weight of the idle-time average is 2 to minus this."
    )
    min_idle: PositiveTime | None = Field(
        default=None, description="How far below zero the idle-time average may sink."
    )

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return self.member(link_rate, names) | {
            "priority": self.priority,
            "borrow": not self.bounded,
            "isolated": self.isolated,
            "max_burst_packets": self.max_burst,
            "average_packet_bytes": self.average_packet,
            "ewma_log": self.ewma_log,
            "min_idle_ns": self.min_idle,
        }


CLASS_OF: Mapping[str, type[Class]] = {
    "fifo": FifoClass,
    "priority": PriorityClass,
    "drr": DrrClass,
    "wfq": WfqClass,
    "shaped": ShapedClass,
    "htb": HtbClass,
    "cbq": CbqClass,
    "cbq-ancestor-only": CbqClass,
    **dict.fromkeys(FLOW_SCHEDULERS, FifoClass),
}
"""Type of the classes of each scheduler."""
SCHEDULERS = ", ".join(word for word, its in CLASS_OF.items() if its is not FifoClass)
"""Those that serve several classes, for messages."""
HIERARCHIES = tuple(word for word, its in CLASS_OF.items() if issubclass(its, Member))
"""Those that know parents."""

AnyClass = FifoClass | PriorityClass | DrrClass | WfqClass | ShapedClass | HtbClass | CbqClass
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
