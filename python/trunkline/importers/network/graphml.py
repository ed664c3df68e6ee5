"""GraphML (graphml.graphdrawing.org) as the tree that the same graph has in GML."""

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.xml import parse_xml


def parse_graphml(content: str) -> FileElement:
    """Read GraphML; nodes of a group (a graph inside a node, as yEd writes it) follow it.

    Raises ImportFault: It is no GraphML, or has a document type or entities.
    """
    document = parse_xml(content)
    if document.name != "graphml":
        raise ImportFault(1, 1, "not GraphML: the outermost element is not <graphml>")
    keys: dict[str, FileElement] = {}
    defaults: dict[str, list[FileElement]] = {}
    root = FileElement("", 1)
    for element in document.children:
        if element.name == "key":
            keys[element.take_text("@id")] = element
            if element.find("default") is not None:
                defaults.setdefault(element.take_text("@for"), []).append(element)
        elif element.name == "graph" and not any(each.name == "graph" for each in root.children):
            graph = root.add("graph", line=element.line)
            _copy_graph(element, graph, keys, defaults)
        elif element.name != "@schemaLocation":
            root.children.append(element)
    if not any(each.name == "graph" for each in root.children):
        raise ImportFault(1, 1, "not GraphML: there is no <graph>")
    return root


def _copy_graph(
    source: FileElement,
    graph: FileElement,
    keys: dict[str, FileElement],
    defaults: dict[str, list[FileElement]],
) -> None:
    for element in source.children:
        if element.name == "@edgedefault":
            is_directed = str(element.value) == "directed"
            graph.add("directed", "1" if is_directed else "0", element.line)
        elif element.name in ("node", "edge"):
            copy = graph.add(element.name, line=element.line)
            inner_graphs = [each for each in element.children if each.name == "graph"]
            element.children = [each for each in element.children if each.name != "graph"]
            _copy_attributes(element, copy, keys)
            given = {each.name for each in copy.children}
            for key in (*defaults.get(element.name, ()), *defaults.get("all", ())):
                name = key.take_text("@attr.name")
                if name not in given:
                    copy.add(name, key.take("default"), key.line)
            for inner in inner_graphs:
                copy.add("group")
                _copy_graph(inner, graph, keys, {})
        elif not element.name.startswith("@parse.") and (graph.name, element.name) != (
            "graph",
            "@id",
        ):
            _copy_attributes(FileElement("", children=[element]), graph, keys)


def _copy_attributes(source: FileElement, copy: FileElement, keys: dict[str, FileElement]) -> None:
    """Copy `<data>` under the names of their keys, and attributes of XML under their own."""
    for element in source.children:
        if element.name == "data":
            key = keys.get(element.take_text("@key"))
            name = (
                ""
                if key is None
                else key.take_text(
                    "@attr.name",
                )
                or key.take_text("@yfiles.type")
            )
            if not name:
                name = "data"
            element.children = [each for each in element.children if each.name != "@key"]
            element.name = name
        else:
            element.name = element.name.removeprefix("@")
        copy.children.append(element)
