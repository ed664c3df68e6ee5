"""Scripts of tc commands, as the routers of testbeds ran them.

Source: tc(8) and the manual pages of its disciplines; kernel 2.4 and later for what the commands
leave open (the number of a filter without `prio`). Read are simple commands with variables; of
other programs, what sets the length of a device's queue, and marks of iptables and ipchains.
"""

from collections.abc import Mapping
from typing import Any

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import Absent, ImportFault, Note, Word, absent, refuse
from trunkline.importers.common.foreign import refuse_discipline
from trunkline.importers.common.quantities import whole_number
from trunkline.importers.common.tree import Class, Configuration, Device, Filter, Qdisc
from trunkline.importers.tc import firewall
from trunkline.importers.tc.filters import read_filter
from trunkline.importers.tc.options import (
    CLASSES,
    QDISCS,
    dsmark_mark,
    gred_virtual,
    read_options,
)
from trunkline.importers.tc.reads import head, table
from trunkline.importers.tc.shell import commands, shown
from trunkline.importers.tc.words import Reader

_ADDING = ("add", "replace", "change", "chg")
_INGRESS = 0xFFFF
_CLSACT = {"ingress": 0xFFF2, "egress": 0xFFF3}
_SILENT = {
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
_PROGRAMS = "tc, iptables, ipchains, ip, ifconfig, " + ", ".join(_SILENT)


def parse(content: str, addresses: Addresses, *, partial: bool = False) -> Configuration:
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
    script = _Script(addresses)
    faults: list[ImportFault] = []
    told = True
    try:
        for words in commands(content, lenient=tuple(_SILENT)):
            try:
                script.command(words)
            except ImportFault as fault:
                # What a command that failed should have made is missed further down: no news.
                if not (faults and isinstance(fault, Absent)):
                    faults.append(fault)
                if partial:
                    text = " ".join(shown(word) for word in words[:6])
                    script.made.notes.append(Note(words[0].line, text, fault.message))
    except ImportFault as fault:
        told = False
        faults.append(fault)  # no command can be told from the next after this
    if faults and not (partial and told):
        faults[0].others = tuple(faults[1:])
        raise faults[0]
    script.note_unset_marks()
    return script.made


def _estimator(reader: Reader) -> None:
    """Two times; it measures, and changes no packet."""
    reader.take("a time")
    reader.take("a time")


_PLACE = table("dev parent estimator", estimator=_estimator)


class _Script:
    def __init__(self, addresses: Addresses):
        self.made = Configuration()
        self.addresses = addresses
        self.read: list[Filter] = []

    def note_unset_marks(self) -> None:
        """Notes filters by a mark that nothing in the script sets."""
        known = {mark for _, mark in self.made.marks} | {each.mark for each in self.read}
        for each in self.read:
            if each.kind == "fw" and each.handle not in known:
                why = f"nothing in this file sets mark {each.handle}: it takes no packet"
                self.made.notes.append(Note(each.at.line, f"handle {each.handle} fw", why))

    def command(self, words: list[Word]) -> None:
        program = words[0].text.rpartition("/")[2]
        reader = Reader(words, 1)
        if program == "tc":
            self.tc(reader)
        elif program in ("iptables", "ipchains"):
            firewall.read(reader, self.made, self.addresses)
        elif program in ("ip", "ifconfig"):
            self.link(reader)
        elif program in _SILENT:
            text = " ".join(shown(word) for word in words[:3])
            self.made.notes.append(Note(words[0].line, text, _SILENT[program]))
        else:
            refuse(words[0], f"the command {words[0].text} is not read", _PROGRAMS)

    def link(self, reader: Reader) -> None:
        """``ip link set dev eth0 txqueuelen 100``, ``ifconfig eth0 txqueuelen 100``."""
        first = reader.words[0]
        texts = [word.text for word in reader.words]
        for key in ("txqueuelen", "qlen"):
            if key in texts[:-1]:
                reader.at = texts.index(key) + 1
                name = texts[texts.index("dev") + 1] if "dev" in texts[:-1] else texts[1]
                if "dev" not in texts and texts[1:3] == ["link", "set"]:
                    name = texts[3]
                self.made.device(name).queue_packets = reader.number(0, 2**31 - 1)
                return
        why = "addresses, routes and state of links are the scenario's"
        self.made.notes.append(Note(first.line, " ".join(texts[:3]), why))

    def tc(self, reader: Reader) -> None:
        while reader.peek().startswith("-"):
            reader.take("an option of tc")
        thing = reader.take("qdisc, class or filter")
        if thing.text not in ("qdisc", "class", "filter"):
            refuse(thing, f"tc {thing.text} is not read", "qdisc, class, filter")
        verb = reader.take("add")
        if verb.text in ("show", "list", "ls"):
            return
        if verb.text in ("del", "delete"):
            self.delete(thing, verb, reader)
            return
        if verb.text not in _ADDING:
            refuse(verb, f"tc {thing.text} {verb.text} is not read", ", ".join((*_ADDING, "del")))
        if thing.text == "qdisc":
            self.qdisc(reader)
        elif thing.text == "class":
            self.class_(reader)
        else:
            self.filter(reader)

    def delete(self, thing: Word, verb: Word, reader: Reader) -> None:
        texts = [word.text for word in reader.words[reader.at :]]
        if thing.text != "qdisc" or "dev" not in texts[:-1]:
            refuse(verb, f"tc {thing.text} {verb.text} is not read", "tc qdisc del dev DEVICE root")
        device = self.made.devices.get(texts[texts.index("dev") + 1])
        if device is not None and "ingress" in texts:
            device.ingress = None
        elif device is not None:
            device.root = None

    def qdisc(self, reader: Reader) -> None:
        word, its = head(
            reader,
            "a queueing discipline",
            _PLACE | table("root handle stab", handle=_major, stab=self.table_of_sizes),
        )
        device, parent = self.device(its), its.get("parent")
        if word.text not in QDISCS:
            refuse_discipline(word, QDISCS)
        if device is None:
            refuse(word, "the command names no device", "dev DEVICE")
        if word.text in ("ingress", "clsact"):
            device.ingress = device.ingress or Qdisc(word, "ingress", _INGRESS)
            return
        if parent is None and "root" not in its:
            refuse(word, "the command does not say where the discipline goes", "root, parent ID")
        self.attach(device, word, its.get("handle", 0), parent, reader)

    def device(self, its: Mapping[str, Any]) -> Device | None:
        return self.made.device(its["dev"].text) if "dev" in its else None

    def table_of_sizes(self, reader: Reader) -> None:
        """``stab overhead 44 linklayer atm`` (tc-stab(8)): what a packet has on the wire."""
        at = reader.words[reader.at - 1]
        while reader.peek() in ("mtu", "tsize", "mpu", "overhead", "linklayer"):
            reader.take("a word")
            reader.take("a value")
        why = "the header of the link says what a packet has on the wire"
        self.made.notes.append(Note(at.line, "stab", why))

    def attach(
        self,
        device: Device,
        word: Word,
        handle: int,
        parent: tuple[int, int] | None,
        reader: Reader,
    ) -> None:
        there = self.at(device, parent, word) if parent is not None else device.root
        if word.text == "gred" and reader.peek() not in ("setup", "vqs", "DPs"):
            if there is None or there.kind != "gred":
                raise absent(word, "gred is not set up here", "gred setup DPs N default N first")
            gred_virtual(reader, there, self.made.notes)
            return
        made = Qdisc(word, word.text, handle)
        made.options = read_options(reader, QDISCS[word.text], word, self.made.notes)
        _bands(made)
        if parent is None:
            device.root = made
            return
        above = self.find(device, parent[0], word)
        its = above.classes.get(parent[1])
        if its is not None:
            its.queue = made
        elif above.kind in ("dsmark", "tbf"):
            above.inner = made
        else:
            refuse(
                word, f"{above.kind} {above.major:x}: has no class {_id(parent)}", _listed(above)
            )

    def at(self, device: Device, parent: tuple[int, int], word: Word) -> Qdisc | None:
        """What stands at a place now."""
        above = self.find(device, parent[0], word)
        its = above.classes.get(parent[1])
        return its.queue if its is not None else above.inner

    def find(self, device: Device, major: int, word: Word) -> Qdisc:
        """A discipline of a device by its number."""
        known: list[str] = []
        waiting = [device.root]
        while waiting:
            qdisc = waiting.pop()
            if qdisc is None:
                continue
            if qdisc.major == major:
                return qdisc
            known.append(f"{qdisc.major:x}:")
            waiting += [qdisc.inner, *(its.queue for its in qdisc.classes.values())]
        shown = ", ".join(sorted(known)) or "none yet"
        raise absent(word, f"device {device.name} has no discipline {major:x}:", shown)

    def class_(self, reader: Reader) -> None:
        place = _PLACE | table("classid", classid=Reader.ids)
        word, its = head(reader, "a kind of class", place)
        device, parent, own = self.device(its), its.get("parent"), its.get("classid")
        if word.text not in (*CLASSES, "dsmark"):
            refuse(word, f"there is no class of {word.text} here", ", ".join((*CLASSES, "dsmark")))
        if device is None or own is None:
            refuse(word, "a class needs a device and its number", "dev DEVICE, classid ID")
        qdisc = self.find(device, own[0], word)
        if qdisc.kind != word.text:
            refuse(word, f"{qdisc.major:x}: is a {qdisc.kind}, not a {word.text}")
        if word.text == "dsmark":
            qdisc.marks[own[1]] = dsmark_mark(reader, word)
            return
        if own[1] in qdisc.classes:
            qdisc.classes[own[1]].options |= read_options(
                reader, CLASSES[word.text], word, self.made.notes
            )
            return
        above = 0 if parent is None else parent[1]
        if above and above not in qdisc.classes:
            raise absent(word, f"there is no class {_id((own[0], above))} yet", _listed(qdisc))
        options = read_options(reader, CLASSES[word.text], word, self.made.notes)
        qdisc.classes[own[1]] = Class(word, own[1], above, options)

    def filter(self, reader: Reader) -> None:
        made, device_name, parent, is_ip = read_filter(reader, self.addresses, self.made.notes)
        device = self.made.device(device_name)
        self.read += [made] if is_ip else []
        filters = self.filters(device, parent, made.at)
        if made.priority == 0:
            # The kernel numbers a filter without `prio` one below all there are.
            made.priority = min((its.priority for its in filters), default=0xC000) - (
                1 if filters else 0
            )
        if not is_ip:
            why = "the simulator has neither ARP nor IPv6"
            self.made.notes.append(Note(made.at.line, "filter", why))
            return
        for other in filters:
            if other.priority == made.priority and other.kind != made.kind:
                refuse(made.at, f"prio {made.priority} has a filter of another kind already")
        if made.is_table:
            why = "a hash table of filters, which changes only how fast they are found"
            self.made.notes.append(Note(made.at.line, "u32 divisor", why))
            return
        if made.redirect:
            why = (
                f"what comes in at {device_name} goes through {made.redirect}: give its port to "
                "the other end of that link"
            )
            self.made.notes.append(Note(made.at.line, f"mirred to {made.redirect}", why))
            return
        if made.kind == "tcindex":
            _share_tcindex(made, filters)
        filters.append(made)
        filters.sort(key=lambda each: each.priority)

    def filters(self, device: Device, parent: tuple[int, int] | None, at: Word) -> list[Filter]:
        """The list that a filter goes to."""
        if parent is None:
            if device.root is None:
                raise absent(at, f"device {device.name} has no discipline yet")
            return device.root.filters
        if parent in ((_INGRESS, 0), (_INGRESS, _CLSACT["ingress"])):
            if device.ingress is None:
                raise absent(at, f"device {device.name} has no ingress discipline yet")
            return device.ingress.filters
        if parent == (_INGRESS, _CLSACT["egress"]):
            if device.root is None:
                raise absent(
                    at, f"device {device.name} has no discipline that it could choose in yet"
                )
            return device.root.filters
        qdisc = self.find(device, parent[0], at)
        if parent[1] == 0:
            return qdisc.filters
        if parent[1] not in qdisc.classes:
            raise absent(at, f"there is no class {_id(parent)} yet", _listed(qdisc))
        return qdisc.classes[parent[1]].filters


def _share_tcindex(made: Filter, filters: list[Filter]) -> None:
    """Mask, shift and what happens without a handle belong to all tcindex of one priority."""
    same = [each for each in filters if each.priority == made.priority]
    if made.handle is None and made.target is None:
        for each in same:
            each.mask, each.shift, each.fall_through = made.mask, made.shift, made.fall_through
    elif same:
        first = same[0]
        made.mask, made.shift, made.fall_through = first.mask, first.shift, first.fall_through


def _bands(made: Qdisc) -> None:
    """Discipline prio has its classes from the start."""
    if made.kind == "prio":
        bands = made.options.get("bands", 3)
        assert isinstance(bands, int)
        made.classes = {band: Class(made.at, band, 0, {}) for band in range(1, bands + 1)}


def _major(reader: Reader) -> int:
    word = reader.take("a number")
    text = word.text.rstrip(":") if word.text.endswith(":") else word.text.partition(":")[0]
    known = "1:, ffff: (hexadecimal)"
    return whole_number(word, "number of a discipline", known, part=text, base=16)


def _id(pair: tuple[int, int]) -> str:
    return f"{pair[0]:x}:{pair[1]:x}"


def _listed(qdisc: Qdisc) -> str:
    return ", ".join(f"{qdisc.major:x}:{minor:x}" for minor in qdisc.classes) or "none yet"
