"""Tables of demands whose nodes have the names of a published network, or those of its import."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from trunkline.importers.network import ImportRules, read_network
from trunkline.scenario import ScenarioError
from trunkline.scenario.fields import MAX_NAME_CHARACTERS
from trunkline.scenario.resolved.replicas import BYTES_PER_FLOW, MEMORY_LIMIT
from trunkline.scenario.units import MAX_RATE_BIT_S

GML = """\
graph [
  node [ id 0 label "Salt Lake" ]
  node [ id 1 label "St. Louis" ]
  edge [ source 0 target 1 ]
]
"""
TABLES = (
    "from,to,rate\nSalt Lake,St. Louis,5 Mbit/s\nSt. Louis,Salt Lake,3 Mbit/s\n",
    "from,to,rate\nSalt_Lake,St._Louis,5 Mbit/s\nSt._Louis,Salt_Lake,3 Mbit/s\n",
    "from,to,rate\nSalt_Lake,St. Louis,5 Mbit/s\nSt._Louis,Salt Lake,3 Mbit/s\n",
)
NETWORK = """\
trunkline: 1
nodes: [Salt_Lake, St._Louis]
links: {Salt_Lake-St._Louis: {rate: 10 Mbit/s, between: [Salt_Lake, St._Louis]}}
traffic: {data: {agent: udp, size: 500 B}}
demands: {matrix: {file: m.csv, class: data}}
run: {duration: 1 s}
"""


THREE_IN_A_LINE = """\
trunkline: 1
nodes: [A, B, C]
links: {A-B: {rate: 10 Mbit/s}, B-C: {rate: 10 Mbit/s}}
traffic: {data: {agent: udp, arrivals: poisson}}
run: {duration: 1 s}
"""


def demands_of(scenario: tl.Scenario) -> dict[tuple[str, str], float]:
    return {(each.source, each.target): each.rate for each in scenario.resolve().demands.values()}


EXPECTED = {("Salt_Lake", "St._Louis"): 5_000_000, ("St._Louis", "Salt_Lake"): 3_000_000}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_labels_or_names_of_an_import(tmp_path: Path, table: str) -> None:
    (tmp_path / "m.csv").write_text(table, "utf-8")
    (tmp_path / "net.yaml").write_text(NETWORK, "utf-8")
    assert demands_of(tl.load(tmp_path / "net.yaml")) == EXPECTED


@pytest.mark.parametrize("table", TABLES)
def test_the_matrix_of_an_import_has_labels_or_names(tmp_path: Path, table: str) -> None:
    (tmp_path / "n.gml").write_text(GML, "utf-8")
    (tmp_path / "m.csv").write_text(table, "utf-8")
    rules = ImportRules(10**8, 10**6)
    made = read_network(tmp_path / "n.gml", rules, demands=tmp_path / "m.csv")
    (tmp_path / "net.yaml").write_text(made.text, "utf-8")
    assert demands_of(tl.load(tmp_path / "net.yaml")) == EXPECTED


def test_a_name_of_no_node_is_still_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("from,to,rate\nSalt Flat,St. Louis,1 Mbit/s\n", "utf-8")
    (tmp_path / "net.yaml").write_text(NETWORK, "utf-8")
    with pytest.raises(ScenarioError, match=r"there is no node Salt Flat \(line 2 of m.csv\)"):
        tl.load(tmp_path / "net.yaml")


@pytest.mark.parametrize(("count", "names"), [(1, ["d"]), (2, ["d[0]", "d[1]"])])
def test_a_demand_of_one_flow_keeps_its_name_and_more_are_numbered(
    count: int, names: list[str]
) -> None:
    text = f"""\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s}}}}
traffic: {{data: {{agent: tcp, flows: {count}}}}}
demands: {{d: {{from: A, to: B, rate: 4 Mbit/s, class: data}}}}
run: {{duration: 1 s}}
"""
    assert [name for name, _ in tl.load(text).resolve().flow_names] == names


@pytest.mark.parametrize(
    "length", [MAX_NAME_CHARACTERS - 1, MAX_NAME_CHARACTERS, MAX_NAME_CHARACTERS + 1]
)
def test_a_demand_of_a_table_has_the_names_of_its_nodes_if_they_fit(
    tmp_path: Path, length: int
) -> None:
    """Else room for a number is left, so that every name made is one of the language."""
    ends = "a" * (length // 2), "b" * (length - length // 2 - 1)
    text = f"""\
trunkline: 1
nodes: [{", ".join(ends)}]
links: {{l: {{between: [{", ".join(ends)}], rate: 10 Mbit/s}}}}
traffic: {{data: {{agent: udp, arrivals: poisson}}}}
demands: {{matrix: {{file: m.csv, class: data}}, twice: {{file: m.csv, class: data}}}}
run: {{duration: 1 s}}
"""
    (tmp_path / "m.csv").write_text(f"from,to,rate\n{ends[0]},{ends[1]},1 Mbit/s\n", "utf-8")
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    name = "-".join(ends)
    assert len(name) == length
    stem = name if length <= MAX_NAME_CHARACTERS else name[: MAX_NAME_CHARACTERS - 6]
    assert [*tl.load(tmp_path / "net.yaml").resolve().demands] == [stem, f"{stem}.2"]


@pytest.mark.parametrize(
    ("rate", "scale", "found"),
    [
        (1, 0.5001, 1),
        (1, 0.4999, None),
        (MAX_RATE_BIT_S, 1.0, MAX_RATE_BIT_S),
        (MAX_RATE_BIT_S // 2, 2.0, MAX_RATE_BIT_S),
        (MAX_RATE_BIT_S // 2 + 1, 2.0, None),
    ],
)
def test_a_demand_times_its_scale_is_a_rate_of_the_language_both_ends_included(
    rate: int, scale: float, found: int | None
) -> None:
    demand = f"{{from: A, to: B, rate: {rate} bit/s, scale: {scale}}}"
    text = f"{THREE_IN_A_LINE}demands: {{d: {demand}}}"
    if found is None:
        with pytest.raises(ScenarioError, match="after its scale"):
            tl.loads(text)
    else:
        assert demands_of(tl.loads(text)) == {("A", "B"): found}


@pytest.mark.parametrize("ends", ["", "from: A", "to: B", "from: A, to: B"])
@pytest.mark.parametrize("kind", ["rate: 1 Mbit/s", "lognormal: {total: 3 Mbit/s}"])
def test_a_rate_has_both_ends_and_a_matrix_none(kind: str, ends: str) -> None:
    text = f"{THREE_IN_A_LINE}demands: {{d: {{{', '.join(filter(None, (kind, ends)))}}}}}"
    if ends.count(":") == (2 if kind.startswith("rate") else 0):
        assert len(tl.loads(text).resolve().demands) == (1 if ends else 6)
    else:
        with pytest.raises(ScenarioError, match="from and to go with rate"):
            tl.loads(text)


def test_the_lognormal_matrix_of_two_nodes_gives_each_half_of_the_total() -> None:
    """Demands are in proportion to the product of two masses, which has no order."""
    text = THREE_IN_A_LINE.replace("[A, B, C]", "[A, B]").replace(", B-C: {rate: 10 Mbit/s}", "")
    found = demands_of(tl.loads(f"{text}demands: {{d: {{lognormal: {{total: 3 Mbit/s}}}}}}"))
    assert found == {("A", "B"): 1_500_000, ("B", "A"): 1_500_000}


@pytest.mark.parametrize(
    "kind",
    ["gravity: {out: {A: 1 Mbit/s, B: 1 Mbit/s, C: 1 Mbit/s}}", "lognormal: {total: 3 Mbit/s}"],
)
@pytest.mark.parametrize(("room", "is_refused"), [(0, False), (-1, True)])
def test_a_matrix_of_n_nodes_has_n_times_n_less_1_demands_in_memory(
    kind: str, room: int, is_refused: bool
) -> None:
    text = f"""\
trunkline: 1
nodes: [A, B, C]
links: {{A-B: {{rate: 10 Mbit/s}}, B-C: {{rate: 10 Mbit/s}}}}
traffic: {{data: {{agent: udp, arrivals: poisson}}}}
demands: {{matrix: {{{kind}, class: data}}}}
run: {{duration: 1 s}}
"""
    before = MEMORY_LIMIT.set(3 * 2 * BYTES_PER_FLOW + room)
    try:
        if is_refused:
            with pytest.raises(ScenarioError, match="a full mesh of 3 nodes has 6 demands"):
                tl.loads(text).resolve()
        else:
            assert len(tl.loads(text).resolve().demands) == 6
    finally:
        MEMORY_LIMIT.reset(before)


@pytest.mark.parametrize(("room", "is_refused"), [(0, False), (-1, True)])
def test_replicas_are_written_out_as_long_as_they_fit_into_memory(
    room: int, is_refused: bool
) -> None:
    text = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
flows:
  one: {agent: udp, from: A, to: B, rate: 1 kbit/s}
  many: {agent: udp, from: A, to: B, rate: 1 kbit/s, replicate: 4}
run: {duration: 1 s}
"""
    before = MEMORY_LIMIT.set(5 * BYTES_PER_FLOW + room)
    try:
        if is_refused:
            with pytest.raises(ScenarioError, match="5 flows need about"):
                tl.loads(text).resolve()
        else:
            assert len(tl.loads(text).resolve().flow_names) == 5
    finally:
        MEMORY_LIMIT.reset(before)


@pytest.mark.parametrize(("ways", "more"), [(6, ""), (7, " and 1 more"), (9, " and 3 more")])
def test_of_a_cut_the_first_six_arcs_are_named(ways: int, more: str) -> None:
    middle = [f"M{each}" for each in range(ways)]
    links = ", ".join(f"A-{each}: {{}}, {each}-Z: {{}}" for each in middle)
    text = f"""\
trunkline: 1
nodes: [A, Z, {", ".join(middle)}]
defaults: {{link: {{rate: 1 Mbit/s}}}}
links: {{{links}}}
paths: {{wide: {{route: auto, from: A, to: Z, bandwidth: 2 Mbit/s}}}}
run: {{duration: 1 s}}
"""
    named = ", ".join(f"A->{each}" for each in middle[:6])
    with pytest.raises(ScenarioError, match=f"the cut is {named}{more}\n"):
        tl.loads(text).resolve()


@pytest.mark.parametrize(
    ("kind", "rates"),
    [
        # What each sends is shared out by what the others receive, without any to itself.
        ("gravity: {out: {A: 3 bit/s, B: 3 bit/s}, in: {C: 6 bit/s}}", {"A-C": 3, "B-C": 3}),
        ("gravity: {out: {A: 4 bit/s, B: 4 bit/s}}", {"A-B": 4, "B-A": 4}),
    ],
)
def test_a_gravity_matrix_has_the_sums_of_its_rows_and_columns(
    kind: str, rates: dict[str, int]
) -> None:
    text = THREE_IN_A_LINE + f"demands: {{matrix: {{{kind}, class: data}}}}\n"
    found = tl.loads(text).resolve().demands
    assert {name: each.rate for name, each in found.items()} == rates


@pytest.mark.parametrize("nodes", ["A, B", "A, B, C"])
def test_a_lognormal_matrix_has_its_total(nodes: str) -> None:
    """Each demand is rounded to a bit a second."""
    text = THREE_IN_A_LINE.replace("A, B, C", nodes)
    if "C" not in nodes:
        text = text.replace(", B-C: {rate: 10 Mbit/s}", "")
    text += "demands: {matrix: {lognormal: {total: 3 Mbit/s}, class: data}}\n"
    found = tl.loads(text).resolve().demands.values()
    assert sum(each.rate for each in found) == pytest.approx(3_000_000, abs=3)


def test_demands_of_a_table_are_left_out_where_they_are_nothing(tmp_path: Path) -> None:
    rows = [
        "A,B,0 bit/s",
        "A,B,1 bit/s",
        "B,A,0 bit/s",
        "A,A,5 bit/s",
        "B,B,0 bit/s",
        "A,A,1 bit/s",
    ]
    (tmp_path / "m.csv").write_text("\n".join(["from,to,rate", *rows, ""]), "utf-8")
    text = NETWORK.replace("Salt_Lake", "A").replace("St._Louis", "B")
    (tmp_path / "net.yaml").write_text(text, "utf-8")
    scenario = tl.load(tmp_path / "net.yaml")
    assert demands_of(scenario) == {("A", "B"): 1}
    assert [each.message for each in scenario.warnings if "left out" in each.message] == [
        "3 demands of zero are left out",
        "2 demands of a node to itself are left out",
    ]
