"""Rocketfuel: maps of networks, `.cch` (Spring, Mahajan, Wetherall, SIGCOMM 2002)."""

import re

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology

ROUTER_LINE = re.compile(
    r"(?P<uid>-?\d+)\s+@(?P<location>\S+)\s*(?P<flags>(?:\+\s*)?(?:bb\s*)?)\((?P<degree>\d+)\)\s*"
    r"(?P<external_count>&\d+\s*)?->\s*(?P<neighbours>(?:<\d+>\s*)*)"
    r"(?P<externals>(?:\{-\d+\}\s*)*)(?:=(?P<name>\S+))?\s*(?P<radius>r\d+)?\s*\Z"
)
"""A router: number, place, neighbours, links out of the network, name, distance from the core."""

EXTERNAL_LINE = re.compile(r"-\d+\s+=?\S*")


def parse_map(content: str) -> FileElement:
    """Read the lines of a map. Raises ImportFault: A line is no router."""
    root = FileElement("", 1)
    for line, raw in enumerate(content.splitlines(), 1):
        text = raw.strip()
        if not text or text.startswith("#"):
            continue
        match = ROUTER_LINE.match(text)
        if match is None and EXTERNAL_LINE.match(text):
            root.add("external", text, line)
            continue
        if match is None:
            raise ImportFault(line, 1, "a line of a map is UID @PLACE (COUNT) -> <UID> ... =NAME")
        router = root.add("router", line=line)
        for key, value in match.groupdict().items():
            if key == "neighbours":
                for uid in re.findall(r"\d+", value):
                    router.add("neighbour", uid, line)
            elif value and value.strip():
                router.add(key, value.strip(), line)
    return root


def read_map(root: FileElement, title: str) -> ImportedTopology:
    """Read a map, whose links have neither capacity nor delay.

    Raises ImportFault: A router names an unknown neighbour.
    """
    topology = ImportedTopology(title)
    root.leave_out_children("addresses outside the network", "external")
    routers = root.find_all("router")
    for router in routers:
        uid, place = router.take_text("uid"), router.take_text("location")
        topology.nodes[uid] = ImportedNode(f"{place.partition(',')[0]}_{uid}", line=router.line)
        router.leave_out_children("links out of the network", "externals", "external_count")
        router.leave_out_children("counted from the links", "degree")
    seen: set[tuple[str, str]] = set()
    for router in routers:
        uid = router.take_text("uid")
        for neighbour in router.find_all("neighbour"):
            other = str(neighbour.value)
            if other not in topology.nodes:
                neighbour.leave_out("the map has no line for this router")
            elif (other, uid) in seen:
                seen.remove((other, uid))
            else:
                seen.add((uid, other))
                topology.links.append(ImportedLink(uid, other, line=router.line))
    topology.account.add_assumption(
        "directions", "a link is listed by both of its routers", count=len(topology.links)
    )
    return topology
