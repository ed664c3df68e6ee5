"""Share of a class in a scheduler: one type of keys for each scheduler."""

from typing import Annotated, Any

from pydantic import Field

from trunkline.scenario.base import CompiledKeys, Element, list_engine_keys
from trunkline.scenario.fields import (
    NameReference,
    PlainInteger,
    PositiveTime,
    QuantityField,
    RateOrShare,
    ShortForm,
    Switch,
    default,
)
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.units import BYTES, PACKETS

DEFAULT_BURST_BYTES = 1600
"""Burst that tc sets where the clock is fine: the MTU of Ethernet, rounded up [B]."""
BurstBytes = Annotated[int, QuantityField(BYTES, 1, 2_000_000_000)]
ClassPriority = Annotated[int, PlainInteger("a priority", 0, 1_000_000)] | None
ClassWeight = Annotated[int, PlainInteger("a weight", 1, 1_000_000)]
QuantumBytes = Annotated[int, QuantityField(BYTES, 1, 2**31 - 1)] | None
_PRIORITY_TEXT = "0 is served first; absent: the order of the classes."


def _expand_curve(value: Any) -> Any:
    return {"m2": value} if isinstance(value, str) else value


class PortClass(Element):
    """A class of a port: a queue. What the scheduler owes it is in the classes below."""

    queue: QueueOptions = default(QueueOptions(), "Its queue.")

    def list_rates(self) -> tuple[int | float | None, ...]:
        """List its rates, absolute or shares of the link's."""
        keys = list_engine_keys(type(self)).items()
        return tuple(getattr(self, name) for name, (_, is_rate) in keys if is_rate)

    def compile_share(self, index: int, link_rate: int, names: list[str]) -> CompiledKeys:
        """Compile the share for the engine.

        index: Its place among the classes, which is its priority where it sets none.
        link_rate: Rate of the link, of which rates may be shares [bit/s].
        """
        share_keys = self.compile_keys("queue", link_rate=link_rate)
        for key, absent in (("priority", index), ("quantum_bytes", 0)):
            if key in share_keys and share_keys[key] is None:
                share_keys[key] = absent
        if share_keys.get("parent") is not None:
            share_keys["parent"] = names.index(share_keys["parent"])
        return share_keys


class FifoClass(PortClass):
    """The only class of a port."""


class PriorityClass(PortClass):
    """A class under strict priority."""

    priority: ClassPriority = default(None, _PRIORITY_TEXT)


class DrrClass(PortClass):
    """A class in a deficit round robin."""

    weight: ClassWeight = default(1, "Weight among the classes without a quantum.")
    quantum: QuantumBytes = default(None, "Quantum; absent: from the weight.")


class WeightedClass(PortClass):
    """A class under weighted fair queueing, or in a round robin by packets."""

    weight: ClassWeight = default(1, "Weight among its peers; with `wrr`, packets in a turn.")


class ShapedClass(PortClass):
    """A class shaped by a token bucket."""

    priority: ClassPriority = default(None, _PRIORITY_TEXT)
    rate: RateOrShare | None = default(
        None, "Rate it is shaped to, or its share of the link's; absent: none."
    )
    burst: BurstBytes = default(DEFAULT_BURST_BYTES, "Depth of its bucket.")


class TbfClass(PortClass):
    """The only class of a port, shaped by a token bucket."""

    rate: RateOrShare = Field(description="Rate it is shaped to, or its share of the link's.")
    burst: BurstBytes = default(DEFAULT_BURST_BYTES, "Depth of the bucket of its rate.")
    peak_rate: RateOrShare | None = default(
        None, "Rate at which a burst goes out; absent: that of the link."
    )
    min_burst: BurstBytes = default(DEFAULT_BURST_BYTES, "Depth of the bucket of the peak rate.")


class HierarchyClass(PortClass):
    """A class of a hierarchy."""

    parent: NameReference | None = default(
        None, "Class whose rate it shares; only leaves hold packets."
    )


class RateClass(HierarchyClass):
    """A class of a hierarchy by rates."""

    rate: RateOrShare = Field(description="Rate it is due, or its share of the link's.")
    quantum: QuantumBytes = default(None, "Quantum of its turn; absent: by its rate.")


class HtbClass(RateClass):
    """A class of a hierarchical token bucket."""

    priority: Annotated[int, PlainInteger("a priority of htb", 0, 7)] = default(
        0, "0 is served first."
    )
    ceil: RateOrShare | None = default(None, "Maximum rate with what it borrows; absent: its rate.")
    burst: BurstBytes = default(DEFAULT_BURST_BYTES, "Depth of the bucket of its rate.")
    cburst: BurstBytes = default(DEFAULT_BURST_BYTES, "Depth of the bucket of its ceiling.")


class CbqClass(RateClass):
    """A class of class-based queueing."""

    priority: Annotated[int, PlainInteger("a priority", 0, 1_000_000)] = default(
        0, "0 is served first."
    )
    bounded: Switch = default(False, "It never borrows.")
    isolated: Switch = default(False, "Classes outside it cannot borrow its unused rate.")
    max_burst: Annotated[int, QuantityField(PACKETS, 1, 1_000_000)] = default(
        16, "Packets that may go back to back after a silence."
    )
    average_packet: Annotated[int, QuantityField(BYTES, 1, 65_551)] = default(
        1000, "Packet size on the wire that max_burst counts in."
    )
    ewma_log: Annotated[int, PlainInteger("an ewma_log", 1, 16)] = default(
        5, "Weight of the idle-time average is 2 to minus this."
    )
    min_idle: PositiveTime | None = default(
        None, "How far below zero the idle-time average may sink."
    )

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine, which knows who borrows."""
        borrow = {"borrow": not self.bounded}
        return super().compile_keys(*without, "bounded", link_rate=link_rate) | borrow


class CakeClass(PortClass):
    """A tin of CAKE."""

    priority: ClassPriority = default(None, _PRIORITY_TEXT)
    rate: RateOrShare = default(
        1.0, "Rate up to which it goes first, or its share of the port's bandwidth."
    )


class ServiceCurve(Element):
    """A service curve of two pieces; a rate alone is short for `{m2: RATE}`."""

    m1: RateOrShare | None = default(None, "Rate of the first piece, or its share of the link's.")
    d: PositiveTime | None = default(None, "How long the first piece lasts.")
    m2: RateOrShare = Field(description="Rate after that, or its share of the link's.")

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile its pieces for the engine."""
        return super().compile_keys(link_rate=link_rate) | {"d_ns": self.d or 0}


ServiceCurveField = (
    Annotated[
        ServiceCurve,
        ShortForm(_expand_curve, {"type": "string", "examples": ["2 Mbit/s", "20 %"]}),
    ]
    | None
)


class HfscClass(HierarchyClass):
    """A class of a hierarchy of fair service curves."""

    real_time: ServiceCurveField = default(None, "Service it gets whatever others do; of leaves.")
    link_share: ServiceCurveField = default(
        None, "Its share of the rest after real-time classes, in proportion to others'."
    )
    upper_limit: ServiceCurveField = default(
        None, "Maximum rate by link sharing; absent: no limit."
    )

    def get_curves(self) -> dict[str, ServiceCurve]:
        """Return its curves, by key."""
        each = {key: getattr(self, key) for key in ("real_time", "link_share", "upper_limit")}
        return {key: curve for key, curve in each.items() if curve is not None}

    def list_rates(self) -> tuple[int | float | None, ...]:
        """List its rates, absolute or shares of the link's."""
        return tuple(rate for curve in self.get_curves().values() for rate in (curve.m1, curve.m2))
