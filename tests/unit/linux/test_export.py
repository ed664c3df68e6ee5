"""Scripts for routers: comments with the scenario's words, and nothing a name could smuggle in."""

from __future__ import annotations

import subprocess

from trunkline.linux.plan.compile import compile as plan_of
from trunkline.linux.plan.export import scripts, shown
from trunkline.network import compile
from trunkline.scenario import load

SCENARIO = """\
trunkline: 1
nodes: [Rome, Zürich]
links: {road: {between: [Rome, Zürich], rate: 1 Mbit/s, delay: 1 ms}}
flows:
  cbr: {agent: udp, from: Rome, to: Zürich, rate: 80 kbit/s, size: 100 B}
run: {duration: 10 ms}
"""


def exported() -> dict[str, str]:
    return scripts(plan_of(compile(load(SCENARIO)).to_json()))


def test_there_is_a_script_for_each_node() -> None:
    assert list(exported()) == ["n0-Rome.sh", "n1-Z_rich.sh"]


def test_it_holds_each_command_of_the_plan_once() -> None:
    plan = plan_of(compile(load(SCENARIO)).to_json()).plan
    for node, text in zip(plan.nodes, exported().values(), strict=True):
        lines = text.splitlines()
        for command in (*node.ip, *node.mpls, *node.tc):
            assert lines.count(command) == 1


def test_the_wire_is_set_apart() -> None:
    for text in exported().values():
        router, wire = text.split('[ "${1:-}" = --wire ] || exit 0\n')
        assert "netem" not in router
        assert "netem" in wire


def test_the_shell_takes_it() -> None:
    for text in exported().values():
        done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_names_stay_in_their_comment() -> None:
    assert shown("a\nreboot\x1b[2J\u202e") == "a\\u000areboot\\u001b[2J\\u202e"
    for text in exported().values():
        named = [line for line in text.splitlines() if "rich" in line]
        assert named
        assert all(line.startswith("#") and line.isascii() for line in named)
