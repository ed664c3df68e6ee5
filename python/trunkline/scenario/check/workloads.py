"""Checks of workloads: that each says how much and how large, once."""

from collections.abc import Sequence
from itertools import pairwise

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import format_bytes, format_rate, format_ratio, format_time
from trunkline.scenario.workload import (
    MAX_TRANSFER_BYTES,
    TransferSize,
    TransferWorkload,
    VideoWorkload,
)


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all workloads."""
    for name, flow in scenario.flows.items():
        if not isinstance(flow, Tcp):
            continue
        path: DocumentPath = ("flows", name)
        workloads_given = [
            key for key in ("size", "transfers", "pages", "video") if getattr(flow, key) is not None
        ]
        if len(workloads_given) > 1:
            message = "a TCP flow is one transfer of a size, or transfers, or pages, or video"
            problems.add(
                "relation",
                (*path, workloads_given[1]),
                message,
                given=", ".join(workloads_given),
                at_key=True,
            )
        if flow.transfers is not None:
            _check_transfers(scenario, flow.transfers, (*path, "transfers"), problems)
        if flow.pages is not None:
            _check_bins(flow.pages.bins, (*path, "pages"), problems)
            _check_size(flow.pages.main, (*path, "pages", "main"), problems)
            _check_size(flow.pages.embedded, (*path, "pages", "embedded"), problems)
        if flow.video is not None:
            _check_video(flow.video, (*path, "video"), problems)


def _check_video(video: VideoWorkload, path: DocumentPath, problems: Problems) -> None:
    _check_bins(video.bins, path, problems)
    check_ladder(video.ladder, path, problems)
    largest = video.ladder[-1] * video.chunk // 8_000_000_000
    if largest > MAX_TRANSFER_BYTES:
        problems.add(
            "range",
            (*path, "chunk"),
            f"a chunk of {format_rate(video.ladder[-1])} is larger than a transfer may be",
            given=format_time(video.chunk),
            allowed=f"at most {format_bytes(MAX_TRANSFER_BYTES)} a chunk",
        )
    if video.buffer < 2 * video.chunk:
        problems.add(
            "relation",
            (*path, "buffer"),
            "a buffer holds two chunks or more",
            given=format_time(video.buffer),
            allowed=f"at least {format_time(2 * video.chunk)}",
        )
    elif video.start is not None and video.start > video.buffer - video.chunk:
        problems.add(
            "relation",
            (*path, "start"),
            "the buffer would be full before it begins to play",
            given=format_time(video.start),
            allowed=f"at most {format_time(video.buffer - video.chunk)}",
        )
    for key in ("reservoir", "cushion"):
        if video.rule == "rate" and getattr(video, key) is not None:
            message = f"{key} has no meaning for the rule rate"
            problems.add("relation", (*path, key), message, allowed="rule: buffer", at_key=True)


def _check_transfers(
    scenario: ResolvedScenario, transfers: TransferWorkload, path: DocumentPath, problems: Problems
) -> None:
    _check_bins(transfers.bins, path, problems)
    for key in ("mean_on", "mean_off"):
        if transfers.arrivals != "on-off" and getattr(transfers, key) is not None:
            message = f"{key} has no meaning for {transfers.arrivals} arrivals"
            allowed = "with arrivals on-off"
            problems.add("relation", (*path, key), message, allowed=allowed, at_key=True)
        elif transfers.arrivals == "on-off" and getattr(transfers, key) is None:
            _report_missing(path, key, "on-off arrivals need it", problems)
    is_schedule = transfers.arrivals == "schedule"
    if (transfers.schedule is not None) != is_schedule:
        if is_schedule:
            _report_missing(path, "schedule", "schedule arrivals need it", problems)
        else:
            message = f"schedule has no meaning for {transfers.arrivals} arrivals"
            allowed = "with arrivals schedule"
            problems.add("relation", (*path, "schedule"), message, allowed=allowed, at_key=True)
    if is_schedule:
        for key in ("load", "every", "size", "of"):
            if getattr(transfers, key) is not None:
                message = f"{key} has no meaning for schedule arrivals: the file says it"
                problems.add("relation", (*path, key), message, at_key=True)
        return
    if (transfers.load is None) == (transfers.every is None):
        message = "`load` or `every` gives the number of transfers: one of them"
        problems.add("relation", path, message, at_key=True)
    if transfers.size is None:
        _report_missing(path, "size", "it says how large a transfer is", problems)
    else:
        _check_size(transfers.size, (*path, "size"), problems)
    _check_load(scenario, transfers, path, problems)


def _check_load(
    scenario: ResolvedScenario, transfers: TransferWorkload, path: DocumentPath, problems: Problems
) -> None:
    is_share = isinstance(transfers.load, float)
    if transfers.of is not None and not is_share:
        message = "of names the link that a share of load is meant of"
        problems.add("relation", (*path, "of"), message, allowed="with load: 60 %", at_key=True)
    elif is_share and transfers.of is None:
        message = "a share of which link? `of` names it"
        hint = "of: R1->R2"
        problems.add(
            "missing-key",
            (*path, "load"),
            message,
            given=format_ratio(float(transfers.load or 0)),
            hint=hint,
        )
    elif transfers.of is not None and transfers.of not in scenario.arc_by_name:
        problems.add_unknown(
            (*path, "of"), "direction of a link", transfers.of, sorted(scenario.arc_by_name)
        )


def _report_missing(path: DocumentPath, key: str, reason: str, problems: Problems) -> None:
    problems.add("missing-key", (*path, key), f"{key} is missing: {reason}", at_key=True)


def _check_bins(bins: Sequence[int], path: DocumentPath, problems: Problems) -> None:
    if any(low >= high for low, high in pairwise(bins)):
        bins_text = ", ".join(format_bytes(each) for each in bins)
        problems.add("relation", (*path, "bins"), "bins must rise", given=bins_text, at_key=True)


def _check_size(size: TransferSize, path: DocumentPath, problems: Problems) -> None:
    laws_given = [key for key in TransferSize.model_fields if getattr(size, key) is not None]
    if len(laws_given) != 1:
        message = f"a size is one of: {', '.join(TransferSize.model_fields)}"
        problems.add("relation", path, message, given=", ".join(laws_given) or "none", at_key=True)
    for key in ("pareto", "lognormal"):
        law = getattr(size, key)
        if law is not None and law.min >= law.max:
            problems.add(
                "relation",
                (*path, key, "min"),
                "min must be below max",
                given=format_bytes(law.min),
                allowed=f"below {format_bytes(law.max)}",
            )


def check_ladder(ladder: Sequence[int], path: DocumentPath, problems: Problems) -> bool:
    """Check that the bit rates of an encoder rise.

    path: Place of the element that has the key `ladder`.
    Returns: Whether they do.
    """
    if all(low < high for low, high in pairwise(ladder)):
        return True
    rates_text = ", ".join(format_rate(each) for each in ladder)
    problems.add("relation", (*path, "ladder"), "a ladder must rise", given=rates_text, at_key=True)
    return False
