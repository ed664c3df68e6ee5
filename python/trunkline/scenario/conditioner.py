"""Conditioners (RFC 2475 section 2.3): rules, traffic profiles with their meters, actions."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import CompiledKeys, Element
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import (
    Name,
    PositiveTime,
    QuantityField,
    Rate,
    ShortForm,
    Switch,
    default,
    describe_value,
    make_invalid_error,
)
from trunkline.scenario.match import MatchConditions
from trunkline.scenario.units import BYTES

_MAX_BUCKET_BYTES = 2_000_000_000
BucketDepth = Annotated[int, QuantityField(BYTES, 0, _MAX_BUCKET_BYTES)]
PositiveBucketDepth = Annotated[int, QuantityField(BYTES, 1, _MAX_BUCKET_BYTES)]

_COLOUR_AWARE = Field(
    default=False, description="Whether the colour a packet comes with counts: none is promoted."
)
_AVG_INTERVAL = Field(description="Window of the rate estimate (AVG_INTERVAL).")


class _MeterOptions(Element):
    """Keys that all meters share."""

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine: 0 for absent keys."""
        return {key: 0 if value is None else value for key, value in super().compile_keys().items()}


class TokenBucket(_MeterOptions):
    """Token bucket: green while it holds the packet, else red (RFC 2475, RFC 3290)."""

    kind: Literal["token-bucket"]
    rate: Rate = Field(description="Rate of tokens.")
    burst: PositiveBucketDepth = Field(description="Depth of the bucket.")
    peak_rate: Rate | None = default(None, "Rate of a second bucket that must hold the packet too.")
    peak_burst: PositiveBucketDepth | None = default(None, "Depth of that bucket.")
    colour_aware: Switch = _COLOUR_AWARE


class SrTcm(_MeterOptions):
    """Single rate three colour marker (RFC 2697)."""

    kind: Literal["srtcm"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: BucketDepth = Field(description="Committed burst size.")
    ebs: BucketDepth = Field(description="Excess burst size.")
    colour_aware: Switch = _COLOUR_AWARE


class TrTcm(_MeterOptions):
    """Two rate three colour marker (RFC 2698)."""

    kind: Literal["trtcm"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: PositiveBucketDepth = Field(description="Committed burst size.")
    pir: Rate = Field(description="Peak information rate.")
    pbs: PositiveBucketDepth = Field(description="Peak burst size.")
    colour_aware: Switch = _COLOUR_AWARE


class Rfc4115(_MeterOptions):
    """Two rate three colour marker whose yellow packets take no committed tokens (RFC 4115)."""

    kind: Literal["rfc4115"]
    cir: Rate = Field(description="Committed information rate.")
    cbs: PositiveBucketDepth = Field(description="Committed burst size.")
    eir: Rate = Field(description="Excess information rate, above the committed one.")
    ebs: PositiveBucketDepth = Field(description="Excess burst size.")
    colour_aware: Switch = _COLOUR_AWARE


class Tsw2cm(_MeterOptions):
    """Time sliding window two colour marker: green and red (Clark and Fang 1998)."""

    kind: Literal["tsw2cm"]
    ctr: Rate = Field(description="Committed target rate.")
    avg_interval: PositiveTime = _AVG_INTERVAL


class Tsw3cm(_MeterOptions):
    """Time sliding window three colour marker (RFC 2859)."""

    kind: Literal["tsw3cm"]
    ctr: Rate = Field(description="Committed target rate.")
    ptr: Rate = Field(description="Peak target rate.")
    avg_interval: PositiveTime = _AVG_INTERVAL


Meter = Annotated[TokenBucket | SrTcm | TrTcm | Rfc4115 | Tsw2cm | Tsw3cm, Discriminator("kind")]


class ColourAction(Element):
    """Action for packets of one colour: `pass`, `drop`, or `{dscp: AF11}`."""

    drop: Switch = default(False, "Drop it.")
    dscp: Dscp | None = default(None, "Write this DSCP; absent: it stays.")


def _expand_action(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ("pass", "drop"):
            raise make_invalid_error(
                "choice",
                "there is no such action",
                given=describe_value(value),
                allowed="pass, drop, {dscp: AF11}",
            )
        return {"drop": value == "drop"}
    return value


_ActionField = Annotated[ColourAction, ShortForm(_expand_action, {"enum": ["pass", "drop"]})]


class TrafficProfile(Element):
    """A traffic profile: a meter and the action for each colour."""

    meter: Meter | None = default(None, "Meter that colours the packets; absent: all are green.")
    per: Literal["aggregate", "flow"] = default(
        "aggregate", "`flow`: every flow has its own meter."
    )
    green: _ActionField = default(ColourAction(), "Action for green packets.")
    yellow: _ActionField = default(ColourAction(), "With yellow ones.")
    red: _ActionField = default(ColourAction(), "With red ones.")


class ConditionerRule(MatchConditions):
    """A rule of a conditioner; packets that no rule matches pass unchanged."""

    profile: Name | None = default(
        None, "Profile that conditions the packet; absent: it passes unchanged."
    )


class Conditioner(Element):
    """A conditioner that links refer to by name."""

    rules: tuple[ConditionerRule, ...] = Field(
        description="Rules in order; the first that matches decides."
    )
    profiles: dict[Name, TrafficProfile] = Field(description="Traffic profiles by name.")
