"""Failures, and the reactions: detection, protection of paths, IP rerouting."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import CompiledKeys, Element
from trunkline.scenario.fields import (
    Factor,
    NameReference,
    NameReferences,
    PlainInteger,
    PositiveTime,
    Switch,
    Time,
    default,
)
from trunkline.scenario.te import RouteConstraints

NS_PER_MS = 1_000_000
LOCAL_PROTECTION_KINDS = ("facility-bypass", "detour")
"""Protections by the node next to the failure (RFC 4090)."""
SINGLE_PATH_KINDS = ("detour", "one-plus-one")  # Protections whose backup serves one working path.


class Outage(Element):
    """One time that something is down."""

    at: Time = Field(description="When it begins.")
    repair: Time | None = default(None, "When it ends; absent: never.")


class Failure(Element):
    """Links and nodes that fail together: one of them, or a shared-risk group.

    The times are one outage (`at`, `repair`), several (`outages`), or a random process
    (`mtbf`, `mttr`).
    """

    link: NameReferences = default((), "Links, in both directions; `A->B` is one direction.")
    node: NameReferences = default((), "Nodes: all their links, both directions.")
    at: Time | None = default(None, "When it begins.")
    repair: Time | None = default(None, "When it ends; absent: never.")
    outages: tuple[Outage, ...] = default((), "Several times, in order.")
    mtbf: PositiveTime | None = default(None, "Mean time up, exponential; needs mttr.")
    mttr: PositiveTime | None = default(None, "Mean time down, exponential.")

    @property
    def times(self) -> tuple[Outage, ...]:
        """The set times; none of a random failure."""
        if self.at is not None:
            return (Outage(at=self.at, repair=self.repair),)
        return self.outages


class MaintenanceWindow(Element):
    """Links that are taken out of service at a planned time, after traffic has left them."""

    link: NameReferences = Field(description="Links, in both directions; `A->B` is one direction.")
    from_: Time = Field(alias="from", description="When they are cut.")
    to: Time | None = default(None, "When they are back; absent: never.")
    drain: Literal["both", "metric", "lsp", "none"] = default(
        "both",
        "How traffic leaves them before: `metric`: routers advertise the largest metric; `lsp`: "
        "protections, or the heads of signalled paths, move label-switched paths, make before "
        "break; `none`: they are cut with their traffic.",
    )
    lead: Time = default(500 * NS_PER_MS, "From the drain to the cut.")

    @property
    def drained_ns(self) -> int | None:
        """Start of the drain [ns]; None without."""
        return None if self.drain == "none" else self.from_ - self.lead

    def make_failure(self) -> Failure:
        """Make the cut as a failure."""
        return Failure(link=self.link, at=self.from_, repair=self.to)


class FixedDetection(Element):
    """A set time from the failure to the knowledge of the node that repairs."""

    kind: Literal["fixed"]
    delay: Time = Field(description="From the failure to the knowledge.")


class LossOfSignalDetection(Element):
    """The node at the far end of a link sees the signal go."""

    kind: Literal["loss-of-signal"]
    delay: Time = default(10 * NS_PER_MS, "For which the signal must be gone, or back, to count.")


class BfdDetection(Element):
    """Bidirectional forwarding detection, asynchronous mode (RFC 5880)."""

    kind: Literal["bfd"]
    interval: PositiveTime = default(50 * NS_PER_MS, "Agreed interval between control packets.")
    multiplier: Annotated[int, PlainInteger("a multiplier", 1, 255)] = default(
        3, "Intervals of silence that mean a failure."
    )


class HelloDetection(Element):
    """RSVP hello (RFC 3209 section 5)."""

    kind: Literal["hello"]
    interval: PositiveTime = default(5 * NS_PER_MS, "Interval between hellos.")
    timeout: PositiveTime | None = default(
        None, "Silence that means a failure; absent: 3.5 intervals."
    )

    @property
    def detection_time(self) -> int:
        """Silence that means a failure [ns]."""
        return self.interval * 7 // 2 if self.timeout is None else self.timeout

    def compile_keys(self, *without: str, link_rate: int = 0) -> CompiledKeys:
        """Compile it for the engine: a timeout in any case."""
        return super().compile_keys() | {"timeout_ns": self.detection_time}


Detection = Annotated[
    FixedDetection | LossOfSignalDetection | BfdDetection | HelloDetection, Discriminator("kind")
]
"""Detection of failures, by `kind`."""


class Protection(Element):
    """The protection of a path, or of several that share a backup."""

    path: NameReferences = Field(
        description="Working path; several for backup, facility-bypass, restoration; `all`: each "
        "path of a trunk that it can protect."
    )
    kind: Literal[
        "backup", "one-plus-one", "facility-bypass", "detour", "ti-lfa", "restoration"
    ] = Field(
        description="1:1 by a path from end to end; 1+1; local repair through a tunnel, or by a "
        "separate path (RFC 4090); for paths with segments, a repair list (RFC 9855), with "
        "`backup: auto`; a path computed after the failure.",
    )
    backup: NameReference | None = default(
        None,
        "Path that takes over. Local repair: from the node that repairs to the node where it joins"
        " the working path again. Not for restoration. `auto`: computed, one for each path or for "
        "each place that needs it; any number of paths then.",
    )
    link: NameReferences = default(
        (),
        "Links whose failure it covers, in both directions; `A->B` is one direction. Absent: all "
        "that the backup goes around.",
    )
    protect: Literal["link", "node", "risk"] = default(
        "link",
        "With `backup: auto`: what backups avoid: the link, the next node (but for the last"
        " hop), or the links of the same shared risk groups.",
    )
    bandwidth: Factor | None = default(
        None,
        "With `backup: auto`: bandwidth that backups must find, over that of the path; backups of "
        "different single failures share it. Absent: none.",
    )
    constraints: RouteConstraints | None = default(
        None,
        "With `backup: auto`: constraints of backups; absent: colours and metric of the path, "
        "for a backup from end to end its bounds too.",
    )
    detection: Detection = default(
        LossOfSignalDetection(kind="loss-of-signal"), "How failures are noticed."
    )
    processing: Time = default(0, "Time a node takes to handle a notification or a label request.")
    hold_off: Time = default(0, "From the notification to the decision to switch.")
    compute: Time = default(0, "Computation of a path (restoration).")
    switch: Time = default(0, "From the decision to the switch.")
    revertive: Switch = default(True, "Traffic goes back after the repair.")
    wait_to_restore: Time = default(0, "From the notice of the repair to the decision to go back.")
    make_before_break: Switch = default(
        True, "Going back leaves no gap; else nothing passes for `switch`."
    )


class Rerouting(Element):
    """IP routing that follows failures; absent: routes do not change."""

    detection: Detection = default(
        LossOfSignalDetection(kind="loss-of-signal"), "How failures are noticed."
    )
    processing: Time = default(0, "Time a node takes to handle and pass on an update.")
    spf_delay: Time = default(
        100 * NS_PER_MS, "From the arrival of an update to the node's new routes."
    )
