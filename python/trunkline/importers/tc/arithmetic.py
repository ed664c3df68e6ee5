"""Arithmetic of the shell, ``$((3 * X / 4))`` and the older ``$[...]``: whole numbers.

Source: POSIX.1-2017, Shell Command Language, section 2.6.4; ISO C's precedence, and its division,
which cuts towards zero.
"""

import ast
import re
from collections.abc import Callable, Mapping

from trunkline.scenario.units import parse_whole

_ALLOWED = re.compile(r"[\w\s$(){}<>*/%+-]*\Z", re.ASCII)
_OPERAND = re.compile(r"\$?\{?\b(\w+)\}?", re.ASCII)
_LARGEST = 2**63


def _divided(one: int, other: int) -> int:
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


_SIGNS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: lambda a, b: a >> b,
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: _divided,
    ast.Mod: lambda a, b: a - b * _divided(a, b),
}
"""As in C; they bind as Python's do."""


def worked_out(text: str, variables: Mapping[str, str]) -> int | None:
    """The value of an expression; None if it is none that is read.

    Parameters
    ----------
    text : str
        The expression: numbers, variables, ``+ - * / % << >>`` and brackets.

    Examples
    --------
    >>> worked_out("9 * UPLINK / 10", {"UPLINK": "220"})
    198
    """
    if not _ALLOWED.match(text):
        return None
    try:
        plain = _OPERAND.sub(lambda found: _decimal(found, variables), text.strip())
        return _value(ast.parse(plain, mode="eval").body)
    except (ValueError, SyntaxError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _decimal(found: re.Match[str], variables: Mapping[str, str]) -> str:
    """An operand in decimal; a zero in front means octal."""
    word = found[1]
    text = word if word[0].isdigit() else variables.get(word, "").strip()
    is_octal = len(text) > 1 and text[0] == "0" and text.isdecimal()
    number = parse_whole(text, 8 if is_octal else 0)
    if number is None:
        raise ValueError
    return f"({number})"


def _value(tree: ast.expr) -> int:
    match tree:
        case ast.Constant(value=int() as number):
            return number
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
            return -_value(operand) if isinstance(sign, ast.USub) else _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            found = _SIGNS[type(op)](_value(left), _value(right))
            if abs(found) < _LARGEST:
                return found
    raise ValueError
