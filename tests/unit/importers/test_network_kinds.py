"""Kinds of files that were once read wrong, each by an example and siblings of it.

Numbers name the files of the report that found them. Graphs are written and counted by networkx.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from network_files import BRITE, CCH, PYNTM, REPETITA

from trunkline.importers import ImportFault
from trunkline.importers.network import ImportedNetwork, ImportRules, read_network, read_topology
from trunkline.scenario.yaml_text import parse_yaml

GBIT, MBIT = 10**9, 10**6


def read(
    tmp_path: Path, text: str, rules: ImportRules | None = None, **more: Any
) -> tuple[ImportedNetwork, Any]:
    (tmp_path / "net").write_text(text, "utf-8")
    made = read_network(tmp_path / "net", rules, **more)
    return made, parse_yaml(made.text, "made")[0]


INPUT_01 = """\
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="A"><coordinates><x>10.0</x><y>50.0</y></coordinates></node>
   <node id="B"><coordinates><x>11.0</x><y>50.0</y></coordinates></node>
   <node id="C"><coordinates><x>10.5</x><y>51.0</y></coordinates></node>
  </nodes>
  <links>
   <link id="L1"><source>A</source><target>B</target><preInstalledModule><capacity>9920.0</capacity>
    <cost>0</cost></preInstalledModule></link>
   <link id="L2"><source>B</source><target>C</target><additionalModules><addModule>
    <capacity>155.0</capacity><cost>1</cost></addModule></additionalModules></link>
  </links>
 </networkStructure>
 <demands><demand id="D1"><source>A</source><target>C</target>
  <demandValue>10.0</demandValue></demand></demands>
</network>
"""


def test_input_01_capacities_and_demands_of_sndlib_are_in_one_unit(tmp_path: Path) -> None:
    _, made = read(tmp_path, INPUT_01, ImportRules("module", MBIT))
    assert made["defaults"]["link"]["rate"] == "9.92 Gbit/s"
    assert made["links"]["B-C"]["rate"] == "155 Mbit/s"
    assert made["demands"]["A-C"]["rate"] == "10 Mbit/s"
    with pytest.raises(ImportFault, match="in which unit its capacities are: give --unit"):
        read(tmp_path, INPUT_01)
    # A unit of the file's own goes before --unit.
    own = INPUT_01.replace("<networkS", "<meta><unit>GBITPERSEC</unit></meta><networkS")
    with pytest.raises(ImportFault, match="larger than 10 Tbit/s"):
        read(tmp_path, own.replace("9920", "99200"), ImportRules("module", MBIT))


def test_input_03_a_nested_section_of_sndlib_native_is_left_out(tmp_path: Path) -> None:
    text = (
        "?SNDlib native format; type: network; version: 1.0\nNODES (\n  A ( 10.0 50.0 )\n"
        "  B ( 11.0 50.0 )\n)\nLINKS (\n  L1 ( A B ) 0.00 0.00 0.00 0.00 ( 155.00 10.0 )\n)\n"
        "DEMANDS (\n  D1 ( A B ) 1 5.00 UNLIMITED\n)\n"
        "ADMISSIBLE_PATHS (\n  D1 (\n    P0 ( L1 )\n  )\n)\n"
    )
    written, made = read(tmp_path, text, ImportRules("module", MBIT))
    assert made["defaults"]["link"]["rate"] == "155 Mbit/s"
    assert made["demands"]["A-B"]["rate"] == "5 Mbit/s"
    left_out = {(each.element, each.reason, each.line) for each in written.account.left_out}
    assert ("ADMISSIBLE_PATHS", "paths are computed", 12) in left_out
    with pytest.raises(ImportFault, match="the section ADMISSIBLE_PATHS, from line 12, does not"):
        read(tmp_path, text[:-2], ImportRules("module", MBIT))


NETLAB_HEAD = "nodes: [r1, r2, r3]\nlinks:\n"


def test_input_07_a_dotted_key_of_netlab_is_a_key_in_a_key(tmp_path: Path) -> None:
    text = NETLAB_HEAD + "- r1:\n  r2:\n  bandwidth: 100000\n  ospf.cost: 30\n  _linkname: core\n"
    written, made = read(tmp_path, text + "- r2-r3\n", ImportRules(GBIT))
    assert made["links"]["r1-r2"] == {"metric": 30}
    assert made["defaults"]["link"]["rate"] == "100 Mbit/s"
    assert made["links"]["r2-r3"] == {"rate": "1 Gbit/s"}
    assert [each.element for each in written.account.left_out] == ["links/item/_linkname"]
    with pytest.raises(ImportFault, match="there is no node r9"):
        read(tmp_path, NETLAB_HEAD + "- r1:\n  r2:\n  r9:\n- r2-r3\n", ImportRules(GBIT))


def test_input_08_costs_and_tc_of_netlab_are_those_of_the_link(tmp_path: Path) -> None:
    # netlab.tools/module/tc: delay in ms, loss in per cent, rate in kbit/s.
    text = NETLAB_HEAD + (
        "- r1:\n  r2:\n  ospf: {cost: 30, area: 1}\n  tc: {delay: 20, loss: 1, rate: 2000}\n"
        "- r2-r3\n- r1-r3\n"
    )
    written, made = read(tmp_path, text, ImportRules(GBIT))
    link = {"rate": "2 Mbit/s", "delay": "20 ms", "metric": 30, "loss": "1 %"}
    assert made["links"]["r1-r2"] == link
    assert [each.element for each in written.account.left_out] == ["links/item/ospf/area"]


def test_08_groups_and_single_interfaces_of_netlab(tmp_path: Path) -> None:
    text = (
        "groups:\n  core: {_auto_create: true, members: [r1, r2, r3], device: frr}\n"
        "links:\n- group: g\n  isis.metric: 7\n  tc.delay: 5\n  members: [r1-r2, r2-r3]\n"
        "- r1: {ospf.cost: 5, tc: {loss: 2}}\n  r3: {ospf.cost: 9}\n"
    )
    written, made = read(tmp_path, "nodes: {}\n" + text, ImportRules(GBIT))
    assert made["links"]["r1-r2"] == {"delay": "5 ms", "metric": 7}
    assert made["links"]["r1-r3"] == {
        "metric": 5, "loss": "2 %", "backward": {"metric": 9, "loss": "0 %"},
    }  # fmt: skip
    left_out = {each.element for each in written.account.left_out}
    assert left_out == {"groups/group/device", "links/item/group"}


GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="b" for="edge" attr.name="capacity" attr.type="double"/>
  <key id="d" for="edge" attr.name="delay" attr.type="double"/>
  <key id="w" for="edge" attr.name="weight" attr.type="int"/>
  <graph edgedefault="{kind}">
    <node id="A"/><node id="B"/><node id="C"/>
    {edges}
  </graph>
</graphml>
"""


@pytest.mark.parametrize(
    ("links", "names"),
    [
        ("links:\n- r1 - r2\n- r2-r3\n", ["r1-r2", "r2-r3"]),
        ("links:\n  g1:\n  - r1-r2\n  g2:\n  - r2:\n    r3:\n  g3: r3-r1\n",
         ["r1-r2", "r2-r3", "r3-r1"]),
        ("links:\n- r1:\n  r2:\n  lag.id: 1\n  lag.members: 2\n- [r2, r3]\n", ["r1-r2", "r2-r3"]),
        ("links:\n- lag.members: [r1-r2, r1-r2]\n- r2-r3\n", ["r1-r2", "r1-r2.2", "r2-r3"]),
        ("links:\n- interfaces: [r1, r2]\n- group: g\n  members:\n  - r1: {ospf.cost: 4}\n"
         "  - r2-r3\n", ["r1-r2", "r2-r3"]),
    ],
)  # fmt: skip
def test_07_links_of_netlab_in_every_form_of_its_manual(
    tmp_path: Path, links: str, names: list[str]
) -> None:
    # netlab.tools/links: strings, lists, mappings, groups, dictionaries of links, bundles.
    _, made = read(tmp_path, "nodes: [r1, r2, r3]\n" + links, ImportRules(GBIT))
    assert list(made["links"]) == names


def test_08_values_of_netlab_with_units_and_groups_that_make_all_their_nodes(
    tmp_path: Path,
) -> None:
    text = (
        "groups:\n  _auto_create: true\n  g3: [e, f]\nlinks:\n- e:\n  f:\n  bandwidth: 100000\n"
        "  tc: {delay: 2ms, jitter: 0.013s, loss: 0.3, rate: 2mbit}\n"
    )
    written, made = read(tmp_path, text, ImportRules(GBIT))
    assert made["defaults"]["link"]["rate"] == "2 Mbit/s"
    assert made["links"]["e-f"] == {"delay": "2 ms", "loss": "0.3 %"}
    assert [each.element for each in written.account.left_out] == ["links/item/tc/jitter"]


def write_edges(pairs: str) -> str:
    return "".join(
        f'<edge source="{a}" target="{b}"><data key="b">1 Gbps</data></edge>'
        for a, b in pairs.split()
    )


def test_input_10_a_link_that_was_drawn_is_no_direction(tmp_path: Path) -> None:
    text = GRAPHML.format(kind="directed", edges=write_edges("AB BA BC CA"))
    written, made = read(tmp_path, text)
    assert list(made["links"]) == ["A-B", "A-B.2", "B-C", "C-A"]
    assert made["links"]["A-B.2"] == {"between": ["B", "A"]}
    assumed = {each.element: each for each in written.account.assumed}
    assert assumed["directions"].count == 4
    assert assumed["directions"].reason.startswith("2 of 4 links of a directed graph have no way")


@pytest.mark.parametrize(
    ("kind", "pairs", "links"),
    [
        ("directed", "AB BA BC CB", ["A-B", "B-C"]),
        ("directed", "AB BA AB BA BC CB", ["A-B", "A-B.2", "B-C"]),
        ("undirected", "AB BA BC", ["A-B", "A-B.2", "B-C"]),
        ("directed", "AB AB BC", ["A-B", "A-B.2", "B-C"]),
    ],
)
def test_10_links_both_ways(tmp_path: Path, kind: str, pairs: str, links: list[str]) -> None:
    _, made = read(tmp_path, GRAPHML.format(kind=kind, edges=write_edges(pairs)))
    assert list(made["links"]) == links


def test_input_12_capacity_delay_and_weight_of_an_edge(tmp_path: Path) -> None:
    edge = '<edge source="{}" target="{}"><data key="b">40</data><data key="d">2</data>' \
        '<data key="w">7</data></edge>'  # fmt: skip
    edges = edge.format("A", "B") + edge.format("B", "C")
    text = GRAPHML.format(kind="undirected", edges=edges)
    written, made = read(tmp_path, text, ImportRules(GBIT))
    assert made["links"]["A-B"] == {"delay": "2 ms", "metric": 7}
    left_out = [(each.element, each.count) for each in written.account.left_out]
    assert left_out == [("capacities without a unit", 2)]
    assert ("delays without a unit", 2) in {(e.element, e.count) for e in written.account.assumed}
    _, made = read(tmp_path, text, ImportRules(unit=MBIT))
    assert made["defaults"]["link"]["rate"] == "40 Mbit/s"


def make_graph(seed: int, *, is_multigraph: bool) -> Any:
    """A connected graph with the attributes that tools write, by networkx."""
    drawn = random.Random(seed)
    graph = nx.MultiGraph() if is_multigraph else nx.Graph()
    count = drawn.randint(2, 9)
    for number in range(count):
        graph.add_node(
            f"n{number}", Longitude=drawn.uniform(-9, 30), Latitude=drawn.uniform(36, 60)
        )
    pairs = [(n, drawn.randrange(n)) for n in range(1, count)]
    pairs += [(drawn.randrange(count), drawn.randrange(count)) for _ in range(count)]
    for a, b in pairs:
        if a != b:
            graph.add_edge(
                f"n{a}", f"n{b}", bandwidth=drawn.choice([155, 622, 2488]),
                weight=drawn.randint(1, 20), delay=drawn.randint(1, 30), owner="x",
            )  # fmt: skip
    return graph


@pytest.mark.parametrize("is_multigraph", [False, True])
@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_graphs_that_networkx_writes_have_the_sums_that_networkx_counts(
    tmp_path: Path, form: str, is_multigraph: bool
) -> None:
    for seed in range(15):
        graph = make_graph(seed, is_multigraph=is_multigraph)
        file = tmp_path / "net"
        (nx.write_gml if form == "gml" else nx.write_graphml)(graph, file)
        found = read_topology(file)
        assert len(found.nodes) == graph.number_of_nodes()
        labels = {key: node.label for key, node in found.nodes.items()}
        assert set(labels.values()) == set(graph.nodes)

        def count(edges: Any) -> Counter[Any]:
            return Counter((frozenset((a, b)), *values) for a, b, *values in edges)

        assert count(
            (labels[link.source], labels[link.target], link.capacity, link.metric, link.delay)
            for link in found.links
        ) == count(
            (a, b, data["bandwidth"], data["weight"], data["delay"] * 10**6)
            for a, b, data in graph.edges(data=True)
        )
        left_out = {(each.element, each.count) for each in found.account.left_out}
        assert ("graph/edge/owner", graph.number_of_edges()) in left_out


def test_units_that_fnss_writes_as_attributes_of_the_graph(tmp_path: Path) -> None:
    # FNSS: capacity_unit, delay_unit and distance_unit of the graph.
    graph = nx.Graph(capacity_unit="Gbps", delay_unit="us", distance_unit="m")
    graph.add_edge("a", "b", capacity=2.5, delay=300, weight=1)
    graph.add_edge("b", "c", capacity=10, length=5_000)
    nx.write_graphml(graph, tmp_path / "net")
    links = read_topology(tmp_path / "net").links
    assert [(link.capacity, link.unit) for link in links] == [(2.5 * GBIT, 1), (10 * GBIT, 1)]
    assert (links[0].delay, links[1].length) == (300_000, 5)


def test_a_drawing_of_yed_has_labels_in_its_shapes_and_groups_with_graphs_inside(
    tmp_path: Path,
) -> None:
    def node(name: str, inner: str = "") -> str:
        return (
            f'<node id="{name}"><data key="d0"><y:ShapeNode><y:Geometry x="1" y="2"/>'
            f"<y:NodeLabel>R {name}</y:NodeLabel></y:ShapeNode></data>{inner}</node>"
        )

    group = node("g", '<graph id="g:" edgedefault="directed">' + node("g::1") + "</graph>")
    text = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com">'
        '<key for="node" id="d0" yfiles.type="nodegraphics"/>'
        '<graph edgedefault="directed">' + node("a") + group + '<edge source="a" target="g::1"/>'
        "</graph></graphml>"
    )
    written, made = read(tmp_path, text, ImportRules(GBIT))
    assert set(made["nodes"]) == {"R_a", "R_g_1"}
    assert list(made["links"]) == ["R_a-R_g_1"]
    left_out = {each.element: each.count for each in written.account.left_out}
    assert left_out["graph/node/nodegraphics/ShapeNode/Geometry"] == 2
    assert left_out["graph/node"] == 1


GML = """\
# a comment with [ and "
Creator "by hand"
graph [
  directed 0
  node [ id 0 label "A &#38; B" ]
  node [ id 1 label "two lines" ]
  edge [ source 0 target 1 LinkSpeed "10" LinkSpeedUnits "G" LinkLabel "10 Gbit/s" ]
]
"""


def test_gml_is_read_as_networkx_reads_it(tmp_path: Path) -> None:
    (tmp_path / "net").write_text(GML)
    found = read_topology(tmp_path / "net")
    graph = nx.parse_gml(GML.partition("\n")[2], label="id")
    assert [node.label for node in found.nodes.values()] == [
        data["label"] for _, data in graph.nodes(data=True)
    ]
    assert (found.links[0].capacity, found.links[0].line) == (10 * GBIT, 7)


@pytest.mark.parametrize(
    ("attributes", "capacity"),
    [
        ('LinkType "OC-12" LinkLabel "OC-12"', 12 * 51_840_000),
        ('LinkLabel "10GE" LinkNote "E"', 10**10),
        ('LinkType "Fiber" LinkLabel "1-10Gbps"', None),
        ('LinkSpeed "40" LinkSpeedUnits "G" LinkSpeedRaw 40000000000.0', 4 * 10**10),
        ('LinkSpeed "< 2" LinkSpeedUnits "G"', None),
    ],
)
def test_speeds_of_the_zoo(tmp_path: Path, attributes: str, capacity: int | None) -> None:
    (tmp_path / "net").write_text(re.sub("LinkSpeed.*(?= ])", attributes, GML))
    found = read_topology(tmp_path / "net")
    assert found.links[0].capacity == capacity


@pytest.mark.parametrize("place", [at for at, char in enumerate(GML) if char == "["][1:])
def test_gml_with_an_unknown_key_and_an_unknown_list_at_each_level(
    tmp_path: Path, place: int
) -> None:
    text = GML[: place + 1] + " zzz 7 yyy [ a 1 b 2 ]" + GML[place + 1 :]
    (tmp_path / "net").write_text(text)
    left_out = [each.element for each in read_topology(tmp_path / "net").account.left_out]
    assert sum(each.endswith(("/zzz", "/yyy")) for each in left_out) == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (GML.replace("id 1", ""), "7:3: a node has no id"),
        (GML.replace("id 1", "id 0"), "node 0 occurs twice"),
        (GML.replace("target 1", "target 5"), "7:1: there is no node 5"),
        (GML.rstrip()[:-1], "not GML: the list graph does not end"),
        (GML.replace("directed 0", "directed ]"), "4:12: not GML: directed has no value"),
        (GML.replace("directed 0", '"directed" 0'), "4:3: not GML: a key is expected"),
        (GML.replace("directed 0", f"directed {'9' * 99}"), "4:12: a number of 99 characters"),
        (GML + "a [ " * 70, "not GML: lists nested deeper than 64"),
    ],
)
def test_gml_that_is_broken_is_refused_with_its_place(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(ImportFault) as fault:
        read(tmp_path, text, ImportRules(GBIT))
    assert place.replace("7:3", "6:1") in str(fault.value)


def test_input_13_brite_is_read_in_the_units_of_its_manual(tmp_path: Path) -> None:
    # 20 km at the speed of light are 66.7 us; bandwidths are in Mbit/s, -1 is none.
    written, made = read(tmp_path, BRITE, ImportRules(GBIT))
    assert made["defaults"]["link"]["rate"] == "10 Mbit/s"
    assert made["links"]["0-1"] == {"delay": "67 us"}
    assert made["links"]["1-2"] == {"rate": "1 Gbit/s", "delay": "67 us"}
    assert made["nodes"]["2"] == {"position": [50.0, 20.0]}
    assert "edge/field 11" in {each.element for each in written.account.left_out}
    for broken, message in (
        (BRITE.replace("( 2 )", "( 4 )"), "9:1: Edges has 2 lines, not 4"),
        (BRITE.replace("1\t1\t2\t20", "1\t1\t7\t20"), "11:1: there is no node 7"),
        (BRITE.replace("50.00\t20.00\t1\t1\t-1\tRT_NODE", "50.00"), "7:1: 2 fields; a line of"),
    ):
        with pytest.raises(ImportFault, match=message):
            read(tmp_path, broken, ImportRules(GBIT))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "Dear all,\nplease: find enclosed (the list): of links\n",
        '<?xml version="1.0"?><rspec><node id="a"/></rspec>',
        "key: value\nother: [1, 2]\n",
        '{"some": ["json"]}',
        "x,y,z\n1,2,3\n",
        "router bgp 65000\n neighbor 10.0.0.1 remote-as 65001\n",
    ],
)
def test_13_what_is_no_network_is_not_recognised(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFault, match="the format is not recognised; known: GraphML, SNDlib"):
        read(tmp_path, text, ImportRules(GBIT))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: [a, b\nlinks: [a-b]\n", "2:6: "),
        ("topology:\n  nodes: {a: {}}\n  links:\n  - endpoints: ['a:1', 'b:1']\n", "no node b"),
        ('{"nodes": [{"id": 1}], "links": [}', "1:34: not JSON"),
        ("<graphml><graph></graphml>", "not XML"),
    ],
)
def test_13_a_broken_network_is_refused_where_it_is_broken(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ImportFault, match=message):
        read(tmp_path, text, ImportRules(GBIT))


def test_a_list_of_links_of_a_planner(tmp_path: Path) -> None:
    text = (
        "a,a_if,b,b_if,capacity,delay_ms,srlg\nAMS,et-0/0/1,FRA,et-0/0/2,100G,4.1,duct1\n"
        "AMS,et-0/0/2,PAR,et-0/0/1,100G,5.0,duct2\nFRA,et-0/0/3,ZRH,et-0/0/1,10G,3.2,\n"
        "PAR,et-0/0/2,ZRH,et-0/0/2,10G,5.5,duct2\n"
    )
    _, made = read(tmp_path, text)
    assert made["defaults"]["link"]["rate"] == "100 Gbit/s"
    assert made["links"]["AMS-FRA"] == {"delay": "4.1 ms", "te": {"risks": ["duct1"]}}
    assert made["links"]["FRA-ZRH"] == {"rate": "10 Gbit/s", "delay": "3.2 ms"}
    # Each row the other way round as well, with a metric of its own: the same four links.
    header, *rows = text.splitlines()
    both = [f"{header},igp_metric"]
    for number, row in enumerate(rows):
        a, a_if, b, b_if, *rest = row.split(",")
        both += [f"{row},{number + 1}", ",".join([b, b_if, a, a_if, *rest, str(number + 11)])]
    written, twice = read(tmp_path, "\n".join(both))
    assert list(twice["links"]) == list(made["links"])
    assert twice["links"]["AMS-FRA"] == made["links"]["AMS-FRA"] | {"backward": {"metric": 11}}
    assert ("directions", 4) in {(e.element, e.count) for e in written.account.assumed}


def test_a_list_of_links_as_a_spreadsheet_of_the_continent_writes_it(tmp_path: Path) -> None:
    text = (
        "\ufeffNode A;Node B;Bandwidth [Gbit/s];Length (km);Metric AB;Metric BA;Affinity;Circuit\n"
        "Köln;Mainz;2,5;150,5;10;20;gold|silver;X-1\nMainz;Ulm;10;;5;;;X-2\n"
    )
    written, made = read(tmp_path, text, ImportRules(delay=10**6))
    # 150.5 km in glass: 150.5 / 199,861.6 km/s = 753 us.
    assert made["defaults"]["link"]["rate"] == "2.5 Gbit/s"
    assert made["links"]["Köln-Mainz"] == {
        "delay": "753 us", "metric": 10, "te": {"colours": ["gold", "silver"]},
        "backward": {"metric": 20},
    }  # fmt: skip
    assert {each.element for each in written.account.left_out} == {"link/Circuit"}
    with pytest.raises(ImportFault, match="2:1: 9 cells, where the header has 8"):
        read(tmp_path, text.replace("X-1", "X-1;7"))


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("100G", "100 Gbit/s"),
        ("10GE", "10 Gbit/s"),
        ("10GigE", "10 Gbit/s"),
        ("400gbe", "400 Gbit/s"),
        ("1000M", "1 Gbit/s"),
        ("2x10G", "20 Gbit/s"),
        ("4 * 100GE", "400 Gbit/s"),
        ("2.5 Gbps", "2.5 Gbit/s"),
        ("10 Gbit/s", "10 Gbit/s"),
        ("1250 MB/s", "10 Gbit/s"),
        # ITU-T G.707: 155.52 Mbit/s each; OC-1 is 51.84 Mbit/s.
        ("STM-16", "2488.32 Mbit/s"),
        ("OC-192", "9953.28 Mbit/s"),
    ],
)
def test_capacities_as_operators_write_them(tmp_path: Path, written: str, rate: str) -> None:
    _, made = read(tmp_path, f"from,to,capacity\nA,B,{written}\nB,C,{written}\n")
    assert made["defaults"]["link"]["rate"] == rate
    with pytest.raises(ImportFault, match="is no capacity: 'fast'"):
        read(tmp_path, "from,to,capacity\nA,B,fast\n")


def test_links_in_both_directions_without_interfaces_are_one_where_all_are(tmp_path: Path) -> None:
    head = "source,target,capacity\n"
    _, made = read(tmp_path, head + "A,B,1G\nB,A,2G\nB,C,1G\nC,B,1G\n")
    assert made["links"] == {"A-B": {"backward": {"rate": "2 Gbit/s"}}, "B-C": {}}
    _, made = read(tmp_path, head + "A,B,1G\nB,A,2G\nB,C,1G\n")
    assert list(made["links"]) == ["A-B", "A-B.2", "B-C"]


def test_edge_lists_of_the_as_graph_and_of_rocketfuel(tmp_path: Path) -> None:
    # CAIDA's serial-1; serial-2 has the source of each relationship behind it.
    caida = "# source:topology|BGP|20240101\n1|2|-1\n1|3|0\n2|3|-1\n"
    written, made = read(tmp_path, caida, ImportRules(GBIT))
    assert list(made["links"]) == ["1-2", "1-3", "2-3"]
    assert [(e.element, e.count) for e in written.account.left_out] == [("edge/relationship", 3)]
    written, _ = read(tmp_path, caida.replace("0\n", "0|bgp\n").replace("-1\n", "-1|bgp\n")
                      .replace("2024010|bgp", "2024"), ImportRules(GBIT))  # fmt: skip
    assert [each.count for each in written.account.left_out] == [3, 3]
    # weights.intra: each direction by itself.
    weights = "Oslo,+Norway1 Rome,+Italy2 3\nRome,+Italy2 Oslo,+Norway1 5\n"
    _, made = read(tmp_path, weights, ImportRules(GBIT))
    assert list(made["links"].values()) == [{"metric": 3, "backward": {"metric": 5}}]


def test_a_map_of_rocketfuel(tmp_path: Path) -> None:
    written, made = read(tmp_path, CCH, ImportRules(GBIT))
    assert list(made["nodes"]) == ["Paris_1", "Lyon_2", "Nice_3"]
    assert list(made["links"]) == ["Paris_1-Lyon_2", "Paris_1-Nice_3", "Lyon_2-Nice_3"]
    left_out = {each.element: each.count for each in written.account.left_out}
    assert left_out["router/neighbour"] == left_out["external"] == 1
    assert left_out["router/name"] == 3
    with pytest.raises(ImportFault, match="2:1: a line of a map is UID"):
        read(tmp_path, CCH.replace("2 @Lyon", "2 Lyon"), ImportRules(GBIT))


@pytest.mark.parametrize("separator", ["\t", ",", "  "])
def test_a_model_of_pyntm(tmp_path: Path, separator: str) -> None:
    text = PYNTM.replace("\t", separator)
    written, made = read(tmp_path, text, ImportRules(unit=MBIT))
    assert made["links"]["A-B"]["metric"] == 4
    assert made["links"]["A-B"]["backward"] == {"metric": 5}
    assert made["defaults"]["link"]["rate"] == "100 Mbit/s"
    assert made["demands"]["A-B"]["rate"] == "80 Mbit/s"
    left_out = {each.element for each in written.account.left_out}
    assert {"RSVP_LSP_TABLE", "INTERFACES_TABLE/row/rsvp_enabled"} <= left_out
    with pytest.raises(ImportFault, match="the interface from A to B has no way back"):
        read(tmp_path, text.replace("B" + separator + "A" + separator + "B-", "#"))


def test_repetita_accounts_for_labels_and_lines_behind_the_last_section(tmp_path: Path) -> None:
    written, _ = read(tmp_path, REPETITA + "more words\n")
    left_out = {(each.element, each.count) for each in written.account.left_out}
    assert left_out == {("edge/label", 4), ("line", 1)}


def test_a_graph_in_json_that_networkx_writes(tmp_path: Path) -> None:
    for is_multigraph in (False, True):
        graph = make_graph(3, is_multigraph=is_multigraph)
        text = json.dumps(nx.node_link_data(graph))
        written, made = read(tmp_path, text, ImportRules(unit=MBIT))
        assert len(made["links"]) == graph.number_of_edges()
        total = sum(data["weight"] for *_, data in graph.edges(data=True))
        assert sum(link.get("metric", 1) for link in made["links"].values()) == total
        assert "graph/edge/owner" in {each.element for each in written.account.left_out}


def test_a_spreadsheet_and_a_compressed_file_are_told_what_to_do(tmp_path: Path) -> None:
    for data, advice in (
        (gzip.compress(b"nodes: [a]"), "unpack it first"),
        (b"PK\x03\x04rest", "save it as .xlsx or CSV"),
    ):
        (tmp_path / "net").write_bytes(data)
        with pytest.raises(ImportFault, match=advice):
            read_topology(tmp_path / "net")
    (tmp_path / "net").write_text("a\tb\tcapacity\nKöln\tUlm\t10G\n", "utf-16")
    assert list(read_topology(tmp_path / "net").nodes) == ["Köln", "Ulm"]


def test_defaults_of_graphml_keys_hold_where_an_element_has_no_value(tmp_path: Path) -> None:
    text = GRAPHML.format(
        kind="undirected", edges=write_edges("AB") + '<edge source="B" target="C"/>'
    )
    text = text.replace(
        'attr.name="capacity" attr.type="double"/>',
        'attr.name="capacity" attr.type="string"><default>10G</default></key>',
    )
    (tmp_path / "net").write_text(text)
    assert nx.parse_graphml(text).graph["edge_default"] == {"capacity": "10G"}
    assert [link.capacity for link in read_topology(tmp_path / "net").links] == [GBIT, 10 * GBIT]


@pytest.mark.parametrize("tag", ["graphml", "graph", "node", "edge", "data"])
def test_graphml_with_an_unknown_attribute_and_element_at_each_level(
    tmp_path: Path, tag: str
) -> None:
    text = GRAPHML.format(kind="undirected", edges=write_edges("AB BC"))
    text = text.replace('<node id="C"/>', '<node id="C"></node>')
    text = re.sub(rf"<{tag}((?: [^>]*[^>/])?)>", rf'<{tag}\1 zzz="1"><yyy>2</yyy>', text)
    count = text.count("zzz")
    assert count
    (tmp_path / "net").write_text(text)
    account = read_topology(tmp_path / "net").account
    left_out = {each.element: each.count for each in account.left_out}
    if tag == "data":
        # What has elements inside is no capacity.
        assert left_out["graph/edge/capacity"] == count
        return
    found = {name: number for name, number in left_out.items() if re.search("zzz|yyy", name)}
    assert sorted(found.values()) == [count, count]


@pytest.mark.parametrize(
    ("weights", "metrics", "rule"),
    [
        (["2", "3", "4"], [2, 3, 4], None),
        (["10.5", "2", ""], [105, 20, 10], "times 10, for some have fractions"),
        (["0.25", "1", "3"], [25, 100, 300], "times 100, for some have fractions"),
        (["0.33333333", "1", "2"], [333333, 10**6, 2 * 10**6], "times 1000000, for some have "
         "fractions; rounded"),
        (["4000000000.5", "1", ""], [4 * 10**9, 1, 1], "times 1, for some have fractions; "
         "rounded"),
    ],
)  # fmt: skip
def test_metrics_with_fractions_are_all_multiplied_by_one_number(
    tmp_path: Path, weights: list[str], metrics: list[int], rule: str | None
) -> None:
    # Shortest paths stay as they are, which they do not where single metrics are left out.
    rows = [f"{ends},{weight}" for ends, weight in zip(("A,B", "B,C", "A,C"), weights, strict=True)]
    written, made = read(tmp_path, "\n".join(["from,to,weight", *rows]), ImportRules(GBIT))
    assert [link.get("metric", 1) for link in made["links"].values()] == metrics
    assumed = {each.element: each.reason for each in written.account.assumed}
    assert assumed.get("metrics") == rule
    assert ("metric of links" in assumed) == ("" in weights)
    with pytest.raises(ImportFault, match="2:1: the weight is negative: -1"):
        read(tmp_path, "from,to,weight\nA,B,-1\n", ImportRules(GBIT))


def test_a_segment_of_netlab_costs_what_ospf_counts(tmp_path: Path) -> None:
    # RFC 2328 section 2.1: a router pays for its way to a network, a network's way back is free.
    text = (
        "nodes: [r1, r2, r3, r4, lan1]\nlinks:\n- r1:\n    ospf.cost: 5\n  r2:\n  r3:\n"
        "  ospf.cost: 3\n  tc.delay: 4\n- [r2, r3, r4]\n- r1-r4: \n  ospf.cost: 8\n- r4-lan1\n"
    ).replace("- r1-r4: \n  ospf.cost: 8\n", "- r1:\n  r4:\n  ospf.cost: 8\n")
    written, made = read(tmp_path, text, ImportRules(GBIT))
    lab = nx.DiGraph()
    lab.add_weighted_edges_from([("r1", "x", 5), ("r2", "x", 3), ("r3", "x", 3)])
    lab.add_weighted_edges_from([("r2", "y", 1), ("r3", "y", 1), ("r4", "y", 1)])
    lab.add_weighted_edges_from([("x", each, 0) for each in ("r1", "r2", "r3")])
    lab.add_weighted_edges_from([("y", each, 0) for each in ("r2", "r3", "r4")])
    lab.add_weighted_edges_from([("r1", "r4", 8), ("r4", "r1", 8)])
    lab.add_weighted_edges_from([("r4", "lan1", 1), ("lan1", "r4", 1)])
    here = nx.DiGraph()
    for name, link in made["links"].items():
        a, b = name.split("-")
        here.add_edge(a, b, weight=link.get("metric", 1))
        here.add_edge(b, a, weight=link.get("backward", {}).get("metric", link.get("metric", 1)))
    costs = dict(nx.all_pairs_dijkstra_path_length(lab))
    found = dict(nx.all_pairs_dijkstra_path_length(here))
    nodes = ["r1", "r2", "r3", "r4", "lan1"]
    assert {(a, b): 2 * costs[a][b] for a in nodes for b in nodes} == {
        (a, b): found[a][b] for a in nodes for b in nodes
    }
    # netem delays what a node sends.
    assert made["links"]["r2-lan2"]["delay"] == "4 ms"
    assert made["links"]["r2-lan2"]["backward"]["delay"] == "0 s"
    assert {"node lan2", "node lan3", "metrics"} <= {e.element for e in written.account.assumed}


def test_08_an_interface_of_netlab_has_its_values_in_its_direction_alone(tmp_path: Path) -> None:
    text = NETLAB_HEAD + (
        "- r1: {ospf.cost: 3, tc.delay: 20}\n  r2:\n- r2:\n  r3: {ospf.cost: 4, bandwidth: 2000}\n"
        "- {r1: , r3: , shutdown: true}\n- interfaces: [{node: r1, shutdown: true}, r3]\n"
        "- r1: {shutdown: true}\n  r3:\n- r1:\n  r2: {shutdown: true}\n  r3:\n"
    )
    written, made = read(tmp_path, text, ImportRules(GBIT))
    assert list(made["links"]) == ["r1-r2", "r2-r3", "r1-lan1", "r3-lan1"]
    # All metrics are twice those of the file, because there is a segment.
    assert made["links"]["r1-r2"]["metric"] == 6
    assert made["links"]["r1-r2"]["backward"] == {"delay": "0 s", "metric": 2}
    assert made["links"]["r2-r3"]["metric"] == 2
    assert made["links"]["r2-r3"]["backward"] == {"metric": 8}
    reasons: Counter[str] = Counter()
    for each in written.account.left_out:
        reasons[each.reason] += each.count
    assert reasons == {"it is switched off": 2, "an interface of it is switched off": 2}
    assert "the same both ways, as one interface has it" in {
        each.reason for each in written.account.assumed
    }


def test_10_the_two_directions_of_a_link_each_keep_what_they_have(tmp_path: Path) -> None:
    head = "from,to,capacity,weight,delay\n"
    _, made = read(tmp_path, head + "A,B,10G,5,2\nB,A,1G,,3\nB,C,10G,,1\nC,B,,7,1\n")
    assert made["links"]["A-B"] == {
        "delay": "2 ms", "metric": 5,
        "backward": {"rate": "1 Gbit/s", "delay": "3 ms", "metric": 1},
    }  # fmt: skip
    assert made["links"]["B-C"] == {"delay": "1 ms", "backward": {"metric": 7}}
    with pytest.raises(ImportFault, match="3:1: a link has a capacity with a unit one way, and"):
        read(tmp_path, head + "A,B,10G,5,2\nB,A,1,,3\n")
