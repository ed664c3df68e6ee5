"""The gate of the verdict: nothing that is altered agrees, nothing that is not differs.

``python tests/evidence/test_altered.py`` prints the table of `docs/reference/linux-verify.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from alterations import ALTERED_SCENARIOS, get_worst_row, judge_alteration

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "linux-verify.md"
ALTERED = [
    (name, what) for name, subject in ALTERED_SCENARIOS.items() for what in subject.alterations
]


def row(name: str, what: str) -> str:
    """A row of the page's table: the alteration, the outcome, and which measure told it."""
    outcome, measure = get_worst_row(judge_alteration(name, what))
    return f"| {name} | {what} | {outcome} | {measure} |"


def test_there_are_thirty_alterations_of_ten_scenarios() -> None:
    assert len(ALTERED_SCENARIOS) >= 10
    assert len(ALTERED) >= 30


@pytest.mark.parametrize(("name", "what"), ALTERED)
def test_no_alteration_agrees_and_the_page_says_what_told_it(name: str, what: str) -> None:
    made = row(name, what)
    assert "| agrees |" not in made
    assert made in PAGE.read_text()


@pytest.mark.parametrize("name", ALTERED_SCENARIOS)
def test_nothing_unaltered_differs_over_twenty_seeds(name: str) -> None:
    # Where nothing is left to chance but the traffic, which both sides share, seeds tell little.
    found = judge_alteration(name, seeds=20 if ALTERED_SCENARIOS[name].is_random else 3)
    assert [each for each in found.rows if each.outcome == "differs"] == []
    # A gate that said "undecided" of everything would pass too.
    assert found.outcome == "agrees"


if __name__ == "__main__":
    for name, what in ALTERED:
        print(row(name, what), flush=True)
