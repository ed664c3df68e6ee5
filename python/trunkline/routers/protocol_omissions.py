"""Differences between a design and routers: protocols, times, and paths that nothing enters."""

from typing import Final

from trunkline.routers.design import RouterDesign
from trunkline.scenario.recovery import Protection

_SWITCHES: Final = {"revertive": True, "make_before_break": True}
"""Switches of a protection as routers have them."""
_TIMES: Final = ("hold_off", "wait_to_restore", "switch", "processing", "compute", *_SWITCHES)


def note_protection_times(
    design: RouterDesign, name: str, protection: Protection, head: str
) -> None:
    """Note how a protection detects and waits, which routers do in their way."""
    design.omit(
        head,
        f"protection {name}: detection by {protection.detection.kind}",
        "a router learns of a failure as its line cards do; nearest: none",
        "protections",
        name,
        "detection",
        changes=False,
    )
    for key in _TIMES:
        if getattr(protection, key) != _SWITCHES.get(key, 0):
            design.omit(
                head,
                f"protection {name}: {key}",
                "routers take the time that they take; nearest: none",
                "protections",
                name,
                key,
                changes=False,
            )


def note_paths(design: RouterDesign) -> None:
    """Note what routers have for all paths or for none, and how tails end paths."""
    resolved = design.resolved
    hidden = {name for name, path in resolved.paths.items() if path.ttl != "uniform"}
    if hidden and len(hidden) < len(resolved.paths):
        for name, path in resolved.paths.items():
            if path.ttl == "uniform" and name in resolved.routes:
                design.omit_in_hardware(
                    name,
                    "ttl uniform where others have pipe",
                    "a router hides the TTL of all paths or of none; nearest: pipe",
                    "ttl",
                )
    for name, path in resolved.paths.items():
        if design.is_signalled and name in resolved.routes and not path.php:
            design.omit_of_path(
                name,
                "php off",
                "tail ends ask for implicit or explicit null; nearest: explicit_null",
                "php",
            )
    if resolved.routing.ecmp:
        design.omit_of_network(
            f"ecmp: {resolved.routing.ecmp}",
            "the hash fields of a router are set on its line cards; nearest: its default",
            "routing",
            "ecmp",
        )


def note_protocols(design: RouterDesign) -> None:
    """Note the differences of protocols: routers signal where the scenario has tables."""
    resolved = design.resolved
    if design.is_signalled and resolved.signalling.kind != "rsvp-te":
        for name in resolved.routes:
            if name not in resolved.policies:
                design.omit_of_path(
                    name,
                    "labels set by hand",
                    "protected paths are tunnels of RSVP-TE, which hands out labels; nearest: "
                    "signalling: rsvp-te",
                )
        for name in resolved.protections:
            design.omit_of_network(
                f"protection {name}: without signalling",
                "routers protect paths by RSVP-TE; nearest: signalling: rsvp-te",
                "protections",
                name,
            )
    if resolved.routing.ospf is not None:
        design.omit_of_network(
            "routing: ospf",
            "all routers run OSPF, and `import` reads the routes as fixed; nearest: none",
            "routing",
        )
        for name in resolved.policies:
            design.omit_of_path(
                name,
                "node labels of routers off its way",
                "routers hand them out by OSPF; nearest: none",
                "labels",
            )
    for name, protection in resolved.protections.items():
        if protection.kind == "ti-lfa" and protection.backup:
            design.omit_of_network(
                f"protection {name}: its repair list {protection.backup}",
                "routers compute theirs (RFC 9855); nearest: none",
                "paths",
                protection.backup,
            )
    if design.is_signalled or resolved.routing.ospf is not None or resolved.routing.ldp is not None:
        design.omit_of_network(
            "times of messages: detection, processing, flooding, refresh",
            "routers take the time that they take; nearest: none",
            "signalling",
        )


def note_unused_heads(design: RouterDesign) -> None:
    """Note the paths that nothing enters: events alone use them, and those are no router's."""
    signalling = design.network.get("signalling")
    rsvp = signalling.get("rsvp") if signalling else None
    sessions = {each["name"] for each in rsvp["sessions"]} if rsvp else set()
    entered = {design.network["nhlfe"][each["nhlfe"]]["path"] for each in design.network["ftn"]}
    for index, path in enumerate(design.network["paths"]):
        name = path["name"]
        is_set_up = name in sessions or (design.is_signalled and not sessions)
        if index not in entered and name in design.resolved.routes and not is_set_up:
            design.omit_of_path(
                name,
                "its head end",
                "no trunk puts packets on it, so no entry pushes its label; nearest: a trunk",
            )
