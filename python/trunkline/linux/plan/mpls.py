"""Label tables as routes, and what becomes of TC and DSCP at each of them.

FTN entries are IP routes with ``encap mpls``, ILM entries routes of the MPLS family, label
operations as RFC 3031 and 3032 have them. An ingress filter marks what comes with a label by its
entry and TC, so that the egress filter knows what the kernel has forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trunkline.linux.plan.classify import TCS, Egress
from trunkline.linux.plan.script import Script
from trunkline.network.types import Network, Nhlfe

MARK: Final = 0x1000
"""Marks of label entries begin here: eight for each entry of a node."""
_WHOLE = 0xFFFFFFFF
_ENTRY = 0xFFFFFFF8
FIRST_LABEL: Final = 16


@dataclass(frozen=True, slots=True)
class After:
    """A packet after an entry.

    Parameters
    ----------
    tcs : tuple of int
        TC of each label that the entry puts on, from the top.
    column : int or None
        Column it is classified by; None: by what it shows.
    dscp : int or None
        DSCP that is written, where an IP packet comes out.
    below : int or None
        TC that is written, where another label comes out.
    below_column : int or None
        Column it is classified by, where another label comes out.
    """

    tcs: tuple[int, ...] = ()
    column: int | None = None
    dscp: int | None = None
    below: int | None = None
    below_column: int | None = None


def on_ip(data: Network, entry: Nhlfe, dscp: int) -> After:
    """What an FTN entry makes of an IP packet (RFC 3270 section 3.2)."""
    tcs = _stack(data, entry, None, dscp)
    return After(tuple(reversed(tcs)), DSCP_COLUMNS + tcs[-1] if tcs else dscp)


DSCP_COLUMNS: Final = 64


def _stack(data: Network, entry: Nhlfe, below: int | None, dscp: int) -> list[int]:
    """TC of each label pushed, from the bottom, on a label of TC `below` or an IP packet."""
    maps = entry.get("push_diffserv") or [None] * len(entry["push"])
    tcs: list[int] = []
    for index in range(len(entry["push"])):
        its = maps[index] if index < len(maps) else None
        if its is None:
            tc = dscp >> 3 if below is None else below
        elif below is None:
            tc = data["diffserv"][its]["tc_of_dscp"][dscp]
        else:
            tc = data["diffserv"][its]["tc_of_tc"][below]
        tcs.append(tc)
        below = tc
    return tcs


def on_label(data: Network, entry: Nhlfe, tc: int) -> After | None:
    """What an ILM entry makes of a packet with this TC; None where that is not known here.

    RFC 3270 sections 2.6 and 3.3; the counterpart of `crates/engine/src/mpls/diffserv.rs`.
    """
    pushed = entry["push"]
    if not entry["pop"]:
        tcs = [tc, *_stack(data, entry, tc, 0)]
        return After(tuple(reversed(tcs)), DSCP_COLUMNS + tcs[-1])
    unmark = entry.get("pop_diffserv")
    if unmark is None:
        if not pushed:
            return After()
        swapped = 0 if entry.get("zero_tc") else tc
        rest: Nhlfe = {
            **entry,
            "push": pushed[1:],
            "push_diffserv": (entry.get("push_diffserv") or [])[1:],
        }
        tcs = [swapped, *_stack(data, rest, swapped, 0)]
        return After(tuple(reversed(tcs)), DSCP_COLUMNS + tcs[-1])
    if pushed:
        return None
    maps = data["diffserv"][unmark]
    phb = maps["dscp_of_tc"][tc]
    if maps["tunnel"] == "uniform":
        below = maps["tc_below"][tc]
        return After((), phb, phb, below, DSCP_COLUMNS + below)
    if maps["tunnel"] == "pipe":
        # The label below has a map of its own, by which this TC means something else.
        return After((), phb, None, None, DSCP_COLUMNS + tc if phb is None else phb)
    return After()


def labels_out(entry: Nhlfe, label: int) -> list[int]:
    """Labels that Linux puts on for an ILM entry, from the top."""
    return list(reversed(entry["push"])) + ([] if entry["pop"] else [label])


def labelled(data: Network, link: int) -> int:
    """How many label stacks the packets have that leave a link."""
    leaving = {
        ("ftn", *data["nhlfe"][each["nhlfe"]]["push"])
        for each in data["ftn"]
        if data["nhlfe"][each["nhlfe"]]["link"] == link and data["nhlfe"][each["nhlfe"]]["push"]
    } | {
        ("ilm", each["node"], each["label"])
        for each in data["ilm"]
        if data["nhlfe"][each["nhlfe"]]["link"] == link
        and labels_out(data["nhlfe"][each["nhlfe"]], each["label"])
    }
    return len(leaving)


def mark(rank: int, tc: int) -> int:
    """Mark of a packet that came with this TC to the node's entry of this rank."""
    return MARK + rank * TCS + tc


def entries_of(data: Network, node: int) -> list[tuple[int, int, Nhlfe]]:
    """Rank, label and NHLFE of each ILM entry of a node."""
    own = [each for each in data["ilm"] if each["node"] == node]
    return [(rank, each["label"], data["nhlfe"][each["nhlfe"]]) for rank, each in enumerate(own)]


def traffic_classes(data: Network, dscps: Sequence[int]) -> list[int]:
    """TCs that labels may have: 0 alone if no codepoint that occurs becomes another."""
    if not data["ilm"] and not data["ftn"]:
        return [0]
    reached = {dscp >> 3 for dscp in dscps}
    for maps in data.get("diffserv", []):
        reached |= {maps["tc_of_dscp"][dscp] for dscp in dscps} | {maps["tc_of_tc"][0]}
    return [0] if reached == {0} else list(range(TCS))


def leaving(
    egress: Egress,
    data: Network,
    link: int,
    dscps: Sequence[int],
    tcs: Sequence[int],
) -> bool:
    """Filters for labelled packets that leave a device.

    Returns
    -------
    bool
        Whether marks from the ingress are needed.
    """
    node = egress.node
    for each in data["ftn"]:
        entry = data["nhlfe"][each["nhlfe"]]
        if each["node"] == node and entry["link"] == link and entry["push"]:
            _entering(egress, data, entry, each.get("dscps") or dscps, dscps)
    marks = False
    for rank, label, entry in entries_of(data, node):
        if entry["link"] not in (link, None):
            continue
        for tc in tcs:
            after = on_label(data, entry, tc)
            if after is None:
                egress.script.refuse(
                    ("paths", data["paths"][entry["path"]]["name"], "php"),
                    f"{egress.link['name']}: Linux cannot rewrite what is below a label and put "
                    "another one on at the same node; nearest: php: false, with the next path's "
                    "labels from the node after",
                )
                continue
            marks |= _coming(egress, entry, (rank, tc), labels_out(entry, label), after)
        if entry["link"] is not None:
            marks |= _revealed(egress, entry, rank)
    return marks


def _entering(
    egress: Egress,
    data: Network,
    entry: Nhlfe,
    chosen: Sequence[int],
    dscps: Sequence[int],
) -> None:
    done: set[tuple[int, int, int]] = set()
    labels = entry["push"]
    for dscp in sorted(set(chosen) & set(dscps)):
        after = on_ip(data, entry, dscp)
        assert after.column is not None
        cell = egress.cell(entry["row"], after.column)
        key = (labels[-1], len(labels), dscp)
        if key in done or not (any(after.tcs) or (egress.sorts and cell != egress.fallback)):
            continue
        done.add(key)
        egress.pushed(labels[-1], len(labels), dscp, cell, after.tcs)


def _coming(
    egress: Egress,
    entry: Nhlfe,
    came: tuple[int, int],
    labels: Sequence[int],
    after: After,
) -> bool:
    """The filter of one entry and TC, if it has something to say."""
    if labels:
        assert after.column is not None
        cell = egress.cell(entry["row"], after.column)
        if not any(after.tcs) and not (egress.sorts and cell != egress.fallback):
            return False
        egress.marked(mark(*came), cell, after.tcs, None, "mpls_uc")
        return True
    said = False
    if after.column is not None and (egress.sorts or after.dscp is not None):
        cell = egress.cell(entry["row"], after.column)
        egress.marked(mark(*came), cell, (), after.dscp, "ip")
        said = True
    if after.below_column is not None and (egress.sorts or after.below is not None):
        cell = egress.cell(entry["row"], after.below_column)
        written = () if after.below is None else (after.below,)
        egress.marked(mark(*came), cell, written, None, "mpls_uc", zero=True)
        said = True
    return said


def _revealed(egress: Egress, entry: Nhlfe, rank: int) -> bool:
    """Filters for what an entry leaves without its label, told by what it shows now."""
    rows = egress.config["classifier"]["rows"]
    if not entry["pop"] or entry["push"] or not rows or not egress.sorts:
        return False
    row = entry["row"]
    if row is None or rows[row] == rows[0]:
        return False
    which = (mark(rank, 0), _ENTRY)
    for dscp in range(DSCP_COLUMNS):
        cell = egress.cell(row, dscp)
        if cell != egress.cell(0, dscp):
            egress.shown("ip", which, f"match u8 {dscp << 2:#04x} 0xfc at 1", cell, 2)
    for tc in range(TCS):
        cell = egress.cell(row, DSCP_COLUMNS + tc)
        if cell != egress.fallback:
            egress.shown("mpls_uc", which, f"match u8 {tc << 1:#04x} 0x0e at 2", cell, 2)
    return True


def pipes_null(data: Network, node: int) -> bool:
    """Whether explicit null of a pipe ends at a node: its TTL is not to become that of IP."""
    return any(entry["ttl"] == "pipe" for entry in _nulls(data, node))


def _nulls(data: Network, node: int) -> list[Nhlfe]:
    """Entries that send explicit null to a node."""
    return [
        entry
        for entry in data["nhlfe"]
        if entry["link"] is not None
        and 0 in entry["push"]
        and data["links"][entry["link"]]["to"] == node
    ]


def once_less(data: Network, node: int, own: Sequence[str]) -> list[str]:
    """Filters that give back the second TTL that a path's last node takes off.

    Linux takes the label off and one off the TTL, that of the label or in a pipe that of the IP
    packet, and routes the packet that comes back by ``lo``, which takes off another unless it is
    for the node itself, at one of its `own` addresses; a pipe's packets then keep theirs.
    """
    entries = [entry for _, _, entry in entries_of(data, node) if entry["link"] is None]
    entries += _nulls(data, node)
    if not entries:
        return []
    pipes = all(entry["ttl"] == "pipe" for entry in entries)
    return [
        "qdisc add dev lo clsact",
        *(
            f"filter add dev lo ingress protocol ip prio 1 flower dst_ip {each} action ok"
            for each in (() if pipes else own)
        ),
        "filter add dev lo ingress protocol ip prio 2 matchall "
        "action pedit ex munge ip ttl add 1 pipe action csum ip4h",
    ]


def arriving(script: Script, data: Network, node: int, tcs: Sequence[int]) -> list[str]:
    """Ingress filters that mark what comes with a label, for one device of a node."""
    return [
        f"protocol mpls_uc prio 60 flower mpls_label {label} mpls_tc {tc} "
        f"action skbedit mark {mark(rank, tc):#x} continue"
        for rank, label, _ in entries_of(data, node)
        for tc in tcs
    ]
