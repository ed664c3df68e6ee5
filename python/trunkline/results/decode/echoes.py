"""The table of echo flows: what came back, as the one who asked sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results.decode.columns import Rows, floats, ints, mask, ratio
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network

_TIMES = ("mean", "min", "max", "p50", "p95", "p99", "jitter")


def echoes(rows: Rows, flows: Rows, network: Network) -> dict[str, Column]:
    """One row an echo flow."""

    def of_flow(name: str) -> list[int]:
        return [flows[name][flow] for flow in rows["flow"]]

    protocols = [(network["flows"][flow].get("echo") or {})["over"] for flow in rows["flow"]]
    two_ways = [protocol == "udp" for protocol in protocols]
    there, back, late = of_flow("packets_dropped"), rows["replies_dropped"], rows["replies_late"]
    lost = [sum(parts) for parts in zip(there, back, late, strict=True)]
    known = [a + b for a, b in zip(lost, rows["replies"], strict=True)]
    arrived = of_flow("packets_delivered")
    came = [a + b for a, b in zip(rows["replies"], late, strict=True)]
    columns = {
        "protocol": Column(protocols),
        "requests": ints(of_flow("packets_sent")),
        "lost": ints(lost),
        "lost_there": ints(there, mask(two_ways)),
        "lost_back": ints(back, mask(two_ways)),
        "reordered_there": ints(of_flow("reordered"), mask(two_ways)),
        "reordered_back": rows.column("reordered_back", mask(two_ways)),
        "loss_ratio": ratio(lost, known),
        "loss_there_ratio": _of_two(there, arrived, two_ways),
        "loss_back_ratio": _of_two(back, came, two_ways),
    }
    replied = [count > 0 for count in rows["replies"]]
    heard = [a and b for a, b in zip(replied, two_ways, strict=True)]
    went = [a > 0 and b for a, b in zip(arrived, two_ways, strict=True)]
    return (
        columns
        | _times("rtt", "rtt", rows, list(range(len(replied))), replied)
        | _times("back", "back", rows, list(range(len(replied))), heard)
        | _times("there", "delay", flows, rows["flow"], went)
    )


def _of_two(lost: list[int], came: list[int], valid: list[bool]) -> Column:
    whole = [a + b if ok else 0 for a, b, ok in zip(lost, came, valid, strict=True)]
    return ratio(lost, whole)


def _times(
    name: str, source: str, rows: Rows, at: list[int], valid: list[bool]
) -> dict[str, Column]:
    """Times of some rows."""
    columns: dict[str, Column] = {}
    for which in _TIMES:
        column = f"{source}_{which}_ns" if (source, which) != ("delay", "jitter") else "jitter_ns"
        values = [rows[column][index] for index in at]
        averaged = which in ("mean", "jitter")
        columns[f"{name}_{which}_ns"] = (
            floats(values, mask(valid)) if averaged else ints(values, mask(valid))
        )
    return columns
