"""SNDlib: networks with demands, in XML or in its native text format (sndlib.zib.de)."""

import re
from collections.abc import Iterator

from trunkline.importers.common.fault import ImportFault, Note
from trunkline.importers.network.fields import known, looks_geographic, number, rate
from trunkline.importers.network.topology import Demand, Link, Node, Topology
from trunkline.importers.network.xml import Element, parse

# Units that the meta data name.
UNITS = {"MBITPERSEC": 10**6, "GBITPERSEC": 10**9, "KBITPERSEC": 10**3, "BITPERSEC": 1}
STM_1 = 155_520_000  # bit/s (ITU-T G.707)
UNITS |= {"STM1": STM_1, "OC3": STM_1}


def read_xml(content: str, title: str) -> Topology:
    """Read a network in SNDlib's XML from its text; ``title`` is its name.

    Raises
    ------
    ImportFault
        It is no such file, or names an unknown node.
    """
    root = parse(content)
    structure = root.one("networkStructure")
    if root.tag != "network" or structure is None:
        raise ImportFault(root.line, 1, "not SNDlib: there is no <network> with <networkStructure>")
    found = Topology(title)
    words = root.said("meta", "unit")
    found.unit = UNITS.get(words.upper())
    if words and found.unit is None:
        found.notes.append(Note(0, f"unit {words}", "the unit is not known here; give --unit"))
    unit = found.unit or 1
    places = structure.one("nodes")
    kind = "" if places is None else places.attributes.get("coordinatesType", "geographical")
    for node in structure.all("nodes", "node"):
        _node(found, node)
    found.geographic = kind == "geographical"
    for link in structure.all("links", "link"):
        _xml_link(found, link, unit)
    for each in root.all("demands", "demand"):
        ends = [known(each.said(end), found.nodes, each.line) for end in ("source", "target")]
        value = number(each.said("demandValue"), "demandValue", each.line)
        value *= number(each.said("routingUnit") or 1, "routingUnit", each.line)
        found.demands.append(Demand(ends[0], ends[1], value, each.line))
    return _directed(found)


def _node(found: Topology, node: Element) -> None:
    name = node.attributes.get("id", "")
    if not name or name in found.nodes:
        raise ImportFault(node.line, 1, f"node {name} occurs twice" if name else "a node has no id")
    x, y = node.said("coordinates", "x"), node.said("coordinates", "y")
    place = (number(x, "x", node.line), number(y, "y", node.line)) if x and y else None
    found.nodes[name] = Node(name, place, node.line)


def _xml_link(found: Topology, link: Element, unit: int) -> None:
    ends = [known(link.said(end), found.nodes, link.line) for end in ("source", "target")]
    installed = number(
        link.said("preInstalledModule", "capacity") or 0, "installed capacity", link.line
    )
    modules = [
        number(each.said("capacity"), "a module's capacity", each.line)
        for each in link.all("additionalModules", "addModule")
    ]
    found.links.append(_link(ends, installed, modules, unit, link.line))


def _link(ends: list[str], installed: float, modules: list[float], unit: int, line: int) -> Link:
    return Link(
        ends[0],
        ends[1],
        capacity=rate(installed, unit, "the installed capacity", line),
        module=rate(min(modules, default=0), unit, "a module", line),
        line=line,
    )


_SECTION = re.compile(r"([A-Z_]+)\s*\(\s*\Z")
_TOKEN = re.compile(r"[()]|[^\s()]+")


def read_native(content: str, title: str) -> Topology:
    """Read a network in SNDlib's native format, likewise.

    Raises
    ------
    ImportFault
        A line that does not have the fields of its section.
    """
    found = Topology(title)
    places: list[tuple[float, float] | None] = []
    for section, words, line in _rows(content, found):
        if section == "NODES":
            name = words[0]
            if name in found.nodes:
                raise ImportFault(line, 1, f"node {name} occurs twice")
            place = None
            if len(words) > 1:
                _, x, y = _fields(words, 3, "NAME ( X Y )", line)
                place = (number(x, "x", line), number(y, "y", line))
            places.append(place)
            found.nodes[name] = Node(name, place, line)
        elif section == "LINKS":
            form = "NAME ( SOURCE TARGET ) PRE_INSTALLED COST COST SETUP ( MODULE COST ... )"
            _, *ends, installed = _fields(words, 4, form, line)
            its = [known(end, found.nodes, line) for end in ends]
            modules = [number(each, "a module's capacity", line) for each in words[7::2]]
            found.links.append(
                _link(its, number(installed, "the capacity", line), modules, found.unit or 1, line)
            )
        elif section == "DEMANDS":
            form = "NAME ( SOURCE TARGET ) ROUTING_UNIT VALUE MAX_PATH_LENGTH"
            _, *ends, each, units = _fields(words, 5, form, line)
            its = [known(end, found.nodes, line) for end in ends]
            value = number(units, "the demand", line) * number(each, "the routing unit", line)
            found.demands.append(Demand(its[0], its[1], value, line))
    if not found.nodes:
        raise ImportFault(1, 1, "not SNDlib: there is no section NODES")
    found.geographic = looks_geographic(places)
    return _directed(found)


def _rows(content: str, found: Topology) -> Iterator[tuple[str, list[str], int]]:
    """Section and words of each line of a section; parentheses are left out."""
    section = ""
    for line, raw in enumerate(content.splitlines(), 1):
        text = raw.partition("#")[0].strip()
        if not text or text.startswith("?"):
            continue
        if not section:
            start = _SECTION.match(text)
            if start is None:
                raise ImportFault(line, 1, "a section starts with its name and (, as NODES (")
            section = start[1]
        elif text == ")":
            section = ""
        elif section == "META":
            key, _, value = text.partition("=")
            if key.strip() == "unit":
                found.unit = UNITS.get(value.strip().upper())
        else:
            yield section, [word for word in _TOKEN.findall(text) if word not in "()"], line
    if section:
        raise ImportFault(len(content.splitlines()), 1, f"the section {section} does not end")


def _fields(words: list[str], least: int, form: str, line: int) -> list[str]:
    if len(words) < least:
        raise ImportFault(line, 1, f"{len(words)} fields; a line here is {form}")
    return words[:least]


def _directed(found: Topology) -> Topology:
    """Join the two directions of each link where the file lists every one of them."""
    ahead: dict[tuple[str, str], Link] = {(its.source, its.target): its for its in found.links}
    all_pair = len(ahead) == len(found.links) and all((b, a) in ahead for a, b in ahead)
    if not found.links or not all_pair:
        return found
    joined = []
    for (source, target), link in ahead.items():
        back = ahead[target, source]
        if back.line < link.line:
            continue
        link.back = back.capacity
        joined.append(link)
    why = f"every link is listed in both directions: {len(joined)} links"
    found.notes.append(Note(0, "directed links", why))
    found.links = joined
    return found
