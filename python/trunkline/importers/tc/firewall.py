"""Marks that iptables and ipchains write, by which ``fw`` filters of tc choose.

Source: iptables(8), iptables-extensions(8) (``MARK``, ``dscp``, ``tos``), ipchains(8) (``-m``).
"""

from trunkline.importers.common import conditions
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import Note, Word, fault, refuse
from trunkline.importers.common.quantities import whole_number
from trunkline.importers.common.tree import Condition, Configuration
from trunkline.importers.tc.words import Reader

_KNOWN = (
    "-t mangle, -A, -i, -o, -s, -d, -p, -m, --sport, --dport, --dscp, --dscp-class, --tos, "
    "--mark 0, -j MARK --set-mark, -j CHAIN, -g CHAIN"
)
_TOS = {
    "Minimize-Delay": 0x10,
    "Maximize-Throughput": 0x08,
    "Maximize-Reliability": 0x04,
    "Minimize-Cost": 0x02,
    "Normal-Service": 0x00,
}
"""Names of `--tos`, which leave the precedence bits out."""
_ENDS = {
    **dict.fromkeys(("-s", "--source", "--src"), "source"),
    **dict.fromkeys(("-d", "--destination", "--dst"), "destination"),
}
_SKIPPED = ("-F", "-X", "-Z", "-P", "-N", "--flush", "--policy", "--delete-chain", "-D", "--zero")


def read(reader: Reader, made: Configuration, addresses: Addresses) -> None:
    """Take in one command.

    Parameters
    ----------
    made : Configuration
        Gets the mark, or a note where the command marks nothing.
    """
    first = reader.words[0]
    chains = first.text.endswith("ipchains")
    texts = [word.text for word in reader.words]
    if any(text in _SKIPPED for text in texts):
        if "-N" in texts[:-1]:
            made.chains.add(texts[texts.index("-N") + 1])
        made.notes.append(Note(first.line, " ".join(texts[:4]), "empties or sets up chains"))
        return
    condition: Condition | None = Condition()
    mark: int | None = None
    while reader.more() and condition is not None:
        word = reader.take("an option")
        added: Condition | None = None
        if word.text in ("-t", "--table"):
            _one_of(reader, "mangle")
        elif word.text in ("-A", "--append", "-I", "--insert", "-i", "-o", "-m") and not (
            chains and word.text == "-m"
        ):
            reader.take("a name")
        elif (word.text == "-m" and chains) or word.text in ("--set-mark", "--set-xmark"):
            mark = _mark(reader)
        elif word.text in ("-j", "--jump", "-g", "--goto"):
            if reader.peek() in made.chains:
                reader.take("a chain")
                why = "what a chain marks counts wherever it is called from"
                made.notes.append(Note(first.line, " ".join(texts[:4]), why))
                return
            _one_of(reader, "ACCEPT" if chains else "MARK")
        elif word.text == "--mark":
            at = reader.words[reader.at] if reader.more() else word
            if _mark(reader) != 0:
                refuse(at, f"{at.text}: rules for packets marked before are not read", "--mark 0")
        else:
            added = _condition(word, reader, addresses)
        if added is not None:
            condition = condition.both(added)
    if mark is None:
        why = "a packet filter that marks nothing changes no queue"
        made.notes.append(Note(first.line, " ".join(texts[:4]), why))
    elif condition is not None:
        made.marks.append((condition, mark))


def _condition(word: Word, reader: Reader, addresses: Addresses) -> Condition:
    key = word.text
    if (end := _ENDS.get(key)) is not None:
        return conditions.address(reader.take("an address"), end, addresses)
    if key in ("-p", "--protocol"):
        return conditions.protocol_named(reader.take("a protocol"))
    if key in ("--sport", "--source-port", "--dport", "--destination-port"):
        at = reader.words[reader.at] if reader.more() else word
        return conditions.port(at, reader.number(0, 65535), addresses)
    if key in ("--dscp", "--dscp-class"):
        named = reader.take("a DSCP")
        return Condition(frozenset({conditions.dscp_named(named)}))
    if key == "--tos":
        at = reader.words[reader.at] if reader.more() else word
        if (value := _TOS.get(reader.peek())) is not None:
            reader.take("an octet")
            return conditions.octet(at, value, 0x3F)
        return conditions.octet(at, reader.number(0, 255), 0xFC)
    raise fault(word, f"{key} is not read", _KNOWN)


def _mark(reader: Reader) -> int:
    word = reader.take("a mark")
    return whole_number(word, "mark", "a number", part=word.text.partition("/")[0])


def _one_of(reader: Reader, known: str) -> None:
    word = reader.take(known)
    if word.text != known:
        refuse(word, f"{word.text} is not read", known)
