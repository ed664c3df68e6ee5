import json
from pathlib import Path

import pytest

from trunkline.scenario.diagnostic import ScenarioError
from trunkline.study.language import catalogue
from trunkline.study.language.featured_runs import find_featured_runs, find_study_heading

STUDIES = catalogue.list_study_names()


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_runs_to_show_and_a_heading(name):
    shown = find_featured_runs(name)
    assert shown
    for each in shown:
        assert each.about
        assert len(each.jobs) > 1
        assert len({job.network_json for job in each.jobs}) == 1
    assert find_study_heading(name).title != name
    assert find_study_heading(name).source


@pytest.mark.parametrize("name", STUDIES)
def test_the_text_kept_with_a_run_makes_its_network(name):
    from trunkline.network import compile
    from trunkline.scenario import load

    for each in find_featured_runs(name):
        job = each.jobs[0]
        made = json.loads(compile(load(job.scenario)).to_json())
        wanted = json.loads(job.network_json)
        # A text without a name is called after its file, which a text has not.
        made["name"] = wanted["name"]
        assert made == wanted


def study(folder: Path) -> Path:
    folder.mkdir()
    (folder / "s.yaml").write_text(
        "trunkline: 1\nparameters: {rate: 1 Mbit/s}\nnodes: [a, b]\n"
        "links: {a-b: {rate: $rate, delay: 1 ms}}\n"
        "flows: {f: {agent: udp, from: a, to: b, rate: 0.5 Mbit/s}}\nrun: {duration: 1 s}\n"
    )
    (folder / "study.yaml").write_text(
        "study: 1\nname: own\ntitle: Own\nscenario: s.yaml\nruns: 2\n"
        "grid: {rate: [1 Mbit/s, 2 Mbit/s, 3 Mbit/s]}\n"
        "columns: {delay: {where: {flow: f}, measure: delay_mean_s, unit: ms}}\n"
    )
    return folder


def rates(name: Path) -> list[int]:
    return [
        json.loads(each.jobs[0].network_json)["links"][0]["rate_bit_s"]
        for each in find_featured_runs(str(name))
    ]


def test_a_study_without_a_choice_shows_its_middle_row(tmp_path):
    assert rates(study(tmp_path / "own")) == [2_000_000]


def test_a_choice_is_a_row_or_a_scenario_with_what_to_set(tmp_path):
    folder = study(tmp_path / "own")
    (folder / "exhibits.yaml").write_text(
        "exhibits:\n"
        "  - {title: fast, scenario: s.yaml, set: {rate: 7 Mbit/s}}\n"
        "  - {title: as it is, scenario: s.yaml, runs: 5}\n"
    )
    assert rates(folder) == [7_000_000, 1_000_000]
    assert [len(each.jobs) for each in find_featured_runs(str(folder))] == [3, 5]


def test_a_wrong_choice_is_named_with_its_place(tmp_path):
    folder = study(tmp_path / "own")
    (folder / "exhibits.yaml").write_text("exhibits:\n  - {titel: fast, scenario: s.yaml}\n")
    with pytest.raises(ScenarioError, match="titel"):
        find_featured_runs(str(folder))
    (folder / "exhibits.yaml").write_text("exhibits:\n  - {title: x, table: nine, row: y}\n")
    with pytest.raises(ScenarioError, match=r"(?s)exhibits.yaml:2:23: .*'nine' here.*allowed: 1"):
        find_featured_runs(str(folder))
    (folder / "exhibits.yaml").write_text('exhibits:\n  - {title: x, table: "1", row: y}\n')
    with pytest.raises(ScenarioError, match=r"exhibits.yaml:2:33: .*no 'y' here"):
        find_featured_runs(str(folder))
    (folder / "exhibits.yaml").write_text('exhibits:\n  - {title: x, table: "1"}\n')
    with pytest.raises(ScenarioError, match="either a table and a row, or a scenario"):
        find_featured_runs(str(folder))
