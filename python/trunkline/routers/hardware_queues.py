"""Queues as line cards have them: a default class, priority levels, whole kbit/s, ratios."""

import math
from dataclasses import dataclass
from typing import Final

from trunkline.routers.router_config import (
    PortPolicy,
    QueuePolicy,
    Router,
    RouterNetwork,
    TargetFiles,
)
from trunkline.scenario.scheduler_classes import DEFAULT_BURST_BYTES

MAX_PRIORITY_LEVEL: Final = 7
MAX_RATIO: Final = 1020  # Greatest `bandwidth remaining ratio` of IOS XR.


@dataclass(frozen=True)
class PrecedenceCurve:
    """A curve of WRED for some codepoints; thresholds in ``unit``."""

    dscps: tuple[int, ...]
    tcs: tuple[int, ...]
    low: int
    high: int
    max_p: float
    unit: str


@dataclass(frozen=True)
class HardwareQueue:
    """A class as a line card has it; rates in kbit/s."""

    queue: QueuePolicy  # The class of the scenario.
    is_default: bool  # Takes the rest of the packets.
    level: int | None  # Strict priority, 1 first.
    # police, bandwidth, shape: Limit of a priority class, guarantee, ceiling of another class.
    police: int | None
    bandwidth: int | None
    shape: int | None
    ratio: int | None  # Share of the rest.
    curves: tuple[PrecedenceCurve, ...]  # Drop curves.


def list_queues_by_policy(
    files: TargetFiles, network: RouterNetwork, router: Router
) -> dict[str, list[HardwareQueue]]:
    """List the classes of each port policy that a router uses, by the policy's name."""
    return {
        name: list_hardware_queues(files, router, network.port_policies[name])
        for name in router.list_port_policies()
    }


def list_hardware_queues(
    files: TargetFiles, router: Router, policy: PortPolicy
) -> list[HardwareQueue]:
    """List the classes of a port, the default class last; note rounded and missing values."""
    default = max(policy.classes, key=lambda each: (0 in each.dscps, len(each.dscps)))
    ratios = _compute_ratios(files, router, policy)
    levels = sorted({each.priority for each in policy.classes if each.priority is not None})
    if policy.shaped_rate is not None:
        place: tuple[str, ...] = ("ports", policy.port)
        omit_burst(files, router, f"port {policy.port}: its shaper", policy.shaped_burst, place)
    made = []
    for queue in policy.classes:
        element = f"port {policy.port} class {queue.name}"
        place = ("ports", policy.port, "classes", queue.name)
        level = None if queue.priority is None else levels.index(queue.priority) + 1
        if level is not None and queue is default:
            if level < len(levels):
                files.omit(
                    router.name,
                    f"{element}: priority before others",
                    "the class of all other packets has no priority; nearest: a separate class",
                    place,
                )
            level = None
        if level is not None and level > MAX_PRIORITY_LEVEL:
            files.omit(
                router.name,
                f"{element}: priority {level}",
                f"line cards have {MAX_PRIORITY_LEVEL} levels; nearest: {MAX_PRIORITY_LEVEL}",
                place,
            )
            level = MAX_PRIORITY_LEVEL
        kbps = {}
        for key, rate in (("rate", queue.rate), ("ceiling", queue.ceiling)):
            kbps[key] = None if rate is None else max(1, math.ceil(rate / 1000))
            if rate is not None:
                files.note_rounding(
                    router.name, element, key, rate, (kbps[key] or 0) * 1000, "bit/s"
                )
        if level is None or kbps["ceiling"] is None:
            omit_burst(files, router, element, queue.burst, place)
        made.append(
            HardwareQueue(
                queue,
                queue is default,
                level,
                kbps["ceiling"] if level is not None else None,
                kbps["rate"],
                kbps["ceiling"] if level is None else None,
                ratios.get(queue.name),
                tuple(_list_curves(files, router, policy, queue)),
            )
        )
    return sorted(made, key=lambda each: each.is_default)


def omit_burst(
    files: TargetFiles, router: Router, element: str, burst: int | None, place: tuple[str, ...]
) -> None:
    """Note a bucket of a rate [B], which a router sizes itself; that of no key is none."""
    if burst and burst != DEFAULT_BURST_BYTES:
        files.omit(
            router.name,
            f"{element}: burst {burst} B",
            "a router sizes the bucket of a rate itself; nearest: none",
            (*place, "burst"),
            changes_design=False,
        )


def _compute_ratios(files: TargetFiles, router: Router, policy: PortPolicy) -> dict[str, int]:
    """Compute weights as ratios in range, with the share that each of them loses or gains."""
    weights = {each.name: each.weight for each in policy.classes if each.weight is not None}
    if not weights:
        return {}
    divisor = math.gcd(*weights.values())
    ratios = {name: weight // divisor for name, weight in weights.items()}
    if max(ratios.values()) > MAX_RATIO:
        scale = MAX_RATIO / max(ratios.values())
        ratios = {name: max(1, round(ratio * scale)) for name, ratio in ratios.items()}
    for name, weight in weights.items():
        files.note_rounding(
            router.name,
            f"port {policy.port} class {name}",
            "share",
            weight / sum(weights.values()),
            ratios[name] / sum(ratios.values()),
            "1",
        )
    return ratios


def _list_curves(
    files: TargetFiles, router: Router, policy: PortPolicy, queue: QueuePolicy
) -> list[PrecedenceCurve]:
    element = f"port {policy.port} class {queue.name}"
    if queue.curves:
        files.omit(
            router.name,
            f"{element}: w_q {queue.average_weight:g}",
            "line cards average with their own weight",
            ("ports", policy.port, "classes", queue.name, "queue", "aqm"),
            changes_design=False,
        )
    curves = []
    for precedence, curve in enumerate(queue.curves):
        low, high = round(curve["min_th"]), round(curve["max_th"])
        for key, asked, expressed in (
            ("min_th", curve["min_th"], low),
            ("max_th", curve["max_th"], high),
        ):
            files.note_rounding(
                router.name, element, f"{key} {precedence}", asked, expressed, queue.curve_unit
            )
        dscps = tuple(dscp for dscp, each in queue.dscps.items() if each == precedence)
        tcs = tuple(tc for tc, each in queue.tcs.items() if each == precedence)
        if len(queue.curves) > 1 and not dscps and not tcs:
            continue
        curves.append(PrecedenceCurve(dscps, tcs, low, high, curve["max_p"], queue.curve_unit))
    return curves


def join_ranges(numbers: tuple[int, ...]) -> list[str]:
    """Numbers as ranges: ``0-9``, ``46``."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [f"{low}" if low == high else f"{low}-{high}" for low, high in ranges]
