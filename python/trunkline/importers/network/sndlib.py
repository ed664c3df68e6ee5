"""SNDlib: networks with demands, in XML or in its native text format (sndlib.zib.de)."""

import re
from collections.abc import Iterator

from trunkline.importers.common.fault import ImportFault, OmittedPart
from trunkline.importers.network.fields import (
    are_geographic,
    convert_rate,
    find_node_key,
    parse_number,
)
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedLink,
    ImportedNode,
    ImportedTopology,
)
from trunkline.importers.network.xml import XmlElement, parse_xml

# Units that the meta data name.
UNIT_BIT_S = {"MBITPERSEC": 10**6, "GBITPERSEC": 10**9, "KBITPERSEC": 10**3, "BITPERSEC": 1}
STM_1_BIT_S = 155_520_000  # bit/s (ITU-T G.707)
UNIT_BIT_S |= {"STM1": STM_1_BIT_S, "OC3": STM_1_BIT_S}


def read_xml(content: str, title: str) -> ImportedTopology:
    """Read a network in SNDlib's XML from its text; ``title`` is its name.

    Raises
    ------
    ImportFault
        It is no such file, or names an unknown node.
    """
    root = parse_xml(content)
    structure = root.find_first("networkStructure")
    if root.tag != "network" or structure is None:
        raise ImportFault(root.line, 1, "not SNDlib: there is no <network> with <networkStructure>")
    topology = ImportedTopology(title)
    unit_name = root.get_text("meta", "unit")
    topology.unit = UNIT_BIT_S.get(unit_name.upper())
    if unit_name and topology.unit is None:
        topology.notes.append(
            OmittedPart(0, f"unit {unit_name}", "the unit is not known here; give --unit")
        )
    unit = topology.unit or 1
    places = structure.find_first("nodes")
    kind = "" if places is None else places.attributes.get("coordinatesType", "geographical")
    for node in structure.find_all("nodes", "node"):
        _read_xml_node(topology, node)
    topology.geographic = kind == "geographical"
    for link in structure.find_all("links", "link"):
        _read_xml_link(topology, link, unit)
    for demand in root.find_all("demands", "demand"):
        ends = [
            find_node_key(demand.get_text(end), topology.nodes, demand.line)
            for end in ("source", "target")
        ]
        value = parse_number(demand.get_text("demandValue"), "demandValue", demand.line)
        value *= parse_number(demand.get_text("routingUnit") or 1, "routingUnit", demand.line)
        topology.demands.append(ImportedDemand(ends[0], ends[1], value, demand.line))
    return _join_directions(topology)


def _read_xml_node(topology: ImportedTopology, node: XmlElement) -> None:
    name = node.attributes.get("id", "")
    if not name or name in topology.nodes:
        raise ImportFault(node.line, 1, f"node {name} occurs twice" if name else "a node has no id")
    x, y = node.get_text("coordinates", "x"), node.get_text("coordinates", "y")
    place = (parse_number(x, "x", node.line), parse_number(y, "y", node.line)) if x and y else None
    topology.nodes[name] = ImportedNode(name, place, node.line)


def _read_xml_link(topology: ImportedTopology, link: XmlElement, unit: int) -> None:
    ends = [
        find_node_key(link.get_text(end), topology.nodes, link.line) for end in ("source", "target")
    ]
    installed = parse_number(
        link.get_text("preInstalledModule", "capacity") or 0, "installed capacity", link.line
    )
    modules = [
        parse_number(module.get_text("capacity"), "a module's capacity", module.line)
        for module in link.find_all("additionalModules", "addModule")
    ]
    topology.links.append(_make_link(ends, installed, modules, unit, link.line))


def _make_link(
    ends: list[str], installed: float, modules: list[float], unit: int, line: int
) -> ImportedLink:
    return ImportedLink(
        ends[0],
        ends[1],
        capacity=convert_rate(installed, unit, "the installed capacity", line),
        module=convert_rate(min(modules, default=0), unit, "a module", line),
        line=line,
    )


_SECTION = re.compile(r"([A-Z_]+)\s*\(\s*\Z")
_TOKEN = re.compile(r"[()]|[^\s()]+")


def read_native(content: str, title: str) -> ImportedTopology:
    """Read a network in SNDlib's native format, likewise.

    Raises
    ------
    ImportFault
        A line that does not have the fields of its section.
    """
    topology = ImportedTopology(title)
    places: list[tuple[float, float] | None] = []
    for section, words, line in _read_section_lines(content, topology):
        if section == "NODES":
            name = words[0]
            if name in topology.nodes:
                raise ImportFault(line, 1, f"node {name} occurs twice")
            place = None
            if len(words) > 1:
                _, x, y = _check_fields(words, 3, "NAME ( X Y )", line)
                place = (parse_number(x, "x", line), parse_number(y, "y", line))
            places.append(place)
            topology.nodes[name] = ImportedNode(name, place, line)
        elif section == "LINKS":
            form = "NAME ( SOURCE TARGET ) PRE_INSTALLED COST COST SETUP ( MODULE COST ... )"
            _, *ends, installed = _check_fields(words, 4, form, line)
            end_keys = [find_node_key(end, topology.nodes, line) for end in ends]
            modules = [
                parse_number(routing_unit, "a module's capacity", line)
                for routing_unit in words[7::2]
            ]
            topology.links.append(
                _make_link(
                    end_keys,
                    parse_number(installed, "the capacity", line),
                    modules,
                    topology.unit or 1,
                    line,
                )
            )
        elif section == "DEMANDS":
            form = "NAME ( SOURCE TARGET ) ROUTING_UNIT VALUE MAX_PATH_LENGTH"
            _, *ends, routing_unit, units = _check_fields(words, 5, form, line)
            end_keys = [find_node_key(end, topology.nodes, line) for end in ends]
            value = parse_number(units, "the demand", line) * parse_number(
                routing_unit, "the routing unit", line
            )
            topology.demands.append(ImportedDemand(end_keys[0], end_keys[1], value, line))
    if not topology.nodes:
        raise ImportFault(1, 1, "not SNDlib: there is no section NODES")
    topology.geographic = are_geographic(places)
    return _join_directions(topology)


def _read_section_lines(
    content: str, topology: ImportedTopology
) -> Iterator[tuple[str, list[str], int]]:
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
                topology.unit = UNIT_BIT_S.get(value.strip().upper())
        else:
            yield section, [word for word in _TOKEN.findall(text) if word not in "()"], line
    if section:
        raise ImportFault(len(content.splitlines()), 1, f"the section {section} does not end")


def _check_fields(words: list[str], count: int, line_form: str, line: int) -> list[str]:
    if len(words) < count:
        raise ImportFault(line, 1, f"{len(words)} fields; a line here is {line_form}")
    return words[:count]


def _join_directions(topology: ImportedTopology) -> ImportedTopology:
    """Join the two directions of each link where the file lists every one of them."""
    links_by_ends: dict[tuple[str, str], ImportedLink] = {
        (link_of.source, link_of.target): link_of for link_of in topology.links
    }
    all_have_reverse = len(links_by_ends) == len(topology.links) and all(
        (b, a) in links_by_ends for a, b in links_by_ends
    )
    if not topology.links or not all_have_reverse:
        return topology
    joined = []
    for (source, target), link in links_by_ends.items():
        back = links_by_ends[target, source]
        if back.line < link.line:
            continue
        link.capacity_back = back.capacity
        joined.append(link)
    why = f"every link is listed in both directions: {len(joined)} links"
    topology.notes.append(OmittedPart(0, "directed links", why))
    topology.links = joined
    return topology
