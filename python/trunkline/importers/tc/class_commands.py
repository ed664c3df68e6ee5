"""Commands of classes: ``tc class add``, ``change`` and ``del``."""

from trunkline.importers.common.fault import (
    SourceToken,
    make_missing_prerequisite,
    raise_fault,
)
from trunkline.importers.common.traffic_control import Device, Qdisc, QdiscClass
from trunkline.importers.tc.option_values import make_option_table, read_head
from trunkline.importers.tc.options import (
    CLASS_OPTIONS,
    check_curves,
    read_dsmark_value,
)
from trunkline.importers.tc.script_state import (
    CHANGING_VERBS,
    PLACE_OPTIONS,
    ScriptState,
    format_class_ids,
    format_id,
)
from trunkline.importers.tc.word_reader import WordReader


def read_class(script: ScriptState, reader: WordReader, verb: str) -> None:
    """Read ``tc class add`` and the like."""
    place = PLACE_OPTIONS | make_option_table("classid", classid=WordReader.read_ids)
    word, head_values = read_head(reader, "a kind of class", place)
    device = script.get_device(head_values)
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
    qdisc = script.find_qdisc(device, class_id[0], word)
    if qdisc.kind != word.text:
        raise_fault(word, f"{qdisc.major:x}: is a {qdisc.kind}, not a {word.text}")
    if word.text == "dsmark":
        qdisc.dsmark_values[class_id[1]] = read_dsmark_value(reader, word)
        return
    if class_id[1] in qdisc.classes:
        if verb == "add":
            raise_fault(word, f"there is a class {format_id(class_id)} already", "replace, change")
        options = script.read_options(reader, CLASS_OPTIONS[word.text], word)
        qdisc.classes[class_id[1]].options |= options
        return
    if verb in CHANGING_VERBS:
        raise make_missing_prerequisite(
            word,
            f"there is no class {format_id(class_id)} to change",
            format_class_ids(qdisc),
        )
    parent_minor = _find_parent_minor(script, qdisc, parent, word)
    options = script.read_options(reader, CLASS_OPTIONS[word.text], word)
    if word.text == "hfsc":
        check_curves(options, word)
    qdisc.classes[class_id[1]] = QdiscClass(word, class_id[1], parent_minor, options)


def _find_parent_minor(
    script: ScriptState, qdisc: Qdisc, parent: tuple[int, int] | None, word: SourceToken
) -> int:
    """Minor number of the class above, 0 for the discipline."""
    parent_minor = 0 if parent is None else parent[1]
    if parent_minor == 0 or parent_minor in qdisc.classes:
        return parent_minor
    parent_text = format_id((qdisc.major, parent_minor))
    if qdisc.kind != "htb":
        raise make_missing_prerequisite(
            word, f"there is no class {parent_text} yet", format_class_ids(qdisc)
        )
    # sch_htb.c, htb_change_class: a class that htb_find does not find is no parent.
    why = "there is no such class yet: htb puts this one at the top, as here"
    script.configuration.account.add_assumption(f"parent {parent_text}", why, line=word.line)
    return 0


def delete_class(
    script: ScriptState, device: Device, class_id: tuple[int, int] | None, verb: SourceToken
) -> None:
    """Delete a class that has none below it."""
    if class_id is None:
        raise_fault(verb, "the command names no class", "classid ID")
    qdisc = script.find_qdisc(device, class_id[0], verb)
    if class_id[1] not in qdisc.classes:
        raise make_missing_prerequisite(
            verb, f"there is no class {format_id(class_id)}", format_class_ids(qdisc)
        )
    if qdisc.children(class_id[1]):
        raise_fault(verb, f"class {format_id(class_id)} has classes below it: it is in use")
    del qdisc.classes[class_id[1]]
