"""Arithmetic of the shell, ``$((3 * X / 4))`` and the older ``$[...]``: whole numbers.

Source: POSIX.1-2017, Shell Command Language, section 2.6.4; ISO C's precedence, and its division,
which cuts towards zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = ["worked_out"]

_WORD = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|\$?\{?([A-Za-z_]\w*)\}?|(<<|>>|[-+*/%()]))")
_LARGEST = 2**63
_DEEPEST = 50


def worked_out(text: str, variables: Mapping[str, str]) -> int | None:
    """The value of an expression; None if it is none that is read.

    Parameters
    ----------
    text : str
        The expression: numbers, variables, ``+ - * / % << >>`` and brackets.
    variables : mapping
        Values of variables.

    Examples
    --------
    >>> worked_out("9 * UPLINK / 10", {"UPLINK": "220"})
    198
    """
    words: list[int | str] = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            return None
        number, name, sign = found.groups()
        if name is not None:
            number = variables.get(name, "")
        words.append(sign if sign is not None else _number(number))
        at = found.end()
    try:
        parser = _Parser(words)
        value = parser.level(0)
    except (_UnreadError, ZeroDivisionError):
        return None
    return value if parser.at == len(words) else None


class _UnreadError(ValueError):
    pass


def _number(text: str) -> int | str:
    text = text.strip()
    is_octal = len(text) > 1 and text[0] == "0" and text.isdecimal()
    try:
        return int(text, 8 if is_octal else 0)
    except ValueError:
        return "?"


def _divided(one: int, other: int) -> int:
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"<<": lambda a, b: a << min(b, 64), ">>": lambda a, b: a >> b},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": _divided, "%": lambda a, b: a - b * _divided(a, b)},
)


class _Parser:
    def __init__(self, words: list[int | str]):
        self.words = words
        self.at = 0
        self.depth = 0

    def take(self) -> int | str:
        if self.at == len(self.words):
            raise _UnreadError
        self.at += 1
        return self.words[self.at - 1]

    def level(self, precedence: int) -> int:
        if precedence == len(_LEVELS):
            return self.single()
        value = self.level(precedence + 1)
        while self.at < len(self.words) and self.words[self.at] in _LEVELS[precedence]:
            sign = str(self.take())
            other = self.level(precedence + 1)
            if sign in ("<<", ">>") and other < 0:
                raise _UnreadError
            value = _LEVELS[precedence][sign](value, other)
            if abs(value) >= _LARGEST:
                raise _UnreadError
        return value

    def single(self) -> int:
        word = self.take()
        if isinstance(word, int):
            return word
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _UnreadError
        if word in ("+", "-"):
            value = self.single()
            value = -value if word == "-" else value
        elif word == "(":
            value = self.level(0)
            if self.take() != ")":
                raise _UnreadError
        else:
            raise _UnreadError
        self.depth -= 1
        return value
