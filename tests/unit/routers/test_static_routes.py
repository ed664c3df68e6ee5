"""Static routes in the configurations of each target, without an IGP and beside one."""

from __future__ import annotations

import json

import pytest
from router_designs import STATIC_ROUTES

from trunkline.routers import export_routers
from trunkline.scenario import load

BESIDE_OSPF = STATIC_ROUTES.replace("routing: {igp: off}\n", "")
# A is 10.255.0.1, D .4; link A-B is 10.0.0.0/30, A-C 10.0.0.4/30.
TO_D, BY_B, BY_C = "10.255.0.4/32", "10.0.0.2", "10.0.0.6"


def lines(target: str, file: str, text: str = STATIC_ROUTES) -> list[str]:
    (export,) = export_routers(load(text), (target,), partial=True)
    return [line.strip() for line in export.texts[file].splitlines()]


def test_frr_has_each_route_with_its_distance_and_no_ospf() -> None:
    config = lines("frr", "A/frr.conf")
    assert [line for line in config if line.startswith("ip route")] == [
        f"ip route {TO_D} {BY_B} 1",
        f"ip route {TO_D} {BY_C} 200",
        f"ip route 0.0.0.0/0 {BY_C} 1",
        # Its neighbours, which no other protocol tells it of.
        f"ip route 10.255.0.2/32 {BY_B} 110",
        f"ip route 10.255.0.3/32 {BY_C} 110",
    ]
    assert [line for line in config if "ospf" in line] == []
    assert "ospfd=no" in lines("frr", "A/daemons")


def test_frr_has_ospf_beside_them_unless_it_is_off() -> None:
    config = lines("frr", "A/frr.conf", BESIDE_OSPF)
    assert "router ospf" in config
    assert len([line for line in config if line.startswith("ip route")]) == 3


def test_junos_prefers_those_below_ospf_to_its_preference_of_10() -> None:
    head = "set routing-options static route"
    assert [line for line in lines("junos", "A.set") if line.startswith(head)][:3] == [
        f"{head} {TO_D} qualified-next-hop {BY_B} preference 1",
        f"{head} {TO_D} qualified-next-hop {BY_C} preference 200",
        f"{head} 0.0.0.0/0 qualified-next-hop {BY_C} preference 1",
    ]
    assert [line for line in lines("junos", "A.set") if "ospf" in line] == []
    assert any("spf-options" in line for line in lines("junos", "A.set", BESIDE_OSPF))


def test_ios_xr_has_interface_next_hop_and_distance() -> None:
    config = lines("iosxr", "A.cfg")
    start = config.index("router static")
    assert config[start + 1 : start + 4] == [
        "address-family ipv4 unicast",
        f"{TO_D} GigabitEthernet0/0/0/0 {BY_B} 1",
        f"{TO_D} GigabitEthernet0/0/0/1 {BY_C} 200",
    ]
    assert "router ospf 1" not in config


def test_openconfig_has_the_distance_as_metric_of_each_next_hop() -> None:
    document = json.loads("\n".join(lines("openconfig", "A.json")))
    (instance,) = document["openconfig-network-instance:network-instances"]["network-instance"]
    (protocol,) = instance["protocols"]["protocol"]
    assert protocol["identifier"] == "openconfig-policy-types:STATIC"
    routes = {
        each["prefix"]: [
            (hop["config"]["next-hop"], hop["config"]["metric"])
            for hop in each["next-hops"]["next-hop"]
        ]
        for each in protocol["static-routes"]["static"]
    }
    assert routes[TO_D] == [(BY_B, 1), (BY_C, 200)]
    assert routes["0.0.0.0/0"] == [(BY_C, 1)]


@pytest.mark.parametrize("text", [STATIC_ROUTES, BESIDE_OSPF], ids=["alone", "beside ospf"])
def test_every_target_takes_them_whole(text: str) -> None:
    for target in ("frr", "junos", "iosxr", "openconfig", "containerlab"):
        (export,) = export_routers(load(text), (target,), partial=False)
        assert export.texts
