"""State of a script of tc commands: the configuration so far, and where in it things are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import SourceToken, make_missing_prerequisite
from trunkline.importers.common.traffic_control import (
    Device,
    Filter,
    Options,
    Qdisc,
    TrafficControlConfig,
)
from trunkline.importers.tc.option_values import OptionTable, make_option_table
from trunkline.importers.tc.options import clamp_priority, read_options
from trunkline.importers.tc.word_reader import WordReader

CHANGING_VERBS = ("change", "chg")
INGRESS_MAJOR = 0xFFFF
CLSACT_MINORS = {"ingress": 0xFFF2, "egress": 0xFFF3}


def _skip_estimator(reader: WordReader) -> None:
    """Skip two times; the option measures, and changes no packet."""
    reader.take_word("a time")
    reader.take_word("a time")


PLACE_OPTIONS = make_option_table("dev parent estimator", estimator=_skip_estimator)


@dataclass
class ScriptState:
    """The configuration that the commands so far have made."""

    addresses: Addresses
    partial: bool  # Whether options that are not translated are left out, with a note each.
    configuration: TrafficControlConfig = field(default_factory=TrafficControlConfig)
    filters_read: list[Filter] = field(default_factory=list)

    def get_device(self, head_values: Mapping[str, Any]) -> Device | None:
        """Get the device that a command names."""
        return self.configuration.device(head_values["dev"].text) if "dev" in head_values else None

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


def format_id(pair: tuple[int, int]) -> str:
    """Format the number of a class as tc writes it."""
    return f"{pair[0]:x}:{pair[1]:x}"


def format_class_ids(qdisc: Qdisc) -> str:
    """Format the numbers of all classes of a discipline."""
    return ", ".join(f"{qdisc.major:x}:{minor:x}" for minor in qdisc.classes) or "none yet"
