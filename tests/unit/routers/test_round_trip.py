"""Files that `export` writes, read by `import network`: the same network again."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from design_differences import list_differences, list_silent_losses
from random_scenarios import draw_scenario_text
from router_designs import QUEUES, SEGMENTS, STATIC, STATIC_ROUTES, TUNNELS

from trunkline.importers import ImportFault
from trunkline.importers.network import ImportRules, read_network
from trunkline.network import compile
from trunkline.routers import export_routers
from trunkline.scenario import Scenario, load

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
EXAMPLES = [
    "calls-in-af",
    "cut-with-ospf",
    "diffserv-over-mpls",
    "does-50-ms-matter",
    "label-stack",
    "make-before-break",
    "md1",
    "priority-voice",
    "protected-ring",
    "repair-until-converged",
    "signalled-repair",
    "trunks",
    "tunnel-models",
    "web-over-restoration",
    "wfq-shares",
]
RANDOM_DESIGNS = 20
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


PORTS_AND_LABELS = """\
trunkline: 1
name: kernel
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, header: 14 B}}
links:
  A-B: {port: core}
  over:
    {between: [B, C], mtu: 1500 B, forward: {port: voice, ingress: edge}, backward: {port: deep}}
ports:
  core:
    scheduler: htb
    classify: [{dscp: EF, class: voice}, {dscp: AF11, class: gold}]
    classes:
      link: {rate: 8 Mbit/s, ceil: 8 Mbit/s, burst: 3 kB}
      voice: {parent: link, rate: 1 Mbit/s, ceil: 2 Mbit/s, queue: {limit: 20 packets}}
      gold: {parent: link, rate: 3 Mbit/s, ceil: 8 Mbit/s, priority: 1, quantum: 3000 B}
      default: {parent: link, rate: 2 Mbit/s, ceil: 8 Mbit/s, priority: 2, queue: {limit: 64 kB}}
  voice:
    scheduler: priority
    classify: [{dscp: EF, class: calls}]
    classes: {calls: {queue: {limit: 7 packets}}, default: {}}
  deep: {queue: {limit: none}}
conditioners:
  edge:
    rules:
      - {dscp: EF, profile: voice}
      - {dscp: [AF21, AF22], profile: data}
      - {dscp: CS1, profile: low}
    profiles:
      voice: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 10 kB}, red: drop}
      data:
        meter: {kind: trtcm, cir: 1 Mbit/s, cbs: 8 kB, pir: 2 Mbit/s, pbs: 16 kB}
        yellow: {dscp: AF22}
        red: drop
      low:
        meter: {kind: rfc4115, cir: 1 Mbit/s, cbs: 8 kB, eir: 2 Mbit/s, ebs: 16 kB}
        red: {dscp: DF}
run: {duration: 1 s, warm_up: 100 ms}
"""


class TestScripts:
    """Queues, policers and labels of each ``setup.sh``."""

    def test_the_network_hash_of_queues_and_policers_is_that_of_the_design(
        self, tmp_path: Path
    ) -> None:
        folder = written(PORTS_AND_LABELS, "containerlab", tmp_path)
        again = load(
            read_back(folder, NO_RULES).replace("trunkline: 1\n", "trunkline: 1\nname: kernel\n")
        )
        assert set(again.ports["core"].classes) == {"link", "voice", "gold", "default"}
        assert compile(again).hash() == compile(load(PORTS_AND_LABELS)).hash()

    @pytest.mark.parametrize(
        ("node", "old", "new", "find"),
        [
            ("A", "classid 10:3 htb rate 3000000bit", "classid 10:3 htb rate 4000000bit",
             lambda found: found.ports["core"].classes["gold"].rate == 4_000_000),
            ("C", "police rate 1000000bit burst 10000b", "police rate 700000bit burst 10000b",
             lambda found: found.conditioners["edge"].profiles["voice"].meter.rate == 700_000),
        ],
        ids=["a-rate", "a-policer"],
    )  # fmt: skip
    def test_what_was_changed_in_a_script_is_that_of_the_design(
        self, node: str, old: str, new: str, find: Any, tmp_path: Path
    ) -> None:
        script = written(PORTS_AND_LABELS, "containerlab", tmp_path) / node / "setup.sh"
        assert old in script.read_text()
        script.write_text(script.read_text().replace(old, new))
        assert find(load(read_back(tmp_path, NO_RULES)))

    def test_rfc3031_labels_of_a_script_are_those_of_the_paths(self, tmp_path: Path) -> None:
        text = STATIC.replace("labels: [40]}", "labels: [40], ttl: pipe}")
        paths = load(read_back(written(text, "containerlab", tmp_path), NO_RULES)).paths
        assert (paths["p"].route, paths["p"].labels) == (("A", "B", "C"), (40,))
        assert (paths["p"].php, paths["p"].ttl) == (True, "pipe")
        assert (paths["q"].labels, paths["q"].php) == ((50, 60), False)

    def test_rfc5036_ldp_of_frr_conf_is_that_of_the_design(self, tmp_path: Path) -> None:
        text = SMALL.replace("run:", "routing: {ldp: {}}\nrun:")
        for target, rules in (("containerlab", NO_RULES), ("openconfig", WIRE)):
            folder = tmp_path / target
            folder.mkdir()
            again = load(read_back(written(text, target, folder), rules))
            assert again.routing.ldp is not None


ONE_HOP = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {metric: 10, loss: 1 %, backward: {loss: 0 %}}, A-C: {}, C-B: {}}
paths: {p: {route: [A, B]}}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""


def test_rfc3031_s3_16_a_path_of_one_hop_has_no_label_but_a_route_of_its_own(
    tmp_path: Path,
) -> None:
    """OSPF leads from A to B over C: packets of the path went that way, and no table said so."""
    folder = written(ONE_HOP, "containerlab", tmp_path)
    assert "via inet 10.0.0.2 dev eth1" in (folder / "A" / "setup.sh").read_text()
    again = load(read_back(folder, NO_RULES))
    assert again.paths["p"].route == ("A", "B")
    arcs = again.resolve().arc_by_name
    # The way back had the loss of the way there.
    assert (arcs["A->B"].options.loss, arcs["B->A"].options.loss) == (0.01, 0.0)


BESIDE_OSPF = STATIC_ROUTES.replace("routing: {igp: off}\n", "")


class TestStaticRoutes:
    @pytest.mark.parametrize(
        ("target", "rules"), [("openconfig", WIRE), ("containerlab", NO_RULES)]
    )
    @pytest.mark.parametrize("text", [STATIC_ROUTES, BESIDE_OSPF], ids=["alone", "beside-ospf"])
    def test_the_routes_and_their_distances_are_those_of_the_design(
        self, text: str, target: str, rules: ImportRules, tmp_path: Path
    ) -> None:
        """A floating one, default routes, one over a link by its name, and no IGP or one."""
        again = load(read_back(written(text, target, tmp_path), rules))
        networks = [json.loads(compile(each).to_json()) for each in (load(text), again)]
        assert networks[0]["routing"] == networks[1]["routing"]
        assert len(networks[0]["routing"]["static"]) == 7
        assert again.rerouting is not None

    def test_a_distance_that_was_changed_in_frr_conf_is_that_of_the_route(
        self, tmp_path: Path
    ) -> None:
        file = written(STATIC_ROUTES, "containerlab", tmp_path) / "A" / "frr.conf"
        assert "ip route 10.255.0.4/32 10.0.0.6 200" in file.read_text()
        file.write_text(file.read_text().replace("10.0.0.6 200", "10.0.0.6 30"))
        nodes = load(read_back(tmp_path, NO_RULES)).nodes
        assert [each.distance for each in nodes["A"].routes] == [1, 30, 1]


class TestOpenConfig:
    def test_the_network_hash_is_that_of_the_design_but_for_the_wire(self, tmp_path: Path) -> None:
        folder = written(SMALL, "openconfig", tmp_path)
        again = load(
            read_back(folder, WIRE).replace("trunkline: 1\n", "trunkline: 1\nname: small\n")
        )
        assert compile(again).hash() == compile(load(SMALL)).hash()
        assert again.links["A-C"].te.colours == ("red",)

    def test_omissions_of_the_wire_are_in_the_table(self, tmp_path: Path) -> None:
        table = (written(SMALL, "openconfig", tmp_path) / "omissions.csv").read_text()
        assert 'A,"rates, delays, losses and headers of links",they are the wire\'s,False' in table

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

    def test_rfc3209_s4_7_4_colours_of_a_tunnel_are_read_where_they_lead_along_its_route(
        self, tmp_path: Path
    ) -> None:
        folder = written(TUNNELS_WITHOUT_QUEUES, "openconfig", tmp_path)
        path = load(read_back(folder, WIRE)).paths["p"]
        assert (path.route, path.include_any) == (("auto",), ("gold",))
        # By hand it follows the spare: links that are not gold.
        file = folder / "A.json"
        document = json.loads(file.read_text())
        (instance,) = document["openconfig-network-instance:network-instances"]["network-instance"]
        lsps = instance["mpls"]["lsps"]["constrained-path"]
        routes = {
            each["name"]: each for each in lsps["named-explicit-paths"]["named-explicit-path"]
        }
        key = "explicit-route-objects"
        routes["p"][key] = routes["spare"][key]
        file.write_text(json.dumps(document))
        found = read_network(folder, WIRE)
        (left_out,) = [each for each in found.account.left_out if "colours" in each.element]
        assert left_out.reason == "its colours alone would lead along another route"
        assert load(found.text).paths["p"].route == ("A", "D", "C")

    def test_a_tunnel_over_an_unknown_address_is_left_out_by_name(self, tmp_path: Path) -> None:
        file = written(SIGNALLED, "openconfig", tmp_path) / "A.json"
        text = file.read_text()
        at = text.index("named-explicit-path")
        file.write_text(text[:at] + text[at:].replace('"10.0.0.6"', '"10.9.9.9"', 1))
        found = read_network(tmp_path, WIRE)
        assert "path p: a hop of it is no link of its own" in found.text


BYPASS = SIGNALLED.replace(
    "kind: backup, backup: spare}",
    "kind: backup, backup: spare}, "
    "around: {path: p, kind: facility-bypass, backup: detour, link: [A-B]}",
).replace(
    "  spare: {route: [A, D, C]}", "  spare: {route: [A, D, C]}\n  detour: {route: [A, D, C, B]}"
)
QUEUES_IN_BYTES = """\
trunkline: 1
name: queues
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {port: core}, B-C: {forward: {port: voice, ingress: edge}}}
ports:
  core:
    scheduler: drr
    classify: [{dscp: [AF11, AF12], class: gold}, {tc: 1, class: gold}]
    classes:
      gold:
        quantum: 4501 B
        queue: {aqm: {kind: red, min_th: 5 kB, max_th: 15 kB, max_p: 0.02, w_q: 0.001953125}}
      default: {quantum: 1500 B}
  voice:
    scheduler: priority
    classify: [{dscp: EF, class: voice}, {tc: 5, class: voice}]
    classes: {voice: {}, default: {}}
conditioners:
  edge:
    rules: [{dscp: EF, profile: voice}, {dscp: AF21, profile: data}, {dscp: CS1, profile: single}]
    profiles:
      voice: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 10 kB}, red: drop}
      data:
        meter: {kind: trtcm, cir: 1 Mbit/s, cbs: 8 kB, pir: 2 Mbit/s, pbs: 16 kB}
        yellow: {dscp: AF22}
        red: drop
      single: {meter: {kind: srtcm, cir: 1 Mbit/s, cbs: 8 kB, ebs: 9 kB}, red: {dscp: DF}}
run: {duration: 1 s, warm_up: 100 ms}
"""
RATES = """\
trunkline: 1
name: rates
nodes: [A, B]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, port: core}}
links: {A-B: {}}
ports:
  core:
    scheduler: htb
    classify: [{dscp: EF, class: voice}, {dscp: AF11, class: gold}, {tc: 5, class: voice}]
    classes:
      link: {rate: 100 %}
      voice: {parent: link, rate: 1 Mbit/s, ceil: 1 Mbit/s, burst: 3 kB}
      gold: {parent: link, rate: 5 Mbit/s, ceil: 10 Mbit/s, priority: 1}
      default: {parent: link, rate: 2 Mbit/s, ceil: 8 Mbit/s, priority: 1}
run: {duration: 1 s, warm_up: 100 ms}
"""


class TestQos:
    """What the models have words for comes back to the last bit of the compiled network."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (QUEUES_IN_BYTES, ["DrrClass", "PriorityClass"]),
            (RATES, ["HtbClass"]),
            (
                RATES.replace("EF, class: voice}, ", "EF, class: voice}, {dscp: 0, class: gold}, "),
                [],
            ),
            (BYPASS, []),
        ],
        ids=["weights-red-policers", "rates", "default-by-name", "bypass"],
    )
    def test_the_network_hash_is_that_of_the_design(
        self, text: str, expected: list[str], tmp_path: Path
    ) -> None:
        name = load(text).name
        again = load(
            read_back(written(text, "openconfig", tmp_path), WIRE).replace(
                "trunkline: 1\n", f"trunkline: 1\nname: {name}\n"
            )
        )
        for kind in expected:
            classes = [each for port in again.ports.values() for each in port.classes.values()]
            assert kind in {type(each).__name__ for each in classes}
        assert compile(again).hash() == compile(load(text)).hash()

    def test_a_weight_that_was_changed_in_a_file_is_that_of_the_design(
        self, tmp_path: Path
    ) -> None:
        folder = written(QUEUES_IN_BYTES, "openconfig", tmp_path)
        for file in folder.glob("*.json"):
            file.write_text(file.read_text().replace('"weight": "4501"', '"weight": "9000"'))
        port = load(read_back(folder, WIRE)).ports["core"]
        assert port.classes["gold"].quantum == 9000  # type: ignore[union-attr]

    def test_queues_without_any_order_are_read_as_listed_and_noted(self, tmp_path: Path) -> None:
        folder = written(RATES, "openconfig", tmp_path)
        for file in folder.glob("*.json"):
            text = file.read_text().replace("two-rate-three-color", "other")
            file.write_text(text.replace("one-rate-two-color", "another"))
        (assumed,) = [
            each
            for each in read_network(folder, WIRE).account.assumed
            if each.element == "schedulers of core"
        ]
        assert assumed.reason.startswith("queues in order of priority")


class TestNothingIsLostSilently:
    """Each difference between a design and what comes back is in a table of the export."""

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_openconfig_lists_all_that_does_not_come_back(self, name: str, tmp_path: Path) -> None:
        check_losses(load(example(name)), "openconfig", WIRE, tmp_path)

    @pytest.mark.parametrize("text", [TUNNELS, STATIC, SEGMENTS, QUEUES])
    def test_openconfig_lists_all_of_designs_of_one_feature(
        self, text: str, tmp_path: Path
    ) -> None:
        check_losses(load(text), "openconfig", WIRE, tmp_path)

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_containerlab_lists_all_that_does_not_come_back(
        self, name: str, tmp_path: Path
    ) -> None:
        check_losses(load(example(name)), "containerlab", NO_RULES, tmp_path)

    @pytest.mark.parametrize("text", [TUNNELS, STATIC, SEGMENTS, QUEUES])
    def test_containerlab_lists_all_of_designs_of_one_feature(
        self, text: str, tmp_path: Path
    ) -> None:
        check_losses(load(text), "containerlab", NO_RULES, tmp_path)

    @pytest.mark.parametrize("seed", range(RANDOM_DESIGNS))
    def test_both_list_all_of_a_random_design(self, seed: int, tmp_path: Path) -> None:
        design = load(draw_scenario_text(random.Random(seed).choice))
        check_losses(design, "openconfig", WIRE, tmp_path / "openconfig")
        check_losses(design, "containerlab", NO_RULES, tmp_path / "containerlab")

    def test_a_loss_that_no_table_lists_is_found(self, tmp_path: Path) -> None:
        """The check itself: without the tables each of them is silent."""
        (export,) = export_routers(load(TUNNELS), ("openconfig",), partial=True)
        again = load(read_back(written(TUNNELS, "openconfig", tmp_path, partial=True), WIRE))
        differences = list_differences(load(TUNNELS), again)
        assert ("ports", "core", "classes", "voice", "queue", "limit") in differences
        assert list_silent_losses(replace(export, omissions=(), rounded=()), differences) == (
            differences
        )


def example(name: str) -> Path:
    return Path(str(files("trunkline").joinpath(f"examples/{name}.yaml")))


def check_losses(design: Scenario, target: str, rules: ImportRules, folder: Path) -> None:
    (export,) = export_routers(design, (target,), partial=True)
    for name, content in export.list_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    found = read_network(folder, rules)
    silent = list_silent_losses(export, list_differences(design, load(found.text)))
    # What the files say, and the import lists as not read.
    if any(each.element.startswith("filters of labels") for each in found.account.left_out):
        silent -= {each for each in silent if each[2:] == ("diffserv",)}
        silent -= {each for each in silent if each[0] == "ports" and each[2] == "classify"}
    for each in found.account.left_out:
        if each.reason == "a path that rides another":
            path = each.element.removeprefix("labels of ")
            silent -= {place for place in silent if place[:2] == ("paths", path)}
    assert silent == set()
