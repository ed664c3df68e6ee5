"""Features in pairs on a network of four nodes: each pair runs, or is refused at its place.

What is not supported together stands in `REFUSED`, `REFUSED_ALONE` and nowhere else: a pair that
begins to be refused, or to run, is a change of one of them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from table_invariants import find_invalid_values

from trunkline import planning
from trunkline.engine.packet_engine import Job, simulate_jobs
from trunkline.fluid import simulate as solve_means
from trunkline.fluid.focus import focus_network
from trunkline.fluid.unsupported import FluidUnsupportedError
from trunkline.network import Network, compile
from trunkline.scenario import Diagnostic, Scenario, ScenarioError, load
from trunkline.scenario.save import prove
from trunkline.scenario.yaml_text import block
from trunkline.trace import write_capture

# Links are so fast and long that a run is cut into regions where it may be.
RING = """
trunkline: 1
nodes: {A: {}, B: {}, C: {}, D: {}}
defaults: {link: {rate: 10 Gbit/s, delay: 5 ms}}
links: {A-B: {}, B-D: {}, A-C: {metric: 2}, C-D: {}}
flows:
  udp: {agent: udp, from: A, to: D, rate: 1 Mbit/s}
  tcp: {agent: tcp, from: A, to: D, size: 20 kB}
run: {duration: 200 ms}
"""

FEATURES = {
    "per-flow port": """
ports: {fair: {per: flow, scheduler: drr}}
defaults: {link: {port: fair}}
""",
    "per-flow meter": """
conditioners:
  each:
    rules: [{profile: own}]
    profiles:
      own: {per: flow, meter: {kind: token-bucket, rate: 9 Mbit/s, burst: 9 kB}, red: drop}
defaults: {link: {conditioner: each}}
""",
    "marking": """
conditioners:
  edge:
    rules: [{dscp: DF, profile: all}]
    profiles:
      all: {meter: {kind: srtcm, cir: 1 Mbit/s, cbs: 3 kB, ebs: 3 kB}, yellow: {dscp: AF12}}
links: {A-B: {ingress: edge}}
""",
    "OSPF": """
routing: {ospf: {hello: 20 ms, lsa_interval: 10 ms, spf: {kind: backoff, initial: 5 ms}}}
""",
    "LDP": """
routing: {ldp: {hello: 20 ms, hello_hold: 60 ms}}
""",
    "RSVP-TE": """
signalling: {kind: rsvp-te}
paths: {gold: {from: A, to: D, route: auto, bandwidth: 2 Mbit/s}}
trunks: {gold: {path: gold, flows: in-gold}}
flows: {in-gold: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
""",
    "events": """
signalling: {kind: rsvp-te}
paths: {moved: {from: A, to: D, route: auto, bandwidth: 2 Mbit/s}}
trunks: {moved: {path: moved, flows: in-moved}}
flows: {in-moved: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
events:
  - {at: 50 ms, move: moved, to: [A, C, D]}
  - {at: 90 ms, resize: moved, bandwidth: 3 Mbit/s}
  - {at: 130 ms, tear: moved}
  - {at: 150 ms, set_up: moved}
""",
    "requests": """
signalling: {kind: rsvp-te}
requests: {calls: {from: A, to: D, bandwidth: 1 Gbit/s, every: 10 ms, holding: 30 ms}}
""",
    "computed bypasses": """
paths: {local: {from: A, to: D, route: auto, bandwidth: 1 Mbit/s}}
trunks: {local: {path: local, flows: in-local}}
flows: {in-local: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
protections: {bypasses: {path: local, kind: facility-bypass, backup: auto, bandwidth: 100 %}}
failures: {cut: {link: A-B, at: 60 ms, repair: 120 ms}}
""",
    "computed backup and BFD": """
paths: {spare: {from: A, to: D, route: auto}}
trunks: {spare: {path: spare, flows: in-spare}}
flows: {in-spare: {agent: tcp, from: A, to: D}}
protections:
  standby: {path: spare, kind: backup, backup: auto, detection: {kind: bfd, interval: 5 ms}}
failures: {broken: {link: B-D, at: 50 ms, repair: 110 ms}}
""",
    "computed repair lists": """
paths: {policy: {from: A, segments: [D]}}
trunks: {policy: {path: policy, flows: in-policy}}
flows: {in-policy: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
protections: {lists: {path: policy, kind: ti-lfa, backup: auto}}
failures: {dark: {link: A-B, at: 70 ms}}
""",
    "maintenance": """
paths: {old: {route: [A, B, D]}, new: {route: [A, C, D]}}
trunks: {moved: {path: old, flows: udp}}
protections: {move: {path: old, kind: backup, backup: new}}
maintenance: {splice: {link: A-B, from: 90 ms, to: 130 ms, drain: lsp, lead: 30 ms}}
""",
    "rerouting": """
rerouting: {detection: {kind: bfd, interval: 5 ms}, spf_delay: 5 ms}
failures: {down: {node: B, at: 80 ms, repair: 120 ms}}
""",
    "static routes": """
nodes: {A: {routes: [{to: D, via: B}]}, D: {routes: [{to: A, via: C}]}}
""",
    "equal-cost paths": """
routing: {ecmp: flow}
links: {A-C: {metric: 1}}
""",
    "demands": """
demands:
  bulk: {from: A, to: D, rate: 1 Mbit/s, class: web}
  voice: {from: B, to: C, rate: 1 Mbit/s, class: EF}
traffic: {web: {agent: tcp, transfers: {size: 10 kB}}}
trunks: {mesh: {demands: all, path: auto}}
""",
    "scale": "scale: 50 %",
    "echo": "flows: {ping: {agent: echo, from: A, to: D, interval: 20 ms}}",
    "processing": """
nodes: {B: {processing: {fixed: 10 us, ip_lookup: 20 us, label_lookup: 5 us}}}
""",
    "transfers": """
flows:
  files: {agent: tcp, from: A, to: D, transfers: {every: 20 ms, size: 10 kB, record: on}}
""",
    "kept connections": """
flows:
  writes:
    {agent: tcp, from: A, to: D, after_idle: keep, send_buffer: {max: 8 kB},
     transfers: {arrivals: periodic, every: 20 ms, size: 10 kB, connections: kept}}
""",
    "pages": """
flows:
  web: {agent: tcp, from: D, to: A, pages: {users: 2, reading: 20 ms, parsing: 5 ms, main: 5 kB}}
""",
    "video": "flows: {film: {agent: tcp, from: D, to: A, video: {chunk: 50 ms, buffer: 200 ms}}}",
    "call": "flows: {call: {agent: udp, from: A, to: D, call: {silence: off}}}",
    "losses": """
defaults: {link: {loss: 1 %, account: on}}
links: {A-B: {lose: [{flow: tcp, segment: 2}]}}
""",
    "media": "flows: {seen: {agent: udp, from: A, to: D, media: {max_rate: 9 Mbit/s, ecn: on}}}",
    "heeding UDP": "flows: {paced: {agent: udp, from: A, to: D, arrivals: tfrc, rate: 9 Mbit/s}}",
    "reordering": "defaults: {link: {reorder: {share: 20 %, by: 30 us}}}",
    "marks and flow queues": """
defaults: {link: {port: queues}, tcp: {ecn: on, preset: linux, connect: on}}
ports: {queues: {scheduler: fq-codel}}
""",
    "probes and agreements": """
probes:
  - {measure: goodput, flow: all, every: 20 ms}
  - {measure: utilisation, link: all, every: 20 ms}
slas: {bulk: {flow: udp, at_most: {delay_p99: 50 ms}}}
""",
    "trace": "run: {trace: on}",
}  # fmt: skip

REFUSED = {
    ("OSPF", "rerouting"): "`rerouting` and `routing: ospf` both follow failures: one of them",
    ("computed repair lists", "equal-cost paths"): "ti-lfa repairs one path: with `ecmp`",
}
"""Pairs that are not supported together, in the order of `FEATURES`, and what is said of them."""

SIGNALLED = "the fluid engine sets no paths up"
REFUSED_ALONE = {
    "means": {
        "OSPF": "the fluid engine sends no messages: leave `ospf` out",
        "LDP": "the fluid engine sends no messages: leave `ldp` out",
        **dict.fromkeys(("RSVP-TE", "events", "requests"), SIGNALLED),
    },
}
"""Features that an engine, or a way to run, does not support, and what is said of them."""
REFUSED_ALONE |= {
    key: {"static routes": "loads after failures and during migrations follow the IGP"}
    for key in ("survive", "migrate", "grow")
}
REFUSED_ALONE["focus"] = REFUSED_ALONE["means"] | {
    **dict.fromkeys(("per-flow meter", "marking"), "conditioners know single flows"),
    **dict.fromkeys(
        ("pages", "video", "media", "heeding UDP"), "is unknown: they can be no background"
    ),
}


def merged(one: Any, other: Any) -> Any:
    """Two mappings as one, those in them too; of anything else the second."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return deepcopy(other)
    own = {key: merged(one[key], value) if key in one else value for key, value in other.items()}
    return dict(one) | own


def dump_point_scenario(*features: str) -> str:
    document = yaml.safe_load(RING)
    for name in features:
        document = merged(document, yaml.safe_load(FEATURES[name]))
    return block(document)


def is_placed(diagnostics: list[Diagnostic]) -> bool:
    """Whether every error has a file, a line and a column."""
    errors = [each for each in diagnostics if each.severity == "error"]
    return bool(errors) and all(each.file and each.line and each.column for each in errors)


def ran(network: Network, *, threads: int = 1) -> str:
    """Hash of what a run gives; packets of both flows must arrive."""
    (results,) = simulate_jobs([Job(network.to_json(), 1)], threads=threads)
    arrived = {row["flow"]: row["packets_delivered"] for row in results.flows.rows()}
    assert arrived["udp"], arrived
    assert find_invalid_values(results) == []
    return results.hash()


def run_text(text: str) -> None:
    ran(compile(load(text)))


def refusal(run: Callable[[], object], scenario: Scenario | None = None) -> ScenarioError | None:
    """The error that something ends with; None if it ends well."""
    try:
        run()
    except ScenarioError as error:
        return error
    except FluidUnsupportedError as error:
        assert scenario is not None
        return error.locate_in_scenario(scenario)
    return None


def is_as_expected(error: ScenarioError | None, expected: str | None) -> bool:
    """Whether there is an error where one is expected, and every error has its place."""
    if error is None or expected is None:
        return error is None and expected is None
    return expected in str(error) and is_placed(error.diagnostics)


@pytest.mark.parametrize("first", FEATURES)
def test_each_pair_runs_or_is_refused_at_its_place(first: str) -> None:
    names = list(FEATURES)
    for second in names[names.index(first) :]:
        text = dump_point_scenario(first, second)
        error = refusal(functools.partial(run_text, text))
        assert is_as_expected(error, REFUSED.get((first, second))), (first, second, str(error))


def on_threads(scenario: Scenario, _folder: Path) -> None:
    network = compile(scenario)
    assert ran(network, threads=2) == ran(network)


def means(scenario: Scenario, _folder: Path) -> None:
    found = solve_means(compile(scenario).to_json())
    assert {row["flow"] for row in found.flows.rows()} >= {"udp", "tcp"}
    assert find_invalid_values(found) == []


def focused(scenario: Scenario, _folder: Path) -> None:
    narrow: Any = focus_network(compile(scenario).data, ["A->B"]).network
    ran(Network(narrow))


def reoptimised(scenario: Scenario, _folder: Path) -> None:
    plan = planning.place(scenario, reoptimise=True)
    routes = {each.path: each.route for each in plan.paths if each.placed}
    ran(
        compile(prove(planning.write_explicit_scenario(scenario, routes=routes), "reoptimised", {}))
    )


def protected(scenario: Scenario, _folder: Path) -> None:
    text = planning.write_explicit_scenario(planning.add_default_protection(scenario))
    ran(compile(prove(text, "protected", {})))


def survived(scenario: Scenario, _folder: Path) -> None:
    assert {each.failure for each in planning.survive(scenario).failures} >= {"A-B", "C-D"}


def migrated(scenario: Scenario, _folder: Path) -> None:
    document = scenario.to_document()
    before, after = (
        load(block(document | {"paths": document.get("paths", {}) | {"mover": mover}}))
        for mover in [{"route": ["A", middle, "D"], "bandwidth": "1 Mbit/s"} for middle in "BC"]
    )
    (step,) = planning.write_migration_steps(before, after, planning.migrate(before, after))
    ran(compile(prove(step.text, step.name, {})))


def grown(scenario: Scenario, _folder: Path) -> None:
    document = scenario.to_document()
    extra = {"from": "A", "to": "D", "rate": "1 Mbit/s", "class": "added"}
    document["traffic"] = document.get("traffic", {}) | {"added": {"agent": "udp"}}
    document["demands"] = document.get("demands", {}) | {"added": extra}
    document["te"] = {"modules": {"10G": {"rate": "10 Gbit/s", "cost": 1}}}
    found = planning.grow(load(block(document)), planning.plan_yearly_growth({None: 1.0}, 2))
    assert [each.label for each in found.periods] == ["today", "year 1", "year 2"]


def captured(scenario: Scenario, folder: Path) -> None:
    network = compile(scenario.with_({"run.trace": True}))
    (results,) = simulate_jobs([Job(network.to_json(), 1)], threads=1)
    write_capture(results, json.loads(network.to_json()), str(folder / "run.pcapng"))
    assert (folder / "run.pcapng").stat().st_size > 1000


def written_back(scenario: Scenario, _folder: Path) -> None:
    assert compile(load(scenario.dump())).hash() == compile(scenario).hash()


RUN_METHODS: dict[str, Callable[[Scenario, Path], None]] = {
    "threads": on_threads,
    "means": means,
    "focus": focused,
    "reoptimise": reoptimised,
    "protect": protected,
    "survive": survived,
    "migrate": migrated,
    "grow": grown,
    "capture": captured,
    "write": written_back,
}


@pytest.mark.parametrize("way", RUN_METHODS)
def test_each_way_to_run_takes_each_feature_or_refuses_it_at_its_place(
    way: str, tmp_path: Path
) -> None:
    for name in FEATURES:
        scenario = load(dump_point_scenario(name))
        run = functools.partial(RUN_METHODS[way], scenario, tmp_path)
        error = refusal(run, scenario)
        assert is_as_expected(error, REFUSED_ALONE.get(way, {}).get(name)), (name, str(error))
