"""Static routes of routers' configurations, in the words of a scenario."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.importers.network.paths import AddressBook
from trunkline.importers.network.topology import ImportedTopology
from trunkline.scenario.routing import IGP_DISTANCE

_ALL = "0.0.0.0/0"


def has_backup_routes(topology: ImportedTopology) -> bool:
    """Whether some static routes wait for another route to fail: routes have to follow failures."""
    for routes in topology.routes.values():
        targets = [each["to"] for each in routes]
        backups = [
            each for each in routes if each["to"] == "all" or each.get("distance", 1) > IGP_DISTANCE
        ]
        if len(set(targets)) < len(targets) or (topology.runs_igp and backups):
            return True
    return False


@dataclass(frozen=True)
class StaticRouteEntry:
    """A static route as its router has it."""

    router: str
    prefix: str  # Router id of its destination with /32, or 0.0.0.0/0.
    next_hop: str  # Address of the far end of a link.
    distance: int


def add_static_routes(
    topology: ImportedTopology,
    entries: Sequence[StaticRouteEntry],
    book: AddressBook,
    *,
    has_ospf: bool,
) -> None:
    """Put static routes into a topology; without OSPF its routers have no others.

    Then the routes to neighbours with the distance of an IGP are those that every router knows.
    """
    topology.runs_igp = has_ospf or not entries
    for each in entries:
        link, neighbour = book.ends.get(each.next_hop, (-1, ""))
        target = "all" if each.prefix == _ALL else book.routers.get(each.prefix.removesuffix("/32"))
        if target is None or link < 0:
            reason = "its destination or its next hop is no router of the network"
            topology.account.add_left_out(f"static route {each.prefix} of {each.router}", reason)
            continue
        if not topology.runs_igp and each.distance == IGP_DISTANCE and target == neighbour:
            continue
        keys: dict[str, Any] = {"to": target, "via": link}
        if each.distance != 1:
            keys["distance"] = each.distance
        topology.routes.setdefault(each.router, []).append(keys)
