"""REPETITA: a topology (`.graph`) and its demands (`.demands`)."""

from collections.abc import Iterator

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.fields import (
    are_geographic,
    convert_rate,
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


def read_graph(content: str, title: str) -> ImportedTopology:
    """Read a topology; ``title`` is its name.

    The text has nodes with their places, then one-way links with weight, bandwidth [kbit/s] and
    delay [us]. Nodes get the keys 0, 1, ..., as the demands use them.

    Raises
    ------
    ImportFault
        A line has not the fields of its section, or a link has no way back.
    """
    topology = ImportedTopology(title)
    rows = _number_lines(content)
    for words, line in _read_section(rows, "NODES", "label x y"):
        place = (parse_number(words[1], "x", line), parse_number(words[2], "y", line))
        topology.nodes[str(len(topology.nodes))] = ImportedNode(words[0], place, line)
    topology.geographic = are_geographic(node.place for node in topology.nodes.values())
    one_way_links: dict[tuple[str, str], list[ImportedLink]] = {}
    for words, line in _read_section(rows, "EDGES", "label src dest weight bw delay"):
        source, target = (_get_node_key(topology, word, line) for word in words[1:3])
        weight = metric(parse_count(words[3], "the weight", line), "the weight", line)
        capacity = convert_rate(
            parse_number(words[4], "bw", line), KBIT_BITS, "the bandwidth", line
        )
        opposite_links = one_way_links.get((target, source))
        if opposite_links:
            link = opposite_links.pop(0)
            link.capacity_back, link.metric_back = capacity, weight
            continue
        link = ImportedLink(source, target, capacity=capacity, metric=weight, line=line)
        link.delay = delay(
            parse_number(words[5], "delay", line) * MICROSECOND_NS, "the delay", line
        )
        one_way_links.setdefault((source, target), []).append(link)
        topology.links.append(link)
    for link in (link for links in one_way_links.values() for link in links):
        ends = f"{topology.nodes[link.source].label} to {topology.nodes[link.target].label}"
        raise ImportFault(link.line, 1, f"the link from {ends} has no way back")
    return topology


def read_demands(content: str, topology: ImportedTopology) -> list[ImportedDemand]:
    """Read the demands of a topology.

    Parameters
    ----------
    content : str
        Text of the `.demands` file, bandwidths in kbit/s.

    Raises
    ------
    ImportFault
        As for :func:`read_graph`.
    """
    return [
        ImportedDemand(
            _get_node_key(topology, words[1], line),
            _get_node_key(topology, words[2], line),
            parse_number(words[3], "bw", line),
            KBIT_BITS,
            line=line,
        )
        for words, line in _read_section(_number_lines(content), "DEMANDS", "label src dest bw")
    ]


NumberedLines = Iterator[tuple[list[str], int]]


def _number_lines(content: str) -> NumberedLines:
    return (
        (text.split(), line) for line, text in enumerate(content.splitlines(), 1) if text.strip()
    )


def _read_section(rows: NumberedLines, name: str, fields: str) -> NumberedLines:
    """Lines of a section, after its name with their number, and the names of its fields."""
    words, line = next(rows, ([], 1))
    if words[:1] != [name] or len(words) != 2:
        raise ImportFault(line, 1, f"not REPETITA: here stands {name} with a number of lines")
    size = parse_count(words[1], f"the number of {name}", line)
    next(rows, None)
    for _ in range(size):
        words, line = next(rows, ([], line))
        if len(words) != len(fields.split()):
            raise ImportFault(line, 1, f"{len(words)} fields; a line of {name} is {fields}")
        yield words, line


def _get_node_key(topology: ImportedTopology, word: str, line: int) -> str:
    number = parse_count(word, "a node", line)
    if number >= len(topology.nodes):
        last = len(topology.nodes) - 1
        raise ImportFault(line, 1, f"there is no node {word}; they are numbered 0 to {last}")
    return str(number)
