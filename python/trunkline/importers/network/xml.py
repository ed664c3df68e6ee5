"""XML as a tree whose elements know their lines, without document types and so without entities."""

from xml.parsers import expat

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement

MAX_DEPTH = 64


def parse_xml(content: str) -> FileElement:
    """Read an XML document: its outermost element.

    Names have no namespaces. Attributes are children called ``@name``; text between elements is
    a child ``text()``.

    Raises ImportFault: Not XML, nested deeper than 64 elements, or with a document type or
        entities.
    """
    # The text is decoded already, whatever encoding its first line names.
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    stack = [FileElement("", 1)]
    texts = [""]

    def refuse(*_: object) -> None:
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        why = "a document type (DTD) or entity is not read: delete it; data files need none"
        raise ImportFault(line, column, why)

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if len(stack) > MAX_DEPTH:
            raise ImportFault(line, 1, f"elements are nested deeper than {MAX_DEPTH}")
        element = stack[-1].add(tag.rpartition(" ")[2], line=line)
        for name, value in attributes.items():
            element.add(f"@{name.rpartition(' ')[2]}", value)
        stack.append(element)
        texts.append("")

    def end(_: str) -> None:
        element, text = stack.pop(), texts.pop().strip()
        if text and any(not each.name.startswith("@") for each in element.children):
            element.add("text()", text)
        elif text:
            element.value = text

    def text(words: str) -> None:
        texts[-1] += words

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
