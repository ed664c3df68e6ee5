"""Checks of workloads: that each says how much and how large, once."""

from collections.abc import Sequence
from itertools import pairwise

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.units import format_bytes, format_rate, format_ratio, format_time
from trunkline.scenario.workload import MAX_TRANSFER, Transfers, TransferSize, Video


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all workloads."""
    for name, flow in scenario.flows.items():
        if not isinstance(flow, Tcp):
            continue
        path: Path = ("flows", name)
        given = [
            key for key in ("size", "transfers", "pages", "video") if getattr(flow, key) is not None
        ]
        if len(given) > 1:
            message = "a TCP flow is one transfer of a size, or transfers, or pages, or video"
            problems.add(
                "relation", (*path, given[1]), message, given=", ".join(given), at_key=True
            )
        if flow.transfers is not None:
            _transfers(scenario, flow.transfers, (*path, "transfers"), problems)
        if flow.pages is not None:
            _bins(flow.pages.bins, (*path, "pages"), problems)
            _size(flow.pages.main, (*path, "pages", "main"), problems)
            _size(flow.pages.embedded, (*path, "pages", "embedded"), problems)
        if flow.video is not None:
            _video(flow.video, (*path, "video"), problems)


def _video(its: Video, path: Path, problems: Problems) -> None:
    _bins(its.bins, path, problems)
    if any(low >= high for low, high in pairwise(its.ladder)):
        given = ", ".join(format_rate(each) for each in its.ladder)
        problems.add("relation", (*path, "ladder"), "a ladder must rise", given=given, at_key=True)
    largest = its.ladder[-1] * its.chunk // 8_000_000_000
    if largest > MAX_TRANSFER:
        problems.add(
            "range",
            (*path, "chunk"),
            f"a chunk of {format_rate(its.ladder[-1])} is larger than a transfer may be",
            given=format_time(its.chunk),
            allowed=f"at most {format_bytes(MAX_TRANSFER)} a chunk",
        )
    if its.buffer < 2 * its.chunk:
        problems.add(
            "relation",
            (*path, "buffer"),
            "a buffer holds two chunks or more",
            given=format_time(its.buffer),
            allowed=f"at least {format_time(2 * its.chunk)}",
        )
    elif its.start is not None and its.start > its.buffer - its.chunk:
        problems.add(
            "relation",
            (*path, "start"),
            "the buffer would be full before it begins to play",
            given=format_time(its.start),
            allowed=f"at most {format_time(its.buffer - its.chunk)}",
        )
    for key in ("reservoir", "cushion"):
        if its.rule == "rate" and getattr(its, key) is not None:
            message = f"{key} has no meaning for the rule rate"
            problems.add("relation", (*path, key), message, allowed="rule: buffer", at_key=True)


def _transfers(scenario: Resolved, its: Transfers, path: Path, problems: Problems) -> None:
    _bins(its.bins, path, problems)
    for key in ("mean_on", "mean_off"):
        if its.arrivals != "on-off" and getattr(its, key) is not None:
            message = f"{key} has no meaning for {its.arrivals} arrivals"
            allowed = "with arrivals on-off"
            problems.add("relation", (*path, key), message, allowed=allowed, at_key=True)
        elif its.arrivals == "on-off" and getattr(its, key) is None:
            _missing(path, key, "on-off arrivals need it", problems)
    listed = its.arrivals == "schedule"
    if (its.schedule is not None) != listed:
        if listed:
            _missing(path, "schedule", "schedule arrivals need it", problems)
        else:
            message = f"schedule has no meaning for {its.arrivals} arrivals"
            allowed = "with arrivals schedule"
            problems.add("relation", (*path, "schedule"), message, allowed=allowed, at_key=True)
    if listed:
        for key in ("load", "every", "size", "of"):
            if getattr(its, key) is not None:
                message = f"{key} has no meaning for schedule arrivals: the file says it"
                problems.add("relation", (*path, key), message, at_key=True)
        return
    if (its.load is None) == (its.every is None):
        message = "how many transfers come is said by `load` or by `every`: one of them"
        problems.add("relation", path, message, at_key=True)
    if its.size is None:
        _missing(path, "size", "it says how large a transfer is", problems)
    else:
        _size(its.size, (*path, "size"), problems)
    _load(scenario, its, path, problems)


def _load(scenario: Resolved, its: Transfers, path: Path, problems: Problems) -> None:
    share = isinstance(its.load, float)
    if its.of is not None and not share:
        message = "of names the link that a share of load is meant of"
        problems.add("relation", (*path, "of"), message, allowed="with load: 60 %", at_key=True)
    elif share and its.of is None:
        message = "a share of which link? `of` names it"
        hint = "of: R1->R2"
        problems.add(
            "missing-key",
            (*path, "load"),
            message,
            given=format_ratio(float(its.load or 0)),
            hint=hint,
        )
    elif its.of is not None and its.of not in scenario.arc:
        problems.unknown((*path, "of"), "direction of a link", its.of, sorted(scenario.arc))


def _missing(path: Path, key: str, why: str, problems: Problems) -> None:
    problems.add("missing-key", (*path, key), f"{key} is missing: {why}", at_key=True)


def _bins(bins: Sequence[int], path: Path, problems: Problems) -> None:
    if any(low >= high for low, high in pairwise(bins)):
        given = ", ".join(format_bytes(each) for each in bins)
        problems.add("relation", (*path, "bins"), "bins must rise", given=given, at_key=True)


def _size(size: TransferSize, path: Path, problems: Problems) -> None:
    given = [key for key in TransferSize.model_fields if getattr(size, key) is not None]
    if len(given) != 1:
        problems.add(
            "relation",
            path,
            f"a size is one of: {', '.join(TransferSize.model_fields)}",
            given=", ".join(given) or "none",
            at_key=True,
        )
    for key in ("pareto", "lognormal"):
        its = getattr(size, key)
        if its is not None and its.min >= its.max:
            problems.add(
                "relation",
                (*path, key, "min"),
                "min must be below max",
                given=format_bytes(its.min),
                allowed=f"below {format_bytes(its.max)}",
            )
