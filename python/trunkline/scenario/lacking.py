"""What an engine lacks for a scenario, told at its place in the file."""

from collections.abc import Iterable
from typing import Any

from trunkline.scenario.diagnostic import Path, ScenarioError
from trunkline.scenario.places import place_all
from trunkline.scenario.problems import Problems
from trunkline.scenario.scenario import Scenario


def lacking(code: str, scenario: Scenario, reasons: Iterable[tuple[str, Path]]) -> ScenarioError:
    """Everything that an engine lacks, each with file, line and column.

    Parameters
    ----------
    reasons : iterable of (str, Path)
        What is lacking and what is nearest; and the path of it by the names of the compiled
        network, where a link is one direction (``R1->R2``) and each flow has a name of its own.
    """
    document, origin = scenario._document or {}, scenario._origin
    its = scenario.resolved()
    problems = Problems(origins=its.origins)
    found: dict[tuple[str, Path], None] = {}
    for text, path in reasons:
        whole = path
        if path[:1] == ("links",) and path[1] in its.arc:
            arc = its.arc[str(path[1])]
            way = "backward" if arc.backward else "forward"
            whole = ("links", arc.link, way, *path[2:])
            if len(_written(document, whole)) < len(whole):
                whole = ("links", arc.link, *path[2:])
        elif path[:1] == ("flows",) and len(path) > 1:
            name = str(path[1])
            declared = its.declared(name)
            whole = ("flows", declared, *path[2:])
            # Flows that are one in the file are named once.
            text = text.replace(name, declared)
        elif path[:1] == ("ports",) and len(_written(document, path[:4])) < 3:
            # A port without classes has its queue at once.
            whole = (*path[:2], *path[4:])
        found[text, _written(document, problems.written(whole))] = None
    for text, path in found:
        problems.add(code, path, text)
    placed = place_all(problems.found, document, origin.file)
    return ScenarioError(placed, origin.content, origin.file)


def _written(document: Any, path: Path) -> Path:
    """As much of a path as the document has; the rest is by default."""
    value = document
    for depth, part in enumerate(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return path[:depth]
    return path
