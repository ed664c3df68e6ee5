"""Bursts of policers and shapers in each target: asked, expressed, and the difference."""

from __future__ import annotations

import json
from typing import Any

from trunkline.routers import RouterExport, export_routers
from trunkline.scenario import load

# 600 B is less than the 1500 B that a policer of Junos has at least; 10,001 B is no whole kbyte.
BURSTS = """\
trunkline: 1
nodes: [A, B]
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {forward: {port: p}, backward: {ingress: edge}}}
ports:
  p:
    scheduler: htb
    classify: [{dscp: EF, class: voice}, {dscp: AF11, class: gold}]
    classes:
      link: {rate: 8 Mbit/s, ceil: 8 Mbit/s, burst: 5 kB}
      voice: {parent: link, rate: 1 Mbit/s, ceil: 1 Mbit/s, burst: 3001 B}
      gold: {parent: link, rate: 5 Mbit/s, ceil: 8 Mbit/s, burst: 4001 B, priority: 1}
      default: {parent: link, rate: 2 Mbit/s, ceil: 8 Mbit/s, priority: 1}
conditioners:
  edge:
    rules: [{dscp: EF, profile: small}, {dscp: AF21, profile: large}]
    profiles:
      small: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 600 B}, red: drop}
      large:
        meter: {kind: trtcm, cir: 1 Mbit/s, cbs: 10001 B, pir: 2 Mbit/s, pbs: 1499 B}
        red: drop
flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""


def exported(target: str) -> RouterExport:
    (export,) = export_routers(load(BURSTS), (target,), partial=True)
    return export


def list_rounded(export: RouterExport) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (each.element, each.quantity): (each.asked, each.expressed)
        for each in export.rounded
        if "burst" in each.quantity
    }


def list_bursts_omitted(export: RouterExport) -> list[str]:
    return [each.element for each in export.omissions if ": burst " in each.element]


def test_junos_deepens_buckets_of_policers_to_its_minimum_of_1500_bytes() -> None:
    export = exported("junos")
    assert list_rounded(export) == {
        ("conditioner edge profile small", "burst"): (600, 1500),
        ("conditioner edge profile large", "peak burst"): (1499, 1500),
    }
    text = export.texts["A.set"]
    assert "policer edge-small if-exceeding burst-size-limit 1500" in text
    assert "three-color-policer edge-large two-rate committed-burst-size 10001" in text
    assert "three-color-policer edge-large two-rate peak-burst-size 1500" in text
    assert list_bursts_omitted(export) == [
        "port p: its shaper: burst 5000 B",
        "port p class gold: burst 4001 B",
        "port p class voice: burst 3001 B",
    ]


def test_ios_xr_has_buckets_of_policers_in_bytes_and_none_of_shapers() -> None:
    export = exported("iosxr")
    assert list_rounded(export) == {}
    text = export.texts["A.cfg"]
    assert "police rate 1000000 bps burst 600 bytes" in text
    assert "burst 10001 bytes peak-rate 2000000 bps peak-burst 1499 bytes" in text
    assert "police rate 1000 kbps burst 3001 bytes" in text
    assert list_bursts_omitted(export) == [
        "port p: its shaper: burst 5000 B",
        "port p class gold: burst 4001 B",
    ]


def test_openconfig_has_all_buckets_of_classes_and_policers_in_bytes() -> None:
    export = exported("openconfig")
    assert list_rounded(export) == {}
    assert list_bursts_omitted(export) == []
    qos: Any = json.loads(export.texts["A.json"])["openconfig-qos:qos"]
    found = [
        each[kind]["config"][key]
        for policy in qos["scheduler-policies"]["scheduler-policy"]
        for each in policy["schedulers"]["scheduler"]
        for kind in ("one-rate-two-color", "two-rate-three-color")
        for key in ("bc", "be")
        if key in each.get(kind, {}).get("config", {})
    ]
    assert sorted(found)[:4] == [600, 1499, 1600, 3001]
    assert {4001, 10001} <= set(found)
