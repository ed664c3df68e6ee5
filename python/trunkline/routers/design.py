"""A design as all parts of its derivation see it: its two forms, its interfaces, its omissions."""

import json
from ipaddress import IPv4Address

from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.frr_config import format_router_id
from trunkline.network import compile
from trunkline.network.types import NetworkData
from trunkline.routers.router_config import Omission, RouterInterface
from trunkline.scenario import Scenario


class RouterDesign:
    """A scenario in its resolved and its compiled form, and what no configuration says of it."""

    def __init__(self, scenario: Scenario, target: CommandTarget) -> None:
        self.network: NetworkData = json.loads(compile(scenario).to_json())
        self.resolved = resolved = scenario.resolve()
        self.nodes = list(resolved.nodes)
        self.router_ids = [
            IPv4Address((target.nodes.get(name) or (format_router_id(index),))[0])
            for index, name in enumerate(self.nodes)
        ]
        self.is_signalled = resolved.signalling.kind == "rsvp-te" or bool(resolved.protections)
        self.arc_index = {name: index for index, name in enumerate(resolved.arc_by_name)}
        self.interface_of_link: dict[int, RouterInterface] = {}
        self.omissions: list[Omission] = []
        self.hardware_omissions: list[Omission] = []

    def get_interface(self, arc: str) -> RouterInterface:
        """Get the interface that sends in a direction."""
        return self.interface_of_link[self.arc_index[arc]]

    def get_head(self, path: str) -> str:
        """Get the node where a path begins."""
        return self.resolved.routes[path].nodes[0]

    def omit(
        self, router: str, element: str, reason: str, *place: str | int, changes: bool = True
    ) -> None:
        """Note something that no configuration says; ``place`` is in the scenario."""
        self.omissions.append(Omission(router, element, reason, place, changes))

    def omit_of_path(self, path: str, element: str, reason: str, *keys: str) -> None:
        """Note something of a path, at its head; packets are treated as designed."""
        element = f"path {path}: {element}"
        self.omit(self.get_head(path), element, reason, "paths", path, *keys, changes=False)

    def omit_of_network(self, element: str, reason: str, *place: str) -> None:
        """Note something of all routers, at the first; packets are treated as designed."""
        self.omit(self.nodes[0], element, reason, *place, changes=False)

    def omit_in_hardware(
        self, path: str, element: str, reason: str, *keys: str, router: str | None = None
    ) -> None:
        """Note something of a path that routers with hardware queues do not say, at its head."""
        router = self.get_head(path) if router is None else router
        omission = Omission(router, f"path {path}: {element}", reason, ("paths", path, *keys))
        self.hardware_omissions.append(omission)
