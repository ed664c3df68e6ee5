"""The study of draft-nsbnpp-diffserv-udptcpaf-01: its data, its criteria, and a run of it."""

from __future__ import annotations

import json

import pytest

from trunkline.study import Reproduction, Study, find
from trunkline.study.run.runner import run


@pytest.fixture(scope="module")
def study() -> Study:
    return find("seddigh1999")


@pytest.fixture(scope="module")
def once(study: Study) -> Reproduction:
    return Reproduction(study, [1], run(study, [1]))


FIGURES = [f"{figure}{panel}" for figure in range(3, 9) for panel in "ab"]


def test_draft_section3_has_432_cells_and_table4_has_30(study: Study) -> None:
    tables = [cell.table for cell in study.published]
    assert sum(table in FIGURES for table in tables) == 432
    assert tables.count("T4") == 30


def test_draft_figure_5a_first_column(study: Study) -> None:
    cells = [c.value for c in study.published if c.table == "5a" and c.row == "0.25 Mbit/s"]
    assert cells == [0.95, 0.97, 0.95, 1.18, 0.44, 0.45]


def test_draft_table2_parameters_of_each_figure(study: Study) -> None:
    """The captions name the panels: (a) no overlap, (b) overlap."""
    for table in FIGURES:
        said = study.cases[table].set
        assert ("min_0" in said) == table.endswith("b")


class TestDraftTable3:
    def test_its_own_rates_give_its_answers_under_our_definitions(self, once: Reproduction) -> None:
        assert len(once.criteria) == 37
        assert [each for each in once.criteria if each.published_agrees is not True] == []

    def test_statistics_of_scenario_1_by_hand(self, once: Reproduction) -> None:
        """Figure 3 (a) and (b), TCP at 1.25 and 1.5 Mbit/s, of 5 and 6, and UDP of 1 Mbit/s."""
        found = {(e.answer.case, e.answer.criterion, e.answer.group): e for e in once.criteria}
        a = [
            (0.94 + 1.0 + 0.97 + 1.05) / 5 / ((3.96 + 0.97) / 6),
            (0.91 + 1.01 + 0.96 + 1.10) / 6 / ((3.98 + 0.96) / 7),
        ]
        b = [
            (0.97 + 1.0 + 0.94 + 1.06) / 5 / ((3.97 + 0.96) / 6),
            (0.94 + 0.96 + 0.97 + 1.13) / 6 / ((4.0 + 0.93) / 7),
        ]
        assert found["1", "degradation", "TCP"].theirs == pytest.approx(sum(a + b) / 4)

    def test_our_rates_give_its_answers(self, once: Reproduction) -> None:
        assert [each.answer for each in once.criteria if not each.agrees] == []


def test_error_is_no_worse_than_the_best_common_setting_of_ns2(once: Reproduction) -> None:
    """ns-2 with its DiffServ module: 0.044, and 0.034 with panels 3b and 5b read otherwise."""
    figures, reread = once.study.readings
    assert once.mean_absolute_error(figures) <= 0.044
    assert once.mean_absolute_error(reread) <= 0.034


def test_claims_of_the_text_hold(once: Reproduction) -> None:
    # One seed refutes none and, as a single run, decides none.
    assert {claim.outcome for claim in once.claims} == {"undecided"}
    assert [claim.name for claim in once.claims if "not held" in claim.detail] == []


def test_json_tells_every_criterion(once: Reproduction) -> None:
    written = json.loads(json.dumps(once.to_json(), allow_nan=False))
    assert len(written["criteria"]) == 37
    assert written["summary"]["criteria_agreed"] == 37
    assert written["summary"]["tables"]["7a"]["mape_percent"] is None


def test_tables_show_differences_where_cells_are_zero(once: Reproduction) -> None:
    shown = once.render(width=160)
    assert "mean abs. [Mbit/s]" in shown
    assert "agreed" in shown
