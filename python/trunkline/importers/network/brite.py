"""BRITE: topologies of the generator.

Source: Medina et al., "BRITE: An approach to universal topology generation", 2001; user
manual, section 6.
"""

import re

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.directions import join_listed_directions
from trunkline.importers.network.fields import delay, find_node_key, parse_number
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology

MBIT_BITS = 10**6  # bit/s: unit of bandwidths
MILLISECOND_NS = 10**6  # ns: unit of delays: a length in km over the speed of light

_SECTIONS = {
    "Nodes": ("node", "id x y indegree outdegree as type", 4),
    "Edges": ("edge", "id source target length delay bandwidth as_from as_to type direction", 6),
}


def parse_brite(content: str) -> FileElement:
    """Read the sections Nodes and Edges as rows of named fields.

    Raises ImportFault: A line has too few fields, or a section is shorter than it says.
    """
    root = FileElement("", 1)
    section = ""
    counts: dict[str, tuple[int, int]] = {}
    for line, raw in enumerate(content.splitlines(), 1):
        text = raw.strip()
        start = re.match(r"(\w+)\s*(?::\s*\(\s*(\d{1,9})\b|\(\d+ - )", text)
        if not text:
            continue
        if start is not None and not text[0].isdigit():
            section = start[1]
            if section in _SECTIONS:
                counts[section] = (int(start[2] or 0), line)
            else:
                root.add(section, text.partition(":")[2].strip(), line)
            continue
        if section not in _SECTIONS:
            root.add(f"line of {section}" if section else "line", text, line)
            continue
        kind, fields, field_count = _SECTIONS[section]
        words = text.split()
        if len(words) < field_count:
            why = f"{len(words)} fields; a line of {section} is {fields}"
            raise ImportFault(line, 1, why)
        row = root.add(kind, line=line)
        names = fields.split()
        for position, word in enumerate(words):
            name = names[position] if position < len(names) else f"field {position + 1}"
            row.add(name, word, line)
    for section, (count, line) in counts.items():
        found = sum(each.name == _SECTIONS[section][0] for each in root.children)
        if found != count:
            raise ImportFault(line, 1, f"{section} has {found} lines, not {count}")
    return root


def read_brite(root: FileElement, title: str) -> ImportedTopology:
    """Read a topology: bandwidths in Mbit/s, delays in ms, places in a plane.

    Raises ImportFault: A link names an unknown node, or a value is no number.
    """
    topology = ImportedTopology(title)
    root.find("Topology")
    for node in root.find_all("node"):
        x, y = (parse_number(node.take(axis), axis, node.line) for axis in ("x", "y"))
        key = node.take_text("id")
        if key in topology.nodes:
            raise ImportFault(node.line, 1, f"node {key} occurs twice")
        topology.nodes[key] = ImportedNode(key, (x, y), node.line)
        node.leave_out_children("counted from the links", "indegree", "outdegree")
    for edge in root.find_all("edge"):
        source, target = (
            find_node_key(edge.take_text(end), topology.nodes, edge.line)
            for end in ("source", "target")
        )
        bandwidth = parse_number(edge.take("bandwidth"), "the bandwidth", edge.line)
        link = ImportedLink(source, target, unit=MBIT_BITS, line=edge.line)
        # BRITE writes -1 where it gave no bandwidth.
        link.capacity = bandwidth if bandwidth >= 0 else None
        given_delay = parse_number(edge.take("delay"), "the delay", edge.line)
        if given_delay >= 0:
            link.delay = delay(given_delay * MILLISECOND_NS, "the delay", edge.line)
        edge.leave_out_children("the delay is given", "length")
        edge.find("id")
        topology.links.append(link)
    join_listed_directions(topology)
    return topology
