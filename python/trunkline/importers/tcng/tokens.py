"""Words of tcng: comments, ``#define`` and ``#include``.

Source: W. Almesberger, tcng reference manual (2002): the language passes through cpp first.
"""

import re
from collections.abc import Iterator

from trunkline.importers.common.fault import ImportFault, Note, Word

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|//[^\n]*|/\*.*?\*/)|(?P<line>\n)|(?P<text>"[^"\n]*")
    |(?P<address>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)
    |(?P<number>0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?[A-Za-z]*)|(?P<word>[A-Za-z_][\w]*)
    |(?P<variable>\$[A-Za-z_]\w*)|(?P<mark>==|!=|\|\||&&|[(){},;<>=&:/])""",
    re.X | re.S,
)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]*)")
_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]+([\"<][^\">]+[\">])")
_KNOWN_INCLUDES = ("fields.tc", "ports.tc", "meters.tc", "ip.tc", "values.tc", "idioms.tc")


def tokens(content: str, notes: list[Note]) -> list[Word]:
    """All words, macros replaced by what they stand for at the place where they are used.

    Parameters
    ----------
    notes : list of Note
        Gets the files included, whose definitions are built in.

    Raises
    ------
    ImportFault
        A character or directive that is not read.
    """
    macros: dict[str, list[Word]] = {}
    kept: list[str] = []
    for number, text in enumerate(_joined(content).split("\n"), 1):
        defined, included = _DEFINE.match(text), _INCLUDE.match(text)
        if defined is not None:
            macros[defined[1]] = list(_words(defined[2], number))
        elif included is not None:
            name = included[1][1:-1]
            if name.rpartition("/")[2] not in _KNOWN_INCLUDES:
                column = included.start(1) + 1
                known = ", ".join(_KNOWN_INCLUDES)
                raise ImportFault(number, column, f"the file {name} is not included", known)
            notes.append(Note(number, f"#include {included[1]}", "its names are built in"))
        elif text.lstrip().startswith("#"):
            column = len(text) - len(text.lstrip()) + 1
            raise ImportFault(number, column, f"{text.split()[0]} is not read", "#define, #include")
        kept.append("" if text.lstrip().startswith("#") else text)
    return [each for word in _words("\n".join(kept), 1) for each in _replaced(word, macros, ())]


def _joined(content: str) -> str:
    """Lines that go on, with the next; a blank line keeps the count."""
    given = content.replace("\r\n", "\n").split("\n")
    lines: list[str] = []
    owed = 0
    for text, after in zip(given, [*given[1:], ""], strict=True):
        bare = text.removesuffix("\\")
        if owed:
            lines[-owed] += " " + bare
            lines.append("")
        else:
            lines.append(bare)
        # In print, definitions are broken: no statement begins with a number or after a comma.
        is_broken = _DEFINE.match(lines[-1 - owed]) and (
            bare.rstrip().endswith(",") or after.lstrip()[:1].isdecimal()
        )
        owed = owed + 1 if is_broken or text.endswith("\\") else 0
    return "\n".join(lines)


def _words(content: str, line: int) -> Iterator[Word]:
    at = 0
    while at < len(content):
        found = _TOKEN.match(content, at)
        column = at - content.rfind("\n", 0, at)
        if found is None:
            given = content[at : at + 20].split()[0]
            raise ImportFault(line, column, f"{given} is not read")
        if found.lastgroup not in ("space", "line"):
            yield Word(found[0], line, column)
        line += found[0].count("\n")
        at = found.end()


def _replaced(word: Word, macros: dict[str, list[Word]], inside: tuple[str, ...]) -> Iterator[Word]:
    if word.text not in macros or word.text in inside:
        yield word
        return
    for each in macros[word.text]:
        here = Word(each.text, word.line, word.column)
        yield from _replaced(here, macros, (*inside, word.text))
