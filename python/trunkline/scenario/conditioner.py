"""Conditioners (RFC 2475 section 2.3): rules, traffic profiles with their meters, actions."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Compiled, Element
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import (
    Name,
    PositiveTime,
    Quantity,
    Rate,
    Short,
    Switch,
    invalid,
    kind,
)
from trunkline.scenario.match import Match
from trunkline.scenario.units import BYTES

_DEEPEST = 2_000_000_000
Depth = Annotated[int, Quantity(BYTES, 0, _DEEPEST)]
PositiveDepth = Annotated[int, Quantity(BYTES, 1, _DEEPEST)]

_AWARE = Field(
    default=False, description="Whether the colour a packet comes with counts: none is promoted."
)
_AVG_INTERVAL = Field(description="Window of the rate estimate (AVG_INTERVAL).")


class _Metering(Element):
    """What all meters share."""

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it: 0 for what is left out."""
        return {key: 0 if its is None else its for key, its in super().compiled().items()}


class TokenBucket(_Metering):
    """Token bucket: green while it holds the packet, else red (RFC 2475, RFC 3290)."""

    kind: Literal["token-bucket"]
    rate: Rate = Field(description="Rate of tokens.")
    burst: PositiveDepth = Field(description="Depth of the bucket.")
    peak_rate: Rate | None = Field(
        default=None, description="Rate of a second bucket that must hold the packet too."
    )
    peak_burst: PositiveDepth | None = Field(default=None, description="Depth of that bucket.")
    colour_aware: Switch = _AWARE


class SrTcm(_Metering):
    """Single rate three colour marker (RFC 2697)."""

    kind: Literal["srtcm"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: Depth = Field(description="Committed burst size.")
    ebs: Depth = Field(description="Excess burst size.")
    colour_aware: Switch = _AWARE


class TrTcm(_Metering):
    """Two rate three colour marker (RFC 2698)."""

    kind: Literal["trtcm"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: PositiveDepth = Field(description="Committed burst size.")
    pir: Rate = Field(description="Peak information rate.")
    pbs: PositiveDepth = Field(description="Peak burst size.")
    colour_aware: Switch = _AWARE


class Rfc4115(_Metering):
    """Two rate three colour marker whose yellow packets take no committed tokens (RFC 4115)."""

    kind: Literal["rfc4115"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: PositiveDepth = Field(description="Committed burst size.")
    eir: Rate = Field(description="Excess information rate, above the committed one.")
    ebs: PositiveDepth = Field(description="Excess burst size.")
    colour_aware: Switch = _AWARE


class Tsw2cm(_Metering):
    """Time sliding window two colour marker: green and red (Clark and Fang 1998)."""

    kind: Literal["tsw2cm"]
    ctr: Rate = Field(description="Committed target rate.")
    avg_interval: PositiveTime = _AVG_INTERVAL


class Tsw3cm(_Metering):
    """Time sliding window three colour marker (RFC 2859)."""

    kind: Literal["tsw3cm"]
    ctr: Rate = Field(description="Committed target rate.")
    ptr: Rate = Field(description="Peak target rate.")
    avg_interval: PositiveTime = _AVG_INTERVAL


Meter = Annotated[TokenBucket | SrTcm | TrTcm | Rfc4115 | Tsw2cm | Tsw3cm, Discriminator("kind")]


class Action(Element):
    """What is done with a packet of one colour: `pass`, `drop`, or `{dscp: AF11}`."""

    drop: Switch = Field(default=False, description="Drop it.")
    dscp: Dscp | None = Field(default=None, description="Write this DSCP; absent: it stays.")


def _action(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ("pass", "drop"):
            raise invalid(
                "choice",
                "there is no such action",
                given=kind(value),
                allowed="pass, drop, {dscp: AF11}",
            )
        return {"drop": value == "drop"}
    return value


_Action = Annotated[Action, Short(_action, {"enum": ["pass", "drop"]})]


class Profile(Element):
    """A traffic profile: a meter and what each colour means."""

    meter: Meter | None = Field(
        default=None, description="What colours the packets; absent: all are green."
    )
    per: Literal["aggregate", "flow"] = Field(
        default="aggregate", description="`flow`: every flow has a meter of its own."
    )
    green: _Action = Field(default=Action(), description="What is done with green packets.")
    yellow: _Action = Field(default=Action(), description="With yellow ones.")
    red: _Action = Field(default=Action(), description="With red ones.")


class ConditionerRule(Match):
    """A rule of a conditioner; packets that no rule matches pass as they are."""

    profile: Name | None = Field(
        default=None, description="Profile that conditions the packet; absent: it passes as it is."
    )


class Conditioner(Element):
    """A conditioner that links refer to by name."""

    rules: tuple[ConditionerRule, ...] = Field(
        description="Rules in order; the first that matches decides."
    )
    profiles: dict[Name, Profile] = Field(description="Traffic profiles by name.")
