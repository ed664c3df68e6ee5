"""Failures and protections, from the language to the network."""

import json
from itertools import pairwise
from typing import Any

import pytest

from trunkline import network, scenario
from trunkline.scenario.fields import MAX_NAME_CHARACTERS

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


TWO_OVER_ONE_LINK = """
trunkline: 1
nodes: [S, A, B, T, C, D]
defaults: {link: {rate: 10 Mbit/s}}
links:
  {S-A: {}, A-B: {}, B-T: {}, A-C: {rate: $room}, C-B: {rate: $room}, A-D: {metric: 5}, D-B: {}}
parameters: {room: 6 Mbit/s}
paths:
  p: {route: [S, A, B, T], bandwidth: 3 Mbit/s}
  q: {route: [S, A, B, T], bandwidth: 3 Mbit/s}
flows:
  f: {agent: udp, from: S, to: T, rate: 1 Mbit/s}
  g: {agent: udp, from: S, to: T, rate: 1 Mbit/s}
trunks: {p: {path: p, flows: f}, q: {path: q, flows: g}}
protections: {x: {path: [p, q], kind: facility-bypass, backup: auto, link: A-B, bandwidth: 1}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(("room", "bypasses"), [("6 Mbit/s", 1), ("5999999 bit/s", 2)])
def test_rfc4090_s6_2_a_bypass_serves_as_many_paths_as_it_has_bandwidth_for(
    room: str, bypasses: int
) -> None:
    """Twice 3 Mbit/s fill a bypass of 6 Mbit/s; with 1 bit/s less the second path has its own."""
    resolved = scenario.load(TWO_OVER_ONE_LINK, overrides={"room": room}).resolve()
    assert len(resolved.protections) == bypasses
    # What both paths need, or each.
    assert [each.bandwidth for each in resolved.computed_backups.backups] == [
        6_000_000 // bypasses
    ] * bypasses
    assert sorted(path for each in resolved.protections.values() for path in each.path) == [
        "p",
        "q",
    ]


@pytest.mark.parametrize("spare", [0, 1])
def test_a_bypass_is_named_by_protection_and_link_if_a_number_fits_behind(spare: int) -> None:
    """Six characters are kept free, so that each name made is one of the language."""
    name = "x" * (MAX_NAME_CHARACTERS - 6 - len(".A-B") + spare)
    text = TWO_OVER_ONE_LINK.replace("protections: {x:", f"protections: {{{name}:")
    resolved = scenario.load(text).resolve()
    made = f"{name[: MAX_NAME_CHARACTERS - 16]}.2" if spare else f"{name}.A-B"
    assert [*resolved.protections] == [made]


ROUND_A_BYPASS = """
trunkline: 1
nodes: [S, A, B, T, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {}, C-T: {}, C-B: {}}
paths:
  working: {route: [S, A, B, T], bandwidth: 1 Mbit/s}
  around: {route: [A, C, T]}
trunks: {t: {path: working, flows: x}}
flows: {x: {agent: udp, from: S, to: T, rate: 1 Mbit/s}}
signalling: {kind: rsvp-te}
protections: {p: {path: working, kind: facility-bypass, backup: aroundLINK}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(
    ("link", "bypassed"),
    [
        ("", ["A->B", "B->T"]),
        (", link: A-B", ["A->B", "B->T"]),
        (", link: A->B", ["A->B", "B->T"]),
        (", link: [A-B, B-T]", ["A->B", "B->T"]),
        (", link: B-T", []),
    ],
)
def test_rfc4090_s6_a_bypass_goes_round_links_from_that_behind_the_node_that_repairs(
    link: str, bypassed: list[str]
) -> None:
    data = network.compile(scenario.load(ROUND_A_BYPASS.replace("LINK", link))).data
    names = [each["name"] for each in data["links"]]
    sessions = data["signalling"]["rsvp"]["sessions"]
    assert [[names[each] for each in session["around"]] for session in sessions] == [[], bypassed]


@pytest.mark.parametrize(("links", "more"), [(2, 0), (3, 0), (4, 1), (6, 3)])
def test_of_places_without_a_backup_the_first_three_are_named(links: int, more: int) -> None:
    nodes = [f"N{each}" for each in range(links + 1)]
    pairs = [f"{a}-{b}" for a, b in pairwise(nodes)]
    loaded = scenario.load(f"""
trunkline: 1
nodes: [{", ".join(nodes)}]
defaults: {{link: {{rate: 10 Mbit/s}}}}
links: {{{", ".join(f"{pair}: {{}}" for pair in pairs)}}}
paths: {{p: {{route: [{", ".join(nodes)}]}}}}
flows: {{f: {{agent: udp, from: {nodes[0]}, to: {nodes[-1]}, rate: 1 Mbit/s}}}}
trunks: {{t: {{path: p, flows: f}}}}
protections: {{x: {{path: p, kind: facility-bypass, backup: auto}}}}
run: {{duration: 1 s}}
""")
    (warning,) = [str(each) for each in loaded.warnings if "without a backup" in str(each)]
    assert f"{links} places of paths" in warning
    assert [f"{a}->{b}" in warning or f"{a}-{b}" in warning for a, b in pairwise(nodes)] == [
        each < 3 for each in range(links)
    ]
    assert (f"; and {more} more" in warning) == bool(more)
    assert ("more" in warning) == bool(more)


def test_a_path_that_has_room_is_protected_where_a_larger_one_has_none() -> None:
    text = TWO_OVER_ONE_LINK.replace(
        "p: {route: [S, A, B, T], bandwidth: 3", "p: {route: [S, A, B, T], bandwidth: 8"
    )
    text = text.replace("D-B: {}", "D-B: {rate: $room}").replace("bandwidth: 3", "bandwidth: 2")
    [protection] = scenario.load(text).resolve().protections.values()
    assert protection.path == ("q",)


POLICY_BESIDE = """
trunkline: 1
nodes: [A, B, C, D, E, F]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-F: {}, A-D: {}, D-E: {}, E-F: {}}
paths:
  policy: {from: A, segments: [D, E, F]}
  plain: {route: [A, D, E, F]}
  spare: {route: SPARE}
trunks: {t: {path: policy, flows: x}, u: {path: plain, flows: y}}
flows:
  x: {agent: udp, from: A, to: F, rate: 1 Mbit/s}
  y: {agent: udp, from: A, to: F, rate: 1 Mbit/s}
protections: {p: {path: all, kind: KIND, backup: spare}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(
    ("kind", "spare", "protected"),
    [
        ("backup", "[A, B, C, F]", ["policy", "plain"]),
        ("facility-bypass", "[A, B, C, F, E]", ["plain"]),
    ],
)
def test_rfc4090_s3_2_a_segment_policy_has_no_labels_that_a_bypass_could_carry_on(
    kind: str, spare: str, protected: list[str]
) -> None:
    """Its head may send all of it another way: a backup from end to end serves it too."""
    text = POLICY_BESIDE.replace("KIND", kind).replace("SPARE", spare)
    data = network.compile(scenario.load(text)).data
    paths = [data["paths"][each["path"]]["name"] for each in data["recovery"]["protections"]]
    assert paths == protected


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


DETOUR = (
    NET.replace("paths:\n", "paths:\n  other: {route: [S, C, T], php: false}\n")
    .replace("working: {route: [S, A, B, T]}", "working: {route: [S, A, B, T], php: false}")
    .replace("around: {route: [A, C, T]}", "around: {route: [A, C, T], php: false}")
)


def test_rfc4090_s3_1_only_the_label_at_the_end_of_a_detour_joins_the_path() -> None:
    """T takes the label of the detour for that of the path; no other label anywhere changes."""
    plain = compiled_of(DETOUR)
    joined = compiled_of(
        DETOUR + "protections: {d: {path: working, kind: detour, backup: around}}\n"
    )
    before, after = (
        {
            (data["nodes"][each["node"]]["name"], each["label"]): data["nhlfe"][each["nhlfe"]]
            for each in data["ilm"]
        }
        for data in (plain, joined)
    )
    assert list(before) == list(after)
    [end] = (key for key in before if before[key]["path"] != after[key]["path"])
    assert end[0] == "T"
    assert after[end] == next(
        each for (node, _), each in before.items() if node == "T" and each["path"] == 1
    )


def compiled_of(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(network.compile(scenario.load(text)).to_json())
    return data


@pytest.mark.parametrize(("protect", "pops"), [("S-A", False), ("A-B", True)])
def test_rfc4090_s3_2_the_first_node_has_no_label_to_take_off(protect: str, pops: bool) -> None:
    """A bypass of the first link pushes on a packet without a label, one further on swaps."""
    backup = {"S-A": "{route: [S, C, A]}", "A-B": "{route: [A, C, B]}"}[protect]
    text = NET.replace("links: {S-A: {}, ", "links: {B-C: {}, S-A: {}, ")
    text = text.replace("paths:\n", f"paths:\n  bypass: {backup}\n")
    data = compiled_of(
        text + "protections: {p: {path: working, kind: facility-bypass, backup: bypass,"
        f" link: {protect}}}}}\n"
    )
    [switch] = data["recovery"]["protections"][0]["switches"]
    assert data["nhlfe"][switch["alternative"]]["pop"] is pops


@pytest.mark.parametrize(("route", "has_label"), [("[S, A]", False), ("[R, S, A]", True)])
def test_rfc3270_s2_6_3_the_first_node_has_no_traffic_class_to_take_off(
    route: str, has_label: bool
) -> None:
    """At S behind R the bypass takes the path's label off, which R put on."""
    data = compiled_of(
        f"""\
trunkline: 1
nodes: [R, S, A, C]
defaults: {{link: {{rate: 10 Mbit/s}}}}
links: {{R-S: {{}}, S-A: {{}}, S-C: {{}}, C-A: {{}}}}
paths:
  p: {{route: {route}, diffserv: {{map: {{DF: 0, AF11: 1}}, model: uniform}}}}
  bypass: {{route: [S, C, A]}}
flows: {{f: {{agent: udp, from: {route[1]}, to: A, rate: 1 Mbit/s}}}}
trunks: {{t: {{path: p, flows: f}}}}
protections: {{x: {{path: p, kind: facility-bypass, backup: bypass, link: S-A}}}}
run: {{duration: 1 s}}
"""
    )
    [switch] = data["recovery"]["protections"][0]["switches"]
    alternative = data["nhlfe"][switch["alternative"]]
    assert alternative["pop"] is has_label
    assert (alternative.get("pop_diffserv") is not None) is has_label


SIGNALLED = (
    NET.replace("links: {S-A: {}, ", "links: {B-C: {}, S-A: {}, ") + "signalling: {kind: rsvp-te}\n"
)


@pytest.mark.parametrize(
    ("backup", "route", "is_node"),
    [
        ("auto, protect: link", "[S, C, T]", False),
        ("auto, protect: node", "[S, C, T]", True),
        ("bypass", "[A, C, B]", False),
        ("bypass", "[A, C, T]", True),
    ],
)
def test_rfc4090_s4_1_node_protection_is_asked_for_where_it_is_written_or_spans_two_links(
    backup: str, route: str, is_node: bool
) -> None:
    """The bypass from A to T spans A-B and B-T: it protects node B."""
    text = SIGNALLED.replace("paths:\n", f"paths:\n  bypass: {{route: {route}}}\n")
    data = compiled_of(
        f"{text}protections: {{p: {{path: working, kind: facility-bypass, link: A-B, "
        f"backup: {backup}}}}}\n"
    )
    [protection] = (
        each["protection"] for each in data["signalling"]["rsvp"]["sessions"] if each["protection"]
    )
    assert protection["node"] is is_node


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize(
    ("other", "asked"),
    [
        ("link: A-B, backup: wide", {"node"}),
        ("link: A-B, backup: auto, protect: link", {"computed"}),
        ("link: A-B, backup: auto, protect: node", {"computed", "node"}),
        # No node lies between B and the tail; it is asked for all the same.
        ("link: B-T, backup: auto, protect: node", {"computed", "node"}),
        ("link: A-B, backup: auto, protect: link, bandwidth: 1", {"computed", "bandwidth"}),
    ],
)
def test_rfc4090_s4_1_a_path_asks_for_what_one_of_its_protections_has(
    other: str, asked: set[str], is_first: bool
) -> None:
    """Of two bypasses one is of a link alone; what the other is for besides, the path asks for."""
    bypasses = [
        f"{name}: {{path: working, kind: facility-bypass, {keys}}}"
        for name, keys in (("one", "link: A-B, backup: bypass"), ("two", other))
    ]
    if is_first:
        bypasses.reverse()
    routes = "  bypass: {route: [A, C, B]}\n  wide: {route: [A, C, T]}\n"
    text = SIGNALLED.replace("paths:\n", f"paths:\n{routes}")
    data = compiled_of(f"{text}protections: {{{', '.join(bypasses)}}}\n")
    [protection] = (
        each["protection"] for each in data["signalling"]["rsvp"]["sessions"] if each["protection"]
    )
    assert {key for key in ("node", "bandwidth", "computed") if protection[key]} == asked
