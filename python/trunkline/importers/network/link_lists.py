"""Lists of links: an operator's table with a header, and edge lists without one."""

import re

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.attributes import parse_attribute_name, read_link_attributes
from trunkline.importers.network.directions import join_listed_directions, join_one_way_links
from trunkline.importers.network.tables import make_rows, split_rows
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.scenario.units import parse_real

END_PAIRS = tuple(
    (first, second)
    for a, b in (("a", "b"), ("a", "z"), ("from", "to"), ("source", "target"),
                 ("source", "destination"), ("src", "dst"), ("source", "dest"), ("local", "remote"),
                 ("left", "right"), ("near", "far"), ("ingress", "egress"),
                 ("origin", "destination"), ("o", "d"), ("1", "2"))
    for form in ("{}", "node_{}", "{}_node", "{}_end", "end_{}", "router_{}", "{}_router",
                 "device_{}", "{}_device", "site_{}", "{}_site", "{}_name", "host_{}", "{}_host",
                 "{}_hostname", "hostname_{}", "node{}", "router{}")
    for first, second in [(form.format(a), form.format(b))]
    if first not in ("1", "2")
)  # fmt: skip
"""Names of the columns of both ends, in lower case, words joined by `_`."""

_INTERFACE = re.compile(r"(?:^|_)(if|ifname|intf|int|interface|port|iface)(?:_|$)")
_NAMES_OF_LINKS = ("link", "name", "id", "link_id", "link_name", "circuit", "circuit_id", "label")


def parse_link_list(content: str) -> FileElement | None:
    """Parse the rows of a table whose header names both ends of links; None: it is no such table.

    Raises ImportFault: A row has more cells than the header.
    """
    rows = split_rows(content)
    if len(rows) < 2:
        return None
    _, titles = rows[0]
    words = [normalise_title(title) for title in titles]
    if find_end_columns(words) is None or len(set(words)) < len(words):
        return None
    root = FileElement("", 1)
    make_rows(rows[1:], titles, "link", root)
    return root


def normalise_title(title: str) -> str:
    """A title of a column in lower case, words joined by `_`."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")


def find_end_columns(words: list[str]) -> tuple[int, int] | None:
    """Find the places of the columns of both ends among normalised titles; None: there are none."""
    return next(
        ((words.index(a), words.index(b)) for a, b in END_PAIRS if a in words and b in words), None
    )


def read_link_list(root: FileElement, title: str) -> ImportedTopology:
    """Read a table of links; nodes are those that links name.

    Two rows are the two directions of one link where their ends and interfaces are swapped, or,
    without columns of interfaces, where the table lists every link both ways.

    Raises ImportFault: A row does not name both ends, or a value is not one of its column.
    """
    topology = ImportedTopology(title)
    rows = root.find_all("link")
    titles = [cell.name for cell in max(rows, key=lambda row: len(row.children)).children]
    columns = find_end_columns([normalise_title(each) for each in titles])
    ends = [titles[column] for column in columns or (0, 1)]
    interface_titles = [
        each
        for each in titles
        if _INTERFACE.search(normalise_title(each)) and parse_attribute_name(each) is None
    ]
    by_interfaces: dict[tuple[str, ...], ImportedLink] = {}
    joined_count = 0
    for row in rows:
        source, target = (row.take_text(end) for end in ends)
        if not source or not target:
            raise ImportFault(row.line, 1, "a link has two ends")
        for name in (source, target):
            topology.nodes.setdefault(name, ImportedNode(name, line=row.line))
        link = ImportedLink(source, target, line=row.line)
        read_link_attributes(row, link, topology.account)
        interfaces = tuple(row.take_text(each) for each in interface_titles)
        for cell in row.children:
            if normalise_title(cell.name) in _NAMES_OF_LINKS and not cell.is_read:
                cell.leave_out("a link is named after its ends")
            elif cell.value == "":
                # An empty cell has nothing to read.
                cell.is_read = True
        if len(interfaces) == 2 and all(interfaces):
            back = by_interfaces.pop((target, source, *interfaces[::-1]), None)
            if back is not None:
                join_one_way_links([back, link])
                joined_count += 1
                continue
            by_interfaces[source, target, *interfaces] = link
        topology.links.append(link)
    topology.account.add_assumption(
        "directions", "rows with ends and interfaces swapped are one link", count=joined_count
    )
    if not by_interfaces:
        join_listed_directions(topology)
    return topology


EDGE_SEPARATORS = ("|", ",", ";", None)  # Separators of an edge list; None: white space.
MIN_EDGE_LINES = 2

_RELATIONSHIPS = ("-1", "0", "1", "2")


def parse_edge_list(content: str) -> FileElement | None:
    """Parse the lines of a list of edges, `A B` or `A B 3`; None: the text is no such list.

    Lists of the AS graph (CAIDA's AS relationships: ``1|2|-1``) and weights of Rocketfuel's maps
    are such lists.
    """
    lines = [
        (line, text)
        for line, raw in enumerate(content.splitlines(), 1)
        if (text := raw.strip()) and not text.startswith(("#", "%"))
    ]
    for separator in EDGE_SEPARATORS:
        rows = [(line, [word.strip() for word in text.split(separator)]) for line, text in lines]
        lengths = {len(words) for _, words in rows}
        is_of_systems = separator == "|"
        if len(rows) < MIN_EDGE_LINES or lengths not in ({2}, {3}, {4} if is_of_systems else {3}):
            continue
        if all(parse_real(word) is not None for _, words in rows for word in words[2:3]):
            return _make_edges(rows, is_of_systems=is_of_systems)
    return None


def _make_edges(rows: list[tuple[int, list[str]]], *, is_of_systems: bool) -> FileElement:
    root = FileElement("", 1)
    third_words = {word for _, words in rows for word in words[2:3]}
    third_name = "weight"
    if is_of_systems and third_words <= set(_RELATIONSHIPS):
        third_name = "relationship"
    for line, words in rows:
        edge = root.add("edge", line=line)
        for name, word in zip(
            ("source", "target", third_name, "source of it"), words, strict=False
        ):
            edge.add(name, word, line)
    return root


def read_edge_list(root: FileElement, title: str) -> ImportedTopology:
    """Read a list of edges; the third column is a metric, or the relationship of two networks."""
    topology = ImportedTopology(title)
    for edge in root.find_all("edge"):
        ends = edge.take_text("source"), edge.take_text("target")
        for name in ends:
            topology.nodes.setdefault(name, ImportedNode(name, line=edge.line))
        link = ImportedLink(*ends, line=edge.line)
        read_link_attributes(edge, link, topology.account)
        edge.leave_out_children("who pays whom is no part of a scenario", "relationship")
        topology.links.append(link)
    join_listed_directions(topology)
    return topology
