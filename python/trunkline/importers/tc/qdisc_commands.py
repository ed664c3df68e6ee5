"""Commands of disciplines: ``tc qdisc add``, ``change`` and ``del``."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from trunkline.importers.common.fault import (
    SourceToken,
    make_missing_prerequisite,
    raise_fault,
)
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import Device, Qdisc, QdiscClass
from trunkline.importers.common.unsupported_disciplines import raise_unknown_discipline
from trunkline.importers.tc.aqm_options import CELLS_NOTE, OVERHEAD_NOTE
from trunkline.importers.tc.option_values import make_option_table, read_head
from trunkline.importers.tc.options import (
    CELLS,
    QDISC_OPTIONS,
    check_options,
    read_gred_virtual_queue,
)
from trunkline.importers.tc.script_state import (
    CHANGING_VERBS,
    INGRESS_MAJOR,
    PLACE_OPTIONS,
    ScriptState,
    format_class_ids,
    format_id,
)
from trunkline.importers.tc.word_reader import WordReader


def read_qdisc(script: ScriptState, reader: WordReader, verb: str) -> None:
    """Read ``tc qdisc add`` and the like, and put the discipline in its place."""
    word, head_values = read_head(
        reader,
        "a queueing discipline",
        PLACE_OPTIONS
        | make_option_table(
            "root handle stab",
            handle=_read_major,
            stab=partial(_read_size_table, script),
        ),
    )
    device, parent = script.get_device(head_values), head_values.get("parent")
    if word.text not in QDISC_OPTIONS:
        raise_unknown_discipline(word, QDISC_OPTIONS)
    if device is None:
        raise_fault(word, "the command names no device", "dev DEVICE")
    if word.text in ("ingress", "clsact"):
        device.ingress = device.ingress or Qdisc(word, "ingress", INGRESS_MAJOR)
        return
    if parent is None and "root" not in head_values:
        raise_fault(word, "the command does not say where the discipline goes", "root, parent ID")
    _attach_qdisc(script, device, word, head_values.get("handle", 0), parent, reader, verb)


def _read_size_table(script: ScriptState, reader: WordReader) -> None:
    """``stab overhead 44 linklayer atm`` (tc-stab(8)): bytes of a packet on the wire."""
    at = reader.words[reader.position - 1]
    why = OVERHEAD_NOTE
    while reader.peek_text() in ("mtu", "tsize", "mpu", "overhead", "linklayer"):
        reader.take_word("a word")
        if reader.take_word("a value").text in CELLS:
            why = CELLS_NOTE
    script.configuration.account.add_left_out("stab", why, line=at.line)


def _attach_qdisc(
    script: ScriptState,
    device: Device,
    word: SourceToken,
    handle: int,
    parent: tuple[int, int] | None,
    reader: WordReader,
    verb: str,
) -> None:
    present = _get_qdisc_at(script, device, parent, word) if parent is not None else device.root
    if present is None and verb in CHANGING_VERBS and word.text != "gred":
        raise make_missing_prerequisite(word, f"there is no {word.text} here to change")
    if word.text == "gred" and reader.peek_text() not in ("setup", "vqs", "DPs"):
        if present is None or present.kind != "gred":
            raise make_missing_prerequisite(
                word, "gred is not set up here", "gred setup DPs N default N first"
            )
        read_gred_virtual_queue(reader, present, script.configuration.account)
        return
    if present is not None and verb == "add":
        # sch_api.c: NLM_F_EXCL, "Exclusivity flag on, cannot modify".
        raise_fault(word, f"there is a {present.kind} here already", "replace, change; del first")
    if present is not None and verb in CHANGING_VERBS:
        present.options |= script.read_options(reader, QDISC_OPTIONS[word.text], word)
        return
    qdisc = Qdisc(word, word.text, handle)
    qdisc.options = script.read_options(reader, QDISC_OPTIONS[word.text], word)
    check_options(qdisc)
    _make_prio_bands(qdisc)
    if parent is None:
        device.root = qdisc
        return
    parent_qdisc = script.find_qdisc(device, parent[0], word)
    class_ = parent_qdisc.classes.get(parent[1])
    if class_ is not None:
        if parent_qdisc.children(parent[1]):
            raise_fault(word, f"class {format_id(parent)} has classes below it, so no queue")
        class_.queue = qdisc
    elif parent_qdisc.kind in ("dsmark", "tbf", "netem"):
        parent_qdisc.inner = qdisc
    else:
        raise_fault(
            word,
            f"{parent_qdisc.kind} {parent_qdisc.major:x}: has no class {format_id(parent)}",
            format_class_ids(parent_qdisc),
        )


def delete_qdisc(
    script: ScriptState, device: Device, values: Mapping[str, Any], verb: SourceToken
) -> None:
    """Delete the discipline at a place, with all below it."""
    parent = values.get("parent")
    if "ingress" in values or (parent is not None and parent[0] == INGRESS_MAJOR):
        device.ingress = None
    elif parent is None:
        # Scripts begin so where there may be none: its error message is thrown away.
        device.root = None
    else:
        parent_qdisc = script.find_qdisc(device, parent[0], verb)
        class_ = parent_qdisc.classes.get(parent[1])
        if class_ is not None:
            class_.queue = None
        else:
            parent_qdisc.inner = None


def _get_qdisc_at(
    script: ScriptState, device: Device, parent: tuple[int, int], word: SourceToken
) -> Qdisc | None:
    """Get the discipline that is now at a place."""
    parent_qdisc = script.find_qdisc(device, parent[0], word)
    class_ = parent_qdisc.classes.get(parent[1])
    return class_.queue if class_ is not None else parent_qdisc.inner


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
