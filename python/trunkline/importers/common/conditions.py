"""Matches of filters, as DSCPs and tests of a scenario's rules.

Source: RFC 2474 section 3 (the DSCP is the upper six bits of the octet), RFC 791 section 3.1 (where
the fields of the IP header are).
"""

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import SourceToken, make_absent_protocol, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import ALL_DSCPS, PacketCondition
from trunkline.scenario.dscp import DSCP_NAMES

PROTOCOL_NUMBERS = {"tcp": 6, "udp": 17}


def make_test(key: str, values: frozenset[str | int] | None) -> PacketCondition:
    """Make a condition of one test; None tests nothing."""
    return PacketCondition() if values is None else PacketCondition(tests=((key, values),))


UNLABELLED = make_test("labelled", frozenset({0}))  # Packets without a label.
LABELLED = make_test("labelled", frozenset({1}))  # Packets with one.


def match_tos_octet(word: SourceToken, value: int, mask: int) -> PacketCondition:
    """The octet that was the type of service, under a mask; its two ECN bits are taken for 0."""
    found = frozenset(dscp for dscp in ALL_DSCPS if (dscp << 2) & mask == value & mask)
    if not found:
        raise_fault(word, f"no DSCP makes {value:#x} under mask {mask:#x}")
    return PacketCondition(found)


def match_protocol(word: SourceToken, number: int) -> PacketCondition:
    """The protocol above IP."""
    for name, number_of_name in PROTOCOL_NUMBERS.items():
        if number_of_name == number:
            return make_test("protocol", frozenset({name}))
    raise make_absent_protocol(word, str(number))


def match_protocol_name(word: SourceToken) -> PacketCondition:
    """The protocol above IP by its name."""
    if word.text not in PROTOCOL_NUMBERS:
        raise make_absent_protocol(word, word.text)
    return make_test("protocol", frozenset({word.text}))


def match_address(word: SourceToken, key: str, addresses: Addresses) -> PacketCondition:
    """An address or prefix of ``source`` or ``destination``."""
    return make_test(key, addresses.find_nodes(word))


def match_port(word: SourceToken, number: int, addresses: Addresses) -> PacketCondition:
    """A port of either end: the flow that uses it."""
    return make_test("flow", addresses.find_flows(word, number))


def match_traffic_class(tc: int) -> PacketCondition:
    """The TC of the label on top."""
    return make_test("tc", frozenset({tc}))


def parse_dscp(word: SourceToken) -> int:
    """Parse a DSCP by name or number, 0 to 63."""
    name = word.text.upper()
    if name in DSCP_NAMES:
        return DSCP_NAMES[name]
    if name in ("BE", "DE"):
        return 0
    value = read_integer(word, "DSCP", "0 to 63, " + ", ".join(DSCP_NAMES))
    if not 0 <= value <= 63:
        raise_fault(word, f"DSCP {value} is out of range", "0 to 63")
    return value
