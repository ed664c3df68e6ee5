"""The packet engine as Python sees it: closed forms in its tables, provenance, determinism."""

from __future__ import annotations

import hashlib
import json

import pytest

from trunkline import network, scenario
from trunkline.engine import simulate
from trunkline.results import Results

OVERLOAD = """
trunkline: 1
nodes: [A, B, C]
links:
  A-B: {rate: 100 Mbit/s, delay: 1 ms}
  B-C: {rate: 1 Mbit/s, delay: 2 ms, port: small}
ports:
  small: {queue: {limit: 10 packets}}
flows:
  steady: {agent: udp, from: A, to: C, rate: 1.25 Mbit/s, size: 1000 B, dscp: EF}
run: {duration: 41 s, warm_up: 1 s}
"""

POISSON = """
trunkline: 1
nodes: [A, B]
links:
  A-B: {rate: 1 Mbit/s, delay: 0 s, port: large}
ports:
  large: {queue: {limit: 100000 packets}}
flows:
  many: {agent: udp, from: A, to: B, arrivals: poisson, rate: 0.7 Mbit/s, size: 125 B}
run: {duration: 400 s, warm_up: 10 s}
"""


def run(text: str, *, seeds: list[int], threads: int | None = None) -> list[Results]:
    made = scenario.load(text)
    return simulate(network.compile(made), seeds=seeds, threads=threads, scenario=text)


def test_overload_of_cbr_fills_the_link_and_loses_the_rest() -> None:
    # 1.25 Mbit/s into 1 Mbit/s: a fifth is lost and throughput is the link's rate: 156.25 packets
    # a second are sent and 125 delivered, within a packet at the ends of the 40 s.
    results = run(OVERLOAD, seeds=[1])[0]
    flow = results.flows.where(flow="steady")
    assert flow["packets_sent"] == pytest.approx(156.25 * 40, abs=1)
    assert flow["throughput_bit_s"] == pytest.approx(1e6, rel=1e-3)
    assert flow["goodput_bit_s"] == pytest.approx(1e6 * 972 / 1000, rel=1e-3)
    assert flow["loss_ratio"] == pytest.approx(0.2, abs=2e-3)
    port = results.ports.where(link="B->C")
    assert port["utilisation"] == pytest.approx(1, rel=1e-3)
    assert port["queue_max_packets"] == 10
    drops = list(results.drops.rows())
    assert [(d["link"], d["cause"]) for d in drops] == [("B->C", "queue_full")]
    assert drops[0]["packets"] == flow["packets_dropped"]


def test_greatest_delay_of_an_overloaded_queue_is_its_limit_over_the_rate() -> None:
    # Into a queue with 9 packets of 8 ms waiting and one just begun: at most 10 * 8 ms of wait,
    # then 8 ms of its own, 0.08 ms on the first link, 3 ms of propagation: 91.08 ms.
    flow = run(OVERLOAD, seeds=[1])[0].flows.where(flow="steady")
    assert isinstance(flow["delay_max_ns"], int)
    assert 91_080_000 - 8_000_000 < flow["delay_max_ns"] <= 91_080_000


def test_pollaczek_khinchine_mean_wait_of_md1() -> None:
    # rho = 0.7, service 1 ms: W = rho * S / (2 (1 - rho)) = 1.16667 ms. Ten runs of 390 s give
    # 2.7 million packets; the tolerance is three standard errors as the runs themselves show.
    waits = [float(r.ports.where(link="A->B")["wait_mean_s"] or 0) for r in run_many()]
    mean = sum(waits) / len(waits)
    deviation = (sum((w - mean) ** 2 for w in waits) / (len(waits) - 1)) ** 0.5
    assert abs(mean - 0.7e-3 / 0.6) < 3 * deviation / len(waits) ** 0.5
    assert deviation < 0.05e-3


def run_many() -> list[Results]:
    return run(POISSON, seeds=list(range(1, 11)))


def test_same_seed_same_results_whatever_the_threads() -> None:
    one = [r.hash() for r in run(POISSON, seeds=[5, 6, 7], threads=1)]
    two = [r.hash() for r in run(POISSON, seeds=[5, 6, 7], threads=2)]
    assert one == two
    assert len(set(one)) == 3


def test_provenance_tells_scenario_network_version_and_seed() -> None:
    made = network.compile(scenario.load(OVERLOAD))
    provenance = simulate(made, seeds=[9], scenario=OVERLOAD)[0].provenance
    assert provenance.seed == 9
    assert provenance.scenario == OVERLOAD
    assert provenance.network_hash == hashlib.sha256(made.to_json().encode()).hexdigest()
    assert provenance.version[0].isdigit()


def test_packets_of_the_summary_add_up() -> None:
    total = run(OVERLOAD, seeds=[1])[0].summary
    before, after = total["packets_inside_before"], total["packets_inside_after"]
    assert isinstance(before, int)
    assert isinstance(after, int)
    gone = int(total["packets_delivered"] or 0) + int(total["packets_dropped"] or 0)
    assert before + int(total["packets_sent"] or 0) == gone + after


@pytest.mark.parametrize("warm_up", [1, 20])
def test_counts_of_the_warm_up_and_of_the_rest_add_up(warm_up: int) -> None:
    """Events and hops of all 41 s are those of the warm-up, as a run alone, and those behind it."""

    def count(duration: int, before: int) -> list[int]:
        times = f"duration: {duration} s, warm_up: {before} s"
        total = run(OVERLOAD.replace("duration: 41 s, warm_up: 1 s", times), seeds=[1])[0].summary
        return [int(total[column] or 0) for column in ("events", "packet_hops")]

    parts = zip(count(41, warm_up), count(warm_up, 0), strict=True)
    assert [sum(each) for each in parts] == pytest.approx(count(41, 0), abs=1)


def test_the_peak_of_packets_is_a_full_queue_with_its_transmission_and_the_links() -> None:
    """10 wait, one is sent; one comes each 6.4 ms over 1.08 ms, and one leaves over 2 ms."""
    assert run(OVERLOAD, seeds=[1])[0].summary["packets_peak"] in (11 + 1, 11 + 2)


def test_probes_of_a_linux_sender_show_its_round_trip_and_timeout() -> None:
    """One segment at a time: 20 ms, 1500 B in 0.12 ms and an ACK of 40 B in 3.2 us: 20,123 us.

    RTO is that and the least deviation of 1 s (`rto.min`), in whole ticks of 4 ms (`HZ` 250).
    """
    text = """
        trunkline: 1
        nodes: [A, B]
        links: {A-B: {rate: 100 Mbit/s, delay: 10 ms}}
        flows: {f: {agent: tcp, from: A, to: B, stack: linux, variant: sack, window: 1 packets}}
        probes: [{flow: f, measure: [rtt, srtt, rto, inflight], every: 500 ms}]
        run: {duration: 1 s}
    """
    rows = run(text, seeds=[1])[0].series.rows()
    last = {row["measure"]: row["value"] for row in rows if row["time_s"] == 1.0}
    assert last == {"rtt": 0.020123, "srtt": 0.020123, "rto": 1.024, "inflight": 1.0}


def test_waits_whose_sum_does_not_fit_64_bits_have_their_mean() -> None:
    """8000 packets come at steps of 0.1 ms and take 1000 s each: the sum is 3.2e19 ns."""
    ports = run(
        """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 8 bit/s, port: endless}}
ports: {endless: {queue: {limit: none}}}
flows: {f: {agent: udp, from: A, to: B, rate: 80 Mbit/s, size: 1000 B}}
run: {duration: 800 ms}
""",
        seeds=[1],
    )[0].ports
    row = ports.where(link="A->B", **{"class": "default"})
    assert row["packets_offered"] == 8000
    assert row["wait_mean_s"] == pytest.approx(7999 / 2 * (1000 - 1e-4), rel=1e-12)
    assert row["wait_max_s"] == pytest.approx(7999 * (1000 - 1e-4), rel=1e-12)


def test_a_network_the_engine_does_not_know_is_refused() -> None:
    broken = json.loads(network.compile(scenario.load(OVERLOAD)).to_json())
    broken["links"][0]["colour"] = "red"
    with pytest.raises(ValueError, match="unknown field `colour`"):
        simulate(json.dumps(broken), seeds=[1])
