"""Failures in the compiled network, and the repairs."""

from typing import Literal, NotRequired, TypedDict


class Outage(TypedDict):  # From when to when something is down.
    failed_ns: int
    repaired_ns: int | None


class FixedOutages(TypedDict):  # Outages at given times.
    kind: Literal["fixed"]
    at: list[Outage]


class RandomOutages(TypedDict):  # Exponential times up and down.
    kind: Literal["random"]
    mtbf_ns: int
    mttr_ns: int


class Drain(TypedDict):  # How traffic leaves links before a planned outage.
    at_ns: int
    by_metric: bool
    by_switch: bool


class Failure(TypedDict):  # Links that fail together.
    name: str
    links: list[int]
    node: bool
    outages: FixedOutages | RandomOutages
    drain: NotRequired[Drain | None]


class DelayedDetection(TypedDict):  # A failure is noticed after a set time, or by loss of signal.
    kind: Literal["fixed", "loss-of-signal"]
    delay_ns: int


class BfdDetection(TypedDict):  # BFD in asynchronous mode (RFC 5880 section 6.8).
    kind: Literal["bfd"]
    interval_ns: int
    multiplier: int


class HelloDetection(TypedDict):  # RSVP hello (RFC 3209 section 5).
    kind: Literal["hello"]
    interval_ns: int
    timeout_ns: int


Detection = DelayedDetection | BfdDetection | HelloDetection


class EntrySwitch(TypedDict):
    """Two forwarding entries of one node: the one in use, and the one that takes over."""

    entry: int
    alternative: int


class Protection(TypedDict):  # The protection of a path.
    name: str
    path: int
    kind: Literal["backup", "one-plus-one", "facility-bypass", "detour", "restoration"]
    node: int
    watches: list[int]
    switches: list[EntrySwitch]
    bridge: EntrySwitch | None
    detection: Detection
    processing_ns: int
    hold_off_ns: int
    compute_ns: int
    switch_ns: int
    revertive: bool
    wait_to_restore_ns: int
    make_before_break: bool


class Rerouting(TypedDict):  # Link-state routing that follows failures.
    detection: Detection
    processing_ns: int
    spf_delay_ns: int


class Recovery(TypedDict):  # Everything about failures.
    failures: NotRequired[list[Failure]]
    protections: NotRequired[list[Protection]]
    rerouting: NotRequired[Rerouting | None]
