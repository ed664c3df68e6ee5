"""Interactive media: frames of an encoder whose rate follows the network."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Factor,
    OneOrMany,
    PositiveTime,
    QuantityField,
    Rate,
    Switch,
    default,
)
from trunkline.scenario.units import BYTES

DEFAULT_MIN_RATE, DEFAULT_MAX_RATE = 150_000, 1_500_000
"""RMIN and RMAX of RFC 8698 figure 3 [bit/s]."""
MAX_FRAME_BYTES = 2**30
"""Maximum size of a frame [B], as the engine has it."""


class Media(Element):
    """A stream of frames, each shown a fixed time after its capture; rates are in IP bits."""

    control: Literal["nada"] = default(
        "nada", "How the rate follows delay, losses and marks: NADA (RFC 8698)."
    )
    min_rate: Rate | None = default(
        None, "Minimum of the encoder; absent: the ladder's lowest rate, else 150 kbit/s."
    )
    max_rate: Rate | None = default(
        None, "Maximum of the encoder; absent: the ladder's highest rate, else 1.5 Mbit/s."
    )
    ladder: OneOrMany[Rate] = Field(
        default=(),
        description="Rates that the encoder has, rising; absent: any from minimum to maximum.",
    )
    priority: Factor = default(1.0, "Weight among such flows that share a bottleneck.")
    frame: PositiveTime = default(40_000_000, "Time from one frame to the next.")
    playout: PositiveTime = default(
        200_000_000,
        "A frame is shown this long after its capture; one that is not complete then is missed.",
    )
    packet: Annotated[int, QuantityField(BYTES, 100, 65_535)] = default(
        1200, "Maximum size of an IP packet; a frame is cut into packets of like size."
    )
    ecn: Switch = default(False, "Packets can be marked in place of dropped (ECT(0), RFC 3168).")

    @property
    def least_rate(self) -> int:
        """Minimum rate of the encoder [bit/s]."""
        return self.min_rate or (self.ladder[0] if self.ladder else DEFAULT_MIN_RATE)

    @property
    def largest_rate(self) -> int:
        """Maximum rate of the encoder [bit/s]."""
        return self.max_rate or (self.ladder[-1] if self.ladder else DEFAULT_MAX_RATE)
