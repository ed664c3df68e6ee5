"""Tunnels of RSVP-TE: the paths of a design that signals or protects them, with their backups."""

from collections import defaultdict
from dataclasses import dataclass, field

from trunkline.routers.design import RouterDesign
from trunkline.routers.protocol_omissions import note_protection_times
from trunkline.routers.router_config import RouterInterface, Tunnel, TunnelHop


@dataclass
class PathProtections:
    """Protections of a design as head ends configure them, by path."""

    # Repair that a path requests ("link", "node" or nothing), and whether with its bandwidth.
    repairs: dict[str, tuple[str, bool]] = field(default_factory=dict)
    # Interfaces that a bypass tunnel protects, in order.
    protects: defaultdict[str, dict[RouterInterface, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    # Name of the protection and backup of a path.
    standbys: defaultdict[str, list[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    rerouted: set[str] = field(default_factory=set)  # Paths that are computed after a failure.


def list_tunnels(design: RouterDesign) -> dict[str, list[Tunnel]]:
    """List the tunnels of RSVP-TE by head end; none where paths are static."""
    tunnels: dict[str, list[Tunnel]] = {}
    if not design.is_signalled:
        return tunnels
    resolved = design.resolved
    protections = _read_protections(design)
    protection_of = {
        each.backup: name for name, each in resolved.protections.items() if each.backup
    }
    for name, path in resolved.paths.items():
        route = resolved.routes.get(name)
        if route is None or name in resolved.policies:
            continue
        hops = tuple(
            TunnelHop(each.arc.target, design.get_interface(each.arc.name).far_address.ip)
            for each in route.crossings
        )
        repair, share = protections.repairs.get(name, ("", False))
        tunnels.setdefault(route.nodes[0], []).append(
            Tunnel(
                name,
                design.router_ids[design.nodes.index(route.nodes[-1])],
                hops,
                resolved.get_reservation(name)[0],
                path.setup,
                path.hold,
                path.include_any,
                path.include_all,
                path.exclude,
                repair,
                share,
                tuple(protections.protects.get(name, ())),
                tuple(protections.standbys.get(name, ())),
                name in protections.rerouted,
                protection_of.get(name, ""),
            )
        )
    return tunnels


def _read_protections(design: RouterDesign) -> PathProtections:
    """Read the protections, and note those that routers do not have."""
    found = PathProtections()
    for name, protection in design.resolved.protections.items():
        paths = [each for each in protection.path if each in design.resolved.routes]
        head = design.get_head(paths[0]) if paths else design.nodes[0]
        if protection.kind == "restoration":
            found.rerouted.update(paths)
        elif protection.kind == "backup" and protection.backup:
            for path in paths:
                found.standbys[path].append((name, protection.backup))
        elif protection.kind == "facility-bypass" and protection.backup:
            _read_bypass(design, protection.backup, bool(protection.bandwidth), paths, found)
        elif protection.kind in ("detour", "one-plus-one"):
            nearest = "facility-bypass" if protection.kind == "detour" else "backup"
            design.omit(
                head,
                f"protection {name}: {protection.kind}",
                f"not written for routers; nearest: {nearest}",
                "protections",
                name,
                "kind",
            )
        note_protection_times(design, name, protection, head)
    return found


def _read_bypass(
    design: RouterDesign, bypass: str, has_bandwidth: bool, paths: list[str], found: PathProtections
) -> None:
    """Read which interfaces a bypass protects, and the repair that its paths request."""
    nodes = design.resolved.routes[bypass].nodes
    for path in paths:
        for crossing in design.resolved.routes[path].crossings:
            if crossing.arc.source != nodes[0]:
                continue
            found.protects[bypass][design.get_interface(crossing.arc.name)] = None
            kind = "link" if crossing.arc.target == nodes[-1] else "node"
            known, share = found.repairs.get(path, ("", False))
            repair = "node" if "node" in (kind, known) else kind
            found.repairs[path] = (repair, share or has_bandwidth)
