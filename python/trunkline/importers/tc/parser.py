"""Scripts of tc commands, as the routers of testbeds ran them.

Source: tc(8) and the manual pages of its disciplines; kernel 2.4 and later for what the commands
leave open (the number of a filter without `prio`). Read are simple commands with variables; of
other programs, what sets the length of a device's queue, and marks of iptables and ipchains.
"""

from collections.abc import Mapping
from typing import Any

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import (
    ImportFault,
    MissingPrerequisite,
    OmittedPart,
    SourceToken,
    make_missing_prerequisite,
    raise_fault,
)
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import (
    Device,
    Filter,
    Qdisc,
    QdiscClass,
    TrafficControlConfig,
)
from trunkline.importers.common.unsupported_disciplines import raise_unknown_discipline
from trunkline.importers.tc import firewall
from trunkline.importers.tc.filters import read_filter
from trunkline.importers.tc.option_values import make_option_table, read_head
from trunkline.importers.tc.options import (
    CLASS_OPTIONS,
    QDISC_OPTIONS,
    read_dsmark_value,
    read_gred_virtual_queue,
    read_options,
)
from trunkline.importers.tc.shell import format_word, split_commands
from trunkline.importers.tc.word_reader import WordReader

_ADDING_VERBS = ("add", "replace", "change", "chg")
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
}
_KNOWN_COMMANDS = "tc, iptables, ipchains, ip, ifconfig, " + ", ".join(_IGNORED_COMMANDS)


def parse_script(
    content: str, addresses: Addresses, *, partial: bool = False
) -> TrafficControlConfig:
    """Read a script.

    Parameters
    ----------
    partial : bool, default False
        Whether commands that are not translated are left out, with a note each.

    Raises
    ------
    ImportFault
        Something that is not translated, at its place; what else is not is in its `others`.
    """
    script = _ScriptReader(addresses)
    faults: list[ImportFault] = []
    has_read_all = True
    try:
        for words in split_commands(content, lenient=tuple(_IGNORED_COMMANDS)):
            try:
                script.read_command(words)
            except ImportFault as fault:
                # What a command that failed should have made is missed further down: no news.
                if not (faults and isinstance(fault, MissingPrerequisite)):
                    faults.append(fault)
                if partial:
                    text = " ".join(format_word(word) for word in words[:6])
                    script.configuration.notes.append(
                        OmittedPart(words[0].line, text, fault.message)
                    )
    except ImportFault as fault:
        has_read_all = False
        faults.append(fault)  # no command can be told from the next after this
    if faults and not (partial and has_read_all):
        faults[0].others = tuple(faults[1:])
        raise faults[0]
    script.note_unset_marks()
    return script.configuration


def _skip_estimator(reader: WordReader) -> None:
    """Two times; it measures, and changes no packet."""
    reader.take_word("a time")
    reader.take_word("a time")


_PLACE_OPTIONS = make_option_table("dev parent estimator", estimator=_skip_estimator)


class _ScriptReader:
    def __init__(self, addresses: Addresses):
        self.configuration = TrafficControlConfig()
        self.addresses = addresses
        self.filters_read: list[Filter] = []

    def note_unset_marks(self) -> None:
        """Notes filters by a mark that nothing in the script sets."""
        set_marks = {mark for _, mark in self.configuration.marks} | {
            filter_.mark for filter_ in self.filters_read
        }
        for filter_ in self.filters_read:
            if filter_.kind == "fw" and filter_.handle not in set_marks:
                why = f"nothing in this file sets mark {filter_.handle}: it takes no packet"
                self.configuration.notes.append(
                    OmittedPart(filter_.at.line, f"handle {filter_.handle} fw", why)
                )

    def read_command(self, words: list[SourceToken]) -> None:
        program = words[0].text.rpartition("/")[2]
        reader = WordReader(words, 1)
        if program == "tc":
            self.read_tc(reader)
        elif program in ("iptables", "ipchains"):
            firewall.read_firewall_command(reader, self.configuration, self.addresses)
        elif program in ("ip", "ifconfig"):
            self.read_link(reader)
        elif program in _IGNORED_COMMANDS:
            text = " ".join(format_word(word) for word in words[:3])
            self.configuration.notes.append(
                OmittedPart(words[0].line, text, _IGNORED_COMMANDS[program])
            )
        else:
            raise_fault(words[0], f"the command {words[0].text} is not read", _KNOWN_COMMANDS)

    def read_link(self, reader: WordReader) -> None:
        """``ip link set dev eth0 txqueuelen 100``, ``ifconfig eth0 txqueuelen 100``."""
        first = reader.words[0]
        texts = [word.text for word in reader.words]
        for key in ("txqueuelen", "qlen"):
            if key in texts[:-1]:
                reader.position = texts.index(key) + 1
                name = texts[texts.index("dev") + 1] if "dev" in texts[:-1] else texts[1]
                if "dev" not in texts and texts[1:3] == ["link", "set"]:
                    name = texts[3]
                self.configuration.device(name).queue_packets = reader.read_number(0, 2**31 - 1)
                return
        why = "addresses, routes and state of links are the scenario's"
        self.configuration.notes.append(OmittedPart(first.line, " ".join(texts[:3]), why))

    def read_tc(self, reader: WordReader) -> None:
        while reader.peek_text().startswith("-"):
            reader.take_word("an option of tc")
        object_word = reader.take_word("qdisc, class or filter")
        if object_word.text not in ("qdisc", "class", "filter"):
            raise_fault(object_word, f"tc {object_word.text} is not read", "qdisc, class, filter")
        verb = reader.take_word("add")
        if verb.text in ("show", "list", "ls"):
            return
        if verb.text in ("del", "delete"):
            self.delete_qdisc(object_word, verb, reader)
            return
        if verb.text not in _ADDING_VERBS:
            raise_fault(
                verb,
                f"tc {object_word.text} {verb.text} is not read",
                ", ".join((*_ADDING_VERBS, "del")),
            )
        if object_word.text == "qdisc":
            self.read_qdisc(reader)
        elif object_word.text == "class":
            self.read_class(reader)
        else:
            self.add_filter(reader)

    def delete_qdisc(self, object_word: SourceToken, verb: SourceToken, reader: WordReader) -> None:
        texts = [word.text for word in reader.words[reader.position :]]
        if object_word.text != "qdisc" or "dev" not in texts[:-1]:
            raise_fault(
                verb,
                f"tc {object_word.text} {verb.text} is not read",
                "tc qdisc del dev DEVICE root",
            )
        device = self.configuration.devices.get(texts[texts.index("dev") + 1])
        if device is not None and "ingress" in texts:
            device.ingress = None
        elif device is not None:
            device.root = None

    def read_qdisc(self, reader: WordReader) -> None:
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
        self.attach_qdisc(device, word, head_values.get("handle", 0), parent, reader)

    def get_device(self, head_values: Mapping[str, Any]) -> Device | None:
        return self.configuration.device(head_values["dev"].text) if "dev" in head_values else None

    def read_size_table(self, reader: WordReader) -> None:
        """``stab overhead 44 linklayer atm`` (tc-stab(8)): what a packet has on the wire."""
        at = reader.words[reader.position - 1]
        while reader.peek_text() in ("mtu", "tsize", "mpu", "overhead", "linklayer"):
            reader.take_word("a word")
            reader.take_word("a value")
        why = "the header of the link says what a packet has on the wire"
        self.configuration.notes.append(OmittedPart(at.line, "stab", why))

    def attach_qdisc(
        self,
        device: Device,
        word: SourceToken,
        handle: int,
        parent: tuple[int, int] | None,
        reader: WordReader,
    ) -> None:
        present = self.get_qdisc_at(device, parent, word) if parent is not None else device.root
        if word.text == "gred" and reader.peek_text() not in ("setup", "vqs", "DPs"):
            if present is None or present.kind != "gred":
                raise make_missing_prerequisite(
                    word, "gred is not set up here", "gred setup DPs N default N first"
                )
            read_gred_virtual_queue(reader, present, self.configuration.notes)
            return
        qdisc = Qdisc(word, word.text, handle)
        qdisc.options = read_options(
            reader, QDISC_OPTIONS[word.text], word, self.configuration.notes
        )
        _make_prio_bands(qdisc)
        if parent is None:
            device.root = qdisc
            return
        parent_qdisc = self.find_qdisc(device, parent[0], word)
        class_ = parent_qdisc.classes.get(parent[1])
        if class_ is not None:
            class_.queue = qdisc
        elif parent_qdisc.kind in ("dsmark", "tbf"):
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
        """What stands at a place now."""
        parent_qdisc = self.find_qdisc(device, parent[0], word)
        class_ = parent_qdisc.classes.get(parent[1])
        return class_.queue if class_ is not None else parent_qdisc.inner

    def find_qdisc(self, device: Device, major: int, word: SourceToken) -> Qdisc:
        """A discipline of a device by its number."""
        known: list[str] = []
        unvisited = [device.root]
        while unvisited:
            qdisc = unvisited.pop()
            if qdisc is None:
                continue
            if qdisc.major == major:
                return qdisc
            known.append(f"{qdisc.major:x}:")
            unvisited += [qdisc.inner, *(class_.queue for class_ in qdisc.classes.values())]
        known_text = ", ".join(sorted(known)) or "none yet"
        raise make_missing_prerequisite(
            word, f"device {device.name} has no discipline {major:x}:", known_text
        )

    def read_class(self, reader: WordReader) -> None:
        place = _PLACE_OPTIONS | make_option_table("classid", classid=WordReader.read_ids)
        word, head_values = read_head(reader, "a kind of class", place)
        device, parent, class_id = (
            self.get_device(head_values),
            head_values.get("parent"),
            head_values.get("classid"),
        )
        if word.text not in (*CLASS_OPTIONS, "dsmark"):
            raise_fault(
                word,
                f"there is no class of {word.text} here",
                ", ".join((*CLASS_OPTIONS, "dsmark")),
            )
        if device is None or class_id is None:
            raise_fault(word, "a class needs a device and its number", "dev DEVICE, classid ID")
        qdisc = self.find_qdisc(device, class_id[0], word)
        if qdisc.kind != word.text:
            raise_fault(word, f"{qdisc.major:x}: is a {qdisc.kind}, not a {word.text}")
        if word.text == "dsmark":
            qdisc.dsmark_values[class_id[1]] = read_dsmark_value(reader, word)
            return
        if class_id[1] in qdisc.classes:
            qdisc.classes[class_id[1]].options |= read_options(
                reader, CLASS_OPTIONS[word.text], word, self.configuration.notes
            )
            return
        parent_minor = 0 if parent is None else parent[1]
        if parent_minor and parent_minor not in qdisc.classes:
            raise make_missing_prerequisite(
                word,
                f"there is no class {_format_id((class_id[0], parent_minor))} yet",
                _format_class_ids(qdisc),
            )
        options = read_options(reader, CLASS_OPTIONS[word.text], word, self.configuration.notes)
        qdisc.classes[class_id[1]] = QdiscClass(word, class_id[1], parent_minor, options)

    def add_filter(self, reader: WordReader) -> None:
        filter_, device_name, parent, is_ip = read_filter(
            reader, self.addresses, self.configuration.notes
        )
        device = self.configuration.device(device_name)
        self.filters_read += [filter_] if is_ip else []
        filters = self.find_filter_list(device, parent, filter_.at)
        if filter_.priority == 0:
            # The kernel numbers a filter without `prio` one below all there are.
            filter_.priority = min(
                (other_filter.priority for other_filter in filters), default=0xC000
            ) - (1 if filters else 0)
        if not is_ip:
            why = "the simulator has neither ARP nor IPv6"
            self.configuration.notes.append(OmittedPart(filter_.at.line, "filter", why))
            return
        for other in filters:
            if other.priority == filter_.priority and other.kind != filter_.kind:
                raise_fault(
                    filter_.at, f"prio {filter_.priority} has a filter of another kind already"
                )
        if filter_.is_table:
            why = "a hash table of filters, which changes only how fast they are found"
            self.configuration.notes.append(OmittedPart(filter_.at.line, "u32 divisor", why))
            return
        if filter_.redirect:
            why = (
                f"what comes in at {device_name} goes through {filter_.redirect}: give its port to "
                "the other end of that link"
            )
            self.configuration.notes.append(
                OmittedPart(filter_.at.line, f"mirred to {filter_.redirect}", why)
            )
            return
        if filter_.kind == "tcindex":
            _share_tcindex_settings(filter_, filters)
        filters.append(filter_)
        filters.sort(key=lambda listed: listed.priority)

    def find_filter_list(
        self, device: Device, parent: tuple[int, int] | None, at: SourceToken
    ) -> list[Filter]:
        """The list that a filter goes to."""
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
