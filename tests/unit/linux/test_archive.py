"""Statistics of a guest, from the files of its archive."""

import json

from trunkline.linux.guest.archive import collect_statistics
from trunkline.linux.plan.guest_plan import GuestPlan, PlannedNode


def test_what_a_discipline_sent_is_that_of_the_time_of_the_snapshot() -> None:
    """`tc` prints later, on an emulated machine 20 ms: 18 packets more at 10 Mbit/s."""
    counters = {"packets": 2306, "bytes": 3066092, "drops": 0}
    read = [
        {"qdisc": "pfifo", "handle": "100:", **counters},
        {"qdisc": "cake", "handle": "200:", **counters},
        {"class": "htb", "handle": "1:1", **counters},
    ]
    late = {"dev": "l0a", "packets": 2324, "bytes": 3092000, "drops": 1}
    printed = [
        {**late, "kind": "pfifo", "handle": "100:"},
        {**late, "kind": "cake", "handle": "200:", "tins": []},
        {**late, "kind": "noqueue", "handle": "0:", "dev": "lo"},
    ]
    files = {
        "snapshot-0/n0/queues": json.dumps({"l0a": read}).encode(),
        "snapshot-0/n0/tc": (json.dumps(printed) + "[][]").encode(),
        "snapshot-0/n0/counters": b"Ip: InReceives\nIp: 7\n",
    }
    plan = GuestPlan(seed=1, duration_ns=5, links=(), nodes=(PlannedNode("n0"),), snapshots_ns=(5,))
    (snapshot,) = collect_statistics(plan, files)
    node = snapshot["nodes"]["n0"]
    assert [(each["packets"], each["bytes"]) for each in node["qdiscs"]] == [
        (2306, 3066092),
        (2324, 3092000),
        (2324, 3092000),
    ]
    assert node["classes"] == {"l0a": [read[2]]}
    assert node["filters"] == {"l0a": {"ingress": [], "egress": []}}
    assert node["netstat"] == {"Ip": {"InReceives": 7}}
