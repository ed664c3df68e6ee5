"""Values that a scenario's resolution works out, by hand, and its limits where they begin."""

from __future__ import annotations

import itertools
import re

import pytest

import trunkline as tl
from trunkline.scenario import Scenario, ScenarioError
from trunkline.scenario.resolved.head_constraints import list_head_constraints
from trunkline.scenario.resolved.signalled_paths import find_links_of_route, list_signalled_paths

LINE = """\
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: 1 ms}
  B-C: {rate: 10 Mbit/s, delay: 1 ms}
  C-D: {rate: 10 Mbit/s, delay: 1 ms}
run: {duration: 5 s}
"""


def list_messages(text: str) -> list[tuple[str, str]]:
    """Places and messages of a scenario's errors."""
    with pytest.raises(ScenarioError) as caught:
        tl.loads(text)
    return [(each.path, each.message) for each in caught.value.diagnostics]


def list_warnings(scenario: Scenario) -> list[str]:
    return [each.message for each in scenario.warnings]


@pytest.mark.parametrize(
    ("on", "off", "rate"), [("1 s", "3 s", 4), ("3 s", "1 s", 4 / 3), ("2 s", "2 s", 2)]
)
def test_an_on_off_flow_sends_faster_while_on_so_that_its_mean_is_the_demand(
    on: str, off: str, rate: float
) -> None:
    text = (
        LINE
        + f"traffic: {{EF: {{agent: udp, arrivals: on-off, mean_on: {on}, mean_off: {off}}}}}\n"
        + "demands: {voice: {from: A, to: D, rate: 1 Mbit/s, class: EF}}\n"
    )
    assert tl.loads(text).resolve().flows["voice"].rate == round(rate * 1e6)


@pytest.mark.parametrize("keys", [(), ("mean_on",), ("mean_off",), ("mean_on", "mean_off")])
@pytest.mark.parametrize("arrivals", ["on-off", "cbr"])
def test_a_template_needs_both_times_of_an_on_off_flow_and_has_none_otherwise(
    arrivals: str, keys: tuple[str, ...]
) -> None:
    words = ["agent: udp", f"arrivals: {arrivals}", *(f"{key}: 1 s" for key in keys)]
    text = (
        f"{LINE}traffic: {{x: {{{', '.join(words)}}}}}\n"
        "demands: {d: {from: A, to: D, rate: 1 Mbit/s, class: x}}\n"
    )
    both = ("mean_on", "mean_off")
    if arrivals == "on-off":
        lacking = [key for key in both if key not in keys]
        expected = [f"{key} is missing: on-off arrivals need it" for key in lacking]
    else:
        expected = [f"{key} has no meaning for cbr arrivals" for key in keys]
    if expected:
        assert list_messages(text) == [("demands[d]", message) for message in expected]
    else:
        # An on-off flow is on for half of the time.
        rate = 2_000_000 if arrivals == "on-off" else 1_000_000
        assert tl.loads(text).resolve().flows["d"].rate == rate


@pytest.mark.parametrize(
    ("parts", "shares"), [(1, [11]), (2, [6, 5]), (3, [4, 4, 3]), (5, [3, 2, 2, 2, 2])]
)
def test_parts_of_a_demand_differ_by_a_bit_and_the_first_are_the_larger(
    parts: int, shares: list[int]
) -> None:
    text = (
        LINE
        + "demands: {x: {from: A, to: D, rate: 11 bit/s}}\n"
        + f"trunks: {{mesh: {{demands: all, path: auto, split: {parts}}}}}\n"
    )
    resolved = tl.loads(text).resolve()
    rates = {name: each.rate for name, each in resolved.demands.items()}
    assert list(rates.values()) == shares
    assert list(rates) == ["x", *(f"x.{number}" for number in range(2, parts + 1))]
    assert [resolved.paths[name].route for name in rates] == [("A", "B", "C", "D")] * parts


@pytest.mark.parametrize(("srgb", "is_refused"), [(2**20 - 4, False), (2**20 - 3, True)])
def test_RFC_3032_2_1_the_last_label_of_twenty_bits_is_one_and_no_more(
    srgb: int, is_refused: bool
) -> None:
    """Four nodes have the labels from the first of the block on: 2^20 - 1 is the last."""
    text = LINE + f"te: {{srgb: {srgb}}}\npaths: {{p: {{from: A, segments: [D]}}}}\n"
    if is_refused:
        message = "the label of the last node would be 1048576"
        assert list_messages(text) == [("te.srgb", message)]
    else:
        assert tl.loads(text).resolve().routes["p"].nodes == ["A", "B", "C", "D"]


@pytest.mark.parametrize(("factor", "rate"), [(0.5, 5_000_000), (1e-8, 1), (2, 20_000_000)])
def test_rates_times_a_scale_are_whole_and_1_bit_a_second_at_least(
    factor: float, rate: int
) -> None:
    text = (
        f"scale: {factor}\n"
        + LINE
        + "flows: {f: {agent: udp, from: A, to: B, rate: 10 Mbit/s, size: 500 B}}\n"
        + "paths: {p: {route: [A, B]}, q: {route: [A, B], bandwidth: 10 Mbit/s}}\n"
    )
    resolved = tl.loads(text).resolve()
    # What reserves nothing reserves nothing at any scale.
    assert resolved.reservations == {"p": (0, 0), "q": (rate, 0)}
    assert {arc.options.rate for arc in resolved.arcs} == {rate}
    assert {arc.options.rate for arc in resolved.get_unscaled().arcs} == {10_000_000}
    assert resolved.flows["f"].rate == rate


@pytest.mark.parametrize(
    ("nodes", "link", "found"),
    [
        ("A-B, C", "A-B-C", ("A-B", "C")),
        ("A, B-C", "A-B-C", ("A", "B-C")),
        ("A-, B", "A--B", ("A-", "B")),
        ("A, B, A-B, B-C, C", "A-B-C", "the name A-B-C can be split in two ways"),
        ("A, B, C", "A-B-C", "the ends of A-B-C are not known"),
        ("A, B", "A-C", "there is no node C"),
    ],
)
def test_a_link_has_the_ends_of_the_only_reading_of_its_name(
    nodes: str, link: str, found: tuple[str, str] | str
) -> None:
    text = f"""\
trunkline: 1
nodes: [{nodes}]
links: {{'{link}': {{rate: 1 Mbit/s}}}}
run: {{duration: 1 s}}
"""
    if isinstance(found, str):
        [(_, message)] = list_messages(text)
        assert message.startswith(found)
    else:
        arc = tl.loads(text).resolve().arcs[0]
        assert (arc.source, arc.target) == found


@pytest.mark.parametrize(("links", "more"), [(3, ""), (4, "; and 1 more"), (5, "; and 2 more")])
def test_of_places_without_a_backup_three_reasons_are_shown(links: int, more: str) -> None:
    nodes = "ABCDEF"[: links + 1]
    text = f"""\
trunkline: 1
nodes: [{", ".join(nodes)}]
defaults: {{link: {{rate: 10 Mbit/s, delay: 1 ms}}}}
links: {{{", ".join(f"{a}-{b}: {{}}" for a, b in itertools.pairwise(nodes))}}}
paths: {{p: {{route: [{", ".join(nodes)}]}}}}
trunks: {{t: {{path: p, flows: all}}}}
flows: {{f: {{agent: udp, from: A, to: {nodes[-1]}, rate: 1 Mbit/s, size: 500 B}}}}
protections: {{guard: {{path: p, backup: auto, kind: facility-bypass}}}}
run: {{duration: 1 s}}
"""
    [message] = [each for each in list_warnings(tl.loads(text)) if "without a backup" in each]
    assert message.startswith(f"{links} places of paths without a backup: ")
    assert message.count("; ") == 2 + bool(more)
    assert message.endswith(more)


def test_names_of_backups_of_long_names_are_numbered_and_fit() -> None:
    """64 characters at most; those that no longer tell what they protect have a number."""
    stem = "x" * 44
    paths = [f"{stem}{number}" for number in range(3)]
    text = f"""\
trunkline: 1
nodes: [A, B, C]
defaults: {{link: {{rate: 10 Mbit/s, delay: 1 ms}}}}
links: {{A-B: {{}}, B-C: {{}}, A-C: {{}}}}
paths: {{{", ".join(f"{name}: {{route: [A, B, C]}}" for name in paths)}}}
trunks: {{{", ".join(f"t{n}: {{path: {name}, flows: f{n}}}" for n, name in enumerate(paths))}}}
flows:
  f0: {{agent: udp, from: A, to: C, rate: 1 Mbit/s, size: 500 B}}
  f1: {{agent: udp, from: A, to: C, rate: 1 Mbit/s, size: 500 B}}
  f2: {{agent: udp, from: A, to: C, rate: 1 Mbit/s, size: 500 B}}
protections: {{LONG: {{path: all, backup: auto, kind: backup}}}}
run: {{duration: 1 s}}
"""
    for protection in ("g" * 12, "g" * 13, "g" * 64):
        resolved = tl.loads(text.replace("LONG", protection)).resolve()
        backups = [name for name in resolved.paths if name not in paths]
        assert len(set(backups)) == 3
        assert all(len(name) <= 64 for name in backups)
        # 12, a dot and 45 are 58, which leaves room for a dot and a number of five digits.
        is_whole = len(protection) == 12
        assert all((stem in name) == is_whole for name in backups)


DRAINED_TRIANGLE = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, A-C: {}}
paths: {p: {route: [A, B], bandwidth: 1 Mbit/s}}
signalling: {kind: rsvp-te}
"""


@pytest.mark.parametrize(("end", "moves"), [("4999 ms", 2), ("5 s", 1)])
def test_a_path_goes_back_after_maintenance_unless_the_run_ends_then(end: str, moves: int) -> None:
    text = f"""\
{DRAINED_TRIANGLE}maintenance: {{work: {{link: A-B, from: 2 s, to: {end}, drain: lsp, lead: 1 s}}}}
run: {{duration: 6 s}}
"""
    found = tl.loads(text).resolve().drain_moves
    times = [1, 5.999] if moves == 2 else [1]
    assert [each.at for each in found] == [round(time * 1e9) for time in times]
    routes = [("A->C", "C->B"), ("A->B",)]
    assert [tuple(each.arcs) for each in found] == routes[:moves]


@pytest.mark.parametrize(("end", "is_back"), [("3 s", True), ("3000000001 ns", False)])
def test_a_drain_may_use_links_that_are_back_when_it_begins(end: str, is_back: bool) -> None:
    """The drain of A-B begins at 3 s, when A-C, the only other way, is back or is not."""
    text = f"""\
{DRAINED_TRIANGLE}maintenance:
  first: {{link: A-C, from: 1 s, to: {end}, drain: none}}
  second: {{link: A-B, from: 4 s, drain: lsp, lead: 1 s}}
run: {{duration: 6 s}}
"""
    resolved = tl.loads(text).resolve()
    moves = [(each.at, tuple(each.arcs)) for each in resolved.drain_moves]
    at = 3_000_000_000
    if is_back:
        assert moves == [(at, ("A->C", "C->B"))]
        assert resolved.undrained_paths == []
    else:
        assert moves == [(at + 1, ("A->C", "C->B"))]
        assert resolved.undrained_paths == [(at, "p")]


@pytest.mark.parametrize(
    ("protection", "moved"),
    [
        ("", ["p"]),
        ("path: p, kind: restoration", []),
        ("path: p, kind: facility-bypass, backup: b", []),
        ("path: p, kind: facility-bypass, backup: c", ["p"]),
    ],
)
def test_rfc5817_s4_a_head_moves_what_no_protection_takes_off_the_drained_link(
    protection: str, moved: list[str]
) -> None:
    """A-B is drained: `b` goes around it, `c` around the next link, restoration on its own way."""
    text = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, A-C: {}, A-D: {}, D-B: {}, D-C: {}}
paths: {p: {route: [A, B, C]}, b: {route: [A, D, B]}, c: {route: [B, D, C]}}
signalling: {kind: rsvp-te}
maintenance: {work: {link: A-B, from: 2 s, drain: lsp, lead: 1 s}}
run: {duration: 6 s}
"""
    if protection:
        text += f"protections: {{g: {{{protection}}}}}\n"
    assert [each.path for each in tl.loads(text).resolve().drain_moves] == moved


@pytest.mark.parametrize("taken", ["path", "protection", "both"])
def test_the_name_of_a_backup_is_that_of_no_path_and_no_protection(taken: str) -> None:
    """`guard.p` is the first that is tried, then `guard.p.2` and so on."""
    text = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}, A-C: {}}
paths: {p: {route: [A, B, C]}, OTHER: {route: [C, B]}}
trunks: {t: {path: p, flows: f}}
flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s, size: 500 B}}
protections:
  guard: {path: p, backup: auto, kind: backup}
  MORE: {path: p, backup: auto, kind: backup, link: B-C}
run: {duration: 1 s}
"""
    names = {"path": ("guard.p", "more"), "protection": ("other", "guard.p")}
    other, more = names.get(taken, ("guard.p", "guard.p.2"))
    paths = tl.loads(text.replace("OTHER", other).replace("MORE", more)).resolve().paths
    assert paths[other].route == ("C", "B")
    backup = "guard.p.3" if taken == "both" else "guard.p.2"
    assert paths[backup].route == ("A", "C")
    assert "guard.p.2" not in paths or taken != "both"


@pytest.mark.parametrize(
    ("kind", "protect", "ends"),
    [
        ("detour", "link", ["A to D", "B to D", "C to D"]),
        ("detour", "node", ["A to D", "B to D", "C to D"]),
        ("facility-bypass", "link", ["A to B", "B to C", "C to D"]),
        ("facility-bypass", "node", ["A to B", "B to C", "C to D"]),
        ("backup", "link", ["A to D"]),
    ],
)
def test_rfc4090_s3_what_lacks_a_backup_says_between_which_ends_no_other_way_leads(
    kind: str, protect: str, ends: list[str]
) -> None:
    """A detour goes to the end of the path, a bypass without one round the node to the next."""
    text = (
        LINE
        + "paths: {p: {route: [A, B, C, D]}}\ntrunks: {t: {path: p, flows: f}}\n"
        + "flows: {f: {agent: udp, from: A, to: D, rate: 1 Mbit/s, size: 500 B}}\n"
        + f"protections: {{g: {{path: p, backup: auto, kind: {kind}, protect: {protect}}}}}\n"
    )
    [message] = [each for each in list_warnings(tl.loads(text)) if "without a backup" in each]
    assert re.findall(r"no other way leads from (\w to \w)", message) == ends


def test_paths_over_tunnels_that_ride_each_other_or_nothing_are_followed_to_an_end() -> None:
    """`p` is outside of the ring of `t` and `u`, and `v` rides `w`, which rides nothing known."""
    paths = "".join(
        f"  {name}: {{route: {route}, through: {through}}}\n"
        for name, route, through in (
            ("p", "[A, C, D]", "t"),
            ("t", "[A, B, C]", "u"),
            ("u", "[A, B, C]", "t"),
            ("v", "[A, C, D]", "w"),
            ("w", "[A, B, C]", "none"),
        )
    )
    assert sorted(list_messages(f"{LINE}paths:\n{paths}")) == [
        ("paths[t].through[0]", "path t rides itself through u"),
        ("paths[u].through[0]", "path u rides itself through t"),
        ("paths[w].through[0]", "there is no path none"),
    ]


@pytest.mark.parametrize(
    ("other", "barred"),
    [
        ("s: {from: A, segments: [B, D]}", {"A->B", "B->A", "B->D", "D->B"}),
        # Which links a path over a tunnel crosses is the matter of the tunnel.
        ("t: {route: [A, B, D]}, s: {route: [A, D], through: t}", set()),
    ],
)
def test_a_head_keeps_off_the_links_of_a_path_that_nobody_signals(
    other: str, barred: set[str]
) -> None:
    text = f"""\
trunkline: 1
nodes: [A, B, C, D]
defaults: {{link: {{rate: 10 Mbit/s, delay: 1 ms}}}}
links: {{A-B: {{}}, B-D: {{}}, A-C: {{metric: 9}}, C-D: {{}}}}
paths:
  p: {{route: auto, from: A, to: D, disjoint_from: {{s: link}}}}
  {other.replace(", s: {", chr(10) + "  s: {")}
signalling: {{kind: rsvp-te}}
run: {{duration: 1 s}}
"""
    resolved = tl.loads(text).resolve()
    assert "s" not in list_signalled_paths(resolved)
    found = list_head_constraints(resolved, list_signalled_paths(resolved))
    assert [*found] == ["p"]
    assert {resolved.arcs[arc].name for arc in found["p"].barred_arcs} == barred
    assert found["p"].disjoint_paths == {}


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ("10 Mbit/s", "nothing"),
        ("9999999 bit/s", "at most 1 bit/s"),
        ("9 Mbit/s", "at most 1 Mbit/s"),
    ],
)
def test_a_path_without_room_says_how_much_is_left(taken: str, left: str) -> None:
    text = LINE + (
        f"paths: {{p: {{route: [A, B], bandwidth: {taken}}},"
        " q: {route: auto, from: A, to: B, bandwidth: 2 Mbit/s}}\n"
    )
    [(place, message)] = list_messages(text)
    expected = f"path q is not placed: bandwidth: 2 Mbit/s is asked, {left} is unreserved"
    assert (place, message.partition(";")[0]) == ("paths[q]", expected)


@pytest.mark.parametrize("kind", ["backup", "one-plus-one", "facility-bypass", "detour"])
def test_rfc4090_s3_a_local_backup_joins_further_on_and_others_go_from_end_to_end(
    kind: str,
) -> None:
    """All pairs of ends, among them Y, which is not on the path."""
    template = f"""\
trunkline: 1
nodes: [A, B, C, D, Y, Z]
defaults: {{link: {{rate: 10 Mbit/s}}}}
links: {{A-B: {{}}, B-C: {{}}, C-D: {{}}, A-Z: {{}}, B-Z: {{}}, C-Z: {{}}, D-Z: {{}}, Y-Z: {{}}}}
paths:
  p: {{route: [A, B, C, D], php: false}}
  b: {{route: [FIRST, Z, LAST], php: false}}
flows: {{f: {{agent: udp, from: A, to: D, rate: 1 Mbit/s}}}}
trunks: {{t: {{path: p, flows: f}}}}
protections: {{g: {{path: WHICH, kind: {kind}, backup: b}}}}
run: {{duration: 1 s}}
"""
    is_end_to_end = kind in ("backup", "one-plus-one")
    for first, last in itertools.permutations("ABCDY", 2):
        is_sound = "Y" not in (first, last) and first < last
        if is_end_to_end:
            is_sound = (first, last) == ("A", "D")
        text = template.replace("FIRST", first).replace("LAST", last)
        if is_sound:
            assert tl.loads(text.replace("WHICH", "p")).resolve().protections["g"].path == ("p",)
        else:
            begins = "begin at A and end at D" if is_end_to_end else "begin at a node of path p"
            [(_, message)] = list_messages(text.replace("WHICH", "p"))
            assert message.startswith(f"path b must {begins}")
        if kind in ("backup", "facility-bypass"):
            of_all = tl.loads(text.replace("WHICH", "all")).resolve().protections["g"].path
            assert of_all == (("p",) if is_sound else ())


def test_what_rides_a_path_with_a_fault_is_judged_no_further() -> None:
    """`q` over the tunnel `p` and `r` over `q`: a detour of `r` would be a fault of its own."""
    text = LINE + (
        "paths: {p: {route: ROUTE}, q: {route: [A, D, C], through: p},"
        " r: {route: [A, C, B], through: q}, b: {route: [A, B]}}\n"
        "protections: {g: {path: r, kind: detour, backup: b}}\n"
    )
    fault = ("paths[p].route[1]", "no link leads from A to D")
    assert list_messages(text.replace("ROUTE", "[A, D]")) == [fault]
    found = list_messages(text.replace("ROUTE", "[A, B, C, D]"))
    assert found == [("protections[g].kind", "detour needs paths that ride no tunnel")]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["p"], ["A->B", "B->C", "C->D"]),
        (["A"], ["C->D"]),
        (["A", "B"], ["A->B"]),
        (["A", "B", "C"], ["A->B", "B->C"]),
        (["A", "C"], None),
        (["A", "B", "D"], None),
        (["over"], None),
        (["B"], None),
        (["auto"], None),
        ([], None),
    ],
)
def test_the_links_of_a_route_are_those_between_its_nodes_or_of_the_path_it_names(
    words: list[str], found: list[str] | None
) -> None:
    """Alone, A is the path of that name; `over` has a tunnel besides a link, which has no link."""
    text = LINE + (
        "paths: {p: {route: [A, B, C, D]}, A: {route: [C, D]}, t: {route: [A, B, C]},"
        " over: {route: [A, C, D], through: t}}\n"
    )
    assert find_links_of_route(tl.loads(text).resolve(), words) == found


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("one", True),
        ("one[0]", False),
        ("many", True),
        ("many[0]", True),
        ("many[2]", True),
        ("many[3]", False),
        ("none[0]", False),
        ("none", False),
        ("[0]", False),
    ],
)
def test_a_name_means_a_flow_or_one_of_its_replicas_from_0(name: str, is_known: bool) -> None:
    flow = "agent: udp, from: A, to: B, rate: 1 Mbit/s"
    resolved = tl.loads(
        f"{LINE}flows: {{one: {{{flow}}}, many: {{{flow}, replicate: 3}}}}\n"
    ).resolve()
    assert resolved.has_flow(name) == is_known


@pytest.mark.parametrize(
    ("route", "at", "message"),
    [
        ("[]", "", "a route begins and ends with a node, and they differ"),
        ("[A]", "", "a route begins and ends with a node, and they differ"),
        ("[A, A-B]", "", "a route begins and ends with a node, and they differ"),
        ("[A, B, B-C]", "", "a route begins and ends with a node, and they differ"),
        ("[A-B, A]", "[0]", "there is no node A-B"),
        ("[A, A-B, A-B, B]", "[2]", "there is no node A-B"),
        ("[A, X, B]", "[1]", "there is no node X"),
        ("[A, A]", "[1]", "the route passes A twice"),
        ("[A, B, A]", "[2]", "the route passes A twice"),
        ("[A, C]", "[1]", "no link leads from A to C"),
        ("[A, B-C, B]", "[2]", "no link leads from A to B by link B-C"),
    ],
)
def test_a_route_has_two_nodes_or_more_each_once_and_at_most_a_link_between_two(
    route: str, at: str, message: str
) -> None:
    found = list_messages(f"{LINE}paths: {{p: {{route: {route}}}}}\n")
    assert found == [(f"paths[p].route{at}", message)]


@pytest.mark.parametrize(("flows", "twice"), [("all", None), ("[f, all]", 1), ("[all, f]", 1)])
def test_all_flows_of_a_trunk_are_each_flow_once(flows: str, twice: int | None) -> None:
    text = LINE + (
        "flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s},"
        " g: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}\n"
        f"paths: {{p: {{route: [A, B]}}}}\ntrunks: {{t: {{path: p, flows: {flows}}}}}\n"
    )
    if twice is None:
        assert tl.loads(text).resolve().trunks["t"].flows == ("f", "g")
    else:
        expected = (f"trunks[t].flows[{twice}]", "flow f rides trunk t already")
        assert list_messages(text) == [expected]


def test_flows_beyond_16_gb_are_refused_where_most_are_replicated() -> None:
    """8 kB a flow: 2^40 and two more need 8.8 PB."""
    flow = "agent: udp, from: A, to: B, rate: 1 bit/s"
    text = f"{LINE}flows: {{a: {{{flow}}}, b: {{{flow}, replicate: {2**40}}}, c: {{{flow}}}}}\n"
    message = "1099511627778 flows need about 8796093 GB; the limit is 16 GB (--limit-memory)"
    assert list_messages(text) == [("flows[b].replicate", message)]


@pytest.mark.parametrize(
    ("kind", "found"), [("backup", ["p", "q", "s"]), ("facility-bypass", ["p"])]
)
def test_all_paths_of_a_protection_are_those_of_trunks_that_its_kind_can_protect(
    kind: str, found: list[str]
) -> None:
    """`q` rides the tunnel `t`, `s` has segments, no trunk rides `u`, `v` shares A-Z with `b`."""
    text = f"""\
trunkline: 1
nodes: [A, B, C, D, E, F, Z]
defaults: {{link: {{rate: 10 Mbit/s}}}}
links:
  {{A-B: {{}}, B-E: {{}}, A-C: {{}}, C-D: {{}}, D-E: {{}}, A-F: {{}},
   F-E: {{}}, A-Z: {{}}, Z-E: {{}}, Z-D: {{}}}}
paths:
  p: {{route: [A, B, E]}}
  t: {{route: [A, C, D]}}
  q: {{route: [A, D, E], through: t}}
  s: {{from: A, segments: [F, E]}}
  u: {{route: [A, F, E]}}
  v: {{route: [A, Z, D, E]}}
  b: {{route: [A, Z, E]}}
flows: {{f: {{agent: udp, from: A, to: E, rate: 1 Mbit/s, replicate: 4}}}}
trunks:
  p: {{path: p, flows: 'f[0]'}}
  q: {{path: q, flows: 'f[1]'}}
  s: {{path: s, flows: 'f[2]'}}
  v: {{path: v, flows: 'f[3]'}}
protections: {{g: {{path: all, kind: {kind}, backup: b}}}}
run: {{duration: 1 s}}
"""
    assert tl.loads(text).resolve().protections["g"].path == (*found,)


@pytest.mark.parametrize(
    ("route", "unused"),
    [("[A, C, D]", []), ("[A, C, B]", ["u"]), ("[B, C, D]", ["t"]), ("[B, D]", ["t", "u"])],
)
def test_each_tunnel_that_a_route_has_no_place_for_is_named(route: str, unused: list[str]) -> None:
    """`t` leads from A to C over B, and `u` from C to D over B."""
    text = LINE.replace("links:\n", "links:\n  B-D: {rate: 10 Mbit/s}\n") + (
        "paths: {t: {route: [A, B, C]}, u: {route: [C, B, D]},"
        f" p: {{route: {route}, through: [t, u]}}}}\n"
    )
    expected = [
        ("paths[p].through", f"path {each} does not lead from one node of the route to the next")
        for each in unused
    ]
    if expected:
        assert list_messages(text) == expected
    else:
        hops = tl.loads(text).resolve().routes["p"].hops
        assert [hop.over for hop in hops if hop.is_tunnel] == ["t", "u"]
