"""MPLS of a router: links of traffic engineering, signalling, and its paths."""

from trunkline.routers.openconfig.interfaces import name_interface
from trunkline.routers.openconfig.json_entries import Json, make_entry, refer_to_interface
from trunkline.routers.openconfig.paths import (
    list_static_lsps,
    make_explicit_path,
    make_policy_tunnel,
    make_segment_path,
    make_tunnel,
)
from trunkline.routers.router_config import Router, RouterInterface, RouterNetwork, TargetFiles


def make_mpls(files: TargetFiles, network: RouterNetwork, router: Router) -> Json:
    """Make the MPLS part of a router; note the features that the models lack."""
    names = [name_interface(each) for each in router.interfaces]
    mpls: Json = {
        "global": {
            "interface-attributes": {
                "interface": [
                    make_entry("interface-id", name, **{"mpls-enabled": True})
                    | {"interface-ref": refer_to_interface(name)}
                    for name in names
                ]
            }
        }
    }
    if network.colours or network.risks:
        mpls["te-global-attributes"] = _make_te_names(network)
    if network.is_signalled or network.colours or network.risks:
        mpls["te-interface-attributes"] = {
            "interface": [_make_te_interface(each) for each in router.interfaces]
        }
    if network.is_signalled:
        rsvp = [_make_rsvp_interface(files, router, each) for each in router.interfaces]
        mpls["signaling-protocols"] = {"rsvp-te": {"interface-attributes": {"interface": rsvp}}}
    if network.has_ldp:
        ldp = mpls.setdefault("signaling-protocols", {}).setdefault("ldp", {})
        ldp["global"] = {"config": {"lsr-id": str(router.router_id)}}
    lsps: Json = {}
    tunnels = [make_tunnel(files, router, each) for each in router.tunnels if not each.is_standby]
    tunnels += [make_policy_tunnel(router, each) for each in router.policies]
    if tunnels:
        routes = [
            make_explicit_path(each.name, [str(hop.address) for hop in each.hops], "STRICT")
            for each in router.tunnels
        ]
        routes += [make_segment_path(each) for each in router.policies]
        lsps["constrained-path"] = {
            "named-explicit-paths": {"named-explicit-path": routes},
            "tunnels": {"tunnel": tunnels},
        }
    if not network.is_signalled and router.labels:
        lsps["static-lsps"] = {"static-lsp": list_static_lsps(files, router)}
    if lsps:
        mpls["lsps"] = lsps
    _note_steering(files, network, router)
    _note_imposition(files, network, router)
    _note_repairs(files, network, router)
    return mpls


def _make_te_names(network: RouterNetwork) -> Json:
    return {
        "srlgs": {
            "srlg": [
                make_entry("name", risk, value=index) for index, risk in enumerate(network.risks, 1)
            ]
        },
        "mpls-admin-groups": {
            "admin-group": [
                make_entry("admin-group-name", colour, **{"bit-position": bit})
                for bit, colour in enumerate(network.colours)
            ]
        },
    }


def _make_te_interface(interface: RouterInterface) -> Json:
    name = name_interface(interface)
    entry = make_entry("interface-id", name, **{"te-metric": interface.te_metric})
    if interface.colours:
        entry["config"]["admin-group"] = list(interface.colours)
    if interface.risks:
        entry["config"]["srlg-membership"] = list(interface.risks)
    return entry | {"interface-ref": refer_to_interface(name)}


def _make_rsvp_interface(files: TargetFiles, router: Router, interface: RouterInterface) -> Json:
    name = name_interface(interface)
    entry = make_entry("interface-id", name) | {"interface-ref": refer_to_interface(name)}
    if interface.rate:
        percent = min(100, round(100 * interface.reservable / interface.rate))
        entry["subscription"] = {"config": {"subscription": percent}}
        files.note_rounding(
            router.name,
            f"link {interface.arc}",
            "reservable bandwidth",
            interface.reservable,
            percent * interface.rate / 100,
            "bit/s",
        )
    return entry


def add_segment_routing(
    files: TargetFiles, network: RouterNetwork, router: Router, instance: Json
) -> None:
    """Add the block of node labels to a router's instance."""
    assert network.srgb is not None
    first, last = network.srgb
    instance["mpls"]["global"]["reserved-label-blocks"] = {
        "reserved-label-block": [
            make_entry("local-id", "srgb", **{"lower-bound": first, "upper-bound": last})
        ]
    }
    instance["segment-routing"] = {
        "srgbs": {
            "srgb": [
                make_entry(
                    "local-id",
                    "srgb",
                    **{"dataplane-type": "MPLS", "mpls-label-blocks": ["srgb"]},
                )
            ]
        }
    }
    files.omit(
        router.name,
        f"node label {first + router.node_label_index}",
        "the model has prefix segments of IS-IS, not of OSPF",
        ("te", "srgb"),
        changes_design=False,
    )


def _note_steering(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    for each in router.steering:
        if each.dscps:
            reason = "the model has no choice of a tunnel by DSCP; nearest: iosxr, junos"
        elif not network.is_signalled and not network.srgb:
            reason = "the model has no FEC of a static LSP; nearest: signalling: rsvp-te"
        else:
            continue
        files.omit(
            router.name,
            f"path {each.path}: traffic to {each.destination}",
            reason,
            ("paths", each.path),
        )


def _note_repairs(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    if network.igp.repairs_prefixes:
        files.omit(
            router.name,
            "ti-lfa",
            "the model has no local repair of OSPF; nearest: iosxr, junos, frr",
            ("protections",),
        )


def _note_imposition(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    if router.imposition:
        path = router.steering[0].path if router.steering else ""
        files.omit(
            router.name,
            "traffic classes of pushed labels",
            "the model remarks what arrives, not what is pushed; nearest: diffserv without a map",
            ("paths", path, "diffserv") if path else ("paths",),
            changes_design=False,
        )
    if network.hides_ttl:
        files.omit(
            router.name,
            "ttl: pipe",
            "the model does not say whether labels hide the TTL",
            ("paths",),
            changes_design=False,
        )
