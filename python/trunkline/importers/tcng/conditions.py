"""Conditions of tcng: ``if ip_dscp == 46 && (conform $p && count $p || drop)``.

Source: tcng reference manual (2002), "Expressions", "Fields" and "Meters". The header fields of
``fields.tc`` and the port numbers of ``ports.tc`` are built in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trunkline.importers.common import conditions
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import Word, fault, refuse
from trunkline.importers.common.quantities import whole_number
from trunkline.importers.common.tree import ALL_DSCPS, Condition, Police
from trunkline.importers.tcng.words import Cursor

_PORTS = {
    "PORT_FTP": 21,
    "PORT_SSH": 22,
    "PORT_TELNET": 23,
    "PORT_SMTP": 25,
    "PORT_DOMAIN": 53,
    "PORT_HTTP": 80,
    "PORT_HTTPS": 443,
}
_PROTOCOLS = {"IPPROTO_TCP": 6, "IPPROTO_UDP": 17, '"tcp"': 6, '"udp"': 17}
_TOS_BITS = {"ip_tos_delay": 0x10, "ip_tos_throughput": 0x08, "ip_tos_reliability": 0x04}
_TOS_BITS["ip_tos_cost"] = 0x02
_METER = re.compile(r"(SLB|DLB|srTCM|trTCM)_(ok|else_drop|green|yellow|red)\Z")
_FIELDS = (
    "ip_dscp, ip_tos, ip_src, ip_dst, ip_proto, tcp_sport, tcp_dport, udp_sport, udp_dport, "
    "tc_index, meta_nfmark, conform, count, drop, SLB_ok, SLB_else_drop, srTCM_green, "
    "trTCM_green, 1"
)


_EVERY = Condition()


@dataclass(frozen=True, slots=True)
class Term:
    """One of several alternatives of a condition.

    Parameters
    ----------
    condition : Condition
        Packets by their header.
    index, mark : int or None
        Traffic control index and mark that they must have.
    meter : str
        Meter that they must pass; empty = none.
    colour : str
        Colour it must give; empty for a bucket that holds the packet.
    else_drop : bool
        Whether they are dropped where it does not.
    """

    condition: Condition = _EVERY
    index: int | None = None
    mark: int | None = None
    meter: str = ""
    colour: str = ""
    else_drop: bool = False


@dataclass(slots=True)
class Reader:
    """Reads conditions.

    Parameters
    ----------
    addresses : Addresses
        Nodes and flows by address and port.
    meters : mapping
        Meters by variable.
    fields : dict
        Octet of the IP header and mask, by the names that ``field`` gives.
    """

    words: Cursor
    addresses: Addresses
    meters: Mapping[str, Police]
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)

    def after_if(self) -> list[Term]:
        """Alternatives after ``if``; one without conditions where there is no ``if``."""
        return self.either() if self.words.skip("if") else [Term()]

    def either(self) -> list[Term]:
        """Alternatives joined by ``||``."""
        terms = self.all_of()
        while self.words.skip("||"):
            terms += self.all_of()
        return terms

    def all_of(self) -> list[Term]:
        """Conditions joined by ``&&``."""
        terms = self.one()
        while self.words.skip("&&"):
            at = self.words.here()
            more = self.one()
            terms = [made for left in terms for right in more for made in _joined(at, left, right)]
        return terms

    def one(self) -> list[Term]:
        """A comparison, a meter, or an expression in brackets."""
        if self.words.peek() == "(":
            return self._bracket()
        word = self.words.take()
        if word.text == "1":
            return [Term()]
        meter = _METER.match(word.text)
        if word.text in ("conform", "count") or meter is not None:
            return [self._metered(word, meter)]
        return [self._comparison(word)]

    def _bracket(self) -> list[Term]:
        self.words.take("(")
        terms = self.all_of()
        while self.words.skip("||"):
            at = self.words.here()
            if self.words.skip("drop"):
                if not all(term.meter for term in terms):
                    refuse(at, "drop belongs behind a meter", "(conform $p && count $p || drop)")
                terms = [replace(term, else_drop=True) for term in terms]
            else:
                terms += self.all_of()
        self.words.take(")")
        return terms

    def _metered(self, word: Word, meter: re.Match[str] | None) -> Term:
        bracket = self.words.skip("(")
        self.words.skip("&")
        name = self.words.take()
        if name.text not in self.meters:
            known = ", ".join(self.meters) or "none"
            refuse(name, f"there is no meter {name.text}", known)
        if bracket:
            self.words.take(")")
        if meter is None:
            return Term(meter=name.text)
        colour = meter[2] if meter[2] in ("green", "yellow", "red") else ""
        if bool(colour) != bool(self.meters[name.text].meter):
            refuse(word, f"{name.text} is no {meter[1]}", "the meter's own kind")
        return Term(meter=name.text, colour=colour, else_drop=meter[2] == "else_drop")

    def _comparison(self, word: Word) -> Term:
        length = 32
        if self.words.peek() in (":", "/"):
            self.words.take()
            length = self.words.number(0, 32)
        mask: int | None = None
        if self.words.skip("&"):
            mask = self.words.number(0, 255)
        unequal = self.words.skip("!=")
        if not unequal:
            self.words.take("==")
        value = self.words.take()
        found = self._compared(word, value, mask, length)
        if unequal:
            if found.condition.tests or found.index is not None or found.mark is not None:
                refuse(word, f"{word.text} != is not read", "ip_dscp != and ip_tos !=")
            return Term(Condition(ALL_DSCPS - found.condition.dscps))
        return found

    def _compared(self, word: Word, value: Word, mask: int | None, length: int) -> Term:
        name = word.text
        if name in ("ip_dscp", "ip_ds"):
            return Term(Condition(frozenset({conditions.dscp_named(value)})))
        if name in ("ip_tos", *self.fields):
            offset, under = self.fields.get(name, (1, 0xFF))
            if offset == 9:
                return Term(conditions.protocol(value, _number(value, _PROTOCOLS)))
            under = under if mask is None else mask
            return Term(conditions.octet(value, _number(value, {}), under))
        if name in _TOS_BITS:
            bit = _TOS_BITS[name]
            return Term(conditions.octet(value, bit * bool(_number(value, {})), bit))
        if name in ("ip_src", "ip_dst"):
            shown = replace(value, text=f"{value.text}/{length}")
            key = "source" if name == "ip_src" else "destination"
            return Term(conditions.address(shown, key, self.addresses))
        if name == "ip_proto":
            return Term(conditions.protocol(value, _number(value, _PROTOCOLS)))
        if name in ("tcp_sport", "tcp_dport", "udp_sport", "udp_dport"):
            by_port = conditions.port(value, _number(value, _PORTS), self.addresses)
            kind = conditions.protocol(value, conditions.PROTOCOLS[name[:3]])
            both = by_port.both(kind)
            assert both is not None
            return Term(both)
        if name == "tc_index":
            return Term(index=_number(value, {}))
        if name == "meta_nfmark":
            return Term(mark=_number(value, {}))
        raise fault(word, f"a condition on {name} is not read", _FIELDS)


def _joined(at: Word, left: Term, right: Term) -> list[Term]:
    """Both hold; none where that cannot be."""
    both = left.condition.both(right.condition)
    if both is None:
        return []
    if left.meter and right.meter and left.meter != right.meter:
        refuse(at, f"{left.meter} and {right.meter} on the same packets are not read", "one meter")
    return [
        Term(
            both,
            left.index if right.index is None else right.index,
            left.mark if right.mark is None else right.mark,
            left.meter or right.meter,
            left.colour or right.colour,
            left.else_drop or right.else_drop,
        )
    ]


def _number(word: Word, names: Mapping[str, int]) -> int:
    if word.text in names:
        return names[word.text]
    return whole_number(word, "number", ", ".join(names))
