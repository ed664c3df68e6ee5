"""Traffic engineering by OSPF's LSAs: what each head knows and when; RFC 3630 by clause, tshark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.trace import write_capture

# `first` takes most of X-Y at 10 s. Its Path has 152 B and its Resv 128 B, at 10 Mbit/s and 100 ms:
# X reserves at 10.200224 s. An update with the LSA of a link: IP 20, header 24, number 4, LSA 120
# bytes, 134.4 us on each link: M knows at 10.3003584 s, H at 10.4004928 s.
LINE = """\
trunkline: 1
nodes: [H, M, X, Y, Z]
defaults: {link: {rate: 10 Mbit/s, delay: 100 ms}}
links:
  H-M: {}
  M-X: {}
  X-Y: {te: {metric: 40, reservable: 120 %, colours: [gold, red]}}
  X-Z: {metric: 2}
  Z-Y: {metric: 2, te: {colours: [silver]}}
paths:
  first: {route: [X, Y], bandwidth: 1 Mbit/s}
  near: {route: [M, X, Z, Y], bandwidth: 3 Mbit/s}
  far: {route: [H, M, X, Z, Y], bandwidth: 3 Mbit/s}
flows: {f: {agent: udp, from: H, to: Y, rate: 8 kbit/s, size: 1000 B}}
routing: {ospf: {hello: 0 s}}
events:
  - {at: 10 s, resize: first, bandwidth: 10 Mbit/s}
signalling: {kind: rsvp-te}
run: {duration: 16 s, trace: on}
"""
UPDATE = 20 + 24 + 4 + 20 + 4 + 8 + 8 + 12 + 8 + 8 + 8 + 36 + 8
RESERVED = 10_200_224_000


def run(text: str, **overrides: Any) -> Results:
    return tl.run(tl.load(text, overrides=overrides))


def moved(path: str, at: str) -> Results:
    event = f"  - {{at: {at}, move: {path}, to: auto}}\n"
    return run(LINE.replace("signalling:", event + "signalling:"))


def offered(results: Results, link: str) -> list[int]:
    """When a link's LSA was originated [ns]."""
    rows = results.timeline.rows()
    return [row["time_ns"] for row in rows if (row["event"], row["link"]) == (OFFERED, link)]


OFFERED = "te-lsa-originated"


@pytest.mark.parametrize(
    ("path", "at", "refusals"),
    [
        ("near", "10300358 us", 1),
        ("near", "10300359 us", 0),
        # What M knows already H does not.
        ("far", "10300359 us", 1),
        ("far", "10400492 us", 1),
        ("far", "10400493 us", 0),
    ],
)
def test_rfc3630_s2_5_8_each_head_computes_with_what_has_reached_it(
    path: str, at: str, refusals: int
) -> None:
    """A head that knows no better asks for X-Y, is refused there and goes around (RFC 4920)."""
    assert UPDATE * 8 * 100 == 134_400
    results = moved(path, at)
    rows = [row for row in results.tables["signalling"].rows() if row["path"] == path]
    refused = [row for row in rows if row["event"] == "refused"]
    assert [(row["link"], row["error"]) for row in refused] == [("X->Y", "1/2")] * refusals
    assert sum(row["event"] == "moved" for row in rows) == 1
    assert offered(results, "X->Y")[1] == RESERVED


def test_rfc2328_s12_4_the_next_lsa_of_a_link_waits_for_min_ls_interval() -> None:
    """What is given back before it is flooded is not flooded; what is left after 5 s is."""
    smaller = "  - {at: 12 s, resize: first, bandwidth: 2 Mbit/s}\n"
    again = smaller + "  - {at: 13500 ms, resize: first, bandwidth: 10 Mbit/s}\n"
    for events, times in ((smaller, [RESERVED, RESERVED + 5_000_000_000]), (again, [RESERVED])):
        results = run(LINE.replace("signalling:", events + "signalling:"))
        # The first is of the path's set-up.
        assert offered(results, "X->Y")[1:] == times


def test_a_change_below_the_threshold_is_in_no_lsa() -> None:
    """X-Y reserves 1, then 10 of 12 Mbit/s; Z-Y 3, then 6 of 10: changes since the last LSA."""
    for share, links in (("0.2", {"X->Y", "Z->Y"}), ("0.65", {"X->Y"}), ("0.85", set())):
        results = run(LINE, **{"signalling.flooding_threshold": share})
        assert {link for link in ("X->Y", "Z->Y") if offered(results, link)} == links


def test_rfc2328_s16_1_a_head_passes_over_a_link_that_its_router_lsas_do_not_list() -> None:
    text = LINE.replace("events:", "failures: {cut: {link: X-Y, at: 9 s}}\nevents:")
    text = text.replace("  first: {route: [X, Y], bandwidth: 1 Mbit/s}\n", "")
    text = text.replace("{at: 10 s, resize: first, bandwidth: 10 Mbit/s}", "{at: 10 s, tear: near}")
    event = "  - {at: AT, move: far, to: auto}\n"
    # Seen at 9.01 s; X's router-LSA with two neighbours left has 108 B: 86.4 us a link.
    for at, refusals in (("9210172 us", 1), ("9210173 us", 0)):
        results = run(text.replace("signalling:", event.replace("AT", at) + "signalling:"))
        rows = list(results.tables["signalling"].rows())
        assert sum(row["event"] == "refused" for row in rows) == refusals
        assert sum(row["event"] == "moved" for row in rows) == 1


def test_rfc2328_s13_5a_an_instance_within_min_ls_arrival_is_discarded_and_sent_again() -> None:
    """R0 tells at 1 s that X is gone, and at 2 s that it is back; the first waits in its queue.

    100 ms of 30 Mbit/s on a link of 10 Mbit/s leave 200 ms of waiting. The second instance comes
    0.8 s after the first, is not acknowledged, and comes again when R0 looks for what lacks an
    acknowledgment, each 5 s from 1 s on.
    """
    text = """\
trunkline: 1
nodes: [X, R0, R1]
defaults: {link: {rate: 10 Mbit/s, delay: 3 ms}}
links: {X-R0: {}, R0-R1: {forward: {port: deep}}}
ports: {deep: {queue: {limit: 1000 packets}}}
flows: {f: {agent: udp, from: R0, to: R1, rate: 30 Mbit/s, size: 1000 B, start: 900 ms, stop: 1 s}}
failures: {cut: {link: X-R0, at: 1 s, repair: 1500 ms}}
routing: {ospf: {hello: 0 s, lsa_interval: 1 s, detection: {kind: fixed, delay: 0 s}}}
run: {duration: 9 s}
"""

    def learnt(**overrides: Any) -> list[int]:
        rows = run(text, **overrides).timeline.rows()
        found = [row for row in rows if (row["event"], row["node"]) == ("lsa-learnt", "R1")]
        return [row["time_ns"] for row in found if row["link"] == "R0->R1"]

    # An update with the LSA of two neighbours has 108 B, 86.4 us. R0's first, then what X said at
    # 1 s and tells when the link is back.
    first, of_x, *later = learnt()
    assert first == pytest.approx(1_203_000_000, abs=2_000_000)
    assert of_x == pytest.approx(1_506_000_000, abs=1_000_000)
    assert later[0] == 6_000_000_000 + 3_000_000 + 86_400
    # Both second instances are taken in where 400 ms are enough; X's has one link more.
    soon = learnt(**{"routing.ospf.lsa_arrival": "400 ms"})
    assert soon == [first, of_x, later[0] - 4_000_000_000, 2_006_000_000 + 76_800 * 2]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_what_links_offer(tmp_path: Path) -> None:
    """Also the address of a router: neighbours that find each other again send all they know."""
    text = LINE.replace("events:", "failures: {cut: {link: H-M, at: 13 s, repair: 14 s}}\nevents:")
    network = compile(load(text))
    results = simulate(network, seeds=[1])[0]
    capture = tmp_path / "run.pcapng"
    write_capture(results, json.loads(network.to_json()), capture)
    command = ["tshark", "-V", "-r", str(capture), "-Y", "ospf"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Malformed" not in output
    sent = sum(row["messages"] for row in results.control.rows() if row["protocol"] == "ospf")
    assert len(re.findall(r"Checksum: 0x[0-9a-f]{4} \[correct\]", output)) == sent
    assert len(set(re.findall(r"Router Address: (10\.0\.0\.\d)", output))) == 5
    # What X said of X-Y at 10.2 s: 12 Mbit/s may be reserved, 2 are left to what has priority 7.
    lines = [part for part in output.split("LSA-type ") if "Link ID: 10.0.0.4" in part]
    full = next(part for part in lines if LEFT in part)
    for words in (
        "Length: 120",
        "MPLS/TE Link Type: Point-to-point (1)",
        "MPLS/TE Local Interface Index: 4",
        "MPLS/TE Remote Interface Index: 5",
        "Traffic Engineering Metric: 40",
        "Maximum Bandwidth: 1250000 bytes/s (10000000 bits/s)",
        "Maximum Reservable Bandwidth: 1500000 bytes/s (12000000 bits/s)",
        "Pri (or TE-Class) 6: 1500000 bytes/s (12000000 bits/s)",
        "MPLS/TE Link Resource Class/Color: 0x00000003",
    ):
        assert words in full


LEFT = "Pri (or TE-Class) 7: 250000 bytes/s (2000000 bits/s)"


def test_rfc3630_s2_5_5_a_te_metric_is_of_32_bits() -> None:
    """The language takes 2^32 as well, which is sent as the largest there is."""
    for written, sent in [(2**32, 2**32 - 1), (2**32 - 1, 2**32 - 1), (2**32 - 2, 2**32 - 2)]:
        data = compile(load(LINE.replace("metric: 40", f"metric: {written}"))).data
        number = next(i for i, link in enumerate(data["links"]) if link["name"] == "X->Y")
        assert data["signalling"]["ospf"]["te"][number]["metric"] == sent
