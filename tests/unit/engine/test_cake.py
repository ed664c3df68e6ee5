"""CAKE in whole runs, and as the kernel's qdisc; adaptive RED, BLUE and step marking beside it.

Every run also checks itself: packets are conserved, and Little's law holds exactly.
"""

from typing import Any

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.compiled_plan import compile_plan as plan_of
from trunkline.network import compile
from trunkline.scenario import load


def run(text: str) -> Any:
    (result,) = simulate(compile(load("trunkline: 1\n" + text)), seeds=[1])
    return result


def flow(result: Any, name: str) -> dict[str, Any]:
    return dict(next(row for row in result.flows.rows() if row["flow"] == name))


def port_of(result: Any, link: str, name: str = "default") -> dict[str, Any]:
    rows = result.ports.rows()
    return dict(next(row for row in rows if row["link"] == link and row["class"] == name))


HOSTS = """\
nodes: [A, B, C, R, D]
links:
  A-R: {rate: 1 Gbit/s}
  B-R: {rate: 1 Gbit/s}
  C-R: {rate: 1 Gbit/s}
  R-D: {rate: 10 Mbit/s, delay: 5 ms, forward: {port: p}}
ports: {p: {scheduler: cake, bandwidth: 8 Mbit/s, CLASSES}}
flows:
  many: {agent: udp, from: A, to: D, replicate: 7, rate: 8 Mbit/s, size: 1000 B}
  one: {agent: udp, from: B, to: D, rate: 12 Mbit/s, size: 500 B}
  calm: {agent: udp, from: C, to: D, rate: 1 Mbit/s, size: 1000 B}
run: {duration: 12 s, warm_up: 2 s}
"""


def test_hoiland2018_s3_c_hosts_share_before_their_flows_do() -> None:
    # 8 Mbit/s: calm takes its 1, and what is left goes half to A, whose seven flows divide it, and
    # half to B's one.
    queue = "queue: {flows: {kind: cake, queues: 65528, hosts: source}}"
    result = run(HOSTS.replace("CLASSES", f"classes: {{default: {{{queue}}}}}"))
    assert float(flow(result, "calm")["throughput_bit_s"]) == pytest.approx(1e6, rel=0.01)
    assert float(flow(result, "one")["throughput_bit_s"]) == pytest.approx(3.5e6, rel=0.03)
    many = [float(flow(result, f"many[{at}]")["throughput_bit_s"]) for at in range(7)]
    assert sum(many) == pytest.approx(3.5e6, rel=0.03)
    assert max(many) == pytest.approx(min(many), rel=0.1)
    # By flows alone: nine equal shares, less than calm asks for.
    alone = run(
        HOSTS.replace("CLASSES", f"classes: {{default: {{{queue}}}}}").replace("source", "flows")
    )
    assert float(flow(alone, "one")["throughput_bit_s"]) == pytest.approx(8e6 / 9, rel=0.05)


def test_hoiland2018_s3_a_the_shaper_gives_its_bandwidth_exactly() -> None:
    result = run(HOSTS.replace(", CLASSES", ""))
    assert port_of(result, "R->D")["throughput_bit_s"] == pytest.approx(8e6, rel=1e-3)


TINS = """\
nodes: [A, B]
links: {A-B: {rate: 100 Mbit/s, delay: 5 ms, mtu: 1500 B, forward: {port: p}}}
ports: {p: {preset: cake-diffserv4, bandwidth: 8 Mbit/s}}
flows:
  voice: {agent: udp, from: A, to: B, rate: VOICE, size: 200 B, dscp: EF}
  video: {agent: udp, from: A, to: B, rate: 10 Mbit/s, size: 1000 B, dscp: AF41}
  bulk: {agent: udp, from: A, to: B, rate: 10 Mbit/s, size: 1000 B, dscp: LE}
  rest: {agent: udp, from: A, to: B, rate: 10 Mbit/s, size: 1000 B}
run: {duration: 12 s, warm_up: 2 s}
"""


def test_tc_cake_diffserv4_tins_get_their_thresholds_before_best_effort_gets_more() -> None:
    # Of 8 Mbit/s: voice asks 3 and gets 1/4 before all else, video 1/2, bulk 1/16, the rest 3/16.
    result = run(TINS.replace("VOICE", "3 Mbit/s"))
    got = {row["flow"]: float(row["throughput_bit_s"]) / 1e6 for row in result.flows.rows()}
    assert got == pytest.approx({"voice": 2, "video": 4, "bulk": 0.5, "rest": 1.5}, rel=0.02)


def test_tc_cake_voice_within_its_threshold_waits_for_the_shaper_only() -> None:
    # The packet before it: 1000 B at 8 Mbit/s, 1 ms; its own 200 B at 100 Mbit/s; the wire.
    result = run(TINS.replace("VOICE", "64 kbit/s"))
    assert flow(result, "voice")["delay_max_s"] <= 0.001 + 0.000016 + 0.005 + 1e-6


def test_sch_cake_slow_tins_have_longer_targets() -> None:
    # cake_set_rate at 1 Mbit/s: 1514 B take 12.112 ms; target 18.168 ms, interval 113.168 ms;
    # at 5 Mbit/s 1.5 packets take 3.6 ms: 5 and 100 ms.
    text = HOSTS.replace(", CLASSES", "")
    aqms = []
    for rate in ("1 Mbit/s", "5 Mbit/s"):
        network = compile(
            load(
                "trunkline: 1\n"
                + text.replace("8 Mbit/s, ", "8 Mbit/s, ", 1).replace(
                    "bandwidth: 8 Mbit/s", f"bandwidth: {rate}"
                )
            )
        ).data
        aqm = network["ports"][-1]["classes"][0]["queue"]["aqm"]
        aqms.append((aqm["target_ns"], aqm["interval_ns"]))
    assert aqms == [(18_168_000, 113_168_000), (5_000_000, 100_000_000)]


def planned(text: str) -> list[str]:
    return list(plan_of(compile(load("trunkline: 1\n" + text)).to_json()).plan.nodes[0].tc)


def test_cake_is_the_kernels_own() -> None:
    text = TINS.replace("VOICE", "1 Mbit/s")
    lines = planned(text)
    wanted = (
        "parent 1:1 handle 10: cake bandwidth 8000000bit diffserv4 triple-isolate nowash raw "
        "rtt 100000us memlimit 4000000"
    )
    assert any(wanted in line for line in lines), lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("bulk: {rate: 10 %}", "Linux's cake has its own tins; nearest: preset: cake-diffserv4"),
        ("default: {queue: {limit: 50 packets}}", "the tins of Linux's cake are alike"),
    ],
)
def test_what_the_kernels_cake_cannot_is_refused(change: str, message: str) -> None:
    text = TINS.replace("VOICE", "1 Mbit/s")
    with pytest.raises(UnsupportedError) as caught:
        planned(text.replace("8 Mbit/s}", f"8 Mbit/s, classes: {{{change}}}}}", 1))
    assert message in str(caught.value)


OVERLOAD = """\
nodes: [A, B]
links: {{A-B: {{rate: 8 Mbit/s, delay: 1 ms, mtu: 1500 B, forward: {{port: p}}}}}}
ports: {{p: {{queue: {{limit: LIMIT, aqm: {aqm}}}}}}}
flows: {{f: {{agent: udp, from: A, to: B, rate: 8.8 Mbit/s, size: 1000 B}}}}
run: {{duration: 60 s, warm_up: 20 s}}
"""
RED = (
    "{{kind: red-linux, min: 10 kB, max: 60 kB, burst: 30 packets, probability: {}, adaptive: {}}}"
)


def test_floyd2001_adaptive_red_settles_mid_band_from_any_probability() -> None:
    # Target: 10 + (0.4 .. 0.6) * 50 kB, of packets of 1000 B: 30 to 40 packets.
    queues = {}
    for probability in (0.02, 0.5):
        for adaptive in ("true", "false"):
            aqm = RED.format(probability, adaptive)
            result = run(OVERLOAD.format(aqm=aqm).replace("LIMIT", "200 kB"))
            queues[probability, adaptive] = float(port_of(result, "A->B")["queue_mean_packets"])
    assert 30 <= queues[0.02, "true"] <= 40
    assert 30 <= queues[0.5, "true"] <= 40
    # Left alone: 0.02 never suffices, 0.5 is too much: 10 + 50 / (21 * 0.5) = 14.8.
    assert queues[0.02, "false"] > 55
    assert queues[0.5, "false"] == pytest.approx(14.8, rel=0.05)


def test_feng2002_blue_drops_what_does_not_fit() -> None:
    result = run(
        OVERLOAD.format(aqm="{kind: blue, threshold: 30 packets, freeze: 50 ms}").replace(
            "LIMIT", "1000 packets"
        )
    )
    port_row = port_of(result, "A->B")
    assert port_row["packets_dropped"] / port_row["packets_offered"] == pytest.approx(
        1 / 11, abs=0.02
    )
    assert {row["cause"] for row in result.drops.rows()} == {"early"}


def test_rfc8257_s3_1_a_step_marks_and_drops_nothing() -> None:
    text = """\
nodes: [A, B]
links: {A-B: {rate: 8 Mbit/s, delay: 10 ms, forward: {port: p}}}
ports: {p: {queue: {limit: 300 packets, aqm: {kind: step, threshold: 30 packets}}}}
flows: {f: {agent: tcp, from: A, to: B, variant: sack, ecn: ECN, window: 200 packets}}
run: {duration: 20 s, warm_up: 5 s}
"""
    marked, unmarked = (
        port_of(run(text.replace("ECN", word)), "A->B") for word in ("true", "false")
    )
    # ECN halves the window once the queue has passed 30; without it the window of 200 stands:
    # 200 packets less 2 * 10 ms of the link.
    assert marked["packets_dropped"] == unmarked["packets_dropped"] == 0
    assert marked["queue_max_packets"] < 80
    assert unmarked["queue_max_packets"] > 150


def test_what_the_kernel_has_not_or_does_not_start_is_refused() -> None:
    for aqm, message in (
        (RED.format(0.1, "true").replace("{{", "{").replace("}}", "}"), "tc cannot start the adap"),
        ("{kind: blue, threshold: 30 packets}", "no blue; nearest: pie"),
        ("{kind: step, threshold: 30 packets}", "no step; nearest: codel with ce_threshold"),
        ("cobalt", "no cobalt; nearest: codel, or scheduler: cake"),
    ):
        with pytest.raises(UnsupportedError) as caught:
            planned(OVERLOAD.format(aqm=aqm).replace("LIMIT", "200 kB"))
        assert message in str(caught.value)
