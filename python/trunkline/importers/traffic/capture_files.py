"""Frames of a capture file: pcap and pcapng, both byte orders.

Source: draft-ietf-opsawg-pcap (time in micro- or nanoseconds), draft-ietf-opsawg-pcapng sections
4.1 to 4.6 (section header, interface description with if_tsresol and if_tsoffset, enhanced, simple
and obsolete packet blocks). A file may end within its last record, as one does that was copied
while it was written.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.importers.common.account import ImportAccount

_PCAP_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order, and nanoseconds in a unit of time."""
_PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
_OTHER_FILES = {
    b"\x1f\x8b": "it is compressed: gunzip it first",
    b"\x28\xb5\x2f\xfd": "it is compressed: unzstd it first",
    b"\xfd7zXZ": "it is compressed: unxz it first",
    b"\x34\xcd\xb2\xa1": "it is pcap as Alexey Kuznetsov changed it: convert it with editcap",
    b"\xa1\xb2\xcd\x34": "it is pcap as Alexey Kuznetsov changed it: convert it with editcap",
    b"snoop\0": "it is a capture of snoop: convert it with editcap",
    b"\x0c\xa5": "it is a file of nfcapd: nfdump -o csv prints records for import records",
}
"""Files that people take for captures, by how they begin."""
_SECTION, _INTERFACE, _OBSOLETE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_OTHER_BLOCKS = {4: "names", 5: "statistics", 10: "secrets"}
_TSRESOL, _TSOFFSET = 9, 14


class CaptureError(ValueError):
    """A file that is no capture, or one that is damaged in the middle."""


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """A captured frame."""

    time_ns: int  # When [ns since the epoch].
    link_type: int  # A LINKTYPE of tcpdump.org.
    data: bytes  # Its captured part.
    length: int  # How long it was [B].


@dataclass(frozen=True, slots=True)
class _Interface:
    link_type: int
    units_per_second: int
    offset_s: int


def read_frames(data: bytes, account: ImportAccount) -> Iterator[CapturedFrame]:
    """Read the frames of a capture, in its order.

    account: Gets the records that are no frames.
    Raises CaptureError: It is no capture, or damaged in the middle.
    """
    if data[:4] in _PCAP_MAGIC:
        yield from _read_pcap(data, account)
    elif data[:4] == _PCAPNG_MAGIC:
        yield from _read_pcapng(data, account)
    else:
        known = next((each for start, each in _OTHER_FILES.items() if data.startswith(start)), "")
        raise CaptureError("neither pcap nor pcapng" + (f": {known}" if known else ""))


def _note_cut(account: ImportAccount, left_bytes: int) -> None:
    reason = f"the file ends within it, after {left_bytes} B"
    account.add_left_out("last record", reason)


def _read_pcap(data: bytes, account: ImportAccount) -> Iterator[CapturedFrame]:
    order, unit = _PCAP_MAGIC[data[:4]]
    if len(data) < 24:
        raise CaptureError("the file ends within its header")
    (link_type,) = struct.unpack_from(f"{order}I", data, 20)
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            _note_cut(account, len(data) - at)
            return
        seconds, fraction, captured, length = struct.unpack_from(f"{order}IIII", data, at)
        if captured > max(length, 0x40000):
            raise CaptureError(f"the record at byte {at} is {captured} B long")
        if at + 16 + captured > len(data):
            _note_cut(account, len(data) - at)
            return
        frame = data[at + 16 : at + 16 + captured]
        yield CapturedFrame(seconds * 10**9 + fraction * unit, link_type & 0xFFFF, frame, length)
        at += 16 + captured


def _read_pcapng(data: bytes, account: ImportAccount) -> Iterator[CapturedFrame]:
    order, at = "<", 0
    interfaces: list[_Interface] = []
    while at < len(data):
        if at + 12 > len(data):
            _note_cut(account, len(data) - at)
            return
        kind = struct.unpack_from(f"{order}I", data, at)[0]
        if kind == _SECTION:
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        (length,) = struct.unpack_from(f"{order}I", data, at + 4)
        if length < 12 or length % 4:
            raise CaptureError(f"the block at byte {at} has no sound length")
        if at + length > len(data):
            _note_cut(account, len(data) - at)
            return
        try:
            frame = _read_block(kind, data[at + 8 : at + length - 4], order, interfaces, account)
        except struct.error:
            raise CaptureError(f"the block at byte {at} is too short") from None
        if frame is not None:
            yield frame
        at += length


def _read_block(
    kind: int, body: bytes, order: str, interfaces: list[_Interface], account: ImportAccount
) -> CapturedFrame | None:
    """Read the frame of a block; None if it has none."""
    if kind == _SECTION:
        account.add_read("section header blocks")
        return None
    if kind == _INTERFACE:
        account.add_read("interface description blocks")
        (link_type,) = struct.unpack_from(f"{order}H", body)
        struct.unpack_from(f"{order}I", body, 4)
        interfaces.append(_Interface(link_type, *_read_clock(body[8:], order)))
        return None
    if kind == _SIMPLE:
        account.add_left_out("simple packet blocks", "they have no time")
        return None
    if kind not in (_ENHANCED, _OBSOLETE):
        reason = f"no packets: {_OTHER_BLOCKS.get(kind, 'of another kind')}"
        account.add_left_out(f"blocks of type {kind:#x}", reason)
        return None
    number_format = "I" if kind == _ENHANCED else "H2x"
    number, high, low, captured, length = struct.unpack_from(f"{order}{number_format}IIII", body)
    if number >= len(interfaces):
        raise CaptureError("a packet names an interface that is not described")
    interface = interfaces[number]
    ticks = high << 32 | low
    time_ns = ticks * 10**9 // interface.units_per_second + interface.offset_s * 10**9
    return CapturedFrame(time_ns, interface.link_type, body[20 : 20 + captured], length)


def _read_clock(options: bytes, order: str) -> tuple[int, int]:
    """Read the units of time in a second (by default 10^6), and the offset of its times [s]."""
    at, units_per_second, offset_s = 0, 1_000_000, 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, at)
        if code == 0:
            break
        value = options[at + 4 : at + 4 + length]
        if code == _TSRESOL and length >= 1:
            exponent = value[0] & 0x7F
            units_per_second = 2**exponent if value[0] & 0x80 else 10**exponent
        elif code == _TSOFFSET and length == 8:
            (offset_s,) = struct.unpack(f"{order}q", value)
        at += 4 + (length + 3) // 4 * 4
    return units_per_second, offset_s
