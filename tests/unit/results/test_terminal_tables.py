from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.results.number_format import format_mean_and_half_width, format_quantity
from trunkline.results.terminal_tables import escape_unprintable


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (16_800_000.0, "bit/s", "16.8 Mbit/s"),
        (999_999.0, "bit/s", "1 Mbit/s"),
        (0.0, "bit/s", "0 bit/s"),
        (0.0123456, "s", "12.35 ms"),
        (2.5e-7, "s", "250 ns"),
        (4.857e-10, "s", "0.4857 ns"),
        (0.0, "s", "0 s"),
        (12.0, "s", "12 s"),
        (None, "s", "–"),
    ],
)
def test_quantities_have_a_fitting_prefix(value: float | None, unit: str, written: str) -> None:
    assert format_quantity(value, unit) == written


@pytest.mark.parametrize(
    ("mean", "half", "unit", "written"),
    [
        (17_490_000.0, 4_898_000.0, "bit/s", "17.5 ± 4.9 Mbit/s"),
        (13_451_234.0, 10_820.0, "bit/s", "13.45 ± 0.01 Mbit/s"),
        (0.0068, 0.00019, "s", "6.80 ± 0.19 ms"),
        (0.000123, 0.001007, "s", "123 ± 1007 µs"),
        (18.2e6, 0.0, "bit/s", "18.2 ± 0 Mbit/s"),
        (285_714.0, 0.0, "", "285714 ± 0"),
        (18.2e6, None, "bit/s", "18.2 Mbit/s"),
        (1.5, 0.25, "", "1.50 ± 0.25"),
        # RFC 3550's jitter is an average that halves without end.
        (2.9e-59, None, "s", "0 s"),
        (2.9e-59, 1e-60, "s", "0 ± 0 s"),
        (2.9e-59, None, "", "2.9e-59"),
    ],
)
def test_mean_and_interval_share_unit_and_digits(
    mean: float, half: float | None, unit: str, written: str
) -> None:
    assert format_mean_and_half_width(mean, half, unit) == written


def test_control_characters_are_spelled_out() -> None:
    assert escape_unprintable("a\x1b[2Jb\r\n\u202ec") == "a\\x1b[2Jb\\r\\n\\u202ec"


MIXED = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows:
  web: {agent: AGENT, from: A, to: B}
  voice: {agent: udp, from: A, to: B, rate: 100 kbit/s}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(("agent", "shown"), [("tcp", True), ("udp, rate: 200 kbit/s", False)])
def test_segments_resent_are_a_column_where_a_flow_is_of_tcp(agent: str, shown: bool) -> None:
    text = tl.run(tl.load(MIXED.replace("AGENT", agent))).render(width=120)
    assert ("resent" in text) is shown
    assert ("resent: TCP segments" in text) is shown
    assert "jitter: RFC 3550" in text
