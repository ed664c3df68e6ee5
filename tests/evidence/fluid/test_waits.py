"""Mean waits of the fluid engine: closed forms, and the packet engine's interval."""

import pytest

import trunkline as tl
from trunkline.stats import mean_interval

# 1250 B at 10 Mbit/s take 1 ms.
ONE = """
trunkline: 1
nodes: [S, R]
links: {S-R: {rate: 10 Mbit/s, port: endless}}
ports: {endless: {queue: {limit: none}}}
flows: {poisson: {agent: udp, from: S, to: R, arrivals: poisson, rate: RATE, size: SIZE}}
run: {duration: 400 s, warm_up: 20 s}
"""
TWO = """
trunkline: 1
nodes: [S, R]
links: {S-R: {rate: 10 Mbit/s, port: strict}}
ports:
  strict:
    classify: [{dscp: EF, class: high}]
    classes: {high: {queue: {limit: none}}, default: {queue: {limit: none}}}
    scheduler: priority
flows:
  high: {agent: udp, from: S, to: R, arrivals: poisson, rate: 3 Mbit/s, size: 250 B, dscp: EF}
  low: {agent: udp, from: S, to: R, arrivals: poisson, rate: 5 Mbit/s, size: 1250 B}
run: {duration: 400 s, warm_up: 20 s}
"""


def wait_of(scenario, class_="default"):
    return tl.run(scenario, engine="fluid").ports.where(**{"link": "S->R", "class": class_})[
        "wait_mean_s"
    ]


def one(rate, size):
    return tl.loads(ONE.replace("RATE", rate).replace("SIZE", size))


# Pollaczek and Khinchine: lambda E[S^2] / (2 (1 - rho)), rho = 0.8.
@pytest.mark.parametrize(
    ("size", "expected"),
    [
        # M/D/1: 800 x 1e-6 / 0.4 = 2 ms.
        ("1250 B", 2.0e-3),
        # M/G/1: half 250 B (0.2 ms), half 2250 B (1.8 ms): E[S^2] = (0.04 + 3.24) / 2 = 1.64e-6,
        # 800 x 1.64e-6 / 0.4 = 3.28 ms.
        ("{choice: {sizes: [250 B, 2250 B]}}", 3.28e-3),
        # M/M/1: rho / (mu - lambda) = 0.8 / 200 = 4 ms.
        ("{exponential: 1250 B}", 4.0e-3),
    ],
)
def test_pollaczek_khinchine_mean_wait_of_one_class(size, expected):
    assert wait_of(one("8 Mbit/s", size)) == pytest.approx(expected, rel=1e-9)


def test_cobham1954_mean_waits_of_two_priorities():
    scenario = tl.loads(TWO)
    # lambda = 1500 and 500 per second, S = 0.2 and 1 ms: W0 = (1500 x 4e-8 + 500 x 1e-6) / 2 =
    # 0.28 ms; high = 0.28 / 0.7 = 0.4 ms, low = 0.28 / (0.7 x 0.2) = 2 ms.
    assert wait_of(scenario, "high") == pytest.approx(0.4e-3, rel=1e-9)
    assert wait_of(scenario) == pytest.approx(2.0e-3, rel=1e-9)


@pytest.mark.parametrize("text", [ONE.replace("RATE", "7 Mbit/s").replace("SIZE", "1250 B"), TWO])
def test_waits_are_inside_the_packet_engines_interval(text):
    scenario = tl.loads(text)
    runs = tl.run_many(scenario, seeds=range(1, 31))
    for row in tl.run(scenario, engine="fluid").ports.rows():
        if row["link"] != "S->R":
            continue
        key = {"link": "S->R", "class": row["class"]}
        value = mean_interval(
            [run.ports.where(**key)["wait_mean_s"] for run in runs], confidence=0.99
        )
        assert value.low < row["wait_mean_s"] < value.high


def test_packets_of_one_size_wait_at_the_first_of_equal_links_alone():
    text = ONE.replace("[S, R]", "[S, R, T]").replace(
        "port: endless}}", "port: endless}, R-T: {rate: 10 Mbit/s, port: endless}}"
    )
    text = text.replace("to: R", "to: T").replace("RATE", "8 Mbit/s").replace("SIZE", "1250 B")
    waits = {
        row["link"]: row["wait_mean_s"]
        for row in tl.run(tl.loads(text), engine="fluid").ports.rows()
    }
    assert waits["S->R"] == pytest.approx(2e-3)
    assert waits["R->T"] == 0.0


def test_what_no_formula_covers_is_null():
    text = ONE.replace("arrivals: poisson", "arrivals: on-off, mean_on: 1 s, mean_off: 1 s")
    run = tl.run(
        tl.loads(text.replace("RATE", "8 Mbit/s").replace("SIZE", "1250 B")), engine="fluid"
    )
    port = run.ports.where(**{"link": "S->R", "class": "default"})
    # 8 Mbit/s half of the time.
    assert (port["utilisation"], port["wait_mean_s"]) == (pytest.approx(0.4), None)
    flow = run.flows.where(flow="poisson")
    assert flow["delay_p99_s"] is flow["delay_mean_s"] is None
