"""Small expressions over parameters: ``${2 * udp_rate}``.

Numbers with or without unit, parameter names, ``+ - * /`` and parentheses; nothing else. Values
are exact fractions with a dimension (bits, seconds, packets), so ``${rate * rtt}`` is a size and
``${rate + rtt}`` is an error. A result is rounded to the nearest whole base unit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from trunkline.scenario import units
from trunkline.scenario.diagnostic import suggest_nearest
from trunkline.scenario.units import BYTES, NUMBER_PATTERN, PACKETS, RATE, RATIO, TIME, UnitError

_MAX_CHARACTERS = 1000
_MAX_DEPTH = 32
_MAX_DIGITS = 200  # digits of a numerator or denominator; keeps `**` by repetition cheap
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{NUMBER_PATTERN.pattern.removeprefix('[+-]?')})"
    r"(?:\s*(?P<unit>[A-Za-zµμ%]+(?:/s)?))?"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<operator>[-+*/()]))"
)
_UNITS = {
    **{unit: (BYTES, factor) for unit, factor in BYTES.units.items()},
    **{unit: (TIME, factor) for unit, factor in TIME.units.items()},
    **{unit: (RATE, factor) for unit, factor in RATE.units.items()},
    **{unit: (PACKETS, factor) for unit, factor in PACKETS.units.items()},
    **{unit: (RATIO, factor) for unit, factor in RATIO.units.items()},
}
# Exponents of bit, second, packet, and base units of the dimension in them.
_DIMENSIONS = {
    "size": ((1, 0, 0), Fraction(8)),
    "time": ((0, 1, 0), Fraction(1, 10**9)),
    "rate": ((1, -1, 0), Fraction(1)),
    "number of packets": ((0, 0, 1), Fraction(1)),
    "share": ((0, 0, 0), Fraction(1)),
}


class ExpressionError(ValueError):
    """An expression that cannot be worked out.

    code: ``expression`` or ``parameter``.
    hint: The likely remedy.
    """

    def __init__(self, message: str, code: str = "expression", hint: str = ""):
        super().__init__(message)
        self.code = code
        self.hint = hint


@dataclass(frozen=True)
class ExactQuantity:
    """An exact value with its dimension."""

    value: Fraction  # In bits, seconds and packets.
    exponents: tuple[int, int, int] = (0, 0, 0)  # Exponents of bit, second, packet.

    def to_scalar(self) -> str | int | float:
        """The value as a scenario has it: text with a unit, or a bare number.

        Raises ExpressionError: No kind of quantity has this dimension.
        """
        if self.exponents == (0, 0, 0):
            is_whole = self.value.denominator == 1
            return self.value.numerator if is_whole else float(self.value)
        for dimension in (BYTES, TIME, RATE, PACKETS):
            exponents, base = _DIMENSIONS[dimension.name]
            if exponents == self.exponents:
                # Half up: rates of 168/9 Mbit/s are wanted, and a fixed rule repeats.
                nearest_whole = (self.value / base * 2 + 1) // 2
                if nearest_whole == 0 and self.value != 0:
                    raise ExpressionError(f"the result is below one {dimension.base}")
                return units.format_base(nearest_whole, dimension)
        bits, seconds, packets = self.exponents
        raise ExpressionError(
            f"the result is no rate, time, size or number (bit^{bits} s^{seconds} packet^{packets})"
        )


def parse_scalar(value: object) -> ExactQuantity | None:
    """Parse a scalar of a scenario as a quantity; None if it is neither number nor quantity."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return ExactQuantity(Fraction(value))
    if isinstance(value, float):
        number = units.parse_number(repr(value))
        return None if number is None else ExactQuantity(number)
    if not isinstance(value, str):
        return None
    for dimension in (RATE, TIME, BYTES, PACKETS, RATIO):
        try:
            return _to_base(units.parse_quantity(value, dimension), dimension)
        except UnitError:
            continue
    return None


def evaluate(text: str, names: Mapping[str, object]) -> ExactQuantity:
    """Works out an expression.

    text: The expression, without ``${`` and ``}``.
    names: Parameters: scalars of the scenario.
    Raises ExpressionError: Not an expression, an unknown name, dimensions that do not fit, division
        by zero, or too long, deep or precise to be meant.

    Examples
    --------
    >>> evaluate("rate * 100 ms", {"rate": "10 Mbit/s"}).scalar()
    '125000 B'
    """
    if len(text) > _MAX_CHARACTERS:
        raise ExpressionError(f"longer than {_MAX_CHARACTERS} characters")
    parser = _ExpressionParser(_tokenise(text), names)
    result = parser.parse_sum(0)
    if parser.peek():
        raise ExpressionError(f"'{parser.peek()}' is not expected here")
    return result


@dataclass(frozen=True)
class _Token:
    text: str
    value: ExactQuantity | None = None
    is_name: bool = False


def _tokenise(text: str) -> list[_Token]:
    tokens = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if not match:
            raise ExpressionError(f"'{text[position:].strip()[:20]}' cannot be read")
        if match["number"] is not None:
            tokens.append(_Token(match[0].strip(), _parse_number(match["number"], match["unit"])))
        else:
            tokens.append(_Token(match[0].strip(), is_name=match["name"] is not None))
        position = match.end()
    return tokens


def _parse_number(text: str, unit: str | None) -> ExactQuantity:
    number = units.parse_number(text)
    if number is None:
        raise ExpressionError(f"'{text[:40]}' is no finite number")
    if unit is None:
        return ExactQuantity(number)
    if unit not in _UNITS:
        raise ExpressionError(f"'{unit}' is not a unit", hint=suggest_nearest(unit, _UNITS))
    dimension, factor = _UNITS[unit]
    return _to_base(number * factor, dimension)


def _to_base(value: Fraction, dimension: units.Dimension) -> ExactQuantity:
    exponents, base = _DIMENSIONS[dimension.name]
    return ExactQuantity(value * base, exponents)


class _ExpressionParser:
    """Recursive descent: sum of products of signed atoms."""

    def __init__(self, tokens: list[_Token], names: Mapping[str, object]):
        self.tokens = tokens
        self.names = names
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position].text if self.position < len(self.tokens) else ""

    def parse_sum(self, depth: int) -> ExactQuantity:
        left = self.parse_product(depth)
        while (operator := self.peek()) in ("+", "-"):
            self.position += 1
            right = self.parse_product(depth)
            if left.exponents != right.exponents:
                raise ExpressionError(f"'{operator}' needs two quantities of one kind")
            sign = 1 if operator == "+" else -1
            left = _check_digits(left.value + sign * right.value, left.exponents)
        return left

    def parse_product(self, depth: int) -> ExactQuantity:
        left = self.parse_atom(depth)
        while (operator := self.peek()) in ("*", "/"):
            self.position += 1
            right = self.parse_atom(depth)
            if operator == "/" and right.value == 0:
                raise ExpressionError("division by zero")
            sign = 1 if operator == "*" else -1
            value = left.value * right.value if sign == 1 else left.value / right.value
            bits, seconds, packets = (
                left_exponent + sign * right_exponent
                for left_exponent, right_exponent in zip(
                    left.exponents, right.exponents, strict=True
                )
            )
            left = _check_digits(value, (bits, seconds, packets))
        return left

    def parse_atom(self, depth: int) -> ExactQuantity:
        if depth > _MAX_DEPTH:
            raise ExpressionError(f"nested deeper than {_MAX_DEPTH}")
        if self.position >= len(self.tokens):
            raise ExpressionError("the expression ends too early")
        token = self.tokens[self.position]
        self.position += 1
        if token.value is not None:
            return token.value
        if token.is_name:
            return self.get_parameter(token.text)
        if token.text in ("-", "+"):
            inner = self.parse_atom(depth + 1)
            return ExactQuantity(
                -inner.value if token.text == "-" else inner.value, inner.exponents
            )
        if token.text != "(":
            raise ExpressionError(f"'{token.text}' is not expected here")
        inner = self.parse_sum(depth + 1)
        if self.peek() != ")":
            raise ExpressionError("a closing parenthesis is missing")
        self.position += 1
        return inner

    def get_parameter(self, name: str) -> ExactQuantity:
        if name not in self.names:
            raise ExpressionError(
                f"there is no parameter {name}", "parameter", suggest_nearest(name, self.names)
            )
        value = parse_scalar(self.names[name])
        if value is None:
            raise ExpressionError(f"parameter {name} is no number or quantity")
        return value


def _check_digits(value: Fraction, exponents: tuple[int, int, int]) -> ExactQuantity:
    digits = max(value.numerator.bit_length(), value.denominator.bit_length()) * 3 // 10
    if digits > _MAX_DIGITS:
        raise ExpressionError(f"a number of more than {_MAX_DIGITS} digits")
    return ExactQuantity(value, exponents)
