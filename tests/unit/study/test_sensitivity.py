from __future__ import annotations

import re
import shutil

import pytest

from trunkline.study.language.catalogue import STUDIES_FOLDER
from trunkline.study.outcome.sensitivity import SensitivityTrial, render_sensitivity, sensitivity


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[SensitivityTrial]:
    """The trunk study cut to one second, with one other value to try."""
    copy = tmp_path_factory.mktemp("short") / "study"
    shutil.copytree(STUDIES_FOLDER / "bhani1999", copy)
    for file in copy.glob("case*.yaml"):
        text = file.read_text("utf-8")
        short = text.replace("duration: 10 s", "duration: 1.5 s")
        assert short != text
        file.write_text(short, "utf-8")
    file = copy / "study.yaml"
    text = re.sub(r"    others: .*\n", "", file.read_text("utf-8"))
    text = text.replace("    value: 57 Mbit/s\n", "    value: 57 Mbit/s\n    others: [46 Mbit/s]\n")
    file.write_text(text, "utf-8")
    return sensitivity(str(copy), runs=1)


def test_the_study_as_it_is_comes_first(trials: list[SensitivityTrial]) -> None:
    assert [(trial.parameter, trial.value) for trial in trials] == [
        ("", ""),
        ("edge_rate", "46 Mbit/s"),
    ]


def test_a_changed_value_reaches_the_scenarios(trials: list[SensitivityTrial]) -> None:
    # With 46 Mbit/s at the edge, cases 2 to 4 cannot carry the 49 to 54 Mbit/s published.
    asis, changed = trials
    assert set(asis.errors) == {"1", "2", "3", "4"}
    assert changed.errors["3"] > asis.errors["3"]


def test_trials_are_written_as_a_table(trials: list[SensitivityTrial]) -> None:
    shown = render_sensitivity(trials, width=100)
    assert "nothing" in shown
    assert "46 Mbit/s" in shown
    assert f"{trials[1].errors['3']:.3f}" in shown
