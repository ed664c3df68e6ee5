"""UDP and TCP packets in captured frames, inside VLAN tags, labels and tunnels.

Source: LINKTYPE values of tcpdump.org; IEEE 802.1Q; RFC 2516 (PPPoE), RFC 1661 (PPP), RFC 3032
(MPLS), RFC 4448 (Ethernet over MPLS), RFC 2784 and 2890 (GRE), RFC 7348 (VXLAN), RFC 8926 (Geneve),
RFC 2003 and 4213 (IP in IP), RFC 791, RFC 8200 (extension headers), RFC 9293, RFC 768.
"""

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.traffic.capture_files import CapturedFrame, read_frames

UDP, TCP = 17, 6
FIN, SYN, RST = 1, 2, 4
_IPV4, _IPV6, _ETHERNET_FRAME = 0x0800, 0x86DD, 0x6558
_VLAN = (0x8100, 0x88A8, 0x9100)
_MPLS = (0x8847, 0x8848)
_PPPOE_SESSION = 0x8864
_PPP_PROTOCOLS = {0x0021: _IPV4, 0x0057: _IPV6, 0x0281: 0x8847}
_ETHERTYPE_NAMES = {
    0x0806: "ARP",
    0x8863: "PPPoE discovery",
    0x88CC: "LLDP",
    0x888E: "EAPOL",
    0x8809: "slow protocols",
    0x88F7: "PTP",
    0x88E5: "MACsec",
}
_PROTOCOL_NAMES = {
    1: "ICMP",
    2: "IGMP",
    46: "RSVP",
    50: "ESP",
    51: "AH",
    58: "ICMPv6",
    88: "EIGRP",
    89: "OSPF",
    103: "PIM",
    112: "VRRP",
    132: "SCTP",
}
_GRE, _IPV4_IN_IP, _IPV6_IN_IP = 47, 4, 41
_VXLAN_PORT, _GENEVE_PORT = 4789, 6081
_FRAGMENT_HEADER, _AUTHENTICATION_HEADER = 44, 51
_EXTENSION_HEADERS = (0, 43, 60, 135, 139, 140, _FRAGMENT_HEADER, _AUTHENTICATION_HEADER)
_MAX_DEPTH = 8  # Headers around each other that are followed: a frame cannot keep the reader busy.
_TRUNCATED = "too little of it was captured"
FRAGMENT_TIMEOUT_NS = 30 * 10**9
"""Time that Linux waits for the other fragments (ip(7), ipfrag_time) [ns]."""
_READ_LINK_TYPES = "Ethernet, raw IP, Linux cooked (SLL, SLL2), BSD loopback, PPP, Cisco HDLC"


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """An IP packet of a capture, or a fragment of one."""

    time_ns: int  # When it was captured [ns since the epoch].
    source: str
    destination: str
    protocol: int  # 17 is UDP, 6 TCP.
    ports: tuple[int, int]  # Ports of source and destination.
    ip_bytes: int  # Length of the IP packet with its header [B].
    payload: int  # Bytes above UDP's or TCP's header [B].
    # Fields that a second capture of the same packet shares; empty if packets look alike.
    identity: tuple[int, ...] = ()
    # sequence, flags: Fields of TCP.
    sequence: int = 0
    flags: int = 0

    @property
    def key(self) -> tuple[str, str, int, int, int]:
        """The 5-tuple: addresses, protocol, ports."""
        return (self.source, self.destination, self.protocol, *self.ports)


_FragmentKey = tuple[str, str, int, int]
"""Fields that all fragments of a packet share: addresses, protocol, identification."""


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A fragment behind the first: the first has its ports."""

    time_ns: int
    key: _FragmentKey
    offset: int
    ip_bytes: int
    payload: int


class _UnreadFrameError(Exception):
    """A frame without a packet that is read; its text is the reason."""


def read_packets(data: bytes, account: ImportAccount | None = None) -> Iterator[CapturedPacket]:
    """Read the UDP and TCP packets of a capture, in its order.

    account: Gets each frame once: read, or left out with the reason.
    Raises CaptureError: It is no capture, or damaged in the middle.
    """
    account = ImportAccount() if account is None else account
    fragments = _FragmentTable()
    for frame in read_frames(data, account):
        decoder = _FrameDecoder(frame)
        try:
            found = decoder.decode()
        except _UnreadFrameError as unread:
            account.add_left_out("frames", str(unread))
            continue
        except (struct.error, IndexError):
            account.add_left_out("frames", _TRUNCATED)
            continue
        account.add_read("frames")
        for tunnel in decoder.tunnels:
            rule = f"the packets in {tunnel} are the flows, without the header around them"
            account.add_assumption(tunnel, rule)
        yield from fragments.add(found, decoder.first_fragment)
    for _ in fragments.list_waiting():
        account.add_left_out("fragments", "the first of their packet is not in the capture")


class _FragmentTable:
    """Fragments by packet: those behind the first have no ports of their own."""

    def __init__(self) -> None:
        self._first: dict[_FragmentKey, tuple[CapturedPacket, int]] = {}
        self._waiting: dict[_FragmentKey, list[_Fragment]] = {}

    def add(
        self, found: CapturedPacket | _Fragment, beginning: tuple[_FragmentKey, int] | None
    ) -> Iterator[CapturedPacket]:
        """Add the packets whose ports are known now.

        beginning: Beginning of a first fragment: the key of the others, and the length of
            the header of UDP or TCP [B].
        """
        if isinstance(found, CapturedPacket):
            yield found
            if beginning is not None:
                key, header_bytes = beginning
                self._first[key] = (found, header_bytes)
                for each in self._waiting.pop(key, ()):
                    yield from self.add(each, None)
            return
        first, header_bytes = self._first.get(found.key, (None, 0))
        if first is None or abs(found.time_ns - first.time_ns) > FRAGMENT_TIMEOUT_NS:
            self._waiting.setdefault(found.key, []).append(found)
            return
        before = found.offset - header_bytes
        yield replace(
            first,
            time_ns=found.time_ns,
            ip_bytes=found.ip_bytes,
            payload=found.payload,
            sequence=(first.sequence + before) % 2**32,
            identity=(*first.identity, found.offset) if first.identity else (),
        )

    def list_waiting(self) -> list[_Fragment]:
        """Fragments whose first never came."""
        return [each for fragments in self._waiting.values() for each in fragments]


class _FrameDecoder:
    """Follows the headers of one frame from the outside in."""

    def __init__(self, frame: CapturedFrame):
        self.frame = frame
        self.data = frame.data
        self.tunnels: list[str] = []
        self.first_fragment: tuple[_FragmentKey, int] | None = None
        self.depth = 0

    def decode(self) -> CapturedPacket | _Fragment:
        """Decode the packet of the frame.

        Raises _UnreadFrameError, struct.error, IndexError: There is none that is read; too little
            of it was captured.
        """
        ethertype, start = self.find_network_layer()
        return self.decode_ethertype(ethertype, start)

    def unpack(self, form: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(f">{form}", self.data, at)

    def find_network_layer(self) -> tuple[int, int]:
        """Find the Ethertype of the link's payload, and its beginning."""
        link_type = self.frame.link_type
        if link_type == 1:
            return _ETHERNET_FRAME, 0
        if link_type in (12, 14, 101, 228, 229):
            return self.get_ip_version(0), 0
        if link_type == 113:
            return self.unpack("H", 14)[0], 16
        if link_type == 276:
            return self.unpack("H", 0)[0], 20
        if link_type in (0, 108):
            return self.get_ip_version(4), 4
        if link_type == 9:
            return self.find_in_ppp(2 if self.data[:2] == b"\xff\x03" else 0)
        if link_type == 104:
            return self.unpack("H", 2)[0], 4
        raise _UnreadFrameError(f"link type {link_type}; read are {_READ_LINK_TYPES}")

    def get_ip_version(self, at: int) -> int:
        version = self.data[at] >> 4
        if version not in (4, 6):
            raise _UnreadFrameError("neither IPv4 nor IPv6")
        return _IPV4 if version == 4 else _IPV6

    def find_in_ppp(self, at: int) -> tuple[int, int]:
        protocol, length = (self.data[at], 1) if self.data[at] & 1 else (self.unpack("H", at)[0], 2)
        if protocol not in _PPP_PROTOCOLS:
            raise _UnreadFrameError(f"PPP protocol {protocol:#06x}")
        return _PPP_PROTOCOLS[protocol], at + length

    def decode_ethertype(self, ethertype: int, at: int) -> CapturedPacket | _Fragment:
        """Decode the packet behind an Ethertype."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _UnreadFrameError(f"more than {_MAX_DEPTH} headers around each other")
        if ethertype == _ETHERNET_FRAME:
            return self.decode_ethertype(self.unpack("H", at + 12)[0], at + 14)
        if ethertype in _VLAN:
            return self.decode_ethertype(self.unpack("H", at + 2)[0], at + 4)
        if ethertype in _MPLS:
            return self.decode_mpls(at)
        if ethertype == _PPPOE_SESSION:
            return self.decode_ethertype(*self.find_in_ppp(at + 6))
        if ethertype == _IPV4:
            return self.decode_ipv4(at)
        if ethertype == _IPV6:
            return self.decode_ipv6(at)
        name = _ETHERTYPE_NAMES.get(ethertype)
        if name is None:
            name = f"Ethertype {ethertype:#06x}" if ethertype >= 0x600 else "IEEE 802.3 with LLC"
        raise _UnreadFrameError(f"{name}: no IP")

    def decode_mpls(self, at: int) -> CapturedPacket | _Fragment:
        while not self.data[at + 2] & 1:
            at += 4
        at += 4
        version = self.data[at] >> 4
        if version in (4, 6):
            return self.decode_ethertype(_IPV4 if version == 4 else _IPV6, at)
        if version == 0:  # The control word of RFC 4448 section 4.6.
            return self.decode_ethertype(_ETHERNET_FRAME, at + 4)
        raise _UnreadFrameError("MPLS around neither IP nor Ethernet with a control word")

    def decode_ipv4(self, at: int) -> CapturedPacket | _Fragment:
        if self.data[at] >> 4 != 4 or self.data[at] & 15 < 5:
            raise _UnreadFrameError("no sound IPv4 header")
        header_bytes = 4 * (self.data[at] & 15)
        length, identification, fragment = self.unpack("HHH", at + 2)
        if length == 0:
            # TCP segmentation offload: the card writes it, and the capture is before the card.
            length = self.frame.length - at
        protocol = self.data[at + 9]
        source, target = (
            ".".join(str(byte) for byte in self.data[first : first + 4])
            for first in (at + 12, at + 16)
        )
        offset, has_more = 8 * (fragment & 0x1FFF), bool(fragment & 0x2000)
        key = (source, target, protocol, identification)
        return self.decode_transport(
            key, at + header_bytes, length, length - header_bytes, (offset, has_more)
        )

    def decode_ipv6(self, at: int) -> CapturedPacket | _Fragment:
        length, protocol = self.unpack("HB", at + 4)
        length = 40 + length if length else self.frame.length - at
        source, target = (
            str(ipaddress.IPv6Address(self.data[first : first + 16])) for first in (at + 8, at + 24)
        )
        start, identification, offset, has_more = at + 40, 0, 0, False
        while protocol in _EXTENSION_HEADERS:
            following, size = self.unpack("BB", start)
            if protocol == _FRAGMENT_HEADER:
                fragment, identification = self.unpack("HI", start + 2)
                offset, has_more = fragment & 0xFFF8, bool(fragment & 1)
                size = 0
            step = 4 * (size + 2) if protocol == _AUTHENTICATION_HEADER else 8 * (size + 1)
            protocol, start = following, start + step
            if offset:
                break
        key = (source, target, protocol, identification)
        return self.decode_transport(key, start, length, at + length - start, (offset, has_more))

    def decode_transport(
        self,
        key: _FragmentKey,
        at: int,
        ip_bytes: int,
        above: int,
        fragment: tuple[int, bool],
    ) -> CapturedPacket | _Fragment:
        """Decode the payload of IP; ``above`` is its length, ``fragment`` its offset and more-bit.

        A fragment of a tunnel's packet is left out: the beginning of its payload is in another.
        """
        source, target, protocol, identification = key
        offset, has_more = fragment
        if protocol in (_GRE, _IPV4_IN_IP, _IPV6_IN_IP) and not offset:
            return self.decode_tunnel(protocol, at)
        if protocol not in (UDP, TCP):
            name = _PROTOCOL_NAMES.get(protocol, f"IP protocol {protocol}")
            raise _UnreadFrameError(f"{name}: neither UDP nor TCP")
        if offset:
            return _Fragment(self.frame.time_ns, key, offset, ip_bytes, max(0, above))
        ports = struct.unpack_from(">HH", self.data, at)
        if protocol == UDP:
            length, checksum = self.unpack("HH", at + 4)
            inner = None if has_more else self.look_into_udp(ports[1], at + 8)
            if inner is not None:
                return inner
            header_bytes, sequence, flags = 8, 0, 0
            own: tuple[int, ...] = (identification, checksum, length)
        else:
            sequence = self.unpack("I", at + 4)[0]
            header_bytes, flags = 4 * (self.data[at + 12] >> 4), self.data[at + 13]
            own = ()
        if has_more:
            self.first_fragment = (key, header_bytes)
        return CapturedPacket(
            self.frame.time_ns,
            source,
            target,
            protocol,
            ports,
            ip_bytes,
            max(0, above - header_bytes),
            own if identification else (),
            sequence,
            flags,
        )

    def decode_tunnel(self, protocol: int, at: int) -> CapturedPacket | _Fragment:
        if protocol == _GRE:
            flags, ethertype = self.unpack("HH", at)
            if flags & 7:
                raise _UnreadFrameError("GRE of version 1 (PPTP)")
            start = at + 4 + sum(4 for bit in (0x8000, 0x2000, 0x1000) if flags & bit)
            self.tunnels.append("GRE")
            return self.decode_ethertype(ethertype, start)
        self.tunnels.append("IP in IP")
        return self.decode_ethertype(_IPV4 if protocol == _IPV4_IN_IP else _IPV6, at)

    def look_into_udp(self, port: int, at: int) -> CapturedPacket | _Fragment | None:
        """The packet in VXLAN or Geneve; None where there is none that is read."""
        before = (list(self.tunnels), self.depth)
        try:
            if port == _VXLAN_PORT and self.data[at] & 0x08:
                self.tunnels.append("VXLAN")
                return self.decode_ethertype(_ETHERNET_FRAME, at + 8)
            if port == _GENEVE_PORT and self.data[at] >> 6 == 0:
                self.tunnels.append("Geneve")
                option_bytes = 4 * (self.data[at] & 0x3F)
                return self.decode_ethertype(self.unpack("H", at + 2)[0], at + 8 + option_bytes)
        except (_UnreadFrameError, struct.error, IndexError):
            self.tunnels, self.depth = before
        return None
