"""Random scenarios through load, run, report, and the verdict of a scenario against itself."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import yaml
from alteration_verdicts import run_other_coins
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st
from random_scenarios import draw_scenario_text
from table_invariants import find_invalid_values

import trunkline as tl
from trunkline.cli.run_command import command
from trunkline.linux.judge.engine_run import trace_simulator
from trunkline.linux.judge.seed_pair import SeedPair, make_seed_pair
from trunkline.linux.judge.verification import (
    make_simulator_runner,
    replace_probes,
    run_until_decided,
)
from trunkline.network import compile
from trunkline.results import store

PROMISES = {"delay_p99": "9 s", "delay_max": "9 s", "delay_range": "9 s", "jitter": "9 s"}
DSCPS = ("EF", "AF11", "AF12", "AF41", "DF")
QUEUES: list[dict[str, Any]] = [
    {},
    {"limit": "10 packets"},
    {"limit": "20 kB"},
    {"limit": "50 packets", "aqm": {"kind": "red", "min_th": "5 packets", "max_th": "20 packets"}},
    {"limit": "100 packets", "aqm": {"kind": "codel"}},
]


@st.composite
def ports(draw: st.DrawFn) -> dict[str, Any]:
    """A FIFO, or classes of which one is voice."""
    kind = draw(st.sampled_from(("fifo", "priority", "drr", "wfq")))
    if kind == "fifo":
        return {"queue": draw(st.sampled_from(QUEUES))}
    weighted = kind != "priority"
    classes = {
        name: {"queue": draw(st.sampled_from(QUEUES))}
        | ({"weight": draw(st.integers(1, 4))} if weighted else {})
        for name in ("voice", "default")
    }
    return {
        "scheduler": kind,
        "classify": [{"dscp": "EF", "class": "voice"}],
        "classes": classes,
    }


@st.composite
def flows(draw: st.DrawFn, ends: list[str]) -> dict[str, Any]:
    """A download, or datagrams of one of four kinds."""
    source, target = draw(st.permutations(ends))[:2]
    flow = {"from": source, "to": target, "dscp": draw(st.sampled_from(DSCPS))}
    # Of one that starts last a SYN, a packet or nothing arrives.
    if draw(st.integers(0, 3)) == 0:
        flow["start"] = f"{draw(st.integers(900, 1000))} ms"
    if draw(st.booleans()):
        variant = draw(st.sampled_from(("tahoe", "reno", "new-reno", "sack")))
        opens = {"connect": True, "size": "20 kB"} if draw(st.booleans()) else {}
        return {"agent": "tcp", **flow, "variant": variant, **opens}
    rate = draw(st.integers(1, 40))
    flow |= {"rate": f"{100 * rate} kbit/s", "size": f"{draw(st.integers(60, 1400))} B"}
    arrivals = draw(st.sampled_from(("cbr", "poisson", "on-off")))
    times = {"mean_on": "50 ms", "mean_off": "50 ms"} if arrivals == "on-off" else {}
    return {"agent": "udp", **flow, "arrivals": arrivals, **times}


@st.composite
def scenarios(draw: st.DrawFn) -> str:
    """A ring of three to five routers with labels on one way of it, and what may go wrong."""
    nodes = [f"N{index}" for index in range(draw(st.integers(3, 5)))]
    pairs = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
    links = {}
    for one, other in pairs:
        links[f"{one}-{other}"] = {
            "rate": f"{draw(st.integers(1, 10))} Mbit/s",
            "delay": f"{draw(st.integers(0, 20))} ms",
            "port": "p",
        } | ({"loss": "1 %"} if draw(st.integers(0, 3)) == 0 else {})
    listed = draw(st.lists(flows(nodes), min_size=1, max_size=4))
    scenario: dict[str, Any] = {
        "trunkline": 1,
        "nodes": nodes,
        "links": links,
        "ports": {"p": draw(ports())},
        "flows": {f"f{number}": flow for number, flow in enumerate(listed)},
        "slas": {"all": {"flow": "all", "at_most": PROMISES}},
        "run": {"duration": "1 s", "warm_up": draw(st.sampled_from(("0 s", "300 ms")))},
    }
    first = listed[0]
    if draw(st.booleans()):
        start, end = nodes.index(first["from"]), nodes.index(first["to"])
        route = nodes[start : end + 1] if start < end else nodes[end : start + 1][::-1]
        scenario["paths"] = {"lsp": {"route": route}}
        scenario["trunks"] = {"t": {"path": "lsp", "flows": ["f0"]}}
    if draw(st.integers(0, 2)) == 0:
        link = draw(st.sampled_from(sorted(links)))
        scenario["failures"] = {"cut": {"link": link, "at": "400 ms", "repair": "700 ms"}}
        scenario["rerouting"] = {"detection": {"kind": "fixed", "delay": "20 ms"}}
    if draw(st.booleans()):
        link = "N0->N1"
        measure = ["queue-packets", "utilisation", "drops"]
        scenario["probes"] = [{"link": link, "measure": measure, "every": "100 ms"}]
        scenario["probes"] += [{"flow": "f0", "measure": ["delay", "goodput"], "every": "10 ms"}]
    text: str = yaml.safe_dump(scenario, sort_keys=False)
    return text


@settings(max_examples=60)
@given(scenarios())
def test_a_random_scenario_runs_the_same_twice_and_adds_up(text: str) -> None:
    """Shares lie from 0 to 1, percentiles between minimum and maximum, and bytes repeat.

    Whatever averages nothing is null, and no promise about it is kept.
    """
    scenario = tl.load(text)
    run = tl.run(scenario)
    assert run.hash() == tl.run(tl.load(scenario.dump())).hash()
    assert find_invalid_values(run) == []
    json.dumps(run.to_json(), allow_nan=False)
    for level in tl.judge(scenario, run):
        row = run.flows.where(flow=level.worst_row)
        assert not level.met or row[level.bound.column] is not None, level
    for table in ("flows", "aggregates", "ports"):
        for row in run.tables[table].rows():
            assert row["loss_ratio"] is None or 0 <= float(row["loss_ratio"]) <= 1, (table, row)
            if table != "ports" and row["delay_p99_s"] is not None:
                tail = [float(row[f"delay_{which}_s"] or 0) for which in ("p50", "p99", "max")]
                assert tail == sorted(tail), (table, row)
    # A packet that is being sent when the warm-up ends counts whole: 1400 B of 0.7 s at 1 Mbit/s.
    assert all(0 <= float(row["utilisation"] or 0) <= 1.017 for row in run.ports.rows())
    assert run.render(width=100)


@settings(max_examples=12)
@given(scenarios())
def test_a_random_scenario_never_differs_from_itself(text: str) -> None:
    """With the same coins it agrees; with others, and five seeds, nothing is said to differ."""
    ours = compile(tl.load(text)).to_json()
    same = run_until_decided([(ours, 1)], make_simulator_runner(ours, ours, "itself"))
    assert same.outcome != "differs"
    assert all(row.difference == 0 for row in same.rows)
    network = replace_probes(json.loads(ours))

    def run_seed(_network: str, seed: int, _show: object) -> tuple[SeedPair, str, tuple[str, ...]]:
        runs = trace_simulator(network, seed), run_other_coins(network, seed)
        return make_seed_pair(network, *runs, "simulator"), "other coins", ()

    found = run_until_decided([(ours, seed) for seed in range(1, 6)], run_seed)
    assert [row for row in found.rows if row.outcome == "differs"] == []


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenarios())
def test_a_random_scenario_has_a_report(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.mktemp("random")
    (folder / "random.yaml").write_text(text)
    out = folder / "out"
    done = CliRunner().invoke(command, [str(folder / "random.yaml"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "report.html").read_text()
    assert "Every packet is accounted for" in page
    assert (
        json.loads((out / "run.json").read_text())["runs"][0]["hash"]
        == store.read_results(out)[0].hash()
    )


@pytest.mark.parametrize("first_seed", [0, 30])
def test_whatever_the_checks_allow_runs_and_is_written_and_read_back(first_seed: int) -> None:
    """Keys of workloads, signalling, failures and protections in random combinations."""
    for seed in range(first_seed, first_seed + 30):
        stream = random.Random(seed)
        text = draw_scenario_text(
            lambda values, stream=stream: values[int(len(values) * stream.random() ** 1.3)],
            signalled=None if seed % 3 == 0 else True,
        )
        scenario = tl.loads(text)
        results = tl.run(scenario)
        assert find_invalid_values(results) == [], (seed, text)
        assert compile(tl.loads(scenario.dump())).hash() == compile(scenario).hash(), (seed, text)
