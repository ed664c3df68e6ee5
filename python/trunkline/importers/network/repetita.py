"""REPETITA: a topology (`.graph`) and its demands (`.demands`)."""

from collections.abc import Iterator

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.directions import join_one_way_links
from trunkline.importers.network.fields import (
    are_geographic,
    delay,
    metric,
    parse_count,
    parse_number,
)
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedLink,
    ImportedNode,
    ImportedTopology,
)

KBIT_BITS = 10**3  # bit/s: unit of bandwidths
MICROSECOND_NS = 10**3  # ns: unit of delays


def parse_graph(content: str) -> FileElement:
    """Read the sections of a `.graph` as rows of named fields; later lines are rows `line`.

    Raises ImportFault: A line has not the fields of its section.
    """
    root = FileElement("", 1)
    rows = _number_lines(content)
    _parse_section(rows, "NODES", "node", "label x y", root)
    _parse_section(rows, "EDGES", "edge", "label src dest weight bw delay", root)
    for words, line in rows:
        root.add("line", " ".join(words), line)
    return root


def parse_demands(content: str) -> FileElement:
    """Read a `.demands`, likewise."""
    root = FileElement("", 1)
    rows = _number_lines(content)
    _parse_section(rows, "DEMANDS", "demand", "label src dest bw", root)
    for words, line in rows:
        root.add("line", " ".join(words), line)
    return root


def read_graph(root: FileElement, title: str) -> ImportedTopology:
    """Read a topology; ``title`` is its name.

    One-way links have weight, bandwidth [kbit/s] and delay [us]. Nodes get the keys 0, 1, ..., as
    the demands use them.

    Raises ImportFault: A value is no number, or a link has no way back.
    """
    topology = ImportedTopology(title)
    for node in root.find_all("node"):
        x, y = (parse_number(node.take(axis), axis, node.line) for axis in ("x", "y"))
        label = node.take_text("label")
        topology.nodes[str(len(topology.nodes))] = ImportedNode(label, (x, y), node.line)
    topology.geographic = are_geographic(node.place for node in topology.nodes.values())
    keys = list(topology.nodes)
    links = []
    for edge in root.find_all("edge"):
        line = edge.line
        source, target = (_get_node_key(keys, edge.take_text(end), line) for end in _ENDS)
        link = ImportedLink(source, target, unit=KBIT_BITS, line=line)
        weight = parse_count(edge.take("weight"), "the weight", line)
        link.metric = metric(weight, "the weight", line)
        link.capacity = parse_number(edge.take("bw"), "bw", line)
        given_delay = parse_number(edge.take("delay"), "delay", line)
        link.delay = delay(given_delay * MICROSECOND_NS, "the delay", line)
        edge.leave_out_children("a link is named after its ends", "label")
        links.append(link)
    topology.links, alone = join_one_way_links(links)
    for link in alone:
        ends = f"{topology.nodes[link.source].label} to {topology.nodes[link.target].label}"
        raise ImportFault(link.line, 1, f"the link from {ends} has no way back")
    return topology


def read_demands(root: FileElement, topology: ImportedTopology) -> list[ImportedDemand]:
    """Read the demands of a topology, bandwidths in kbit/s.

    Raises ImportFault: A demand names an unknown node, or its bandwidth is no number.
    """
    keys = list(topology.nodes)
    demands = []
    for demand in root.find_all("demand"):
        line = demand.line
        source, target = (_get_node_key(keys, demand.take_text(end), line) for end in _ENDS)
        value = parse_number(demand.take("bw"), "bw", line)
        demand.leave_out_children("a demand is named after its ends", "label")
        demands.append(ImportedDemand(source, target, value, KBIT_BITS, line=line))
    return demands


_ENDS = ("src", "dest")
NumberedLines = Iterator[tuple[list[str], int]]


def _number_lines(content: str) -> NumberedLines:
    return (
        (text.split(), line) for line, text in enumerate(content.splitlines(), 1) if text.strip()
    )


def _parse_section(
    rows: NumberedLines, section: str, name: str, fields: str, root: FileElement
) -> None:
    """Lines of a section, after its name with their number, and the names of its fields."""
    words, line = next(rows, ([], 1))
    if words[:1] != [section] or len(words) != 2:
        raise ImportFault(line, 1, f"not REPETITA: here is {section} with a number of lines")
    size = parse_count(words[1], f"the number of {section}", line)
    next(rows, None)
    for _ in range(size):
        words, line = next(rows, ([], line))
        if len(words) != len(fields.split()):
            raise ImportFault(line, 1, f"{len(words)} fields; a line of {section} is {fields}")
        row = root.add(name, line=line)
        for title, word in zip(fields.split(), words, strict=True):
            row.add(title, word, line)


def _get_node_key(keys: list[str], word: str, line: int) -> str:
    number = parse_count(word, "a node", line)
    if number >= len(keys):
        last = len(keys) - 1
        raise ImportFault(line, 1, f"there is no node {word}; they are numbered 0 to {last}")
    return keys[number]
