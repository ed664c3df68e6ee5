"""Paths: tunnels with explicit routes, segment lists, static LSPs."""

import math
from typing import Final

from trunkline.routers.openconfig.interfaces import name_interface
from trunkline.routers.openconfig.json_entries import Json, make_entry
from trunkline.routers.router_config import (
    Router,
    SegmentPolicy,
    StaticLabelEntry,
    TargetFiles,
    Tunnel,
)

_MIN_LABEL: Final = 16
_MAX_EXPLICIT_HOPS: Final = 255


def make_tunnel(files: TargetFiles, router: Router, tunnel: Tunnel) -> Json:
    """Make a tunnel that RSVP-TE sets up."""
    kbps = math.ceil(tunnel.bandwidth / 1000)
    files.note_rounding(
        router.name, f"path {tunnel.name}", "bandwidth", tunnel.bandwidth, kbps * 1000, "bit/s"
    )
    style = {
        "": "UNPROTECTED",
        "link": "LINK_PROTECTION_REQUIRED",
        "node": "LINK_NODE_PROTECTION_REQUESTED",
    }[tunnel.repair]
    primary: Json = make_entry(
        "name",
        tunnel.name,
        **{
            "path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED",
            "use-cspf": False,
            "explicit-path-name": tunnel.name,
            "setup-priority": tunnel.setup,
            "hold-priority": tunnel.hold,
        },
    )
    groups = {
        "include-any-group": tunnel.include_any,
        "include-all-group": tunnel.include_all,
        "exclude-group": tunnel.exclude,
    }
    named = {key: list(colours) for key, colours in groups.items() if colours}
    if named:
        primary["admin-groups"] = {"config": named}
    attributes: Json = {
        "config": {"destination": str(tunnel.destination)},
        "p2p-primary-path": {"p2p-primary-path": [primary]},
    }
    if tunnel.standby:
        attributes["p2p-secondary-paths"] = {
            "p2p-secondary-path": [
                make_entry(
                    "name",
                    name,
                    **{
                        "path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED",
                        "explicit-path-name": name,
                    },
                )
                for name in tunnel.standby
            ]
        }
        primary["candidate-secondary-paths"] = {
            "candidate-secondary-path": [
                make_entry("secondary-path", name, priority=rank)
                for rank, name in enumerate(tunnel.standby, 1)
            ]
        }
    if tunnel.protects:
        around = ", ".join(each.arc for each in tunnel.protects)
        files.omit(
            router.name,
            f"path {tunnel.name}: bypass of {around}",
            "the model asks for protection and leaves the bypass to the router; the tunnel has "
            "its duty in its description alone",
            ("protections", tunnel.protection),
            changes_design=False,
        )
    description = _describe_protections(tunnel)
    return make_entry(
        "name",
        tunnel.name,
        **{
            **({"description": description} if description else {}),
            "type": "openconfig-mpls-types:P2P",
            "signaling-protocol": "openconfig-mpls-types:PATH_SETUP_RSVP",
            "source": str(router.router_id),
            "setup-priority": tunnel.setup,
            "hold-priority": tunnel.hold,
            "shortcut-eligible": any(each.path == tunnel.name for each in router.steering),
            "protection-style-requested": f"openconfig-mpls-types:{style}",
        },
    ) | {
        "bandwidth": {"config": {"specification-type": "SPECIFIED", "set-bandwidth": str(kbps)}},
        "p2p-tunnel-attributes": attributes,
    }


def _describe_protections(tunnel: Tunnel) -> str:
    """Describe the backups of a tunnel and the links that it goes around, for `import`."""
    duties = [f"protection {name}: backup {backup}" for name, backup in tunnel.backups]
    if tunnel.protects:
        around = ", ".join(name_interface(each) for each in tunnel.protects)
        duties.append(f"protection {tunnel.protection}: bypass of {around}")
    return "; ".join(duties)


def make_policy_tunnel(router: Router, policy: SegmentPolicy) -> Json:
    """Make a segment routing policy as a tunnel that segments set up."""
    return make_entry(
        "name",
        policy.name,
        **{
            "type": "openconfig-mpls-types:P2P",
            "signaling-protocol": "openconfig-mpls-types:PATH_SETUP_SR",
            "source": str(router.router_id),
            "shortcut-eligible": any(each.path == policy.name for each in router.steering),
        },
    ) | {
        "p2p-tunnel-attributes": {
            "config": {"destination": str(policy.endpoint)},
            "p2p-primary-path": {
                "p2p-primary-path": [
                    make_entry(
                        "name",
                        policy.name,
                        **{
                            "path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED",
                            "explicit-path-name": policy.name,
                        },
                    )
                ]
            },
        }
    }


def make_explicit_path(name: str, addresses: list[str], hop_type: str) -> Json:
    """Make a named route of addresses."""
    hops = [
        make_entry("index", index, address=address, **{"hop-type": hop_type})
        for index, address in enumerate(addresses[:_MAX_EXPLICIT_HOPS], 1)
    ]
    return make_entry("name", name) | {"explicit-route-objects": {"explicit-route-object": hops}}


def make_segment_path(policy: SegmentPolicy) -> Json:
    """Make a named route of segments: strict over a link, loose to a node."""
    hops = [
        make_entry(
            "index",
            index,
            address=str(hop.address),
            **{"hop-type": "STRICT" if hop.is_adjacency else "LOOSE"},
        )
        for index, hop in enumerate(policy.hops, 1)
    ]
    return make_entry("name", policy.name) | {
        "explicit-route-objects": {"explicit-route-object": hops}
    }


def list_static_lsps(files: TargetFiles, router: Router) -> list[Json]:
    """List the label entries that are set by hand."""
    lsps: list[Json] = []
    counts: dict[str, int] = {}
    for entry in router.labels:
        if len(entry.out_labels) > 1:
            reason = (
                "a static LSP pushes one label; nearest: RSVP-TE, or a path that rides no tunnel"
            )
            files.omit_label_stack(router, entry, reason)
            continue
        counts[entry.path] = counts.get(entry.path, 0) + 1
        rank = counts[entry.path]
        name = entry.path if rank == 1 else f"{entry.path}.{rank}"
        lsps.append(make_entry("name", name) | _make_static_hop(entry))
    return lsps


def _make_static_hop(entry: StaticLabelEntry) -> Json:
    config: Json = {}
    if entry.in_label is not None:
        config["incoming-label"] = entry.in_label
    if entry.interface is None:
        return {"egress": {"config": config}}
    config["next-hop"] = str(entry.interface.far_address.ip)
    label = entry.out_labels[0] if entry.out_labels else None
    config["push-label"] = (
        "IMPLICIT_NULL" if label is None else "IPV4_EXPLICIT_NULL" if label < _MIN_LABEL else label
    )
    return {"ingress" if entry.in_label is None else "transit": {"config": config}}
