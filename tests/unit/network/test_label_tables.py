"""Label tables, worked by hand from RFC 3031 and RFC 3032."""

from typing import Any

from trunkline.network import Network, compile
from trunkline.network.labels import assign_labels
from trunkline.scenario import load

NET = """\
trunkline: 1
nodes: [S, A, B, C, D, E, T]
defaults: {link: {rate: 10 Mbit/s}}
links: {S-A: {}, A-B: {}, B-C: {}, C-D: {}, D-E: {}, E-T: {}}
flows:
  f: {agent: tcp, from: S, to: T}
  g: {agent: tcp, from: S, to: T}
run: {duration: 1 s}
"""


def network(paths: str, trunks: str = "{t: {path: p, flows: f}}") -> Network:
    return compile(load(f"{NET}paths: {paths}\ntrunks: {trunks}\n"))


def operations(net: Network) -> list[tuple[Any, ...]]:
    """Entries as (node, incoming label or FEC, pop, push, to), in the order of the tables."""
    nodes = [node["name"] for node in net.nodes]
    incoming = {entry["nhlfe"]: (nodes[entry["node"]], entry["label"]) for entry in net.ilm}
    incoming |= {entry["nhlfe"]: (nodes[entry["node"]], f"fec {entry['fec']}") for entry in net.ftn}
    result = []
    for index, entry in enumerate(net.nhlfe):
        to = None if entry["link"] is None else net.links[entry["link"]]["name"]
        result.append((*incoming[index], entry["pop"], entry["push"], to))
    return result


class TestRfc3031:
    def test_s3_10_push_at_the_first_node_swap_between_s3_16_pop_at_the_last_but_one(self) -> None:
        assert operations(network("{p: {route: [A, B, C, D]}}")) == [
            ("A", "fec 1", False, [16], "A->B"),
            ("B", 16, True, [16], "B->C"),
            ("C", 16, True, [], "C->D"),
        ]

    def test_s3_16_without_penultimate_hop_popping_the_last_node_pops(self) -> None:
        assert operations(network("{p: {route: [A, B, C], php: false}}")) == [
            ("A", "fec 1", False, [16], "A->B"),
            ("B", 16, True, [16], "B->C"),
            ("C", 16, True, [], None),
        ]

    def test_s3_16_a_path_of_one_hop_has_no_label_at_all(self) -> None:
        assert operations(network("{p: {route: [A, B]}}")) == [
            ("A", "fec 1", False, [], "A->B"),
        ]

    def test_s3_14_labels_are_local_to_each_node(self) -> None:
        # B is on both paths and gives each a label of its own; C is only on the first.
        paths = "{p: {route: [A, B, C, D]}, q: {route: [B, C, D, E]}, r: {route: [A, B, C]}}"
        trunks = "{t: {path: p, flows: f}, u: {path: r, flows: g}}"
        net = network(paths, trunks)
        assert operations(net) == [
            ("A", "fec 1", False, [16], "A->B"),
            ("B", 16, True, [16], "B->C"),
            ("C", 16, True, [], "C->D"),
            ("C", 17, True, [16], "C->D"),
            ("D", 16, True, [], "D->E"),
            ("A", "fec 3", False, [17], "A->B"),
            ("B", 17, True, [], "B->C"),
        ]

    def test_s3_27_tunnels_stack_labels_and_each_ends_at_its_own_last_but_one(self) -> None:
        # p sees A, B, E and rides q from B to E, which sees B, C, E and rides r from C to E.
        paths = (
            "{p: {route: [A, B, E, T], through: q}, q: {route: [B, C, E], through: r}, "
            "r: {route: [C, D, E]}}"
        )
        assert operations(network(paths)) == [
            ("A", "fec 1", False, [16], "A->B"),
            # B swaps p's label for E's (16) and puts q's for C (16) on top.
            ("B", 16, True, [16, 16], "B->C"),
            ("E", 16, True, [], "E->T"),
            # C is q's last node but one: q's label goes, r's for D (16) takes its place.
            ("C", 16, True, [16], "C->D"),
            ("D", 16, True, [], "D->E"),
        ]

    def test_a_path_is_a_class_of_its_own_and_trunks_on_it_share_it(self) -> None:
        net = network(
            "{p: {route: [A, B, C]}, back: {route: [E, D, C]}}",
            "{t: {path: p, flows: f, reverse: back}, u: {path: p, flows: g}}",
        )
        classes = [(flow["fec"], flow["fec_reverse"]) for flow in net.flows]
        assert classes == [(1, 2), (1, 0)]

    def test_a_path_that_no_trunk_rides_still_switches_labels(self) -> None:
        net = network("{p: {route: [A, B, C]}, idle: {route: [A, B, C, D]}}")
        assert [entry["fec"] for entry in net.ftn] == [1]
        assert ("B", 17, True, [16], "B->C") in operations(net)


class TestRfc3032:
    def test_s2_1_explicit_null_is_label_0_on_the_last_hop(self) -> None:
        assert operations(network("{p: {route: [A, B, C], explicit_null: true}}")) == [
            ("A", "fec 1", False, [16], "A->B"),
            ("B", 16, True, [0], "B->C"),
        ]

    def test_s2_1_explicit_null_of_a_pipe_has_an_entry_that_says_so(self) -> None:
        net = network("{p: {route: [A, B, C], explicit_null: true, ttl: pipe}}")
        assert operations(net)[-1] == ("C", 0, True, [], None)
        assert net.nhlfe[-1]["ttl"] == "pipe"

    def test_s2_1_each_node_where_such_pipes_end_has_one_entry_for_them(self) -> None:
        routes = {"p": "[A, B, C]", "q": "[B, C]", "r": "[A, B]", "s": "[A, B, C, D]"}
        keys = "explicit_null: true, ttl: pipe"
        paths = ", ".join(f"{name}: {{route: {route}, {keys}}}" for name, route in routes.items())
        tails = [each for each in operations(network(f"{{{paths}}}")) if each[1] == 0]
        assert sorted(each[0] for each in tails) == ["B", "C", "D"]

    def test_s2_1_labels_below_16_are_never_handed_out_and_given_ones_are_kept(self) -> None:
        paths = "{p: {route: [A, B, C, D], labels: [16, 1048575]}, q: {route: [A, B, C]}}"
        assert operations(network(paths, "{t: {path: q, flows: f}}")) == [
            ("B", 16, True, [1048575], "B->C"),
            ("C", 1048575, True, [], "C->D"),
            ("A", "fec 2", False, [17], "A->B"),
            ("B", 17, True, [], "B->C"),
        ]


def test_paths_list_the_links_they_cross_through_tunnels() -> None:
    net = network("{p: {route: [A, B, D, E], through: q}, q: {route: [B, C, D]}}")
    names = [link["name"] for link in net.links]
    crossed = {path["name"]: [names[link] for link in path["links"]] for path in net.paths}
    assert crossed == {"p": ["A->B", "B->C", "C->D", "D->E"], "q": ["B->C", "C->D"]}


def test_a_route_may_name_the_link_where_there_are_several() -> None:
    text = NET.replace("S-A: {}", "S-A: {}, spare: {between: [B, A]}")
    text += "paths: {p: {route: [A, spare, B, C]}}\ntrunks: {t: {path: p, flows: f}}\n"
    net = compile(load(text))
    assert net.links[net.nhlfe[0]["link"]]["name"] == "spare:A->B"


def test_ttl_model_of_a_pushed_tunnel_is_that_of_the_tunnel() -> None:
    net = network("{p: {route: [A, B, D, E], through: q, ttl: pipe}, q: {route: [B, C, D]}}")
    models = [(entry["push"], entry["ttl"]) for entry in net.nhlfe]
    assert models == [
        ([16], "pipe"),  # A puts on p's label
        ([16, 16], "uniform"),  # B swaps p's and puts on q's
        ([], "pipe"),  # D takes p's off
        ([], "uniform"),  # C takes q's off
    ]


def test_every_node_of_a_route_has_one_place_for_its_label() -> None:
    """The first has none; the last has none after penultimate-hop popping."""
    same = "route: [A, B, C]"
    written = f"{{p: {{{same}}}, q: {{{same}, php: false}}, n: {{{same}, explicit_null: true}}}}"
    scenario = load(f"{NET}paths: {written}\n")
    labels = assign_labels(scenario.resolve())
    assert labels == {"p": [None, 16, None], "q": [None, 17, 16], "n": [None, 18, 0]}


def test_rfc5036_copies_of_a_flow_in_a_trunk_take_its_path_and_others_that_of_their_node() -> None:
    """LDP labels nodes; what a trunk carries keeps its path, each copy of a flow too."""
    text = NET.replace("g: {agent: tcp, from: S, to: T}", "g: {agent: tcp, from: S, to: D}")
    text = text.replace("f: {agent: tcp, ", "f: {replicate: 2, agent: tcp, ")
    net = compile(
        load(
            f"{text}routing: {{ldp: {{}}}}\npaths: {{p: {{route: [S, A, B, C, D, E, T]}}}}\n"
            "trunks: {t: {path: p, flows: f}}\n"
        )
    )
    # Class 1 is the path; those of the seven nodes come after it: S is 2, D 6.
    of_flow = {flow["name"]: (flow["fec"], flow["fec_reverse"]) for flow in net.flows}
    assert {of_flow["f[0]"], of_flow["f[1]"]} == {(1, 2)}
    assert of_flow["g"] == (6, 2)
