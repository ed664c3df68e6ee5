"""XML as a tree whose elements know their lines, without document types and so without entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from trunkline.importers.common.fault import ImportFault

MAX_DEPTH = 64


@dataclass(slots=True)
class XmlElement:
    """An element.

    Parameters
    ----------
    tag : str
        Name without its namespace.
    line : int
        Where it starts, from 1.
    children : list of XmlElement
        Elements inside, in order.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[XmlElement] = field(default_factory=list)
    text: str = ""

    def find_all(self, *path: str) -> list[XmlElement]:
        """Elements of one name along a path of names: those inside the first of each before."""
        parent = self.find_first(*path[:-1])
        return [child for child in parent.children if child.tag == path[-1]] if parent else []

    def find_first(self, *path: str) -> XmlElement | None:
        """The first element along a path of names; None: there is none."""
        found: XmlElement | None = self
        for tag in path:
            if found is None:
                return None
            found = next(iter(found.find_all(tag)), None)
        return found

    def get_text(self, *path: str) -> str:
        """Text of the element along a path, without space around it; empty if there is none."""
        found = self.find_first(*path)
        return "" if found is None else found.text.strip()


def parse_xml(content: str) -> XmlElement:
    """Read an XML document.

    Raises
    ------
    ImportFault
        Not XML, nested deeper than 64 elements, or with a document type or entities.
    """
    # The text is decoded already, whatever encoding its first line names.
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    stack: list[XmlElement] = [XmlElement("", {}, 1)]

    def refuse(*_: object) -> None:
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        why = "a document type (DTD) or entity is not read: delete it; data files need none"
        raise ImportFault(line, column, why)

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if len(stack) > MAX_DEPTH:
            raise ImportFault(line, 1, f"elements are nested deeper than {MAX_DEPTH}")
        element = XmlElement(tag.rpartition(" ")[2], attributes, line)
        stack[-1].children.append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def text(words: str) -> None:
        stack[-1].text += words

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.buffer_text = True
    try:
        parser.Parse(content.encode(), True)
    except expat.ExpatError as error:
        raise ImportFault(
            error.lineno, error.offset + 1, f"not XML: {expat.ErrorString(error.code)}"
        ) from None
    return stack[0].children[0]
