"""Values that were measured on a network: counters of tc, results of flent, captures.

Source: iproute2 ``tc -s [-j] qdisc show`` (tc/tc_util.c, ``print_tcstats2_attr``; the root
discipline of each device counts what its others do); flent's data files (a JSON object, often
gzipped, with ``results`` by series and ``SERIES_META`` with their units); captures as
``captured_packets`` reads them.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trunkline.importers.traffic.capture_files import CaptureError
from trunkline.importers.traffic.captured_packets import TCP, read_packets

_DISCIPLINE = re.compile(r"qdisc\s+(\S+)\s+\S+:\s+(?:dev\s+(\S+)\s+)?(root\b)?")
_SENT = re.compile(r"\s*Sent\s+(\d+)\s+bytes\s+(\d+)\s+pkts?\s+\(dropped\s+(\d+),")

Measure = Literal["sent", "dropped", "rate", "round trip"]


class MeasurementError(ValueError):
    """A file that holds no measured values."""


@dataclass(frozen=True)
class MeasuredValue:
    """A value that was measured."""

    name: str  # The device, the series or the flow, as the file has it.
    # ``sent`` and ``dropped`` count packets, ``rate`` is in Mbit/s, ``round trip`` in ms.
    measure: Measure
    # value, rounded_to: Its value, and the unit of its rounding.
    value: float
    rounded_to: float


def read_measured_values(file: Path) -> list[MeasuredValue]:
    """Read the values of a file: output of ``tc -s qdisc show``, of flent, or a capture.

    Raises MeasurementError: The file has another format, or no measurement.
    """
    data = file.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            raise MeasurementError(f"{file}: the compressed file is damaged") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _list_some(file, _read_capture(data, file))
    if text.lstrip().startswith(("{", "[")):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise MeasurementError(f"{file}: the JSON is damaged") from None
        found = _read_flent(document) if isinstance(document, dict) else _read_counters(document)
        return _list_some(file, found)
    return _list_some(file, _read_printed_counters(text))


def _list_some(file: Path, values: Iterator[MeasuredValue]) -> list[MeasuredValue]:
    found = list(values)
    if not found:
        raise MeasurementError(
            f"{file} is neither a capture, nor a file of flent, nor what tc -s qdisc show printed"
        )
    return found


def _read_printed_counters(text: str) -> Iterator[MeasuredValue]:
    device = ""
    for line in text.splitlines():
        if found := _DISCIPLINE.match(line):
            device = (found[2] or "port") if found[3] else ""
        elif (counts := _SENT.match(line)) and device:
            yield MeasuredValue(device, "sent", float(counts[2]), 1.0)
            yield MeasuredValue(device, "dropped", float(counts[3]), 1.0)
            device = ""


def _read_counters(disciplines: list[Any]) -> Iterator[MeasuredValue]:
    """Read the counters that ``tc -s -j qdisc show`` printed."""
    for each in disciplines:
        if isinstance(each, dict) and each.get("root") and "packets" in each:
            name = str(each.get("dev", "port"))
            yield MeasuredValue(name, "sent", float(each["packets"]), 1.0)
            yield MeasuredValue(name, "dropped", float(each.get("drops", 0)), 1.0)


def _read_flent(document: dict[str, Any]) -> Iterator[MeasuredValue]:
    series = document.get("results")
    metadata = document.get("metadata")
    if not isinstance(series, dict) or not isinstance(metadata, dict):
        return
    about = metadata.get("SERIES_META")
    for name, samples in series.items():
        if not isinstance(samples, list):
            continue
        numbers = [float(each) for each in samples if isinstance(each, int | float)]
        unit = about.get(name, {}).get("UNITS", "") if isinstance(about, dict) else ""
        if not numbers or unit not in ("ms", "Mbits/s"):
            continue
        mean = math.fsum(numbers) / len(numbers)
        measure: Measure = "round trip" if unit == "ms" else "rate"
        yield MeasuredValue(str(name), measure, mean, abs(mean) * 1e-3)


def _read_capture(data: bytes, file: Path) -> Iterator[MeasuredValue]:
    """Read the rate of each flow of the capture, over the time of the capture."""
    sizes: dict[tuple[str, str, int, int, int], int] = {}
    times = []
    try:
        for packet in read_packets(data):
            if packet.payload:
                sizes[packet.key] = sizes.get(packet.key, 0) + packet.ip_bytes
            times.append(packet.time_ns)
    except CaptureError as error:
        raise MeasurementError(f"{file}: {error}") from None
    span = (max(times) - min(times)) / 1e9 if times else 0.0
    if not span:
        return
    for (source, destination, protocol, *ports), size in sizes.items():
        word = "tcp" if protocol == TCP else "udp"
        rate = size * 8 / span / 1e6
        yield MeasuredValue(
            f"{word} {source}:{ports[0]}->{destination}:{ports[1]}", "rate", rate, rate * 1e-4
        )
