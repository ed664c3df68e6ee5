"""Scenarios written to files: nothing is written that does not load."""

from pathlib import Path

import pytest

from trunkline.scenario import ScenarioError, load
from trunkline.scenario.save import read_scenario_tables, save

TEXT = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
demands: {table: {file: tables/demands.csv}}
flows:
  f: {agent: tcp, from: A, to: B, transfers: {every: 10 ms, size: {cdf: sizes.csv}}}
run: {duration: 1 s}
"""
TABLES = {
    "tables/demands.csv": b"from,to,rate\nA,B,1 kbit/s\n",
    "sizes.csv": b"size,share\n1 kB,0 %\n2 kB,100 %\n",
}


def test_a_scenario_is_written_with_the_tables_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "new" / "net.yaml"
    save(TEXT, file, TABLES | {"other.csv": b"x"})
    assert load(file).demands["table"].file == "tables/demands.csv"
    assert read_scenario_tables(load(file)) == TABLES
    assert not (file.parent / "other.csv").exists()


def test_nothing_is_written_that_does_not_load(tmp_path: Path) -> None:
    file = tmp_path / "new" / "net.yaml"
    with pytest.raises(ScenarioError, match=r"net.yaml:3:21: error\[unit\]"):
        save(TEXT.replace("1 Mbit/s", "1"), file, TABLES)
    with pytest.raises(ScenarioError, match="cannot be read"):
        save(TEXT, file, {})
    assert list(tmp_path.iterdir()) == []


def test_what_stands_there_is_kept_unless_it_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    save(TEXT, file, TABLES)
    save(TEXT, file, TABLES)
    (tmp_path / "sizes.csv").write_bytes(b"another\n")
    file.unlink()
    with pytest.raises(FileExistsError, match=r"sizes.csv exists"):
        save(TEXT, file, TABLES)
    assert not file.exists()
    assert (tmp_path / "sizes.csv").read_bytes() == b"another\n"
    save(TEXT, file, TABLES, overwrite=True)
    assert read_scenario_tables(load(file)) == TABLES
