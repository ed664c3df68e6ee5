"""Paths that are set up during the run: RSVP-TE, operators' events, random requests."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import (
    AUTO,
    Factor,
    NameReference,
    NameReferences,
    PlainInteger,
    PositiveTime,
    Rate,
    Switch,
    Time,
    default,
)
from trunkline.scenario.recovery import NS_PER_MS, Detection, LossOfSignalDetection

NS_PER_S = 1000 * NS_PER_MS
CS6_DSCP = 48
LspPriority = Annotated[int, PlainInteger("a priority", 0, 7)]


class AutoBandwidth(Element):
    """Automatic bandwidth (the words of RFC 8733)."""

    sample: PositiveTime = default(300 * NS_PER_S, "Interval of samples.")
    adjust: PositiveTime = default(
        86_400 * NS_PER_S, "Interval of adjustments: the largest sample in it is asked for."
    )
    threshold: Factor = default(0.05, "Minimum change that is signalled, over what is reserved.")
    minimum: Rate = default(1, "Minimum bandwidth.")
    maximum: Rate | None = default(None, "Largest bandwidth; absent: any.")


class SignallingOptions(Element):
    """Set-up of paths: `none`: they exist from the start, `rsvp-te`: by messages between nodes."""

    kind: Literal["none", "rsvp-te"] = default(
        "none",
        "Labels are there from the start, or RSVP-TE gives them out (RFC 3209). Paths with "
        "`segments` or `through` are there from the start with either.",
    )
    start: Time = default(
        0, "When heads begin; a path whose first event sets it up waits for that."
    )
    dscp: Dscp = default(CS6_DSCP, "DSCP of the messages.")
    refresh: PositiveTime = default(
        30 * NS_PER_S, "Mean time between refreshes (RFC 2205 section 3.7)."
    )
    multiplier: Annotated[int, PlainInteger("a multiplier", 1, 255)] = default(
        3, "K: refreshes that may be lost (RFC 2205 section 3.7)."
    )
    processing: Time = default(0, "Time a node takes for each message, one at a time.")
    reliable: Switch = default(False, "Messages are acknowledged and sent again (RFC 2961).")
    resend: PositiveTime = default(
        500 * NS_PER_MS, "With `reliable`: time to the first resend (Rf of RFC 2961)."
    )
    resend_increment: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = default(
        1.0,
        "With `reliable`: each interval to the next resend is longer than the one before by this "
        "share of it (Delta); 1 doubles it.",
    )
    resend_limit: Annotated[int, PlainInteger("a number of transmissions", 1, 16)] = default(
        3, "With `reliable`: most transmissions of a message (Rl)."
    )
    summary: Switch = default(
        False, "With `reliable`: summary refresh in place of full messages (RFC 2961)."
    )
    hello: PositiveTime | None = default(
        None,
        "Interval of hellos (RFC 3209 section 5); 3.5 of them without any is a failure. Absent: "
        "there are none.",
    )
    detection: Detection = default(
        LossOfSignalDetection(kind="loss-of-signal"),
        "How nodes notice that a link to them failed, hellos apart.",
    )
    retry: PositiveTime = default(10 * NS_PER_S, "From a failed attempt of a head to the next.")
    attempts: Annotated[int, PlainInteger("a number of attempts", 1, 64)] = default(
        4,
        "Routes that a head tries at once, each around the links that refused (crankback, RFC "
        "4920).",
    )
    flooding: Time | None = default(
        None,
        "From a change of a link to its news at all heads: until then they compute with what was. "
        "Absent: with OSPF its LSAs bring the news (RFC 3630), else it takes no time.",
    )
    flooding_threshold: Factor = default(
        0.0,
        "Minimum change of the unreserved bandwidth of a link that is flooded to heads, over what "
        "is reservable; 0: all are flooded.",
    )
    make_before_break: Switch = default(
        True,
        "A path that moves is set up again before the old one is torn down (RFC 3209 section 2.5).",
    )
    cleanup: Time = default(
        1 * NS_PER_S, "From the use of the new path to the tear of the old one."
    )
    soft_preemption: PositiveTime | None = default(
        None,
        "A preempted path may stay so long for its head to move it (RFC 5712); absent: it is torn "
        "down.",
    )
    reoptimise: PositiveTime | None = default(
        None, "Interval at which heads look for shorter routes; absent: never."
    )
    when_down: Literal["route", "discard"] = default(
        "route", "Treatment of packets while their path is down: IP routing, or none."
    )
    auto_bandwidth: dict[NameReference, AutoBandwidth] = default(
        {}, "Paths whose reservation follows their load."
    )


class OperatorEvent(Element):
    """An operator's action on a path, which it names directly or by its trunk."""

    at: Time = Field(description="When.")
    set_up: NameReference | None = default(None, "Path to set up.")
    tear: NameReference | None = default(None, "Path to tear down.")
    move: NameReference | None = default(None, "Path to move; needs `to`.")
    to: NameReferences = default(
        (),
        "New route: nodes in order, a path whose route it takes, or `auto`. A path that is only "
        "named here is a route and is not set up.",
    )
    resize: NameReference | None = default(None, "Path to resize; needs `bandwidth`.")
    bandwidth: Rate | None = default(None, "Its new bandwidth.")

    @property
    def action(self) -> tuple[str, str] | None:
        """Key and name of the one thing that it does; None if it does none or several."""
        actions = [
            (key, name)
            for key in ("set_up", "tear", "move", "resize")
            if (name := getattr(self, key)) is not None
        ]
        return actions[0] if len(actions) == 1 else None


class RandomRequests(Element):
    """Requests for paths that come at random: Poisson arrivals, exponential holding times.

    They carry no packets. A request that finds no route or no room is blocked and gone.
    """

    from_: NameReference = Field(alias="from", description="First node.")
    to: NameReference = Field(description="Last node.")
    bandwidth: Rate = Field(description="Bandwidth of each.")
    every: PositiveTime = Field(description="Mean time between requests.")
    holding: PositiveTime = Field(description="Mean time that a path is held.")
    route: NameReferences = default(
        (AUTO,), "Nodes of their route; `auto`: the shortest that has room."
    )
    setup: LspPriority = default(7, "Setup priority.")
    hold: LspPriority = default(7, "Holding priority.")


def get_moved_path(event: OperatorEvent) -> str | None:
    """Name of the path whose route an event takes, or of a first node; None if there is none."""
    return event.to[0] if event.move is not None and len(event.to) == 1 else None
