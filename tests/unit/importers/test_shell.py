"""Commands of a script, and the units of their numbers."""

from fractions import Fraction

import pytest

from trunkline.importers.common.fault import ImportFault, SourceToken
from trunkline.importers.common.quantities import (
    TC_RATES,
    TC_SIZES,
    TC_TIMES,
    TCNG_RATES,
    TCNG_SIZES,
    parse_quantity,
)
from trunkline.importers.tc.shell import split_commands


def texts(script: str) -> list[list[str]]:
    return [[word.text for word in words] for words in split_commands(script)]


def test_posix_s2_3_comments_continuations_and_separators() -> None:
    script = "#!/bin/sh\n# all\ntc a \\\n  b  # more\ntc c; tc d && tc e || tc f\n"
    assert texts(script) == [["tc", "a", "b"], ["tc", "c"], ["tc", "d"], ["tc", "e"], ["tc", "f"]]


def test_posix_s2_6_5_a_variable_outside_quotes_is_split_inside_is_not() -> None:
    script = "EG=\"dev eth1\"\nexport N=5 M='a b'\ntc $EG ${N}kbit \"$EG\" '$EG' x$M\n"
    assert texts(script) == [["tc", "dev", "eth1", "5kbit", "dev eth1", "$EG", "xa", "b"]]


@pytest.mark.parametrize(
    ("written", "worth"),
    [
        ("$((9 * $UP / 10))kbit", "198kbit"),
        ("$[9*$UP/10]kbit", "198kbit"),
        ("$((UP + 0x10 - 010))", "228"),
        ("$((-7 / 2))", "-3"),  # ISO C cuts towards zero.
        ("$((-7 % 2))", "-1"),
        ("$((1 + 2 * (3 + 4) << 1))", "30"),  # Shifts bind less than sums.
    ],
)
def test_posix_s2_6_4_arithmetic_is_worked_out(written: str, worth: str) -> None:
    assert texts(f"UP=220\ntc {written}\n") == [["tc", worth]]


@pytest.mark.parametrize(
    "wrong", ["$((1 / 0))", "$((UP))", "$((1 +))", "$((a = 1))", "$[1", "$((2"]
)
def test_arithmetic_that_is_none_names_its_place(wrong: str) -> None:
    with pytest.raises(ImportFault) as caught:
        texts(f"tc qdisc {wrong}\n")
    assert (caught.value.line, caught.value.column) == (1, 10)
    assert "is not read; known: whole numbers" in str(caught.value)


def test_posix_s2_7_redirections_say_nothing() -> None:
    assert texts("tc a > /dev/null 2>&1\ntc b 2>/dev/null c\n") == [["tc", "a"], ["tc", "b", "c"]]


def test_words_know_their_place_through_continuations() -> None:
    (words,) = split_commands("X=1\n tc a \\\n    $X\n")
    assert [(word.text, word.line, word.column) for word in words] == [
        ("tc", 2, 2),
        ("a", 2, 5),
        ("1", 3, 5),
    ]


def test_words_know_their_place_behind_arithmetic_and_quotes_of_several_lines() -> None:
    (words,) = split_commands("tc $((\n1 + 2)) 'a\nb' \"c\nd\" e")
    places = [(word.text, word.line, word.column) for word in words]
    assert places == [("tc", 1, 1), ("3", 1, 4), ("a\nb", 2, 9), ("c\nd", 3, 4), ("e", 4, 4)]


SIMPLE = (
    "simple commands, one after another; of a script with loops or functions give the trace, "
    "sh -x SCRIPT 2> trace.tc"
)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("for i in 1 2; do\n", f"1:1: for is not read; known: {SIMPLE}"),
        ("tc a\ntc $(cat x)\n", "2:4: $( is not read; known: $NAME and ${NAME}"),
        ("tc ${X##*/}\n", "1:4: ${X##*/} is not read; known: $NAME and ${NAME}"),
        ("f() { tc a; }\n", f"1:1: f() is not read; known: {SIMPLE}"),
        ("[ -n x ] && tc a\n", f"1:13: a command under a condition is not read; known: {SIMPLE}"),
        ("tc -b - <<END\nqdisc\n", "1:14: the here-document has no end END"),
        ("A=1\ntc $B\n", "2:4: variable B is not set in this file; known: A, IP, IPTABLES, TC"),
        ("tc 'a\n", "1:4: this quote has no end"),
        ("tc a | more\n", f"1:6: | is not read; known: {SIMPLE}"),
    ],
)
def test_what_is_no_simple_command_names_its_place(script: str, message: str) -> None:
    with pytest.raises(ImportFault) as caught:
        texts(script)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        # tc(8): kbit is 1000 bit/s, kbps 1000 byte/s, a bare number bit/s.
        ("10mbit", TC_RATES, 10_000_000),
        ("1.5Mbit", TC_RATES, 1_500_000),
        ("100kbps", TC_RATES, 800_000),
        ("64kibit", TC_RATES, 65_536),
        ("9600", TC_RATES, 9600),
        # tc(8): sizes by 1024, kbit is 1024 bit.
        ("10kb", TC_SIZES, 10_240),
        ("10k", TC_SIZES, 10_240),
        ("1500", TC_SIZES, 1500),
        ("2mb", TC_SIZES, 2_097_152),
        ("8kbit", TC_SIZES, 1024),
        ("50ms", TC_TIMES, 50_000_000),
        ("70", TC_TIMES, 70_000),
        # tcng: bps is bit/s, kB 1000 bytes.
        ("2.8Mbps", TCNG_RATES, 2_800_000),
        ("10kB", TCNG_SIZES, 10_000),
    ],
)
def test_a_suffix_means_what_its_program_says(
    text: str, units: dict[str, Fraction], value: int
) -> None:
    assert parse_quantity(SourceToken(text, 1, 1), units, "a quantity") == value
