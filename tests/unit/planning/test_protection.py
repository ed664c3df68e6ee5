"""`backup: auto` in scenarios: what is generated, what it does to packets, what is refused."""

from __future__ import annotations

import json

import pytest

import trunkline as tl
from trunkline.network import compile
from trunkline.planning import (
    add_default_protection,
    place,
    protect,
    write_explicit_scenario,
)
from trunkline.scenario.resolved.placement import unplaced_paths_allowed

RING = """\
trunkline: 1
nodes: [A, B, C, D, E]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, D-A: {}, A-E: {}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: C, rate: 4 Mbit/s, class: data}
  two: {from: B, to: D, rate: 3 Mbit/s, class: data}
paths:
  one: {route: [A, B, C]}
  two: {route: auto, from: B, to: D, via: [C]}
trunks:
  one: {path: one, demands: one}
  two: {path: two, demands: two}
failures: {cut: {link: B-C, at: 500 ms}}
run: {duration: 1 s}
"""


def frr(document: str) -> tl.Scenario:
    return tl.load(RING + f"protections: {{frr: {{path: all, backup: auto, {document}}}}}\n")


def test_one_bypass_serves_all_paths_over_a_link() -> None:
    plan = protect(frr("kind: facility-bypass"))
    assert {each.backup: (each.route, each.paths) for each in plan.backups} == {
        "frr.A-B": (("A", "D", "C", "B"), ("one",)),
        "frr.B-C": (("B", "A", "D", "C"), ("one", "two")),
        "frr.C-D": (("C", "B", "A", "D"), ("two",)),
    }
    assert {each.bandwidth_bit_s for each in plan.backups} == {4_000_000, 7_000_000, 3_000_000}
    # Three links in place of one, 1 ms each.
    assert {each.stretch_s for each in plan.backups} == {0.002}
    assert (plan.places, plan.coverage) == (4, 1.0)
    # B->A carries the bypasses of B-C (7) and of C-D (3), for different failures.
    of = {each.link: each for each in plan.links}
    assert (of["B->A"].backup_bit_s, of["B->A"].unshared_bit_s) == (7_000_000, 10_000_000)


# Three paths of 8 Mbit/s over A-B; the only other way has 10 Mbit/s.
NARROW = """\
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 100 Mbit/s, delay: 1 ms}
  A-C: {rate: 10 Mbit/s, delay: 1 ms}
  C-B: {rate: 10 Mbit/s, delay: 1 ms}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  x: {from: A, to: B, rate: 8 Mbit/s, class: data}
  y: {from: A, to: B, rate: 8 Mbit/s, class: data}
  z: {from: A, to: B, rate: 8 Mbit/s, class: data}
trunks: {all: {demands: all, path: auto}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize("kind", ["facility-bypass", "detour", "backup"])
def test_rfc4090_s3_a_backup_that_asks_for_no_bandwidth_is_not_refused_for_lack_of_it(kind) -> None:
    document = f"kind: {kind}, path: [x, y, z], backup: auto"
    plan = protect(tl.load(NARROW + f"protections: {{p: {{{document}}}}}\n"))
    assert (plan.places, plan.coverage, plan.unprotected) == (3, 1.0, ())
    # That it would be too much is said by the link, not by leaving paths without a backup.
    assert {each.link: each.backup_bit_s for each in plan.links}["A->C"] == 24_000_000


@pytest.mark.parametrize("kind", ["facility-bypass", "detour", "backup"])
def test_rfc4090_s4_1_a_backup_that_asks_for_bandwidth_gets_it_or_is_refused(kind) -> None:
    document = f"kind: {kind}, path: [x, y, z], backup: auto, bandwidth: 100 %"
    plan = protect(tl.load(NARROW + f"protections: {{p: {{{document}}}}}\n", strict=False))
    assert plan.coverage == pytest.approx(1 / 3)
    assert [gap.path for gap in plan.unprotected] == ["y", "z"]
    assert all(
        "8 Mbit/s is asked, at most 2 Mbit/s is unreserved" in g.why for g in plan.unprotected
    )


def test_node_protection_goes_to_the_next_node_but_one_and_the_last_hop_around_its_link() -> None:
    plan = protect(frr("kind: facility-bypass, protect: node"))
    assert {each.backup: each.route for each in plan.backups} == {
        "frr.A-B-C": ("A", "D", "C"),
        "frr.B-C-D": ("B", "A", "D"),
        "frr.B-C": ("B", "A", "D", "C"),
        "frr.C-D": ("C", "B", "A", "D"),
    }
    # A node answers for its own link alone: those behind have backups of their own.
    kept = frr("kind: facility-bypass, protect: node").resolve().protections
    assert kept["frr.A-B-C"].link == ("A->B",)


def test_detours_and_standbys_serve_one_path_each() -> None:
    detours = protect(frr("kind: detour"))
    assert {each.backup: each.route for each in detours.backups} == {
        "frr.one.A": ("A", "D", "C"),
        "frr.one.B": ("B", "A", "D", "C"),
        "frr.two.B": ("B", "A", "D"),
        "frr.two.C": ("C", "B", "A", "D"),
    }
    standby = protect(frr("kind: backup, protect: node"))
    assert {each.backup: each.route for each in standby.backups} == {
        "frr.one": ("A", "D", "C"),
        "frr.two": ("B", "A", "D"),
    }


@pytest.mark.parametrize("kind", ["facility-bypass", "detour", "backup"])
def test_a_computed_backup_carries_packets_as_a_written_one(kind: str) -> None:
    scenario = frr(f"kind: {kind}, detection: {{kind: fixed, delay: 10 ms}}")
    written = tl.load(write_explicit_scenario(scenario))
    assert "auto" not in write_explicit_scenario(scenario).split("protections:")[1]
    assert compile(written).data == compile(scenario).data | {"name": "scenario"}
    flows = {row["flow"]: row for row in tl.run(scenario).flows.rows()}
    for name, rate in (("one", 4e6), ("two", 3e6)):
        # 10 ms without a repair, and what is on B-C (1 ms) when it fails: 11 ms at the rate.
        lost = flows[name]["packets_sent"] - flows[name]["packets_delivered"]
        assert lost == pytest.approx(11e-3 * rate / 4000, abs=6)


def test_one_plus_one_makes_a_copy_with_the_labels_of_the_path() -> None:
    text = RING.replace("[A, B, C]}", "[A, B, C], php: false}")
    text += "protections: {p: {path: one, kind: one-plus-one, backup: auto, protect: node}}\n"
    scenario = tl.load(text)
    assert scenario.resolve().paths["p.one"].php is False
    rows = {row["flow"]: row for row in tl.run(scenario).flows.rows()}
    assert rows["one"]["packets_delivered"] > 0.8 * rows["one"]["packets_sent"]


def test_bandwidth_is_found_or_refused_with_the_constraint() -> None:
    # Working paths leave 6 on A->B, 3 on B->C, 7 on C->D and 10 on all others. The bypass of B-C
    # must carry 4 and 3 over B->A, A->D, D->C: 10 is there. That of A-B must carry 4 over C->B,
    # that of C-D 3 over A->B.
    assert protect(frr("kind: facility-bypass, bandwidth: 100 %")).coverage == 1
    # With 1.6 times the bandwidth the bypass of B-C must carry 6.4 + 4.8 > 10: the path placed
    # second, with less bandwidth, gets none.
    plan = protect(frr("kind: facility-bypass, bandwidth: 160 %"))
    assert [(gap.path, gap.around) for gap in plan.unprotected] == [("two", "link B->C")]
    assert "4.8 Mbit/s is asked, at most 3.6 Mbit/s is unreserved" in plan.unprotected[0].why


def test_several_bypasses_where_one_has_no_room() -> None:
    text = RING.replace("A-E: {}", "A-E: {}, E-C: {}")
    text += (
        "protections: {frr: {path: all, kind: facility-bypass, backup: auto, bandwidth: 160 %}}\n"
    )
    plan = protect(tl.load(text))
    routes = {each.backup: each.route for each in plan.backups if each.around == "link B->C"}
    # B->A is the only way out of B: 10 Mbit/s for 6.4 and 4.8.
    assert routes == {"frr.B-C": ("B", "A", "D", "C")}
    wide = tl.load(text.replace("A-B: {}", "A-B: {rate: 20 Mbit/s}"))
    routes = {
        each.backup: each.route for each in protect(wide).backups if each.around == "link B->C"
    }
    assert routes == {"frr.B-C": ("B", "A", "D", "C"), "frr.B-C.2": ("B", "A", "E", "C")}


def test_what_cannot_be_protected_is_named_with_its_reason() -> None:
    text = RING.replace("one: {from: A", "one: {from: E").replace("[A, B, C]", "[E, A, B, C]")
    text += "protections: {frr: {path: all, kind: facility-bypass, backup: auto, protect: node}}\n"
    scenario = tl.load(text)
    plan = protect(scenario)
    assert [(g.path, g.around, g.why, g.by_link) for g in plan.unprotected] == [
        ("one", "link E->A", "no other way leads from E to A", False)
    ]
    assert plan.coverage == pytest.approx(4 / 5)
    warned = scenario.render_warnings()
    assert "1 place of paths without a backup: link E->A: no other way" in warned


def test_rfc4090_s3_2_a_gap_of_node_protection_names_the_ends_of_the_bypass_it_lacks() -> None:
    """A tunnel around a node ends at the next but one: B and C are the only way on."""
    plan = protect(
        tl.load(
            """\
trunkline: 1
nodes: [A, B, C, D, X, Y, Z]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, C-D: {}, A-X: {}, X-B: {}, B-Y: {}, Y-C: {}, C-Z: {}, Z-D: {}}
traffic: {data: {agent: udp, size: 500 B}}
demands: {one: {from: A, to: D, rate: 1 Mbit/s, class: data}}
paths: {one: {route: [A, B, C, D]}}
trunks: {one: {path: one, demands: one}}
protections: {p: {path: one, kind: facility-bypass, protect: node, backup: auto}}
run: {duration: 1 s}
"""
        )
    )
    assert [(g.around, g.why, g.by_link) for g in plan.unprotected] == [
        ("node B", "no other way leads from A to C", True),
        ("node C", "no other way leads from B to D", True),
    ]
    assert [each.around for each in plan.backups] == ["link A->B", "link B->C", "link C->D"]


def test_link_narrows_what_is_protected() -> None:
    plan = protect(frr("kind: facility-bypass, link: [B-C, A->B]"))
    assert [each.backup for each in plan.backups] == ["frr.A-B", "frr.B-C"]


@pytest.mark.parametrize(
    ("kind", "route", "links"),
    [
        ("facility-bypass", "route: [A, B, C]", None),
        ("facility-bypass, protect: node", "route: [A, B, C]", ("A->B",)),
        ("detour", "route: [A, B, C]", ("A->B",)),
        ("ti-lfa", "from: A, segments: [B, C]", None),
        ("ti-lfa", "from: A, segments: C", ("A->B",)),
        ("backup", "route: [A, B, C]", ("A-B",)),
    ],
)
def test_rfc4090_s6_a_node_repairs_the_link_behind_it_where_its_backup_goes_around_more(
    kind: str, route: str, links: tuple[str, ...] | None
) -> None:
    """A backup of that link alone, and one from end to end of all links, need no such key."""
    text = RING.replace("route: [A, B, C]", route)
    for narrowed in (", link: A-B", ""):
        document = f"path: one, backup: auto, kind: {kind}{narrowed}"
        made = tl.load(f"{text}protections: {{p: {{{document}}}}}\n").resolve().protections
        first, *others = made.values()
        is_written = links is not None and (bool(narrowed) or kind != "backup")
        assert ("link" in first.model_fields_set) == is_written
        assert first.link == (links if is_written else ())
        assert len(others) == (0 if narrowed or kind == "backup" else 1)


def test_constraints_hold_for_backups() -> None:
    text = RING.replace("D-A: {}", "D-A: {te: {colours: red}}")
    document = "kind: facility-bypass, constraints: {exclude: red}"
    scenario = tl.load(text + f"protections: {{frr: {{path: all, backup: auto, {document}}}}}\n")
    plan = protect(scenario)
    assert not plan.backups
    assert {gap.why.split(":")[0] for gap in plan.unprotected} == {"colour"}


def test_a_scenario_without_protections_gets_one() -> None:
    scenario = add_default_protection(tl.load(RING), around="node", share="100 %")
    assert len(protect(scenario).backups) == 4
    assert place(tl.load(write_explicit_scenario(scenario))) == place(scenario)
    again = add_default_protection(scenario, kind="detour")
    assert again is scenario


def test_plain_data_is_json() -> None:
    document = json.loads(json.dumps(protect(frr("kind: detour")).to_dict()))
    assert set(document) == {"backups", "unprotected", "links", "places", "coverage", "scale"}


def test_a_backup_may_use_what_the_paths_leave_of_a_link() -> None:
    """6 of 10 Mbit/s on the only other way are reserved: 4 are left for backups."""
    text = NARROW.replace(
        "trunks: {all:", "  w: {from: A, to: C, rate: 6 Mbit/s, class: data}\ntrunks: {all:"
    )
    document = "kind: facility-bypass, path: [x, y, z], backup: auto, bandwidth: 100 %"
    plan = protect(tl.load(text + f"protections: {{p: {{{document}}}}}\n", strict=False))
    assert plan.coverage == 0
    assert all(
        "8 Mbit/s is asked, at most 4 Mbit/s is unreserved" in g.why for g in plan.unprotected
    )


def test_the_backup_of_a_path_that_reserves_nothing_has_no_bandwidth() -> None:
    text = RING.replace(
        "paths:\n",
        "flows: {u: {agent: udp, from: A, to: C, rate: 1 Mbit/s}}\n"
        "paths:\n  idle: {route: [A, B, C]}\n",
    )
    text = text.replace("trunks:\n", "trunks:\n  idle: {path: idle, flows: u}\n")
    plan = protect(
        tl.load(text + "protections: {p: {path: idle, kind: facility-bypass, backup: auto}}\n")
    )
    assert [each.bandwidth_bit_s for each in plan.backups] == [0, 0]


def test_rfc4090_s4_1_a_path_that_asks_for_nothing_has_a_bypass_where_others_find_no_room() -> None:
    """10 Mbit/s are too few for each of the three paths, but enough for one without bandwidth."""
    text = NARROW.replace("rate: 8 Mbit/s", "rate: 12 Mbit/s").replace(
        "trunks: {",
        "flows: {u: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}\n"
        "paths: {idle: {route: [A, B]}}\ntrunks: {idle: {path: idle, flows: u}, ",
    )
    document = "kind: facility-bypass, path: [x, y, z, idle], backup: auto, bandwidth: 100 %"
    plan = protect(tl.load(text + f"protections: {{p: {{{document}}}}}\n", strict=False))
    assert [gap.path for gap in plan.unprotected] == ["x", "y", "z"]
    assert [(each.backup, each.paths) for each in plan.backups] == [("p.A-B", ("idle",))]


def test_rfc4090_s3_2_paths_that_part_behind_a_node_have_a_bypass_of_it_each() -> None:
    """All three cross X-A-B. Around B, `p` and `r` go on from C, and `q` from D."""
    text = """\
trunkline: 1
nodes: [X, A, B, C, D, Z]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {X-A: {}, A-B: {}, B-C: {}, B-D: {}, A-Z: {}, Z-C: {}, Z-D: {}}
paths: {p: {route: [X, A, B, C]}, q: {route: [X, A, B, D]}, r: {route: [X, A, B, C]}}
flows:
  f: {agent: udp, from: X, to: C, rate: 1 Mbit/s}
  g: {agent: udp, from: X, to: D, rate: 1 Mbit/s}
  h: {agent: udp, from: X, to: C, rate: 1 Mbit/s}
trunks: {p: {path: p, flows: f}, q: {path: q, flows: g}, r: {path: r, flows: h}}
run: {duration: 1 s}
protections: {n: {path: all, kind: facility-bypass, backup: auto, protect: node, link: A-B}}
"""
    plan = protect(tl.loads(text))
    assert {each.backup: (each.route, each.paths) for each in plan.backups} == {
        "n.A-B-C": (("A", "Z", "C"), ("p", "r")),
        "n.A-B-D": (("A", "Z", "D"), ("q",)),
    }


def test_rfc4090_s4_bypasses_of_a_node_do_not_share_bandwidth_and_those_of_its_links_do() -> None:
    """B fails for both paths at once: X-Y carries 4 and 3 Mbit/s. A link fails for one of them."""
    text = """\
trunkline: 1
nodes: [A, D, B, C, X, Y]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links:
  A-B: {metric: 5}
  D-B: {metric: 5}
  D-X: {metric: 5}
  B-C: {}
  A-X: {}
  X-Y: {}
  Y-B: {}
  Y-C: {}
paths:
  p: {route: [A, B, C], bandwidth: 4 Mbit/s}
  q: {route: [D, B, C], bandwidth: 3 Mbit/s}
flows:
  f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}
  g: {agent: udp, from: D, to: C, rate: 1 Mbit/s}
trunks: {p: {path: p, flows: f}, q: {path: q, flows: g}}
run: {duration: 1 s}
protections: {r: {path: all, kind: facility-bypass, backup: auto, bandwidth: 100 %, protect: KIND}}
"""
    for kind, shared in (("node", 7_000_000), ("link", 4_000_000)):
        plan = protect(tl.loads(text.replace("KIND", kind)))
        assert {each.route for each in plan.backups if each.paths != ("p", "q")} == {
            ("A", "X", "Y", "C" if kind == "node" else "B"),
            ("D", "X", "Y", "C" if kind == "node" else "B"),
        }
        link = next(each for each in plan.links if each.link == "X->Y")
        assert (link.backup_bit_s, link.unshared_bit_s) == (shared, 7_000_000)


@pytest.mark.parametrize(("protect_kind", "shared"), [("node", 7_000_000), ("link", 4_000_000)])
def test_rfc9855_repair_lists_around_a_node_do_not_share_bandwidth(
    protect_kind: str, shared: int
) -> None:
    """From A and D round B to C over X-Y, 4 and 3 Mbit/s: B fails for both, a link for one."""
    plan = protect(
        tl.loads(
            f"""\
trunkline: 1
nodes: [A, D, B, C, X, Y]
defaults: {{link: {{rate: 10 Mbit/s, delay: 1 ms}}}}
links: {{A-B: {{}}, D-B: {{}}, B-C: {{}}, A-X: {{}}, D-X: {{}}, X-Y: {{}}, Y-C: {{}}}}
traffic: {{data: {{agent: udp, size: 500 B}}}}
demands:
  p: {{from: A, to: C, rate: 4 Mbit/s, class: data}}
  q: {{from: D, to: C, rate: 3 Mbit/s, class: data}}
paths: {{p: {{from: A, segments: [C]}}, q: {{from: D, segments: [C]}}}}
trunks: {{p: {{path: p, demands: p}}, q: {{path: q, demands: q}}}}
protections:
  r: {{path: all, kind: ti-lfa, backup: auto, protect: {protect_kind}, link: [A-B, D-B]}}
run: {{duration: 1 s}}
"""
        )
    )
    assert {each.route for each in plan.backups} == {("A", "X", "Y", "C"), ("D", "X", "Y", "C")}
    link = next(each for each in plan.links if each.link == "X->Y")
    assert (link.backup_bit_s, link.unshared_bit_s) == (shared, 7_000_000)


def test_paths_over_tunnels_and_with_segments_are_a_place_each_without_a_backup() -> None:
    text = RING.replace(
        "paths:\n",
        "paths:\n  tunnel: {route: [B, A, D]}\n  over: {route: [C, B, D], through: tunnel}\n"
        "  listed: {from: A, segments: [C]}\n",
    )
    document = "path: [over, listed], kind: facility-bypass, backup: auto"
    plan = protect(tl.load(text + f"protections: {{p: {{{document}}}}}\n"))
    assert [(gap.path, gap.why) for gap in plan.unprotected] == [
        ("listed", "it has segments: facility-bypass needs a route"),
        ("over", "it rides tunnels"),
    ]
    assert (plan.places, plan.coverage) == (2, 0.0)


def test_a_path_over_a_tunnel_takes_nothing_of_the_links_beside_the_tunnel() -> None:
    """`over` rides from A to C and goes on to D; the link A-C lies beside the tunnel."""
    text = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, A-C: {}, C-D: {}}
paths:
  t: {route: [A, B, C], bandwidth: 1 Mbit/s}
  over: {route: [A, C, D], through: t, bandwidth: 2 Mbit/s}
  beside: {route: auto, from: A, to: C, bandwidth: 10 Mbit/s}
trunks: {t: {path: t, flows: f}, over: {path: over, flows: g}}
flows:
  f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}
  g: {agent: udp, from: A, to: D, rate: 2 Mbit/s}
run: {duration: 1 s}
protections: {p: {path: over, kind: detour, backup: auto}}
"""
    scenario = tl.load(text)
    assert scenario.resolve().paths["beside"].route == ("A", "C")
    unprotected = protect(scenario).unprotected
    assert [(gap.path, gap.why) for gap in unprotected] == [("over", "it rides tunnels")]


def test_ti_lfa_needs_segments_and_a_path_without_is_one_place_without_a_backup() -> None:
    plan = protect(
        tl.load(RING + "protections: {p: {path: one, kind: ti-lfa, backup: auto}}\n", strict=False)
    )
    assert (plan.places, plan.coverage) == (1, 0.0)
    assert [gap.why for gap in plan.unprotected] == ["ti-lfa needs a path with segments"]


@pytest.mark.parametrize(
    ("segments", "first"), [("[B, C]", "link A->B"), ("C", "node B")], ids=["to-B", "past-B"]
)
def test_rfc9855_a_repair_to_the_end_of_a_segment_goes_around_its_link(
    segments: str, first: str
) -> None:
    """Where the active segment ends at the next node, that node cannot be avoided."""
    text = RING.replace("route: [A, B, C]", f"from: A, segments: {segments}")
    document = "path: one, kind: ti-lfa, protect: node, backup: auto"
    plan = protect(tl.load(text + f"protections: {{p: {{{document}}}}}\n"))
    assert [each.around for each in plan.backups] == [first, "link B->C"]
    assert (plan.places, plan.coverage) == (2, 1.0)


def test_a_route_over_a_named_one_of_parallel_links_reserves_on_that_one() -> None:
    text = """\
trunkline: 1
nodes: [A, B]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {first: {between: [A, B]}, second: {between: [A, B]}}
traffic: {data: {agent: udp, size: 500 B}}
demands: {d: {from: A, to: B, rate: 4 Mbit/s, class: data}}
paths: {p: {route: [A, second, B]}}
trunks: {t: {path: p, demands: d}}
run: {duration: 1 s}
"""
    loads = {each.link: each.load_bit_s for each in place(tl.load(text)).links}
    assert {link: load for link, load in loads.items() if load} == {"second:A->B": 4_000_000}


def test_a_path_without_room_has_no_route_unless_a_signalling_head_asks_again() -> None:
    text = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 1 ms}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  x: {from: A, to: B, rate: 8 Mbit/s, class: data}
  y: {from: A, to: B, rate: 8 Mbit/s, class: data}
trunks: {all: {demands: all, path: auto}}
te: {unplaced: igp}
run: {duration: 1 s}
"""
    assert sorted(tl.load(text).resolve().paths) == ["x"]
    signalled = tl.load(text + "signalling: {kind: rsvp-te}\n").resolve()
    assert sorted(signalled.paths) == ["x", "y"]
    assert signalled.unplanned_paths == {"y"}
    # A planner asks which paths find room, whatever a head would do.
    for rule in ("igp", "error"):
        planned = text.replace("unplaced: igp", f"unplaced: {rule}")
        with unplaced_paths_allowed():
            resolved = tl.load(planned + "signalling: {kind: rsvp-te}\n").resolve()
        assert (sorted(resolved.paths), resolved.unplanned_paths) == (["x"], set())
