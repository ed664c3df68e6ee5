"""GML as a tree of elements (Himsolt, "GML: A portable Graph File Format", 1997)."""

import html
import re

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement

MAX_DEPTH = 64
MAX_DIGITS = 64  # Digits of a number.

_TOKEN = re.compile(
    r"""(?P<space>\s+|^[ \t]*\#[^\n]*)|(?P<text>"[^"]*")|(?P<bracket>[\[\]])"""
    r"""|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|(?P<word>[^\s\[\]"]+)""",
    re.MULTILINE,
)


def parse_gml(content: str) -> FileElement:
    """Read GML: keys, each with a number, a text or a list of keys in brackets.

    Raises ImportFault: It is no GML, or nested deeper than 64 lists.
    """
    root = FileElement("", 1)
    stack = [root]
    key = ""
    line, line_start, position = 1, 0, 0
    while position < len(content):
        match = _TOKEN.match(content, position)
        column = position - line_start + 1
        if match is None:
            raise ImportFault(line, column, f"not GML: {content[position : position + 20]!r}")
        kind, word = match.lastgroup, match[0]
        position = match.end()
        if kind == "space":
            pass
        elif not key:
            key = _open_key(word, kind, stack, line, column)
        elif word == "[":
            if len(stack) > MAX_DEPTH:
                raise ImportFault(line, column, f"not GML: lists nested deeper than {MAX_DEPTH}")
            stack.append(stack[-1].add(key, line=line))
            key = ""
        elif word == "]":
            raise ImportFault(line, column, f"not GML: {key} has no value")
        else:
            if kind == "number" and len(word) > MAX_DIGITS:
                raise ImportFault(line, column, f"a number of {len(word)} characters")
            value = html.unescape(word[1:-1]) if kind == "text" else word
            stack[-1].add(key, value, line)
            key = ""
        line_breaks = word.count("\n")
        if line_breaks:
            line += line_breaks
            line_start = match.start() + word.rindex("\n") + 1
    if len(stack) > 1 or key:
        what = f"{key} has no value" if key else f"the list {stack[-1].name} does not end"
        raise ImportFault(line, 1, f"not GML: {what}")
    return root


def _open_key(word: str, kind: str | None, stack: list[FileElement], line: int, column: int) -> str:
    """The key that a word is; a bracket ends the list before it."""
    if word == "]" and len(stack) > 1:
        stack.pop()
        return ""
    if kind != "word" or not re.match(r"[A-Za-z_]", word):
        raise ImportFault(line, column, f"not GML: a key is expected, not {word[:20]!r}")
    return word
