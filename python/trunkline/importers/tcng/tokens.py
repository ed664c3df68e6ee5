"""Words of tcng: comments, ``#define`` and ``#include``.

Source: W. Almesberger, tcng reference manual (2002): the language passes through cpp first.
"""

import re
from collections.abc import Iterator

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import ImportFault, SourceToken

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


def read_tokens(content: str, account: ImportAccount) -> list[SourceToken]:
    """Read all words, with macros replaced at the place of their use.

    account: Gets the files included, whose definitions are built in.
    Raises ImportFault: A character or directive that is not read.
    """
    macros: dict[str, list[SourceToken]] = {}
    kept_lines: list[str] = []
    for number, text in enumerate(_join_continued_lines(content).split("\n"), 1):
        defined, included = _DEFINE.match(text), _INCLUDE.match(text)
        if defined is not None:
            macros[defined[1]] = list(_split_words(defined[2], number))
        elif included is not None:
            name = included[1][1:-1]
            if name.rpartition("/")[2] not in _KNOWN_INCLUDES:
                column = included.start(1) + 1
                known = ", ".join(_KNOWN_INCLUDES)
                raise ImportFault(number, column, f"the file {name} is not included", known)
            account.add_left_out(f"#include {included[1]}", "its names are built in", line=number)
        elif text.lstrip().startswith("#"):
            column = len(text) - len(text.lstrip()) + 1
            raise ImportFault(number, column, f"{text.split()[0]} is not read", "#define, #include")
        kept_lines.append("" if text.lstrip().startswith("#") else text)
    return [
        token
        for word in _split_words("\n".join(kept_lines), 1)
        for token in _expand_macros(word, macros, ())
    ]


def _join_continued_lines(content: str) -> str:
    """Join lines that continue on the next; a blank line keeps the count."""
    given = content.replace("\r\n", "\n").split("\n")
    lines: list[str] = []
    pending_lines = 0
    for text, next_line in zip(given, [*given[1:], ""], strict=True):
        line_text = text.removesuffix("\\")
        if pending_lines:
            lines[-pending_lines] += " " + line_text
            lines.append("")
        else:
            lines.append(line_text)
        # In print, definitions are broken: no statement begins with a number or after a comma.
        is_broken = _DEFINE.match(lines[-1 - pending_lines]) and (
            line_text.rstrip().endswith(",") or next_line.lstrip()[:1].isdecimal()
        )
        pending_lines = pending_lines + 1 if is_broken or text.endswith("\\") else 0
    return "\n".join(lines)


def _split_words(content: str, line: int) -> Iterator[SourceToken]:
    position = 0
    while position < len(content):
        token = _TOKEN.match(content, position)
        column = position - content.rfind("\n", 0, position)
        if token is None:
            given = content[position : position + 20].split()[0]
            raise ImportFault(line, column, f"{given} is not read")
        if token.lastgroup not in ("space", "line"):
            yield SourceToken(token[0], line, column)
        line += token[0].count("\n")
        position = token.end()


def _expand_macros(
    word: SourceToken, macros: dict[str, list[SourceToken]], expanding: tuple[str, ...]
) -> Iterator[SourceToken]:
    if word.text not in macros or word.text in expanding:
        yield word
        return
    for macro_word in macros[word.text]:
        placed_word = SourceToken(macro_word.text, word.line, word.column)
        yield from _expand_macros(placed_word, macros, (*expanding, word.text))
