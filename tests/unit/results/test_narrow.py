"""Tables on narrow terminals: nothing is cut, whatever the width."""

from __future__ import annotations

import pytest

from trunkline.results.terminal_tables import (
    COMPARISON_HEADERS,
    add_text_row,
    begin_table,
    render_to_text,
)

NAMES = ["a-flow-with-a-long-name", "R1->R2"]
NUMBERS = [f"{1000 + each} Mbit/s" for each in range(9)]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_no_name_and_no_number_is_cut(width: int) -> None:
    table = begin_table("Title", ["flow", "link", *(f"measure {i}" for i in range(9))], names=2)
    add_text_row(table, [*NAMES, *NUMBERS])
    text = render_to_text([table], width=width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for number in NUMBERS:
        assert text.count(number) == 1
    # The names stand in every block, and the title once.
    blocks = text.count("measure 0") and text.count("R1->R2")
    assert blocks == (1 if width == 200 else len([x for x in text.splitlines() if "──" in x]))
    assert text.count("Title") == 1


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_published_value_stands_in_the_block_of_ours(width: int) -> None:
    heads = [head for each in "abcd" for head in (each, *COMPARISON_HEADERS)]
    table = begin_table("Title", ["row", *heads])
    add_text_row(table, ["a row", *["100.00 ± 0.01", "100.05", "-0.05", "99.97 to 100.03"] * 4])
    lines = [
        line.split()[1:]
        for line in render_to_text([table], width=width).splitlines()
        if "publ." in line
    ]
    assert lines
    for words in lines:
        assert words == [head for name in words[::4] for head in (name, *COMPARISON_HEADERS)]
        assert not set(words[::4]) & set(COMPARISON_HEADERS)
