"""Files and Python values to scenarios."""

import gc
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from trunkline.network import compile
from trunkline.scenario import Scenario, ScenarioError, load
from trunkline.scenario.port import PortConfiguration

MINIMAL = "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nrun: {duration: 1 s}\n"
TUNED = """\
trunkline: 1
parameters: {speed: 10 Mbit/s, half: "${speed / 2}", count: 3, kind: sack}
defaults:
  link: {delay: 5 ms, rate: $half}
  tcp: {rto: {min: 200 ms}, window: 20 packets}
  queue: {limit: 7 packets, counts_in_service: true}
nodes: [A, B, C]
links:
  A-B: {}
  B-C: {rate: $speed, forward: {delay: 1 ms}, backward: {rate: 1 Mbit/s}}
ports:
  plain: {classes: {default: {queue: {limit: 9 packets}}}}
flows:
  f: {agent: tcp, from: A, to: C, variant: $kind, rto: {max: 10 s}, replicate: $count}
  u: {agent: udp, from: A, to: C, rate: "${speed * 10 %}"}
run: {duration: 1 s}
"""


def test_defaults_fill_what_elements_leave_out_and_nothing_else() -> None:
    network = compile(load(TUNED))
    rates = {link["name"]: link["rate_bit_s"] for link in network.links}
    delays = {link["name"]: link["delay_ns"] for link in network.links}
    assert rates == {"A->B": 5e6, "B->A": 5e6, "B->C": 10e6, "C->B": 1e6}
    assert delays == {"A->B": 5e6, "B->A": 5e6, "B->C": 1e6, "C->B": 5e6}
    agent = network.flows[0]["agent"]
    assert (agent["rto_min_ns"], agent["rto_max_ns"]) == (200_000_000, 10_000_000_000)
    assert agent["window_packets"] == 20
    assert agent["variant"] == "sack"
    assert network.flows[3]["agent"]["rate_bit_s"] == 1_000_000
    queue = network.ports[0]["classes"][0]["queue"]
    assert (queue["limit_packets"], queue["counts_in_service"]) == (7, True)


def test_replicas_are_flows_of_their_own() -> None:
    names = [flow["name"] for flow in compile(load(TUNED)).flows]
    assert names == ["f[0]", "f[1]", "f[2]", "u"]


def test_overrides_replace_parameters_and_paths() -> None:
    overrides = {
        "speed": "20 Mbit/s",
        "links.A-B.rate": "3 Mbit/s",
        "flows[u].size": "200 B",
        "run.seed": "7",
        "defaults.tcp.rto.min": "1 s",
    }
    scenario = load(TUNED, overrides=overrides)
    assert scenario.links["B-C"].rate == 20_000_000
    assert scenario.links["A-B"].rate == 3_000_000
    assert scenario.flows["u"].size.fixed == 200  # type: ignore[union-attr]
    assert scenario.run.seed == 7
    assert compile(scenario).flows[0]["agent"]["rto_min_ns"] == 1_000_000_000


def test_with_works_out_expressions_anew() -> None:
    scenario = load(TUNED).with_({"speed": "4 Mbit/s"}).with_({"run.seed": 3})
    assert scenario.defaults.link is not None
    assert scenario.defaults.link.rate == 2_000_000
    assert (scenario.run.seed, scenario.links["B-C"].rate) == (3, 4_000_000)


def test_a_dump_loads_to_an_equal_scenario() -> None:
    scenario = load(TUNED)
    again = load(scenario.dump())
    assert again == scenario
    assert compile(again).hash() == compile(scenario).hash()


def test_the_name_is_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my net.scenario.yaml"
    file.write_text(MINIMAL)
    assert load(file).name == "my-net"


def test_python_values_may_be_exact_integers() -> None:
    scenario = Scenario.model_validate(
        {
            "nodes": ["A", "B"],
            "links": {"A-B": {"rate": 1_000_000, "delay": "1 ms"}},
            "flows": {"f": {"agent": "udp", "from": "A", "to": "B", "rate": "$rate"}},
            "parameters": {"rate": "10 kbit/s"},
            "run": {"duration": 10**9},
        }
    )
    assert scenario.links["A-B"].rate == 1_000_000
    network = compile(scenario)
    assert network.flows[0]["agent"]["rate_bit_s"] == 10_000
    assert scenario.with_({"rate": "20 kbit/s"}).flows["f"].rate == 20_000  # type: ignore[union-attr]


def test_a_bare_integer_in_a_file_is_refused() -> None:
    with pytest.raises(ScenarioError, match="a time needs a unit"):
        load(MINIMAL.replace("1 s", "1"))


def test_a_scenario_built_in_python_is_checked_when_compiled() -> None:
    scenario = Scenario.model_validate(
        {
            "nodes": ["A", "B"],
            "flows": {"f": {"agent": "tcp", "from": "A", "to": "B"}},
            "run": {"duration": "1 s"},
        }
    )
    with pytest.raises(ScenarioError) as caught:
        compile(scenario)
    assert caught.value.render() == ("error[no-path]: no links lead from A to B\n  at: flows[f].to")


def test_constructors_check_ranges() -> None:
    with pytest.raises(ValidationError, match="a number of packets must be from"):
        PortConfiguration.model_validate({"queue": {"limit": "-1 packets"}})


def test_warnings_are_kept_and_strict_makes_them_errors() -> None:
    text = MINIMAL.replace("1 Mbit/s", "1 Mbps")
    (warning,) = load(text).warnings
    assert (warning.code, warning.line, warning.severity) == ("bits-or-bytes", 3, "warning")
    with pytest.raises(ScenarioError, match=r"error\[bits-or-bytes\]"):
        load(text, strict=True)


def test_bps_is_doubted_once() -> None:
    text = MINIMAL.replace("{rate: 1 Mbit/s}", "{rate: 1 Mbps, forward: {rate: 2 Mbps}}")
    assert len(load(text).warnings) == 1


def test_diagnostics_are_data() -> None:
    with pytest.raises(ScenarioError) as caught:
        load(MINIMAL.replace("rate: 1 Mbit/s", "rat: 1 Mbit/s"))
    (first,) = (each for each in caught.value.diagnostics if each.code == "unknown-key")
    assert (first.line, first.column, first.path) == (3, 15, "links[A-B].rat")
    assert first.hint == "did you mean rate?"
    assert "rate" in first.allowed


def test_a_fifo_a_device_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.yaml"
    os.mkfifo(fifo)
    for name in (fifo, Path("/dev/zero"), tmp_path, tmp_path / "absent.yaml", "nul\0byte"):
        with pytest.raises(ScenarioError) as caught:
            load(name)
        assert caught.value.diagnostics[0].code == "file"


SCHEDULED = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows:
  replay: {agent: udp, from: A, to: B, arrivals: schedule, schedule: packets.csv}
run: {duration: 1 s}
"""


def test_a_schedule_is_read_from_the_scenario_s_folder(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(SCHEDULED)
    (tmp_path / "packets.csv").write_text("time,size\n0 s,100 B\n1.5 ms,1500 B\n")
    agent = compile(load(tmp_path / "net.yaml")).flows[0]["agent"]
    assert agent["arrivals"] == {"schedule": {"times_ns": [0, 1_500_000], "sizes": [100, 1500]}}


@pytest.mark.parametrize(
    ("flow", "sizes"),
    [
        # RFC 791 section 3.1 and RFC 768: the headers are 28 B, the length of a packet has 16 bits.
        ("agent: udp, arrivals: schedule, schedule: packets.csv", range(28, 2**16)),
        ("agent: tcp, transfers: {arrivals: schedule, schedule: packets.csv}", range(1, 2**50 + 1)),
    ],
)
def test_sizes_of_a_schedule_are_those_of_packets_or_of_files(
    tmp_path: Path, flow: str, sizes: range
) -> None:
    text = SCHEDULED.partition("  replay")[0] + f"  replay: {{from: A, to: B, {flow}}}\n"
    (tmp_path / "net.yaml").write_text(text + "run: {duration: 1 s}\n")
    for size in (sizes[0] - 1, sizes[0], sizes[-1], sizes[-1] + 1):
        (tmp_path / "packets.csv").write_text(f"time,size\n0 s,{size} B\n")
        if size in sizes:
            resolved = load(tmp_path / "net.yaml").resolve()
            (schedule,) = (*resolved.schedules.values(), *resolved.transfers.values())
            assert schedule.sizes_bytes == (size,)
        else:
            with pytest.raises(ScenarioError) as caught:
                load(tmp_path / "net.yaml").resolve()
            assert [each.code for each in caught.value.diagnostics] == ["file"]


@pytest.mark.parametrize("kind", ["fifo", "link", "falling"])
def test_a_schedule_must_be_a_regular_file_under_the_folder(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "net.yaml").write_text(SCHEDULED)
    (tmp_path / "outside.csv").write_text("time,size\n0 s,100 B\n")
    if kind == "fifo":
        os.mkfifo(folder / "packets.csv")
    elif kind == "link":
        (folder / "packets.csv").symlink_to(tmp_path / "outside.csv")
    else:
        (folder / "packets.csv").write_text("time,size\n2 s,100 B\n1 s,100 B\n")
    with pytest.raises(ScenarioError) as caught:
        load(folder / "net.yaml")
    assert [each.code for each in caught.value.diagnostics] == ["file"]


def test_a_text_cannot_name_other_files() -> None:
    with pytest.raises(ScenarioError, match="only a scenario read from a file"):
        load(SCHEDULED)


def test_faults_of_values_do_not_hide_what_is_wrong_between_elements() -> None:
    """A rate without a unit, a node that is not there, a hop that does not exist: one round."""
    text = """
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 10}
  B-C: {rate: 10 Mbit/s, delya: 1 ms}
flows:
  x: {agent: tcp, from: A, to: D}
paths:
  p: {route: [A, C]}
run: {duration: 10}
"""
    with pytest.raises(ScenarioError) as caught:
        load(text)
    assert [each.path for each in caught.value.diagnostics] == [
        "links[A-B].rate",
        "links[B-C].delya",
        "flows[x].to",
        "paths[p].route[1]",
        "run.duration",
    ]


def test_nothing_is_said_of_an_element_that_has_a_stand_in() -> None:
    """The stand-in for `start` may lie after `stop`; that would be no fault of the user's."""
    text = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows:
  x: {agent: tcp, from: A, to: B, start: 3, stop: 1 ms}
run: {duration: 1 s}
"""
    with pytest.raises(ScenarioError) as caught:
        load(text)
    assert [each.path for each in caught.value.diagnostics] == ["flows[x].start"]


def test_what_others_have_frozen_stays_frozen() -> None:
    """Programs that fork freeze what they have imported, as the documents of Python advise."""
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        load(MINIMAL)
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
