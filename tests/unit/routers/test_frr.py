"""FRR and containerlab: what the files say, and daemons that run from them."""

from __future__ import annotations

import heapq
import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from published_models import check_with_containerlab_schema
from router_designs import QUEUES, SEGMENTS

from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.compiled_plan import compile_plan
from trunkline.linux.plan.router_scripts import write_router_scripts
from trunkline.network import compile
from trunkline.routers import RouterExport, export_routers
from trunkline.routers.laboratory import LaboratoryFault, make_laboratory_runner
from trunkline.scenario import load

RING = """\
trunkline: 1
name: ring
nodes: [R1, R2, R3, R4, R5, R6, R7, R8]
defaults: {link: {rate: 20 Mbit/s}}
links: {R1-R2: {}, R2-R3: {forward: {metric: 4}}, R3-R4: {}, R4-R5: {}, R5-R6: {metric: 9},
        R6-R7: {}, R7-R8: {}, R8-R1: {}}
flows: {f: {agent: udp, from: R1, to: R4, rate: 1 Mbit/s}}
routing: {ospf: {hello: 1 s, dead: 4 s, lsa_interval: 500 ms, spf: {kind: backoff, maximum: 1 s}}}
run: {duration: 1 s}
"""
LABELS = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {}}
paths: {p: {route: [A, B, C], labels: [40, 41], php: off}}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""


def exported(text: str, target: str = "frr", *, partial: bool = False) -> RouterExport:
    (export,) = export_routers(load(text), (target,), partial=partial)
    return export


def lines_of(export: RouterExport, file: str) -> list[str]:
    return export.texts[file].splitlines()


class TestConfiguration:
    def test_rfc8665_prefix_segment_is_the_place_of_the_node_in_the_block(self) -> None:
        lines = lines_of(exported(SEGMENTS), "A/frr.conf")
        assert " segment-routing global-block 16000 23999" in lines
        assert " segment-routing prefix 10.255.0.2/32 index 1" in lines
        assert "pathd=yes" in lines_of(exported(SEGMENTS), "A/daemons")

    def test_rfc9256_policy_has_the_segments_in_order_and_takes_the_trunks_traffic(self) -> None:
        lines = lines_of(exported(SEGMENTS), "S/frr.conf")
        at = lines.index("  segment-list p")
        # A is the second node, T the fourth; A-B is the second link, 10.0.0.4/30.
        assert lines[at + 1 : at + 4] == [
            "   index 10 mpls label 16001",
            "   index 20 nai adjacency 10.0.0.5 10.0.0.6",
            "   index 30 mpls label 16003",
        ]
        assert "  policy color 1 endpoint 10.255.0.4" in lines
        # What ends at T has an address of its own: a policy does not lead to its own end point.
        assert "ip route 10.192.0.1/32 10.255.0.4 color 1" in lines
        assert "ip addr add 10.192.0.1/32 dev lo" in exported(SEGMENTS).texts["T/setup.sh"]

    def test_rfc3630_s2_5_links_are_in_the_te_database_that_pathd_reads(self) -> None:
        lines = lines_of(exported(SEGMENTS), "S/frr.conf")
        at = lines.index(" link-params")
        assert lines[at + 1] == "  enable"
        assert {" mpls-te on", " mpls-te export"} <= set(lines)

    def test_rfc3031_labels_of_a_static_path_are_the_kernels_at_each_router(self) -> None:
        export = exported(LABELS)
        scripts = {node: export.texts[f"{node}/setup.sh"] for node in "ABC"}
        assert "encap mpls 40 via inet 10.0.0.2 dev eth1" in scripts["A"]
        assert "route add 40 as 41 via inet 10.0.0.6 dev eth2" in scripts["B"]
        assert "route add 41 dev lo" in scripts["C"]
        # Addresses and plain routes are FRR's.
        assert not [line for line in scripts["A"].splitlines() if "10.255.0.1/32" in line]

    def test_rfc3209_reservations_and_backups_are_listed_as_omissions(self) -> None:
        text = RING.replace(
            "flows:",
            "paths: {p: {route: [R1, R2, R3]}, b: {route: [R1, R8, R7, "
            "R6, R5, R4, R3]}}\nprotections: {x: {path: p, kind: backup, backup: b}}\nflows:",
        )
        export = exported(text, partial=True)
        (lost,) = [each for each in export.omissions if each.changes_design]
        assert lost.element == "protection x"
        assert "FRR has no RSVP-TE" in lost.reason


class TestContainerlab:
    def test_links_join_the_devices_that_the_configurations_name(self) -> None:
        export = exported(RING, "containerlab")
        topology = yaml.safe_load(export.texts["ring.clab.yml"])["topology"]
        assert topology["links"][0]["endpoints"] == ["R1:eth1", "R2:eth1"]
        # R8-R1 is the second link of both.
        assert ["R1:eth2", "R8:eth2"] in [sorted(each["endpoints"]) for each in topology["links"]]
        for node, about in topology["nodes"].items():
            for bind in about["binds"]:
                assert bind.split(":")[0] in export.texts, node

    def test_a_wire_is_a_netem_behind_the_receiving_device_with_rate_and_delay(self) -> None:
        """Without its rate a packet would not take its transmission time on an idle link."""
        script = exported(LABELS, "containerlab").texts["B/setup.sh"]
        wire = "root handle 1: netem limit 1000000 delay 1000.000us rate 10000000bit -14"
        assert f"tc qdisc add dev w0b {wire}" in script
        redirect = "protocol all prio 90 matchall action mirred egress redirect dev w0b"
        assert f"filter add dev eth1 ingress {redirect}" in script

    def test_the_wire_follows_the_filters_of_the_design(self) -> None:
        """An edge that meters what arrives had no delay in the laboratory."""
        example = files("trunkline").joinpath("examples/diffserv-over-mpls.yaml")
        script = exported(example.read_text(), "containerlab").texts["A/setup.sh"]
        assert "police rate 1000000bit" in script
        redirect = "chain 1 protocol all prio 90 matchall action mirred egress redirect dev w0b"
        assert f"filter add dev eth1 ingress {redirect}" in script

    def test_a_queue_that_the_kernel_lacks_leaves_rates_wires_and_labels(self) -> None:
        text = QUEUES.replace("rate: 10 Mbit/s}", "rate: 10 Mbit/s, delay: 3 ms}")
        export = exported(text, "containerlab", partial=True)
        assert [each.element for each in export.omissions if each.changes_design]
        script = export.texts["A/setup.sh"]
        assert "netem limit 1000000 delay 3000.000us" in script
        assert "htb rate 10000000bit ceil 10000000bit" in script

    def test_labels_stay_where_the_classes_of_their_port_do_not(self) -> None:
        """A path names the row of the classifier that its packets meet."""
        example = files("trunkline").joinpath("examples/protected-ring.yaml")
        script = exported(example.read_text(), "containerlab", partial=True).texts["R1/setup.sh"]
        assert "-f mpls route add" in script
        assert "root handle 1: netem" in script

    def test_containerlab_published_schema_takes_the_topology(self) -> None:
        """With every key that is written: named links, ports, policers, loss, MTU, headers."""
        text = QUEUES.replace(
            "links: {A-B: {forward",
            "links: {two: {between: [A, B], loss: 1 %, mtu: 1500 B, header: 14 B, forward",
        )
        for design in (RING, LABELS, SEGMENTS, text):
            (topology,) = [
                content
                for name, content in exported(design, "containerlab", partial=True).texts.items()
                if name.endswith(".clab.yml")
            ]
            check_with_containerlab_schema(yaml.safe_load(topology))

    def test_containerlab_published_schema_refuses_what_it_has_not(self) -> None:
        topology = yaml.safe_load(exported(RING, "containerlab").texts["ring.clab.yml"])
        topology["topology"]["nodes"]["R1"]["bind"] = ["a:b"]
        with pytest.raises(AssertionError, match="'bind' was unexpected"):
            check_with_containerlab_schema(topology)

    def test_linux_takes_the_names_of_devices(self) -> None:
        """The kernel's IFNAMSIZ is 16, with the zero at the end."""
        document = yaml.safe_load(exported(RING, "containerlab").texts["ring.clab.yml"])
        for link in document["topology"]["links"]:
            assert all(len(end.split(":")[1]) <= 15 for end in link["endpoints"])


class TestScripts:
    def test_each_router_has_filters_though_devices_have_the_same_names(self) -> None:
        """Only the last router with an eth1 had them."""
        export = exported(LABELS)
        for node, devices in (("A", 1), ("B", 2), ("C", 1)):
            script = export.texts[f"{node}/setup.sh"]
            for number in range(1, devices + 1):
                assert f"tc qdisc add dev eth{number} clsact" in script, node

    def test_rfc2328_and_arp_between_neighbours_wait_in_no_class(self) -> None:
        """In the queue of an overloaded class ARP is lost, and the next hop with it."""
        script = exported(LABELS).texts["B/setup.sh"]
        for match in ("protocol arp prio 1 u32 match u32 0 0", "u32 match ip protocol 89 0xff"):
            line = next(each for each in script.splitlines() if match in each and "eth2" in each)
            assert "parent 1: " in line
            assert line.endswith("flowid 1:0")

    @pytest.mark.parametrize(
        ("text", "mtu"),
        [
            (RING.replace("routing: {", "routing: {ldp: {}, "), 1504),
            (SEGMENTS, 1512),
        ],
        ids=["ldp", "segments"],
    )
    def test_the_kernel_takes_labels_that_daemons_put_on(self, text: str, mtu: int) -> None:
        """LDP puts one label on a packet, the policy of three segments up to three."""
        (script, *_) = [
            each for name, each in exported(text).texts.items() if name.endswith("setup.sh")
        ]
        assert "setting net/mpls/platform_labels" in script
        assert "setting net/mpls/conf/eth1/input '1'" in script
        assert f"link eth1 mtu {mtu}" in script


class TestCollisions:
    """A label of a path that a daemon may give to a route, as the kernel has one table."""

    def test_rfc5036_a_static_label_where_ldpd_takes_its_own_is_refused(self) -> None:
        text = LABELS.replace("run:", "routing: {ospf: {}, ldp: {}}\nrun:")
        found = {each.element: each for each in exported(text, partial=True).omissions}
        # 3 nodes and 4 ends of links: two chunks of 64 labels from 16 on.
        refused = found["path p: label 40"]
        assert refused.reason == "ldpd takes labels from 16 to 143; nearest: 144"
        assert refused.changes_design
        moved = text.replace("[40, 41]", "[144, 145]")
        assert not [each for each in exported(moved).omissions if "label" in each.element]

    def test_rfc8665_s6_a_static_label_of_the_local_block_is_refused(self) -> None:
        text = SEGMENTS.replace(
            "paths: {", "paths: {q: {route: [A, B, T], labels: [15010, 15011], php: off}, "
        )
        found = {each.element: each.reason for each in exported(text, partial=True).omissions}
        assert found["path q: label 15010"] == (
            "ospfd takes labels from 15000 to 15999; nearest: 14999"
        )


class TestLaboratory:
    def test_a_folder_without_a_file_is_refused_by_name(self, tmp_path: Path) -> None:
        scenario = load(LABELS)
        with pytest.raises(LaboratoryFault, match=r"0 files \*.clab.yml"):
            make_laboratory_runner(scenario, tmp_path)
        write(exported(LABELS, "containerlab"), tmp_path)
        (tmp_path / "B" / "setup.sh").unlink()
        with pytest.raises(LaboratoryFault, match=r"setup\.sh"):
            make_laboratory_runner(scenario, tmp_path)

    def test_a_topology_of_another_design_is_refused_by_its_link(self, tmp_path: Path) -> None:
        write(exported(LABELS, "containerlab"), tmp_path)
        file = tmp_path / "scenario.clab.yml"
        file.write_text(file.read_text().replace("C:eth1", "C:eth4"))
        with pytest.raises(LaboratoryFault, match=r"B:eth2 to C:eth[14]"):
            make_laboratory_runner(load(LABELS), tmp_path)


def write(export: RouterExport, folder: Path) -> None:
    for name, text in export.list_files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def list_next_hops(links: dict[tuple[str, str], int]) -> dict[tuple[str, str], str]:
    """Next hop from each node to each other by Dijkstra (RFC 2328 section 16.1)."""
    nodes = sorted({node for pair in links for node in pair})
    found = {}
    for source in nodes:
        heap: list[tuple[int, str, str]] = [(0, source, "")]
        done: dict[str, str] = {}
        while heap:
            cost, node, first = heapq.heappop(heap)
            if node in done:
                continue
            done[node] = first
            for (a, b), metric in links.items():
                if a == node and b not in done:
                    heapq.heappush(heap, (cost + metric, b, first or b))
        found.update({(source, target): hop for target, hop in done.items() if target != source})
    return found


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Eight routers of FRR in namespaces, from the files of containerlab's laboratory."""
    if not Path("/usr/lib/frr/ospfd").exists() or shutil.which("vtysh") is None:
        pytest.skip("no FRR (apt-get install frr)")
    if os.geteuid() != 0:
        pytest.skip("FRR's daemons change to their own user: root only")
    folder = tmp_path_factory.mktemp("ring")
    folder.chmod(0o755)
    write(exported(RING, "containerlab"), folder)
    harness = Path(__file__).parents[2] / "linux" / "frr_namespaces.py"
    flows = [{"from": "R1", "to": "R4", "dscp": 46, "rate": 1_000_000, "seconds": 1}]
    orders = json.dumps({"settle_s": 120, "flows": flows})
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", sys.executable]
    done = subprocess.run(
        [*words, str(harness), str(folder), str(folder / "seen.json"), orders],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare:" in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads((folder / "seen.json").read_text())
    return seen


class TestDaemons:
    @pytest.mark.slow
    def test_rfc2328_s16_1_eight_exported_routers_find_the_routes_of_the_scenario(
        self, ring: dict[str, Any]
    ) -> None:
        assert 0 <= ring["settled_s"] < 120
        links = {}
        for number in range(1, 9):
            a, b = f"R{number}", f"R{number % 8 + 1}"
            links[a, b] = links[b, a] = 9 if number == 5 else 1
        links["R2", "R3"] = 4
        expected = list_next_hops(links)
        interfaces = {
            (link["from"], link["address"]): link["neighbour"]
            for link in ring_links(exported(RING, "containerlab"))
        }
        for node, text in ring["routes"].items():
            routes = {each["dst"]: each for each in json.loads(text)}
            for target, address in ring["addresses"].items():
                if target == node:
                    continue
                via = routes[address]["gateway"]
                assert interfaces[node, via] == expected[node, target], (node, target)

    def test_packets_of_the_exported_network_all_arrive(self, ring: dict[str, Any]) -> None:
        ((sent, received),) = ring["flows"]
        assert sent == received > 100

    def test_frr_takes_every_line_of_its_configuration(self, ring: dict[str, Any]) -> None:
        lines = {line.strip() for line in ring["running"]["R2"].splitlines()}
        assert {"ip ospf cost 4", "ip ospf network point-to-point", "maximum-paths 1"} <= lines


def ring_links(export: RouterExport) -> list[dict[str, str]]:
    """Each router's neighbour by the address at the far end, from the texts alone."""
    own: dict[str, list[tuple[str, str]]] = {}
    for name, text in export.texts.items():
        if name.endswith("frr.conf"):
            node, neighbour = name.split("/")[0], ""
            for line in text.splitlines():
                if line.startswith(" description to "):
                    neighbour = line.split()[-1]
                elif line.startswith(" ip address ") and line.endswith("/30"):
                    own.setdefault(node, []).append((neighbour, line.split()[-1][:-3]))
    return [
        {"from": node, "neighbour": neighbour, "address": far}
        for node, ends in own.items()
        for neighbour, _ in ends
        for back, far in own[neighbour]
        if back == node
    ]


def list_kernel_steps(text: str) -> set[str]:
    """What a script gives to tc and to the label tables, one line each."""
    words = ("class add", "qdisc add", "filter add", "-f mpls route add", "encap mpls", "rule add")
    return {line for line in text.splitlines() if any(each in line for each in words)}


def test_labels_queues_and_filters_are_the_commands_that_the_guest_has_tested() -> None:
    """`export --to linux` runs in a guest kernel (tests/linux/test_export.py): nothing is lost."""
    folder = Path(__file__).parents[3] / "python" / "trunkline" / "examples"
    scenario = load(folder / "diffserv-over-mpls.yaml")
    (export,) = export_routers(scenario, ("frr",))
    addresses = {node: f"10.255.0.{number}" for number, node in enumerate("SABCD", 1)}
    names = {"S->A": "eth1", "A->S": "eth1", "A->B": "eth2", "B->A": "eth1"}
    names |= {"B->C": "eth2", "C->B": "eth1", "C->D": "eth2", "D->C": "eth1"}
    target = CommandTarget(
        on_routers=True,
        nodes={node: (address,) for node, address in addresses.items()},
        devices=names,
    )
    compiled = compile_plan(compile(scenario).to_json(), target=target)
    for node, script in zip("SABCD", write_router_scripts(compiled).values(), strict=True):
        steps = list_kernel_steps(export.texts[f"{node}/setup.sh"])
        assert steps == list_kernel_steps(script)
        assert len(steps) > 2
