"""Scripts for routers: comments with the scenario's words, and nothing a name could smuggle in."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget, read_command_target
from trunkline.linux.plan.compiled_plan import compile_plan as plan_of
from trunkline.linux.plan.router_scripts import escape_comment, write_router_scripts
from trunkline.network import compile
from trunkline.scenario import ScenarioError, load

SCENARIO = """\
trunkline: 1
nodes: [Rome, Zürich]
links: {road: {between: [Rome, Zürich], rate: 1 Mbit/s, delay: 1 ms}}
flows:
  cbr: {agent: udp, from: Rome, to: Zürich, rate: 80 kbit/s, size: 100 B}
run: {duration: 10 ms}
"""
LABELS = SCENARIO.replace(
    "flows:",
    "paths: {lsp: {route: [Rome, Zürich], php: false}}\n"
    "trunks: {t: {path: lsp, flows: [cbr]}}\n"
    "flows:",
)
ROUTERS = CommandTarget(on_routers=True)


def exported(ground: CommandTarget = ROUTERS, scenario: str = SCENARIO) -> dict[str, str]:
    return write_router_scripts(plan_of(compile(load(scenario)).to_json(), target=ground))


def test_there_is_a_script_for_each_node() -> None:
    assert list(exported()) == ["n0-Rome.sh", "n1-Z_rich.sh"]


def test_it_holds_each_command_of_the_plan_once() -> None:
    plan = plan_of(compile(load(SCENARIO)).to_json(), target=ROUTERS).plan
    for node, text in zip(plan.nodes, exported().values(), strict=True):
        lines = text.splitlines()
        for program, commands in (("ip", node.ip), ("tc", node.tc)):
            for command in commands:
                if command.startswith("link set"):
                    continue  # Done with what was there before, see the functions.
                stepped = [line for line in lines if line.endswith(f"' {program} {command}")]
                assert len(stepped) + lines.count(command) == 1


def test_b6_a_link_is_given_a_mtu_with_room_for_its_labels() -> None:
    """B6: every device was given 65535 B, which real ones refuse."""
    assert "link l0a mtu 1500\n" in exported()["n0-Rome.sh"]
    assert "link l0a mtu 1504\n" in exported(scenario=LABELS)["n0-Rome.sh"]
    expected = SCENARIO.replace("rate: 1 Mbit/s,", "rate: 1 Mbit/s, mtu: 9000 B,")
    assert "link l0a mtu 9000\n" in exported(scenario=expected)["n0-Rome.sh"]


def test_b6_a_bucket_holds_a_frame_and_a_millisecond() -> None:
    """B6: HTB's bursts were of a microsecond, which no timer of a real router meets."""
    assert "burst 1600b cburst 1600b" in exported()["n0-Rome.sh"]
    fast = SCENARIO.replace("1 Mbit/s", "1 Gbit/s")
    assert "burst 125000b cburst 125000b" in exported(scenario=fast)["n0-Rome.sh"]


def test_the_wire_is_in_the_test_bed_alone() -> None:
    assert all("netem" not in text for text in exported().values())
    assert all("netem" in text for text in exported(GUEST_TARGET).values())


def test_the_shell_takes_it() -> None:
    for text in [*exported().values(), *exported(GUEST_TARGET, LABELS).values()]:
        done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_names_stay_in_their_comment() -> None:
    assert escape_comment("a\nreboot\x1b[2J\u202e") == "a\\u000areboot\\u001b[2J\\u202e"
    for text in exported().values():
        named = [line for line in text.splitlines() if "rich" in line and "trunkline-" not in line]
        assert named
        assert all(line.startswith("#") and line.isascii() for line in named)


def ground_of(text: str, folder: Path) -> CommandTarget:
    file = folder / "addresses.yaml"
    file.write_text(text)
    return read_command_target(str(file), json.loads(compile(load(SCENARIO)).to_json()))


def test_b6_addresses_and_devices_can_be_chosen(tmp_path: Path) -> None:
    """B6: addresses could not be chosen."""
    text = (
        "nodes: {Zürich: 203.0.113.9}\n"
        "links: {road>: {device: eth1, address: 192.0.2.0/31}, <road: {address: 192.0.2.1/31}}\n"
    )
    names = [each["name"] for each in json.loads(compile(load(SCENARIO)).to_json())["links"]]
    text = text.replace("road>", f'"{names[0]}"').replace("<road", f'"{names[1]}"')
    script = exported(ground_of(text, tmp_path))["n0-Rome.sh"]
    assert "ip addr add 192.0.2.0/31 dev eth1\n" in script
    assert "ip route add 203.0.113.9/32 via inet 192.0.2.1 dev eth1\n" in script
    assert "tc qdisc add dev eth1 root" in script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes: {Oslo: 203.0.113.1}", "no node Oslo"),
        ("nodes: {Rome: here}", "no IPv4 address"),
        ("links: {A-B: {device: eth0}}", "no link A-B"),
        ("routers: {}", "no key routers"),
        ("nodes: {Rome: 203.0.113.1, Zürich: 203.0.113.1}", "is the address of nodes.Rome too"),
        ("[]", "addresses are a mapping"),
    ],
)
def test_b6_a_wrong_file_of_addresses_is_told_with_its_place(
    text: str, expected: str, tmp_path: Path
) -> None:
    """B6: what is wrong has a file, a line and a column."""
    with pytest.raises(ScenarioError) as wrong:
        ground_of(text, tmp_path)
    assert expected in wrong.value.render()
    assert "addresses.yaml" in wrong.value.render()


def test_b6_one_device_for_two_links_of_a_node_is_refused(tmp_path: Path) -> None:
    """A device has one root queue: of two links the second would replace the first's."""
    text = SCENARIO.replace("links: {", "links: {more: {between: [Rome, Zürich], rate: 1 Mbit/s}, ")
    network = json.loads(compile(load(text)).to_json())
    ends = [each["name"] for each in network["links"] if each["from"] == 0]
    assert len(ends) == 2
    file = tmp_path / "addresses.yaml"
    lines = ", ".join(f'"{each}": {{device: eth1}}' for each in ends)
    file.write_text(f"links: {{{lines}}}\n")
    with pytest.raises(ScenarioError, match=f"eth1 is the device of {re.escape(ends[0])}"):
        read_command_target(str(file), network)


def test_b6_too_few_addresses_are_refused() -> None:
    """B6: each class of what ends at a node has an address of its own there."""
    ground = CommandTarget(on_routers=True, nodes={"Zürich": ()})
    with pytest.raises(UnsupportedError, match="1 addresses are needed"):
        exported(ground)
