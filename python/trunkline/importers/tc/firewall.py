"""Marks that iptables and ipchains write, by which ``fw`` filters of tc choose.

Source: iptables(8), iptables-extensions(8) (``MARK``, ``dscp``, ``tos``), ipchains(8) (``-m``).
"""

from trunkline.importers.common import conditions
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import OmittedPart, SourceToken, make_fault, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import PacketCondition, TrafficControlConfig
from trunkline.importers.tc.word_reader import WordReader

_READ_OPTIONS = (
    "-t mangle, -A, -i, -o, -s, -d, -p, -m, --sport, --dport, --dscp, --dscp-class, --tos, "
    "--mark 0, -j MARK --set-mark, -j CHAIN, -g CHAIN"
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
) -> None:
    """Take in one command.

    Parameters
    ----------
    configuration : TrafficControlConfig
        Gets the mark, or a note where the command marks nothing.
    """
    first = reader.words[0]
    is_ipchains = first.text.endswith("ipchains")
    texts = [word.text for word in reader.words]
    if any(text in _IGNORED_OPTIONS for text in texts):
        if "-N" in texts[:-1]:
            configuration.chains.add(texts[texts.index("-N") + 1])
        configuration.notes.append(
            OmittedPart(first.line, " ".join(texts[:4]), "empties or sets up chains")
        )
        return
    condition: PacketCondition | None = PacketCondition()
    mark: int | None = None
    while reader.has_more() and condition is not None:
        word = reader.take_word("an option")
        added: PacketCondition | None = None
        if word.text in ("-t", "--table"):
            _require_word(reader, "mangle")
        elif word.text in ("-A", "--append", "-I", "--insert", "-i", "-o", "-m") and not (
            is_ipchains and word.text == "-m"
        ):
            reader.take_word("a name")
        elif (word.text == "-m" and is_ipchains) or word.text in ("--set-mark", "--set-xmark"):
            mark = _read_mark(reader)
        elif word.text in ("-j", "--jump", "-g", "--goto"):
            if reader.peek_text() in configuration.chains:
                reader.take_word("a chain")
                why = "what a chain marks counts wherever it is called from"
                configuration.notes.append(OmittedPart(first.line, " ".join(texts[:4]), why))
                return
            _require_word(reader, "ACCEPT" if is_ipchains else "MARK")
        elif word.text == "--mark":
            at = reader.words[reader.position] if reader.has_more() else word
            if _read_mark(reader) != 0:
                raise_fault(
                    at, f"{at.text}: rules for packets marked before are not read", "--mark 0"
                )
        else:
            added = _read_condition(word, reader, addresses)
        if added is not None:
            condition = condition.intersect(added)
    if mark is None:
        why = "a packet filter that marks nothing changes no queue"
        configuration.notes.append(OmittedPart(first.line, " ".join(texts[:4]), why))
    elif condition is not None:
        configuration.marks.append((condition, mark))


def _read_condition(word: SourceToken, reader: WordReader, addresses: Addresses) -> PacketCondition:
    key = word.text
    if (end := _ADDRESS_OPTIONS.get(key)) is not None:
        return conditions.match_address(reader.take_word("an address"), end, addresses)
    if key in ("-p", "--protocol"):
        return conditions.match_protocol_name(reader.take_word("a protocol"))
    if key in ("--sport", "--source-port", "--dport", "--destination-port"):
        at = reader.words[reader.position] if reader.has_more() else word
        return conditions.match_port(at, reader.read_number(0, 65535), addresses)
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


def _read_mark(reader: WordReader) -> int:
    word = reader.take_word("a mark")
    return read_integer(word, "mark", "a number", part=word.text.partition("/")[0])


def _require_word(reader: WordReader, known: str) -> None:
    word = reader.take_word(known)
    if word.text != known:
        raise_fault(word, f"{word.text} is not read", known)
