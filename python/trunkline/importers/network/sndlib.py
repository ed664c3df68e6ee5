"""SNDlib: networks with demands, in XML or in its native text format (sndlib.zib.de).

Capacities and demands of a file are in one unit, which its meta data may name. A file with nodes
and demands only is a traffic matrix (the dynamic traffic of SNDlib).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.directions import join_listed_directions
from trunkline.importers.network.fields import are_geographic, find_node_key, parse_number
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedLink,
    ImportedNode,
    ImportedTopology,
)

# Units that the meta data name.
UNIT_BIT_S = {"MBITPERSEC": 10**6, "GBITPERSEC": 10**9, "KBITPERSEC": 10**3, "BITPERSEC": 1}
STM_1_BIT_S = 155_520_000  # bit/s (ITU-T G.707)
UNIT_BIT_S |= {"STM1": STM_1_BIT_S, "OC3": STM_1_BIT_S}

_OMISSIONS = {
    ("meta",): {
        "granularity": "the interval of a measured matrix",
        "time": "when the matrix was measured",
        "origin": "where the matrix was measured",
    },
    (): {"ADMISSIBLE_PATHS": "paths are computed"},
    ("networkStructure", "links", "link"): {
        "@id": "a link is named after its ends",
        "setupCost": "costs of a design are no metrics",
        "routingCost": "costs of a design are no metrics",
    },
    ("demands", "demand"): {
        "@id": "a demand is named after its ends",
        "maxPathLength": "paths are computed",
        "admissiblePaths": "paths are computed",
    },
}
"""Reasons to leave elements out, by the elements that enclose them."""


def read(root: FileElement, title: str) -> ImportedTopology:
    """Read a network from the tree of its XML, or from that of `parse_native`.

    Raises ImportFault: It is no such file, or names an unknown node.
    """
    topology = ImportedTopology(title)
    for attribute in ("@version", "@schemaLocation"):
        root.find(attribute)
    _give_reasons(root)
    unit = _read_unit(root)
    nodes = root.find("networkStructure", "nodes")
    if nodes is None:
        raise ImportFault(1, 1, "not SNDlib: there are no nodes")
    kind = nodes.take_text("@coordinatesType")
    for node in nodes.find_all("node"):
        _read_node(topology, node)
    places = [node.place for node in topology.nodes.values()]
    topology.geographic = kind == "geographical" or (not kind and are_geographic(places))
    for link in root.find_all("networkStructure", "links", "link"):
        topology.links.append(_read_link(topology, link, unit))
    topology.demands = _read_demands(root, {key: key for key in topology.nodes}, unit)
    join_listed_directions(topology)
    return topology


def read_matrix(root: FileElement, keys: Mapping[str, str]) -> list[ImportedDemand]:
    """Read the demands of a file for a network that is known.

    keys: Key of each node by its name in the file.
    Raises ImportFault: It has no demands, or one names an unknown node.
    """
    _give_reasons(root)
    root.find("@version")
    root.find("@schemaLocation")
    if root.find("demands") is None:
        raise ImportFault(root.line, 1, "not SNDlib: there is no <demands>")
    return _read_demands(root, keys, _read_unit(root))


def _read_unit(root: FileElement) -> int | None:
    """Read bits per second in the unit that the meta data name."""
    unit_name = root.take_text("meta", "unit")
    unit = UNIT_BIT_S.get(unit_name.upper())
    if unit_name and unit is None:
        for each in root.find_all("meta", "unit"):
            each.leave_out(f"the unit {unit_name} is not known here; --unit gives one")
    return unit


def _read_demands(
    root: FileElement, keys: Mapping[str, str], unit: int | None
) -> list[ImportedDemand]:
    demands = []
    for demand in root.find_all("demands", "demand"):
        source, target = (
            keys[find_node_key(demand.take_text(end), keys, demand.line)]
            for end in ("source", "target")
        )
        value = parse_number(demand.take("demandValue"), "demandValue", demand.line)
        routing_unit = demand.take("routingUnit")
        if routing_unit is not None:
            value *= parse_number(routing_unit, "routingUnit", demand.line)
        demands.append(ImportedDemand(source, target, value, unit, line=demand.line))
    return demands


def _give_reasons(root: FileElement) -> None:
    """Give the reasons to leave elements out."""
    for path, reasons in _OMISSIONS.items():
        enclosing = [root]
        for tag in path:
            enclosing = [
                child for each in enclosing for child in each.children if child.name == tag
            ]
        for each in enclosing:
            for tag, reason in reasons.items():
                each.leave_out_children(reason, tag)


def _read_node(topology: ImportedTopology, node: FileElement) -> None:
    name = node.take_text("@id")
    if not name or name in topology.nodes:
        raise ImportFault(node.line, 1, f"node {name} occurs twice" if name else "a node has no id")
    x, y = node.take_text("coordinates", "x"), node.take_text("coordinates", "y")
    place = (parse_number(x, "x", node.line), parse_number(y, "y", node.line)) if x and y else None
    topology.nodes[name] = ImportedNode(name, place, node.line)


def _read_ends(topology: ImportedTopology, element: FileElement) -> tuple[str, str]:
    source, target = (
        find_node_key(element.take_text(end), topology.nodes, element.line)
        for end in ("source", "target")
    )
    return source, target


def _read_link(topology: ImportedTopology, link: FileElement, unit: int | None) -> ImportedLink:
    source, target = _read_ends(topology, link)
    installed_text = link.take("preInstalledModule", "capacity")
    installed = parse_number(installed_text or 0, "installed capacity", link.line)
    modules = []
    for module in link.find_all("additionalModules", "addModule"):
        modules.append(parse_number(module.take("capacity"), "a module's capacity", module.line))
        module.leave_out_children("costs of a design are no metrics", "cost")
    for module in link.find_all("preInstalledModule"):
        module.leave_out_children("costs of a design are no metrics", "cost")
    return ImportedLink(
        source,
        target,
        capacity=installed or None,
        module=min(modules, default=0) or None,
        unit=unit,
        line=link.line,
    )


_SECTION = re.compile(r"([A-Z_]+)\s*\(\s*\Z")
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True)
class _NativeSection:
    """Translation of the lines of a section of the native format to elements of the XML."""

    path: tuple[str, ...]  # Elements that enclose those of the lines.
    element: str
    fields: str  # Elements of the fields of a line.
    field_count: int  # Fields that a line has at least.
    form: str  # A line of it, for messages.


_NATIVE_SECTIONS = {
    "NODES": _NativeSection(
        ("networkStructure", "nodes"), "node", "@id coordinates/x coordinates/y", 3, "NAME ( X Y )"
    ),
    "LINKS": _NativeSection(
        ("networkStructure", "links"),
        "link",
        "@id source target preInstalledModule/capacity preInstalledModule/cost routingCost "
        "setupCost",
        4,
        "NAME ( SOURCE TARGET ) PRE_INSTALLED COST COST SETUP ( MODULE COST ... )",
    ),
    "DEMANDS": _NativeSection(
        ("demands",),
        "demand",
        "@id source target routingUnit demandValue maxPathLength",
        5,
        "NAME ( SOURCE TARGET ) ROUTING_UNIT VALUE MAX_PATH_LENGTH",
    ),
}


def parse_native(content: str) -> FileElement:
    """Read SNDlib's native format as the tree that the same network has in XML.

    Raises ImportFault: A line that does not have the fields of its section.
    """
    root = FileElement("network", 1)
    section, depth, start_line = "", 0, 1
    for line, raw in enumerate(content.splitlines(), 1):
        text = raw.partition("#")[0].strip()
        if not text or text.startswith("?"):
            continue
        words = _TOKEN.findall(text)
        if not section:
            start = _SECTION.match(text)
            if start is None:
                raise ImportFault(line, 1, "a section starts with its name and (, as NODES (")
            section, depth, start_line = start[1], 1, line
            if section not in (*_NATIVE_SECTIONS, "META"):
                root.add(section, line=line)
            continue
        depth += words.count("(") - words.count(")")
        if words == [")"] and depth == 0:
            section = ""
        elif section == "META":
            key, _, value = text.partition("=")
            _enter(root, "meta").add(key.strip(), value.strip(), line)
        elif section in _NATIVE_SECTIONS:
            if depth != 1:
                raise ImportFault(line, 1, f"the parentheses of a line of {section} do not pair")
            _parse_native_line(root, words, _NATIVE_SECTIONS[section], line)
    if section:
        why = f"the section {section}, from line {start_line}, does not end"
        raise ImportFault(len(content.splitlines()), 1, why)
    return root


def _parse_native_line(
    root: FileElement, words: list[str], section: _NativeSection, line: int
) -> None:
    values = [word for word in words if word not in "()"]
    if len(values) < section.field_count and not (section.element == "node" and len(values) == 1):
        raise ImportFault(line, 1, f"{len(values)} fields; a line here is {section.form}")
    element = _enter(root, *section.path).add(section.element, line=line)
    names = section.fields.split()
    for name, value in zip(names, values, strict=False):
        *path, last = name.split("/")
        _enter(element, *path).add(last, value, line)
    others = values[len(names) :]
    for position, value in enumerate(others):
        if section.element != "link":
            element.add(f"field {len(names) + position + 1}", value, line)
        elif position % 2 == 0:
            _enter(element, "additionalModules").add("addModule", line=line)
        if section.element == "link":
            modules = _enter(element, "additionalModules")
            modules.children[-1].add(("capacity", "cost")[position % 2], value, line)


def _enter(element: FileElement, *path: str) -> FileElement:
    """The element along a path, made where it is not there yet."""
    for name in path:
        inside = next((each for each in element.children if each.name == name), None)
        element = inside if inside is not None else element.add(name)
    return element
