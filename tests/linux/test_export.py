"""Exported scripts in a guest: a shell runs them; what they give to ip and tc makes the nodes."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.outcome import run_results
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan as plan_of
from trunkline.linux.plan.guest_plan import PlannedNode
from trunkline.linux.plan.router_scripts import write_router_scripts
from trunkline.network import compile
from trunkline.results import Provenance, Results
from trunkline.scenario import load

EXAMPLES = Path(__file__).parents[2] / "python" / "trunkline" / "examples"
FIRST = "diffserv-over-mpls"

STAND_INS = {
    # What they are given, one line each; what they read, but for comments, as they do.
    "ip": 'to=ip; case "$*" in *"link show"*) exit ;; "-f mpls "*) shift 2; to=mpls ;; esac\n'
    'echo "$*" >>"$GIVEN/$to"\n',
    "tc": '[ "$*" = "-batch -" ] || { echo "$*" >>"$GIVEN/tc"; exit; }\n'
    'grep -v "^#" >>"$GIVEN/tc"\n',
    # sysctl -n KEY and sysctl -q -w KEY=VALUE
    "sysctl": '[ "$1" != -n ] || { echo 0; exit; }\nprintf "%s\\n" "$3" >>"$GIVEN/sysctl"\n',
}


def shortened(name: str, seconds: float) -> CompiledPlan:
    """The plan of an example that ends early."""
    data = json.loads(compile(load(EXAMPLES / f"{name}.yaml")).to_json())
    data["run"] |= {"duration_ns": int(seconds * 1e9), "warmup_ns": 0}
    return plan_of(json.dumps(data))


def given_by_a_shell(name: str, script: str, folder: Path) -> PlannedNode:
    """What a script of a test bed gives to each program."""
    programs, given = folder / "programs", folder / name
    programs.mkdir(exist_ok=True)
    given.mkdir(parents=True)
    for program, text in STAND_INS.items():
        (programs / program).write_text(f"#!/bin/sh\n{text}")
        (programs / program).chmod(0o755)
    subprocess.run(
        ["sh", "-c", script, name],
        env={
            "PATH": f"{programs}:{os.defpath}",
            "GIVEN": str(given),
            "TRUNKLINE_STATE": str(given),
        },
        check=True,
    )
    lines = {
        program: (given / program).read_text().splitlines() if (given / program).exists() else []
        for program in ("sysctl", "ip", "mpls", "tc")
    }
    pairs = (line.partition("=")[::2] for line in lines["sysctl"])
    sysctls = tuple((key.replace(".", "/"), value) for key, value in pairs)
    return PlannedNode(name, sysctls, *(tuple(lines[program]) for program in ("ip", "mpls", "tc")))


def both(name: str, runner: str, folder: Path, seconds: float = 1.0) -> list[Results]:
    """What comes of a plan, and of one with the nodes that the scripts make."""
    compiled = shortened(name, seconds)
    nodes = tuple(
        given_by_a_shell(node.name, text, folder)
        for node, text in zip(
            compiled.plan.nodes, write_router_scripts(compiled).values(), strict=True
        )
    )
    tables = []
    for number, plan in enumerate((compiled.plan, replace(compiled.plan, nodes=nodes))):
        out = folder / str(number)
        execute_plan(plan, compiled.schedules, out, runner)
        about = Provenance.for_network(scenario="", network_json="{}", version="", seed=1)
        tables.append(run_results.read_results(compiled, out, about))
    return tables


@pytest.mark.slow
def test_exported_scripts_make_the_routers_of_the_plan(quick: str, tmp_path: Path) -> None:
    first, second = both(FIRST, quick, tmp_path, 0.5)
    assert sum(first.flows["packets_delivered"]) > 500
    if quick == "uml":
        assert first.hash() == second.hash()
        return
    # The scripts have the same lines in another order, for which an emulated processor needs
    # another time: of single packets some have another fate.
    for column in ("packets_sent", "packets_delivered"):
        for one, other in zip(first.flows[column], second.flows[column], strict=True):
            assert other == pytest.approx(one, rel=0.03)


@pytest.mark.guests
@pytest.mark.parametrize("name", [path.stem for path in sorted(EXAMPLES.glob("*.yaml"))])
def test_every_example_that_the_kernel_can_run_is_exported_whole(
    name: str, uml: str, tmp_path: Path
) -> None:
    try:
        first, second = both(name, uml, tmp_path)
    except UnsupportedError as lacking:
        pytest.skip(str(lacking))
    assert sum(first.flows["packets_delivered"]) > 50
    assert first.hash() == second.hash()
