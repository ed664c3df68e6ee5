"""Label tables as routes, and the changes of TC and DSCP at each of them.

FTN entries are IP routes with ``encap mpls``, ILM entries routes of the MPLS family, label
operations as RFC 3031 and 3032 have them. An ingress filter marks what comes with a label by its
entry and TC, so that the egress filter knows what the kernel has forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.egress_filters import TC_COUNT, EgressFilters
from trunkline.network.types import NetworkData, Nhlfe

FIRST_LABEL_MARK: Final = 0x1000
"""Marks of label entries begin here: eight for each entry of a node."""
_ENTRY_MASK = 0xFFFFFFF8
FIRST_LABEL: Final = 16


@dataclass(frozen=True, slots=True)
class EntryEffect:
    """A packet after an entry."""

    tcs: tuple[int, ...] = ()  # TC of each label that the entry puts on, from the top.
    column: int | None = None  # Column it is classified by; None: by its DSCP.
    dscp: int | None = None  # DSCP that is written, where an IP packet comes out.
    below_tc: int | None = None  # TC that is written, where another label comes out.
    below_column: int | None = None  # Column it is classified by, where another label comes out.


def apply_to_ip(network: NetworkData, entry: Nhlfe, dscp: int) -> EntryEffect:
    """Apply an FTN entry to an IP packet (RFC 3270 section 3.2)."""
    tcs = _compute_pushed_tcs(network, entry, None, dscp)
    return EntryEffect(tuple(reversed(tcs)), DSCP_COLUMNS + tcs[-1] if tcs else dscp)


DSCP_COLUMNS: Final = 64


def _compute_pushed_tcs(
    network: NetworkData, entry: Nhlfe, below_tc: int | None, dscp: int
) -> list[int]:
    """TC of each label pushed, from the bottom, on a label of TC `below_tc` or an IP packet."""
    maps = entry.get("push_diffserv") or [None] * len(entry["push"])
    tcs: list[int] = []
    for index in range(len(entry["push"])):
        map_number = maps[index] if index < len(maps) else None
        if map_number is None:
            tc = dscp >> 3 if below_tc is None else below_tc
        elif below_tc is None:
            tc = network["diffserv"][map_number]["tc_of_dscp"][dscp]
        else:
            tc = network["diffserv"][map_number]["tc_of_tc"][below_tc]
        tcs.append(tc)
        below_tc = tc
    return tcs


def apply_to_label(network: NetworkData, entry: Nhlfe, tc: int) -> EntryEffect | None:
    """Apply an ILM entry to a packet with this TC; None where the result is not known here.

    RFC 3270 sections 2.6 and 3.3; the counterpart of `crates/engine/src/mpls/diffserv.rs`.
    """
    pushed = entry["push"]
    if not entry["pop"]:
        tcs = [tc, *_compute_pushed_tcs(network, entry, tc, 0)]
        return EntryEffect(tuple(reversed(tcs)), DSCP_COLUMNS + tcs[-1])
    map_number = entry.get("pop_diffserv")
    if map_number is None:
        if not pushed:
            return EntryEffect()
        swapped_tc = 0 if entry.get("zero_tc") else tc
        pushed_entry: Nhlfe = {
            **entry,
            "push": pushed[1:],
            "push_diffserv": (entry.get("push_diffserv") or [])[1:],
        }
        tcs = [swapped_tc, *_compute_pushed_tcs(network, pushed_entry, swapped_tc, 0)]
        return EntryEffect(tuple(reversed(tcs)), DSCP_COLUMNS + tcs[-1])
    if pushed:
        return None
    maps = network["diffserv"][map_number]
    phb = maps["dscp_of_tc"][tc]
    if maps["tunnel"] == "uniform":
        below = maps["tc_below"][tc]
        return EntryEffect((), phb, phb, below, DSCP_COLUMNS + below)
    if maps["tunnel"] == "pipe":
        # The label below has a map of its own, by which this TC means something else.
        return EntryEffect((), phb, None, None, DSCP_COLUMNS + tc if phb is None else phb)
    return EntryEffect()


def list_outgoing_labels(entry: Nhlfe, label: int) -> list[int]:
    """List the labels that Linux puts on for an ILM entry, from the top."""
    return list(reversed(entry["push"])) + ([] if entry["pop"] else [label])


def count_label_stacks(network: NetworkData, link: int) -> int:
    """Count how many label stacks the packets have that leave a link."""
    label_stacks = {
        ("ftn", *network["nhlfe"][each["nhlfe"]]["push"])
        for each in network["ftn"]
        if network["nhlfe"][each["nhlfe"]]["link"] == link
        and network["nhlfe"][each["nhlfe"]]["push"]
    } | {
        ("ilm", each["node"], each["label"])
        for each in network["ilm"]
        if network["nhlfe"][each["nhlfe"]]["link"] == link
        and list_outgoing_labels(network["nhlfe"][each["nhlfe"]], each["label"])
    }
    return len(label_stacks)


def compute_mark(rank: int, tc: int) -> int:
    """Mark of a packet that came with this TC to the node's entry of this rank."""
    return FIRST_LABEL_MARK + rank * TC_COUNT + tc


def list_ilm_entries(network: NetworkData, node: int) -> list[tuple[int, int, Nhlfe]]:
    """Rank, label and NHLFE of each ILM entry of a node."""
    node_entries = [each for each in network["ilm"] if each["node"] == node]
    return [
        (rank, each["label"], network["nhlfe"][each["nhlfe"]])
        for rank, each in enumerate(node_entries)
    ]


def list_traffic_classes(network: NetworkData, dscps: Sequence[int]) -> list[int]:
    """TCs that labels may have: 0 alone if no codepoint that occurs becomes another."""
    if not network["ilm"] and not network["ftn"]:
        return [0]
    reached = {dscp >> 3 for dscp in dscps}
    for maps in network.get("diffserv", []):
        reached |= {maps["tc_of_dscp"][dscp] for dscp in dscps} | {maps["tc_of_tc"][0]}
    return [0] if reached == {0} else list(range(TC_COUNT))


def add_egress_filters(
    egress: EgressFilters,
    network: NetworkData,
    link: int,
    dscps: Sequence[int],
    tcs: Sequence[int],
) -> bool:
    """Add the filters for labelled packets that leave a device.

    Returns: Whether marks from the ingress are needed.
    """
    node = egress.node
    for each in network["ftn"]:
        entry = network["nhlfe"][each["nhlfe"]]
        if each["node"] == node and entry["link"] == link and entry["push"]:
            _add_push_filters(egress, network, entry, each.get("dscps") or dscps, dscps)
    needs_marks = False
    for rank, label, entry in list_ilm_entries(network, node):
        if entry["link"] not in (link, None):
            continue
        for tc in tcs:
            effect = apply_to_label(network, entry, tc)
            if effect is None:
                egress.script.refuse(
                    ("paths", network["paths"][entry["path"]]["name"], "php"),
                    f"{egress.link['name']}: Linux cannot rewrite what is below a label and put "
                    "another one on at the same node; nearest: php: false, with the next path's "
                    "labels from the node after",
                )
                continue
            needs_marks |= _add_entry_filters(
                egress, entry, (rank, tc), list_outgoing_labels(entry, label), effect
            )
        if entry["link"] is not None:
            needs_marks |= _add_exposed_filters(egress, entry, rank)
    return needs_marks


def _add_push_filters(
    egress: EgressFilters,
    network: NetworkData,
    entry: Nhlfe,
    entry_dscps: Sequence[int],
    dscps: Sequence[int],
) -> None:
    added: set[tuple[int, int, int]] = set()
    labels = entry["push"]
    for dscp in sorted(set(entry_dscps) & set(dscps)):
        effect = apply_to_ip(network, entry, dscp)
        assert effect.column is not None
        cell = egress.find_cell(entry["row"], effect.column)
        key = (labels[-1], len(labels), dscp)
        if key in added or not (
            any(effect.tcs) or (egress.needs_filters and cell != egress.fallback_cell)
        ):
            continue
        added.add(key)
        egress.add_push_filter(labels[-1], len(labels), dscp, cell, effect.tcs)


def _add_entry_filters(
    egress: EgressFilters,
    entry: Nhlfe,
    rank_and_tc: tuple[int, int],
    labels: Sequence[int],
    effect: EntryEffect,
) -> bool:
    """The filter of one entry and TC, if it has something to say."""
    if labels:
        assert effect.column is not None
        cell = egress.find_cell(entry["row"], effect.column)
        if not any(effect.tcs) and not (egress.needs_filters and cell != egress.fallback_cell):
            return False
        egress.add_mark_filter(compute_mark(*rank_and_tc), cell, effect.tcs, None, "mpls_uc")
        return True
    is_added = False
    if effect.column is not None and (egress.needs_filters or effect.dscp is not None):
        cell = egress.find_cell(entry["row"], effect.column)
        egress.add_mark_filter(compute_mark(*rank_and_tc), cell, (), effect.dscp, "ip")
        is_added = True
    if effect.below_column is not None and (egress.needs_filters or effect.below_tc is not None):
        cell = egress.find_cell(entry["row"], effect.below_column)
        written_tcs = () if effect.below_tc is None else (effect.below_tc,)
        egress.add_mark_filter(
            compute_mark(*rank_and_tc), cell, written_tcs, None, "mpls_uc", write_zero=True
        )
        is_added = True
    return is_added


def _add_exposed_filters(egress: EgressFilters, entry: Nhlfe, rank: int) -> bool:
    """List filters for packets that an entry leaves without its label, by their present DSCP."""
    rows = egress.port_config["classifier"]["rows"]
    if not entry["pop"] or entry["push"] or not rows or not egress.needs_filters:
        return False
    row = entry["row"]
    if row is None or rows[row] == rows[0]:
        return False
    mark_match = (compute_mark(rank, 0), _ENTRY_MASK)
    for dscp in range(DSCP_COLUMNS):
        cell = egress.find_cell(row, dscp)
        if cell != egress.find_cell(0, dscp):
            egress.add_content_filter(
                "ip", mark_match, f"match u8 {dscp << 2:#04x} 0xfc at 1", cell, 2
            )
    for tc in range(TC_COUNT):
        cell = egress.find_cell(row, DSCP_COLUMNS + tc)
        if cell != egress.fallback_cell:
            egress.add_content_filter(
                "mpls_uc", mark_match, f"match u8 {tc << 1:#04x} 0x0e at 2", cell, 2
            )
    return True


def list_pipe_null_nodes(network: NetworkData) -> frozenset[int]:
    """List the nodes where explicit null of a pipe ends: its TTL is not to become that of IP."""
    return frozenset(
        network["links"][entry["link"]]["to"]
        for entry in network["nhlfe"]
        if entry["link"] is not None and 0 in entry["push"] and entry["ttl"] == "pipe"
    )


def _list_null_entries(network: NetworkData, node: int) -> list[Nhlfe]:
    """List the entries that send explicit null to a node."""
    return [
        entry
        for entry in network["nhlfe"]
        if entry["link"] is not None
        and 0 in entry["push"]
        and network["links"][entry["link"]]["to"] == node
    ]


def list_ttl_filters(network: NetworkData, node: int, own_addresses: Sequence[str]) -> list[str]:
    """List the filters that give back the second TTL that a path's last node takes off.

    Linux takes the label off and one off the TTL, that of the label or in a pipe that of the IP
    packet, and routes the packet that comes back by ``lo``, which takes off another unless it is
    for the node itself, at one of its `own_addresses` addresses; a pipe's packets then keep theirs.
    """
    entries = [entry for _, _, entry in list_ilm_entries(network, node) if entry["link"] is None]
    entries += _list_null_entries(network, node)
    if not entries:
        return []
    all_pipes = all(entry["ttl"] == "pipe" for entry in entries)
    return [
        "qdisc add dev lo clsact",
        *(
            f"filter add dev lo ingress protocol ip prio 1 flower dst_ip {each} action ok"
            for each in (() if all_pipes else own_addresses)
        ),
        "filter add dev lo ingress protocol ip prio 2 matchall "
        "action pedit ex munge ip ttl add 1 pipe action csum ip4h",
    ]


def list_ingress_marks(
    script: CommandScript, network: NetworkData, node: int, tcs: Sequence[int]
) -> list[str]:
    """Ingress filters that mark packets with a label, for one device of a node."""
    return [
        f"protocol mpls_uc prio 60 flower mpls_label {label} mpls_tc {tc} "
        f"action skbedit mark {compute_mark(rank, tc):#x} continue"
        for rank, label, _ in list_ilm_entries(network, node)
        for tc in tcs
    ]
