"""Demands in files of their own: forms that the field writes, and several intervals of time."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from network_files import SNDLIB_NATIVE

from trunkline.importers import ImportFault
from trunkline.importers.network import ImportedNetwork, ImportRules, read_network
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.scenario.yaml_text import parse_yaml

MBIT = 10**6
NETWORK = "nodes: [A, B, C]\nlinks: [A-B, B-C]\n"
RULES = ImportRules(10**9, MBIT)


def read(
    tmp_path: Path, matrix: str | Path, rules: ImportRules = RULES, **more: Any
) -> tuple[ImportedNetwork, dict[str, str]]:
    """The network, and the rate of each demand by its name."""
    (tmp_path / "net").write_text(NETWORK)
    file = tmp_path / "matrix" if isinstance(matrix, str) else matrix
    if isinstance(matrix, str):
        file.write_text(matrix, "utf-8")
    made = read_network(tmp_path / "net", rules, demands=file, **more)
    demands = parse_yaml(made.text, "made")[0]["demands"]
    return made, {name: each["rate"] for name, each in demands.items()}


ALL = {"A-B": "1 Mbit/s", "A-C": "2 Mbit/s", "B-A": "1 Mbit/s", "B-C": "3 Mbit/s",
       "C-A": "2 Mbit/s", "C-B": "3 Mbit/s"}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        ",A,B,C\nA,0,1,2\nB,1,0,3\nC,2,3,0\n",
        "\ufeff;A;B;C\nA;0;1,0;2\nB;1;0;3\nC;2;3;\n",
        "from\\to\tA\tB\tC\nA\t-\t1\t2\nB\t1\t-\t3\nC\t2\t3\t-\n",
        "0,1,2\n1,0,3\n2,3,0\n",
        "0 1 2\n1 0 3\n2 3 0\n".replace(" ", ";"),
        "from,to,rate\nA,B,1\nA,C,2\nB,A,1\nB,C,3\nC,A,2\nC,B,3\n",
        "rate,to,from\n1,B,A\n2,C,A\n1,A,B\n3,C,B\n2,A,C\n3,B,C\n",
        "Source;Destination;Traffic [kbit/s]\nA;B;1000\nA;C;2000\nB;A;1000,0\nB;C;3000\nC;A;2000\n"
        "C;B;3000\n",
        "src,dst,demand\nA,B,1 Mbit/s\nA,C,2M\nB,A,1000 kbit/s\nB,C,0.003 Gbit/s\nC,A,2\nC,B,3\n",
    ],
)
def test_input_06_numbers_without_a_unit_take_that_of_the_option(tmp_path: Path, text: str) -> None:
    _, demands = read(tmp_path, text)
    assert demands == ALL


def test_06_a_matrix_without_unit_needs_the_option_and_one_with_units_ignores_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(ImportFault, match="in which unit its demands are: give --unit"):
        read(tmp_path, "from,to,rate\nA,B,1\n", ImportRules(10**9))
    _, demands = read(tmp_path, "from,to,rate\nA,B,1 kbit/s\n")
    assert demands == {"A-B": "1 kbit/s"}


def test_classes_as_a_column_and_as_columns_of_their_own(tmp_path: Path) -> None:
    written, _ = read(tmp_path, "from,to,rate,class\nA,B,1,EF\nA,B,2,web browsing\nB,C,3,EF\n")
    made = parse_yaml(written.text, "made")[0]
    assert {name: (each["rate"], each["class"]) for name, each in made["demands"].items()} == {
        "A-B": ("1 Mbit/s", "EF"), "A-B.2": ("2 Mbit/s", "web_browsing"), "B-C": ("3 Mbit/s", "EF"),
    }  # fmt: skip
    assert made["traffic"]["EF"]["dscp"] == "EF"
    assert "dscp" not in made["traffic"]["web_browsing"]
    written, demands = read(tmp_path, "from,to,EF,AF11,BE\nA,B,1,2,3\nB,C,,5,0\n")
    assert demands == {"A-B": "1 Mbit/s", "A-B.2": "2 Mbit/s", "A-B.3": "3 Mbit/s",
                       "B-C": "5 Mbit/s"}  # fmt: skip
    compiled = compile(load(written.text))
    # RFC 3246, 2597: EF is 46, AF11 is 10.
    assert [flow["dscp"] for flow in compiled.flows] == [46, 10, 0, 10]


HOURS = "from,to,00:00,01:00,02:00,03:00\nA,B,4,1,3,2\nB,C,1,9,1,1\n"


@pytest.mark.parametrize(
    ("interval", "rates"),
    [
        ("peak", [4, 9]),
        ("mean", [2.5, 3]),
        # Nearest rank of 4 values: 50 % is the second, 75 % the third, 76 % the fourth.
        ("50 %", [2, 1]),
        ("p75", [3, 1]),
        ("76%", [4, 9]),
        ("busiest", [1, 9]),
        ("02:00", [3, 1]),
    ],
)
def test_one_value_of_several_hours_by_the_rule_that_was_chosen(
    tmp_path: Path, interval: str, rates: list[float]
) -> None:
    expected = [f"{rate:g} Mbit/s" for rate in rates]
    long = "time,from,to,rate\n" + "".join(
        f"{time},{row[0]},{row[1]},{value}\n"
        for row in list(csv.reader(io.StringIO(HOURS)))[1:]
        for time, value in zip(HOURS.partition("\n")[0].split(",")[2:], row[2:], strict=True)
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, time in enumerate(("00:00", "01:00", "02:00", "03:00")):
        rows = list(csv.reader(io.StringIO(HOURS)))[1:]
        lines = [f"{row[0]},{row[1]},{row[2 + number]}" for row in rows]
        (folder / time).write_text("from,to,rate\n" + "\n".join(lines))
    for source in (HOURS, long, folder):
        written, demands = read(tmp_path, source, interval=interval)
        assert list(demands.values()) == expected
        assert any("interval" in each.render() for each in written.account.assumed)


def test_several_hours_without_a_rule_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFault, match=r"of 4 intervals \(00:00, 01:00, 02:00, ...\): give --i"):
        read(tmp_path, HOURS)
    with pytest.raises(ImportFault, match="there is no interval 7; known: 00:00, 01:00"):
        read(tmp_path, HOURS, interval="7")


def write_matrix_of_sndlib(values: Any, unit: str = "<unit>MBITPERSEC</unit>") -> str:
    demands = "".join(
        f'<demand id="{"ABC"[a]}_{"ABC"[b]}"><source>{"ABC"[a]}</source><target>{"ABC"[b]}</target>'
        f"<demandValue>{value}</demandValue></demand>"
        for (a, b), value in np.ndenumerate(values)
        if a != b
    )
    nodes = '<node id="A"><coordinates><x>1</x><y>2</y></coordinates></node>'
    return (
        '<network xmlns="http://sndlib.zib.de/network" version="1.0"><meta><granularity>5min'
        f"</granularity><time>20240301-0000</time>{unit}</meta><networkStructure>"
        f"<nodes>{nodes}</nodes></networkStructure><demands>{demands}</demands></network>"
    )


def test_input_05_a_matrix_of_sndlib_is_read_for_a_network_with_links(tmp_path: Path) -> None:
    values = np.array([[0, 0, 1.5], [0, 0, 0], [2.5, 0, 0]])
    # The unit of the matrix goes before that of the option.
    rules = ImportRules(10**9, 10**9)
    written, demands = read(tmp_path, write_matrix_of_sndlib(values), rules)
    assert demands == {"A-C": "1.5 Mbit/s", "C-A": "2.5 Mbit/s"}
    left_out = {each.element for each in written.account.left_out}
    assert {"matrix: networkStructure", "matrix: meta/time", "demands of zero"} <= left_out
    native = SNDLIB_NATIVE.replace("B.1", "B")
    _, demands = read(tmp_path, native)
    assert demands == {"A-C": "11 Mbit/s"}
    (tmp_path / "net2").write_text("nodes: [A, B]\nlinks: [A-B]\n")
    with pytest.raises(ImportFault, match="there is no node C"):
        read_network(tmp_path / "net2", RULES, demands=tmp_path / "matrix")


@pytest.mark.parametrize("percentile", [50, 90, 95, 100])
def test_05_a_folder_of_dynamic_matrices_has_the_percentiles_of_numpy(
    tmp_path: Path, percentile: int
) -> None:
    folder = tmp_path / "dynamic"
    folder.mkdir()
    drawn = random.Random(7)
    series = np.array([[[drawn.randint(1, 99) for _ in "ABC"] for _ in "ABC"] for _ in range(24)])
    for number, values in enumerate(series):
        (folder / f"net-{number:02}.xml").write_text(write_matrix_of_sndlib(values))
    _, demands = read(tmp_path, folder, interval=f"{percentile} %")
    expected = np.percentile(series, percentile, axis=0, method="inverted_cdf")
    off_diagonal = [value for (a, b), value in np.ndenumerate(expected) if a != b]
    assert [int(rate.split()[0]) for rate in demands.values()] == off_diagonal
    total = sum(
        float(each.text or 0)
        for file in folder.iterdir()
        for each in ElementTree.parse(file).iter("{http://sndlib.zib.de/network}demandValue")
    )
    assert total == sum(value for day in series for (a, b), value in np.ndenumerate(day) if a != b)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from,to,rate\nA,B,-1\n", "2:1: a demand cannot be negative: -1"),
        ("from,to,rate\nA,X,1\n", "2:1: there is no node X"),
        ("from,to,rate\nA,B,much\n", "2:1: a demand is no capacity: 'much'; known: 10G"),
        ("from,to,rate\nA,B,1,2\n", "2:1: 4 cells, where the header has 3"),
        ("x,y,rate\n1,B,2\n", "1:1: the first line must name the columns from, to and rate"),
        (",A,B\nA,0,1\nA,1,0\n", "3:1: node A has two lines"),
        (",A,A\nA,0,1\n", "1:1: node A has two columns"),
        (",A,B\nC,0,1\n", "2:1: node C has no column"),
        (",A,B\nA,0\n", "2:1: a node and 2 values are expected"),
        ("0,1\n1,0\n", "a matrix without names has a line for each of 3 nodes, not 2"),
        ("", "1:1: the file holds no demand"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ImportFault) as fault:
        read(tmp_path, text)
    assert message in str(fault.value)


def test_demands_of_repetita_number_the_nodes_of_any_network(tmp_path: Path) -> None:
    _, demands = read(tmp_path, "DEMANDS 2\nlabel src dest bw\nd0 0 2 300\nd1 2 1 1000\n")
    assert demands == {"A-C": "300 kbit/s", "C-B": "1 Mbit/s"}


def test_unknown_columns_are_left_out(tmp_path: Path) -> None:
    written, _ = read(tmp_path, "from,to,rate,owner,priority\nA,B,1,me,2\nB,C,1,me,2\n")
    left_out = {(each.element, each.count) for each in written.account.left_out}
    assert left_out == {("matrix: demand/owner", 2), ("matrix: demand/priority", 2)} | {
        (each.element, each.count) for each in written.account.left_out if "nodes" in each.element
    }


TABLES = [
    HOURS,
    ",A,B,C\nA,0,1,2\nB,1,0,3\nC,2,3,0\n",
    "0;1;2\n1;0;3\n2;3,5;0\n",
    "time,from,to,rate_mbps,class\n1,A,B,2,EF\n2,B,C,3.5,AF11\n",
    "DEMANDS 1\nlabel src dest bw\nd 0 2 300\n",
    write_matrix_of_sndlib(np.ones((3, 3))),
]


@settings(max_examples=60, deadline=None)
@given(
    text=st.sampled_from(TABLES),
    at=st.floats(0, 1),
    length=st.integers(0, 9),
    put=st.sampled_from(["", ",", ";", "\n", '"', "-1", "1e999", "9" * 5000, "A", "\0", "%", "é"]),
    interval=st.sampled_from([None, "peak", "95 %", "busiest", "1"]),
)
def test_whatever_is_read_as_demands_is_a_scenario_or_a_fault(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    at: float,
    length: int,
    put: str,
    interval: str | None,
) -> None:
    start = int(at * len(text))
    assert is_read_or_refused(
        tmp_path_factory.mktemp("fuzz"), text[:start] + put + text[start + length :], interval
    )


def is_read_or_refused(folder: Path, text: str, interval: str | None) -> bool:
    """Whether demands are imported as a scenario that loads, or refused for what is in the file."""
    (folder / "net").write_text(NETWORK)
    (folder / "matrix").write_text(text, "utf-8")
    try:
        made = read_network(folder / "net", RULES, demands=folder / "matrix", interval=interval)
    except ImportFault as fault:
        return "would not load" not in str(fault)
    return bool(load(made.text).links)
