"""What a scheduler owes a class: one type of keys for each scheduler."""

from typing import Annotated, Any

from pydantic import Field

from trunkline.scenario.aqm import Compiled
from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    PositiveTime,
    Quantity,
    RateOrShare,
    Short,
    Switch,
    Whole,
    Word,
)
from trunkline.scenario.queue import Queue
from trunkline.scenario.units import BYTES, PACKETS

__all__ = [
    "CakeClass",
    "CbqClass",
    "Class",
    "Curve",
    "DrrClass",
    "FifoClass",
    "HfscClass",
    "HtbClass",
    "Member",
    "PriorityClass",
    "Rated",
    "ShapedClass",
    "TbfClass",
    "WeightedClass",
    "rate_of",
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


def _alone(value: Any) -> Any:
    return {"m2": value} if isinstance(value, str) else value


class Class(Element):
    """A class of a port: a queue. What the scheduler owes it is in the classes below."""

    queue: Queue = Field(default=Queue(), description="Its queue.")

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return ()

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


class WeightedClass(Class):
    """A class under weighted fair queueing, or in a round robin by packets."""

    weight: Weight = Field(
        default=1, description="Weight among its peers; with `wrr`, packets in a turn."
    )

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

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return (self.rate,)

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return {
            "priority": index if self.priority is None else self.priority,
            "rate_bit_s": rate_of(self.rate, link_rate),
            "burst_bytes": self.burst,
        }


class TbfClass(Class):
    """The only class of a port, shaped by a token bucket."""

    rate: RateOrShare = Field(description="Rate it is shaped to, or its share of the link's.")
    burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its rate."
    )
    peak_rate: RateOrShare | None = Field(
        default=None, description="Rate at which a burst goes out; absent: that of the link."
    )
    min_burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of the peak rate."
    )

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return (self.rate, self.peak_rate)

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return {
            "rate_bit_s": rate_of(self.rate, link_rate),
            "burst_bytes": self.burst,
            "peak_rate_bit_s": rate_of(self.peak_rate, link_rate),
            "min_burst_bytes": self.min_burst,
        }


class Member(Class):
    """A class of a hierarchy."""

    parent: Word | None = Field(
        default=None, description="Class whose rate it shares; only leaves hold packets."
    )

    def above(self, names: list[str]) -> int | None:
        """Index of its parent."""
        return None if self.parent is None else names.index(self.parent)


class Rated(Member):
    """A class of a hierarchy by rates."""

    rate: RateOrShare = Field(description="Rate it is due, or its share of the link's.")
    quantum: Quantum = Field(default=None, description="Quantum of its turn; absent: by its rate.")

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return (self.rate,)

    def member(self, link_rate: int, names: list[str]) -> Compiled:
        """What hierarchies have in common as the engine reads it."""
        return {
            "rate_bit_s": rate_of(self.rate, link_rate),
            "quantum_bytes": self.quantum or 0,
            "parent": self.above(names),
        }


class HtbClass(Rated):
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

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return (self.rate, self.ceil)

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        return self.member(link_rate, names) | {
            "priority": self.priority,
            "ceil_bit_s": rate_of(self.ceil, link_rate),
            "burst_bytes": self.burst,
            "cburst_bytes": self.cburst,
        }


class CbqClass(Rated):
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


class CakeClass(Class):
    """A tin of CAKE."""

    priority: Priority = Field(default=None, description=_FIRST)
    rate: RateOrShare = Field(
        default=1.0,
        description="Rate up to which it goes first, or its share of the port's bandwidth.",
    )

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return (self.rate,)

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it; rates are shares of the port's bandwidth."""
        return {
            "priority": index if self.priority is None else self.priority,
            "rate_bit_s": rate_of(self.rate, link_rate),
        }


class Curve(Element):
    """A service curve of two pieces; a rate alone is short for `{m2: RATE}`."""

    m1: RateOrShare | None = Field(
        default=None, description="Rate of the first piece, or its share of the link's."
    )
    d: PositiveTime | None = Field(default=None, description="How long the first piece lasts.")
    m2: RateOrShare = Field(description="Rate after that, or its share of the link's.")

    def compiled(self, link_rate: int) -> Compiled:
        """Its pieces as the engine reads them."""
        return {
            "m1_bit_s": rate_of(self.m1, link_rate),
            "d_ns": self.d or 0,
            "m2_bit_s": rate_of(self.m2, link_rate),
        }


CurveField = (
    Annotated[
        Curve,
        Short(_alone, {"type": "string", "examples": ["2 Mbit/s", "20 %"]}),
    ]
    | None
)


class HfscClass(Member):
    """A class of a hierarchy of fair service curves."""

    real_time: CurveField = Field(
        default=None, description="Service it gets whatever others do; of leaves."
    )
    link_share: CurveField = Field(
        default=None, description="Its share of what real time leaves, in proportion to others'."
    )
    upper_limit: CurveField = Field(
        default=None, description="Most it gets by link sharing; absent: no limit."
    )

    def curves(self) -> dict[str, Curve]:
        """Those it has, by key."""
        each = {
            "real_time": self.real_time,
            "link_share": self.link_share,
            "upper_limit": self.upper_limit,
        }
        return {key: curve for key, curve in each.items() if curve is not None}

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return tuple(rate for curve in self.curves().values() for rate in (curve.m1, curve.m2))

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it."""
        none = dict.fromkeys(("real_time", "link_share", "upper_limit"))
        curves = {key: curve.compiled(link_rate) for key, curve in self.curves().items()}
        return none | curves | {"parent": self.above(names)}
