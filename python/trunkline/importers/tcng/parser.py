"""Configurations in tcng, the language that was compiled to tc commands.

Source: W. Almesberger, tcng reference manual (2002). Read are devices with ``egress`` and
``ingress``, the disciplines cbq, htb, prio, dsmark, gred, red, tbf and fifo, classes with ``if`` or
chosen through variables, buckets and the meters SLB, DLB, srTCM and trTCM, and ``drop if``. In tcng
``bps`` is bit/s, ``kB`` 1000 bytes and ``p`` packets.
"""

from collections.abc import Mapping
from dataclasses import replace

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.conditions import UNLABELLED
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.traffic_control import (
    Device,
    Filter,
    Policer,
    Qdisc,
    QdiscClass,
    TrafficControlConfig,
    VirtualQueue,
)
from trunkline.importers.common.unsupported_disciplines import raise_unknown_discipline
from trunkline.importers.tcng import options
from trunkline.importers.tcng.conditions import ConditionReader, ConditionTerm
from trunkline.importers.tcng.token_cursor import TokenCursor
from trunkline.importers.tcng.tokens import read_tokens

_CLASSFUL_QDISCS = ("cbq", "htb", "prio", "dsmark", "gred")
_KNOWN_QDISCS = (*_CLASSFUL_QDISCS, "red", "tbf", "fifo")
_OCTET_OFFSETS = {"ip_tos": 1, "ip_proto": 9}


def parse_configuration(content: str, addresses: Addresses) -> TrafficControlConfig:
    """Read a configuration. Raises ImportFault: Something that is not translated, at its place."""
    configuration = TrafficControlConfig()
    words = TokenCursor(read_tokens(content, configuration.account), content.count("\n") + 1)
    parser = _TcngParser(words, configuration, addresses)
    while words.has_more():
        line = words.get_next().line
        parser.parse_statement()
        configuration.account.add_read("statements", line=line)
    return configuration


class _TcngParser:
    def __init__(
        self, words: TokenCursor, configuration: TrafficControlConfig, addresses: Addresses
    ):
        self.words = words
        self.configuration = configuration
        self.meters: dict[str, Policer] = {}
        self.class_paths: dict[str, list[tuple[Qdisc, int]]] = {}
        self.conditions = ConditionReader(words, addresses, self.meters)
        self.majors = 0

    def parse_statement(self) -> None:
        """Parse a device, a field, or a variable."""
        if self.words.peek_text() == "field":
            self.parse_field()
        elif self.words.peek_text().startswith("$"):
            self.parse_variable()
        elif not self.words.skip_word(";"):
            self.words.skip_word("dev")
            name = self.words.take_word()
            self.parse_device(self.configuration.device(name.text.strip('"')))

    def parse_field(self) -> None:
        """Read ``field octet = ip_tos & 0xfc;``."""
        self.words.take_word("field")
        name = self.words.take_word()
        self.words.take_word("=")
        source_field = self.words.take_word()
        if source_field.text not in _OCTET_OFFSETS:
            raise_fault(
                source_field,
                f"a field of {source_field.text} is not read",
                ", ".join(_OCTET_OFFSETS),
            )
        mask = self.words.read_number(0, 255) if self.words.skip_word("&") else 0xFF
        self.words.take_word(";")
        self.conditions.fields[name.text] = (_OCTET_OFFSETS[source_field.text], mask)

    def parse_variable(self) -> None:
        """Read ``$p = bucket(rate 1Mbps, burst 10kB);``."""
        name = self.words.take_word()
        self.words.take_word("=")
        kind = self.words.take_word()
        if kind.text not in options.METER_WORDS:
            raise_fault(
                kind, f"{name.text} = {kind.text} is not read", ", ".join(options.METER_WORDS)
            )
        meter = options.make_meter(kind, self.words.read_parameters(), self.configuration.account)
        # Wherever the variable is used, it is one bucket.
        self.meters[name.text] = replace(meter, index=len(self.meters) + 1)
        self.words.take_word(";")

    def parse_device(self, device: Device) -> None:
        if self.words.skip_word("{"):
            while not self.words.skip_word("}"):
                self.parse_device_part(device)
        else:
            self.parse_device_part(device)
        self.words.skip_word(";")

    def parse_device_part(self, device: Device) -> None:
        """``egress``, ``ingress``, or the discipline of leaving packets."""
        if self.words.skip_word("ingress"):
            device.ingress = Qdisc(self.words.get_next(), "ingress", 0xFFFF)
            self.words.take_word("{")
            while not self.words.skip_word("}"):
                self.parse_ingress_statement(device.ingress)
        elif self.words.skip_word("egress"):
            self.words.take_word("{")
            chosen: list[tuple[SourceToken, list[SourceToken], list[ConditionTerm]]] = []
            while not self.words.skip_word("}"):
                self.parse_egress_statement(device, chosen)
            for at, names, terms in chosen:
                self.add_class_filters(at, names, terms)
        elif self.words.peek_text().startswith("$"):
            self.parse_variable()
        else:
            device.root = self.parse_qdisc()

    def parse_ingress_statement(self, ingress: Qdisc) -> None:
        """Parse a statement of ``ingress``."""
        if self.words.peek_text().startswith("$"):
            self.parse_variable()
            return
        word = self.words.take_word()
        if word.text == "drop":
            self.add_filters(ingress.filters, word, self.conditions.read_after_if(), drop=True)
        elif word.text == "class":
            index = options.get_class_number(word, self.words.read_parameters())
            self.add_filters(ingress.filters, word, self.conditions.read_after_if(), index=index)
        elif word.text != ";":
            raise_fault(
                word, f"{word.text} in ingress is not read", "class (N) if, drop if, $NAME ="
            )
        self.words.skip_word(";")

    def parse_egress_statement(
        self,
        device: Device,
        chosen: list[tuple[SourceToken, list[SourceToken], list[ConditionTerm]]],
    ) -> None:
        """Parse a statement of ``egress``."""
        if self.words.peek_text().startswith("$"):
            self.parse_variable()
        elif self.words.peek_text() == "class":
            word = self.words.take_word()
            names = self.words.read_parameters().get("<", [])
            if not names:
                raise_fault(word, "a class chosen here is a variable", "class (<$NAME>) if")
            chosen.append((word, names, self.conditions.read_after_if()))
            self.words.skip_word(";")
        elif not self.words.skip_word(";"):
            device.root = self.parse_qdisc()

    def add_class_filters(
        self, at: SourceToken, names: list[SourceToken], terms: list[ConditionTerm]
    ) -> None:
        """``class (<$ef>) if``: a filter at every discipline on the way to the class."""
        for name in names:
            if name.text not in self.class_paths:
                raise_fault(name, f"there is no class {name.text}", ", ".join(self.class_paths))
            for qdisc, minor in self.class_paths[name.text]:
                self.add_filters(qdisc.filters, at, terms, target=(qdisc.major, minor))

    def add_filters(
        self,
        filter_list: list[Filter],
        at: SourceToken,
        terms: list[ConditionTerm],
        *,
        index: int | None = None,
        target: tuple[int, int] | None = None,
        drop: bool = False,
    ) -> None:
        """A filter for each alternative, behind those there are."""
        for term in terms:
            condition = term.condition.intersect(UNLABELLED)
            if condition is None:
                continue
            filter_ = Filter(at, "match", len(filter_list), [condition], drop=drop)
            filter_.target = target
            filter_.index = target[1] if target is not None else index
            if term.index is not None:
                filter_.kind, filter_.handle = "tcindex", term.index
            elif term.mark is not None:
                filter_.kind, filter_.handle = "fw", term.mark
            if term.meter:
                filter_.policer = options.make_policer(
                    self.meters[term.meter], else_drop=term.else_drop
                )
                filter_.colour = term.colour
            filter_list.append(filter_)

    def parse_qdisc(self, class_path: tuple[tuple[Qdisc, int], ...] = ()) -> Qdisc:
        """Parse a discipline, its parameters and classes."""
        kind = self.words.take_word()
        if kind.text not in _KNOWN_QDISCS:
            raise_unknown_discipline(kind, _KNOWN_QDISCS)
        self.majors += 1
        given = self.words.read_parameters()
        qdisc = options.make_qdisc(kind, given, self.majors, self.configuration.account)
        if self.words.skip_word("{"):
            while not self.words.skip_word("}"):
                if kind.text not in (*_CLASSFUL_QDISCS, "tbf"):
                    raise_fault(
                        self.words.get_next(),
                        f"{kind.text} has no classes",
                        ", ".join(_CLASSFUL_QDISCS),
                    )
                self.parse_member(qdisc, 0, class_path)
        self.words.skip_word(";")
        return qdisc

    def parse_member(
        self, qdisc: Qdisc, parent: int, class_path: tuple[tuple[Qdisc, int], ...]
    ) -> None:
        """Parse a class, perhaps with a variable, or the discipline inside."""
        name = ""
        if self.words.peek_text().startswith("$"):
            name = self.words.take_word().text
            self.words.take_word("=")
        if self.words.peek_text() != "class":
            if qdisc.kind not in ("dsmark", "tbf"):
                known = "class, $NAME = class"
                raise_fault(
                    self.words.get_next(), f"{self.words.peek_text()} is among classes", known
                )
            qdisc.inner = self.parse_qdisc(class_path)
            return
        word = self.words.take_word("class")
        given = self.words.read_parameters()
        minor = self.add_class(qdisc, word, given, parent)
        member_path = (*class_path, (qdisc, minor))
        if name:
            self.class_paths[name] = list(member_path)
        if self.words.peek_text() == "if":
            terms = self.conditions.read_after_if()
            filter_list = qdisc.classes[parent].filters if parent else qdisc.filters
            self.add_filters(filter_list, word, terms, target=(qdisc.major, minor))
        if self.words.skip_word("{"):
            while not self.words.skip_word("}"):
                self.parse_class_content(qdisc, minor, member_path)
        self.words.skip_word(";")

    def add_class(
        self, qdisc: Qdisc, word: SourceToken, given: Mapping[str, list[SourceToken]], parent: int
    ) -> int:
        used_minors = {*qdisc.classes, *qdisc.virtual_queues, *qdisc.dsmark_values}
        minor = options.get_class_number(
            word, dict(given), next(n for n in range(1, 65536) if n not in used_minors)
        )
        if qdisc.kind == "gred":
            qdisc.virtual_queues[minor] = VirtualQueue(
                word,
                options.parse_virtual_queue(word, dict(given), qdisc, self.configuration.account),
            )
        elif qdisc.kind == "dsmark":
            qdisc.dsmark_values[minor] = options.parse_dsmark_value(word, dict(given))
        else:
            class_options = options.parse_class_options(
                qdisc.kind, word, dict(given), self.configuration.account
            )
            qdisc.classes[minor] = QdiscClass(word, minor, parent, class_options)
        return minor

    def parse_class_content(
        self, qdisc: Qdisc, minor: int, class_path: tuple[tuple[Qdisc, int], ...]
    ) -> None:
        """Parse the content of a class: classes, or a discipline."""
        is_class = self.words.peek_text() == "class" or self.words.peek_text().startswith("$")
        if is_class and qdisc.kind in ("cbq", "htb"):
            # A filter at the discipline chooses the leaf at once: the way leads past this class.
            self.parse_member(qdisc, minor, class_path[:-1])
            return
        if qdisc.kind == "dsmark":
            qdisc.inner = self.parse_qdisc(class_path)
        elif minor in qdisc.classes:
            qdisc.classes[minor].queue = self.parse_qdisc(class_path)
        else:
            raise_fault(self.words.get_next(), f"a class of {qdisc.kind} holds nothing")
