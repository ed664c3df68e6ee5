"""Queues that judge by time, queues by flow, and ECN under labels, in whole runs.

Every run also checks itself: packets are conserved, and Little's law holds exactly for what was
dropped after it was let in.
"""

from typing import Any

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.scenario.diagnostic import ScenarioError


def run(text: str) -> Any:
    (result,) = simulate(compile(load("trunkline: 1\n" + text)), seeds=[1])
    return result


def port_of(result: Any, link: str) -> dict[str, Any]:
    return dict(next(row for row in result.ports.rows() if row["link"] == link))


OVERLOAD = """\
nodes: [A, B]
links: {{A-B: {{rate: 8 Mbit/s, delay: 1 ms, forward: {{port: p}}}}}}
ports: {{p: {port}}}
flows: {{f: {{agent: udp, from: A, to: B, rate: 8.8 Mbit/s, size: 1000 B}}}}
run: {{duration: 3 s}}
"""


def test_rfc8289_s4_4_codel_drops_by_the_law_until_the_overload_ends() -> None:
    # 10 % too much: the wait reaches the target of 5 ms after 50 ms, and the first drop is 100 ms
    # later; then the law: n drops take 100 ms (1 + 1/sqrt(2) + ... ) of about 2 * 100 * sqrt(n) ms:
    # (2850 / 200)^2 = 203 in the 2.85 s that are left (and a few for the sum's constant, +1.46).
    result = run(OVERLOAD.format(port="{queue: {limit: none, aqm: codel}}"))
    causes = {row["cause"] for row in result.drops.rows()}
    port_row = port_of(result, "A->B")
    assert causes == {"early"}
    assert port_row["packets_dropped"] == pytest.approx((2850 / 200 + 0.73) ** 2, rel=0.03)
    assert port_row["packets_offered"] == pytest.approx(3 * 1100, abs=2)
    waiting = port_row["packets_offered"] - port_row["packets_sent"] - port_row["packets_dropped"]
    assert 0 < waiting <= port_row["queue_max_packets"] + 1


def test_rfc8033_s4_pie_keeps_the_delay_about_its_target() -> None:
    text = OVERLOAD.format(port="{queue: {limit: none, aqm: pie}}").replace(
        "3 s", "60 s, warm_up: 20 s"
    )
    port_row = port_of(run(text), "A->B")
    assert port_row["wait_mean_s"] == pytest.approx(0.015, rel=0.15)
    # What does not fit is dropped: 1 of 11.
    assert port_row["packets_dropped"] / port_row["packets_offered"] == pytest.approx(
        1 / 11, rel=0.03
    )


def test_ns3_pie_drops_less_for_a_longer_target_and_more_for_a_slower_line() -> None:
    # The orders that ns-3's test suite of PIE asks for: against a plain overload fewer packets are
    # dropped with a longer target, more at a lower rate, and there fewer with a longer tupdate.
    def dropped(target: str, rate: str, tupdate: str) -> int:
        aqm = f"{{kind: pie, target: {target}, tupdate: {tupdate}}}"
        text = OVERLOAD.format(port=f"{{queue: {{limit: none, aqm: {aqm}}}}}")
        return int(
            port_of(run(text.replace("rate: 8 M", f"rate: {rate} M")), "A->B")["packets_dropped"]
        )

    plain, longer = dropped("15 ms", "8", "15 ms"), dropped("60 ms", "8", "15 ms")
    slower, rarer = dropped("15 ms", "6", "15 ms"), dropped("15 ms", "6", "60 ms")
    assert 0 < longer < plain < slower
    assert rarer < slower


HOME = """\
nodes: [A, B]
links: {{A-B: {{rate: 8 Mbit/s, delay: 5 ms, forward: {{port: p}}}}}}
ports: {{p: {port}}}
flows:
  bulk: {{agent: udp, from: A, to: B, replicate: 10, rate: 1.6 Mbit/s, size: 1500 B}}
  sparse: {{agent: udp, from: A, to: B, rate: 16 kbit/s, size: 200 B, start: 1 s}}
run: {{duration: 8 s, warm_up: 2 s}}
"""


def test_rfc8290_s4_1_a_sparse_flow_waits_for_the_packet_in_service_only() -> None:
    # The others are always backlogged, so old: one whose queue runs empty, as TCP's under CoDel
    # do, comes back as new, and the sparse flow may wait for its packet too. Hence the long target.
    delays = {}
    slow = "{queue: {flows: fq-codel, aqm: {kind: codel, target: 500 ms, interval: 5 s}}}"
    for port in ("{queue: {limit: 500 packets}}", slow):
        result = run(HOME.format(port=port))
        (sparse,) = (row for row in result.flows.rows() if row["flow"] == "sparse")
        delays[port] = sparse["delay_max_s"]
    fifo, flows = delays.values()
    largest, own = 1500 * 8 / 8e6, 200 * 8 / 8e6
    assert flows <= 0.005 + largest + own + 1e-9
    assert fifo > 10 * flows


@pytest.mark.parametrize("word", ["fq-codel", "fq-pie", "sfq", "fq"])
def test_backlogged_flows_get_equal_bytes_whatever_they_send(word: str) -> None:
    text = """\
nodes: [A, B]
links: {A-B: {rate: 8 Mbit/s, delay: 1 ms, forward: {port: p}}}
ports: {p: {queue: {limit: 400 packets, flows: {kind: WORD, queues: flow}}}}
flows:
  large: {agent: udp, from: A, to: B, rate: 12 Mbit/s, size: 1500 B}
  small: {agent: udp, from: A, to: B, rate: 6 Mbit/s, size: 300 B}
run: {duration: 6 s, warm_up: 1 s}
"""
    result = run(text.replace("WORD", word))
    rates = [float(row["throughput_bit_s"]) for row in result.flows.rows()]
    assert sum(rates) == pytest.approx(8e6, rel=0.005)
    assert rates[0] == pytest.approx(4e6, rel=0.03)
    assert port_of(result, "A->B")["queue_max_packets"] <= 401


IN_A_PATH = """\
nodes: [S, A, B, C, D]
defaults: {{link: {{rate: 100 Mbit/s, delay: 1 ms}}}}
links: {{S-A: {{}}, A-B: {{}}, B-C: {{rate: 4 Mbit/s, forward: {{port: p}}}}, C-D: {{}}}}
ports: {{p: {port}}}
paths: {{lsp: {{route: [A, B, C], php: false}}}}
trunks: {{t: {{path: lsp, flows: [tcp, udp]}}}}
flows:
  tcp: {{agent: tcp, from: S, to: D, variant: sack, ecn: true}}
  udp: {{agent: udp, from: S, to: D, rate: {rate}, size: 1000 B}}
run: {{duration: 8 s, warm_up: 2 s}}
"""


def test_rfc3032_flows_in_one_path_share_a_queue_unless_labels_are_looked_behind() -> None:
    goodput = {}
    for key in ("label", "5-tuple"):
        port = f"{{queue: {{flows: {{kind: fq-codel, labelled: {key}}}}}}}"
        result = run(IN_A_PATH.format(port=port, rate="8 Mbit/s"))
        (tcp,) = (row for row in result.flows.rows() if row["flow"] == "tcp")
        goodput[key] = float(tcp["goodput_bit_s"])
    assert goodput["label"] < 0.3e6
    assert goodput["5-tuple"] > 1.5e6


def test_rfc5129_a_labelled_packet_is_dropped_where_it_would_be_marked_unless_asked() -> None:
    red = "aqm: {kind: red-linux, min: 8 kB, max: 40 kB, burst: 20 packets, probability: 0.1}"
    dropped = {}
    for marks in ("", ", ecn_in_mpls: {0: 1}"):
        port = f"{{queue: {{limit: 400 kB, {red}}}{marks}}}"
        result = run(IN_A_PATH.format(port=port, rate="8 kbit/s"))
        rows = [row for row in result.drops.rows() if row["flow"] == "tcp"]
        dropped[marks] = sum(int(row["packets"]) for row in rows)
    assert dropped[""] > 0
    assert dropped[", ecn_in_mpls: {0: 1}"] == 0


def test_rfc5129_s4_6_what_cannot_be_told_is_dropped_at_the_egress_not_where_it_is_marked() -> None:
    # 8 Mbit/s of datagrams that are not ECT into 4: the step marks nearly all, C drops them.
    port = "{queue: {limit: 50 packets, aqm: {kind: step, threshold: 5 packets}}, " + (
        "ecn_in_mpls: {0: 1}}"
    )
    result = run(IN_A_PATH.format(port=port, rate="8 Mbit/s"))
    rows = [row for row in result.drops.rows() if row["flow"] == "udp"]
    marked = [row for row in rows if row["cause"] == "congestion_marked"]
    assert [row["node"] for row in marked] == ["C"]
    # What leaves B after the queue has passed 5: 4 Mbit/s of 1004 B for 6 s, half of it.
    assert int(marked[0]["packets"]) == pytest.approx(4e6 * 6 / (8 * 1004), rel=0.1)


def test_rfc5129_s2_both_tcs_of_a_pair_are_one_class_to_classifiers() -> None:
    # A rule for TC 0, or for DF by the map of the path, holds for TC 1 as well.
    text = """\
nodes: [A, B, C, D]
defaults: {link: {rate: 4 Mbit/s, delay: 1 ms}}
links:
  A-B: {rate: 10 Mbit/s}
  B-C: {forward: {port: mark}}
  C-D: {forward: {port: sort}}
ports:
  mark: {queue: {aqm: {kind: step, threshold: 5 packets}}, ecn_in_mpls: {0: 1}}
  sort:
    scheduler: priority
    classify: [{RULE, class: known}]
    classes: {known: {priority: 0}, default: {priority: 1}}
paths: {p: {route: [A, B, C, D], php: false, diffserv: {map: {DF: 0}}}}
trunks: {t: {path: p, flows: tcp}}
flows: {tcp: {agent: tcp, from: A, to: D, variant: sack, ecn: true, window: 50 packets}}
run: {duration: 4 s}
"""
    for rule in ("tc: 0", "dscp: DF"):
        result = run(text.replace("RULE", rule))
        rows = [row for row in result.ports.rows() if row["link"] == "C->D"]
        sent = {row["class"]: row["packets_sent"] for row in rows}
        assert sent["known"] > 500
        assert sent["default"] == 0
        (tcp,) = result.flows.rows()
        assert tcp["packets_dropped"] == 0


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("{queue: {aqm: {kind: codel, target: 100 ms}}}", "target must be below interval"),
        ("{queue: {flows: fq-codel, aqm: pie}}", "fq-codel goes with codel"),
        (
            "{queue: {aqm: {kind: red, min_th: 5 packets, max_th: 15 packets, target: 5 ms}}}",
            "there is no key target here",
        ),
        ("{scheduler: fq, classes: {a: {}, default: {}}}", "fq serves one class only"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(port: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(f"trunkline: 1\nnodes: [A, B]\nports: {{p: {port}}}\nrun: {{duration: 1 s}}\n")
