"""Equal-cost multipath: shares against the binomial, RFC 2992, RFC 6790 and the loads of `te`."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trunkline as tl
from trunkline import te
from trunkline.network import compile
from trunkline.scenario.resolved.placement import build_topology

THREE = """\
trunkline: 1
nodes: [A, B, C, D, E]
defaults: {link: {rate: 1 Gbit/s, delay: 1 ms}}
links: {A-B: {}, A-C: {}, A-D: {delay: 2 ms}, B-E: {}, C-E: {}, D-E: {}}
flows:
  f: {from: A, to: E, agent: udp, rate: 100 kbit/s, size: 500 B,
      start_jitter: 40 ms, stop: 1 s, replicate: 900}
routing: {ecmp: flow}
run: {duration: 1 s, trace: true}
"""
# A path with one segment to F over A-B-F and A-C-F.
LABELLED = """\
trunkline: 1
nodes: [S, A, B, C, F]
defaults: {link: {rate: 1 Gbit/s, delay: 1 ms}}
links: {S-A: {}, A-B: {}, A-C: {}, B-F: {}, C-F: {}}
paths: {p: {from: S, segments: F}}
trunks: {t: {path: p, flows: all}}
flows:
  f: {from: S, to: F, agent: udp, rate: 100 kbit/s, size: 500 B,
      start_jitter: 40 ms, stop: 1 s, replicate: 400}
routing: {ecmp: flow}
run: {duration: 2 s}
"""


def packets(results: tl.Results) -> dict[str, int]:
    return {row["link"]: row["packets_sent"] for row in results.ports.rows()}


def ways(results: tl.Results) -> dict[str, set[str]]:
    """Links out of A by flow, from the trace."""
    found: dict[str, set[str]] = {}
    for row in results.packets.rows():
        if row["event"] == "queued" and str(row["link"]).startswith("A->"):
            found.setdefault(row["flow"], set()).add(row["link"])
    return found


@pytest.fixture(scope="module")
def three() -> tl.Results:
    return tl.run(tl.load(THREE))


def test_binomial_each_of_three_ways_carries_a_third_of_the_flows(three: tl.Results) -> None:
    taken = [next(iter(links)) for links in ways(three).values()]
    # 900 flows, p = 1/3: mean 300, deviation sqrt(900 / 3 * 2 / 3) = 14.1; four of them are 57.
    for link in ("A->B", "A->C", "A->D"):
        assert abs(taken.count(link) - 300) < 4 * math.sqrt(900 * 2 / 9)


def test_rfc2992_s1_a_flow_stays_on_one_path_and_keeps_its_order(three: tl.Results) -> None:
    assert all(len(links) == 1 for links in ways(three).values())
    assert all(row["reordered"] == 0 for row in three.flows.rows())
    # 100 kbit/s of 500 B: 25 packets a flow and second.
    assert sum(row["packets_sent"] for row in three.flows.rows()) == 900 * 25


def test_te_loads_split_equally_are_the_mean_over_seeds() -> None:
    # A has two ways, by B and by C; C has two of its own, so that E gets 1/2 over B and 1/4 over
    # each of D and F.
    text = """\
trunkline: 1
nodes: [A, B, C, D, F, E]
defaults: {link: {rate: 1 Gbit/s}}
links: {A-B: {}, A-C: {}, B-E: {metric: 2}, C-D: {}, C-F: {}, D-E: {}, F-E: {}}
flows:
  f: {from: A, to: E, agent: udp, rate: 1 Mbit/s, size: 500 B,
      start_jitter: 40 ms, stop: 1 s, replicate: 500}
routing: {ecmp: flow}
run: {duration: 100 ms}
"""
    scenario = tl.load(text)
    graph = build_topology(scenario.resolve())
    traffic = np.zeros((6, 6))
    traffic[0, 5] = 1.0
    loads, _ = te.spf.compute_ecmp_loads(graph, graph.igp, traffic)
    planned = dict(zip(compile_names(scenario), loads.tolist(), strict=True))
    runs = [packets(tl.run(scenario, seed=seed)) for seed in range(1, 9)]
    total = sum(each["A->B"] + each["A->C"] for each in runs)
    # 4,000 flows in all: the deviation of a share p is sqrt(p (1 - p) / 4000), below 0.008.
    assert planned["A->B"] == 0.5
    assert planned["C->D"] == 0.25
    for link in ("A->B", "A->C", "C->D", "C->F", "B->E"):
        share = sum(each[link] for each in runs) / total
        assert share == pytest.approx(planned[link], abs=4 * 0.008)


def compile_names(scenario: tl.Scenario) -> list[str]:
    return [link["name"] for link in compile(scenario).data["links"]]


def test_rfc2992_s2_routers_choose_by_salts_of_their_own() -> None:
    """With one hash for all, C would see only flows of one half and send them one way."""
    text = THREE.replace(
        "links: {A-B: {}, A-C: {}, A-D: {delay: 2 ms}, B-E: {}, C-E: {}, D-E: {}}",
        "links: {A-B: {}, A-C: {}, B-D: {}, B-E: {metric: 2}, C-E: {metric: 2}, D-E: {}}",
    )
    sent = packets(tl.run(tl.load(text)))
    half = sent["B->D"] / (sent["B->D"] + sent["B->E"])
    assert half == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 450))


def test_rfc6790_s1_a_label_stack_alone_has_no_entropy() -> None:
    """Every flow of a path has the same stack: hashed by label, all take one way."""
    sent = packets(tl.run(tl.load(LABELLED.replace("ecmp: flow", "ecmp: label"))))
    assert sorted([sent["A->B"], sent["A->C"]]) == [0, 400 * 25]


@pytest.mark.parametrize("ecmp", ["flow", "entropy"])
def test_rfc6790_s3_flows_of_one_path_share_the_ways(ecmp: str) -> None:
    sent = packets(tl.run(tl.load(LABELLED.replace("ecmp: flow", f"ecmp: {ecmp}"))))
    assert sent["A->B"] + sent["A->C"] == 400 * 25
    # 400 flows, p = 1/2: deviation 10 flows of 25 packets.
    assert abs(sent["A->B"] - 200 * 25) < 4 * 10 * 25


def test_rfc6790_s4_2_two_labels_more_are_on_the_wire_and_off_at_the_end() -> None:
    results = tl.run(tl.load(LABELLED.replace("ecmp: flow", "ecmp: entropy")))
    bytes_ = {row["link"]: row["bytes_sent"] for row in results.ports.rows()}
    # 500 B and on S-A the node's label, the indicator and the entropy label; B and C take the
    # node's off, the last two come off at F.
    assert bytes_["S->A"] == 400 * 25 * (500 + 12)
    assert bytes_["B->F"] + bytes_["C->F"] == 400 * 25 * (500 + 8)
    assert sum(row["packets_delivered"] for row in results.flows.rows()) == 400 * 25


@pytest.mark.parametrize("ecmp", ["flow", "entropy"])
def test_rfc3443_s3_1_the_ttl_counts_every_hop_with_entropy_labels_or_without(ecmp: str) -> None:
    """A and one of B and C count: a TTL of 3 reaches F as 1, one of 2 ends at the second."""
    text = LABELLED.replace("ecmp: flow", f"ecmp: {ecmp}").replace("replicate: 400", "ttl: 3")
    passed = next(tl.run(tl.load(text)).flows.rows())
    ended = next(tl.run(tl.load(text.replace("ttl: 3", "ttl: 2"))).flows.rows())
    assert (passed["packets_delivered"], ended["packets_delivered"]) == (25, 0)


def test_a_cut_moves_the_flows_of_one_way_to_the_others() -> None:
    text = THREE.replace("run:", "failures: {cut: {link: A-B, at: 500 ms}}\nrerouting: {}\nrun:")
    moved = ways(tl.run(tl.load(text)))
    assert {link for links in moved.values() for link in links} == {"A->B", "A->C", "A->D"}
    # RFC 2992 section 3: of three regions the first goes, so that those of the others grow: thirds
    # become halves. Flows in (0, 1/3) move from B to C, those in (1/3, 1/2) stay on C, those in
    # (1/2, 2/3) move from C to D: half of all flows change.
    changed = sum(len(links) > 1 for links in moved.values())
    assert abs(changed / 900 - 0.5) < 4 * math.sqrt(0.25 / 900)


def test_the_kernel_refuses_with_a_reason() -> None:
    from trunkline.linux.plan.command_script import UnsupportedError
    from trunkline.linux.plan.compiled_plan import compile_plan as plan

    with pytest.raises(UnsupportedError, match="hashes with a seed"):
        plan(compile(tl.load(THREE)).to_json())


# Two equal ways from a sender, whose links out are the narrow ones.
NARROW = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 100 Mbit/s, delay: 5 ms}, queue: {limit: 1000 packets}}
links: {S-A: {rate: 10 Mbit/s}, S-B: {rate: 10 Mbit/s}, A-T: {}, B-T: {}}
flows: {f: {agent: tcp, from: S, to: T, preset: linux, variant: sack, window: 400 packets}}
"""


@pytest.mark.parametrize("routing", ["", "routing: {ecmp: flow}\n"])
def test_tcp_small_queue_check_holds_behind_a_choice_of_links(routing: str) -> None:
    """Linux's `tcp_small_queue_check`: two segments wait in the host, whichever link is chosen.

    A millisecond of 10 Mbit/s is less than two segments, which are the minimum. Without the check
    the window of 400 packets, less those under way, would wait.
    """
    ports = tl.run(tl.load(NARROW + routing + "run: {duration: 2 s}\n")).ports
    queues = [row["queue_max_packets"] for row in ports.rows() if row["link"] in ("S->A", "S->B")]
    assert sorted(queues) == [0, 2]
