"""Features of a scenario that an engine lacks, each reported at its place in the file."""

from collections.abc import Iterable
from typing import Any

from trunkline.scenario.diagnostic import DocumentPath, ScenarioError
from trunkline.scenario.problems import Problems
from trunkline.scenario.scenario import Scenario
from trunkline.scenario.source_positions import place_findings


def make_unsupported_error(
    code: str, scenario: Scenario, reasons: Iterable[tuple[str, DocumentPath]]
) -> ScenarioError:
    """Everything that an engine lacks, each with file, line and column.

    reasons: The missing feature and the nearest one; and its path by the names of the compiled
        network, where a link is one direction (``R1->R2``) and each flow has a name of its own.
    """
    document, origin = scenario._document or {}, scenario._origin
    resolved = scenario.resolve()
    problems = Problems(origins=resolved.origins)
    found: dict[tuple[str, DocumentPath], None] = {}
    for text, path in reasons:
        document_path = path
        if path[:1] == ("links",) and path[1] in resolved.arc_by_name:
            arc = resolved.arc_by_name[str(path[1])]
            direction = "backward" if arc.backward else "forward"
            document_path = ("links", arc.link, direction, *path[2:])
            if len(_trim_to_document(document, document_path)) < len(document_path):
                document_path = ("links", arc.link, *path[2:])
        elif path[:1] == ("flows",) and len(path) > 1:
            name = str(path[1])
            declared = resolved.get_declared_name(name)
            document_path = ("flows", declared, *path[2:])
            # Flows that are one in the file are named once.
            text = text.replace(name, declared)
        elif path[:1] == ("ports",) and len(_trim_to_document(document, path[:4])) < 3:
            # A port without classes has its queue at once.
            document_path = (*path[:2], *path[4:])
        found[text, _trim_to_document(document, problems.map_to_document(document_path))] = None
    for text, path in found:
        problems.add(code, path, text)
    placed = place_findings(problems.findings, document, origin.file)
    return ScenarioError(placed, origin.content, origin.file)


def _trim_to_document(document: Any, path: DocumentPath) -> DocumentPath:
    """Trim a path to the part that the document has; the rest is by default."""
    value = document
    for depth, part in enumerate(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return path[:depth]
    return path
