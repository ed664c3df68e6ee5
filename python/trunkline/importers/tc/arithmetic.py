"""Arithmetic of the shell, ``$((3 * X / 4))`` and the older ``$[...]``: whole numbers.

Source: POSIX.1-2017, Shell Command Language, section 2.6.4; ISO C's precedence, and its division,
which cuts towards zero.
"""

import ast
import re
from collections.abc import Callable, Mapping

from trunkline.scenario.units import parse_integer

_ALLOWED_EXPRESSION = re.compile(r"[\w\s$(){}<>*/%+-]*\Z", re.ASCII)
_OPERAND = re.compile(r"\$?\{?\b(\w+)\}?", re.ASCII)
_VALUE_BOUND = 2**63


def _divide_towards_zero(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: lambda a, b: a >> b,
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: _divide_towards_zero,
    ast.Mod: lambda a, b: a - b * _divide_towards_zero(a, b),
}
"""Operators of C, with the precedence of Python."""


def evaluate_arithmetic(text: str, variables: Mapping[str, str]) -> int | None:
    """Evaluate the value of an expression; None if the text is no expression that is read.

    text: The expression: numbers, variables, ``+ - * / % << >>`` and brackets.

    Examples
    --------
    >>> worked_out("9 * UPLINK / 10", {"UPLINK": "220"})
    198
    """
    if not _ALLOWED_EXPRESSION.match(text):
        return None
    try:
        plain = _OPERAND.sub(lambda found: _to_decimal(found, variables), text.strip())
        return _evaluate_tree(ast.parse(plain, mode="eval").body)
    except (ValueError, SyntaxError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _to_decimal(found: re.Match[str], variables: Mapping[str, str]) -> str:
    """An operand in decimal; a zero in front means octal."""
    word = found[1]
    text = word if word[0].isdigit() else variables.get(word, "").strip()
    is_octal = len(text) > 1 and text[0] == "0" and text.isdecimal()
    number = parse_integer(text, 8 if is_octal else 0)
    if number is None:
        raise ValueError
    return f"({number})"


def _evaluate_tree(tree: ast.expr) -> int:
    match tree:
        case ast.Constant(value=int() as number):
            return number
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
            return (
                -_evaluate_tree(operand) if isinstance(sign, ast.USub) else _evaluate_tree(operand)
            )
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            found = _OPERATORS[type(op)](_evaluate_tree(left), _evaluate_tree(right))
            if abs(found) < _VALUE_BOUND:
                return found
    raise ValueError
