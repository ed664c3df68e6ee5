"""Commands of the Linux engine that need no guest: export, and what they refuse."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def copied(trunkline):
    def copy(name: str) -> str:
        assert trunkline("examples", "copy", name).returncode == 0
        return f"{name}.yaml"

    return copy


def test_export_writes_a_script_a_router(trunkline, copied, tmp_path):
    file = copied("diffserv-over-mpls")
    done = trunkline("export", file, "--to", "linux", "--output", "routers")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "routers").iterdir())
    assert names == [f"n{index}-{node}.sh" for index, node in enumerate("SABCD")]
    again = trunkline("export", file, "--to", "linux", "--output", "routers")
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


def test_export_as_json_holds_the_scripts(trunkline, copied):
    done = trunkline("export", copied("hello"), "--to", "linux", "--json")
    data = json.loads(done.stdout)
    assert data["to"] == "linux"
    assert "pfifo limit 50" in data["scripts"]["n1-R1.sh"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "--to", "linux"], "no wfq; nearest: drr"),
        (["verify"], "no wfq; nearest: drr"),
        (["run", "--engine", "linux"], "no wfq; nearest: drr"),
        (["run", "--runner", "uml"], "--runner is for --engine linux"),
        (["run", "--engine", "linux", "--batches"], "--batches is for the simulator"),
    ],
)
def test_what_cannot_be_ends_with_2_and_says_why(trunkline, copied, words, said):
    done = trunkline(words[0], copied("wfq-shares"), *words[1:])
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
