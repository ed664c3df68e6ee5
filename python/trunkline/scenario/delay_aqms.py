"""Active queue management by the time that packets wait."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.scenario.base import CompiledKeys, Element
from trunkline.scenario.fields import PositiveTime, QuantityField, Rate, default
from trunkline.scenario.units import BYTES

MAX_FRAME_BYTES = 1514  # Largest packet with Ethernet's header, as CAKE counts [B].
PacketBytes = Annotated[int, QuantityField(BYTES, 1, 65_551)]
_MTU_TEXT = "Largest packet on the wire, its link header included: "


class Codel(Element):
    """CoDel (RFC 8289): drops packets at the head while waits stay too long."""

    kind: Literal["codel"]
    target: PositiveTime = default(5_000_000, "Time in the queue that is acceptable.")
    interval: PositiveTime = default(
        100_000_000, "Time over which it must be exceeded: about a round trip."
    )
    mtu: PacketBytes = default(
        1514, _MTU_TEXT + "while no more is left in the queue nothing is dropped."
    )
    ce_threshold: PositiveTime | None = default(
        None, "Time in the queue above which ECN-capable packets are marked; absent: never."
    )
    arithmetic: Literal["exact", "linux"] = default(
        "exact", "`exact`: the RFC's square root; `linux`: the kernel's fixed point."
    )


Gain = Annotated[float, Field(gt=0, le=2, allow_inf_nan=False)]


class Pie(Element):
    """PIE (RFC 8033): drops arrivals so that the time in the queue tends to a target."""

    kind: Literal["pie"]
    target: PositiveTime = default(15_000_000, "Time in the queue it steers to.")
    tupdate: PositiveTime = default(15_000_000, "Time between two updates of the drop probability.")
    alpha: Gain = default(0.125, "Weight of the delay's distance from the target.")
    beta: Gain = default(1.25, "Weight of the delay's change.")
    burst: PositiveTime = default(
        150_000_000, "Time for which a queue that was idle drops nothing."
    )
    mtu: PacketBytes = default(
        1514, _MTU_TEXT + "while less than two are waiting nothing is dropped."
    )
    arithmetic: Literal["exact", "linux"] = default(
        "exact",
        "`exact`: a probability of 1 at most, as the RFC; `linux`: the kernel's, which grows "
        "beyond and falls the later.",
    )


class DualPi2(Element):
    """DualPI2 (RFC 9332): two queues, for scalable senders (ECT(1)) and for the rest, one AQM."""

    kind: Literal["dualpi2"]
    target: PositiveTime = default(15_000_000, "Time in the queue it steers to.")
    tupdate: PositiveTime = default(16_000_000, "Time between two updates of the probability.")
    alpha: Gain = default(0.16, "Weight of the wait's distance from the target.")
    beta: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = default(
        3.2, "Weight of the wait's change."
    )
    coupling: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = default(
        2.0, "How much more often the one queue marks than the root of the other's drops."
    )
    step: PositiveTime = default(
        1_000_000, "Wait above which the low-latency queue marks everything."
    )
    protection: Annotated[float, Field(ge=0, le=0.99, allow_inf_nan=False)] = default(
        0.1, "Share of the classic queue while both wait."
    )
    mtu: PacketBytes = default(1514, _MTU_TEXT + "below two of them the step alone signals.")


class Cobalt(Element):
    """COBALT: CoDel that forgets slowly, and BLUE; the AQM of CAKE."""

    kind: Literal["cobalt"]
    target: PositiveTime = default(5_000_000, "Time in the queue that is acceptable.")
    interval: PositiveTime = default(
        100_000_000, "Time over which it must be exceeded: about a round trip."
    )
    rate: Rate | None = default(
        None,
        "Rate of the queue: where 1.5 packets take longer than target, target and interval grow; "
        "absent: that of the tin of `cake`, else none.",
    )

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine, with the times that `rate` makes longer."""
        mtu_time = MAX_FRAME_BYTES * 8 * 10**9 // self.rate if self.rate else 0
        target = max(self.target, mtu_time * 3 // 2)
        return {
            "kind": self.kind,
            "target_ns": target,
            "interval_ns": max(self.interval + target - self.target, 2 * target),
            "mtu_time_ns": mtu_time,
        }
