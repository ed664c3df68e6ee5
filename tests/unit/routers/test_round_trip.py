"""Files that `export` writes, read by `import network`: the same network again."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.importers import ImportFault
from trunkline.importers.network import ImportRules, read_network
from trunkline.network import compile
from trunkline.routers import export_routers
from trunkline.scenario import load

SMALL = """\
trunkline: 1
name: small
nodes: [B, A, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links:
  B-A: {metric: 3, backward: {metric: 4}}
  A-C: {te: {colours: [red], risks: [duct]}}
  C-D: {}
  D-B: {metric: 20}
run: {duration: 1 s, warm_up: 100 ms}
"""
UNEVEN = SMALL.replace(
    "C-D: {}", "C-D: {rate: 2 Mbit/s, backward: {rate: 3 Mbit/s, delay: 5 ms, loss: 1 %}}"
)
NO_RULES = ImportRules()
WIRE = ImportRules(capacity=10_000_000, delay=1_000_000)


def written(text: str, target: str, folder: Path) -> Path:
    (export,) = export_routers(load(text), (target,))
    for name, content in export.list_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def read_back(folder: Path, rules: ImportRules) -> str:
    return read_network(folder, rules).text


class TestContainerlab:
    @pytest.mark.parametrize("text", [SMALL, UNEVEN], ids=["even", "uneven"])
    def test_the_network_hash_is_that_of_the_design(self, text: str, tmp_path: Path) -> None:
        folder = written(text, "containerlab", tmp_path)
        again = load(
            read_back(folder, NO_RULES).replace("trunkline: 1\n", "trunkline: 1\nname: small\n")
        )
        assert compile(again).hash() == compile(load(text)).hash()
        assert again.links["A-C"].te.colours == ("red",)
        assert again.links["A-C"].te.risks == ("duct",)

    def test_a_cost_that_was_changed_in_frr_conf_is_the_links_metric(self, tmp_path: Path) -> None:
        folder = written(SMALL, "containerlab", tmp_path)
        file = folder / "C" / "frr.conf"
        file.write_text(file.read_text().replace("ip ospf cost 1\n", "ip ospf cost 9\n", 1))
        again = load(read_back(folder, NO_RULES))
        arc = again.resolve().arc_by_name["C->A"]
        assert (arc.options.metric, again.resolve().arc_by_name["A->C"].options.metric) == (9, 1)


class TestOpenConfig:
    def test_the_network_hash_is_that_of_the_design_but_for_the_wire(self, tmp_path: Path) -> None:
        folder = written(SMALL, "openconfig", tmp_path)
        again = load(
            read_back(folder, WIRE).replace("trunkline: 1\n", "trunkline: 1\nname: small\n")
        )
        assert compile(again).hash() == compile(load(SMALL)).hash()
        assert again.links["A-C"].te.colours == ("red",)

    def test_what_is_not_said_of_the_wire_is_in_the_table(self, tmp_path: Path) -> None:
        table = (written(SMALL, "openconfig", tmp_path) / "not-said.csv").read_text()
        assert "A,rates and delays of links,they are the wire's,False" in table

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("openconfig-interfaces:interfaces", "interfaces", "there is no openconfig-interfaces"),
            ('"router-id"', '"id"', "no router-id"),
            ('"ip": "10.0.0.', '"ip": "10.0.0.x', "is no address"),
            ("{", "{{", "no JSON"),
        ],
    )
    def test_a_file_that_is_broken_is_refused_by_name(
        self, old: str, new: str, message: str, tmp_path: Path
    ) -> None:
        file = written(SMALL, "openconfig", tmp_path) / "A.json"
        file.write_text(file.read_text().replace(old, new, 2))
        with pytest.raises(ImportFault, match=message):
            read_back(tmp_path, WIRE)

    def test_a_folder_with_neither_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ImportFault, match=r"no \*.clab.yml and no \*.json"):
            read_back(tmp_path, WIRE)
