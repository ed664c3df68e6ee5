"""The leaf that each kind of packet reaches, found by following the filters.

A kind is a set of packets that all filters so far treat alike. Kinds have an order in which the
first that fits a packet is its own, as rules of a scenario do.

Source: Linux net/sched: sch_dsmark.c (index of the DSCP octet, `tc_index` of the filter's result),
cls_tcindex.c (key = (tc_index & mask) >> shift), sch_cbq.c (defmap, the link's own class for the
rest), sch_htb.c and sch_hfsc.c (default), sch_drr.c (no class: dropped), sch_prio.c (band by
filter, else priomap), sch_gred.c (virtual queue = tc_index & 15), include/net/route.h (priority
from the type of service), in 2.4 and 2.6.
"""

from dataclasses import dataclass, replace

from trunkline.importers.common.fault import raise_fault
from trunkline.importers.common.traffic_control import (
    Filter,
    Options,
    PacketCondition,
    Qdisc,
    QdiscClass,
)

_PRIORITY_BY_TOS = (0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4)
"""Linux's priority of a packet by the four bits above the lowest of its type of service."""
CLASSFUL_DISCIPLINES = ("cbq", "htb", "hfsc", "prio", "drr")
"""Disciplines whose filters choose among classes."""
DEFAULT_PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""Band by priority, unless prio has its own."""


def get_linux_priority(dscp: int) -> int:
    """Linux's priority of forwarded packets with a DSCP."""
    return _PRIORITY_BY_TOS[((dscp << 2) & 0x1E) >> 1]


@dataclass(frozen=True, slots=True)
class PacketGroup:
    """Packets alike to all filters so far."""

    condition: PacketCondition
    index: int = 0  # Their traffic control index.
    mark: int = 0
    class_id: tuple[int, int] | None = None  # Class that a packet filter chose for them.


@dataclass(frozen=True, slots=True)
class ClassifiedPackets:
    """A kind of packets, and the leaf that it reaches."""

    group: PacketGroup
    leaf: QdiscClass | None  # Class that holds them; the discipline itself where it has no classes.
    discipline: Qdisc  # Discipline of that class.
    precedence: int = 0  # Virtual queue of gred; 0 in other queues.


def get_integer_option(options: Options, name: str, default: int) -> int:
    """Return an option that is a whole number."""
    value = options.get(name, default)
    assert isinstance(value, int)
    return value


def split_by_filters(
    filters: list[Filter], groups: list[PacketGroup]
) -> list[tuple[PacketGroup, Filter | None]]:
    """Split kinds by the first filter that takes them; None where none does."""
    result: list[tuple[PacketGroup, Filter | None]] = []
    for group in groups:
        remaining: list[PacketGroup] = [group]
        for filter_ in filters:
            still_remaining: list[PacketGroup] = []
            for part in remaining:
                taken, others = _split_by_filter(filter_, part)
                result += [(taken_part, filter_) for taken_part in taken]
                still_remaining += others
            remaining = still_remaining
        result += [(taken_part, None) for taken_part in remaining]
    return result


def _split_by_filter(
    filter_: Filter, group: PacketGroup
) -> tuple[list[PacketGroup], list[PacketGroup]]:
    """Split a kind into the packets that a filter takes and those for the next filters."""
    if filter_.kind == "fw" and filter_.handle != group.mark & filter_.mask:
        return [], [group]
    if filter_.kind == "tcindex":
        key = (group.index & filter_.mask) >> filter_.shift
        by_default = filter_.handle is None and filter_.target is None and filter_.fall_through
        if (
            not by_default
            and filter_.handle != key
            and not (filter_.handle is None and filter_.target)
        ):
            return [], [group]
    taken: list[PacketGroup] = []
    remaining: PacketCondition | None = group.condition
    for condition in filter_.conditions or [PacketCondition()]:
        overlap = None if remaining is None else remaining.intersect(condition)
        if remaining is not None and overlap is not None:
            taken.append(replace(group, condition=overlap))
            remaining = remaining.subtract(condition)
    return taken, [] if remaining is None else [replace(group, condition=remaining)]


def _split_by_dscp_index(group: PacketGroup) -> list[PacketGroup]:
    """Split packets by index: with set_tc_index of dsmark, the DSCP's octet."""
    return [
        PacketGroup(
            PacketCondition(frozenset({dscp}), group.condition.tests), dscp << 2, group.mark
        )
        for dscp in sorted(group.condition.dscps)
    ]


def _get_class_minor(filter_: Filter, group: PacketGroup) -> int:
    """Minor number that a filter gives."""
    if filter_.kind == "tcindex" and filter_.target is None and filter_.index is None:
        return (group.index & filter_.mask) >> filter_.shift
    return filter_.target[1] if filter_.target is not None else filter_.index or 0


def find_leaves(qdisc: Qdisc, groups: list[PacketGroup]) -> list[ClassifiedPackets]:
    """Follow kinds of packets to the leaves of a discipline.

    groups: In order.
    Returns: In an order in which the first that fits a packet is its own.
    """
    if qdisc.kind == "dsmark":
        remarked_groups = _apply_dsmark(qdisc, groups)
        return (
            find_leaves(qdisc.inner, remarked_groups)
            if qdisc.inner
            else _classify_into_discipline(qdisc, remarked_groups)
        )
    if qdisc.kind not in CLASSFUL_DISCIPLINES:
        return _classify_into_discipline(qdisc, groups)
    return [
        classified
        for group, leaf in _choose_leaf_classes(qdisc, groups)
        for classified in _classify_into_class(qdisc, group, leaf)
    ]


def _classify_into_discipline(qdisc: Qdisc, groups: list[PacketGroup]) -> list[ClassifiedPackets]:
    return [
        ClassifiedPackets(part, None, qdisc, precedence)
        for group in groups
        for part, precedence in _split_by_virtual_queue(qdisc, group)
    ]


def _classify_into_class(
    qdisc: Qdisc, group: PacketGroup, leaf: QdiscClass | None
) -> list[ClassifiedPackets]:
    if leaf is not None and leaf.queue is not None and leaf.queue.kind == "dsmark":
        raise_fault(leaf.queue.at, "dsmark inside a class is not read", "dsmark at the root")
    if leaf is None or leaf.queue is None:
        return [ClassifiedPackets(group, leaf, qdisc)]
    return [
        ClassifiedPackets(part, leaf, qdisc, precedence)
        for part, precedence in _split_by_virtual_queue(leaf.queue, group)
    ]


def _split_by_virtual_queue(queue: Qdisc, group: PacketGroup) -> list[tuple[PacketGroup, int]]:
    """Split the kinds by virtual queue: by index, or by the filters of gred that only tcng has."""
    if queue.kind != "gred":
        return [(group, 0)]
    return [
        (part, part.index & 15 if filter_ is None else filter_.index or 0)
        for part, filter_ in split_by_filters(queue.filters, [group])
    ]


def _apply_dsmark(qdisc: Qdisc, groups: list[PacketGroup]) -> list[PacketGroup]:
    if qdisc.options.get("set_tc_index"):
        groups = [part for group in groups for part in _split_by_dscp_index(group)]
    default = qdisc.options.get("default_index")
    result = []
    for group, filter_ in split_by_filters(qdisc.filters, groups):
        if filter_ is not None:
            _refuse_egress_policer(filter_)
            group = replace(group, index=_get_class_minor(filter_, group))
        elif isinstance(default, int):
            group = replace(group, index=default)
        result.append(group)
    return result


def _refuse_egress_policer(filter_: Filter) -> None:
    if filter_.drop or (filter_.policer is not None and filter_.policer.exceed != "pass"):
        at = filter_.policer.at if filter_.policer is not None else filter_.at
        raise_fault(
            at, "a policer where packets leave is not read", "policers of the ingress discipline"
        )


def _choose_leaf_classes(
    qdisc: Qdisc, groups: list[PacketGroup]
) -> list[tuple[PacketGroup, QdiscClass | None]]:
    """Leaf class of each kind; None for the discipline's own queue."""
    result: list[tuple[PacketGroup, QdiscClass | None]] = []
    for group in groups:
        if group.class_id is not None and group.class_id[0] == qdisc.major:
            # A priority that is the number of a class comes before all filters.
            chosen = Filter(qdisc.at, "match", 0, target=group.class_id)
            result += _follow_filter(qdisc, group, chosen, None)
            continue
        for part, filter_ in split_by_filters(qdisc.filters, [group]):
            result += _follow_filter(qdisc, part, filter_, None)
    return result


def _follow_filter(
    qdisc: Qdisc, group: PacketGroup, filter_: Filter | None, parent: QdiscClass | None
) -> list[tuple[PacketGroup, QdiscClass | None]]:
    """Follow a filter's choice down to a leaf."""
    if filter_ is None:
        return _classify_unmatched(qdisc, group, parent)
    _refuse_egress_policer(filter_)
    if filter_.priority < 0 and filter_.index is not None:
        # Earlier filters set the index; its own filters do not.
        group = replace(group, index=filter_.index)
    minor = _get_class_minor(filter_, group)
    if filter_.target is not None and filter_.target[0] not in (0, qdisc.major):
        return _classify_unmatched(qdisc, group, parent)
    if filter_.target is None and filter_.kind != "tcindex" and qdisc.kind in ("htb", "hfsc"):
        # `flowid 4` is 0:4, which htb_find and hfsc_find_class do not find.
        return _classify_unmatched(qdisc, group, parent)
    chosen = qdisc.classes.get(minor)
    if chosen is None:
        if qdisc.kind == "htb" and minor == 0:
            return [(group, None)]
        if filter_.target is None or qdisc.kind in ("htb", "hfsc", "prio"):
            return _classify_unmatched(qdisc, group, parent)
        known = ", ".join(f"{qdisc.major:x}:{choice:x}" for choice in qdisc.classes)
        raise_fault(filter_.at, f"there is no class {qdisc.major:x}:{minor:x}", known)
    if not qdisc.children(minor):
        return [(group, chosen)]
    return [
        choice
        for part, inner_filter in split_by_filters(chosen.filters, [group])
        for choice in _follow_filter(qdisc, part, inner_filter, chosen)
    ]


def _classify_unmatched(
    qdisc: Qdisc, group: PacketGroup, parent: QdiscClass | None
) -> list[tuple[PacketGroup, QdiscClass | None]]:
    if qdisc.kind in ("htb", "hfsc"):
        # A default that is no leaf is none: sch_htb.c sends the packet directly, sch_hfsc.c drops.
        minor = get_integer_option(qdisc.options, "default", 0)
        leaf = qdisc.classes.get(minor)
        return [(group, None if leaf is None or qdisc.children(minor) else leaf)]
    if qdisc.kind == "drr":
        return [(group, None)]
    by_priority: dict[int, set[int]] = {}
    for dscp in group.condition.dscps:
        by_priority.setdefault(get_linux_priority(dscp), set()).add(dscp)
    result: dict[int, set[int]] = {}
    for priority, dscps in by_priority.items():
        choose_class = _get_prio_band if qdisc.kind == "prio" else _find_defmap_class
        result.setdefault(choose_class(qdisc, priority, parent), set()).update(dscps)
    return [
        (
            replace(group, condition=PacketCondition(frozenset(dscps), group.condition.tests)),
            qdisc.classes.get(minor),
        )
        for minor, dscps in result.items()
    ]


def _get_prio_band(qdisc: Qdisc, priority: int, parent: QdiscClass | None) -> int:
    priomap = qdisc.options.get("priomap", list(DEFAULT_PRIOMAP))
    assert isinstance(priomap, list)
    return min(priomap[priority], len(qdisc.classes) - 1) + 1


def _find_defmap_class(qdisc: Qdisc, priority: int, parent: QdiscClass | None) -> int:
    """Find the class whose defmap has the priority, or has best effort; 0 = the link itself."""
    for mapped_priority in (priority, 0):
        for minor, class_ in qdisc.classes.items():
            is_leaf = not qdisc.children(minor)
            if is_leaf and get_integer_option(class_.options, "defmap", 0) >> mapped_priority & 1:
                return minor
    return parent.minor if parent is not None and not qdisc.children(parent.minor) else 0
