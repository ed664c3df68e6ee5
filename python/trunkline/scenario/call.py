"""Calls: codecs, talk spurts and the parameters of the E-model."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Factor,
    PositiveTime,
    Switch,
    Time,
    default,
    describe_value,
    is_numeric,
    make_invalid_error,
)

MEAN_TALK_NS, MEAN_PAUSE_NS = 1_004_000_000, 1_587_000_000
"""Mean talk spurt and pause of ITU-T P.59 (03/1993), temporal parameters of conversations,
the average of the languages measured [ns]. Both are exponential here; double talk and mutual
silence of its state model are absent, since a flow is one direction."""
RTP_UDP_IP_HEADER_BYTES = 40
"""Headers of a packet: RTP 12 (RFC 3550 section 5.1), UDP 8, IP 20 [B]."""
LARGEST_DATAGRAM = 65_535  # The largest IP packet [B].


@dataclass(frozen=True)
class Codec:
    """A speech codec."""

    rate_bit_s: int  # Rate of its frames [bit/s].
    look_ahead_ns: int  # Time that it hears beyond a frame before it codes it [ns].
    # ie, bpl: Impairment factor without loss and packet-loss robustness (ITU-T G.113 appendix I);
    # None: the recommendation has none.
    ie: float | None
    bpl: float | None


CODECS = {
    # ITU-T G.113 (11/2007) appendix I, Ie and Bpl under random loss; packets of 10 ms, no
    # concealment.
    "g711": Codec(64_000, 0, 0.0, 4.3),
    # There too: packets of 10 ms, the concealment of G.711 appendix I.
    "g711-plc": Codec(64_000, 0, 0.0, 25.1),
    # There too: G.729A with VAD, packets of 20 ms, its own concealment. Look-ahead: G.729 clause 2.
    "g729a": Codec(8000, 5_000_000, 11.0, 19.0),
    # Look-ahead: RFC 6716 section 2 (2.5 ms of CELT and 4 ms for its resampling and SILK's).
    "opus": Codec(24_000, 6_500_000, None, None),
}
"""Codecs by name: G.711 without and with loss concealment, G.729 annex A, Opus (RFC 6716)."""


def _validate_impairment(value: Any) -> float:
    if isinstance(value, bool) or not is_numeric(value) or isinstance(value, str):
        raise make_invalid_error(
            "type", "a factor of the E-model is a number such as 11", given=describe_value(value)
        )
    if not 0 <= value <= 100:
        raise make_invalid_error(
            "range", "a factor of the E-model must be from 0 to 100", given=value
        )
    return float(value)


ImpairmentFactor = Annotated[
    float,
    BeforeValidator(_validate_impairment),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "minimum": 0, "maximum": 100}, {"type": "string"}]}
    ),
]


class Call(Element):
    """One direction of a call: its packets, and how they are played at the other end."""

    codec: Literal["g711", "g711-plc", "g729a", "opus"] = default(
        "g711", "Codec: its rate, and its factors in the E-model."
    )
    packet: PositiveTime = default(20_000_000, "Speech in one packet.")
    silence: Switch = default(
        True,
        "Nothing is sent in pauses: exponential talk spurts and pauses with the means of ITU-T "
        "P.59, 1.004 and 1.587 s; off: packets all the time.",
    )
    playout: Time = default(
        60_000_000, "A packet is played this long after it was sent; one that comes later is lost."
    )
    delay_formula: Literal["g107", "simplified"] = default(
        "g107", "Impairment by delay: Idd of ITU-T G.107, or 0.024 d + 0.11 (d - 177.3 ms)+."
    )
    burst_ratio: Factor = default(1.0, "Burst ratio of losses in the E-model; 1: at random.")
    ie: ImpairmentFactor | None = default(None, "Impairment factor in place of the codec's.")
    bpl: ImpairmentFactor | None = default(None, "Packet-loss robustness in place of the codec's.")


def compute_datagram_bytes(call: Call) -> float:
    """IP bytes of a packet, whole or not [B]."""
    return CODECS[call.codec].rate_bit_s * call.packet / 8e9 + RTP_UDP_IP_HEADER_BYTES
