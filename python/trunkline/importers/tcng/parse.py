"""Configurations in tcng, the language that was compiled to tc commands.

Source: W. Almesberger, tcng reference manual (2002). Read are devices with ``egress`` and
``ingress``, the disciplines cbq, htb, prio, dsmark, gred, red, tbf and fifo, classes with ``if`` or
chosen through variables, buckets and the meters SLB, DLB, srTCM and trTCM, and ``drop if``. In tcng
``bps`` is bit/s, ``kB`` 1000 bytes and ``p`` packets.
"""

from collections.abc import Mapping
from dataclasses import replace

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.conditions import IP
from trunkline.importers.common.fault import Word, refuse
from trunkline.importers.common.foreign import refuse_discipline
from trunkline.importers.common.tree import (
    Class,
    Configuration,
    Device,
    Filter,
    Police,
    Qdisc,
    Virtual,
)
from trunkline.importers.tcng import options
from trunkline.importers.tcng.conditions import Reader, Term
from trunkline.importers.tcng.tokens import tokens
from trunkline.importers.tcng.words import Cursor

_CLASSFUL = ("cbq", "htb", "prio", "dsmark", "gred")
_QDISCS = (*_CLASSFUL, "red", "tbf", "fifo")
_RAW = {"ip_tos": 1, "ip_proto": 9}


def parse(content: str, addresses: Addresses) -> Configuration:
    """Read a configuration.

    Raises
    ------
    ImportFault
        Something that is not translated, at its place.
    """
    made = Configuration()
    words = Cursor(tokens(content, made.notes), content.count("\n") + 1)
    parser = _Parser(words, made, addresses)
    while words.more():
        parser.statement()
    return made


class _Parser:
    def __init__(self, words: Cursor, made: Configuration, addresses: Addresses):
        self.words = words
        self.made = made
        self.meters: dict[str, Police] = {}
        self.places: dict[str, list[tuple[Qdisc, int]]] = {}
        self.conditions = Reader(words, addresses, self.meters)
        self.majors = 0

    def statement(self) -> None:
        """A device, a field, or a variable."""
        if self.words.peek() == "field":
            self.field()
        elif self.words.peek().startswith("$"):
            self.variable()
        elif not self.words.skip(";"):
            self.words.skip("dev")
            name = self.words.take()
            self.device(self.made.device(name.text.strip('"')))

    def field(self) -> None:
        """Read ``field octet = ip_tos & 0xfc;``."""
        self.words.take("field")
        name = self.words.take()
        self.words.take("=")
        of = self.words.take()
        if of.text not in _RAW:
            refuse(of, f"a field of {of.text} is not read", ", ".join(_RAW))
        mask = self.words.number(0, 255) if self.words.skip("&") else 0xFF
        self.words.take(";")
        self.conditions.fields[name.text] = (_RAW[of.text], mask)

    def variable(self) -> None:
        """Read ``$p = bucket(rate 1Mbps, burst 10kB);``."""
        name = self.words.take()
        self.words.take("=")
        kind = self.words.take()
        if kind.text not in options.METERS:
            refuse(kind, f"{name.text} = {kind.text} is not read", ", ".join(options.METERS))
        made = options.meter(kind, self.words.parameters())
        # Wherever the variable is used, it is one bucket.
        self.meters[name.text] = replace(made, index=len(self.meters) + 1)
        self.words.take(";")

    def device(self, device: Device) -> None:
        if self.words.skip("{"):
            while not self.words.skip("}"):
                self.part(device)
        else:
            self.part(device)
        self.words.skip(";")

    def part(self, device: Device) -> None:
        """``egress``, ``ingress``, or the discipline of what goes out."""
        if self.words.skip("ingress"):
            device.ingress = Qdisc(self.words.here(), "ingress", 0xFFFF)
            self.words.take("{")
            while not self.words.skip("}"):
                self.entering(device.ingress)
        elif self.words.skip("egress"):
            self.words.take("{")
            chosen: list[tuple[Word, list[Word], list[Term]]] = []
            while not self.words.skip("}"):
                self.leaving(device, chosen)
            for at, names, terms in chosen:
                self.choose(at, names, terms)
        elif self.words.peek().startswith("$"):
            self.variable()
        else:
            device.root = self.qdisc()

    def entering(self, ingress: Qdisc) -> None:
        """A statement of ``ingress``."""
        if self.words.peek().startswith("$"):
            self.variable()
            return
        word = self.words.take()
        if word.text == "drop":
            self.filters(ingress.filters, word, self.conditions.after_if(), drop=True)
        elif word.text == "class":
            index = options.number_of(word, self.words.parameters())
            self.filters(ingress.filters, word, self.conditions.after_if(), index=index)
        elif word.text != ";":
            refuse(word, f"{word.text} in ingress is not read", "class (N) if, drop if, $NAME =")
        self.words.skip(";")

    def leaving(self, device: Device, chosen: list[tuple[Word, list[Word], list[Term]]]) -> None:
        """A statement of ``egress``."""
        if self.words.peek().startswith("$"):
            self.variable()
        elif self.words.peek() == "class":
            word = self.words.take()
            names = self.words.parameters().get("<", [])
            if not names:
                refuse(word, "a class chosen here is a variable", "class (<$NAME>) if")
            chosen.append((word, names, self.conditions.after_if()))
            self.words.skip(";")
        elif not self.words.skip(";"):
            device.root = self.qdisc()

    def choose(self, at: Word, names: list[Word], terms: list[Term]) -> None:
        """``class (<$ef>) if``: a filter at every discipline on the way to the class."""
        for name in names:
            if name.text not in self.places:
                refuse(name, f"there is no class {name.text}", ", ".join(self.places))
            for qdisc, minor in self.places[name.text]:
                self.filters(qdisc.filters, at, terms, target=(qdisc.major, minor))

    def filters(
        self,
        into: list[Filter],
        at: Word,
        terms: list[Term],
        *,
        index: int | None = None,
        target: tuple[int, int] | None = None,
        drop: bool = False,
    ) -> None:
        """A filter for each alternative, behind those there are."""
        for term in terms:
            condition = term.condition.both(IP)
            if condition is None:
                continue
            made = Filter(at, "match", len(into), [condition], drop=drop)
            made.target = target
            made.index = target[1] if target is not None else index
            if term.index is not None:
                made.kind, made.handle = "tcindex", term.index
            elif term.mark is not None:
                made.kind, made.handle = "fw", term.mark
            if term.meter:
                made.police = options.policer(self.meters[term.meter], else_drop=term.else_drop)
                made.colour = term.colour
            into.append(made)

    def qdisc(self, above: tuple[tuple[Qdisc, int], ...] = ()) -> Qdisc:
        """A discipline, its parameters and classes."""
        kind = self.words.take()
        if kind.text not in _QDISCS:
            refuse_discipline(kind, _QDISCS)
        self.majors += 1
        given = self.words.parameters()
        made = options.qdisc(kind, given, self.majors, self.made.notes)
        if self.words.skip("{"):
            while not self.words.skip("}"):
                if kind.text not in (*_CLASSFUL, "tbf"):
                    refuse(self.words.here(), f"{kind.text} has no classes", ", ".join(_CLASSFUL))
                self.member(made, 0, above)
        self.words.skip(";")
        return made

    def member(self, qdisc: Qdisc, parent: int, above: tuple[tuple[Qdisc, int], ...]) -> None:
        """A class, perhaps with a variable, or the discipline inside."""
        name = ""
        if self.words.peek().startswith("$"):
            name = self.words.take().text
            self.words.take("=")
        if self.words.peek() != "class":
            if qdisc.kind not in ("dsmark", "tbf"):
                known = "class, $NAME = class"
                refuse(self.words.here(), f"{self.words.peek()} stands beside classes", known)
            qdisc.inner = self.qdisc(above)
            return
        word = self.words.take("class")
        given = self.words.parameters()
        minor = self.add(qdisc, word, given, parent)
        place = (*above, (qdisc, minor))
        if name:
            self.places[name] = list(place)
        if self.words.peek() == "if":
            terms = self.conditions.after_if()
            into = qdisc.classes[parent].filters if parent else qdisc.filters
            self.filters(into, word, terms, target=(qdisc.major, minor))
        if self.words.skip("{"):
            while not self.words.skip("}"):
                self.inside(qdisc, minor, place)
        self.words.skip(";")

    def add(self, qdisc: Qdisc, word: Word, given: Mapping[str, list[Word]], parent: int) -> int:
        taken = {*qdisc.classes, *qdisc.virtual, *qdisc.marks}
        minor = options.number_of(
            word, dict(given), next(n for n in range(1, 65536) if n not in taken)
        )
        if qdisc.kind == "gred":
            qdisc.virtual[minor] = Virtual(
                word, options.virtual(word, dict(given), qdisc, self.made.notes)
            )
        elif qdisc.kind == "dsmark":
            qdisc.marks[minor] = options.mark(word, dict(given))
        else:
            its = options.of_class(qdisc.kind, word, dict(given), self.made.notes)
            qdisc.classes[minor] = Class(word, minor, parent, its)
        return minor

    def inside(self, qdisc: Qdisc, minor: int, place: tuple[tuple[Qdisc, int], ...]) -> None:
        """What a class holds: classes, or a discipline."""
        is_class = self.words.peek() == "class" or self.words.peek().startswith("$")
        if is_class and qdisc.kind in ("cbq", "htb"):
            # A filter at the discipline chooses the leaf at once: the way leads past this class.
            self.member(qdisc, minor, place[:-1])
            return
        if qdisc.kind == "dsmark":
            qdisc.inner = self.qdisc(place)
        elif minor in qdisc.classes:
            qdisc.classes[minor].queue = self.qdisc(place)
        else:
            refuse(self.words.here(), f"a class of {qdisc.kind} holds nothing")
