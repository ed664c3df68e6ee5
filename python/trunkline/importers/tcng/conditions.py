"""Conditions of tcng: ``if ip_dscp == 46 && (conform $p && count $p || drop)``.

Source: tcng reference manual (2002), "Expressions", "Fields" and "Meters". The header fields of
``fields.tc`` and the port numbers of ``ports.tc`` are built in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trunkline.importers.common import conditions
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import SourceToken, make_fault, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import ALL_DSCPS, PacketCondition, Policer
from trunkline.importers.tcng.token_cursor import TokenCursor

_PORT_NUMBERS = {
    "PORT_FTP": 21,
    "PORT_SSH": 22,
    "PORT_TELNET": 23,
    "PORT_SMTP": 25,
    "PORT_DOMAIN": 53,
    "PORT_HTTP": 80,
    "PORT_HTTPS": 443,
}
_PROTOCOL_NUMBERS = {"IPPROTO_TCP": 6, "IPPROTO_UDP": 17, '"tcp"': 6, '"udp"': 17}
_TOS_BITS = {"ip_tos_delay": 0x10, "ip_tos_throughput": 0x08, "ip_tos_reliability": 0x04}
_TOS_BITS["ip_tos_cost"] = 0x02
_METER_RESULT = re.compile(r"(SLB|DLB|srTCM|trTCM)_(ok|else_drop|green|yellow|red)\Z")
_CONDITION_FIELDS = (
    "ip_dscp, ip_tos, ip_src, ip_dst, ip_proto, tcp_sport, tcp_dport, udp_sport, udp_dport, "
    "tc_index, meta_nfmark, conform, count, drop, SLB_ok, SLB_else_drop, srTCM_green, "
    "trTCM_green, 1"
)


_ALL_PACKETS = PacketCondition()


@dataclass(frozen=True, slots=True)
class ConditionTerm:
    """One of several alternatives of a condition."""

    condition: PacketCondition = _ALL_PACKETS  # Packets by their header.
    # index, mark: Traffic control index and mark that they must have.
    index: int | None = None
    mark: int | None = None
    meter: str = ""  # Meter that they must pass; empty = none.
    colour: str = ""  # Colour it must give; empty for a bucket that holds the packet.
    else_drop: bool = False  # Whether they are dropped where it does not.


@dataclass(slots=True)
class ConditionReader:
    """Reads conditions."""

    words: TokenCursor
    addresses: Addresses  # Nodes and flows by address and port.
    meters: Mapping[str, Policer]  # Meters by variable.
    # Octet of the IP header and mask, by the names that ``field`` gives.
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)

    def read_after_if(self) -> list[ConditionTerm]:
        """Read alternatives after ``if``; one without conditions where there is no ``if``."""
        return self.read_alternatives() if self.words.skip_word("if") else [ConditionTerm()]

    def read_alternatives(self) -> list[ConditionTerm]:
        """Read alternatives joined by ``||``."""
        terms = self.read_conjunction()
        while self.words.skip_word("||"):
            terms += self.read_conjunction()
        return terms

    def read_conjunction(self) -> list[ConditionTerm]:
        """Read conditions joined by ``&&``."""
        terms = self.read_term()
        while self.words.skip_word("&&"):
            at = self.words.get_next()
            right_terms = self.read_term()
            terms = [
                term
                for left in terms
                for right in right_terms
                for term in _join_terms(at, left, right)
            ]
        return terms

    def read_term(self) -> list[ConditionTerm]:
        """Read a comparison, a meter, or an expression in brackets."""
        if self.words.peek_text() == "(":
            return self._read_bracket()
        word = self.words.take_word()
        if word.text == "1":
            return [ConditionTerm()]
        meter = _METER_RESULT.match(word.text)
        if word.text in ("conform", "count") or meter is not None:
            return [self._read_metered(word, meter)]
        return [self._read_comparison(word)]

    def _read_bracket(self) -> list[ConditionTerm]:
        self.words.take_word("(")
        terms = self.read_conjunction()
        while self.words.skip_word("||"):
            at = self.words.get_next()
            if self.words.skip_word("drop"):
                if not all(term.meter for term in terms):
                    raise_fault(
                        at, "drop belongs behind a meter", "(conform $p && count $p || drop)"
                    )
                terms = [replace(term, else_drop=True) for term in terms]
            else:
                terms += self.read_conjunction()
        self.words.take_word(")")
        return terms

    def _read_metered(self, word: SourceToken, meter: re.Match[str] | None) -> ConditionTerm:
        has_bracket = self.words.skip_word("(")
        self.words.skip_word("&")
        name = self.words.take_word()
        if name.text not in self.meters:
            known = ", ".join(self.meters) or "none"
            raise_fault(name, f"there is no meter {name.text}", known)
        if has_bracket:
            self.words.take_word(")")
        if meter is None:
            return ConditionTerm(meter=name.text)
        colour = meter[2] if meter[2] in ("green", "yellow", "red") else ""
        if bool(colour) != bool(self.meters[name.text].meter):
            raise_fault(word, f"{name.text} is no {meter[1]}", "the meter's own kind")
        return ConditionTerm(meter=name.text, colour=colour, else_drop=meter[2] == "else_drop")

    def _read_comparison(self, word: SourceToken) -> ConditionTerm:
        length = 32
        if self.words.peek_text() in (":", "/"):
            self.words.take_word()
            length = self.words.read_number(0, 32)
        mask: int | None = None
        if self.words.skip_word("&"):
            mask = self.words.read_number(0, 255)
        is_unequal = self.words.skip_word("!=")
        if not is_unequal:
            self.words.take_word("==")
        value = self.words.take_word()
        term = self._make_term(word, value, mask, length)
        if is_unequal:
            if term.condition.tests or term.index is not None or term.mark is not None:
                raise_fault(word, f"{word.text} != is not read", "ip_dscp != and ip_tos !=")
            return ConditionTerm(PacketCondition(ALL_DSCPS - term.condition.dscps))
        return term

    def _make_term(
        self, word: SourceToken, value: SourceToken, mask: int | None, length: int
    ) -> ConditionTerm:
        name = word.text
        if name in ("ip_dscp", "ip_ds"):
            return ConditionTerm(PacketCondition(frozenset({conditions.parse_dscp(value)})))
        if name in ("ip_tos", *self.fields):
            offset, octet_mask = self.fields.get(name, (1, 0xFF))
            if offset == 9:
                return ConditionTerm(
                    conditions.match_protocol(value, _parse_number(value, _PROTOCOL_NUMBERS))
                )
            octet_mask = octet_mask if mask is None else mask
            return ConditionTerm(
                conditions.match_tos_octet(value, _parse_number(value, {}), octet_mask)
            )
        if name in _TOS_BITS:
            bit = _TOS_BITS[name]
            return ConditionTerm(
                conditions.match_tos_octet(value, bit * bool(_parse_number(value, {})), bit)
            )
        if name in ("ip_src", "ip_dst"):
            prefix = replace(value, text=f"{value.text}/{length}")
            key = "source" if name == "ip_src" else "destination"
            return ConditionTerm(conditions.match_address(prefix, key, self.addresses))
        if name == "ip_proto":
            return ConditionTerm(
                conditions.match_protocol(value, _parse_number(value, _PROTOCOL_NUMBERS))
            )
        if name in ("tcp_sport", "tcp_dport", "udp_sport", "udp_dport"):
            port_condition = conditions.match_port(
                value, _parse_number(value, _PORT_NUMBERS), self.addresses
            )
            protocol_condition = conditions.match_protocol(
                value, conditions.PROTOCOL_NUMBERS[name[:3]]
            )
            overlap = port_condition.intersect(protocol_condition)
            assert overlap is not None
            return ConditionTerm(overlap)
        if name == "tc_index":
            return ConditionTerm(index=_parse_number(value, {}))
        if name == "meta_nfmark":
            return ConditionTerm(mark=_parse_number(value, {}))
        raise make_fault(word, f"a condition on {name} is not read", _CONDITION_FIELDS)


def _join_terms(at: SourceToken, left: ConditionTerm, right: ConditionTerm) -> list[ConditionTerm]:
    """Both hold; none where that cannot be."""
    overlap = left.condition.intersect(right.condition)
    if overlap is None:
        return []
    if left.meter and right.meter and left.meter != right.meter:
        raise_fault(
            at, f"{left.meter} and {right.meter} on the same packets are not read", "one meter"
        )
    return [
        ConditionTerm(
            overlap,
            left.index if right.index is None else right.index,
            left.mark if right.mark is None else right.mark,
            left.meter or right.meter,
            left.colour or right.colour,
            left.else_drop or right.else_drop,
        )
    ]


def _parse_number(word: SourceToken, names: Mapping[str, int]) -> int:
    if word.text in names:
        return names[word.text]
    return read_integer(word, "number", ", ".join(names))
