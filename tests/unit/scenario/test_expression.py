"""Expressions over parameters."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from trunkline.scenario.expression import ExpressionError, evaluate

NAMES = {"rate": "16.8 Mbit/s", "rtt": "20 ms", "n": 3, "load": 0.8, "word": "fast", "on": True}


@pytest.mark.parametrize(
    ("text", "scalar"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("8 / 4 / 2", 1),
        ("2 - 3 - 4", -5),
        ("-n + 5", 2),
        ("n / 2", 1.5),
        ("2 * rate", "33.6 Mbit/s"),
        ("rate / n", "5.6 Mbit/s"),
        ("load * 10 Mbit/s", "8 Mbit/s"),
        ("rate * rtt", "42000 B"),  # 16.8e6 bit/s * 0.02 s = 336,000 bit
        ("1500 B / 10 Mbit/s", "1.2 ms"),
        ("rate * 1 s / 1000 B", 2100),
        ("10 packets * n", "30 packets"),
        ("50 % * rtt", "10 ms"),
        ("rtt + 1 us", "20.001 ms"),
    ],
)
def test_dimensions_follow_the_arithmetic(text: str, scalar: object) -> None:
    assert evaluate(text, NAMES).to_scalar() == scalar


def test_a_result_is_rounded_to_the_nearest_whole_unit() -> None:
    # 168/9 Mbit/s = 18,666,666.67 bit/s.
    assert evaluate("168 Mbit/s / 9", {}).to_scalar() == "18666.667 kbit/s"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "(1",
        "1)",
        "1 2",
        "rate + rtt",
        "1 / 0",
        "1 / (n - 3)",
        "missing",
        "word * 2",
        "on + 1",
        "2 ** 3",
        "__import__('os')",
        "rate.real",
        "rate[0]",
        "rate * rate",
        "1e999",
        "0.1 ns * 1",
        "(" * 100 + "1" + ")" * 100,
        "-" * 100 + "1",
        "9" * 2000,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES).to_scalar()


def test_numbers_cannot_grow_without_end() -> None:
    with pytest.raises(ExpressionError, match="digits"):
        evaluate(" * ".join(["1e60"] * 20), {})


@given(st.text(alphabet="0123456789.+-*/() nratelod%sBMbit", max_size=60))
def test_any_text_is_a_value_or_an_expression_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        value = evaluate(text, NAMES)
        assert isinstance(value.value, Fraction)
        assert isinstance(value.to_scalar(), str | int | float)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(1, 1000))
def test_arithmetic_is_that_of_fractions(a: int, b: int, c: int) -> None:
    assert evaluate(f"({a}) + ({b}) / {c}", {}).value == a + Fraction(b, c)
