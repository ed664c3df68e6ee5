"""IOS XR: XML against the vendor's models, and the text, parsed back, against scenario and XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hier_config import Platform, get_hconfig
from published_models import check_with_libyang_iosxr
from router_designs import QUEUES, SEGMENTS, STATIC, STATIC_ROUTES, TUNNELS

from trunkline.routers import RouterExport, export_routers
from trunkline.scenario import load

LDP = (
    SEGMENTS[: SEGMENTS.index("paths:")]
    + """\
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s}}
routing: {ospf: {}, ldp: {}}
run: {duration: 1 s}
"""
)
PIPE = STATIC.replace("labels: [40]}", "labels: [40], ttl: pipe}").replace(
    "labels: [50, 60]}", "labels: [50, 60], ttl: pipe}"
)
DESIGNS = {
    "tunnels": TUNNELS,
    "static": STATIC,
    "segments": SEGMENTS,
    "queues": QUEUES,
    "ldp": LDP,
    "pipe": PIPE,
    "static routes": STATIC_ROUTES,
}
XML = "{http://cisco.com/ns/yang/Cisco-IOS-XR-%s}"


def exported(text: str) -> RouterExport:
    (export,) = export_routers(load(text), ("iosxr",), partial=True)
    return export


def parsed(text: str, node: str) -> dict[str, list[str]]:
    """Lines below each section of a file of commands, as hier_config reads them."""
    config = get_hconfig(Platform.CISCO_XR, exported(text).texts[f"{node}.cfg"])
    return {
        section.text: [line.text for line in section.all_children()] for section in config.children
    }


class TestPublishedModels:
    @pytest.mark.parametrize("name", DESIGNS)
    def test_cisco_ios_xr_6_6_3_libyang_takes_every_file(self, name: str, tmp_path: Path) -> None:
        for file, written in exported(DESIGNS[name]).texts.items():
            if file.endswith(".xml"):
                folder = tmp_path / file
                folder.mkdir()
                check_with_libyang_iosxr(written, folder)

    def test_libyang_refuses_what_the_model_has_not(self, tmp_path: Path) -> None:
        written = exported(TUNNELS).texts["A.xml"].replace("explicit-name", "explicit-nickname")
        with pytest.raises(AssertionError, match="explicit-nickname"):
            check_with_libyang_iosxr(written, tmp_path)


class TestText:
    def test_rfc3209_a_tunnel_has_route_bandwidth_priorities_and_colours(self) -> None:
        sections = parsed(TUNNELS, "A")
        tunnel = sections["interface tunnel-te1"]
        assert {
            "signalled-name p",
            "signalled-bandwidth 1500",
            "priority 3 2",
            "destination 10.255.0.3",
            "affinity include gold",
            "path-option 1 explicit name p protected-by 2",
            "path-option 2 explicit name spare",
            "fast-reroute protect node",
        } <= set(tunnel)
        assert sections["explicit-path name p"] == [
            "index 10 next-address strict ipv4 unicast 10.0.0.2",
            "index 20 next-address strict ipv4 unicast 10.0.0.6",
        ]
        assert "10.255.0.3/32 tunnel-te1" in sections["router static"]

    def test_rfc4090_s3_2_the_bypass_is_bound_to_the_interface_that_it_goes_around(self) -> None:
        sections = parsed(TUNNELS, "A")
        assert "signalled-name around" in sections["interface tunnel-te2"]
        te = sections["mpls traffic-eng"]
        at = te.index("interface GigabitEthernet0/0/0/0")
        assert "backup-path tunnel-te 2" in te[at : te.index("interface GigabitEthernet0/0/0/1")]

    def test_rfc3031_labels_of_a_static_path_stand_at_its_routers(self) -> None:
        static = parsed(STATIC, "B")["mpls static"]
        at = static.index("lsp p-40")
        assert static[at : at + 4] == [
            "lsp p-40",
            "in-label 40 allocate",
            "forward",
            "path 1 nexthop GigabitEthernet0/0/0/1 10.0.0.6 out-label pop",
        ]

    def test_rfc8402_segments_of_a_policy_stand_in_order(self) -> None:
        lines = parsed(SEGMENTS, "S")["segment-routing"]
        at = lines.index("segment-list p")
        assert lines[at + 1 : at + 4] == [
            "index 10 mpls label 16001",
            "index 20 address ipv4 10.0.0.6",
            "index 30 mpls label 16003",
        ]
        assert "color 1 end-point ipv4 10.255.0.4" in lines

    def test_rfc2597_wred_by_drop_precedence_and_weights_are_the_scenarios(self) -> None:
        core = parsed(QUEUES, "A")["policy-map core"]
        assert "bandwidth remaining ratio 1020" in core
        assert "random-detect dscp 10 20 packets 40 packets" in core
        assert "random-detect dscp 12 10 packets 20 packets" in core
        assert "queue-limit 50 packets" in core

    def test_rfc2698_a_policer_has_both_rates_and_the_action_of_each_colour(self) -> None:
        edge = parsed(QUEUES, "A")["policy-map edge-in"]
        assert "police rate 1000000 bps burst 10000 bytes" in edge
        both = (
            "police rate 1000000 bps burst 8000 bytes peak-rate 2000000 bps peak-burst 16000 bytes"
        )
        assert both in edge
        at = edge.index(both)
        assert edge[at + 1 : at + 4] == [
            "conform-action transmit",
            "exceed-action set dscp 20",
            "violate-action drop",
        ]

    def test_a_port_that_is_faster_than_its_link_is_shaped_to_it(self) -> None:
        """A Gigabit port on a link of 10 Mbit/s would never let the queues of the design fill."""
        sections = parsed(QUEUES, "A")
        assert "service-policy output core-port" in sections["interface GigabitEthernet0/0/0/0"]
        assert sections["policy-map core-port"] == [
            "class class-default",
            "service-policy core",
            "shape average 10000 kbps",
        ]
        fast = parsed(QUEUES.replace("rate: 10 Mbit/s}", "rate: 1 Gbit/s}"), "A")
        assert "policy-map core-port" not in fast
        assert "service-policy output core" in fast["interface GigabitEthernet0/0/0/0"]

    def test_a_link_without_queues_is_shaped_where_its_port_is_faster(self) -> None:
        text = STATIC.replace("rate: 10 Mbit/s}", "rate: 10000500 bit/s}")
        sections = parsed(text, "A")
        assert "service-policy output link-10001k" in sections["interface GigabitEthernet0/0/0/0"]
        assert sections["policy-map link-10001k"] == [
            "class class-default",
            "shape average 10001 kbps",
            "queue-limit 100 packets",
        ]
        (row,) = [each for each in exported(text).rounded if each.element == "link A->B"]
        assert (row.quantity, row.asked, row.expressed) == ("shaper", 10_000_500, 10_001_000)
        fast = parsed(STATIC.replace("rate: 10 Mbit/s}", "rate: 10 Gbit/s}"), "A")
        assert not [each for each in fast if each.startswith("policy-map")]

    def test_shares_that_ratios_round_are_shown(self) -> None:
        rows = [each for each in exported(QUEUES).rounded if each.quantity == "share"]
        # 4501 to 1500 becomes 1020 to 340: 3/4 in place of 4501/6001.
        gold = next(each for each in rows if "gold" in each.element)
        assert gold.asked == pytest.approx(4501 / 6001)
        assert gold.expressed == pytest.approx(3 / 4)


class TestTextAndXml:
    """The text and the XML are two writers: what one has, the other has."""

    @pytest.mark.parametrize("name", DESIGNS)
    def test_both_have_the_same_interfaces_tunnels_hops_classes_and_costs(self, name: str) -> None:
        export = exported(DESIGNS[name])
        for file, text in export.texts.items():
            if not file.endswith(".xml"):
                continue
            root = ElementTree.fromstring(text)
            node = file.removesuffix(".xml")
            sections = parsed(DESIGNS[name], node)

            def find(module: str, leaf: str, root: ElementTree.Element = root) -> list[str]:
                return [each.text or "" for each in root.iter(f"{XML % module}{leaf}")]

            interfaces = [each.split()[1] for each in sections if each.startswith("interface ")]
            assert sorted(find("ifmgr-cfg", "interface-name")) == sorted(interfaces)
            hops = [
                line.split()[-1]
                for section, lines in sections.items()
                if section.startswith("explicit-path")
                for line in lines
            ]
            assert find("ip-iep-cfg", "ip-address") == hops
            ldp = [each.split()[1] for each in sections.get("mpls ldp", ()) if "interface" in each]
            assert find("mpls-ldp-cfg", "interface-name") == ldp
            assert bool(ldp) == (name == "ldp")
            hidden = find("mpls-lsd-cfg", "mpls-ip-ttl-propagate-disable")
            assert (hidden == ["all"]) == ("mpls ip-ttl-propagate disable" in sections)
            assert bool(hidden) == (name == "pipe")
            costs = [
                each.split()[1] for each in sections.get("router ospf 1", ()) if "cost" in each
            ]
            assert find("ipv4-ospf-cfg", "cost") == costs
            maps = [each.split()[1] for each in sections if each.startswith("policy-map ")]
            listed = [
                each.find(f"{XML % 'infra-policymgr-cfg'}name")
                for each in root.iter(f"{XML % 'infra-policymgr-cfg'}policy-map")
            ]
            assert sorted(each.text or "" for each in listed if each is not None) == sorted(maps)
            labels = [
                line.split()[1]
                for line in sections.get("mpls static", ())
                if line.startswith("in-label")
            ]
            assert find("mpls-static-cfg", "in-label-value") == labels
