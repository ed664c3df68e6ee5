"""Packets of a capture: pcap and pcapng, IPv4 with UDP or TCP.

Source: draft-ietf-opsawg-pcap (both byte orders, time in micro- or nanoseconds),
draft-ietf-opsawg-pcapng sections 4.1 to 4.4 (section header, interface description with if_tsresol,
enhanced packets). Link types: Ethernet (VLAN tags and MPLS labels are passed over), raw IP, Linux
cooked (SLL), BSD loopback.
Absent: IPv6, simple packets, which have no time, fragments but the first, compressed files.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

UDP, TCP = 17, 6
_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_SECTION, _INTERFACE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 3, 6
_ETHERNET, _LOOPBACK, _COOKED = 1, 0, 113
_RAW = (12, 101, 228)
_VLAN, _MPLS, _IPV4 = (0x8100, 0x88A8), (0x8847, 0x8848), 0x0800


class CaptureError(ValueError):
    """A file that is no capture, or ends within a packet."""


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """An IPv4 packet of a capture.

    Attributes
    ----------
    time_ns : int
        When it was captured [ns since the epoch].
    protocol : int
        17 is UDP, 6 TCP.
    ports : tuple of (int, int)
        Of source and destination.
    ip_bytes : int
        Total length of the IP packet [B].
    payload : int
        Bytes above UDP's or TCP's header [B].
    """

    time_ns: int
    source: str
    destination: str
    protocol: int
    ports: tuple[int, int]
    ip_bytes: int
    payload: int

    @property
    def key(self) -> tuple[str, str, int, int, int]:
        """The 5-tuple: addresses, protocol, ports."""
        return (self.source, self.destination, self.protocol, *self.ports)


def read_packets(data: bytes) -> Iterator[CapturedPacket]:
    """The UDP and TCP packets of a capture, in its order.

    Raises
    ------
    CaptureError
        It is neither, or damaged.
    """
    try:
        for time_ns, link, frame in _read_frames(data):
            found = _parse_packet(time_ns, link, frame)
            if found is not None:
                yield found
    except struct.error:
        raise CaptureError("the file ends within a block or packet") from None


def _read_frames(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Time, link type and bytes of each frame."""
    if data[:4] in _MAGIC:
        yield from _read_pcap(data)
    elif data[:4] == b"\x0a\x0d\x0d\x0a":
        yield from _read_pcapng(data)
    else:
        raise CaptureError("neither pcap nor pcapng")


def _read_pcap(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    order, unit = _MAGIC[data[:4]]
    (link,) = struct.unpack_from(f"{order}I", data, 20)
    at = 24
    while at < len(data):
        seconds, fraction, captured_bytes, _ = struct.unpack_from(f"{order}IIII", data, at)
        at += 16
        if at + captured_bytes > len(data):
            raise CaptureError("the file ends within a packet")
        yield seconds * 10**9 + fraction * unit, link & 0xFFFF, data[at : at + captured_bytes]
        at += captured_bytes


def _read_pcapng(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    order, at = "<", 0
    interfaces: list[tuple[int, int, int]] = []  # link type, units a second, snap length
    while at < len(data):
        kind = struct.unpack_from(f"{order}I", data, at)[0]
        if kind == _SECTION:
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        (length,) = struct.unpack_from(f"{order}I", data, at + 4)
        if length < 12 or length % 4 or at + length > len(data):
            raise CaptureError("a block has no sound length")
        body = data[at + 8 : at + length - 4]
        if kind == _INTERFACE:
            link, _, snap = struct.unpack_from(f"{order}HHI", body)
            interfaces.append((link, _get_time_resolution(body[8:], order), snap))
        elif kind == _ENHANCED:
            number, high, low, captured_bytes = struct.unpack_from(f"{order}IIII", body)
            if number >= len(interfaces):
                raise CaptureError("a packet names an interface that is not described")
            link, units_per_second, _ = interfaces[number]
            yield (
                (high << 32 | low) * 10**9 // units_per_second,
                link,
                body[20 : 20 + captured_bytes],
            )
        elif kind == _SIMPLE:
            raise CaptureError("simple packet blocks have no time")
        at += length


def _get_time_resolution(options: bytes, order: str) -> int:
    """Units of time in a second, from the option if_tsresol; microseconds without it."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, at)
        if code == 9 and length >= 1:
            value = options[at + 4]
            return int(2 ** (value & 0x7F)) if value & 0x80 else int(10**value)
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 1_000_000


def _parse_packet(time_ns: int, link: int, frame: bytes) -> CapturedPacket | None:
    start = _find_ip_header(link, frame)
    if start is None or len(frame) < start + 20 or frame[start] >> 4 != 4:
        return None
    ip_header_bytes = 4 * (frame[start] & 15)
    length, fragment = struct.unpack_from(">H2xH", frame, start + 2)
    protocol = frame[start + 9]
    transport_start = start + ip_header_bytes
    if protocol not in (UDP, TCP) or fragment & 0x1FFF or len(frame) < transport_start + 8:
        return None
    transport_header_bytes = 8
    if protocol == TCP:
        if len(frame) < transport_start + 13:
            return None
        transport_header_bytes = 4 * (frame[transport_start + 12] >> 4)
    return CapturedPacket(
        time_ns,
        ".".join(str(each) for each in frame[start + 12 : start + 16]),
        ".".join(str(each) for each in frame[start + 16 : start + 20]),
        protocol,
        struct.unpack_from(">HH", frame, transport_start),
        length,
        max(0, length - ip_header_bytes - transport_header_bytes),
    )


def _find_ip_header(link: int, frame: bytes) -> int | None:
    """Where the IP header begins; None for what is not IPv4."""
    if link in _RAW:
        return 0
    if link == _LOOPBACK:
        return 4
    if link == _COOKED:
        return 16 if frame[14:16] == b"\x08\x00" else None
    if link != _ETHERNET:
        raise CaptureError(f"link type {link}; read are Ethernet, raw IP, SLL and loopback")
    at = 12
    while len(frame) >= at + 2:
        (kind,) = struct.unpack_from(">H", frame, at)
        if kind in _VLAN:
            at += 4
        elif kind in _MPLS:
            at += 2
            while len(frame) >= at + 4 and not frame[at + 2] & 1:
                at += 4
            return at + 4
        else:
            return at + 2 if kind == _IPV4 else None
    return None
