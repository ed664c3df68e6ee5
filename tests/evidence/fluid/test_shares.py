"""Rates of the fluid engine: GPS and max-min by hand, TCP against the packets with its error."""

import pytest

import trunkline as tl

LINE = """
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: DELAY}
  B-C: {rate: 10 Mbit/s, delay: DELAY}
  C-D: {rate: 4 Mbit/s, delay: DELAY}
flows:
FLOWS
run: {duration: 10 s}
"""
RED = """
trunkline: 1
nodes: [A, B, R, T, X, Y]
links:
  A-R: {rate: 1 Gbit/s, delay: 10 ms}
  B-R: {rate: 1 Gbit/s, delay: FAR}
  R-T: {rate: 20 Mbit/s, delay: 5 ms, port: red}
  T-X: {rate: 1 Gbit/s, delay: 1 ms}
  T-Y: {rate: LAST, delay: 1 ms}
ports:
  red:
    queue:
      limit: 200 packets
      aqm: {kind: red, min_th: 20 packets, max_th: 60 packets, max_p: 10 %}
flows:
  near: {agent: tcp, replicate: 5, from: A, to: X, start_jitter: 1 s}
  far: {agent: tcp, replicate: 5, from: B, to: Y, start_jitter: 1 s}
run: {duration: 120 s, warm_up: 20 s}
"""


def rates(text):
    flows = tl.run(tl.loads(text), engine="fluid").flows
    return dict(zip(flows["flow"], flows["throughput_bit_s"], strict=True))


def udp(name, source, target, rate, more=""):
    return (
        f"  {name}: {{agent: udp, from: {source}, to: {target}, rate: {rate}, size: 500 B{more}}}\n"
    )


def test_what_an_overloaded_link_lets_through_is_what_reaches_the_next():
    flows = udp("long", "A", "D", "10 Mbit/s") + udp("short", "A", "B", "10 Mbit/s")
    found = rates(LINE.replace("DELAY", "1 ms").replace("FLOWS", flows))
    # 20 offered to 10 on A-B: half of each. 5 Mbit/s of long reach C-D, which carries 4.
    assert found["short"] == pytest.approx(5e6)
    assert found["long"] == pytest.approx(4e6)


def test_bertsekas_gallager1992_s6_5_2_max_min_fair_shares():
    # Equal round trips without queues that matter: windows of 8 segments would allow far more.
    each = "{agent: tcp, from: %s, to: %s, mss: 1460 B}"
    pairs = {"long": "AD", "first": "AB", "middle": "BC", "last": "CD"}
    flows = "".join(f"  {name}: {each % tuple(ends)}\n" for name, ends in pairs.items())
    found = rates(LINE.replace("DELAY", "1 ms").replace("FLOWS", flows))
    # The long one is held back at C-D alone, beside one of a third of its round trip; the others
    # get what it leaves on their links.
    assert found["long"] + found["last"] <= 4e6
    assert found["last"] > found["long"]
    assert found["first"] + found["long"] == pytest.approx(10e6, rel=0.01)
    assert found["middle"] + found["long"] == pytest.approx(10e6, rel=0.01)


def test_gps_parekh_gallager1993_weighted_classes_share_what_others_leave():
    ports = (
        "ports:\n  fair:\n    classify: [{dscp: EF, class: a}, {dscp: AF11, class: b}]\n"
        "    classes: {a: {weight: 5}, b: {weight: 3}, default: {weight: 2}}\n"
        "    scheduler: wfq\n"
    )
    flows = udp("a", "A", "B", "8 Mbit/s", ", dscp: EF") + udp(
        "b", "A", "B", "1 Mbit/s", ", dscp: AF11"
    )
    flows += udp("c", "A", "B", "9 Mbit/s")
    text = LINE.replace("DELAY", "1 ms").replace("FLOWS", flows)
    found = rates(text.replace("flows:", ports + "flows:").replace("1 ms}", "1 ms, port: fair}", 1))
    # b takes 1 of its 3; the 9 left go 5 to 2: 6.43 and 2.57.
    assert found["b"] == pytest.approx(1e6)
    assert found["a"] == pytest.approx(9e6 * 5 / 7)
    assert found["c"] == pytest.approx(9e6 * 2 / 7)


@pytest.mark.parametrize(
    ("far", "last"), [("10 ms", "1 Gbit/s"), ("30 ms", "1 Gbit/s"), ("10 ms", "4 Mbit/s")]
)
def test_mathis1997_shares_of_tcp_under_red_are_within_a_tenth_of_the_packets(far, last):
    scenario = tl.loads(RED.replace("FAR", far).replace("LAST", last))
    runs = tl.run_many(scenario, seeds=range(1, 4))

    def of(run, group):
        pairs = zip(run.flows["flow"], run.flows["goodput_bit_s"], strict=True)
        return sum(value for name, value in pairs if name.startswith(group))

    fluid = tl.run(scenario, engine="fluid")
    for group in ("near", "far"):
        sent = sum(of(run, group) for run in runs) / len(runs)
        # Found: +1.9, 0.0, -0.3, +8.1, +4.8 and -1.7 per cent.
        assert of(fluid, group) == pytest.approx(sent, rel=0.1)
