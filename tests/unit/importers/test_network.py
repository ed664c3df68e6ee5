"""Networks in: each format by a small file written here, gaps filled by stated rules."""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from network_files import (
    BRITE,
    CCH,
    CONTAINERLAB,
    EDGE_LIST,
    GML,
    GRAPHML,
    LINK_LIST,
    NETLAB,
    NODE_LINK,
    PYNTM,
    REPETITA,
    REPETITA_DEMANDS,
    SNDLIB_NATIVE,
    SNDLIB_XML,
    YED,
)

from trunkline.importers import ImportFault
from trunkline.importers.network import ImportRules, read_network, read_topology
from trunkline.importers.network.rules import compute_distance_km
from trunkline.scenario import load
from trunkline.scenario.fields import RESERVED_NAMES
from trunkline.scenario.yaml_text import parse_yaml

GBIT = 10**9


def made(tmp_path: Path, text: str, rules: ImportRules | None = None, **more: object):  # type: ignore[no-untyped-def]
    (tmp_path / "net.txt").write_text(text, "utf-8")
    written = read_network(tmp_path / "net.txt", rules, **more)  # type: ignore[arg-type]
    return written, parse_yaml(written.text, "made")[0]


def refused(tmp_path: Path, text: str, rules: ImportRules | None = None) -> str:
    with pytest.raises(ImportFault) as fault:
        made(tmp_path, text, rules)
    return fault.value.render("net")


@pytest.mark.parametrize("text", [SNDLIB_XML, SNDLIB_NATIVE], ids=["xml", "native"])
def test_sndlib_in_both_formats(tmp_path: Path, text: str) -> None:
    written, expected = made(tmp_path, text, ImportRules(capacity="module"))
    assert expected["nodes"]["B.1"] == {"position": [1.0, 0.0]}
    assert expected["defaults"] == {"link": {"rate": "622 Mbit/s"}}
    # The capacity of B.1-C is the smallest module; a parallel link gets a name of its own.
    assert expected["links"]["B.1-C"]["rate"] == "155 Mbit/s"
    assert expected["links"]["A-B.1.2"]["between"] == ["A", "B.1"]
    # Two routing units of 5.5 Mbit/s each; the demands of A to itself and of zero are left out.
    assert expected["demands"] == {
        "A-C": {"from": "A", "to": "C", "rate": "11 Mbit/s", "class": "data"}
    }
    assert {("demands of a node to itself", 1), ("demands of zero", 1)} <= {
        (each.element, each.count) for each in written.account.left_out
    }


def test_a_delay_is_the_great_circle_at_two_thirds_of_light(tmp_path: Path) -> None:
    # A degree of the equator is 2 pi R / 360 = 111.195 km: 556.4 us in glass.
    assert compute_distance_km((0, 0), (1, 0)) == pytest.approx(math.pi * 6371.0088 / 180)
    _, expected = made(tmp_path, SNDLIB_XML, ImportRules(capacity="module"))
    assert expected["links"]["A-B.1"]["delay"] == "556 us"


def test_what_stands_in_the_file_goes_before_the_rule(tmp_path: Path) -> None:
    _, expected = made(tmp_path, SNDLIB_XML, ImportRules(capacity=10 * GBIT))
    assert expected["links"]["B.1-C"]["rate"] == "10 Gbit/s"
    assert expected["defaults"] == {"link": {"rate": "622 Mbit/s"}}


def test_a_missing_capacity_needs_a_rule(tmp_path: Path) -> None:
    expected = refused(tmp_path, SNDLIB_NATIVE)
    assert expected.startswith("net:15:1: 1 of 3 links have no capacity, the first from B.1 to C: ")
    assert "--capacity module, the smallest that the file offers" in expected


@pytest.mark.parametrize("word", RESERVED_NAMES)
def test_nodes_called_as_words_of_the_language_are_renamed(tmp_path: Path, word: str) -> None:
    written, found = made(tmp_path, GML.replace("London", word), ImportRules(capacity=GBIT))
    assert list(found["nodes"]) == [f"{word}_2", f"{word}_3", "New_York"]
    assert ("names of nodes", 3) in {(e.element, e.count) for e in written.account.assumed}


def test_gml_with_labels_twice_parallel_links_and_gaps_in_ids(tmp_path: Path) -> None:
    written, expected = made(tmp_path, GML, ImportRules(capacity=GBIT))
    assert list(expected["nodes"]) == ["London", "London_2", "New_York"]
    assert expected["nodes"]["New_York"] == {}
    assert list(expected["links"]) == ["London-London_2", "London_2-New_York", "London-London_2.2"]
    assert expected["links"]["London_2-New_York"] == {"rate": "1 Gbit/s"}
    assert ("names of nodes", 2) in {(e.element, e.count) for e in written.account.assumed}
    _, inside = made(tmp_path, GML, ImportRules(capacity=GBIT, internal=True))
    assert list(inside["nodes"]) == ["London", "London_2"]


def test_graphml_by_the_names_of_its_keys(tmp_path: Path) -> None:
    _, expected = made(tmp_path, GRAPHML)
    assert list(expected["nodes"]) == ["Paris", "Zürich"]
    assert expected["defaults"] == {"link": {"rate": "2.5 Gbit/s"}}
    # About 488 km, as an atlas has it.
    assert 2.35 < float(expected["links"]["Paris-Zürich"]["delay"].split()[0]) < 2.5


def test_repetita_with_its_demands(tmp_path: Path) -> None:
    (tmp_path / "net.demands").write_text(REPETITA_DEMANDS)
    _, expected = made(tmp_path, REPETITA, demands=tmp_path / "net.demands")
    assert expected["links"]["R1-R2"] == {
        "delay": "2 ms",
        "metric": 10,
        "backward": {"rate": "500 Mbit/s", "metric": 20},
    }
    assert expected["demands"]["R1-R3"]["rate"] == "300 Mbit/s"
    assert expected["demands"]["R3-R1"]["rate"] == "100 kbit/s"


def test_containerlab(tmp_path: Path) -> None:
    written, expected = made(tmp_path, CONTAINERLAB, ImportRules(capacity=GBIT, delay=1_000_000))
    assert list(expected["links"]) == ["srl1-srl2", "srl1-srl2.2"]
    assert expected["links"]["srl1-srl2"] == {"delay": "1 ms"}
    assert ("topology/links/item", "a link to host leaves the lab") in {
        (each.element, each.reason) for each in written.account.left_out
    }


def test_netlab(tmp_path: Path) -> None:
    _, expected = made(tmp_path, NETLAB, ImportRules(capacity=GBIT))
    # netlab's bandwidth is in kbit/s; a hyphen may be part of a name.
    assert expected["links"] == {
        "r1-r2": {},
        "r2-pe-1": {},
        "r1-pe-1": {"rate": "100 Mbit/s"},
        "r1-r2.2": {"between": ["r1", "r2"]},
    }


def test_what_is_imported_keeps_its_sum_and_can_be_scaled(tmp_path: Path) -> None:
    rows = "".join(f"d{n} {n % 3} {(n + 1) % 3} 9000000\n" for n in range(3))
    (tmp_path / "d").write_text("DEMANDS 3\nlabel src dest bw\n" + rows)
    _, expected = made(tmp_path, REPETITA, demands=tmp_path / "d")
    # 27 Gbit/s are more than 5: a tenth of it is run.
    assert expected["scale"] == "10 %"
    assert [each["rate"] for each in expected["demands"].values()] == ["9 Gbit/s"] * 3


def test_demands_that_no_path_has_room_for_follow_ip_routing(tmp_path: Path) -> None:
    # 2 x 400 Mbit/s from A to C, where B.1-C has 155 Mbit/s.
    text = SNDLIB_NATIVE.replace("5.50", "400")
    _, expected = made(tmp_path, text, ImportRules(capacity="module", unit=10**6))
    assert expected["te"] == {"unplaced": "igp"}
    _, expected = made(tmp_path, SNDLIB_NATIVE, ImportRules(capacity="module", unit=10**6))
    assert "te" not in expected


def test_names_that_are_long_or_look_alike_give_links_with_names_of_their_own(
    tmp_path: Path,
) -> None:
    long, like = "L" * 60, "x²"
    text = SNDLIB_NATIVE.replace("B.1", long).replace("C", like)
    text = text.replace("DEMANDS (\n", "DEMANDS (\n", 1).replace("  A (", "  x2 ( 3 3 )\n  A (", 1)
    text = text.replace("LINKS (\n", "LINKS (\n  L4 ( A x2 ) 9.00 0 0 0 ( )\n")
    written, _ = made(tmp_path, text, ImportRules(capacity="module", unit=10**6))
    nodes = load(f"{written.text}\n").nodes
    assert sorted(nodes) == ["A", "L" * 29, "x2", "x²_2"]


def test_many_demands_stand_in_a_table_beside(tmp_path: Path) -> None:
    nodes = "".join(f"  N{n} ( {n} 0 )\n" for n in range(6))
    links = "".join(f"  L{n} ( N{n} N{n + 1} ) 10 0 0 0 ( )\n" for n in range(5))
    demands = "".join(
        f"  D{a}_{b} ( N{a} N{b} ) 1 0.1 UNLIMITED\n" for a in range(6) for b in range(6) if a != b
    )
    text = f"NODES (\n{nodes})\nLINKS (\n{links})\nDEMANDS (\n{demands})\n"
    written, expected = made(tmp_path, text, ImportRules(unit=10**6), matrix_file="net.demands.csv")
    assert expected["demands"] == {"matrix": {"file": "net.demands.csv", "class": "data"}}
    assert written.matrix.splitlines()[:2] == ["from,to,rate", "N0,N1,100 kbit/s"]
    assert written.matrix.count("\n") == 31
    assert "--unit" in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SNDLIB_XML.replace("<network ", '<!DOCTYPE n [<!ENTITY a "b">]><network ', 1), "net:2:"),
        (GRAPHML.replace("<graphml ", '<!DOCTYPE n SYSTEM "x"><graphml ', 1), "net:2:"),
        (SNDLIB_NATIVE.replace("( A C ) 2", "( A c ) 2"), "there is no node c; did you mean C?"),
        # Two routing units of 6,000,000 Mbit/s each; 3.2e15 us are 101 years.
        (
            SNDLIB_NATIVE.replace("5.50", "6e6"),
            "net:19:1: the demand from A to C is larger than 10 Tbit/s: 1.2e+13 bit/s",
        ),
        (
            REPETITA.replace("1000000 2000", "1000000 3.2e15"),
            "net:9:1: the delay is longer than 100 years: 3.2e+09 s",
        ),
        (
            REPETITA.replace("1000000 2000", "1e11 2000"),
            "net:9:1: the capacity of the link from R1 to R2 is larger than 10 Tbit/s: 1e+14 bit/s",
        ),
        (REPETITA.replace("0 1 10", "0 1 4294967297"), "net:9:1: the weight is larger than 42949"),
        (re.sub("srl2(:e|, i)", r"srl1\1", CONTAINERLAB), "no link joins two nodes"),
        (SNDLIB_NATIVE.replace("5.50", "-5.50"), "the demand from A to C is negative: -11"),
        (SNDLIB_NATIVE.replace("622.00 0.00 0.00 0.00 ( )", "-1 0 0 0 ( )"), "is negative"),
        (SNDLIB_NATIVE.replace("C ( 0.0 1.0 )", "C ( 0.0 x )"), "net:10:1: y must be a number"),
        (SNDLIB_NATIVE.replace("  B.1 ( 1.0 0.0 )", "  A ( 1.0 0.0 )"), "node A occurs twice"),
        (SNDLIB_NATIVE.replace("L2 ( B.1 C ) 0.00", "L2 ( B.1 A ) 9.00"), "the largest: C"),
        (REPETITA.replace("edge_3 2 1", "edge_3 1 2"), "the link from R2 to R3 has no way back"),
        (REPETITA.replace("edge_3 2", "edge_3 9"), "there is no node 9; they are numbered 0 to 2"),
        (GML[:-3], "not GML"),
        ("graph [ node [ id 0 label \"A\" ] edge [ source 0 target 1 ] ]", "there is no node 1"),
        (CONTAINERLAB.replace("srl2:e1-1", "srl3:e1-1"), "there is no node srl3; did you mean srl"),
        ("topology: !!python/object:os.system {}", "tags are not allowed"),
        ("hello", "the format is not recognised"),
        ("", "the format is not recognised"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refused(tmp_path, text, ImportRules(capacity="module", unit=10**6))


def test_the_largest_part_of_a_network_of_islands(tmp_path: Path) -> None:
    text = REPETITA.replace("NODES 3", "NODES 4").replace("R3 12.0", "X 0.0 0.0\nR3 12.0")
    text = text.replace("1 2 1 ", "1 3 1 ").replace("2 1 1 ", "3 1 1 ")
    assert "2 parts that no link joins; outside the largest: X" in refused(tmp_path, text)
    _, expected = made(tmp_path, text, ImportRules(largest_part=True))
    assert list(expected["nodes"]) == ["R1", "R2", "R3"]


FILES = {
    "sndlib-xml": SNDLIB_XML,
    "sndlib-native": SNDLIB_NATIVE,
    "gml": GML,
    "graphml": GRAPHML,
    "repetita": REPETITA,
    "containerlab": CONTAINERLAB,
    "netlab": NETLAB,
    "brite": BRITE,
    "rocketfuel": CCH,
    "pyntm": PYNTM,
    "link-list": LINK_LIST,
    "edge-list": EDGE_LIST,
    "node-link": NODE_LINK,
    "yed": YED,
}
TEXTS = list(FILES.values())


@settings(max_examples=50, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    at=st.floats(0, 1),
    length=st.integers(0, 12),
    put=st.sampled_from(
        ["", "(", "]", "<a>", "&x;", "-1", "nan", "1e999", "\0", "é", "²", "A", "A" * 90, '"']
    ),
)
def test_whatever_is_read_is_a_scenario_or_a_fault(
    tmp_path_factory: pytest.TempPathFactory, text: str, at: float, length: int, put: str
) -> None:
    start = int(at * len(text))
    file = tmp_path_factory.mktemp("fuzz") / "net"
    assert loads_or_is_a_fault(file, text[:start] + put + text[start + length :])


def loads_or_is_a_fault(file: Path, text: str) -> bool:
    """Whether a file is imported as a scenario that loads, or refused for what stands in it."""
    file.write_text(text, "utf-8")
    try:
        written = read_network(file, ImportRules(capacity=GBIT, unit=10**6, largest_part=True))
    except ImportFault as fault:
        return "would not load" not in str(fault)
    return bool(load(f"{written.text}\n").links)


@pytest.mark.parametrize("text", TEXTS, ids=list(FILES))
def test_each_number_of_a_file_may_be_far_out(tmp_path: Path, text: str) -> None:
    for at in re.finditer(r"(?<![\w.])\d+(\.\d+)?", text):
        for far in ("0", "-1", "1e-9", "1e15", "1e308", "1e999", "9" * 14, "9" * 5000):
            changed = text[: at.start()] + far + text[at.end() :]
            assert loads_or_is_a_fault(tmp_path / "net", changed), (at[0], far)


def test_topohub_by_name() -> None:
    pytest.importorskip("topohub")
    found = read_topology("topohub:sndlib/pdh")
    # SNDlib's pdh: 11 nodes, 34 links, 24 demands of 4621 in all.
    assert (len(found.nodes), len(found.links), len(found.demands)) == (11, 34, 24)
    assert sum(each.value for each in found.demands) == 4621
    with pytest.raises(ImportFault, match="did you mean pdh"):
        read_topology("topohub:sndlib/pdhh")
    with pytest.raises(ImportFault, match="no name"):
        read_topology("topohub:../../etc/passwd")


@pytest.mark.parametrize("name", ["Abvt", "BtEurope", "Geant2012", "Cwix"])
def test_topohub_graphs_whose_ids_have_gaps_or_whose_labels_repeat(name: str) -> None:
    pytest.importorskip("topohub")
    file = files("topohub") / "data" / "topozoo" / f"{name}.json"
    data = json.loads(file.read_text("utf-8"))
    written = read_network(f"topohub:topozoo/{name}", ImportRules(capacity=GBIT))
    expected, _ = parse_yaml(written.text, "made")
    assert len(expected["nodes"]) == len(data["nodes"])
    assert len(expected["links"]) == len(data["edges"])
    # The k-th edge joins the nodes that bear its ids, wherever they stand in the list.
    by_id = {each["id"]: name for each, name in zip(data["nodes"], expected["nodes"], strict=True)}
    edge, link = data["edges"][-1], list(expected["links"])[-1]
    assert link == f"{by_id[edge['source']]}-{by_id[edge['target']]}"
