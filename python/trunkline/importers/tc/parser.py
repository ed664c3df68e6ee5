"""Scripts of tc commands, as the routers of testbeds ran them.

Source: tc(8) and the manual pages of its disciplines; kernel 2.4 and later for what the commands
leave open (the number of a filter without `prio`). Read are simple commands with variables; of
other programs, what sets the length of a device's queue, and marks of iptables and ipchains.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import (
    AbsentProtocol,
    ImportFault,
    MissingPrerequisite,
    SourceToken,
    make_missing_prerequisite,
    raise_fault,
)
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import (
    Device,
    Filter,
    Options,
    Qdisc,
    QdiscClass,
    TrafficControlConfig,
)
from trunkline.importers.common.unsupported_disciplines import raise_unknown_discipline
from trunkline.importers.tc import firewall, nft
from trunkline.importers.tc.aqm_options import CELLS_NOTE, OVERHEAD_NOTE
from trunkline.importers.tc.filters import EGRESS_FILTER_PRIORITY_OFFSET, read_filter
from trunkline.importers.tc.listing import is_listing, split_listing
from trunkline.importers.tc.option_values import (
    OptionTable,
    make_count_reader,
    make_option_table,
    make_word_reader,
    read_head,
)
from trunkline.importers.tc.options import (
    CELLS,
    CLASS_OPTIONS,
    QDISC_OPTIONS,
    check_curves,
    check_options,
    clamp_priority,
    read_dsmark_value,
    read_gred_virtual_queue,
    read_options,
)
from trunkline.importers.tc.shell import format_word, split_commands
from trunkline.importers.tc.sqm_config import is_sqm_config, split_sqm_config
from trunkline.importers.tc.trace import is_trace, keep_read_commands
from trunkline.importers.tc.word_reader import WordReader
from trunkline.importers.tc.wrapped_commands import BATCH_OPTIONS, unwrap_command

_CHANGING_VERBS = ("change", "chg")
_ADDING_VERBS = ("add", "replace", *_CHANGING_VERBS)
_INGRESS_MAJOR = 0xFFFF
_CLSACT_MINORS = {"ingress": 0xFFF2, "egress": 0xFFF3}
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
    script = _ScriptReader(addresses, partial=partial)
    account = script.configuration.account
    faults: list[ImportFault] = []
    has_read_all = True
    try:
        for words in _split_file(content, account):
            text = " ".join(format_word(word) for word in words[:6])
            try:
                reason = script.read_command(words)
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
    script.note_unset_marks()
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


def _skip_estimator(reader: WordReader) -> None:
    """Skip two times; the option measures, and changes no packet."""
    reader.take_word("a time")
    reader.take_word("a time")


_PLACE_OPTIONS = make_option_table("dev parent estimator", estimator=_skip_estimator)


_DELETED_PARTS = make_option_table(
    "root ingress egress clsact=ingress classid handle protocol prio=priority pref=priority "
    "priority",
    classid=WordReader.read_ids,
    **dict.fromkeys(("handle", "protocol"), make_word_reader("a value")),
    **dict.fromkeys(("prio", "pref", "priority"), make_count_reader(1, 0xFFFF)),
)


class _ScriptReader:
    def __init__(self, addresses: Addresses, *, partial: bool):
        self.configuration = TrafficControlConfig()
        self.partial = partial
        self.addresses = addresses
        self.filters_read: list[Filter] = []

    def note_unset_marks(self) -> None:
        """Notes filters by a mark that nothing in the script sets."""
        set_marks = {rule.value for rule in self.configuration.rules} | {
            filter_.mark for filter_ in self.filters_read if filter_.mark is not None
        }
        for filter_ in self.filters_read:
            if filter_.kind != "fw":
                continue
            if not any(filter_.handle == mark & filter_.mask for mark in set_marks):
                why = f"nothing in this file sets mark {filter_.handle}: it takes no packet"
                self.configuration.account.add_assumption(
                    f"handle {filter_.handle} fw", why, line=filter_.at.line
                )

    def read_command(self, words: list[SourceToken]) -> str:
        """Take in a command; why it is left out, empty if it is not.

        Raises ImportFault: It is not translated, or a word of it was not read.
        """
        self.configuration.namespace, words = unwrap_command(words)
        program = words[0].text.rpartition("/")[2]
        if program in _IGNORED_COMMANDS:
            return _IGNORED_COMMANDS[program]
        # A line of a file for `tc -batch` begins with the object.
        reader = WordReader(words, 0 if program in _TC_OBJECTS else 1)
        if program == "tc":
            reason = self.read_tc(reader)
        elif program in _TC_OBJECTS:
            reason = self.read_object(reader)
        elif program in ("iptables", "ipchains"):
            reason = firewall.read_firewall_command(reader, self.configuration, self.addresses)
        elif program == "nft":
            reason = nft.read_nft_command(reader, self.configuration, self.addresses)
        elif program in ("ip", "ifconfig"):
            reason = self.read_link(reader)
        else:
            raise_fault(words[0], f"the command {words[0].text} is not read", _KNOWN_COMMANDS)
        if not reason and reader.has_more():
            word = reader.take_word("a word")
            raise_fault(word, f"{word.text} is not read here", "the end of the command")
        return reason

    def read_link(self, reader: WordReader) -> str:
        """``ip link set dev eth0 txqueuelen 100``, ``ifconfig eth0 txqueuelen 100``."""
        texts = [word.text for word in reader.words]
        for key in ("txqueuelen", "qlen"):
            if key in texts[:-1]:
                reader.position = texts.index(key) + 1
                name = texts[texts.index("dev") + 1] if "dev" in texts[:-1] else texts[1]
                if "dev" not in texts and texts[1:3] == ["link", "set"]:
                    name = texts[3]
                device = self.configuration.device(name)
                device.queue_packets = reader.read_number(0, 2**31 - 1)
                if rest := " ".join(word.text for word in reader.words[reader.position :]):
                    why = "the state of links is the scenario's"
                    self.configuration.account.add_left_out(rest, why, line=reader.words[0].line)
                    reader.position = len(reader.words)
                return ""
        return "addresses, routes and state of links are the scenario's"

    def read_tc(self, reader: WordReader) -> str:
        while reader.peek_text().startswith("-"):
            option = reader.take_word("an option of tc")
            if option.text in _NETNS_OPTIONS:
                self.configuration.namespace = reader.take_word("a namespace").text
            elif option.text in BATCH_OPTIONS:
                file = reader.take_word("a file")
                if file.text != "-":
                    raise_fault(file, f"the commands of {file.text} are not here", "import it")
                return ""  # The commands follow, each for itself.
        return self.read_object(reader)

    def read_object(self, reader: WordReader) -> str:
        """``qdisc add ...``: the words after tc and its options."""
        object_word = reader.take_word("qdisc, class or filter")
        if object_word.text not in _TC_OBJECTS:
            raise_fault(object_word, f"tc {object_word.text} is not read", ", ".join(_TC_OBJECTS))
        verb = reader.take_word("add")
        if verb.text in ("show", "list", "ls"):
            return "prints"
        if verb.text in ("del", "delete"):
            self.delete(object_word, verb, reader)
            return ""
        if verb.text not in _ADDING_VERBS:
            raise_fault(
                verb,
                f"tc {object_word.text} {verb.text} is not read",
                ", ".join((*_ADDING_VERBS, "del")),
            )
        if object_word.text == "qdisc":
            self.read_qdisc(reader, verb.text)
        elif object_word.text == "class":
            self.read_class(reader, verb.text)
        else:
            return self.add_filter(reader)
        return ""

    def delete(self, object_word: SourceToken, verb: SourceToken, reader: WordReader) -> None:
        """``tc qdisc del``, ``tc class del``, ``tc filter del``."""
        place = _PLACE_OPTIONS | _DELETED_PARTS
        values: dict[str, Any] = {}
        while reader.peek_text() in place:
            name, read = place[reader.take_word("a word").text]
            values[name] = read(reader)
        if object_word.text != "class" and reader.has_more():
            # Kind and matches of a filter: a deletion finds it by its place.
            reader.position = len(reader.words)
        if "dev" not in values:
            raise_fault(verb, "the command names no device", "dev DEVICE")
        device = self.configuration.device(values["dev"].text)
        parent = values.get("parent")
        if object_word.text == "filter":
            self.delete_filters(device, values, verb)
        elif object_word.text == "class":
            self.delete_class(device, values.get("classid"), verb)
        elif "ingress" in values or (parent is not None and parent[0] == _INGRESS_MAJOR):
            device.ingress = None
        elif parent is None:
            # Scripts begin so where there may be none: its error message is thrown away.
            device.root = None
        else:
            parent_qdisc = self.find_qdisc(device, parent[0], verb)
            class_ = parent_qdisc.classes.get(parent[1])
            if class_ is not None:
                class_.queue = None
            else:
                parent_qdisc.inner = None

    def delete_filters(self, device: Device, values: Mapping[str, Any], verb: SourceToken) -> None:
        """Delete all filters at a place, or those of one `prio`."""
        hook = next((name for name in _CLSACT_MINORS if name in values), None)
        parent = values.get("parent") if hook is None else (_INGRESS_MAJOR, _CLSACT_MINORS[hook])
        filters = self.find_filter_list(device, parent, verb)
        priority = values.get("priority")
        if hook == "egress" and priority is not None:
            priority -= EGRESS_FILTER_PRIORITY_OFFSET
        filters[:] = [each for each in filters if priority not in (None, each.priority)]

    def delete_class(
        self, device: Device, class_id: tuple[int, int] | None, verb: SourceToken
    ) -> None:
        if class_id is None:
            raise_fault(verb, "the command names no class", "classid ID")
        qdisc = self.find_qdisc(device, class_id[0], verb)
        if class_id[1] not in qdisc.classes:
            raise make_missing_prerequisite(
                verb, f"there is no class {_format_id(class_id)}", _format_class_ids(qdisc)
            )
        if qdisc.children(class_id[1]):
            raise_fault(verb, f"class {_format_id(class_id)} has classes below it: it is in use")
        del qdisc.classes[class_id[1]]

    def read_qdisc(self, reader: WordReader, verb: str) -> None:
        word, head_values = read_head(
            reader,
            "a queueing discipline",
            _PLACE_OPTIONS
            | make_option_table("root handle stab", handle=_read_major, stab=self.read_size_table),
        )
        device, parent = self.get_device(head_values), head_values.get("parent")
        if word.text not in QDISC_OPTIONS:
            raise_unknown_discipline(word, QDISC_OPTIONS)
        if device is None:
            raise_fault(word, "the command names no device", "dev DEVICE")
        if word.text in ("ingress", "clsact"):
            device.ingress = device.ingress or Qdisc(word, "ingress", _INGRESS_MAJOR)
            return
        if parent is None and "root" not in head_values:
            raise_fault(
                word, "the command does not say where the discipline goes", "root, parent ID"
            )
        self.attach_qdisc(device, word, head_values.get("handle", 0), parent, reader, verb)

    def get_device(self, head_values: Mapping[str, Any]) -> Device | None:
        return self.configuration.device(head_values["dev"].text) if "dev" in head_values else None

    def read_size_table(self, reader: WordReader) -> None:
        """``stab overhead 44 linklayer atm`` (tc-stab(8)): bytes of a packet on the wire."""
        at = reader.words[reader.position - 1]
        why = OVERHEAD_NOTE
        while reader.peek_text() in ("mtu", "tsize", "mpu", "overhead", "linklayer"):
            reader.take_word("a word")
            if reader.take_word("a value").text in CELLS:
                why = CELLS_NOTE
        self.configuration.account.add_left_out("stab", why, line=at.line)

    def attach_qdisc(
        self,
        device: Device,
        word: SourceToken,
        handle: int,
        parent: tuple[int, int] | None,
        reader: WordReader,
        verb: str,
    ) -> None:
        present = self.get_qdisc_at(device, parent, word) if parent is not None else device.root
        if present is None and verb in _CHANGING_VERBS and word.text != "gred":
            raise make_missing_prerequisite(word, f"there is no {word.text} here to change")
        if word.text == "gred" and reader.peek_text() not in ("setup", "vqs", "DPs"):
            if present is None or present.kind != "gred":
                raise make_missing_prerequisite(
                    word, "gred is not set up here", "gred setup DPs N default N first"
                )
            read_gred_virtual_queue(reader, present, self.configuration.account)
            return
        if present is not None and verb == "add":
            # sch_api.c: NLM_F_EXCL, "Exclusivity flag on, cannot modify".
            raise_fault(
                word, f"there is a {present.kind} here already", "replace, change; del first"
            )
        if present is not None and verb in _CHANGING_VERBS:
            present.options |= self.read_options(reader, QDISC_OPTIONS[word.text], word)
            return
        qdisc = Qdisc(word, word.text, handle)
        qdisc.options = self.read_options(reader, QDISC_OPTIONS[word.text], word)
        check_options(qdisc)
        _make_prio_bands(qdisc)
        if parent is None:
            device.root = qdisc
            return
        parent_qdisc = self.find_qdisc(device, parent[0], word)
        class_ = parent_qdisc.classes.get(parent[1])
        if class_ is not None:
            if parent_qdisc.children(parent[1]):
                raise_fault(word, f"class {_format_id(parent)} has classes below it, so no queue")
            class_.queue = qdisc
        elif parent_qdisc.kind in ("dsmark", "tbf", "netem"):
            parent_qdisc.inner = qdisc
        else:
            raise_fault(
                word,
                f"{parent_qdisc.kind} {parent_qdisc.major:x}: has no class {_format_id(parent)}",
                _format_class_ids(parent_qdisc),
            )

    def get_qdisc_at(
        self, device: Device, parent: tuple[int, int], word: SourceToken
    ) -> Qdisc | None:
        """Get the discipline that is now at a place."""
        parent_qdisc = self.find_qdisc(device, parent[0], word)
        class_ = parent_qdisc.classes.get(parent[1])
        return class_.queue if class_ is not None else parent_qdisc.inner

    def read_options(self, reader: WordReader, table: OptionTable, owner: SourceToken) -> Options:
        """Read all that is left of a command, as options."""
        account = self.configuration.account
        options = read_options(reader, table, owner, account, partial=self.partial)
        clamp_priority(options, owner, account)
        return options

    def find_qdisc(self, device: Device, major: int, word: SourceToken) -> Qdisc:
        """Find a discipline of a device by its number."""
        known: list[str] = []
        unvisited = [device.root]
        while unvisited:
            qdisc = unvisited.pop()
            if qdisc is None:
                continue
            if qdisc.major == major != 0:
                return qdisc
            known.append(f"{qdisc.major:x}:")
            unvisited += [qdisc.inner, *(class_.queue for class_ in qdisc.classes.values())]
        known_text = ", ".join(sorted(known)) or "none yet"
        raise make_missing_prerequisite(
            word, f"device {device.name} has no discipline {major:x}:", known_text
        )

    def read_class(self, reader: WordReader, verb: str) -> None:
        place = _PLACE_OPTIONS | make_option_table("classid", classid=WordReader.read_ids)
        word, head_values = read_head(reader, "a kind of class", place)
        device = self.get_device(head_values)
        parent = head_values.get("parent")
        class_id = head_values.get("classid")
        if word.text not in (*CLASS_OPTIONS, "dsmark"):
            raise_fault(
                word,
                f"there is no class of {word.text} here",
                ", ".join((*CLASS_OPTIONS, "dsmark")),
            )
        if device is None or class_id is None:
            raise_fault(word, "a class needs a device and its number", "dev DEVICE, classid ID")
        if class_id[0] == 0:
            # sch_api.c: without a major number the one of the parent, else that of the root.
            major = parent[0] if parent is not None and parent[0] else 0
            class_id = (major or (device.root.major if device.root else 0), class_id[1])
        qdisc = self.find_qdisc(device, class_id[0], word)
        if qdisc.kind != word.text:
            raise_fault(word, f"{qdisc.major:x}: is a {qdisc.kind}, not a {word.text}")
        if word.text == "dsmark":
            qdisc.dsmark_values[class_id[1]] = read_dsmark_value(reader, word)
            return
        if class_id[1] in qdisc.classes:
            if verb == "add":
                raise_fault(
                    word, f"there is a class {_format_id(class_id)} already", "replace, change"
                )
            options = self.read_options(reader, CLASS_OPTIONS[word.text], word)
            qdisc.classes[class_id[1]].options |= options
            return
        if verb in _CHANGING_VERBS:
            raise make_missing_prerequisite(
                word,
                f"there is no class {_format_id(class_id)} to change",
                _format_class_ids(qdisc),
            )
        parent_minor = self.find_parent_minor(qdisc, parent, word)
        options = self.read_options(reader, CLASS_OPTIONS[word.text], word)
        if word.text == "hfsc":
            check_curves(options, word)
        qdisc.classes[class_id[1]] = QdiscClass(word, class_id[1], parent_minor, options)

    def find_parent_minor(
        self, qdisc: Qdisc, parent: tuple[int, int] | None, word: SourceToken
    ) -> int:
        """Minor number of the class above, 0 for the discipline."""
        parent_minor = 0 if parent is None else parent[1]
        if parent_minor == 0 or parent_minor in qdisc.classes:
            return parent_minor
        parent_text = _format_id((qdisc.major, parent_minor))
        if qdisc.kind != "htb":
            raise make_missing_prerequisite(
                word, f"there is no class {parent_text} yet", _format_class_ids(qdisc)
            )
        # sch_htb.c, htb_change_class: a class that htb_find does not find is no parent.
        why = "there is no such class yet: htb puts this one at the top, as here"
        self.configuration.account.add_assumption(f"parent {parent_text}", why, line=word.line)
        return 0

    def add_filter(self, reader: WordReader) -> str:
        filter_, device_name, parent, is_ip = read_filter(
            reader, self.addresses, self.configuration.account
        )
        device = self.configuration.device(device_name)
        self.filters_read += [filter_] if is_ip else []
        filters = self.find_filter_list(device, parent, filter_.at)
        if filter_.priority == 0:
            # cls_api.c, tcf_auto_prio: one below those that have numbers of this kind.
            numbered = [other.priority for other in filters if other.priority >= 0x8000]
            filter_.priority = min(numbered) - 1 if numbered else 0xC000
        if not is_ip:
            return "the simulator has no ARP, no IPv6 and no routing protocol in a port's classes"
        for other in filters:
            if other.priority == filter_.priority and other.kind != filter_.kind:
                raise_fault(
                    filter_.at, f"prio {filter_.priority} has a filter of another kind already"
                )
        if filter_.is_table:
            return "a hash table of filters, which changes only how fast they are found"
        if filter_.redirect:
            why = (
                f"what comes in at {device_name} goes through {filter_.redirect}: give its port to "
                "the other end of that link"
            )
            self.configuration.account.add_assumption(
                f"mirred to {filter_.redirect}", why, line=filter_.at.line
            )
            return ""
        if filter_.kind == "tcindex":
            _share_tcindex_settings(filter_, filters)
        filters.append(filter_)
        filters.sort(key=lambda listed: listed.priority)
        return ""

    def find_filter_list(
        self, device: Device, parent: tuple[int, int] | None, at: SourceToken
    ) -> list[Filter]:
        """Find the list that a filter goes to."""
        if parent is None:
            if device.root is None:
                raise make_missing_prerequisite(at, f"device {device.name} has no discipline yet")
            return device.root.filters
        if parent in ((_INGRESS_MAJOR, 0), (_INGRESS_MAJOR, _CLSACT_MINORS["ingress"])):
            if device.ingress is None:
                raise make_missing_prerequisite(
                    at, f"device {device.name} has no ingress discipline yet"
                )
            return device.ingress.filters
        if parent == (_INGRESS_MAJOR, _CLSACT_MINORS["egress"]):
            if device.root is None:
                raise make_missing_prerequisite(
                    at, f"device {device.name} has no discipline that it could choose in yet"
                )
            return device.root.filters
        qdisc = self.find_qdisc(device, parent[0], at)
        if parent[1] == 0:
            return qdisc.filters
        if parent[1] not in qdisc.classes:
            raise make_missing_prerequisite(
                at, f"there is no class {_format_id(parent)} yet", _format_class_ids(qdisc)
            )
        return qdisc.classes[parent[1]].filters


def _share_tcindex_settings(filter_: Filter, filters: list[Filter]) -> None:
    """Mask, shift and what happens without a handle belong to all tcindex of one priority."""
    same_priority = [sibling for sibling in filters if sibling.priority == filter_.priority]
    if filter_.handle is None and filter_.target is None:
        for sibling in same_priority:
            sibling.mask, sibling.shift, sibling.fall_through = (
                filter_.mask,
                filter_.shift,
                filter_.fall_through,
            )
    elif same_priority:
        first = same_priority[0]
        filter_.mask, filter_.shift, filter_.fall_through = (
            first.mask,
            first.shift,
            first.fall_through,
        )


def _make_prio_bands(qdisc: Qdisc) -> None:
    """Discipline prio has its classes from the start."""
    if qdisc.kind == "prio":
        bands = qdisc.options.get("bands", 3)
        assert isinstance(bands, int)
        qdisc.classes = {band: QdiscClass(qdisc.at, band, 0, {}) for band in range(1, bands + 1)}


def _read_major(reader: WordReader) -> int:
    word = reader.take_word("a number")
    text = word.text.rstrip(":") if word.text.endswith(":") else word.text.partition(":")[0]
    known = "1:, ffff: (hexadecimal)"
    return read_integer(word, "number of a discipline", known, part=text, base=16)


def _format_id(pair: tuple[int, int]) -> str:
    return f"{pair[0]:x}:{pair[1]:x}"


def _format_class_ids(qdisc: Qdisc) -> str:
    return ", ".join(f"{qdisc.major:x}:{minor:x}" for minor in qdisc.classes) or "none yet"
