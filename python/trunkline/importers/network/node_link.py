"""Graphs in JSON as networkx writes them (node-link data), as the tree that GML has."""

import json

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement, make_file_elements

MAX_DEPTH = 64


def parse_node_link(content: str) -> FileElement:
    """Read an object with `nodes`, and `links` or `edges`.

    Raises ImportFault: It is no JSON, or no such object.
    """
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        raise ImportFault(error.lineno, error.colno, f"not JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise ImportFault(1, 1, "not JSON: nested too deep, or a number is too long") from None
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise ImportFault(1, 1, "not a graph in JSON: there is no list nodes")
    if _measure_depth(data) > MAX_DEPTH:
        raise ImportFault(1, 1, f"not a graph in JSON: nested deeper than {MAX_DEPTH}")
    document = make_file_elements(data)
    root = FileElement("", 1)
    graph = root.add("graph")
    for element in document.children:
        if element.name in ("nodes", "links", "edges"):
            for item in element.children:
                item.name = "node" if element.name == "nodes" else "edge"
                graph.children.append(item)
        elif element.name == "graph":
            graph.children += element.children
        else:
            graph.children.append(element)
    return root


def _measure_depth(data: object) -> int:
    depth, level = 0, [data]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth
