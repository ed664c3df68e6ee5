"""OpenConfig: files against the published models, and each element against the scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from published_models import (
    OPENCONFIG_CLASSES,
    check_with_libyang_openconfig,
    check_with_newest_openconfig,
)
from router_designs import STATIC, STATIC_ROUTES, TUNNELS

from trunkline.routers import ExportRefused, RouterExport, export_routers
from trunkline.scenario import load


def exported(text: str, *, partial: bool = True) -> RouterExport:
    (export,) = export_routers(load(text), ("openconfig",), partial=partial)
    return export


def instance_of(export: RouterExport, node: str) -> dict[str, Any]:
    document = json.loads(export.texts[f"{node}.json"])
    (instance,) = document["openconfig-network-instance:network-instances"]["network-instance"]
    found: dict[str, Any] = instance
    return found


def lsps_of(export: RouterExport, node: str) -> dict[str, Any]:
    found: dict[str, Any] = instance_of(export, node)["mpls"]["lsps"]
    return found


class TestPublishedModels:
    @pytest.mark.parametrize(
        "text", [TUNNELS, STATIC, STATIC_ROUTES], ids=["tunnels", "static", "routes"]
    )
    def test_openconfig_network_instance_2017_libyang_takes_every_file(
        self, text: str, tmp_path: Path
    ) -> None:
        for name, written in exported(text).texts.items():
            folder = tmp_path / name
            folder.mkdir()
            check_with_libyang_openconfig(written, folder)

    def test_openconfig_mpls_libyang_refuses_what_the_model_has_not(self, tmp_path: Path) -> None:
        written = exported(TUNNELS).texts["A.json"].replace("STRICT", "NARROW")
        with pytest.raises(AssertionError, match="NARROW"):
            check_with_libyang_openconfig(written, tmp_path)

    def test_openconfig_qos_and_ospf_newest_pyangbind_takes_the_file_of_each_part(self) -> None:
        check_with_newest_openconfig(exported(TUNNELS).texts["A.json"], tuple(OPENCONFIG_CLASSES))


class TestTunnels:
    def test_rfc3209_explicit_route_has_the_far_end_of_each_link(self) -> None:
        lsps = lsps_of(exported(TUNNELS), "A")
        (route,) = [
            each
            for each in lsps["constrained-path"]["named-explicit-paths"]["named-explicit-path"]
            if each["name"] == "p"
        ]
        hops = route["explicit-route-objects"]["explicit-route-object"]
        # Links get a /30 each, in order: A-B is 10.0.0.0/30, B-C 10.0.0.4/30.
        assert [each["config"]["address"] for each in hops] == ["10.0.0.2", "10.0.0.6"]
        assert {each["config"]["hop-type"] for each in hops} == {"STRICT"}

    def test_rfc3209_bandwidth_priorities_colours_and_standby_are_the_scenarios(self) -> None:
        lsps = lsps_of(exported(TUNNELS), "A")
        (tunnel,) = [
            each for each in lsps["constrained-path"]["tunnels"]["tunnel"] if each["name"] == "p"
        ]
        assert tunnel["bandwidth"]["config"]["set-bandwidth"] == "1500"
        assert tunnel["config"]["setup-priority"] == 3
        assert tunnel["config"]["hold-priority"] == 2
        attributes = tunnel["p2p-tunnel-attributes"]
        assert attributes["config"]["destination"] == "10.255.0.3"
        (primary,) = attributes["p2p-primary-path"]["p2p-primary-path"]
        assert primary["admin-groups"]["config"] == {"include-any-group": ["gold"]}
        (secondary,) = attributes["p2p-secondary-paths"]["p2p-secondary-path"]
        assert secondary["config"]["explicit-path-name"] == "spare"
        # The bypass A-D-C of the link A-B ends behind B: node protection (RFC 4090 section 3.2).
        assert tunnel["config"]["protection-style-requested"].endswith(
            "LINK_NODE_PROTECTION_REQUESTED"
        )

    def test_rfc3630_metrics_and_groups_are_those_of_the_direction(self) -> None:
        mpls = instance_of(exported(TUNNELS), "A")["mpls"]
        first, second = mpls["te-interface-attributes"]["interface"]
        assert first["config"]["admin-group"] == ["gold"]
        assert first["config"]["srlg-membership"] == ["duct"]
        assert second["config"]["te-metric"] == 3

    def test_rfc2328_cost_of_each_interface_is_the_metric(self) -> None:
        (protocol,) = instance_of(exported(TUNNELS), "A")["protocols"]["protocol"]
        (area,) = protocol["ospfv2"]["areas"]["area"]
        metrics = {
            each["id"]: each["config"].get("metric") for each in area["interfaces"]["interface"]
        }
        assert metrics == {"lo0": None, "eth1": 1, "eth2": 7}


class TestStaticPaths:
    def test_rfc3031_labels_of_the_scenario_stand_at_each_router(self) -> None:
        export = exported(STATIC)
        at = {
            node: {
                each["name"]: each for each in lsps_of(export, node)["static-lsps"]["static-lsp"]
            }
            for node in "ABC"
            if "lsps" in instance_of(export, node)["mpls"]
        }
        assert at["A"]["p"]["ingress"]["config"] == {"next-hop": "10.0.0.2", "push-label": 40}
        assert at["B"]["p"]["transit"]["config"] == {
            "incoming-label": 40,
            "next-hop": "10.0.0.6",
            "push-label": "IMPLICIT_NULL",
        }
        assert at["B"]["q"]["transit"]["config"]["push-label"] == 60
        assert at["C"]["q"]["egress"]["config"] == {"incoming-label": 60}


class TestQueues:
    def test_rfc2475_each_class_has_its_codepoints_queue_and_strict_priority(self) -> None:
        qos = json.loads(exported(TUNNELS).texts["A.json"])["openconfig-qos:qos"]
        by_name = {each["name"]: each for each in qos["classifiers"]["classifier"]}
        terms = by_name["core-ipv4"]["terms"]["term"]
        groups = {
            each["actions"]["config"]["target-group"]: each["conditions"]["ipv4"]["config"][
                "dscp-set"
            ]
            for each in terms
        }
        assert groups["core.voice"] == [46]
        assert sorted(groups["core.default"] + [46]) == list(range(64))
        (policy,) = qos["scheduler-policies"]["scheduler-policy"]
        order = [
            (each["inputs"]["input"][0]["id"], each["config"].get("priority"))
            for each in policy["schedulers"]["scheduler"]
        ]
        assert order == [("core.voice", "STRICT"), ("core.default", "STRICT")]

    def test_thresholds_in_packets_become_bytes_of_the_mean_packet(self) -> None:
        qos = json.loads(exported(TUNNELS).texts["A.json"])["openconfig-qos:qos"]
        (profile,) = qos["queue-management-profiles"]["queue-management-profile"]
        uniform = profile["wred"]["uniform"]["config"]
        # 10 and 30 packets of 500 B (`mean_packet` of RED); max_p 0.1; w_q 0.002 is nearest 2^-9.
        assert (uniform["min-threshold"], uniform["max-threshold"]) == ("5000", "15000")
        assert uniform["max-drop-probability-percent"] == 10
        assert uniform["weight"] == 9

    def test_what_is_rounded_is_shown_with_its_difference(self) -> None:
        rows = {(each.element, each.quantity): each for each in exported(TUNNELS).rounded}
        # 33.3 % of 10 Mbit/s is 33 % in whole percent.
        row = rows["link B->C", "reservable bandwidth"]
        assert (row.asked, row.expressed, row.difference) == (3_330_000, 3_300_000, -30_000)
        assert rows["port core class default", "w_q"].expressed == 2**-9


class TestNotSaid:
    def test_all_that_changes_the_design_is_refused_at_once_with_places(self) -> None:
        text = TUNNELS.replace("scheduler: priority", "scheduler: hfsc")
        text = text.replace("voice: {queue", "voice: {real_time: 2 Mbit/s, queue")
        red = "{kind: red, min_th: 10 packets, max_th: 30 packets}"
        text = text.replace("default: {queue", "default: {link_share: 5 Mbit/s, queue")
        text = text.replace(red, "{kind: codel}")
        with pytest.raises(ExportRefused) as refused:
            exported(text, partial=False)
        found = {(each.line, each.message) for each in refused.value.error.diagnostics}
        lines = [line for line, _ in found]
        messages = "\n".join(message for _, message in found)
        assert "routers have no hfsc; nearest: htb" in messages
        assert "routers have no codel; nearest: red" in messages
        assert all(line for line in lines)

    def test_partial_writes_the_rest_and_lists_it(self) -> None:
        export = exported(STATIC)
        table = export.list_files()["omissions.csv"]
        assert "A,path p: traffic to C,the model has no FEC of a static LSP" in table

    def test_names_that_a_router_forbids_are_refused_with_the_nearest(self) -> None:
        text = (
            STATIC.replace(", C", ", New_York")
            .replace("B-C", "B-New_York")
            .replace("to: C", "to: New_York")
        )
        with pytest.raises(ExportRefused, match="nearest: New-York"):
            exported(text)
