"""TBF, HFSC and WRR in whole runs, and as the kernel's qdiscs.

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


def rates(result: Any) -> dict[str, float]:
    return {row["flow"]: float(row["throughput_bit_s"]) for row in result.flows.rows()}


LINE = """\
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 1 ms, mtu: 1500 B, header: 14 B, forward: {port: p}}}
ports:
  p:
    scheduler: SCHEDULER
    classify: [{flow: voice, class: voice}, {flow: bulk, class: bulk}]
    classes: CLASSES
flows:
  voice: {agent: udp, from: A, to: B, rate: VOICE, size: 186 B}
  bulk: {agent: udp, from: A, to: B, rate: 12 Mbit/s, size: 1486 B}
  rest: {agent: udp, from: A, to: B, rate: 12 Mbit/s, size: 1486 B}
run: {duration: 4 s, warm_up: 1 s}
"""


def line(scheduler: str, classes: str, voice: str = "64 kbit/s") -> str:
    return LINE.replace("SCHEDULER", scheduler).replace("CLASSES", classes).replace("VOICE", voice)


def test_stoica2000_s2_a_concave_curve_bounds_the_delay_of_a_slow_flow() -> None:
    # 200 B on the wire within 4 ms: m1 400 kbit/s for 4 ms. Late by at most one packet of 1500 B
    # (1.2 ms); with the wire of 1 ms: 6.2 ms. By its share alone a packet takes 200 * 8 / 64e3 =
    # 25 ms at the guaranteed rate.
    classes = (
        "{voice: {real_time: {m1: 400 kbit/s, d: 4 ms, m2: 70 kbit/s}},"
        " bulk: {link_share: 6 Mbit/s}, default: {link_share: 2 Mbit/s}}"
    )
    result = run(line("hfsc", classes))
    (voice,) = (row for row in result.flows.rows() if row["flow"] == "voice")
    assert voice["delay_max_s"] <= 0.0062
    assert voice["packets_dropped"] == 0
    # What voice leaves, 3 to 1, in bytes on the wire (1500 to 1486 of IP).
    rates_found = rates(result)
    left = 10e6 - 64e3 * 200 / 186
    assert rates_found["bulk"] == pytest.approx(left * 0.75 * 1486 / 1500, rel=0.005)
    assert rates_found["rest"] == pytest.approx(left * 0.25 * 1486 / 1500, rel=0.01)


def test_stoica2000_s5_an_upper_limit_leaves_the_line_idle() -> None:
    classes = (
        "{voice: {link_share: 1 Mbit/s}, bulk: {link_share: 50 %, upper_limit: 30 %},"
        " default: {link_share: 1 Mbit/s, upper_limit: 2 Mbit/s}}"
    )
    rates_found = rates(run(line("hfsc", classes)))
    assert rates_found["bulk"] == pytest.approx(3e6 * 1486 / 1500, rel=0.005)
    assert rates_found["rest"] == pytest.approx(2e6 * 1486 / 1500, rel=0.005)


def test_katevenis1991_turns_count_packets() -> None:
    # Turns of 1, 2 and 3 packets of 200, 1500 and 1500 B on the wire.
    classes = "{voice: {weight: 1}, bulk: {weight: 2}, default: {weight: 3}}"
    rates_found = rates(run(line("wrr", classes, voice="3 Mbit/s")))
    turn = 200 + 5 * 1500
    assert rates_found["voice"] == pytest.approx(10e6 * 186 / turn, rel=0.01)
    assert rates_found["bulk"] == pytest.approx(10e6 * 2 * 1486 / turn, rel=0.01)
    assert rates_found["rest"] == pytest.approx(10e6 * 3 * 1486 / turn, rel=0.01)


FILTER = """\
nodes: [A, B]
links: {A-B: {rate: 100 Mbit/s, delay: 1 ms, mtu: 1500 B, forward: {port: p}}}
ports: {p: {scheduler: tbf, classes: {default: {CLASS, queue: {limit: 20 packets}}}}}
flows: {f: {agent: udp, from: A, to: B, rate: 8 Mbit/s, size: 1000 B}}
run: {duration: 4 s, warm_up: 1 s}
"""


def test_sch_tbf_a_flow_above_the_rate_gets_the_rate() -> None:
    rates_found = run(FILTER.replace("CLASS", "rate: 2 Mbit/s, burst: 5 kB"))
    assert rates(rates_found)["f"] == pytest.approx(2e6, rel=0.002)
    # Little: 20 waiting packets leave at 250 a second.
    (port,) = (row for row in rates_found.ports.rows() if row["link"] == "A->B")
    assert port["wait_mean_s"] == pytest.approx(20 / 250, rel=0.01)


def planned(text: str) -> list[str]:
    return list(plan_of(compile(load("trunkline: 1\n" + text)).to_json()).plan.nodes[0].tc)


def test_tbf_and_hfsc_are_the_kernels_own() -> None:
    filtered = planned(
        FILTER.replace("CLASS", "rate: 2 Mbit/s, burst: 5 kB, peak_rate: 4 Mbit/s, min_burst: 2 kB")
    )
    qdisc = "parent 1:1 handle 10: tbf rate 2000000bit burst 5000b peakrate 4000000bit mtu 2000b"
    assert any(qdisc in each for each in filtered)
    assert any("parent 10:1 handle 100: pfifo limit 20" in each for each in filtered)
    classes = (
        "{top: {link_share: 80 %, upper_limit: 9 Mbit/s},"
        " voice: {parent: top, real_time: {m1: 400 kbit/s, d: 4 ms, m2: 70 kbit/s}},"
        " bulk: {parent: top, link_share: 6 Mbit/s}, default: {link_share: 2 Mbit/s}}"
    )
    lines = [
        each.partition(" class add dev ")[2] or each for each in planned(line("hfsc", classes))
    ]
    for wanted in (
        "parent 10: classid 10:1 hfsc ls m2 8000000bit ul m2 9000000bit",
        "parent 10:1 classid 10:2 hfsc rt m1 400000bit d 4000us m2 70000bit",
        "parent 10:1 classid 10:3 hfsc ls m2 6000000bit",
    ):
        assert any(wanted in each for each in lines), lines


def test_wrr_is_refused_with_what_comes_nearest() -> None:
    with pytest.raises(UnsupportedError) as caught:
        planned(line("wrr", "{voice: {}, bulk: {}, default: {}}"))
    assert "no wrr; nearest: drr" in str(caught.value)
