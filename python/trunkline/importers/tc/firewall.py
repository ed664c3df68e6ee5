"""Marks that iptables and ipchains write, by which ``fw`` filters of tc choose.

Source: iptables(8), iptables-extensions(8) (``MARK``, ``CLASSIFY``, ``dscp``, ``tos``), ipchains(8)
(``-m``).
"""

from collections.abc import Callable

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
from trunkline.importers.tc.word_reader import WordReader

_READ_OPTIONS = (
    "-t mangle, -A, -i, -o, -s, -d, -p, -m, --sport, --dport, --dscp, --dscp-class, --tos, "
    "--mark 0, -j MARK --set-mark, -j CLASSIFY --set-class, -j RETURN, -j CHAIN, -g CHAIN, -w"
)
_TOS_VALUES = {
    "Minimize-Delay": 0x10,
    "Maximize-Throughput": 0x08,
    "Maximize-Reliability": 0x04,
    "Minimize-Cost": 0x02,
    "Normal-Service": 0x00,
}
"""Names of `--tos`, which leave the precedence bits out."""
_ADDRESS_OPTIONS = {
    **dict.fromkeys(("-s", "--source", "--src"), "source"),
    **dict.fromkeys(("-d", "--destination", "--dst"), "destination"),
}
_PORT_LISTS = ("--sports", "--source-ports", "--dports", "--destination-ports", "--ports")
"""Options of multiport."""
_ENDING_TARGETS = ("RETURN", "ACCEPT", "DROP", "REJECT")
"""Targets after which no rule of the chain sees the packet."""
_TARGETS = ("MARK", "CLASSIFY", *_ENDING_TARGETS)
_MARK_OPTIONS: dict[str, Callable[[int, int | None], tuple[int, int]]] = {
    # iptables-extensions(8), MARK: --set-mark zeroes the bits of the mask and those of the value.
    "--set-mark": lambda value, mask: (value, ALL_MARK_BITS if mask is None else mask | value),
    "--set-xmark": lambda value, mask: (value, ALL_MARK_BITS if mask is None else mask | value),
    "--or-mark": lambda value, _mask: (value, value),
    "--and-mark": lambda value, _mask: (0, ALL_MARK_BITS & ~value),
}
"""Value and mask that each writes, from those given."""
_IGNORED_OPTIONS = (
    "-F",
    "-X",
    "-Z",
    "-P",
    "-N",
    "--flush",
    "--policy",
    "--delete-chain",
    "-D",
    "--zero",
)


def read_firewall_command(
    reader: WordReader, configuration: TrafficControlConfig, addresses: Addresses
) -> str:
    """Take in one command; why it is left out, empty if it is not. configuration: Gets the rule."""
    first = reader.words[0]
    is_ipchains = first.text.endswith("ipchains")
    texts = [word.text for word in reader.words]
    if any(text in _IGNORED_OPTIONS for text in texts):
        if "-N" in texts[:-1]:
            configuration.chains.add(texts[texts.index("-N") + 1])
        return "empties or sets up chains"
    command = _FirewallCommand(first, is_ipchains, configuration, addresses)
    while reader.has_more():
        command.read_option(reader.take_word("an option"), reader)
    rule = command.make_rule()
    if rule is None:
        return command.reason
    add_rule(configuration.rules, rule, at_head=command.at_head)
    return ""


def add_rule(rules: list[MarkRule], rule: MarkRule, *, at_head: bool = False) -> None:
    """Put a rule behind those of its chain, or before them."""
    chain = (rule.namespace, rule.chain)
    places = [index for index, other in enumerate(rules) if (other.namespace, other.chain) == chain]
    rules.insert(places[0] if at_head and places else len(rules), rule)


class _FirewallCommand:
    def __init__(
        self,
        at: SourceToken,
        is_ipchains: bool,
        configuration: TrafficControlConfig,
        addresses: Addresses,
    ):
        self.at = at
        self.is_ipchains = is_ipchains
        self.configuration = configuration
        self.addresses = addresses
        self.condition: PacketCondition | None = PacketCondition()
        self.chain = ""
        self.at_head = False
        self.device = ""
        self.target = ""
        self.mark: tuple[int, int] | None = None
        self.class_id: tuple[int, int] | None = None
        self.reason = "a packet filter that marks nothing changes no queue"

    def read_option(self, word: SourceToken, reader: WordReader) -> None:
        """Read one option and its value."""
        text = word.text
        if text in ("-t", "--table"):
            _require_word(reader, "mangle")
        elif text in ("-w", "--wait", "-W", "--wait-interval"):
            # iptables(8): waits for the lock; the seconds may be left out.
            if reader.peek_text().isdecimal():
                reader.take_word("seconds")
        elif text in ("-A", "--append", "-I", "--insert"):
            self.chain = reader.take_word("a chain").text
            self.at_head = text in ("-I", "--insert")
            if self.at_head and reader.peek_text().isdecimal() and reader.read_number(1, 2**31) > 1:
                raise_fault(word, f"{text} at a number is not read", "-A, -I at the head")
        elif text in ("-o", "--out-interface"):
            self.device = reader.take_word("a device").text
        elif text in ("-i", "--in-interface"):
            name = reader.take_word("a device").text
            why = "a port does not ask where a packet came in: it holds for all that leave"
            self.configuration.account.add_assumption(f"{text} {name}", why, line=word.line)
        elif text == "-m" and self.is_ipchains:
            self.mark = (_read_mark(reader)[0], ALL_MARK_BITS)
        elif text in ("-m", "--match"):
            reader.take_word("a match")
        elif text == "--comment":
            reader.take_word("a comment")
        elif text in _MARK_OPTIONS:
            self.mark = _MARK_OPTIONS[text](*_read_mark(reader))
        elif text == "--set-class":
            self.class_id = reader.read_ids()
        elif text in ("-j", "--jump", "-g", "--goto"):
            self.read_target(reader)
        elif text == "--mark":
            at = reader.words[reader.position] if reader.has_more() else word
            if _read_mark(reader)[0] != 0:
                message = f"{at.text}: rules for packets marked before are not read"
                raise_fault(at, message, "--mark 0")
        else:
            added = _read_condition(word, reader, self.addresses)
            if self.condition is not None:
                self.condition = self.condition.intersect(added)

    def read_target(self, reader: WordReader) -> None:
        """``-j TARGET``."""
        target = reader.take_word("a target")
        if target.text in self.configuration.chains:
            self.reason = "what a chain marks counts wherever it is called from"
        elif target.text not in _TARGETS:
            raise_fault(target, f"{target.text} is not read", ", ".join(_TARGETS))
        self.target = target.text

    def make_rule(self) -> MarkRule | None:
        """Make the rule; None if it has no effect here."""
        if self.condition is None or self.target in self.configuration.chains:
            return None
        value, mask = self.mark or (0, 0)
        ends = self.target in _ENDING_TARGETS and not self.is_ipchains
        if not mask and not ends and self.class_id is None:
            return None
        return MarkRule(
            self.condition,
            self.chain,
            value,
            mask,
            ends,
            self.class_id,
            self.device,
            self.configuration.namespace,
        )


def _read_condition(word: SourceToken, reader: WordReader, addresses: Addresses) -> PacketCondition:
    key = word.text
    if (end := _ADDRESS_OPTIONS.get(key)) is not None:
        return conditions.match_address(reader.take_word("an address"), end, addresses)
    if key in ("-p", "--protocol"):
        return conditions.match_protocol_name(reader.take_word("a protocol"))
    if key in ("--sport", "--source-port", "--dport", "--destination-port"):
        at = reader.words[reader.position] if reader.has_more() else word
        return conditions.match_port(at, reader.read_number(0, 65535), addresses)
    if key in _PORT_LISTS:
        listed = reader.take_word("ports")
        flows: set[str | int] = set()
        for port in listed.text.split(","):
            part = SourceToken(port, listed.line, listed.column)
            flows |= addresses.find_flows(part, read_integer(part, "port", "80,443"))
        return conditions.make_test("flow", frozenset(flows))
    if key in ("--dscp", "--dscp-class"):
        dscp_word = reader.take_word("a DSCP")
        return PacketCondition(frozenset({conditions.parse_dscp(dscp_word)}))
    if key == "--tos":
        at = reader.words[reader.position] if reader.has_more() else word
        if (value := _TOS_VALUES.get(reader.peek_text())) is not None:
            reader.take_word("an octet")
            return conditions.match_tos_octet(at, value, 0x3F)
        return conditions.match_tos_octet(at, reader.read_number(0, 255), 0xFC)
    raise make_fault(word, f"{key} is not read", _READ_OPTIONS)


def _read_mark(reader: WordReader) -> tuple[int, int | None]:
    """Read the value and mask; None where there is no mask."""
    word = reader.take_word("a mark")
    value, slash, mask = word.text.partition("/")
    known = "MARK, MARK/MASK"
    return (
        read_integer(word, "mark", known, part=value) & ALL_MARK_BITS,
        read_integer(word, "mask", known, part=mask) & ALL_MARK_BITS if slash else None,
    )


def _require_word(reader: WordReader, known: str) -> None:
    word = reader.take_word(known)
    if word.text != known:
        raise_fault(word, f"{word.text} is not read", known)
