"""Forwarding tables as routes: of IP, into label-switched paths, and of labels.

FTN entries are IP routes with ``encap mpls``, ILM entries routes of the MPLS family (RFC 3031
sections 3.10 to 3.12). The tables of two moments give what to change between them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from trunkline.linux.plan import label_filters
from trunkline.linux.plan.addresses import VethPlan
from trunkline.linux.plan.command_script import CommandScript, ConfigProgram
from trunkline.linux.plan.traffic import PlannedTraffic
from trunkline.network.types import Ftn, NetworkData, Nhlfe

FTN_MARK: Final = 0x100
_FTN_MASK: Final = 0xFC0
_FIRST_TABLE: Final = 100
OWN_FLOW_RULE: Final = "rule add iif lo ipproto"
"""Beginning of the rule for the path of a node's own flow."""

RouteKey = tuple[int, ConfigProgram, str]
"""Node, program, and what a route is for: a destination (and its table), or a label."""


@dataclass(frozen=True)
class ForwardingState:
    """Forwarding tables and failed links at some time."""

    nhlfe: Sequence[Nhlfe]  # Next hop label forwarding entries, in the network's order.
    # Out-link of each node, by destination; None where no path leads there.
    next_links: Mapping[int, Sequence[int | None]]


@dataclass
class ForwardingRoutes:
    """The routes of a network."""

    script: CommandScript  # Takes what the kernel lacks.
    network: NetworkData  # The compiled network, with all entries that ever are.
    wiring: VethPlan
    traffic: PlannedTraffic  # Addresses, and who sends there.
    _table_numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _ftn_entries: dict[tuple[int, int], list[tuple[int, Ftn]]] = field(default_factory=dict)
    _pipe_null_nodes: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """Sorts FTN entries by node and class, which each route asks for."""
        for index, each in enumerate(self.network["ftn"]):
            if each["fec"]:
                key = (each["node"], each["fec"])
                self._ftn_entries.setdefault(key, []).append((index, each))
        self._pipe_null_nodes = label_filters.list_pipe_null_nodes(self.network)

    @property
    def _has_own_flows(self) -> bool:
        """Whether nodes send the scenario's flows themselves."""
        return self.script.target.sends_flows or not self.script.target.on_routers

    def list_routes(self, state: ForwardingState) -> dict[RouteKey, tuple[str, str]]:
        """List all routes: where they lead, in the words of ``ip route``, and what they are for."""
        found: dict[RouteKey, tuple[str, str]] = {}
        for number, (target, fec, options) in enumerate(self.traffic.route_addresses.keys):
            about = f"to {self.network['nodes'][target]['name']}" + (
                f", class {fec}" if fec else ""
            )
            text = f"{self.traffic.route_addresses.format_address(number)}/32"
            for node, link in enumerate(state.next_links[target]):
                if node == target or link is None:
                    continue
                tcp_options = (
                    f" {' '.join(options)}"
                    if options and node in self.traffic.route_senders[number]
                    else ""
                )
                ftn_entries = self._find_ftn_entries(node, fec)
                unconditional = [each for _, each in ftn_entries if not each.get("dscps")]
                if unconditional:
                    hop = self._format_push(state, unconditional[-1])
                    reason = f"{self._name_path(state, unconditional[-1])}{about}"
                else:
                    hop, reason = self._format_via(link), about
                found[node, "ip", text] = (f"{hop}{tcp_options}", reason)
                for index, each in ftn_entries:
                    if each.get("dscps"):
                        hop = self._format_push(state, each)
                        key = f"{text} table {self._number_table(node, index)}"
                        reason = f"{self._name_path(state, each)}{about}"
                        found[node, "ip", key] = (f"{hop}{tcp_options}", reason)
        for node in range(len(self.network["nodes"])):
            found.update(self._list_label_routes(state, node))
        return found

    def list_rules(self, dscps: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        """List the packets of FTN entries that are for some DSCPs only: node, rule, purpose."""
        for number, (target, fec, _) in enumerate(self.traffic.route_addresses.keys):
            destination_match = f"to {self.traffic.route_addresses.format_address(number)}/32"
            for node in range(len(self.network["nodes"])):
                for index, entry in self._find_ftn_entries(node, fec):
                    if node == target or not entry.get("dscps"):
                        continue
                    table = self._number_table(node, index)
                    about = "codepoints " + ", ".join(str(each) for each in entry["dscps"][:8])
                    for dscp in dscps:
                        if dscp in entry["dscps"]:
                            mask = FTN_MARK | _FTN_MASK | 0x3F
                            rule = f"rule add fwmark {FTN_MARK + dscp:#x}/{mask:#x}"
                            yield node, f"{rule} {destination_match} table {table}", about
                    # Real routers have traffic of their own, not that of the scenario's flows.
                    flows = self.traffic.local_matches if self._has_own_flows else ()
                    for source, own_fec, dscp, match in flows:
                        if source == node and own_fec == fec and dscp in entry["dscps"]:
                            rule = f"{OWN_FLOW_RULE} {match} {destination_match} table {table}"
                            yield node, rule, about

    def _find_ftn_entries(self, node: int, fec: int) -> list[tuple[int, Ftn]]:
        return self._ftn_entries.get((node, fec), [])

    def _number_table(self, node: int, entry: int) -> int:
        return self._table_numbers.setdefault(
            (node, entry), _FIRST_TABLE + len(self._table_numbers)
        )

    def _format_push(self, state: ForwardingState, ftn_entry: Ftn) -> str:
        """Rest of a route that puts labels on."""
        entry = state.nhlfe[ftn_entry["nhlfe"]]
        assert entry["link"] is not None  # what puts labels on leaves the node
        labels = "/".join(str(each) for each in reversed(entry["push"]))
        hop = self._format_via(entry["link"])
        if not labels:
            return hop
        ttl = " ttl 255" if entry["ttl"] == "pipe" else ""
        if not ttl and ftn_entry["node"] in self._pipe_null_nodes:
            name = self.network["paths"][entry["path"]]["name"]
            self.script.refuse(
                ("paths", name),
                f"path {name}: Linux has one setting for the TTL of labels that a node puts on and "
                "of explicit null that it takes off, which of another path there is a pipe's; "
                "nearest: php: false on that path",
            )
        return f"encap mpls {labels}{ttl} {hop}"

    def _name_path(self, state: ForwardingState, ftn_entry: Ftn) -> str:
        """Name the path that an entry puts packets on, for a comment; empty: no known one."""
        path = state.nhlfe[ftn_entry["nhlfe"]]["path"]
        known = self.network["paths"]
        return f"path {known[path]['name']} " if path in range(len(known)) else ""

    def _format_via(self, link: int) -> str:
        return (
            f"via inet {self.wiring.receiving_ends[link].address} dev "
            f"{self.wiring.sending_ends[link].device}"
        )

    def _list_label_routes(
        self, state: ForwardingState, node: int
    ) -> Iterator[tuple[RouteKey, tuple[str, str]]]:
        for each in self.network["ilm"]:
            label = each["label"]
            if each["node"] != node or label < label_filters.FIRST_LABEL:
                continue  # explicit null is taken off by the kernel itself
            entry = state.nhlfe[each["nhlfe"]]
            about = f"path {self.network['paths'][entry['path']]['name']}"
            ttl = " ttl-propagate disabled" if entry["ttl"] == "pipe" else ""
            if not ttl and node in self._pipe_null_nodes:
                ttl = " ttl-propagate enabled"
            labels = "/".join(
                str(each) for each in label_filters.list_outgoing_labels(entry, label)
            )
            if entry["link"] is None:
                if labels:
                    self.script.refuse(
                        ("paths", self.network["paths"][entry["path"]]["name"]),
                        f"{about}: a label that is put on at its path's last node; "
                        "nearest: the next path from the node after",
                    )
                yield (node, "mpls", str(label)), (f"dev lo{ttl}", about)
                continue
            swap = f"as {labels} " if labels else ""
            yield (
                (node, "mpls", str(label)),
                (f"{swap}{self._format_via(entry['link'])}{ttl}", about),
            )
