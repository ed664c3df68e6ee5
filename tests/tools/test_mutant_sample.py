"""Samples of mutants: shares of files, nested sizes, and intervals of Wilson (1927) by hand.

And the names by which reasons find mutants.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "dev"))

from mutant_journal import drop_number, drop_place
from mutant_sample import choose_sample, compute_wilson_interval
from python_mutants import mutate_file


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}"


ALL = [Mutant(path, line) for path, n in (("a", 600), ("b", 300), ("c", 97)) for line in range(n)]


def test_each_file_has_its_share_of_a_sample() -> None:
    found = Counter(each.path for each in choose_sample(ALL, 100, 1))
    assert all(abs(found[path] - share) <= 1 for path, share in (("a", 60), ("b", 30), ("c", 10)))


def test_a_sample_holds_smaller_ones_and_a_seed_gives_it_again() -> None:
    assert choose_sample(ALL, 40, 3) == choose_sample(ALL[::-1], 100, 3)[:40]
    assert set(choose_sample(ALL, 40, 3)) != set(choose_sample(ALL, 40, 4))
    assert len(set(choose_sample(ALL, 2000, 3))) == len(ALL)


def test_every_mutant_of_a_file_is_as_likely() -> None:
    small = ALL[:20]
    found = Counter(each for seed in range(2000) for each in choose_sample(small, 5, seed))
    # Each is drawn in a quarter of 2000 samples, with a standard error of 19.4.
    assert all(abs(found[each] - 500) < 4.5 * 19.4 for each in small)


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (7, 10), (140, 150), (10, 10)])
def test_wilson_1927_bounds_are_where_the_deviation_is_1_96_standard_errors(
    hits: int, count: int
) -> None:
    for bound in compute_wilson_interval(hits, count):
        deviation = abs(hits / count - bound)
        error = math.sqrt(max(0.0, bound * (1 - bound)) / count)
        assert deviation == pytest.approx(1.959964 * error, abs=1e-6)
    # By hand: of none in ten, the upper bound is z² / (n + z²).
    assert compute_wilson_interval(0, 10) == pytest.approx((0, 3.8415 / 13.8415), abs=1e-4)


def test_mutants_of_the_same_words_in_a_function_have_names_of_their_own() -> None:
    """So that the reason of one hides no other; a line above the function changes no name."""
    text = "def add(a, b):\n    return (a + b) + a\n\n\ndef join(a, b):\n    return a + b\n"
    mutants = mutate_file("sums.py", text.encode())
    words = "sums.py: replace + with - in"
    found = {each.start: drop_place(each.name) for each in mutants}
    assert [found[place] for place in sorted(found)] == [
        f"{words} add",
        f"{words} add (2)",
        f"{words} join",
    ]
    assert {drop_place(drop_number(each)) for each in found.values()} == {
        f"{words} add",
        f"{words} join",
    }
    moved = mutate_file("sums.py", f"import math\n{text}".encode())
    assert {drop_place(each.name) for each in moved} == set(found.values())
