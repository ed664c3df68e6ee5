"""Bad scenarios and the exact text that users see: `tests/errors/NAME.yaml` and `NAME.txt`.

Comments at the head of a file may say `# options: strict` and `# set: KEY=VALUE`; with
`# engine: fluid` or `# focus: NAME` the scenario is right, and what is asked of it is not.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from trunkline.cli.verify_command import command
from trunkline.scenario import CODES, ScenarioError, load

FOLDER = Path(__file__).parents[2] / "errors"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def rendered(name: str) -> str:
    head = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8", errors="replace")
    if asked := re.search(r"^# (engine|focus): (.*)$", head, re.MULTILINE):
        return refused(f"{name}.yaml", *asked.groups())
    overrides = dict(re.findall(r"^# set: ([^=]+)=(.*)$", head, re.MULTILINE))
    with pytest.raises(ScenarioError) as caught:
        load(f"{name}.yaml", overrides=overrides, strict="# options: strict" in head)
    return caught.value.render() + "\n"


def refused(file: str, option: str, value: str) -> str:
    how = ["--engine", "fluid", "--focus", value] if option == "focus" else ["--engine", value]
    done = CliRunner().invoke(command, [*how, file])
    if isinstance(done.exception, ScenarioError):
        return done.exception.render() + "\n"
    assert done.exit_code == 2
    return done.stderr.partition("\n\n")[2]


@pytest.mark.parametrize("name", NAMES)
def test_message_is_exactly_as_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    assert rendered(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_code_has_a_recorded_message() -> None:
    recorded = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt"))
    # What a kernel has not is found out when a scenario is compiled for it (tests/unit/linux).
    assert set(re.findall(r"error\[([a-z-]+)\]: ", recorded)) == set(CODES) - {"linux"}


def test_every_message_has_its_scenario() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == NAMES
