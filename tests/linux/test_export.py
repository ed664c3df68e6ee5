"""Exported scripts in a guest: read back as a router's shell would feed them to ip and tc."""

from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.linux import decode
from trunkline.linux.compile import compile as plan_of
from trunkline.linux.export import scripts
from trunkline.linux.plan import Node
from trunkline.linux.runner import execute
from trunkline.network import compile
from trunkline.results import Provenance
from trunkline.scenario import load

EXAMPLE = (
    Path(__file__).parents[2] / "python" / "trunkline" / "examples" / "diffserv-over-mpls.yaml"
)
PROGRAMS = {
    "ip -batch - <<'END'": "ip",
    "ip -f mpls -batch - <<'END'": "mpls",
    "tc -batch - <<'END'": "tc",
}


def read_back(name: str, script: str) -> Node:
    """What a script called with --wire gives to each program."""
    given: dict[str, list[str]] = {"ip": [], "mpls": [], "tc": []}
    sysctls: list[tuple[str, str]] = []
    reader = None
    for line in script.splitlines():
        if line in PROGRAMS:
            reader = PROGRAMS[line]
        elif line == "END":
            reader = None
        elif reader is not None:
            if not line.startswith("#"):
                given[reader].append(line)
        elif line.startswith("sysctl -q -w "):
            key, _, value = line.removeprefix("sysctl -q -w ").partition("=")
            sysctls.append((key.replace(".", "/"), value.strip("'")))
    return Node(name, tuple(sysctls), tuple(given["ip"]), tuple(given["mpls"]), tuple(given["tc"]))


def test_exported_scripts_make_the_routers_of_the_plan(quick: str, tmp_path: Path) -> None:
    if quick != "uml":
        # An emulated processor needs other times for the lines in another order.
        pytest.skip("only with uml do two guests of different set-ups agree to the last byte")
    short = {"run.duration": "1 s", "defaults.udp.stop": "800 ms"}
    compiled = plan_of(compile(load(EXAMPLE, overrides=short)).to_json())
    nodes = tuple(
        read_back(node.name, text)
        for node, text in zip(compiled.plan.nodes, scripts(compiled).values(), strict=True)
    )
    tables = []
    for number, plan in enumerate((compiled.plan, replace(compiled.plan, nodes=nodes))):
        folder = tmp_path / str(number)
        execute(plan, compiled.schedules, folder, quick)
        about = Provenance.of(scenario="", network_json="{}", version="", seed=1)
        tables.append(decode.read(compiled, folder, about))
    assert tables[0].hash() == tables[1].hash()
    assert sum(tables[0].flows["packets_delivered"]) > 500
