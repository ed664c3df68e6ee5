"""Random scenarios from end to end: load, run, report; whatever is drawn, the books balance.

Networks are rings with chords, so that every flow has a way and every link may fail. What must hold
follows from the definitions: packets are conserved (RFC 7679's lost packets are those that were
sent and are neither delivered nor still inside), a link carries no more than its rate, and the same
seed gives the same bytes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import trunkline as tl
from trunkline.report.write import write
from trunkline.results import store

QUEUES: list[dict[str, Any]] = [
    {"limit": "3 packets"},
    {"limit": "8 kB"},
    {"limit": ["20 packets", "10 kB"], "counts_in_service": True},
    {"limit": "30 packets", "aqm": {"kind": "red", "min_th": "2 packets", "max_th": "9 packets"}},
]
CLASSES = {"voice": {"queue": {"limit": "5 packets"}}, "default": {}}
RULES = [{"dscp": "EF", "class": "voice"}]
PORTS: list[dict[str, Any]] = [
    *({"queue": each} for each in QUEUES),
    *(
        {"scheduler": each, "classes": CLASSES, "classify": RULES}
        for each in ("priority", "drr", "wfq")
    ),
    {"scheduler": "drr", "per": "flow"},
]


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """A scenario without a fault."""
    count = draw(st.integers(3, 6))
    nodes = [f"N{number}" for number in range(count)]
    ring = [(nodes[at], nodes[(at + 1) % count]) for at in range(count)]
    ports = draw(st.lists(st.sampled_from(PORTS), min_size=1, max_size=3))
    names = [f"p{number}" for number in range(len(ports))]
    links = {
        f"{one}-{other}": {
            "rate": f"{draw(st.integers(50, 4_000))} kbit/s",
            "delay": f"{draw(st.integers(0, 20_000))} us",
            "metric": draw(st.integers(1, 5)),
            "port": draw(st.sampled_from(names)),
            "loss": draw(st.sampled_from(["0 %", "5 %"])),
            "account": True,
        }
        for one, other in ring
    }
    flows: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        start, end = draw(st.permutations(nodes))[:2]
        flow: dict[str, Any] = {"from": start, "to": end, "dscp": draw(st.sampled_from([0, 46]))}
        if draw(st.booleans()):
            flow |= {"agent": "tcp", "variant": draw(st.sampled_from(["reno", "sack"]))}
        else:
            arrivals = draw(st.sampled_from(["cbr", "poisson"]))
            rate = f"{draw(st.integers(10, 3_000))} kbit/s"
            flow |= {"agent": "udp", "arrivals": arrivals, "rate": rate, "replicate": 2}
        flows[f"f{number}"] = flow
    made: dict[str, Any] = {
        "trunkline": 1,
        "nodes": nodes,
        "links": links,
        "ports": dict(zip(names, ports, strict=True)),
        "flows": flows,
        "run": {"duration": "1500 ms", "seed": draw(st.integers(0, 2**64 - 1))},
    }
    if draw(st.booleans()):
        first = flows["f0"]
        at, way = nodes.index(first["from"]), [first["from"]]
        while way[-1] != first["to"]:
            at = (at + 1) % count
            way.append(nodes[at])
        made["paths"] = {"lsp": {"route": way, "php": draw(st.booleans())}}
        made["trunks"] = {"t": {"path": "lsp", "flows": "f0"}}
    if draw(st.booleans()):
        made["failures"] = {"cut": {"link": draw(st.sampled_from(list(links))), "at": "600 ms"}}
        made["rerouting"] = {"spf_delay": "50 ms"}
    return made


@settings(max_examples=10, deadline=None, derandomize=True, phases=[Phase.generate])
@given(scenarios())
def test_packets_are_conserved_and_no_link_carries_more_than_its_rate(
    drawn: dict[str, Any],
) -> None:
    scenario = tl.load(drawn)
    assert tl.compile(tl.loads(scenario.dump())).hash() == tl.compile(scenario).hash()
    first, again = tl.run_many(scenario, seeds=[scenario.run.seed] * 2, threads=2)
    assert first.hash() == again.hash()
    for row in first.flows.rows():
        assert 0 <= row["loss_ratio"] <= 1 if row["loss_ratio"] is not None else True
        assert row["packets_delivered"] >= 0
    for row in first.tables["ports"].rows():
        assert row["utilisation"] <= 1 + 1e-9
    with tempfile.TemporaryDirectory() as folder:
        network = tl.compile(scenario).to_json()
        results = store.write([first], Path(folder) / "results", network_json=network)
        assert [each.hash() for each in store.read(results)] == [first.hash()]
        page = write(results).read_text("utf-8")
    assert page.startswith(("<!doctype html>", "<!DOCTYPE html>"))
    assert all(name in page for name in scenario.flows)
