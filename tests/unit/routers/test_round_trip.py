"""Files that `export` writes, read by `import network`: the same network again."""

from __future__ import annotations

from pathlib import Path

import pytest
from router_designs import SEGMENTS

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


def written(text: str, target: str, folder: Path, *, partial: bool = False) -> Path:
    (export,) = export_routers(load(text), (target,), partial=partial)
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

    def test_omissions_of_the_wire_is_in_the_table(self, tmp_path: Path) -> None:
        table = (written(SMALL, "openconfig", tmp_path) / "omissions.csv").read_text()
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


SIGNALLED = """\
trunkline: 1
name: signalled
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links:
  A-B: {te: {colours: [gold], risks: [duct]}}
  B-C: {te: {reservable: 33 %, colours: [gold]}}
  A-D: {metric: 7}
  D-C: {}
paths:
  p: {route: [A, B, C], bandwidth: 1.5 Mbit/s, setup: 3, hold: 2}
  spare: {route: [A, D, C]}
protections: {spare: {path: p, kind: backup, backup: spare}}
signalling: {kind: rsvp-te}
run: {duration: 1 s, warm_up: 100 ms}
"""


TUNNELS_WITHOUT_QUEUES = SIGNALLED.replace(
    "p: {route: [A, B, C],", "p: {route: auto, from: A, to: C, include_any: [gold],"
)


class TestPaths:
    """Traffic is in no router's file: designs with paths and without flows."""

    def same(self, text: str, target: str, rules: ImportRules, folder: Path) -> tuple[str, str]:
        name = load(text).name
        again = read_back(written(text, target, folder), rules)
        again = again.replace("trunkline: 1\n", f"trunkline: 1\nname: {name}\n")
        return compile(load(again)).hash(), compile(load(text)).hash()

    def test_rfc3209_tunnels_of_openconfig_are_the_paths_of_the_design(
        self, tmp_path: Path
    ) -> None:
        """Route, bandwidth, priorities, the standby, and what links may reserve."""
        again, design = self.same(SIGNALLED, "openconfig", WIRE, tmp_path)
        assert again == design

    def test_rfc3031_static_labels_of_openconfig_are_those_of_the_design(
        self, tmp_path: Path
    ) -> None:
        text = SIGNALLED[: SIGNALLED.index("paths:")] + (
            "paths: {p: {route: [A, B, C], labels: [40]},\n"
            "        q: {route: [C, D, A], labels: [50, 60], php: off},\n"
            "        r: {route: [A, B, C], labels: [70], explicit_null: on}}\n"
            "trunks: {t: {path: p, flows: [f]}, u: {path: q, flows: [g]},\n"
            "         v: {path: r, flows: [h]}}\n"
            "flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s},\n"
            "        g: {agent: udp, from: C, to: A, rate: 1 Mbit/s},\n"
            "        h: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}\n"
            "run: {duration: 1 s, warm_up: 100 ms}\n"
        )
        # What its traffic is a static LSP does not say in these models.
        folder = written(text, "openconfig", tmp_path, partial=True)
        paths = load(read_back(folder, WIRE)).paths
        assert (paths["p"].labels, paths["p"].php) == ((40,), True)
        assert (paths["q"].labels, paths["q"].php) == ((50, 60), False)
        assert (paths["r"].labels, paths["r"].explicit_null) == ((70,), True)
        assert paths["q"].route == ("C", "D", "A")

    @pytest.mark.parametrize("target", ["openconfig", "containerlab"])
    def test_rfc9256_segment_lists_are_the_policies_of_the_design(
        self, target: str, tmp_path: Path
    ) -> None:
        text = SEGMENTS[: SEGMENTS.index("trunks:")].replace(
            "trunkline: 1\n", "trunkline: 1\nname: segments\n"
        )
        text = text.replace("rate: 10 Mbit/s", "rate: 10 Mbit/s, delay: 1 ms")
        text += "run: {duration: 1 s, warm_up: 100 ms}\n"
        rules = WIRE if target == "openconfig" else NO_RULES
        again, design = self.same(text, target, rules, tmp_path)
        assert again == design

    def test_what_an_explicit_route_has_not_is_in_the_account(self, tmp_path: Path) -> None:
        found = read_network(written(TUNNELS_WITHOUT_QUEUES, "openconfig", tmp_path), WIRE)
        assert "colours of tunnels: an explicit route has none" in found.text

    def test_a_tunnel_over_an_unknown_address_is_left_out_by_name(self, tmp_path: Path) -> None:
        file = written(SIGNALLED, "openconfig", tmp_path) / "A.json"
        text = file.read_text()
        at = text.index("named-explicit-path")
        file.write_text(text[:at] + text[at:].replace('"10.0.0.6"', '"10.9.9.9"', 1))
        found = read_network(tmp_path, WIRE)
        assert "path p: a hop of it is no link of its own" in found.text
