"""pyNTM: model files of the Python network traffic modeler, tables of interfaces and demands."""

import re

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.directions import join_one_way_links
from trunkline.importers.network.fields import (
    are_geographic,
    find_node_key,
    metric,
    parse_count,
    parse_number,
)
from trunkline.importers.network.tables import make_rows
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedLink,
    ImportedNode,
    ImportedTopology,
)

TABLE_NAME = re.compile(r"([A-Z_]+_TABLE)[,\t ]*\Z")


def parse_model(content: str) -> FileElement:
    """Read the tables of a model file: a name, a header, rows.

    Raises ImportFault: A row comes before the first table.
    """
    root = FileElement("", 1)
    table: FileElement | None = None
    header: list[str] = []
    for line, raw in enumerate(content.splitlines(), 1):
        start = TABLE_NAME.match(raw.strip())
        if start is not None:
            table, header = root.add(start[1], line=line), []
        elif raw.strip() and table is None:
            raise ImportFault(line, 1, "a table begins with its name, as INTERFACES_TABLE")
        elif raw.strip() and table is not None:
            # Files mix tabs and spaces.
            words = [each.strip() for each in raw.split("," if "," in raw else None)]
            rows = [] if words[0].startswith("#") else [(line, words)]
            if header:
                make_rows(rows, header, "row", table)
            elif rows:
                header = rows[0][1]
    return root


def read_model(root: FileElement, title: str) -> ImportedTopology:
    """Read a model: interfaces are the directions of links; nothing has a unit.

    Raises ImportFault: An interface has no way back, a demand names an unknown node, or a value is
        no number.
    """
    topology = ImportedTopology(title)
    for row in root.find_all("NODES_TABLE", "row"):
        name, x, y = row.take_text("name"), row.take_text("lon"), row.take_text("lat")
        place = (parse_number(x, "lon", row.line), parse_number(y, "lat", row.line))\
            if x and y else None  # fmt: skip
        topology.nodes[name] = ImportedNode(name, place, row.line)
    links = []
    for row in root.find_all("INTERFACES_TABLE", "row"):
        ends = [row.take_text(f"{end}node_object_name") for end in ("", "remote_")]
        for name in ends:
            topology.nodes.setdefault(name, ImportedNode(name, line=row.line))
        link = ImportedLink(ends[0], ends[1], unit=None, line=row.line)
        link.metric = metric(parse_count(row.take_text("cost"), "cost", row.line), "cost", row.line)
        link.capacity = parse_number(row.take_text("capacity"), "capacity", row.line)
        row.leave_out_children("interfaces have no names in a scenario", "name")
        links.append(link)
    topology.links, alone = join_one_way_links(links)
    if alone:
        ends_text = f"{alone[0].source} to {alone[0].target}"
        raise ImportFault(alone[0].line, 1, f"the interface from {ends_text} has no way back")
    for row in root.find_all("DEMANDS_TABLE", "row"):
        source, target = (
            find_node_key(row.take_text(end), topology.nodes, row.line)
            for end in ("source", "dest")
        )
        value = parse_number(row.take_text("traffic"), "traffic", row.line)
        row.leave_out_children("a demand is named after its ends", "name")
        topology.demands.append(ImportedDemand(source, target, value, line=row.line))
    root.leave_out_children("paths are computed", "RSVP_LSP_TABLE")
    topology.geographic = are_geographic(node.place for node in topology.nodes.values())
    return topology
