"""REPETITA: a topology (`.graph`) and its demands (`.demands`)."""

from collections.abc import Iterator

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.fields import count, delay, looks_geographic, metric, number, rate
from trunkline.importers.network.topology import Demand, Link, Node, Topology

KBIT = 10**3  # bit/s: unit of bandwidths
MICROSECOND = 10**3  # ns: unit of delays


def read_graph(content: str, title: str) -> Topology:
    """Read a topology; ``title`` is its name.

    The text has nodes with their places, then one-way links with weight, bandwidth [kbit/s] and
    delay [us]. Nodes get the keys 0, 1, ..., as the demands use them.

    Raises
    ------
    ImportFault
        A line has not the fields of its section, or a link has no way back.
    """
    found = Topology(title, unit=KBIT)
    rows = _lines(content)
    for words, line in _section(rows, "NODES", "label x y"):
        place = (number(words[1], "x", line), number(words[2], "y", line))
        found.nodes[str(len(found.nodes))] = Node(words[0], place, line)
    found.geographic = looks_geographic(node.place for node in found.nodes.values())
    waiting: dict[tuple[str, str], list[Link]] = {}
    for words, line in _section(rows, "EDGES", "label src dest weight bw delay"):
        source, target = (_node(found, word, line) for word in words[1:3])
        weight = metric(count(words[3], "the weight", line), "the weight", line)
        capacity = rate(number(words[4], "bw", line), KBIT, "the bandwidth", line)
        backs = waiting.get((target, source))
        if backs:
            link = backs.pop(0)
            link.back, link.metric_back = capacity, weight
            continue
        link = Link(source, target, capacity=capacity, metric=weight, line=line)
        link.delay = delay(number(words[5], "delay", line) * MICROSECOND, "the delay", line)
        waiting.setdefault((source, target), []).append(link)
        found.links.append(link)
    for link in (link for links in waiting.values() for link in links):
        ends = f"{found.nodes[link.source].label} to {found.nodes[link.target].label}"
        raise ImportFault(link.line, 1, f"the link from {ends} has no way back")
    return found


def read_demands(content: str, found: Topology) -> list[Demand]:
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
        Demand(
            _node(found, words[1], line),
            _node(found, words[2], line),
            number(words[3], "bw", line),
            line,
        )
        for words, line in _section(_lines(content), "DEMANDS", "label src dest bw")
    ]


Lines = Iterator[tuple[list[str], int]]


def _lines(content: str) -> Lines:
    return (
        (text.split(), line) for line, text in enumerate(content.splitlines(), 1) if text.strip()
    )


def _section(rows: Lines, name: str, fields: str) -> Lines:
    """Lines of a section, after its name with their number, and the names of its fields."""
    words, line = next(rows, ([], 1))
    if words[:1] != [name] or len(words) != 2:
        raise ImportFault(line, 1, f"not REPETITA: here stands {name} with a number of lines")
    size = count(words[1], f"the number of {name}", line)
    next(rows, None)
    for _ in range(size):
        words, line = next(rows, ([], line))
        if len(words) != len(fields.split()):
            raise ImportFault(line, 1, f"{len(words)} fields; a line of {name} is {fields}")
        yield words, line


def _node(found: Topology, word: str, line: int) -> str:
    number_ = count(word, "a node", line)
    if number_ >= len(found.nodes):
        last = len(found.nodes) - 1
        raise ImportFault(line, 1, f"there is no node {word}; they are numbered 0 to {last}")
    return str(number_)
