"""Forwarding tables as routes: of IP, into label-switched paths, and of labels.

FTN entries are IP routes with ``encap mpls``, ILM entries routes of the MPLS family (RFC 3031
sections 3.10 to 3.12). The tables of two moments give what to change between them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from trunkline.linux.plan import mpls
from trunkline.linux.plan.addresses import Wiring
from trunkline.linux.plan.flows import Traffic
from trunkline.linux.plan.script import Program, Script
from trunkline.network.types import Ftn, Network, Nhlfe

FTN_MARK: Final = 0x100
_FTN_MASK: Final = 0xFC0
_FIRST_TABLE: Final = 100

Target = tuple[int, Program, str]
"""Node, program, and what a route is for: a destination (and its table), or a label."""


@dataclass(frozen=True)
class State:
    """What forwarding goes by at some time.

    Parameters
    ----------
    nhlfe : sequence of mapping
        Next hop label forwarding entries, in the network's order.
    next : mapping of int to sequence of int or None
        Out-link of each node, by destination; None where no path leads there.
    """

    nhlfe: Sequence[Nhlfe]
    next: Mapping[int, Sequence[int | None]]


@dataclass
class Forwarding:
    """The routes of a network.

    Parameters
    ----------
    script : Script
        Takes what the kernel lacks.
    data : mapping
        The compiled network, with all entries that ever are.
    sent : Traffic
        Addresses, and who sends there.
    """

    script: Script
    data: Network
    wiring: Wiring
    sent: Traffic
    _tables: dict[tuple[int, int], int] = field(default_factory=dict)

    def routes(self, state: State) -> dict[Target, tuple[str, str]]:
        """All routes: where they lead, in the words of ``ip route``, and what they are for."""
        made: dict[Target, tuple[str, str]] = {}
        for number, (target, fec, options) in enumerate(self.sent.ends.keys):
            about = f"to {self.data['nodes'][target]['name']}" + (f", class {fec}" if fec else "")
            text = f"{self.sent.ends.text(number)}/32"
            for node, link in enumerate(state.next[target]):
                if node == target or link is None:
                    continue
                own = (
                    f" {' '.join(options)}" if options and node in self.sent.routed[number] else ""
                )
                bound = self._bound(node, fec)
                whole = [each for _, each in bound if not each.get("dscps")]
                hop = self._into(state, whole[-1]) if whole else self._via(link)
                made[node, "ip", text] = (f"{hop}{own}", about)
                for index, each in bound:
                    if each.get("dscps"):
                        hop = self._into(state, each)
                        table = self._table(node, index)
                        made[node, "ip", f"{text} table {table}"] = (f"{hop}{own}", about)
        for node in range(len(self.data["nodes"])):
            made.update(self._labels(state, node))
        return made

    def rules(self, dscps: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        """Which packets take an FTN entry that is for some DSCPs only: node, rule, what for."""
        for number, (target, fec, _) in enumerate(self.sent.ends.keys):
            to = f"to {self.sent.ends.text(number)}/32"
            for node in range(len(self.data["nodes"])):
                for index, entry in self._bound(node, fec):
                    if node == target or not entry.get("dscps"):
                        continue
                    table = self._table(node, index)
                    about = "codepoints " + ", ".join(str(each) for each in entry["dscps"][:8])
                    for dscp in dscps:
                        if dscp in entry["dscps"]:
                            mask = FTN_MARK | _FTN_MASK | 0x3F
                            rule = f"rule add fwmark {FTN_MARK + dscp:#x}/{mask:#x}"
                            yield node, f"{rule} {to} table {table}", about
                    # Real routers have traffic of their own, not that of the scenario's flows.
                    flows = () if self.script.ground.routers else self.sent.local
                    for source, own_fec, dscp, match in flows:
                        if source == node and own_fec == fec and dscp in entry["dscps"]:
                            rule = f"rule add iif lo ipproto {match} {to} table {table}"
                            yield node, rule, about

    def _bound(self, node: int, fec: int) -> list[tuple[int, Ftn]]:
        return [
            (index, each)
            for index, each in enumerate(self.data["ftn"])
            if fec and each["node"] == node and each["fec"] == fec
        ]

    def _table(self, node: int, entry: int) -> int:
        return self._tables.setdefault((node, entry), _FIRST_TABLE + len(self._tables))

    def _into(self, state: State, bound: Ftn) -> str:
        """Rest of a route that puts labels on."""
        entry = state.nhlfe[bound["nhlfe"]]
        assert entry["link"] is not None  # what puts labels on leaves the node
        labels = "/".join(str(each) for each in reversed(entry["push"]))
        hop = self._via(entry["link"])
        if not labels:
            return hop
        ttl = " ttl 255" if entry["ttl"] == "pipe" else ""
        if not ttl and mpls.pipes_null(self.data, bound["node"]):
            name = self.data["paths"][entry["path"]]["name"]
            self.script.refuse(
                ("paths", name),
                f"path {name}: Linux has one setting for the TTL of labels that a node puts on and "
                "of explicit null that it takes off, which of another path there is a pipe's; "
                "nearest: php: false on that path",
            )
        return f"encap mpls {labels}{ttl} {hop}"

    def _via(self, link: int) -> str:
        return f"via inet {self.wiring.far[link].address} dev {self.wiring.near[link].device}"

    def _labels(self, state: State, node: int) -> Iterator[tuple[Target, tuple[str, str]]]:
        for each in self.data["ilm"]:
            label = each["label"]
            if each["node"] != node or label < mpls.FIRST_LABEL:
                continue  # explicit null is taken off by the kernel itself
            entry = state.nhlfe[each["nhlfe"]]
            about = f"path {self.data['paths'][entry['path']]['name']}"
            ttl = " ttl-propagate disabled" if entry["ttl"] == "pipe" else ""
            if not ttl and mpls.pipes_null(self.data, node):
                ttl = " ttl-propagate enabled"
            labels = "/".join(str(each) for each in mpls.labels_out(entry, label))
            if entry["link"] is None:
                if labels:
                    self.script.refuse(
                        ("paths", self.data["paths"][entry["path"]]["name"]),
                        f"{about}: a label that is put on at its path's last node; "
                        "nearest: the next path from the node after",
                    )
                yield (node, "mpls", str(label)), (f"dev lo{ttl}", about)
                continue
            swap = f"as {labels} " if labels else ""
            yield (node, "mpls", str(label)), (f"{swap}{self._via(entry['link'])}{ttl}", about)
