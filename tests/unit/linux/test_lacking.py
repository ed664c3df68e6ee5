"""What the Linux kernel lacks is shown with file, line and column, and with what is nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.compiled_plan import compile_plan as plan_of
from trunkline.network import compile
from trunkline.scenario import load

SCENARIO = """\
trunkline: 1
nodes: [S, A, B, D]
links:
  S-A: {rate: 10 Mbit/s, delay: 1 ms}
  uplink: {between: [A, B], rate: 10 Mbit/s, delay: 1 ms,
    forward: {port: af, conditioner: near}, backward: {port: fair}}
  B-D: {rate: 10 Mbit/s, delay: 1 ms, port: small, forward: {ingress: edge}}
ports:
  af:
    queue:
      aqm: {kind: rio-c, precedences: [{min_th: 5 packets, max_th: 15 packets, max_p: 0.1}]}
  fair:
    scheduler: wfq
    classes: {a: {}, default: {}}
  small:
    scheduler: priority
    classes:
      a: {queue: {limit: 1 packets, counts_in_service: true}}
      default:
        queue:
          aqm: {kind: red, gentle: true, min_th: 5 packets, max_th: 15 packets, w_q: 0.2}
conditioners:
  near:
    rules: [{dscp: AF11, profile: p}]
    profiles: {p: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 9 kB}, red: drop}}
  edge:
    rules: [{dscp: AF11, profile: p}]
    profiles:
      p:
        meter: {kind: srtcm, cir: 1 Mbit/s, cbs: 9 kB, ebs: 9 kB, colour_aware: true}
        red: drop
flows:
  tiny: {agent: udp, from: S, to: D, rate: 1 kbit/s, size: 40 B, dscp: AF11}
  old: {agent: tcp, from: S, to: D, variant: tahoe, replicate: 2}
run: {duration: 100 ms}
"""

EXPECTED = [
    (6, "links[uplink].forward.conditioner", "nearest: the conditioner as ingress"),
    (11, "ports[af].queue.aqm.kind", "no rio-c; nearest: gred with grio: true"),
    (13, "ports[fair].scheduler", "no wfq; nearest: drr"),
    (18, "ports[small].classes[a].queue.limit", "nearest: limit: 2 packets"),
    (21, "ports[small].classes[default].queue.aqm.gentle", "nearest: gentle: false"),
    (30, "conditioners[edge].profiles[p].meter.kind", "no srtcm; nearest: rfc4115"),
    (33, "flows[tiny].size", "nearest: size: 44 B"),
    (34, "flows[old].variant", "no tahoe; nearest: new-reno"),
]


def test_each_is_told_once_with_its_line_and_what_is_nearest(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(SCENARIO)
    scenario = load(file)
    with pytest.raises(UnsupportedError) as caught:
        plan_of(compile(scenario).to_json())
    found = caught.value.to_scenario_error(scenario).diagnostics
    assert {each.file for each in found} == {str(file)}
    assert {each.code for each in found} == {"linux"}
    assert [(each.line, each.path) for each in found] == [(line, at) for line, at, _ in EXPECTED]
    for each, (_, _, printed) in zip(found, EXPECTED, strict=True):
        assert printed in each.message


def test_what_is_lacking_by_default_is_told_at_what_encloses_it(tmp_path: Path) -> None:
    # The headers of 40 B are TCP's default; with time stamps the kernel's have 12 B more.
    file = tmp_path / "defaults.yaml"
    file.write_text(
        "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nflows:\n"
        "  t: {agent: tcp, from: A, to: B, timestamps: true}\nrun: {duration: 1 s}\n"
    )
    scenario = load(file)
    with pytest.raises(UnsupportedError) as caught:
        plan_of(compile(scenario).to_json())
    (shown_text,) = caught.value.to_scenario_error(scenario).diagnostics
    assert (shown_text.line, shown_text.column, shown_text.path) == (5, 3, "flows[t]")
    assert "nearest: header: 52 B" in shown_text.message


def test_a_scenario_without_a_file_is_told_without_a_place() -> None:
    links = {"A-B": {"rate": "1 Mbit/s"}}
    flow = {"agent": "tcp", "from": "A", "to": "B", "variant": "tahoe"}
    parts = {"nodes": ["A", "B"], "links": links, "flows": {"t": flow}, "run": {"duration": "1 s"}}
    scenario = load(parts)
    with pytest.raises(UnsupportedError) as caught:
        plan_of(compile(scenario).to_json())
    (shown_text,) = caught.value.to_scenario_error(scenario).diagnostics
    assert (shown_text.line, shown_text.path) == (0, "flows[t].variant")


WORKLOADS = """\
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 10 Mbit/s, delay: 1 ms}}
flows:
  open: {agent: tcp, from: S, to: D, transfers: {every: 1 ms, size: 1 kB}}
  many: {agent: tcp, connect: true, from: S, to: D, transfers: {every: 1 us, size: 1 B}}
  pages: {agent: tcp, connect: true, from: S, to: D, pages: {users: 1}}
  film: {agent: tcp, connect: true, from: S, to: D, video: {players: 1}}
  ping: {agent: echo, from: S, to: D}
run: {duration: 100 ms}
"""


def test_workloads_that_the_kernel_has_not_are_told_all_at_once(tmp_path: Path) -> None:
    """More transfers than ports, no handshake, and whatever waits for an answer."""
    file = tmp_path / "all.yaml"
    file.write_text(WORKLOADS)
    scenario = load(file)
    with pytest.raises(UnsupportedError) as caught:
        plan_of(compile(scenario).to_json())
    found = {
        each.path: each.message for each in caught.value.to_scenario_error(scenario).diagnostics
    }
    assert "nearest: connect: true" in found["flows[open]"]
    assert "there are ports for 25000" in found["flows[many].transfers"]
    for name in ("pages", "film"):
        assert "nearest: pages: {users: 1, objects: 0" in found[f"flows[{name}]"]
    assert "nearest: a UDP flow each way" in found["flows[ping]"]
