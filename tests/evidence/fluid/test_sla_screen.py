"""The screen of agreements against packets: every single failure of two small networks, all bounds.

No bound that the packets refute may be held by the screen, none that they hold broken, and what
they measure must be inside its limits.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

import trunkline as tl
from trunkline.planning import survive
from trunkline.planning.packet_trial import find_failure_time, judge_slas, plan_failure_runs
from trunkline.planning.screen_execution import screen_slas
from trunkline.study import perform_plan

CLASSES = {
    "voice": (0.1, 200, "EF"),
    "video": (0.25, 1200, "AF41"),
    "business": (0.25, 800, "AF21"),
    "data": (0.4, 1000, "DF"),
}
SQUARE = ("ABCD", "A-B: {}, B-C: {}, C-D: {}, D-A: {}, A-C: {rate: 6 Mbit/s}")
RING = ("ABCDE", "A-B: {}, B-C: {}, C-D: {}, D-E: {}, E-A: {}, A-D: {rate: 4 Mbit/s}")
CLASSIFY = "classify: [{dscp: EF, class: v}, {dscp: AF41, class: w}, {dscp: AF21, class: b}]"
PORTS = {
    "htb": "preset: diffserv",
    "priority": f"{CLASSIFY}, scheduler: priority, classes: "
    "{v: {priority: 0}, w: {priority: 1}, b: {priority: 2}, default: {priority: 3}}",
    "drr": f"{CLASSIFY}, scheduler: drr, classes: "
    "{v: {weight: 3}, w: {weight: 2}, b: {weight: 2}, default: {weight: 1}}",
    "fifo": "queue: {limit: 60 packets}",
}
REROUTED = "rerouting: {spf_delay: 100 ms}"
BYPASSED = """\
trunks: {mesh: {demands: all, path: auto}}
protections:
  frr: {path: all, kind: facility-bypass, backup: auto, detection: {kind: bfd, interval: 10 ms}}"""
SLAS = """\
slas:
  voice: {dscp: EF, at_most: {delay_p99: 30 ms, loss: 0.1 %, delay_mean: 10 ms, jitter: 3 ms}}
  video: {dscp: AF41, at_most: {delay_p99: 50 ms, loss: 0.5 %}, at_least: {throughput: 3 Mbit/s}}
  business: {dscp: AF21, at_most: {delay_mean: 20 ms, loss: 1 %, delay_p95: 40 ms}}
  data: {dscp: DF, at_most: {loss: 2 %, delay_p90: 80 ms, delay_max: 300 ms}}
run: {duration: 12 s, warm_up: 2 s}
"""


def scenario_of(network, port: str, arrivals: str, repair: str, pair_mbit: float) -> tl.Scenario:
    nodes, links = network
    demands = "".join(
        f"  {a}-{b}-{name}: {{from: {a}, to: {b}, rate: {share * pair_mbit * 1e3:.0f} kbit/s, "
        f"class: {name}}}\n"
        for a, b in permutations(nodes, 2)
        for name, (share, _, _) in CLASSES.items()
    )
    traffic = "".join(
        f"  {name}: {{agent: udp, size: {size} B, dscp: {dscp}, arrivals: {arrivals}}}\n"
        for name, (_, size, dscp) in CLASSES.items()
    )
    return tl.loads(
        f"trunkline: 1\nnodes: [{', '.join(nodes)}]\n"
        "defaults: {link: {rate: 10 Mbit/s, delay: 2 ms, port: four}, "
        "diffserv: {map: {DF: 0, AF21: 2, AF41: 4, EF: 5}}}\n"
        f"links: {{{links}}}\nports: {{four: {{{PORTS[port]}}}}}\n"
        f"traffic:\n{traffic}demands:\n{demands}{repair}\n{SLAS}"
    )


@pytest.mark.parametrize(
    ("network", "port", "arrivals", "repair", "pair_mbit"),
    [
        (SQUARE, "htb", "poisson", BYPASSED, 1.8),
        (SQUARE, "priority", "poisson", REROUTED, 0.8),
        (SQUARE, "fifo", "cbr", BYPASSED, 1.8),
        (RING, "drr", "poisson", REROUTED, 0.9),
        (RING, "fifo", "poisson", BYPASSED, 1.1),
    ],
)
def test_no_bound_that_packets_break_is_held_by_the_screen(
    network, port: str, arrivals: str, repair: str, pair_mbit: float
) -> None:
    scenario = scenario_of(network, port, arrivals, repair, pair_mbit)
    bounds = scenario.list_sla_bounds()
    failures = survive(scenario, kinds=("link",)).failures
    begin_ns = find_failure_time(scenario, None)
    screen = screen_slas(scenario, failures, begin_ns=begin_ns, runs=3)
    assert not screen.refusal
    with perform_plan(plan_failure_runs(scenario, failures, at_ns=begin_ns, runs=3)) as runs:
        measured = judge_slas(bounds, runs)
    levels = [
        (bound, level)
        for failure in failures
        for bound, level in zip(bounds, screen.levels[failure.failure], strict=True)
    ]
    pairs: Counter[tuple[str, str]] = Counter()
    for (bound, level), packets in zip(levels, measured, strict=True):
        outcome = level.find_outcome(bound)
        pairs[outcome, packets.outcome] += 1
        assert (outcome, packets.outcome) not in {("held", "refuted"), ("broken", "held")}, packets
        if packets.value is not None:
            assert level.least <= packets.value <= level.greatest, (packets, level)
    # The screen decides something of what packets hold.
    assert pairs["held", "held"] >= len(levels) / 4
