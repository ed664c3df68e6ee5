"""The neutral form of a scenario, derived once from its resolved and its compiled form.

Rules where the scenario is silent: router ids are 10.255.0.1 and on, in the order of the nodes;
links have a /30 each from 10.0.0.0/9; interfaces count from 1 at each router in the order of the
links; routes are those of OSPF in one area. A path is a tunnel of RSVP-TE if the scenario signals
or protects paths, else a static LSP with the scenario's own labels.
"""

import json
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Final

from trunkline.linux.plan.addresses import VethEnd, VethPlan
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.frr_config import format_router_id
from trunkline.network import compile, segment_labels
from trunkline.network.types import NetworkData
from trunkline.routers.port_policies import PortPolicies
from trunkline.routers.router_config import (
    LinkStateRouting,
    Omission,
    PolicyHop,
    Router,
    RouterInterface,
    RouterNetwork,
    SegmentPolicy,
    StaticIpRoute,
    StaticLabelEntry,
    Steering,
    Tunnel,
    TunnelHop,
)
from trunkline.scenario import Scenario
from trunkline.scenario.recovery import Protection
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.routing import IGP_DISTANCE

_NS_PER_S: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000
_ALL_DSCPS: Final = 64
MAX_INTERFACE_COST: Final = 65_535  # Largest cost of an interface (RFC 2328 appendix C.3).
_SWITCHES: Final = {"revertive": True, "make_before_break": True}
"""Switches of a protection as routers have them."""
SRGB_SIZE: Final = 8000  # Labels of the block of node labels, as routers have it by default.


def derive_routers(scenario: Scenario, target: CommandTarget) -> RouterNetwork:
    """Derive the neutral form.

    scenario: The design.
    target: Chosen addresses and devices; the rest follows the rules above.
    """
    network: NetworkData = json.loads(compile(scenario).to_json())
    return _Derivation(scenario.resolve(), network, target).derive()


class _Derivation:
    """Works out each part of the neutral form."""

    def __init__(
        self, resolved: ResolvedScenario, network: NetworkData, target: CommandTarget
    ) -> None:
        self._resolved = resolved
        self._network = network
        self._nodes = list(resolved.nodes)
        self._wiring = VethPlan.from_links(network["links"], target)
        self._devices = target.devices
        self._policies = PortPolicies(
            network,
            frozenset(
                name
                for name, path in resolved.paths.items()
                if path.diffserv is not None and path.diffserv.kind == "l-lsp"
            ),
        )
        self._omissions: list[Omission] = []
        self._hardware_omissions: list[Omission] = []
        self._router_ids = [
            IPv4Address((target.nodes.get(name) or (format_router_id(index),))[0])
            for index, name in enumerate(self._nodes)
        ]
        self._interfaces: list[list[RouterInterface]] = [[] for _ in self._nodes]
        self._interface_of_link: dict[int, RouterInterface] = {}
        self._is_signalled = resolved.signalling.kind == "rsvp-te" or bool(resolved.protections)

    def derive(self) -> RouterNetwork:
        self._add_interfaces()
        tunnels, labels = self._list_tunnels(), self._list_labels()
        policies, steering = self._list_policies(), self._list_steering()
        imposition = self._map_imposition()
        self._check_paths()
        self._check_protocols()
        self._check_heads()
        routers = tuple(
            Router(
                name,
                self._router_ids[index],
                tuple(self._interfaces[index]),
                index,
                tuple(labels.get(index, ())),
                tuple(tunnels.get(name, ())),
                tuple(policies.get(name, ())),
                tuple(steering.get(index, ())),
                imposition.get(name, {}),
                tuple(self._list_static_routes(index)),
            )
            for index, name in enumerate(self._nodes)
        )
        for router in routers:
            for policy in router.list_port_policies():
                found = self._policies.list_omissions(policy, router.name)
                self._hardware_omissions += found
            for policer in router.list_policers():
                found = self._policies.list_omissions(f"conditioner {policer}", router.name)
                self._hardware_omissions += found
        options = [arc.options.te for arc in self._resolved.arcs]
        srgb = self._resolved.written.te.srgb
        ttls = {path.ttl for name, path in self._resolved.paths.items()}
        return RouterNetwork(
            self._network["name"],
            routers,
            self._policies.policies,
            self._policies.policers,
            tuple(dict.fromkeys(colour for each in options for colour in each.colours)),
            tuple(dict.fromkeys(risk for each in options for risk in each.risks)),
            (srgb, srgb + max(SRGB_SIZE, len(self._nodes)) - 1)
            if self._resolved.policies
            else None,
            self._resolved.routing.ldp is not None,
            self._is_signalled,
            bool(ttls) and "uniform" not in ttls,
            self._read_igp(),
            self._resolved.routing.igp,
            tuple(self._omissions),
            tuple(self._hardware_omissions),
            self._network,
        )

    def _omit(
        self, router: str, element: str, reason: str, *path: str | int, changes: bool = True
    ) -> None:
        self._omissions.append(Omission(router, element, reason, path, changes))

    def _omit_in_hardware(self, router: str, element: str, reason: str, *path: str | int) -> None:
        self._hardware_omissions.append(Omission(router, element, reason, path))

    def _add_interfaces(self) -> None:
        link_of_end = self._wiring.link_by_device
        for pair in self._wiring.pairs:
            for near, far in ((pair.a, pair.b), (pair.b, pair.a)):
                self._add_interface(near, far, link_of_end)

    def _add_interface(
        self, near: VethEnd, far: VethEnd, link_of_end: Mapping[tuple[int, str], int]
    ) -> None:
        link = link_of_end.get((near.node, near.device))
        arriving = link_of_end.get((far.node, far.device))
        number = len(self._interfaces[near.node]) + 1
        addresses = (
            IPv4Interface(f"{near.address}/{near.prefix}"),
            IPv4Interface(f"{far.address}/{far.prefix}"),
        )
        neighbour = self._nodes[far.node]
        ingress = None if arriving is None else self._network["links"][arriving].get("ingress")
        policer = self._policies.name_policer(ingress)
        if link is None:
            interface = RouterInterface(number, "", "", *addresses, neighbour, policer=policer)
            self._interfaces[near.node].append(interface)
            return
        compiled = self._network["links"][link]
        arc = self._resolved.arc_by_name[compiled["name"]]
        te = arc.options.te
        router = self._nodes[near.node]
        if compiled.get("conditioner") is not None:
            self._omit(
                router,
                f"conditioner where {arc.name} sends",
                "policers are written for packets that arrive; nearest: ingress of the link before",
                "links",
                arc.name,
                "conditioner",
            )
        if compiled["metric"] > MAX_INTERFACE_COST:
            self._omit(
                router,
                f"metric {compiled['metric']} of {arc.name}",
                f"a cost of OSPF is 1 to {MAX_INTERFACE_COST}; nearest: {MAX_INTERFACE_COST}",
                "links",
                arc.name,
                "metric",
            )
        if compiled.get("reorder"):
            self._omit(
                router,
                f"link {arc.name}: reorder",
                "it is the wire's, and `import` reads none; nearest: none",
                "links",
                arc.name,
                "reorder",
                changes=False,
            )
        interface = RouterInterface(
            number,
            self._devices.get(arc.name, ""),
            arc.name,
            *addresses,
            neighbour,
            rate=compiled["rate_bit_s"],
            delay=compiled["delay_ns"],
            mtu=compiled["mtu_bytes"],
            header=compiled["header_bytes"],
            metric=min(compiled["metric"], MAX_INTERFACE_COST),
            te_metric=te.metric or compiled["metric"],
            reservable=round(compiled["rate_bit_s"] * te.reservable),
            colours=te.colours,
            risks=te.risks,
            policy=self._policies.name_policy(link),
            policer=policer,
            loss=compiled["loss"],
        )
        self._interfaces[near.node].append(interface)
        self._interface_of_link[link] = interface

    def _list_static_routes(self, node: int) -> Iterator[StaticIpRoute]:
        """Those of a node; without an IGP its neighbours are reached by such routes too."""
        own = [
            route
            for route in self._network.get("routing", {}).get("static", [])
            if route["node"] == node
        ]
        for route in own:
            target = route["destination"]
            prefix = "0.0.0.0/0" if target is None else f"{self._router_ids[target]}/32"
            interface = self._interface_of_link[route["link"]]
            yield StaticIpRoute(IPv4Network(prefix), interface, route["distance"])
        if self._resolved.routing.igp:
            return
        links = self._network["links"]
        for target in dict.fromkeys(each["to"] for each in links if each["from"] == node):
            _, link = min(
                (each["metric"], index)
                for index, each in enumerate(links)
                if (each["from"], each["to"]) == (node, target)
            )
            if any((each["destination"], each["link"]) == (target, link) for each in own):
                continue
            prefix = f"{self._router_ids[target]}/32"
            yield StaticIpRoute(IPv4Network(prefix), self._interface_of_link[link], IGP_DISTANCE)

    def _list_tunnels(self) -> dict[str, list[Tunnel]]:
        """List the tunnels of RSVP-TE by head end; none where paths are static."""
        tunnels: dict[str, list[Tunnel]] = {}
        if not self._is_signalled:
            return tunnels
        arcs = {name: index for index, name in enumerate(self._resolved.arc_by_name)}
        repairs, protects, standbys, rerouted = self._read_protections(arcs)
        protection_of = {
            each.backup: name for name, each in self._resolved.protections.items() if each.backup
        }
        for name, path in self._resolved.paths.items():
            route = self._resolved.routes.get(name)
            if route is None or name in self._resolved.policies:
                continue
            hops = tuple(
                TunnelHop(
                    each.arc.target, self._interface_of_link[arcs[each.arc.name]].far_address.ip
                )
                for each in route.crossings
            )
            repair, share = repairs.get(name, ("", False))
            tunnels.setdefault(route.nodes[0], []).append(
                Tunnel(
                    name,
                    self._router_ids[self._nodes.index(route.nodes[-1])],
                    hops,
                    self._resolved.reservations.get(name, (0, 0))[0],
                    path.setup,
                    path.hold,
                    path.include_any,
                    path.include_all,
                    path.exclude,
                    repair,
                    share,
                    tuple(protects.get(name, {})),
                    tuple(standbys.get(name, ())),
                    name in rerouted,
                    protection_of.get(name, ""),
                )
            )
        return tunnels

    def _read_protections(
        self, arcs: Mapping[str, int]
    ) -> tuple[
        dict[str, tuple[str, bool]],
        dict[str, dict[RouterInterface, None]],
        dict[str, list[tuple[str, str]]],
        set[str],
    ]:
        """Read the repairs of paths, interfaces by bypass, backups by path, rerouted paths."""
        repairs: dict[str, tuple[str, bool]] = {}
        protects: dict[str, dict[RouterInterface, None]] = {}
        standbys: dict[str, list[tuple[str, str]]] = {}
        rerouted: set[str] = set()
        for name, protection in self._resolved.protections.items():
            paths = [each for each in protection.path if each in self._resolved.routes]
            if protection.kind == "restoration":
                rerouted.update(paths)
            elif protection.kind == "backup" and protection.backup:
                for path in paths:
                    standbys.setdefault(path, []).append((name, protection.backup))
            elif protection.kind == "facility-bypass" and protection.backup:
                self._read_bypass(protection, paths, arcs, repairs, protects)
            elif protection.kind in ("detour", "one-plus-one"):
                head = self._resolved.routes[paths[0]].nodes[0] if paths else self._nodes[0]
                nearest = "facility-bypass" if protection.kind == "detour" else "backup"
                self._omit(
                    head,
                    f"protection {name}: {protection.kind}",
                    f"not written for routers; nearest: {nearest}",
                    "protections",
                    name,
                    "kind",
                )
            self._check_timers(name, protection, paths)
        return repairs, protects, standbys, rerouted

    def _check_timers(self, name: str, protection: Protection, paths: list[str]) -> None:
        head = self._resolved.routes[paths[0]].nodes[0] if paths else self._nodes[0]
        self._omit(
            head,
            f"protection {name}: detection by {protection.detection.kind}",
            "a router learns of a failure as its line cards do; nearest: none",
            "protections",
            name,
            "detection",
            changes=False,
        )
        for key in ("hold_off", "wait_to_restore", "switch", "processing", "compute", *_SWITCHES):
            if getattr(protection, key) != _SWITCHES.get(key, 0):
                self._omit(
                    head,
                    f"protection {name}: {key}",
                    "routers take the time that they take; nearest: none",
                    "protections",
                    name,
                    key,
                    changes=False,
                )

    def _read_bypass(
        self,
        protection: Protection,
        paths: list[str],
        arcs: Mapping[str, int],
        repairs: dict[str, tuple[str, bool]],
        protects: dict[str, dict[RouterInterface, None]],
    ) -> None:
        assert protection.backup is not None
        backup = self._resolved.routes[protection.backup].nodes
        for path in paths:
            for crossing in self._resolved.routes[path].crossings:
                if crossing.arc.source != backup[0]:
                    continue
                interface = self._interface_of_link[arcs[crossing.arc.name]]
                protects.setdefault(protection.backup, {})[interface] = None
                kind = "link" if crossing.arc.target == backup[-1] else "node"
                known, share = repairs.get(path, ("", False))
                repairs[path] = (
                    "node" if "node" in (kind, known) else kind,
                    share or bool(protection.bandwidth),
                )

    def _list_labels(self) -> dict[int, list[StaticLabelEntry]]:
        """Label entries by node, as far as they are set by hand."""
        entries: dict[int, list[StaticLabelEntry]] = {}
        names = [each["name"] for each in self._network["paths"]]
        srgb = self._resolved.written.te.srgb
        seen: set[tuple[int, int]] = set()
        pairs: list[tuple[int, int | None, int]] = [
            (each["node"], None, each["nhlfe"]) for each in self._network["ftn"]
        ]
        pairs += [(each["node"], each["label"], each["nhlfe"]) for each in self._network["ilm"]]
        for node, label, index in pairs:
            entry = self._network["nhlfe"][index]
            if not 0 <= entry["path"] < len(names):
                continue
            path = names[entry["path"]]
            if path in self._resolved.policies or (label is None and (node, index) in seen):
                continue
            seen.add((node, index))
            if (
                label is not None
                and self._resolved.policies
                and (srgb <= label < srgb + len(self._nodes))
            ):
                self._omit(
                    self._nodes[node],
                    f"path {path}: label {label}",
                    f"it lies in the block of node labels, {srgb} to "
                    f"{srgb + len(self._nodes) - 1}; nearest: {srgb + len(self._nodes)}",
                    "paths",
                    path,
                    "labels",
                )
            link = entry["link"]
            entries.setdefault(node, []).append(
                StaticLabelEntry(
                    path,
                    label,
                    tuple(entry["push"]),
                    None if link is None else self._interface_of_link[link],
                )
            )
        return entries

    def _list_policies(self) -> dict[str, list[SegmentPolicy]]:
        policies: dict[str, list[SegmentPolicy]] = {}
        resolved = self._resolved
        arcs = {name: index for index, name in enumerate(resolved.arc_by_name)}
        for colour, (name, segments) in enumerate(resolved.policies.items(), start=1):
            hops = []
            for segment in segments:
                if segment.arc is None:
                    label = segment_labels.get_node_label(resolved, segment.node)
                    address = self._router_ids[self._nodes.index(segment.node)]
                else:
                    label = segment_labels.get_adjacency_label(resolved, segment.arc)
                    address = self._interface_of_link[arcs[segment.arc]].far_address.ip
                hops.append(PolicyHop(label, address, segment.arc is not None))
            endpoint = self._router_ids[self._nodes.index(segments[-1].node)]
            head = resolved.routes[name].nodes[0]
            policies.setdefault(head, []).append(SegmentPolicy(name, endpoint, colour, tuple(hops)))
        return policies

    def _list_steering(self) -> dict[int, list[Steering]]:
        """List the packets for each path at its head: routers match destination and DSCP."""
        names = [each["name"] for each in self._network["paths"]]
        targets: dict[int, dict[int, None]] = {}
        for flow in self._network["flows"]:
            targets.setdefault(flow["fec"], {})[flow["dst"]] = None
            targets.setdefault(flow["fec_reverse"], {})[flow["src"]] = None
        steering: dict[int, list[Steering]] = {}
        taken: dict[tuple[int, int, int], str] = {}
        conflicts: dict[tuple[int, str], str] = {}
        for entry in self._network["ftn"]:
            index = self._network["nhlfe"][entry["nhlfe"]]["path"]
            if not 0 <= index < len(names):
                continue
            dscps = tuple(entry.get("dscps") or range(_ALL_DSCPS))
            for target in targets.get(entry["fec"], ()):
                if target == entry["node"]:
                    continue
                other = {taken.get((entry["node"], target, dscp)) for dscp in dscps} - {None}
                if other - {names[index]}:
                    conflicts[entry["node"], names[index]] = str(min(other - {names[index]}))  # type: ignore[type-var]
                    continue
                if other:
                    continue
                for dscp in dscps:
                    taken[entry["node"], target, dscp] = names[index]
                steering.setdefault(entry["node"], []).append(
                    Steering(
                        names[index],
                        self._nodes[target],
                        self._router_ids[target],
                        () if len(dscps) == _ALL_DSCPS else dscps,
                    )
                )
        for (node, path), rival in conflicts.items():
            self._omit_in_hardware(
                self._nodes[node],
                f"path {path}: its flows by name",
                f"routers choose a path by destination and DSCP, and path {rival} has the same; "
                "nearest: one DSCP for each path",
                "paths",
                path,
            )
        return steering

    def _map_imposition(self) -> dict[str, dict[int, int]]:
        """TC by DSCP that each head end writes, where it is not the first three bits."""
        maps: dict[str, dict[int, int]] = {}
        for name, path in self._resolved.paths.items():
            if path.diffserv is None or name not in self._resolved.routes:
                continue
            head = self._resolved.routes[name].nodes[0]
            if path.diffserv.kind == "l-lsp":
                self._omit_in_hardware(
                    head,
                    f"path {name}: l-lsp",
                    "routers read the class of a labelled packet from its TC; nearest: e-lsp with "
                    "a map",
                    "paths",
                    name,
                    "diffserv",
                )
                continue
            tcs = dict(enumerate(path.diffserv.list_tcs_by_dscp()))
            if maps.setdefault(head, tcs) != tcs:
                self._omit_in_hardware(
                    head,
                    f"path {name}: a map of its own",
                    "a router writes one TC for a DSCP; nearest: one map for all paths",
                    "paths",
                    name,
                    "diffserv",
                )
        standard = {dscp: dscp >> 3 for dscp in range(_ALL_DSCPS)}
        return {head: tcs for head, tcs in maps.items() if tcs != standard}

    def _check_protocols(self) -> None:
        """Note the differences of protocols: routers signal where the scenario has tables."""
        signalling = self._resolved.signalling
        if self._is_signalled and signalling.kind != "rsvp-te":
            for name, route in self._resolved.routes.items():
                if name in self._resolved.policies:
                    continue
                self._omit(
                    route.nodes[0],
                    f"path {name}: labels set by hand",
                    "protected paths are tunnels of RSVP-TE, which hands out labels; nearest: "
                    "signalling: rsvp-te",
                    "paths",
                    name,
                    changes=False,
                )
            for name in self._resolved.protections:
                self._omit(
                    self._nodes[0],
                    f"protection {name}: without signalling",
                    "routers protect paths by RSVP-TE; nearest: signalling: rsvp-te",
                    "protections",
                    name,
                    changes=False,
                )
        if self._resolved.routing.ospf is not None:
            self._omit(
                self._nodes[0],
                "routing: ospf",
                "all routers run OSPF, and `import` reads the routes as fixed; nearest: none",
                "routing",
                changes=False,
            )
            for name in self._resolved.policies:
                self._omit(
                    self._resolved.routes[name].nodes[0],
                    f"path {name}: node labels of routers off its way",
                    "routers hand them out by OSPF; nearest: none",
                    "paths",
                    name,
                    "labels",
                    changes=False,
                )
        for name, protection in self._resolved.protections.items():
            if protection.kind == "ti-lfa" and protection.backup:
                self._omit(
                    self._nodes[0],
                    f"protection {name}: its repair list {protection.backup}",
                    "routers compute theirs (RFC 9855); nearest: none",
                    "paths",
                    protection.backup,
                    changes=False,
                )
        routing = self._resolved.routing
        if self._is_signalled or routing.ospf is not None or routing.ldp is not None:
            self._omit(
                self._nodes[0],
                "times of messages: detection, processing, flooding, refresh",
                "routers take the time that they take; nearest: none",
                "signalling",
                changes=False,
            )

    def _check_heads(self) -> None:
        """Note the paths that nothing enters: events alone use them, and those are no router's."""
        signalling = self._network.get("signalling")
        rsvp = signalling.get("rsvp") if signalling else None
        sessions = {each["name"] for each in rsvp["sessions"]} if rsvp else set()
        entered = {self._network["nhlfe"][each["nhlfe"]]["path"] for each in self._network["ftn"]}
        for index, path in enumerate(self._network["paths"]):
            name = path["name"]
            is_set_up = name in sessions or (self._is_signalled and not sessions)
            if index not in entered and name in self._resolved.routes and not is_set_up:
                self._omit(
                    self._resolved.routes[name].nodes[0],
                    f"path {name}: its head end",
                    "no trunk puts packets on it, so no entry pushes its label; nearest: a trunk",
                    "paths",
                    name,
                    changes=False,
                )

    def _check_paths(self) -> None:
        hidden = {name for name, path in self._resolved.paths.items() if path.ttl != "uniform"}
        if hidden and len(hidden) < len(self._resolved.paths):
            for name, path in self._resolved.paths.items():
                if path.ttl == "uniform" and name in self._resolved.routes:
                    self._omit_in_hardware(
                        self._resolved.routes[name].nodes[0],
                        f"path {name}: ttl uniform where others have pipe",
                        "a router hides the TTL of all paths or of none; nearest: pipe",
                        "paths",
                        name,
                        "ttl",
                    )
        for name, path in self._resolved.paths.items():
            if self._is_signalled and name in self._resolved.routes and not path.php:
                self._omit(
                    self._resolved.routes[name].nodes[0],
                    f"path {name}: php off",
                    "tail ends ask for implicit or explicit null; nearest: explicit_null",
                    "paths",
                    name,
                    "php",
                    changes=False,
                )
        if self._resolved.routing.ecmp:
            self._omit(
                self._nodes[0],
                f"ecmp: {self._resolved.routing.ecmp}",
                "the hash fields of a router are set on its line cards; nearest: its default",
                "routing",
                "ecmp",
                changes=False,
            )

    def _read_igp(self) -> LinkStateRouting:
        ospf = self._resolved.routing.ospf
        repairs = any(each.kind == "ti-lfa" for each in self._resolved.protections.values())
        if ospf is None:
            return LinkStateRouting(repairs_prefixes=repairs)
        spf = ospf.spf
        times = (
            (spf.initial, spf.second, spf.maximum)
            if spf.kind == "backoff"
            else (spf.initial, spf.short, spf.long)
        )
        hello = max(1, round(ospf.hello / _NS_PER_S)) if ospf.hello else 10
        return LinkStateRouting(
            hello,
            max(1, round(ospf.dead_interval / _NS_PER_S)) if ospf.hello else 4 * hello,
            (times[0] // _NS_PER_MS, times[1] // _NS_PER_MS, times[2] // _NS_PER_MS),
            ospf.lsa_interval // _NS_PER_MS,
            repairs,
        )
