"""Active queue management: one class for each kind, told apart by `kind`."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Compiled, Element, keys_of
from trunkline.scenario.fields import (
    PositiveTime,
    Probability,
    Quantity,
    Rate,
    Short,
    Switch,
    Whole,
)
from trunkline.scenario.limit import Limit, LimitField
from trunkline.scenario.timed import Cobalt, Codel, DualPi2, MeanPacket, Pie
from trunkline.scenario.units import BYTES, PACKETS

__all__ = [
    "Aqm",
    "Blue",
    "Cobalt",
    "Codel",
    "Curve",
    "DropTail",
    "DualPi2",
    "Gred",
    "Mred",
    "Pie",
    "PrecedenceDropTail",
    "Red",
    "RedLinux",
    "Step",
]

Precedence = Annotated[int, Whole("a drop precedence", 0, 15)]
AverageBytes = Annotated[int, Quantity(BYTES, 0, 2**31 - 1)]
Held = Annotated[int, Quantity(PACKETS, 0, 2**31 - 1)]
Spacing = Literal["uniform", "ns2", "ns2-diffserv", "geometric"]
Age = Literal["plog", "max-p"]

_SPACING = "How early signals are spread; see the reference page of the queues."
_ADAPTIVE = "Whether {} moves every half second so that the average stays mid-band."


class DropTail(Element):
    """No judgement: the queue's limit alone drops."""

    kind: Literal["drop-tail"] = "drop-tail"


class PrecedenceDropTail(Element):
    """A limit for each drop precedence."""

    kind: Literal["precedence-drop-tail"]
    limits: tuple[Held, ...] = Field(
        min_length=1,
        max_length=16,
        description="Maximum number of packets for precedence 0, 1 and so on; a higher one takes "
        "the last.",
    )
    counted: Literal["own", "all"] = Field(
        default="all", description="Which packets count: those of the precedence, or all."
    )


class Curve(Element):
    """Drop curve of the RED family, in the symbols of Floyd and Jacobson (1993)."""

    min_th: LimitField = Field(description="Average below which no packet is signalled.")
    max_th: LimitField = Field(
        description="Average from which on every packet is dropped (`gentle`: from twice this)."
    )
    max_p: Probability = Field(
        default=0.1, description="Probability of an early signal as the average reaches max_th."
    )

    @property
    def unit(self) -> str:
        """``packets`` or ``bytes``; empty where the thresholds are not one quantity each."""
        units = [_unit(each) for each in (self.min_th, self.max_th)]
        return units[0] if units[0] == units[1] else ""

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it, which knows the unit of the thresholds apart."""
        ends = {"min_th": _amount(self.min_th), "max_th": _amount(self.max_th)}
        return super().compiled(*without) | {key: float(its) for key, its in ends.items()}


def _unit(limit: Limit) -> str:
    if (limit.packets is None) == (limit.bytes is None):
        return ""
    return "bytes" if limit.packets is None else "packets"


def _amount(limit: Limit) -> int:
    return limit.packets if limit.packets is not None else limit.bytes or 0


class RedOptions(Element):
    """What the REDs have in common."""

    w_q: Probability = Field(default=0.002, description="Weight of the newest sample.")
    gentle: Switch = Field(
        default=False,
        description="The probability grows to 1 at twice max_th instead of jumping at max_th.",
    )
    mean_packet: MeanPacket = Field(
        default=500,
        description="Mean size on the wire: ages the average of an idle queue, scales byte mode.",
    )
    spacing: Spacing = Field(default="uniform", description=_SPACING)


class Red(RedOptions, Curve):
    """Random Early Detection; thresholds in bytes turn byte mode on."""

    kind: Literal["red"]
    adaptive: Switch = Field(default=False, description=_ADAPTIVE.format("max_p"))

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it, which takes an absent `adaptive` for none."""
        return super().compiled(*_switched(self)) | {"unit": self.unit}


class Mred(RedOptions):
    """RED with a curve for each drop precedence.

    wred: one average; rio-c: each precedence sees the queue of its own and lower ones; rio-d:
    each sees its own.
    """

    kind: Literal["wred", "rio-c", "rio-d"]
    precedences: tuple[Curve, ...] = Field(
        min_length=1,
        max_length=16,
        description="Curve of each precedence, 0 first; a higher precedence takes the last.",
    )


class TcRed(Element):
    """Parameters of tc for RED and GRED."""

    min: AverageBytes = Field(description="Average below which no packet is dropped.")
    max: AverageBytes = Field(description="Average from which on every packet is dropped.")
    avpkt: MeanPacket = Field(default=1000, description="Average packet size.")
    burst: Annotated[int, Quantity(PACKETS, 1, 2**31 - 1)] = Field(
        description="Burst that may pass; it sets the weight of the average."
    )
    bandwidth: Rate = Field(
        default=10_000_000, description="Rate at which an idle average ages (tc: 10 Mbit/s)."
    )
    probability: Probability = Field(
        default=0.02, description="Probability of a drop as the average reaches max."
    )

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it: the parameters of tc apart from what is said beside them."""
        own = super().compiled(*without)
        return own | {"parameters": {key: own.pop(key) for key, _ in keys_of(TcRed).values()}}


_AGE = "Which Linux: plog (until 2011, rounded probability) or max-p (since 2012, exact)."
_HARDDROP = "Drop above max also what could be marked."


class RedLinux(TcRed):
    """RED as Linux's `sch_red`."""

    kind: Literal["red-linux"]
    age: Age = Field(default="max-p", description=_AGE)
    harddrop: Switch = Field(default=False, description=_HARDDROP)
    adaptive: Switch = Field(default=False, description=_ADAPTIVE.format("probability"))
    idle_ageing: Switch = Field(
        default=True,
        description="Whether idle time ages the average; not under a classful parent of Linux.",
    )

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it, which takes an absent `adaptive` for none."""
        return super().compiled(*_switched(self))


def _switched(its: Red | RedLinux) -> tuple[str, ...]:
    return () if its.adaptive else ("adaptive",)


class GredDp(TcRed):
    """One virtual queue of GRED."""

    dp: Precedence = Field(description="Its number, which is the packets' drop precedence.")
    limit: Annotated[int, Quantity(BYTES, 1, 2**31 - 1)] = Field(description="Maximum length.")
    prio: Annotated[int, Whole("a prio", 0, 255)] = Field(
        default=0, description="With grio: lower is dropped later."
    )


class Gred(Element):
    """Generic RED as Linux's `sch_gred`."""

    kind: Literal["gred"]
    dps: tuple[GredDp, ...] = Field(min_length=1, max_length=16, description="The virtual queues.")
    default_dp: Precedence = Field(
        default=0, description="Virtual queue of packets whose own is not set up."
    )
    grio: Switch = Field(
        default=False, description="Whether queues of lower prio count in the others' averages."
    )
    age: Age = Field(default="max-p", description=_AGE)
    harddrop: Switch = Field(default=False, description=_HARDDROP)


class _Threshold(Element):
    """What signals above a threshold."""

    kind: str
    threshold: LimitField

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it, which knows the unit apart."""
        its = {"threshold": _amount(self.threshold), "unit": _unit(self.threshold) or "packets"}
        return super().compiled(*without) | its


class Blue(_Threshold):
    """BLUE (Feng 2002): drops by a probability that long queues raise and idle times lower."""

    kind: Literal["blue"]
    threshold: LimitField = Field(description="Queue above which the probability grows.")
    increment: Probability = Field(default=0.02, description="By how much it grows.")
    decrement: Probability = Field(default=0.002, description="By how much it shrinks.")
    freeze: PositiveTime = Field(
        default=100_000_000, description="Minimum time between two changes: about a round trip."
    )


class Step(_Threshold):
    """Marks what is ECN-capable and finds a longer queue (DCTCP, RFC 8257)."""

    kind: Literal["step"]
    threshold: LimitField = Field(description="Queue above which arrivals are marked.")


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


Aqm = Annotated[
    Annotated[
        DropTail
        | PrecedenceDropTail
        | Red
        | Mred
        | RedLinux
        | Gred
        | Codel
        | Pie
        | DualPi2
        | Cobalt
        | Blue
        | Step,
        Discriminator("kind"),
    ],
    Short(_named, {"enum": ["drop-tail", "codel", "pie", "dualpi2", "cobalt"]}),
]
"""Any AQM; `aqm: codel` is short for `aqm: {kind: codel}`."""
