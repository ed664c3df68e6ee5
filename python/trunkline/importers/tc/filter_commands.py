"""Commands of filters: ``tc filter add`` and ``del``, and the marks that filters wait for."""

from collections.abc import Mapping
from typing import Any

from trunkline.importers.common.fault import (
    SourceToken,
    make_missing_prerequisite,
    raise_fault,
)
from trunkline.importers.common.traffic_control import Device, Filter
from trunkline.importers.tc.filters import EGRESS_FILTER_PRIORITY_OFFSET, read_filter
from trunkline.importers.tc.script_state import (
    CLSACT_MINORS,
    INGRESS_MAJOR,
    ScriptState,
    format_class_ids,
    format_id,
)
from trunkline.importers.tc.word_reader import WordReader


def add_filter(script: ScriptState, reader: WordReader) -> str:
    """Read a filter; why it is left out, empty if it is not."""
    filter_, device_name, parent, is_ip = read_filter(
        reader, script.addresses, script.configuration.account
    )
    device = script.configuration.device(device_name)
    script.filters_read += [filter_] if is_ip else []
    filters = _find_filter_list(script, device, parent, filter_.at)
    if filter_.priority == 0:
        # cls_api.c, tcf_auto_prio: one below those that have numbers of this kind.
        numbered = [other.priority for other in filters if other.priority >= 0x8000]
        filter_.priority = min(numbered) - 1 if numbered else 0xC000
    if not is_ip:
        return "the simulator has no ARP, no IPv6 and no routing protocol in a port's classes"
    for other in filters:
        if other.priority == filter_.priority and other.kind != filter_.kind:
            raise_fault(filter_.at, f"prio {filter_.priority} has a filter of another kind already")
    if filter_.is_table:
        return "a hash table of filters, which changes only how fast they are found"
    if filter_.redirect:
        why = (
            f"what comes in at {device_name} goes through {filter_.redirect}: give its port to "
            "the other end of that link"
        )
        script.configuration.account.add_assumption(
            f"mirred to {filter_.redirect}", why, line=filter_.at.line
        )
        return ""
    if filter_.kind == "tcindex":
        _share_tcindex_settings(filter_, filters)
    filters.append(filter_)
    filters.sort(key=lambda listed: listed.priority)
    return ""


def _find_filter_list(
    script: ScriptState, device: Device, parent: tuple[int, int] | None, at: SourceToken
) -> list[Filter]:
    """Find the list that a filter goes to."""
    if parent is None:
        if device.root is None:
            raise make_missing_prerequisite(at, f"device {device.name} has no discipline yet")
        return device.root.filters
    if parent in ((INGRESS_MAJOR, 0), (INGRESS_MAJOR, CLSACT_MINORS["ingress"])):
        if device.ingress is None:
            raise make_missing_prerequisite(
                at, f"device {device.name} has no ingress discipline yet"
            )
        return device.ingress.filters
    if parent == (INGRESS_MAJOR, CLSACT_MINORS["egress"]):
        if device.root is None:
            raise make_missing_prerequisite(
                at, f"device {device.name} has no discipline that it could choose in yet"
            )
        return device.root.filters
    qdisc = script.find_qdisc(device, parent[0], at)
    if parent[1] == 0:
        return qdisc.filters
    if parent[1] not in qdisc.classes:
        raise make_missing_prerequisite(
            at, f"there is no class {format_id(parent)} yet", format_class_ids(qdisc)
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


def delete_filters(
    script: ScriptState, device: Device, values: Mapping[str, Any], verb: SourceToken
) -> None:
    """Delete all filters at a place, or those of one `prio`."""
    hook = next((name for name in CLSACT_MINORS if name in values), None)
    parent = values.get("parent") if hook is None else (INGRESS_MAJOR, CLSACT_MINORS[hook])
    filters = _find_filter_list(script, device, parent, verb)
    priority = values.get("priority")
    if hook == "egress" and priority is not None:
        priority -= EGRESS_FILTER_PRIORITY_OFFSET
    filters[:] = [each for each in filters if priority not in (None, each.priority)]


def note_unset_marks(script: ScriptState) -> None:
    """Note filters by a mark that nothing in the script sets."""
    set_marks = {rule.value for rule in script.configuration.rules} | {
        filter_.mark for filter_ in script.filters_read if filter_.mark is not None
    }
    for filter_ in script.filters_read:
        if filter_.kind != "fw":
            continue
        if not any(filter_.handle == mark & filter_.mask for mark in set_marks):
            why = f"nothing in this file sets mark {filter_.handle}: it takes no packet"
            script.configuration.account.add_assumption(
                f"handle {filter_.handle} fw", why, line=filter_.at.line
            )
