"""Faults in a study file: each is reported with its line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from trunkline.scenario import ScenarioError
from trunkline.study import find_study
from trunkline.study.language.catalogue import STUDIES_FOLDER


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the study with one passage replaced."""

    def edit(old: str, new: str) -> Path:
        copy = tmp_path / "mine"
        shutil.copytree(STUDIES_FOLDER / "bhani1999", copy)
        file = copy / "study.yaml"
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")
        return copy

    return edit


def message(folder: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        find_study(str(folder))
    return caught.value.render()


def test_a_folder_of_ones_own_is_a_study(edited: Callable[[str, str], Path]) -> None:
    assert find_study(str(edited("runs: ", "runs: 1"))).runs > 10


def test_a_number_of_seeds_is_a_number_of_runs(edited: Callable[[str, str], Path]) -> None:
    found = message(edited("runs: ", "seeds: "))
    assert "there is no key seeds here" in found
    assert "did you mean runs?" in found


def test_an_unknown_key_is_an_error_at_its_line(edited: Callable[[str, str], Path]) -> None:
    found = message(edited("row_title:", "row_titel:"))
    assert "study.yaml:" in found
    assert "row_titel" in found


def test_a_claim_about_no_table_is_an_error(edited: Callable[[str, str], Path]) -> None:
    found = message(edited('carried("1")', 'carried("9")'))
    assert "study.yaml:" in found
    assert "there is no '9' here" in found
    assert "allowed: 1, 2, 3, 4" in found


def test_an_unknown_unit_is_an_error(edited: Callable[[str, str], Path]) -> None:
    found = message(edited("unit: Mbit/s", "unit: furlongs"))
    assert "unit 'furlongs' is not one of bit/s, kbit/s, Mbit/s" in found


def test_a_published_cell_outside_the_study_is_an_error(
    edited: Callable[[str, str], Path],
) -> None:
    found = message(edited("18.7 Mbit/s, ", ""))
    assert "published cell 1, 18.7 Mbit/s, UDP is not in the study" in found


def test_text_that_is_not_yaml_is_an_error(edited: Callable[[str, str], Path]) -> None:
    assert "study.yaml:" in message(edited("name: bhani1999", "name: [bhani1999"))
