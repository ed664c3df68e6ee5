"""What the agent hands back: one checked stream of named files.

The format stands in the agent's ``archive.rs``.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from trunkline.linux.plan.plan import Plan

MAGIC: Final = b"TLGUEST1"


class BadArchive(Exception):
    """A stream that is cut off or damaged."""


def read_archive(stream: bytes) -> dict[str, bytes]:
    """The files in a stream.

    Returns
    -------
    dict of str to bytes
        In the order in which they were written.

    Raises
    ------
    BadArchive
    """
    if stream[:8] != MAGIC:
        msg = f"the guest's results do not begin as they must: {stream[:8]!r}"
        raise BadArchive(msg)
    files: dict[str, bytes] = {}
    at = 8
    try:
        while length := struct.unpack_from("<H", stream, at)[0]:
            name = stream[at + 2 : at + 2 + length].decode("ascii")
            at += 2 + length
            (size,) = struct.unpack_from("<Q", stream, at)
            data = stream[at + 8 : at + 8 + size]
            (check,) = struct.unpack_from("<I", stream, at + 8 + size)
            at += 12 + size
            if zlib.crc32(data) != check:
                msg = f"the guest's results are damaged: {name}"
                raise BadArchive(msg)
            files[name] = data
        (count,) = struct.unpack_from("<I", stream, at + 2)
    except (struct.error, UnicodeDecodeError) as error:
        msg = f"the guest's results are cut off after {len(files)} files"
        raise BadArchive(msg) from error
    if count != len(files):
        msg = f"the guest's results hold {len(files)} files, not {count}"
        raise BadArchive(msg)
    return files


def statistics(plan: Plan, files: dict[str, bytes]) -> list[dict[str, Any]]:
    """The snapshots of all statistics, as ``stats.json`` holds them."""
    return [
        {
            "time_ns": time,
            "nodes": {
                node.name: _node(files, f"snapshot-{number}/{node.name}") for node in plan.nodes
            },
        }
        for number, time in enumerate(plan.snapshots_ns)
    ]


def _node(files: dict[str, bytes], place: str) -> dict[str, Any]:
    classes = json.loads(files[f"{place}/classes"])
    shown = _values(files[f"{place}/tc"].decode())
    qdiscs, sides = shown[0], iter(shown[1:])
    filters = {device: {side: next(sides) for side in ("ingress", "egress")} for device in classes}
    counters = _counters(files[f"{place}/counters"].decode("ascii"))
    return {"qdiscs": qdiscs, "classes": classes, "filters": filters, "netstat": counters}


def _values(text: str) -> list[Any]:
    """JSON values that follow each other."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        values.append(value)
    return values


def _counters(text: str) -> dict[str, dict[str, int]]:
    """Pairs of lines, names above numbers, each begun by the name of a protocol."""
    lines = text.splitlines()
    counters: dict[str, dict[str, int]] = {}
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        protocol, _, rest = names.partition(":")
        values = numbers.partition(":")[2].split()
        counters[protocol] = dict(zip(rest.split(), map(int, values), strict=True))
    return counters
