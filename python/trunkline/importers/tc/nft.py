"""Marks and classes that nftables writes, one rule a command.

Source: nft(8): ``add rule``, payload expressions of ``ip``, ``tcp`` and ``udp``, ``meta``
statements, verdicts. Rules of a chain are followed in the order of the commands.
"""

from dataclasses import replace

from trunkline.importers.common import conditions
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import SourceToken, make_fault, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import (
    ALL_MARK_BITS,
    MarkRule,
    PacketCondition,
    TrafficControlConfig,
)
from trunkline.importers.tc.firewall import add_rule
from trunkline.importers.tc.word_reader import WordReader

_FAMILIES = ("ip", "ip6", "inet", "arp", "bridge", "netdev")
_ENDING_VERDICTS = ("accept", "return", "drop", "reject")
_READ_EXPRESSIONS = (
    "ip dscp, ip saddr, ip daddr, ip protocol, meta l4proto, tcp sport, tcp dport, udp sport, "
    "udp dport, oifname, meta mark set, meta priority set, counter, comment, "
    + ", ".join(_ENDING_VERDICTS)
)


def read_nft_command(
    reader: WordReader, configuration: TrafficControlConfig, addresses: Addresses
) -> str:
    """Take in one command; why it is left out, empty if it is not. configuration: Gets the rule."""
    if reader.peek_text() in ("-f", "--file"):
        file = reader.words[-1]
        raise_fault(file, f"the rules of {file.text} are not here", "nft add rule ...")
    verb = reader.take_word("add")
    if verb.text not in ("add", "insert") or reader.peek_text() != "rule":
        return "sets up tables and chains"
    reader.take_word("rule")
    family = "ip" if reader.peek_text() not in _FAMILIES else reader.take_word("a family").text
    table, chain = reader.take_word("a table").text, reader.take_word("a chain").text
    if family not in ("ip", "inet"):
        return "the simulator has neither ARP nor IPv6"
    rule = _read_rule(reader, f"{family} {table} {chain}", addresses)
    if rule is None:
        return "a packet filter that marks nothing changes no queue"
    rule = replace(rule, namespace=configuration.namespace)
    add_rule(configuration.rules, rule, at_head=verb.text == "insert")
    return ""


def _read_rule(reader: WordReader, chain: str, addresses: Addresses) -> MarkRule | None:
    condition: PacketCondition | None = PacketCondition()
    value = mask = 0
    class_id: tuple[int, int] | None = None
    ends = False
    device = ""
    while reader.has_more():
        word = reader.take_word("an expression")
        if word.text == "counter":
            continue
        if word.text == "comment":
            reader.take_word("a comment")
        elif word.text in ("oifname", "oif"):
            device = reader.take_word("a device").text
        elif word.text in _ENDING_VERDICTS:
            ends = True
        elif word.text == "meta" and reader.skip_word("mark"):
            value, mask = _read_mark(word, reader)
        elif word.text == "meta" and reader.skip_word("priority"):
            reader.skip_word("set")
            class_id = reader.read_ids()
        else:
            added = _read_condition(word, reader, addresses)
            condition = None if condition is None else condition.intersect(added)
    if condition is None or not (mask or ends or class_id is not None):
        return None
    return MarkRule(condition, chain, value, mask, ends, class_id, device)


def _read_mark(at: SourceToken, reader: WordReader) -> tuple[int, int]:
    """``set 0x1``, ``set mark or 0x1``, ``set mark and 0xff00 or 0x1``: value and mask written."""
    if not reader.skip_word("set"):
        raise_fault(at, "rules for packets marked before are not read", "meta mark set VALUE")
    if not reader.skip_word("mark") and not (reader.skip_word("meta") and reader.skip_word("mark")):
        return _read_number(reader), ALL_MARK_BITS
    value = mask = 0
    while reader.peek_text() in ("and", "or", "&", "|"):
        operator = reader.take_word("and, or").text
        number = _read_number(reader)
        if operator in ("and", "&"):
            value, mask = value & number, mask | ALL_MARK_BITS & ~number
        else:
            value, mask = value | number, mask | number
    return value, mask


def _read_number(reader: WordReader) -> int:
    return read_integer(reader.take_word("a mark"), "mark", "a number") & ALL_MARK_BITS


def _read_condition(word: SourceToken, reader: WordReader, addresses: Addresses) -> PacketCondition:
    field = reader.take_word("a field")
    reader.skip_word("==")
    key = f"{word.text} {field.text}"
    at = reader.words[reader.position] if reader.has_more() else field
    if key == "ip dscp":
        return PacketCondition(
            frozenset(conditions.parse_dscp(each) for each in _read_set(reader, "a DSCP"))
        )
    if key in ("ip saddr", "ip daddr"):
        end = "source" if key == "ip saddr" else "destination"
        return conditions.match_address(reader.take_word("an address"), end, addresses)
    if key in ("ip protocol", "meta l4proto"):
        return conditions.match_protocol_name(reader.take_word("a protocol"))
    if word.text in conditions.PROTOCOL_NUMBERS and field.text in ("sport", "dport"):
        protocol = conditions.make_test("protocol", frozenset({word.text}))
        port = conditions.match_port(at, reader.read_number(0, 65535), addresses)
        return protocol.intersect(port) or port
    raise make_fault(word, f"{key} is not read", _READ_EXPRESSIONS)


def _read_set(reader: WordReader, meaning: str) -> list[SourceToken]:
    """Read a value, or several in braces: ``{ cs1, af11 }``."""
    first = reader.take_word(meaning)
    if not first.text.startswith("{"):
        return [first]
    words = [first]
    while not words[-1].text.endswith("}"):
        words.append(reader.take_word(meaning))
    return [
        SourceToken(part, word.line, word.column)
        for word in words
        for part in word.text.strip("{},").split(",")
        if part
    ]
