"""Which leaf each kind of packet reaches, found by following the filters.

A kind is a set of packets that all filters so far treat alike. Kinds stand in an order in which the
first that fits a packet is its own, as rules of a scenario do.

Source: Linux net/sched: sch_dsmark.c (index of the DSCP octet, `tc_index` of the filter's result),
cls_tcindex.c (key = (tc_index & mask) >> shift), sch_cbq.c (defmap, the link's own class for the
rest), sch_htb.c (default), sch_drr.c (no class: dropped), sch_prio.c (band by filter, else
priomap), sch_gred.c (virtual queue = tc_index & 15), include/net/route.h (priority from the type of
service), in 2.4 and 2.6.
"""

from dataclasses import dataclass, replace

from trunkline.importers.common.fault import Word, refuse
from trunkline.importers.common.tree import Class, Condition, Filter, Options, Qdisc

_PRIORITY = (0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4)
"""Linux's priority of a packet by the four bits above the lowest of its type of service."""
PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""Band by priority, unless prio has its own."""


def priority_of(dscp: int) -> int:
    """Linux's priority of forwarded packets with a DSCP."""
    return _PRIORITY[((dscp << 2) & 0x1E) >> 1]


@dataclass(frozen=True, slots=True)
class Kind:
    """Packets alike to all filters so far.

    Parameters
    ----------
    index : int
        Their traffic control index.
    """

    condition: Condition
    index: int = 0
    mark: int = 0


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a kind of packets ends up.

    Parameters
    ----------
    leaf : Qdisc or Class
        Class that holds them; the discipline itself where it has no classes.
    of : Qdisc
        Discipline of that class.
    precedence : int
        Virtual queue of gred; 0 in other queues.
    """

    kind: Kind
    leaf: Class | None
    of: Qdisc
    precedence: int = 0


def whole(of: Options, name: str, default: int) -> int:
    """An option that is a whole number."""
    value = of.get(name, default)
    assert isinstance(value, int)
    return value


def matched(filters: list[Filter], kinds: list[Kind]) -> list[tuple[Kind, Filter | None]]:
    """Kinds parted by the first filter that takes them; None where none does."""
    result: list[tuple[Kind, Filter | None]] = []
    for kind in kinds:
        left: list[Kind] = [kind]
        for each in filters:
            rest: list[Kind] = []
            for some in left:
                taken, others = _part(each, some)
                result += [(its, each) for its in taken]
                rest += others
            left = rest
        result += [(its, None) for its in left]
    return result


def _part(its: Filter, kind: Kind) -> tuple[list[Kind], list[Kind]]:
    """What a filter takes of a kind, and what is left for the filters behind."""
    if its.kind == "fw" and its.handle != kind.mark:
        return [], [kind]
    if its.kind == "tcindex":
        key = (kind.index & its.mask) >> its.shift
        by_default = its.handle is None and its.target is None and its.fall_through
        if not by_default and its.handle != key and not (its.handle is None and its.target):
            return [], [kind]
    taken: list[Kind] = []
    left: Condition | None = kind.condition
    for each in its.conditions or [Condition()]:
        both = None if left is None else left.both(each)
        if left is not None and both is not None:
            taken.append(replace(kind, condition=both))
            left = left.without(each)
    return taken, [] if left is None else [replace(kind, condition=left)]


def _by_index(kind: Kind) -> list[Kind]:
    """With set_tc_index of dsmark the octet of the DSCP becomes the index."""
    return [
        Kind(Condition(frozenset({dscp}), kind.condition.tests), dscp << 2, kind.mark)
        for dscp in sorted(kind.condition.dscps)
    ]


def _tcindex_result(its: Filter, kind: Kind) -> int:
    """Minor number that a filter gives."""
    if its.kind == "tcindex" and its.target is None and its.index is None:
        return (kind.index & its.mask) >> its.shift
    return its.target[1] if its.target is not None else its.index or 0


def resolve(qdisc: Qdisc, kinds: list[Kind]) -> list[Reached]:
    """Follow kinds of packets to the leaves of a discipline.

    Parameters
    ----------
    kinds : list of Kind
        In order.

    Returns
    -------
    list of Reached
        In an order in which the first that fits a packet is its own.
    """
    if qdisc.kind == "dsmark":
        inside = _through_dsmark(qdisc, kinds)
        return resolve(qdisc.inner, inside) if qdisc.inner else _held(qdisc, inside)
    if qdisc.kind not in ("cbq", "htb", "prio", "drr"):
        return _held(qdisc, kinds)
    return [each for kind, its in _chosen(qdisc, kinds) for each in _into(qdisc, kind, its)]


def _held(qdisc: Qdisc, kinds: list[Kind]) -> list[Reached]:
    return [Reached(each, None, qdisc, dp) for kind in kinds for each, dp in _virtual(qdisc, kind)]


def _into(qdisc: Qdisc, kind: Kind, its: Class | None) -> list[Reached]:
    if its is not None and its.queue is not None and its.queue.kind == "dsmark":
        refuse(its.queue.at, "dsmark inside a class is not read", "dsmark at the root")
    if its is None or its.queue is None:
        return [Reached(kind, its, qdisc)]
    return [Reached(each, its, qdisc, dp) for each, dp in _virtual(its.queue, kind)]


def _virtual(queue: Qdisc, kind: Kind) -> list[tuple[Kind, int]]:
    """Kinds by virtual queue: by index, or by the filters of gred that only tcng has."""
    if queue.kind != "gred":
        return [(kind, 0)]
    return [
        (some, some.index & 15 if by is None else by.index or 0)
        for some, by in matched(queue.filters, [kind])
    ]


def _through_dsmark(qdisc: Qdisc, kinds: list[Kind]) -> list[Kind]:
    if qdisc.options.get("set_tc_index"):
        kinds = [each for kind in kinds for each in _by_index(kind)]
    default = qdisc.options.get("default_index")
    result = []
    for kind, its in matched(qdisc.filters, kinds):
        if its is not None:
            _refuse_drop(its)
            kind = replace(kind, index=_tcindex_result(its, kind))
        elif isinstance(default, int):
            kind = replace(kind, index=default)
        result.append(kind)
    return result


def _refuse_drop(its: Filter) -> None:
    if its.drop or (its.police is not None and its.police.exceed != "pass"):
        at = its.police.at if its.police is not None else its.at
        refuse(
            at, "a policer where packets leave is not read", "policers of the ingress discipline"
        )


def _chosen(qdisc: Qdisc, kinds: list[Kind]) -> list[tuple[Kind, Class | None]]:
    """Leaf class of each kind; None for the discipline's own queue."""
    result: list[tuple[Kind, Class | None]] = []
    for kind, its in matched(qdisc.filters, kinds):
        result += _walk(qdisc, kind, its, None)
    return result


def _walk(
    qdisc: Qdisc, kind: Kind, its: Filter | None, above: Class | None
) -> list[tuple[Kind, Class | None]]:
    """On from a filter's choice, down to a leaf."""
    if its is None:
        return _unmatched(qdisc, kind, above)
    _refuse_drop(its)
    if its.priority < 0 and its.index is not None:
        # What runs before the discipline sets the index; its own filters do not.
        kind = replace(kind, index=its.index)
    minor = _tcindex_result(its, kind)
    if its.target is not None and its.target[0] not in (0, qdisc.major):
        return _unmatched(qdisc, kind, above)
    chosen = qdisc.classes.get(minor)
    if chosen is None:
        if its.target is None:
            return _unmatched(qdisc, kind, above)
        known = ", ".join(f"{qdisc.major:x}:{each:x}" for each in qdisc.classes)
        refuse(its.at, f"there is no class {qdisc.major:x}:{minor:x}", known)
    if not qdisc.children(minor):
        return [(kind, chosen)]
    return [
        each
        for some, further in matched(chosen.filters, [kind])
        for each in _walk(qdisc, some, further, chosen)
    ]


def _unmatched(qdisc: Qdisc, kind: Kind, above: Class | None) -> list[tuple[Kind, Class | None]]:
    if qdisc.kind == "htb":
        minor = whole(qdisc.options, "default", 0)
        return [(kind, _leaf(qdisc, minor, qdisc.at) if minor else None)]
    if qdisc.kind == "drr":
        return [(kind, None)]
    by_priority: dict[int, set[int]] = {}
    for dscp in kind.condition.dscps:
        by_priority.setdefault(priority_of(dscp), set()).add(dscp)
    result: dict[int, set[int]] = {}
    for priority, dscps in by_priority.items():
        choose = _band if qdisc.kind == "prio" else _defmapped
        result.setdefault(choose(qdisc, priority, above), set()).update(dscps)
    return [
        (
            replace(kind, condition=Condition(frozenset(dscps), kind.condition.tests)),
            qdisc.classes.get(minor),
        )
        for minor, dscps in result.items()
    ]


def _band(qdisc: Qdisc, priority: int, above: Class | None) -> int:
    priomap = qdisc.options.get("priomap", list(PRIOMAP))
    assert isinstance(priomap, list)
    return min(priomap[priority], len(qdisc.classes) - 1) + 1


def _defmapped(qdisc: Qdisc, priority: int, above: Class | None) -> int:
    """The class whose defmap has the priority, or has best effort; 0 = the link itself."""
    for wanted in (priority, 0):
        for minor, its in qdisc.classes.items():
            is_leaf = not qdisc.children(minor)
            if is_leaf and whole(its.options, "defmap", 0) >> wanted & 1:
                return minor
    return above.minor if above is not None and not qdisc.children(above.minor) else 0


def _leaf(qdisc: Qdisc, minor: int, at: Word) -> Class:
    its = qdisc.classes.get(minor)
    if its is None or qdisc.children(minor):
        known = ", ".join(f"{each:x}" for each in qdisc.classes if not qdisc.children(each))
        refuse(at, f"the default class {minor:x} of {qdisc.kind} is no leaf", known)
    return its
