"""Control variates: estimates without bias, exact intervals, and known means of what is offered."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trunkline as tl
from trunkline.engine import simulate
from trunkline.fluid.offered_means import read_offered_means
from trunkline.network import compile
from trunkline.results import Results
from trunkline.stats import average_runs, mean_interval
from trunkline.stats.control_variates import (
    OfferedMean,
    compute_controlled_p,
    controlled_interval,
    read_offered_deviations,
    select_controls,
)
from trunkline.stats.holm import compute_paired_p

from .test_run_averages import runs as make_runs

ONE_LINK = """\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s, delay: 0 s}}}}
flows: {{{flows}}}
run: {{duration: {duration}, warm_up: {warm_up}}}
"""
SERVICE_S = 1000 * 8 / 1e7


def simulate_flows(
    flows: str, runs: int, *, duration: str = "2 s", warm_up: str = "200 ms"
) -> tuple[list[Results], dict[str, OfferedMean]]:
    text = ONE_LINK.format(flows=flows, duration=duration, warm_up=warm_up)
    network = compile(tl.loads(text))
    return simulate(network, seeds=range(1, runs + 1)), read_offered_means(network.data)


def test_lavenberg1981_the_interval_by_hand_for_one_control() -> None:
    values = [3.0, 5.0, 4.0, 8.0, 6.0, 9.0, 7.0, 11.0]
    control = np.array([-2.0, -1.0, -1.0, 1.0, 0.0, 2.0, 1.0, 2.0])
    n, mean, centre = 8, sum(values) / 8, control.mean()
    squares = sum((c - centre) ** 2 for c in control)
    slope = sum((c - centre) * (v - mean) for c, v in zip(control, values, strict=True)) / squares
    error = sum(
        (v - mean - slope * (c - centre)) ** 2 for c, v in zip(control, values, strict=True)
    ) / (n - 2)
    # t(0.975, 6 degrees of freedom) = 2.446912 from a printed table.
    half = 2.446912 * math.sqrt(error * (1 / n + centre**2 / squares))
    interval = controlled_interval(values, control[:, None])
    assert interval.mean == pytest.approx(mean - slope * centre)
    assert interval.half_width == pytest.approx(half, rel=1e-6)


def test_what_the_controls_say_wholly_is_known_exactly() -> None:
    controls = np.random.default_rng(1).normal(size=(12, 2))
    interval = controlled_interval(list(5 + controls @ [2.0, -3.0]), controls)
    assert interval.mean == pytest.approx(5)
    assert interval.half_width == pytest.approx(0, abs=1e-9)


def test_controls_that_never_vary_or_repeat_another_change_nothing() -> None:
    random = np.random.default_rng(2)
    control = random.normal(size=(20, 1))
    values = list(1 + control[:, 0] + random.normal(size=20))
    once = controlled_interval(values, control)
    padded = controlled_interval(values, np.column_stack([control, np.full(20, 7.0), 3 * control]))
    assert padded.mean == pytest.approx(once.mean)
    assert padded.half_width == pytest.approx(once.half_width)
    assert controlled_interval(values, np.ones((20, 1))) == mean_interval(values)
    assert controlled_interval(values[:7], control[:7]) == mean_interval(values[:7])


@pytest.mark.parametrize(
    "flow",
    [
        "agent: udp, rate: 20 kbit/s, size: 500 B, arrivals: poisson",
        "agent: udp, rate: 20 kbit/s, arrivals: poisson, start: 500 ms, size: {exponential: 500 B}",
        "agent: udp, rate: 40 kbit/s, size: 100 B, arrivals: on-off, mean_on: 100 ms, "
        "mean_off: 300 ms, start: 150 ms, stop: 1.5 s",
        "agent: udp, rate: 40 kbit/s, size: 100 B, arrivals: on-off, mean_on: 100 ms, "
        "mean_off: 300 ms, start: 250 ms",
        "agent: tcp, transfers: {size: 10 kB, load: 400 kbit/s}",
    ],
    ids=["poisson", "from-the-start", "on-off", "on-off-from-the-start", "transfers"],
)
def test_the_mean_of_the_offered_load_is_exact(flow: str) -> None:
    """With some ten datagrams a run, one more or less would be seen."""
    runs, means = simulate_flows(f"x: {{from: A, to: B, {flow}}}", 400)
    spread = mean_interval(list(read_offered_deviations(runs, means)["x"]), confidence=0.999)
    assert spread.low is not None
    assert spread.high is not None
    assert spread.low <= 0 <= spread.high
    assert spread.high - spread.low < 0.3 * means["x"].mean * means["x"].unit_bytes


@pytest.mark.parametrize(
    ("size", "second_moment"), [("1000 B", 1.0), ("{exponential: 1000 B}", 2.0)]
)
def test_pollaczek_khinchine_the_wait_is_held_and_its_interval_is_narrower(
    size: str, second_moment: float
) -> None:
    """The waits of M/D/1 and M/M/1."""
    flow = f"x: {{agent: udp, from: A, to: B, rate: 6 Mbit/s, size: {size}, arrivals: poisson}}"
    runs, means = simulate_flows(flow, 480, duration="3 s")
    true_wait = 0.6 / (2 * 0.4) * second_moment * SERVICE_S
    held, widths = 0, {"t": 0.0, "controlled": 0.0}
    for first in range(0, 480, 12):
        for method in widths:
            rows = average_runs(
                runs[first : first + 12],
                "ports",
                interval=method,
                columns=["wait_mean_s"],
                offered_means=means,
            )
            interval = rows[0].measures["wait_mean_s"]
            widths[method] += interval.half_width or 0.0
            if method == "controlled":
                held += (interval.low or 0) <= true_wait <= (interval.high or 0)
    assert widths["controlled"] < 0.9 * widths["t"]
    # 40 groups at 95 %: fewer than 33 has a probability of 0.1 %.
    assert held >= 33
    full = average_runs(runs, "ports", interval="controlled", offered_means=means)[0]
    mean = full.measures["wait_mean_s"]
    assert mean.mean == pytest.approx(true_wait, rel=0.02)


PLACES = 5  # 4 wait, 1 is sent.


@pytest.mark.parametrize(
    ("name", "flow", "port", "measure", "true_value"),
    [
        (
            "M/G/1: Pollaczek and Khinchine",
            "rate: 6 Mbit/s, size: {choice: {sizes: [500 B, 2000 B], weights: [2, 1]}}",
            "limit: none",
            "wait_mean_s",
            # E[S^2] = (2 * 500^2 + 2000^2) / 3 = 1.5 * 1000^2.
            0.6 / (2 * 0.4) * 1.5 * SERVICE_S,
        ),
        (
            "M/M/1/5: Erlang's loss formula with places to wait",
            "rate: 9 Mbit/s, size: {exponential: 1000 B}",
            "limit: 4 packets",
            "loss_ratio",
            0.9**PLACES * 0.1 / (1 - 0.9 ** (PLACES + 1)),
        ),
    ],
    ids=["M/G/1", "M/M/1/5"],
)
def test_the_controlled_estimate_has_the_known_mean(
    name: str, flow: str, port: str, measure: str, true_value: float
) -> None:
    """Few runs at a time, so that a bias of the regression would show in the mean of estimates."""
    text = ONE_LINK.format(
        flows=f"x: {{agent: udp, from: A, to: B, arrivals: poisson, {flow}}}",
        duration="2 s",
        warm_up="500 ms",
    ).replace("delay: 0 s}", "delay: 0 s, port: p}")
    text += f"ports: {{p: {{queue: {{{port}}}}}}}\n"
    network = compile(tl.loads(text))
    means = read_offered_means(network.data)
    runs = simulate(network, seeds=range(1, 481))
    estimates, widths = [], {"t": 0.0, "controlled": 0.0}
    for first in range(0, 480, 12):
        for method in widths:
            row = average_runs(
                runs[first : first + 12],
                "ports",
                interval=method,
                columns=[measure],
                offered_means=means,
            )[0]
            widths[method] += row.measures[measure].half_width or 0.0
            if method == "controlled":
                estimates.append(row.measures[measure].mean)
    spread = mean_interval(estimates, confidence=0.999)
    assert spread.low is not None
    assert spread.high is not None
    assert spread.low <= true_value <= spread.high, name
    assert spread.high - spread.low < 0.1 * true_value
    assert widths["controlled"] < 0.9 * widths["t"]


def test_two_constant_bit_rates_wait_as_their_phases_say() -> None:
    """2*D/D/1: of two flows with gaps T and a uniform phase one waits S - u if the other is u < S
    before it, so the mean over both is S^2 / 2T. The load never varies: there is no control, and
    the interval is Student's. A Poisson flow among them is a control."""
    flow = "agent: udp, from: A, to: B, rate: 2 Mbit/s, size: 1000 B"
    cbr = f"c: {{{flow}, start_jitter: 4 ms}}, d: {{{flow}, start_jitter: 4 ms}}"
    runs, means = simulate_flows(cbr, 400, duration="80 ms", warm_up="8 ms")
    assert means == {}
    waits = {
        method: average_runs(runs, "ports", interval=method, offered_means=means)[0].measures[
            "wait_mean_s"
        ]
        for method in ("t", "controlled")
    }
    assert waits["t"] == waits["controlled"]
    known = SERVICE_S**2 / (2 * 4e-3)
    assert waits["t"].low is not None
    assert waits["t"].high is not None
    assert waits["t"].low <= known <= waits["t"].high
    assert waits["t"].high - waits["t"].low < 0.5 * known
    assert list(simulate_flows(f"{cbr}, p: {{{flow}, arrivals: poisson}}", 1)[1]) == ["p"]


def test_a_flow_that_sent_nothing_offered_its_whole_mean_less() -> None:
    means = {
        "idle": OfferedMean("bytes_sent", 100.0, 2.0),
        "web": OfferedMean("packets_sent", 60.0, 3.0),
    }
    deviations = read_offered_deviations(make_runs(), means)
    assert list(deviations["idle"]) == [-200.0] * 3
    # 50 packets of the 60 expected.
    assert list(deviations["web"]) == [-30.0] * 3


def test_lavenberg1981_the_p_value_is_that_of_the_intercept_by_hand() -> None:
    """The interval of the confidence 1 - p ends at zero."""
    values = [3.0, -5.0, 4.0, 8.0, -6.0, 9.0, 7.0, 1.0]
    control = np.array([-2.0, -1.0, 3.0, 1.0, -3.0, 2.0, 1.0, 2.0])[:, None]
    p = compute_controlled_p(values, control)
    assert p is not None
    assert 0.05 < p < 0.95
    interval = controlled_interval(values, control, confidence=1 - p)
    assert interval.low == pytest.approx(0, abs=1e-9)
    assert compute_controlled_p([-each for each in values], control) == pytest.approx(p)


def test_without_enough_runs_or_controls_the_p_value_is_students() -> None:
    """Eight runs are the fewest with a regression."""
    values = [3.0, 5.0, 4.0, 8.0, 6.0, 9.0, 7.0, 11.0]
    control = np.array([-2.0, -1.0, -1.0, 1.0, 0.0, 2.0, 1.0, 2.0])[:, None]
    plain = compute_paired_p(values, [0.0] * 8)
    assert compute_controlled_p(values, control) != pytest.approx(plain)
    assert compute_controlled_p(values, np.ones((8, 1))) == plain
    assert compute_controlled_p(values, np.zeros((8, 0))) == plain
    assert compute_controlled_p([5.0] * 8, control) == 0.0
    assert compute_controlled_p(values[:7], control[:7]) == compute_paired_p(values[:7], [0.0] * 7)
    assert compute_controlled_p(values[:1], control[:1]) is None


def test_a_row_has_its_own_flow_and_all_others_as_controls() -> None:
    deviations = {"a": np.array([1.0, 2.0]), "b": np.array([10.0, 20.0]), "c": np.array([5.0, 7.0])}
    assert select_controls(deviations, "a", 2).tolist() == [[1, 15], [2, 27]]
    assert select_controls(deviations, "none of them", 2).tolist() == [[16], [29]]
    assert select_controls(deviations, None, 2).tolist() == [[16], [29]]
    assert select_controls({"a": deviations["a"]}, "a", 2).tolist() == [[1], [2]]
    assert select_controls({}, "a", 3).shape == (3, 0)


def test_the_offer_beyond_the_mean_is_in_bytes() -> None:
    """call sent 100 packets of 200 B and web 75 kB; idle has no count of transfers."""
    means = {
        "call": OfferedMean("packets_sent", 90.0, 200.0),
        "web": OfferedMean("bytes_sent", 80_000.0, 1.0),
    }
    found = read_offered_deviations(make_runs(), means)
    assert {name: values.tolist() for name, values in found.items()} == {
        "call": [2000.0] * 3,
        "web": [-5000.0] * 3,
    }
