"""Codes of solved tasks: what is changed by hand, or of another scenario, is found out."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.share.exercise_code import CodeError, check_code, hash_scenario

SCENARIO = """
trunkline: 1
parameters: {load: 1.2}
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows: {v: {agent: udp, from: A, to: B, rate: "${load * 1 Mbit/s}", size: 500 B}}
slas: {fast: {flow: v, at_most: {delay_max: 20 ms}}}
lesson:
  tasks:
    reach: {ask: Make it fast., targets: fast}
    choose: {ask: Which?, choices: [a, b], answer: 2}
run: {duration: 1 s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "lesson.yaml"
    file.write_text(SCENARIO)
    return file


def make_code(document: object) -> str:
    encoded = base64.urlsafe_b64encode(json.dumps(document).encode()).decode()
    return "TL1-" + encoded.rstrip("=")


def solve(file: Path, load_: str, **changes: object) -> str:
    run = simulate(compile(load(file, overrides={"load": load_})), seeds=[1])[0]
    solution = {"values": {"load": load_}, "seed": 1, "runs": 1, "hash": run.hash()[:16]} | changes
    document = {
        "scenario": hash_scenario(load(file)),
        "tasks": {"reach": solution, "choose": {"choice": 2}},
    }
    return make_code(document)


def outcomes(code: str, file: Path) -> list[str]:
    return [each.outcome for each in check_code(code, file)]


def test_values_that_keep_the_targets_solve_a_task(file):
    assert outcomes(solve(file, "0.5"), file) == ["solved", "solved"]
    # Folded by a mail program.
    code = solve(file, "0.5")
    assert outcomes(f"{code[:40]}\n  {code[40:]}", file) == ["solved", "solved"]


def test_values_that_break_a_target_do_not(file):
    (verdict, _) = check_code(solve(file, "1.1"), file)
    assert (verdict.outcome, verdict.reason) == ("not solved", "fast delay_max broken")


def test_a_hash_of_other_values_is_found_out(file):
    (verdict, _) = check_code(solve(file, "0.5", values={"load": "0.6"}), file)
    assert verdict.outcome == "not repeated"
    (verdict, _) = check_code(solve(file, "0.5", hash=""), file)
    assert verdict.outcome == "not repeated"


def test_a_wrong_choice_and_a_task_left_out_are_named(file):
    code = make_code({"scenario": hash_scenario(load(file)), "tasks": {"choose": {"choice": 1}}})
    assert outcomes(code, file) == ["not handed in", "not solved"]


@pytest.mark.parametrize(
    "code",
    [
        "",
        "TL1-",
        "TL1-%%%",
        "TL1-AAAA",
        "TL2-AAAA",
        make_code([]),
        make_code({"scenario": "x", "tasks": {"reach": {"values": {}, "seed": 1}}}),
        make_code({"scenario": "x", "tasks": {"reach": 1}}),
        make_code(
            {"scenario": "x", "tasks": {"a": {"values": {}, "seed": 1, "runs": 10**9, "hash": ""}}}
        ),
        "TL1-" + "A" * 30_000,
    ],
)
def test_what_is_no_code_is_refused(file, code):
    with pytest.raises(CodeError, match="code"):
        check_code(code, file)


def test_a_code_of_another_scenario_is_refused(file):
    code = solve(file, "0.5")
    file.write_text(SCENARIO.replace("delay_max: 20 ms", "delay_max: 2 s"))
    with pytest.raises(CodeError, match="another scenario"):
        check_code(code, file)


def test_python_has_the_functions_of_the_commands(file, tmp_path):
    import trunkline as tl

    page = tl.share_page(file, tmp_path / "page.html", values={"load": ["0.5", "1.2"]})
    assert "wasm-unsafe-eval" in page.read_text("utf-8")
    assert [each.outcome for each in tl.check_code(solve(file, "0.5"), file)] == ["solved"] * 2
