"""Junos: commands read back by hier_config against the scenario. No models of the vendor's."""

from __future__ import annotations

from hier_config import Platform, get_hconfig
from router_designs import QUEUES, SEGMENTS, STATIC, TUNNELS

from trunkline.routers import RouterExport, export_routers
from trunkline.scenario import load


def exported(text: str) -> RouterExport:
    (export,) = export_routers(load(text), ("junos",), partial=True)
    return export


def parsed(text: str, node: str) -> set[str]:
    """The commands of a file, as hier_config reads them."""
    config = get_hconfig(Platform.JUNIPER_JUNOS, exported(text).texts[f"{node}.set"])
    return {each.text.removeprefix("set ") for each in config.all_children()}


def test_every_file_says_that_it_is_not_validated() -> None:
    for text in exported(TUNNELS).texts.values():
        assert text.startswith("# Not validated by the vendor's models.\n")


def test_rfc3209_a_path_has_route_bandwidth_priorities_colours_and_standby() -> None:
    own = "protocols mpls label-switched-path p"
    assert {
        "protocols mpls path p 10.0.0.2 strict",
        "protocols mpls path p 10.0.0.6 strict",
        f"{own} to 10.255.0.3",
        f"{own} bandwidth 1500000",
        f"{own} priority 3 2",
        f"{own} admin-group include-any gold",
        f"{own} node-link-protection",
        f"{own} secondary spare standby",
        f"{own} install 10.255.0.3/32 active",
        "protocols rsvp interface ge-0/0/0.0 link-protection bypass around to 10.255.0.3",
        "routing-options srlg duct srlg-value 1",
        "protocols mpls interface ge-0/0/0.0 srlg duct",
    } <= parsed(TUNNELS, "A")


def test_rfc3031_labels_of_static_paths_stand_at_each_router() -> None:
    static = "protocols mpls static-label-switched-path"
    assert f"{static} p ingress push 40" in parsed(STATIC, "A")
    assert f"{static} p-40 transit 40 pop" in parsed(STATIC, "B")
    assert f"{static} q-50 transit 50 swap 60" in parsed(STATIC, "B")


def test_rfc8402_segments_of_a_policy_stand_in_order() -> None:
    segments = "protocols source-packet-routing segment-list p"
    assert {
        f"{segments} hop1 label 16001",
        f"{segments} hop2 ip-address 10.0.0.6",
        f"{segments} hop3 label 16003",
    } <= parsed(SEGMENTS, "S")


def test_rfc2597_queues_and_drop_profiles_are_shares_and_fill_levels() -> None:
    cos = "class-of-service"
    lines = parsed(QUEUES, "A")
    assert {
        f"{cos} schedulers core-gold transmit-rate percent 75",
        f"{cos} drop-profiles core-gold-0 interpolate fill-level [ 40 80 ]",
        f"{cos} drop-profiles core-gold-0 interpolate drop-probability [ 0 2 ]",
        f"{cos} drop-profiles core-gold-1 interpolate fill-level [ 20 40 ]",
        f"{cos} classifiers dscp core forwarding-class gold loss-priority medium-high "
        "code-points 001100",
    } <= lines


def test_a_port_that_is_faster_than_its_link_is_shaped_to_it() -> None:
    line = "class-of-service interfaces ge-0/0/0 shaping-rate"
    assert f"{line} 10000000" in parsed(QUEUES, "A")
    fast = parsed(QUEUES.replace("rate: 10 Mbit/s}", "rate: 1 Gbit/s}"), "A")
    assert not [each for each in fast if each.startswith(line)]


def test_a_link_without_queues_is_shaped_where_its_port_is_faster() -> None:
    line = "class-of-service interfaces ge-0/0/0 shaping-rate"
    assert f"{line} 10000000" in parsed(STATIC, "A")
    fast = parsed(STATIC.replace("rate: 10 Mbit/s}", "rate: 1 Gbit/s}"), "A")
    assert not [each for each in fast if each.startswith(line)]


def test_what_percent_rounds_is_shown() -> None:
    rows = {(each.element, each.quantity): each for each in exported(QUEUES).rounded}
    share = rows["port core class gold", "share"]
    assert round(share.asked, 4) == round(4501 / 6001, 4)
    assert share.expressed == 0.75


def test_rfc2698_a_policer_has_both_rates_and_a_small_one_the_least_that_there_is() -> None:
    meter = "firewall three-color-policer edge-data two-rate"
    assert {
        "firewall policer edge-voice if-exceeding bandwidth-limit 1000000",
        "firewall policer edge-voice then discard",
        f"{meter} committed-information-rate 1000000",
        f"{meter} peak-information-rate 2000000",
        f"{meter} peak-burst-size 16000",
        "interfaces ge-0/0/0 unit 0 family inet filter input edge",
    } <= parsed(QUEUES, "A")
    small = QUEUES.replace("rate: 1 Mbit/s, burst: 10 kB", "rate: 5 kbit/s, burst: 10 kB")
    rows = {(each.element, each.quantity): each for each in exported(small).rounded}
    assert rows["conditioner edge profile voice", "rate"].difference == 3000


def test_static_labels_below_a_million_have_a_range_of_their_own() -> None:
    """Junos keeps 1000000 to 1048575 for static LSPs; others are `label-range` first."""
    (export,) = export_routers(load(STATIC), ("junos",), partial=True)
    lines = export.texts["B.set"].splitlines()
    assert "set protocols mpls label-range static-label-range 40 50" in lines
