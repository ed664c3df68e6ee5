"""Scripts of tc commands, as the routers of testbeds ran them.

Source: tc(8) and the manual pages of its disciplines; kernel 2.4 and later for what the commands
leave open (the number of a filter without `prio`). Read are simple commands with variables; of
other programs, what sets the length of a device's queue, and marks of iptables and ipchains.
"""

from collections.abc import Iterator
from typing import Any

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import (
    AbsentProtocol,
    ImportFault,
    MissingPrerequisite,
    SourceToken,
    raise_fault,
)
from trunkline.importers.common.traffic_control import (
    TrafficControlConfig,
)
from trunkline.importers.tc import firewall, nft
from trunkline.importers.tc.class_commands import delete_class, read_class
from trunkline.importers.tc.filter_commands import add_filter, delete_filters, note_unset_marks
from trunkline.importers.tc.listing import is_listing, split_listing
from trunkline.importers.tc.option_values import (
    make_count_reader,
    make_option_table,
    make_word_reader,
)
from trunkline.importers.tc.qdisc_commands import delete_qdisc, read_qdisc
from trunkline.importers.tc.script_state import CHANGING_VERBS, PLACE_OPTIONS, ScriptState
from trunkline.importers.tc.shell import format_word, split_commands
from trunkline.importers.tc.sqm_config import is_sqm_config, split_sqm_config
from trunkline.importers.tc.trace import is_trace, keep_read_commands
from trunkline.importers.tc.word_reader import WordReader
from trunkline.importers.tc.wrapped_commands import BATCH_OPTIONS, unwrap_command

_ADDING_VERBS = ("add", "replace", *CHANGING_VERBS)
_IGNORED_COMMANDS = {
    "modprobe": "modules are the kernel's",
    "insmod": "modules are the kernel's",
    "rmmod": "modules are the kernel's",
    "echo": "prints",
    "printf": "prints",
    "set": "concerns the shell",
    "exit": "ends the script",
    "sysctl": "concerns the host",
    "sleep": "waits",
    "export": "concerns the shell",
    **dict.fromkeys((".", "source"), "another file: what it sets is not known here"),
    "cd": "concerns the shell",
    "trap": "concerns the shell",
    "umask": "concerns the shell",
    "ulimit": "concerns the shell",
    "unset": "concerns the shell",
    "return": "ends the script",
    "true": "does nothing",
    "false": "does nothing",
    ":": "does nothing",
    "wait": "waits",
    "ethtool": "concerns the hardware",
    **dict.fromkeys(("[", "[[", "test"), "a condition"),
    **dict.fromkeys(("rm", "mkdir", "touch", "cat", "logger"), "concerns files"),
}
_KNOWN_COMMANDS = "tc, iptables, ipchains, nft, ip, ifconfig, " + ", ".join(_IGNORED_COMMANDS)
_TC_OBJECTS = ("qdisc", "class", "filter")
_NETNS_OPTIONS = ("-n", "-net", "-netns", "--netns")


def parse_script(
    content: str, addresses: Addresses, *, partial: bool = False
) -> TrafficControlConfig:
    """Read a script.

    partial: Whether commands that are not translated are left out, with a note each.
    Raises ImportFault: Something that is not translated, at its place; what else is not is in its
        `others`.
    """
    script = ScriptState(addresses, partial)
    account = script.configuration.account
    faults: list[ImportFault] = []
    has_read_all = True
    try:
        for words in _split_file(content, account):
            text = " ".join(format_word(word) for word in words[:6])
            try:
                reason = _read_command(script, words)
                if reason:
                    account.add_left_out(text, reason, line=words[0].line)
                else:
                    account.add_read(_name_command(words), line=words[0].line)
            except AbsentProtocol as absent:
                # Filters on fields that no packet of the simulator has take no packet.
                account.add_left_out(text, absent.message, line=words[0].line)
            except ImportFault as fault:
                # Commands may lack the object of a failed command: nothing new.
                if not (faults and isinstance(fault, MissingPrerequisite)):
                    faults.append(fault)
                if partial:
                    account.add_left_out(text, fault.message, line=words[0].line)
    except ImportFault as fault:
        has_read_all = False
        faults.append(fault)  # no command can be told from the next after this
    if faults and not (partial and has_read_all):
        faults[0].others = tuple(faults[1:])
        raise faults[0]
    note_unset_marks(script)
    return script.configuration


def _split_file(content: str, account: ImportAccount) -> Iterator[list[SourceToken]]:
    """Split the commands of a script, trace, batch, listing or configuration of SQM."""
    if is_sqm_config(content):
        return iter(split_sqm_config(content, account))
    if is_listing(content):
        return iter(split_listing(content, account))
    if is_trace(content):
        content = keep_read_commands(content, account)
    return split_commands(content, account, lenient=tuple(_IGNORED_COMMANDS))


def _name_command(words: list[SourceToken]) -> str:
    """Name a command for the account: ``tc class``."""
    texts = [word.text for word in unwrap_command(words)[1]]
    program = texts[0].rpartition("/")[2]
    if program in _TC_OBJECTS:
        return f"tc {program}"
    if program == "tc":
        return f"tc {next((text for text in texts[1:] if text in _TC_OBJECTS), 'batch')}"
    return program


_DELETED_PARTS = make_option_table(
    "root ingress egress clsact=ingress classid handle protocol prio=priority pref=priority "
    "priority",
    classid=WordReader.read_ids,
    **dict.fromkeys(("handle", "protocol"), make_word_reader("a value")),
    **dict.fromkeys(("prio", "pref", "priority"), make_count_reader(1, 0xFFFF)),
)


def _read_command(script: ScriptState, words: list[SourceToken]) -> str:
    """Take in a command; why it is left out, empty if it is not.

    Raises ImportFault: It is not translated, or a word of it was not read.
    """
    script.configuration.namespace, words = unwrap_command(words)
    program = words[0].text.rpartition("/")[2]
    if program in _IGNORED_COMMANDS:
        return _IGNORED_COMMANDS[program]
    # A line of a file for `tc -batch` begins with the object.
    reader = WordReader(words, 0 if program in _TC_OBJECTS else 1)
    if program == "tc":
        reason = _read_tc(script, reader)
    elif program in _TC_OBJECTS:
        reason = _read_object(script, reader)
    elif program in ("iptables", "ipchains"):
        reason = firewall.read_firewall_command(reader, script.configuration, script.addresses)
    elif program == "nft":
        reason = nft.read_nft_command(reader, script.configuration, script.addresses)
    elif program in ("ip", "ifconfig"):
        reason = _read_link(script, reader)
    else:
        raise_fault(words[0], f"the command {words[0].text} is not read", _KNOWN_COMMANDS)
    if not reason and reader.has_more():
        word = reader.take_word("a word")
        raise_fault(word, f"{word.text} is not read here", "the end of the command")
    return reason


def _read_link(script: ScriptState, reader: WordReader) -> str:
    """``ip link set dev eth0 txqueuelen 100``, ``ifconfig eth0 txqueuelen 100``."""
    texts = [word.text for word in reader.words]
    for key in ("txqueuelen", "qlen"):
        if key in texts[:-1]:
            reader.position = texts.index(key) + 1
            name = texts[texts.index("dev") + 1] if "dev" in texts[:-1] else texts[1]
            if "dev" not in texts and texts[1:3] == ["link", "set"]:
                name = texts[3]
            device = script.configuration.device(name)
            device.queue_packets = reader.read_number(0, 2**31 - 1)
            if rest := " ".join(word.text for word in reader.words[reader.position :]):
                why = "the state of links is the scenario's"
                script.configuration.account.add_left_out(rest, why, line=reader.words[0].line)
                reader.position = len(reader.words)
            return ""
    return "addresses, routes and state of links are the scenario's"


def _read_tc(script: ScriptState, reader: WordReader) -> str:
    while reader.peek_text().startswith("-"):
        option = reader.take_word("an option of tc")
        if option.text in _NETNS_OPTIONS:
            script.configuration.namespace = reader.take_word("a namespace").text
        elif option.text in BATCH_OPTIONS:
            file = reader.take_word("a file")
            if file.text != "-":
                raise_fault(file, f"the commands of {file.text} are not here", "import it")
            return ""  # The commands follow, each for itscript.
    return _read_object(script, reader)


def _read_object(script: ScriptState, reader: WordReader) -> str:
    """``qdisc add ...``: the words after tc and its options."""
    object_word = reader.take_word("qdisc, class or filter")
    if object_word.text not in _TC_OBJECTS:
        raise_fault(object_word, f"tc {object_word.text} is not read", ", ".join(_TC_OBJECTS))
    verb = reader.take_word("add")
    if verb.text in ("show", "list", "ls"):
        return "prints"
    if verb.text in ("del", "delete"):
        _delete(script, object_word, verb, reader)
        return ""
    if verb.text not in _ADDING_VERBS:
        raise_fault(
            verb,
            f"tc {object_word.text} {verb.text} is not read",
            ", ".join((*_ADDING_VERBS, "del")),
        )
    if object_word.text == "qdisc":
        read_qdisc(script, reader, verb.text)
    elif object_word.text == "class":
        read_class(script, reader, verb.text)
    else:
        return add_filter(script, reader)
    return ""


def _delete(
    script: ScriptState, object_word: SourceToken, verb: SourceToken, reader: WordReader
) -> None:
    """``tc qdisc del``, ``tc class del``, ``tc filter del``."""
    place = PLACE_OPTIONS | _DELETED_PARTS
    values: dict[str, Any] = {}
    while reader.peek_text() in place:
        name, read = place[reader.take_word("a word").text]
        values[name] = read(reader)
    if object_word.text != "class" and reader.has_more():
        # Kind and matches of a filter: a deletion finds it by its place.
        reader.position = len(reader.words)
    if "dev" not in values:
        raise_fault(verb, "the command names no device", "dev DEVICE")
    device = script.configuration.device(values["dev"].text)
    if object_word.text == "filter":
        delete_filters(script, device, values, verb)
    elif object_word.text == "class":
        delete_class(script, device, values.get("classid"), verb)
    else:
        delete_qdisc(script, device, values, verb)
