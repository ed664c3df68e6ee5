"""Active queue management: one class for each kind, told apart by `kind`."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import CompiledKeys, Element, list_engine_keys
from trunkline.scenario.delay_aqms import Cobalt, Codel, DualPi2, PacketBytes, Pie
from trunkline.scenario.fields import (
    PlainInteger,
    PositiveTime,
    Probability,
    QuantityField,
    Rate,
    ShortForm,
    Switch,
    default,
)
from trunkline.scenario.queue_limit import QueueLimit, QueueLimitField
from trunkline.scenario.units import BYTES, PACKETS

__all__ = [
    "Aqm",
    "Blue",
    "Cobalt",
    "Codel",
    "DropTail",
    "DualPi2",
    "Gred",
    "Mred",
    "Pie",
    "PrecedenceDropTail",
    "Red",
    "RedCurve",
    "RedLinux",
    "StepMarking",
]

DropPrecedence = Annotated[int, PlainInteger("a drop precedence", 0, 15)]
AverageQueueBytes = Annotated[int, QuantityField(BYTES, 0, 2**31 - 1)]
PacketCount = Annotated[int, QuantityField(PACKETS, 0, 2**31 - 1)]
SignalSpacing = Literal["uniform", "ns2", "ns2-diffserv", "geometric"]
LinuxRedVersion = Literal["plog", "max-p"]

_SPACING_TEXT = "How early signals are spread; see the reference page of the queues."
_ADAPTIVE_TEXT = "Whether {} moves every half second so that the average stays mid-band."


class DropTail(Element):
    """No AQM: the queue's limit alone drops."""

    kind: Literal["drop-tail"] = "drop-tail"


class PrecedenceDropTail(Element):
    """A limit for each drop precedence."""

    kind: Literal["precedence-drop-tail"]
    limits: tuple[PacketCount, ...] = Field(
        min_length=1,
        max_length=16,
        description="Maximum number of packets for precedence 0, 1 and so on; a higher one takes "
        "the last.",
    )
    counted: Literal["own", "all"] = default(
        "all", "Which packets count: those of the precedence, or all."
    )


class RedCurve(Element):
    """Drop curve of the RED family, in the symbols of Floyd and Jacobson (1993)."""

    min_th: QueueLimitField = Field(description="Average below which no packet is signalled.")
    max_th: QueueLimitField = Field(
        description="Average from which on every packet is dropped (`gentle`: from twice this)."
    )
    max_p: Probability = default(
        0.1, "Probability of an early signal as the average reaches max_th."
    )

    @property
    def unit(self) -> str:
        """``packets`` or ``bytes``; empty where the thresholds are not one quantity each."""
        units = [_get_unit(each) for each in (self.min_th, self.max_th)]
        return units[0] if units[0] == units[1] else ""

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine, which knows the unit of the thresholds apart."""
        thresholds = {"min_th": _get_amount(self.min_th), "max_th": _get_amount(self.max_th)}
        return super().compile_keys(*without) | {
            key: float(threshold) for key, threshold in thresholds.items()
        }


def _get_unit(limit: QueueLimit) -> str:
    if (limit.packets is None) == (limit.bytes is None):
        return ""
    return "bytes" if limit.packets is None else "packets"


def _get_amount(limit: QueueLimit) -> int:
    return limit.packets if limit.packets is not None else limit.bytes or 0


class RedOptions(Element):
    """Keys that all kinds of RED share."""

    w_q: Probability = default(0.002, "Weight of the newest sample.")
    gentle: Switch = default(
        False, "The probability grows to 1 at twice max_th instead of jumping at max_th."
    )
    mean_packet: PacketBytes = default(
        500, "Mean size on the wire: ages the average of an idle queue, scales byte mode."
    )
    spacing: SignalSpacing = default("uniform", _SPACING_TEXT)


class Red(RedOptions, RedCurve):
    """Random Early Detection; thresholds in bytes turn byte mode on."""

    kind: Literal["red"]
    adaptive: Switch = default(False, _ADAPTIVE_TEXT.format("max_p"))

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine, which takes an absent `adaptive` for none."""
        return super().compile_keys(*_list_omitted_keys(self)) | {"unit": self.unit}


class Mred(RedOptions):
    """RED with a curve for each drop precedence.

    wred: one average; rio-c: each precedence sees the queue of its own and lower ones; rio-d:
    each sees its own.
    """

    kind: Literal["wred", "rio-c", "rio-d"]
    precedences: tuple[RedCurve, ...] = Field(
        min_length=1,
        max_length=16,
        description="Curve of each precedence, 0 first; a higher precedence takes the last.",
    )


class TcRed(Element):
    """Parameters of tc for RED and GRED."""

    min: AverageQueueBytes = Field(description="Average below which no packet is dropped.")
    max: AverageQueueBytes = Field(description="Average from which on every packet is dropped.")
    avpkt: PacketBytes = default(1000, "Average packet size.")
    burst: Annotated[int, QuantityField(PACKETS, 1, 2**31 - 1)] = Field(
        description="Burst that may pass; it sets the weight of the average."
    )
    bandwidth: Rate = default(10_000_000, "Rate at which an idle average ages (tc: 10 Mbit/s).")
    probability: Probability = default(0.02, "Probability of a drop as the average reaches max.")

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine: the parameters of tc, apart from derived values."""
        keys = super().compile_keys(*without)
        return keys | {
            "parameters": {key: keys.pop(key) for key, _ in list_engine_keys(TcRed).values()}
        }


_AGE_TEXT = "Which Linux: plog (until 2011, rounded probability) or max-p (since 2012, exact)."
_HARDDROP_TEXT = "Drop above max also what could be marked."


class RedLinux(TcRed):
    """RED as Linux's `sch_red`."""

    kind: Literal["red-linux"]
    age: LinuxRedVersion = default("max-p", _AGE_TEXT)
    harddrop: Switch = default(False, _HARDDROP_TEXT)
    adaptive: Switch = default(False, _ADAPTIVE_TEXT.format("probability"))
    idle_ageing: Switch = default(
        True, "Whether idle time ages the average; not under a classful parent of Linux."
    )

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine, which takes an absent `adaptive` for none."""
        return super().compile_keys(*_list_omitted_keys(self))


def _list_omitted_keys(red: Red | RedLinux) -> tuple[str, ...]:
    return () if red.adaptive else ("adaptive",)


class GredDp(TcRed):
    """One virtual queue of GRED."""

    dp: DropPrecedence = Field(description="Its number, which is the packets' drop precedence.")
    limit: Annotated[int, QuantityField(BYTES, 1, 2**31 - 1)] = Field(description="Maximum length.")
    prio: Annotated[int, PlainInteger("a prio", 0, 255)] = default(
        0, "With grio: lower is dropped later."
    )


class Gred(Element):
    """Generic RED as Linux's `sch_gred`."""

    kind: Literal["gred"]
    dps: tuple[GredDp, ...] = Field(min_length=1, max_length=16, description="The virtual queues.")
    default_dp: DropPrecedence = default(0, "Virtual queue of packets whose own is not set up.")
    grio: Switch = default(False, "Whether queues of lower prio count in the others' averages.")
    age: LinuxRedVersion = default("max-p", _AGE_TEXT)
    harddrop: Switch = default(False, _HARDDROP_TEXT)


class _ThresholdAqm(Element):
    """Keys of an AQM that signals above a threshold."""

    kind: str
    threshold: QueueLimitField

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine, which knows the unit apart."""
        threshold_keys = {
            "threshold": _get_amount(self.threshold),
            "unit": _get_unit(self.threshold) or "packets",
        }
        return super().compile_keys(*without) | threshold_keys


class Blue(_ThresholdAqm):
    """BLUE (Feng 2002): drops by a probability that long queues raise and idle times lower."""

    kind: Literal["blue"]
    threshold: QueueLimitField = Field(description="Queue above which the probability grows.")
    increment: Probability = default(0.02, "By how much it grows.")
    decrement: Probability = default(0.002, "By how much it shrinks.")
    freeze: PositiveTime = default(
        100_000_000, "Minimum time between two changes: about a round trip."
    )


class StepMarking(_ThresholdAqm):
    """Marks ECN-capable packets that find a longer queue (DCTCP, RFC 8257)."""

    kind: Literal["step"]
    threshold: QueueLimitField = Field(description="Queue above which arrivals are marked.")


def _expand_kind(value: Any) -> Any:
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
        | StepMarking,
        Discriminator("kind"),
    ],
    ShortForm(_expand_kind, {"enum": ["drop-tail", "codel", "pie", "dualpi2", "cobalt"]}),
]
"""Any AQM; `aqm: codel` is short for `aqm: {kind: codel}`."""
