"""Conditioners (RFC 2475 section 2.3): rules, traffic profiles with their meters, actions."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Dscp,
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

__all__ = ["Action", "Conditioner", "ConditionerRule", "Meter", "Profile"]

_DEEPEST = 2_000_000_000
Depth = Annotated[int, Quantity(BYTES, 0, _DEEPEST)]
PositiveDepth = Annotated[int, Quantity(BYTES, 1, _DEEPEST)]
Compiled = dict[str, Any]

_AWARE = Field(
    default=False, description="Whether the colour a packet comes with counts: none is promoted."
)
_AVG_INTERVAL = Field(description="Window of the rate estimate (AVG_INTERVAL).")


class TokenBucket(Element):
    """Token bucket: green while it holds the packet, else red (RFC 2475, RFC 3290)."""

    kind: Literal["token-bucket"]
    rate: Rate = Field(description="Rate of tokens.")
    burst: PositiveDepth = Field(description="Depth of the bucket.")
    peak_rate: Rate | None = Field(
        default=None, description="Rate of a second bucket that must hold the packet too."
    )
    peak_burst: PositiveDepth | None = Field(default=None, description="Depth of that bucket.")
    colour_aware: Switch = _AWARE

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {
            "kind": self.kind,
            "rate_bit_s": self.rate,
            "burst_bytes": self.burst,
            "peak_rate_bit_s": self.peak_rate or 0,
            "peak_burst_bytes": self.peak_burst or 0,
            "colour_aware": self.colour_aware,
        }


class SrTcm(Element):
    """Single rate three colour marker (RFC 2697)."""

    kind: Literal["srtcm"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: Depth = Field(description="Committed burst size.")
    ebs: Depth = Field(description="Excess burst size.")
    colour_aware: Switch = _AWARE

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {
            "kind": self.kind,
            "cir_bit_s": self.cir,
            "cbs_bytes": self.cbs,
            "ebs_bytes": self.ebs,
            "colour_aware": self.colour_aware,
        }


class TrTcm(Element):
    """Two rate three colour marker (RFC 2698)."""

    kind: Literal["trtcm"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: PositiveDepth = Field(description="Committed burst size.")
    pir: Rate = Field(description="Peak information rate.")
    pbs: PositiveDepth = Field(description="Peak burst size.")
    colour_aware: Switch = _AWARE

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {
            "kind": self.kind,
            "cir_bit_s": self.cir,
            "cbs_bytes": self.cbs,
            "pir_bit_s": self.pir,
            "pbs_bytes": self.pbs,
            "colour_aware": self.colour_aware,
        }


class Rfc4115(Element):
    """Two rate three colour marker whose yellow packets take no committed tokens (RFC 4115)."""

    kind: Literal["rfc4115"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: PositiveDepth = Field(description="Committed burst size.")
    eir: Rate = Field(description="Excess information rate, above the committed one.")
    ebs: PositiveDepth = Field(description="Excess burst size.")
    colour_aware: Switch = _AWARE

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {
            "kind": self.kind,
            "cir_bit_s": self.cir,
            "cbs_bytes": self.cbs,
            "eir_bit_s": self.eir,
            "ebs_bytes": self.ebs,
            "colour_aware": self.colour_aware,
        }


class Tsw2cm(Element):
    """Time sliding window two colour marker: green and red (Clark and Fang 1998)."""

    kind: Literal["tsw2cm"]
    ctr: Rate = Field(description="Committed target rate.")
    avg_interval: PositiveTime = _AVG_INTERVAL

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {"kind": self.kind, "ctr_bit_s": self.ctr, "avg_interval_ns": self.avg_interval}


class Tsw3cm(Element):
    """Time sliding window three colour marker (RFC 2859)."""

    kind: Literal["tsw3cm"]
    ctr: Rate = Field(description="Committed target rate.")
    ptr: Rate = Field(description="Peak target rate.")
    avg_interval: PositiveTime = _AVG_INTERVAL

    def compiled(self) -> Compiled:
        """Its parameters as the engine reads them."""
        return {
            "kind": self.kind,
            "ctr_bit_s": self.ctr,
            "ptr_bit_s": self.ptr,
            "avg_interval_ns": self.avg_interval,
        }


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
