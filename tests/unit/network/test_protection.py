"""Failures and protections, from the language to the network."""

import json
from typing import Any

import pytest

from trunkline import network, scenario

NET = """
trunkline: 1
nodes: [S, A, B, T, C]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms, port: two}}
links: {S-A: {}, A-B: {}, B-T: {}, S-C: {}, C-T: {}, A-C: {}}
ports:
  two:
    classify: [{trunk: t, class: gold}]
    classes: {gold: {}, default: {}}
    scheduler: drr
paths:
  working: {route: [S, A, B, T]}
  spare: {route: [S, C, T]}
  around: {route: [A, C, T]}
trunks: {t: {path: working, flows: [f]}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}}
run: {duration: 9 s}
"""


def compiled(more: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(network.compile(scenario.load(NET + more)).to_json())
    return data


def names(data: dict[str, Any], links: list[int]) -> list[str]:
    return [data["links"][link]["name"] for link in links]


def test_a_scenario_without_failures_compiles_as_before() -> None:
    assert "recovery" not in compiled("")


def test_links_directions_nodes_and_groups_expand_to_one_way_links() -> None:
    data = compiled(
        "failures: {both: {link: A-B, at: 1 s}, one: {link: A->B, at: 1 s},"
        " node: {node: C, at: 1 s, repair: 2 s}, group: {link: A-B, node: C, at: 1 s}}"
    )
    both, one, node, group = data["recovery"]["failures"]
    assert names(data, both["links"]) == ["A->B", "B->A"]
    assert names(data, one["links"]) == ["A->B"]
    assert names(data, node["links"]) == ["S->C", "C->S", "C->T", "T->C", "A->C", "C->A"]
    assert node["node"]
    assert not group["node"]
    assert set(group["links"]) == {*both["links"], *node["links"]}
    assert node["outages"]["at"] == [{"failed_ns": 10**9, "repaired_ns": 2 * 10**9}]


def test_hello_waits_three_and_a_half_intervals_unless_told() -> None:
    data = compiled(
        "rerouting: {detection: {kind: hello, interval: 10 ms}}\n"
        "failures: {cut: {link: A-B, mtbf: 1 s, mttr: 10 ms}}"
    )
    assert data["recovery"]["rerouting"]["detection"]["timeout_ns"] == 35_000_000
    outages = data["recovery"]["failures"][0]["outages"]
    assert outages == {"kind": "random", "mtbf_ns": 10**9, "mttr_ns": 10**7}


def test_the_class_of_a_trunk_goes_with_it_onto_the_backup() -> None:
    data = compiled("protections: {p: {path: working, kind: backup, backup: spare}}")
    (switch,) = data["recovery"]["protections"][0]["switches"]
    entry, alternative = (data["nhlfe"][switch[key]] for key in ("entry", "alternative"))
    assert names(data, [entry["link"], alternative["link"]]) == ["S->A", "S->C"]
    rows = data["ports"][data["links"][alternative["link"]]["port"]]["classifier"]["rows"]
    assert rows[alternative["row"]][64][0] == 0  # gold, for a labelled packet of TC 0
    assert alternative["row"] == entry["row"]


def test_local_repair_watches_what_it_bypasses_and_pushes_what_the_end_expects() -> None:
    data = compiled("protections: {p: {path: working, kind: facility-bypass, backup: around}}")
    protection = data["recovery"]["protections"][0]
    assert data["nodes"][protection["node"]]["name"] == "A"
    assert names(data, protection["watches"]) == ["A->B", "B->T"]
    spare = data["nhlfe"][protection["switches"][0]["alternative"]]
    # The working path ends at T without its label (penultimate hop popping): only the bypass's is
    # put on, in place of the one that A gets.
    assert spare["pop"]
    assert len(spare["push"]) == 1
    assert names(data, [spare["link"]]) == ["A->C"]


SHARED = (
    NET.split("trunks:")[0]
    + """
  long: {route: [S, A, B, T, C]}
  crossing: {route: [A, B, T, C]}
  back: {route: [T, B, A, S]}
  idle: {route: [S, A, B, T]}
trunks:
  t: {path: working, reverse: back, flows: [f]}
  l: {path: long, flows: [g]}
  c: {path: crossing, flows: [h]}
flows:
  f: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}
  g: {agent: udp, from: S, to: C, rate: 1 Mbit/s, size: 500 B}
  h: {agent: udp, from: A, to: C, rate: 1 Mbit/s, size: 500 B}
run: {duration: 9 s}
protections:
  around: {path: PATHS, kind: facility-bypass, backup: around}
"""
)


def shared(paths: str) -> dict[str, Any]:
    loaded = scenario.load(SHARED.replace("PATHS", paths))
    data = json.loads(network.compile(loaded).to_json())
    return {each["name"]: each for each in data["recovery"]["protections"]}


def test_rfc4090_s3_2_one_bypass_serves_all_paths_that_cross_what_it_goes_around() -> None:
    # `back` crosses the other way, `idle` carries no trunk.
    assert list(shared("all")) == ["around[working]", "around[long]", "around[crossing]"]


def test_a_bypass_of_several_named_paths_is_that_of_each() -> None:
    alone = shared("long")["around"]
    of_two = shared("[working, long]")
    assert list(of_two) == ["around[working]", "around[long]"]
    for key in ("path", "node", "watches", "kind"):
        assert of_two["around[long]"][key] == alone[key]


def test_rfc4090_s3_1_a_detour_belongs_to_one_path() -> None:
    with pytest.raises(scenario.ScenarioError, match="detour protects one path"):
        scenario.load(NET + "protections: {d: {path: all, kind: detour, backup: around}}\n")


def test_a_protection_of_all_that_protects_nothing_is_doubted() -> None:
    loaded = scenario.load(
        NET.replace("  around:", "  away: {route: [C, T]}\n  around:")
        + "protections: {p: {path: all, kind: facility-bypass, backup: away}}\n"
    )
    assert any("no path of a trunk that this can protect" in str(each) for each in loaded.warnings)
