"""The packet trace: one row an event of a packet."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline import _core
from trunkline.results.decode.columns import (
    Rows,
    ints,
    mask,
    names,
    texts,
)
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network

_ENDLESS = 2**63 - 1
_STACK = ("stack_1", "stack_2", "stack_3", "stack_4")
_SACK = ("sack_1", "sack_2", "sack_3")


def packets(rows: Rows, network: Network) -> dict[str, Column]:
    """Decode the trace of a run that was traced."""
    labelled, reported = _any(rows["stack_1"]), _any(rows["sack_1"])
    top = rows["stack_1"]
    started = mask([wait >= 0 for wait in rows["wait_ns"]])
    return {
        "event": names(_core.PACKET_EVENTS, rows["event"]),
        **_bytes(rows, network),
        "sack": _texts(rows, _SACK, _blocks) if reported else Column([None] * len(top)),
        "tcp_flags": _flags(rows, network),
        "echo_ns": rows.column("echo_ns", mask([back == 1 for back in rows["reverse"]])),
        "precedence": rows.column("precedence", mask([it >= 0 for it in rows["precedence"]])),
        "wait_ns": rows.column("wait_ns", started),
        "labels": _depths(rows) if labelled else ints([0] * len(top)),
        "label": ints([entry >> 12 for entry in top], mask([entry >= 0 for entry in top])),
        "stack": _texts(rows, _STACK, _entries) if labelled else Column([None] * len(top)),
    }


def _any(values: Sequence[int]) -> bool:
    """Whether a column applies to any row: most traces have no labels, or no SACK."""
    return max(values, default=-1) >= 0


def _depths(rows: Rows) -> Column:
    stacks = zip(*(rows[name] for name in _STACK), strict=True)
    # Few differ.
    return ints(map(functools.cache(_depth), stacks))


def _depth(stack: tuple[int, ...]) -> int:
    return sum(entry >= 0 for entry in stack)


def _texts(rows: Rows, names: Sequence[str], text: Any) -> Column:
    return texts(zip(*(rows[name] for name in names), strict=True), text)


def _blocks(blocks: tuple[int, ...]) -> str | None:
    pairs = [(block >> 32, block & 0xFFFF_FFFF) for block in blocks if block >= 0]
    return " ".join(f"{start}-{end}" for start, end in pairs) or None


def _entries(stack: tuple[int, ...]) -> str | None:
    used = [entry for entry in stack if entry >= 0]
    return " ".join(f"{it >> 12}/{it >> 9 & 7}/{it & 255}" for it in used) or None


def _bytes(rows: Rows, network: Network) -> dict[str, Column]:
    """Sequence and acknowledgement numbers of TCP in bytes of the stream, from 0."""
    agents = [flow["agent"] for flow in network["flows"]]
    mss = [agent["mss_bytes"] if agent["protocol"] == "tcp" else 0 for agent in agents]
    whole = [agent.get("size_bytes") or _ENDLESS for agent in agents]
    of_flow, reverse = rows["flow"], rows["reverse"]
    sent = zip(of_flow, reverse, rows["seq"], strict=True)
    answered = zip(of_flow, rows["ack"], strict=True)
    valid = mask([mss[flow] > 0 for flow in of_flow])
    return {
        # A SYN comes before the first byte (RFC 9293 section 3.4).
        "seq_bytes": ints(
            [-1 if seq < 0 else 0 if back else mss[flow] * seq for flow, back, seq in sent], valid
        ),
        "ack_bytes": ints(
            [
                in_bytes if (in_bytes := mss[flow] * ack) < whole[flow] else whole[flow]
                for flow, ack in answered
            ],
            valid,
        ),
    }


def _flags(rows: Rows, network: Network) -> Column:
    tcp = [flow["agent"]["protocol"] == "tcp" for flow in network["flows"]]
    columns = (rows[name] for name in ("flow", "reverse", "seq", "ece", "cwr"))
    bits = zip(*columns, strict=True)
    return texts(
        [(tcp[flow], back, seq < 0, ece, cwr) for flow, back, seq, ece, cwr in bits],
        lambda it: _flag_names(*it[1:]) if it[0] else None,
    )


def _flag_names(back: int, syn: int, ece: int, cwr: int) -> str:
    """Flags of a segment: all but the first acknowledge (RFC 9293 section 3.1)."""
    acknowledges = back or not syn
    said = ("SYN" * syn, "ACK" * acknowledges, "ECE" * ece, "CWR" * cwr)
    return " ".join(each for each in said if each)
