"""Output of the agent: one checked stream of named files.

The agent's ``archive.rs`` has the format.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from trunkline.linux.plan.guest_plan import GuestPlan

MAGIC: Final = b"TLGUEST1"


class DamagedArchive(Exception):
    """A stream that is cut off or damaged."""


def read_archive(stream: bytes) -> dict[str, bytes]:
    """Read the files in a stream.

    Returns: In the order in which they were written.
    Raises DamagedArchive.
    """
    if stream[:8] != MAGIC:
        raise DamagedArchive(f"the guest's results do not begin as they must: {stream[:8]!r}")
    files: dict[str, bytes] = {}
    offset = 8
    try:
        while length := struct.unpack_from("<H", stream, offset)[0]:
            name = stream[offset + 2 : offset + 2 + length].decode("ascii")
            offset += 2 + length
            (size,) = struct.unpack_from("<Q", stream, offset)
            data = stream[offset + 8 : offset + 8 + size]
            (checksum,) = struct.unpack_from("<I", stream, offset + 8 + size)
            offset += 12 + size
            if zlib.crc32(data) != checksum:
                raise DamagedArchive(f"the guest's results are damaged: {name}")
            files[name] = data
        (count,) = struct.unpack_from("<I", stream, offset + 2)
    except (struct.error, UnicodeDecodeError) as error:
        raise DamagedArchive(f"the guest's results are cut off after {len(files)} files") from error
    if count != len(files):
        raise DamagedArchive(f"the guest's results hold {len(files)} files, not {count}")
    return files


def collect_statistics(plan: GuestPlan, files: dict[str, bytes]) -> list[dict[str, Any]]:
    """Collect the snapshots of all statistics, as ``stats.json`` holds them."""
    return [
        {
            "time_ns": time,
            "nodes": {
                node.name: _read_node(files, f"snapshot-{number}/{node.name}")
                for node in plan.nodes
            },
        }
        for number, time in enumerate(plan.snapshots_ns)
    ]


def _read_node(files: dict[str, bytes], prefix: str) -> dict[str, Any]:
    queues = json.loads(files[f"{prefix}/queues"])
    classes = {
        device: [each for each in found if "class" in each] for device, found in queues.items()
    }
    tc_values = _parse_values(files[f"{prefix}/tc"].decode())
    qdiscs, filter_values = tc_values[0], iter(tc_values[1:])
    for each in qdiscs:
        _take_sent_in_time(each, queues.get(each.get("dev"), ()))
    filters = {
        device: {side: next(filter_values) for side in ("ingress", "egress")} for device in classes
    }
    counters = _parse_counters(files[f"{prefix}/counters"].decode("ascii"))
    return {"qdiscs": qdiscs, "classes": classes, "filters": filters, "netstat": counters}


def _take_sent_in_time(printed: dict[str, Any], queues: Sequence[dict[str, Any]]) -> None:
    """Take what a discipline sent by the time of the snapshot, for which `tc` prints too late.

    On an emulated machine it prints some 20 ms after that. The bytes of a cake stay: its tins,
    which `tc` alone shows, are weighed against them.
    """
    for each in queues:
        is_same = (each.get("qdisc"), each["handle"]) == (printed["kind"], printed["handle"])
        if is_same and "tins" not in printed:
            printed.update(packets=each["packets"], bytes=each["bytes"])


def _parse_values(text: str) -> list[Any]:
    """JSON values that follow each other."""
    decoder, values, offset = json.JSONDecoder(), [], 0
    while offset < len(text):
        if text[offset].isspace():
            offset += 1
            continue
        value, offset = decoder.raw_decode(text, offset)
        values.append(value)
    return values


def _parse_counters(text: str) -> dict[str, dict[str, int]]:
    """Parse the pairs of lines, names above numbers, each begun by the name of a protocol."""
    lines = text.splitlines()
    counters: dict[str, dict[str, int]] = {}
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        protocol, _, rest = names.partition(":")
        values = numbers.partition(":")[2].split()
        counters[protocol] = dict(zip(rest.split(), map(int, values), strict=True))
    return counters
