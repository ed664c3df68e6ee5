"""Whose an address or a port number is: the nodes and flows of the scenario."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from trunkline.importers.common.fault import SourceToken, raise_fault


@dataclass(frozen=True, slots=True)
class Addresses:
    """Names of nodes and flows that configurations give by number."""

    # Node by address; filters ask for those of IPv4.
    nodes: Mapping[str, str] = field(default_factory=dict)
    # Flow by port number of TCP or UDP, at either end.
    flows: Mapping[int, str] = field(default_factory=dict)

    def find_nodes(self, word: SourceToken) -> frozenset[str | int] | None:
        """Find the nodes with an address in a prefix; None for all, of ``0.0.0.0/0``.

        Raises ImportFault: It is no prefix, or no node is known to be in it.
        """
        if word.text in ("any", "all"):
            return None
        head, slash, tail = word.text.partition("/")
        # `0/0`, `10.2/16` and `10.2`, as tc and ipchains take them too.
        padded = ".".join([*head.split("."), "0", "0", "0"][:4])
        try:
            network = ipaddress.IPv4Network(padded + slash + tail, strict=False)
        except ValueError:
            raise_fault(word, f"{word.text} is no IPv4 address or prefix")
        if network.prefixlen == 0:
            return None
        found = {node for text, node in self.nodes.items() if ipaddress.ip_address(text) in network}
        if not found:
            known = ", ".join(f"{text}={node}" for text, node in self.nodes.items())
            hint = f"say which node it is: --node {network.network_address}=NAME"
            raise_fault(word, f"no node is known by {word.text}; {hint}", known)
        return frozenset(found)

    def find_flows(self, word: SourceToken, number: int) -> frozenset[str | int]:
        """Find the flows that use a port number. Raises ImportFault: None is known to."""
        if number not in self.flows:
            known = ", ".join(f"{port}={flow}" for port, flow in self.flows.items())
            hint = f"say which flow it is: --port {number}=NAME"
            raise_fault(word, f"no flow is known by port {number}; {hint}", known)
        return frozenset({self.flows[number]})
