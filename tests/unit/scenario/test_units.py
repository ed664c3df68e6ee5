"""Quantities as text."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from trunkline.scenario import units
from trunkline.scenario.units import UnitError


@pytest.mark.parametrize(
    ("text", "bit_s"),
    [
        ("10 Mbit/s", 10_000_000),
        ("10Mbit/s", 10_000_000),
        ("10mbit", 10_000_000),
        ("1gbit", 10**9),
        ("10Mb/s", 10_000_000),
        ("16.8 Mbit/s", 16_800_000),
        ("1.5e3 kbit/s", 1_500_000),
        (".5 Mbit/s", 500_000),
        ("10 Mibit", 10 * 2**20),
        ("1250 kB/s", 10_000_000),
        ("10 Mbps", 10_000_000),
        ("9.6 kbit/s", 9_600),
    ],
)
def test_rates_are_exact_bits_per_second(text: str, bit_s: int) -> None:
    assert units.parse_rate(text) == bit_s


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1 ns", 1),
        ("2.5us", 2_500),
        ("1.5 ms", 1_500_000),
        ("0.1 s", 10**8),
        ("2 min", 12 * 10**10),
    ],
)
def test_times_are_exact_nanoseconds(text: str, ns: int) -> None:
    assert units.parse_time(text) == ns


@pytest.mark.parametrize(
    ("text", "octets"), [("1500B", 1500), ("64 kB", 64_000), ("64 KiB", 65_536), ("1 MB", 10**6)]
)
def test_k_is_1000_and_ki_is_1024(text: str, octets: int) -> None:
    assert units.parse_bytes(text) == octets


@pytest.mark.parametrize(
    "text", ["10", "10 mb", "10 MBps", "10mbps", "10 bps", "10 Kbit/s", "10 ms", "ten Mbit/s", ""]
)
def test_a_rate_that_could_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse_rate(text)
    assert caught.value.code == "unit"


@pytest.mark.parametrize("text", ["nan", "inf Mbit/s", "0 bit/s", "-1 bit/s", "1e400 bit/s"])
def test_a_rate_is_finite_and_above_zero(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse_rate(text)
    assert caught.value.code == "range"


def test_a_time_below_a_nanosecond_is_refused_not_zero() -> None:
    with pytest.raises(UnitError) as caught:
        units.parse_time("1e-12 s")
    assert caught.value.code == "precision"
    assert caught.value.hint == "the nearest are 0 s and 1 ns"


def test_only_capital_prefix_and_small_b_is_bits_with_a_doubt() -> None:
    assert units.is_ambiguous_rate("10 Mbps")
    assert not units.is_ambiguous_rate("10 Mbit/s")
    assert not units.is_ambiguous_rate("10 MBps")


@given(st.integers(1, units.MAX_RATE_BIT_S))
def test_a_formatted_rate_reads_back(bit_s: int) -> None:
    assert units.parse_rate(units.format_rate(bit_s)) == bit_s


@given(st.integers(0, units.MAX_TIME_NS))
def test_a_formatted_time_reads_back(ns: int) -> None:
    assert units.parse_time(units.format_time(ns)) == ns


@given(st.floats(0, 1))
def test_a_formatted_share_reads_back(share: float) -> None:
    assert units.parse_ratio(units.format_ratio(share)) == share


@given(st.text())
def test_any_text_is_a_quantity_or_a_unit_error(text: str) -> None:
    for parse in (units.parse_rate, units.parse_time, units.parse_bytes, units.parse_packets):
        with contextlib.suppress(UnitError):
            assert parse(text) >= 0


@given(st.integers(0, 10**9), st.integers(0, 6))
def test_decimals_are_exact(digits: int, places: int) -> None:
    # d digits shifted right by p places, in seconds, are d * 10^(9-p) ns exactly.
    total, rest = divmod(digits, 10**places)
    text = f"{total}.{rest:0{places}d} s" if places else f"{total} s"
    assert units.parse_time(text) == digits * 10 ** (9 - places)
