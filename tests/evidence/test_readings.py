"""Published values of the studies against a second reading of the documents.

``studies/readings.csv`` has the sum of every row and every column of every table, taken from the
texts by a program of its own that never saw ``published.csv``. A value that was read wrongly
changes two sums, two that were swapped change two or four.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

import trunkline
from trunkline.stats import mean_interval

READ = Path(__file__).parent / "studies" / "readings.csv"
PAGES = Path(__file__).parents[2] / "docs" / "studies"
STUDIES = Path(trunkline.__file__).parent / "studies"
# Values that a study repeats in a table of its own, which the document has once.
AGAIN = {("seddigh1999", "T4r")}


def read() -> dict[str, dict[tuple[str, str, str], Decimal]]:
    found: dict[str, dict[tuple[str, str, str], Decimal]] = defaultdict(dict)
    with READ.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["study"]][row["table"], row["line"], row["name"]] = Decimal(row["sum"])
    return found


@pytest.mark.parametrize(
    ("study", "cells"), [("bhani1999", 60), ("seddigh1999", 462), ("avallone2003", 80)]
)
def test_published_values_are_those_of_a_second_reading(study: str, cells: int) -> None:
    sums: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    counted = 0
    with (STUDIES / study / "published.csv").open(encoding="utf-8", newline="") as file:
        for cell in csv.DictReader(file):
            if (study, cell["table"]) not in AGAIN:
                sums[cell["table"], "row", cell["row"]] += Decimal(cell["value"])
                sums[cell["table"], "column", cell["column"]] += Decimal(cell["value"])
                counted += 1
    assert counted == cells
    assert sums == read()[study]


def test_develder2003_gain_of_50_ms_in_the_kernel_is_what_the_page_says() -> None:
    goodput: dict[int, list[float]] = defaultdict(list)
    with (READ.parent / "develder2003-first-second.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            goodput[int(row["delay_ms"])].append(float(row["goodput_mbit_s"]))
    gain = mean_interval([100 * (a / b - 1) for a, b in zip(goodput[50], goodput[0], strict=True)])
    assert gain.half_width is not None
    page = PAGES.joinpath("develder2003.md").read_text("utf-8")
    stated = next(line for line in page.splitlines() if "A separate run of the kernel" in line)
    assert f"with {len(goodput[0])} seeds" in stated
    assert f"**they gain {gain.mean:.0f} ± {gain.half_width:.0f} %**" in stated


def test_develder2003_slides_17_and_28() -> None:
    with (STUDIES / "develder2003" / "published.csv").open(encoding="utf-8", newline="") as file:
        expected = {(cell["table"], cell["row"]): cell["value"] for cell in csv.DictReader(file)}
    assert expected == {
        ("a", "50 ms"): "28.72",
        ("b", "50 ms"): "11.89",
        ("b", "250 ms"): "7.55",
        ("b", "500 ms"): "6.91",
        ("b", "1000 ms"): "3.98",
    }
