"""What filters match, as DSCPs and tests of a scenario's rules.

Source: RFC 2474 section 3 (the DSCP is the upper six bits of the octet), RFC 791 section 3.1 (where
the fields of the IP header are).
"""

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import Word, fault, refuse
from trunkline.importers.common.quantities import whole_number
from trunkline.importers.common.tree import ALL_DSCPS, Condition
from trunkline.scenario.dscp import DSCP_NAMES

PROTOCOLS = {"tcp": 6, "udp": 17}


def tests(key: str, values: frozenset[str | int] | None) -> Condition:
    """A condition of one test; None tests nothing."""
    return Condition() if values is None else Condition(tests=((key, values),))


IP = tests("labelled", frozenset({0}))
"""Packets without a label."""
LABELLED = tests("labelled", frozenset({1}))
"""Packets with one."""


def octet(word: Word, value: int, mask: int) -> Condition:
    """The octet that was the type of service, under a mask; its two ECN bits are taken for 0."""
    found = frozenset(dscp for dscp in ALL_DSCPS if (dscp << 2) & mask == value & mask)
    if not found:
        refuse(word, f"no DSCP makes {value:#x} under mask {mask:#x}")
    return Condition(found)


def protocol(word: Word, number: int) -> Condition:
    """The protocol above IP."""
    for name, its in PROTOCOLS.items():
        if its == number:
            return tests("protocol", frozenset({name}))
    raise fault(word, f"protocol {number} is not in the simulator", "6 (tcp), 17 (udp)")


def protocol_named(word: Word) -> Condition:
    """The protocol above IP by its name."""
    if word.text not in PROTOCOLS:
        refuse(word, f"protocol {word.text} is not in the simulator", ", ".join(PROTOCOLS))
    return tests("protocol", frozenset({word.text}))


def address(word: Word, key: str, known: Addresses) -> Condition:
    """An address or prefix of ``source`` or ``destination``."""
    return tests(key, known.in_prefix(word))


def port(word: Word, number: int, known: Addresses) -> Condition:
    """A port of either end: the flow that uses it."""
    return tests("flow", known.at_port(word, number))


def traffic_class(tc: int) -> Condition:
    """The TC of the label on top."""
    return tests("tc", frozenset({tc}))


def dscp_named(word: Word) -> int:
    """A DSCP by name or number, 0 to 63."""
    name = word.text.upper()
    if name in DSCP_NAMES:
        return DSCP_NAMES[name]
    if name in ("BE", "DE"):
        return 0
    value = whole_number(word, "DSCP", "0 to 63, " + ", ".join(DSCP_NAMES))
    if not 0 <= value <= 63:
        refuse(word, f"DSCP {value} is out of range", "0 to 63")
    return value
