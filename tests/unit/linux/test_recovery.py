"""Failures, protection and rerouting as changes of the kernel's tables."""

from __future__ import annotations

import pytest

from trunkline.linux.plan.agent_orders import write_orders
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan as plan_of
from trunkline.linux.plan.guest_plan import QueueReading
from trunkline.network import compile
from trunkline.scenario import load

MS = 1_000_000
NET = """\
trunkline: 1
nodes: [S, A, B, T, C, D]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, S-C: {}, C-D: {}, D-T: {}, A-C: {}, B-D: {}}
paths:
  working: {route: [S, A, B, T]}
  spare: {route: [S, C, D, T]}
  around: {route: [A, C, D, B]}
trunks: {all: {path: working, flows: [cbr]}}
flows: {cbr: {agent: udp, from: S, to: T, rate: 4 Mbit/s, size: 1000 B}}
failures: {cut: {link: A->B, at: 100 ms, repair: 200 ms}}
protections:
  p: {path: working, BACKUP, switch: 7 ms, detection: {kind: fixed, delay: 20 ms}}
run: {duration: 400 ms}
"""


def planned(backup: str, net: str = NET) -> CompiledPlan:
    return plan_of(compile(load(net.replace("BACKUP", backup))).to_json())


def changes(compiled: CompiledPlan) -> list[tuple[float, str, str, str]]:
    return [(each.at_ns / MS, each.node, each.program, each.line) for each in compiled.plan.changes]


# S is n0, A n1, B n2, C n4; A->B is l1a at A and w1b at B, S->A l0a, S->C l3a, A->C l6a.
FAILS = [
    (100, "n1", "tc", "filter add dev l1a egress protocol all prio 1 matchall action goto chain 1"),
    (100, "n1", "ip", "link set l1a txqueuelen 2000"),
    (100, "n2", "ip", "link set w1b txqueuelen 2000"),
]
REPAIRED = (200, "n1", "tc", "filter del dev l1a egress protocol all prio 1")


def test_a_link_that_fails_is_counted_emptied_and_closed_until_its_repair() -> None:
    compiled = planned("kind: backup, backup: spare")
    found = changes(compiled)
    assert found[:3] == FAILS
    assert REPAIRED in found
    at = 100 * MS
    assert compiled.plan.counts == (QueueReading(at, "n1", "l1a"), QueueReading(at, "n2", "w1b"))
    trap = "filter add dev l1a egress chain 1 protocol all prio 1 matchall action trap"
    assert trap in compiled.plan.nodes[1].tc


# RFC 3469 section 2.2.1: known at 120 ms, switched 7 ms later. The repair is known at once, and
# the way back takes 7 ms too. The labels of the first links of both paths are those of their next
# nodes, 16 at A and, with 17 being `around`'s, 16 at C.
def test_rfc3469_s2_2_1_the_head_sends_into_the_backup_and_back() -> None:
    routes = [
        each for each in changes(planned("kind: backup, backup: spare")) if "route" in each[3]
    ]
    start = "route replace 10.128.0.1/32 encap mpls 16 via inet "
    assert routes == [
        (127, "n0", "ip", start + "10.0.0.14 dev l3a"),
        (207, "n0", "ip", start + "10.0.0.2 dev l0a"),
    ]


# RFC 4090 section 3.2: A swaps to the label that B expects, 16, and pushes that of the bypass,
# which C knows as 17, upon it; section 3.1: a detour has a label of its own alone.
@pytest.mark.parametrize(
    ("kind", "labels"), [("facility-bypass", "17/16"), ("detour", "17")], ids=["s3_2", "s3_1"]
)
def test_rfc4090_the_point_of_local_repair_changes_one_label_route(kind: str, labels: str) -> None:
    found = changes(planned(f"kind: {kind}, backup: around"))
    switched = next(each for each in found if "route" in each[3])
    assert switched[:3] == (127, "n1", "mpls")
    assert switched[3] == f"route replace 16 as {labels} via inet 10.0.0.26 dev l6a"


def test_restored_paths_have_their_labels_from_the_start() -> None:
    compiled = planned("kind: restoration, compute: 10 ms")
    first = next(each for each in changes(compiled) if "route" in each[3])
    assert first[1] == "n0"
    # C, D and T, the first with the last label: 2^20 - 2, for a table of 2^20 - 1 labels.
    assert "encap mpls 1048572 via" in first[3]
    assert "route add 1048572 as 1048573 via inet 10.0.0.18 dev l4a" in compiled.plan.nodes[4].mpls


def test_while_a_switch_is_open_its_packets_are_trapped() -> None:
    backup = "kind: backup, backup: spare, make_before_break: false"
    found = [
        each for each in changes(planned(backup)) if "chain 3" in each[3] or "prio 2" in each[3]
    ]
    trap = "dev l3a egress protocol mpls_uc prio 2"
    assert found == [
        (
            200,
            "n0",
            "tc",
            f"filter add {trap} u32 match u32 0x00010000 0xfffff000 at 0 action goto chain 3",
        ),
        (207, "n0", "tc", f"filter del {trap}"),
    ]


# RFC 2328 section 13: B notices at 110 ms, A hears it 5 ms later and S after 5 ms more; each has
# new routes 30 ms after that, and the old ones as long after the repair.
def test_rfc2328_s13_routers_change_their_routes_one_after_the_other() -> None:
    net = NET[: NET.index("protections")].replace(
        "trunks: {all: {path: working, flows: [cbr]}}\n", ""
    )
    net += "rerouting: {detection: {kind: loss-of-signal}, spf_delay: 30 ms}\n"
    net += "run: {duration: 300 ms}\n"
    found = changes(planned("", net))
    times = {(at, node) for at, node, program, line in found if "10.128.0.1" in line}
    assert times == {(145, "n1"), (150, "n0"), (245, "n1"), (250, "n0")}
    assert all(program == "ip" for _, _, program, line in found if "route" in line)


def test_a_failed_node_closes_all_its_links() -> None:
    net = NET.replace("link: A->B", "node: B")
    found = changes(planned("kind: backup, backup: spare", net))
    closed = [line for at, _, _, line in found if at == 100 and "goto chain 2" in line]
    assert len(closed) == 6


def test_one_plus_one_is_refused_with_what_is_nearest() -> None:
    net = NET.replace("[S, A, B, T]}", "[S, A, B, T], php: false}").replace(
        "[S, C, D, T]}", "[S, C, D, T], php: false}"
    )
    with pytest.raises(UnsupportedError, match="nearest: kind: backup"):
        planned("kind: one-plus-one, backup: spare", net)


def test_a_way_back_that_cannot_be_told_from_other_packets_is_refused() -> None:
    net = NET.replace(
        "flows: [cbr]}}", "flows: [cbr]}, more: {path: spare, flows: [more]}}"
    ).replace("flows: {cbr:", "flows: {more: {agent: udp, from: S, to: T, rate: 1 Mbit/s}, cbr:")
    with pytest.raises(UnsupportedError, match="nearest: make_before_break: true"):
        planned("kind: backup, backup: spare, make_before_break: false", net)


def test_plan_and_orders_hold_the_changes() -> None:
    plan = planned("kind: backup, backup: spare").plan
    orders = write_orders(plan).decode()
    assert "\ncount 100000000 n1 l1a\n" in orders
    assert "\nchange 100000000 n2 ip link set w1b txqueuelen 2000\n" in orders
