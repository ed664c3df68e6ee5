"""Limits of waits and of drops against exact distributions of single queues."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trunkline as tl
from trunkline.fluid.engine import solve_without_failures
from trunkline.fluid.limits import (
    StreamLimits,
    compute_stream_limits,
    find_quantile_floor,
    find_quantile_limit,
)
from trunkline.network import compile

ONE_QUEUE = """\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s, delay: 0 s, port: short}}}}
ports: {{short: {{queue: {{limit: {limit} packets}}}}}}
flows: {{f: {{agent: udp, from: A, to: B, rate: {rate} Mbit/s, {size}, arrivals: poisson}}}}
run: {{duration: 10 s}}
"""
SERVICE = 1000 * 8 / 1e7
"""Time of a packet of 1000 B [s]."""


def limits_of(load: float, *, limit: int = 10_000, size: str = "size: 1000 B") -> StreamLimits:
    text = ONE_QUEUE.format(limit=limit, rate=10 * load, size=size)
    return compute_stream_limits(solve_without_failures(compile(tl.loads(text)).data))


def wait_above_md1(load: float, services: float) -> float:
    """P(W > x) of M/D/1, x in services (Crommelin 1932; Iversen's form), for moderate x."""
    below = sum(
        math.exp(load * (services - k)) * (load * (k - services)) ** k / math.factorial(k)
        for k in range(int(services) + 1)
    )
    return 1 - (1 - load) * below


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("share_above", [0.1, 0.05, 0.01])
def test_a_quantile_of_md1_is_below_its_limit_and_not_far(load: float, share_above: float) -> None:
    found = limits_of(load)
    limit = find_quantile_limit(found, np.ones(1), share_above)
    wait = limit / SERVICE - 1
    assert wait_above_md1(load, wait) <= share_above
    # Not far: half the wait would be too little.
    assert wait_above_md1(load, wait / 2.5) > share_above


@pytest.mark.parametrize("load", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("share_above", [0.1, 0.01, 0.001])
def test_a_quantile_of_mm1_is_below_its_limit(load: float, share_above: float) -> None:
    """M/M/1: P(T > t) = exp(-(1 - load) t), t in services (Kleinrock 1975, (5.118))."""
    found = limits_of(load, size="size: {exponential: 1000 B}")
    exact = -math.log(share_above) / (1 - load) * SERVICE
    assert exact <= find_quantile_limit(found, np.ones(1), share_above)


@pytest.mark.parametrize(("load", "limit"), [(0.5, 10), (0.7, 10), (0.8, 20), (0.9, 50)])
def test_drops_of_a_short_queue_are_below_their_limit(load: float, limit: int) -> None:
    """M/M/1/K has the greater loss of the two: (1 - a) a^K / (1 - a^(K+1)); M/D/1/K is below."""
    found = float(limits_of(load, limit=limit).drop_probability[0])
    # The queue of K packets has one more in service.
    places = limit + 1
    md1_wait = wait_above_md1(load, limit) if limit <= 20 else 0.0
    # M/D/1/K: (1 - a) q / (1 - a q), q the share of M/D/1 that finds the places taken.
    exact = (1 - load) * md1_wait / (1 - load * md1_wait)
    assert exact <= found
    assert found < 1
    # And of some use: no more than a queue half as long loses with exponential packets.
    assert found <= load ** (places / 2)


def test_sources_in_step_count_as_one_batch() -> None:
    text = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 0 s}}
flows:
  f: {agent: udp, from: A, to: B, rate: 500 kbit/s, size: 1000 B, replicate: 8}
run: {duration: 10 s}
"""
    scenario = tl.loads(text)
    found = compute_stream_limits(solve_without_failures(compile(scenario).data))
    measured = max(tl.run(scenario).flows["delay_max_s"])
    # The eighth of eight packets that come at once.
    assert measured == pytest.approx(8 * SERVICE)
    assert measured <= find_quantile_limit(found, np.ones(8), 0.01)


def test_half_of_the_packets_reach_the_delay_of_the_longer_way() -> None:
    delays, weight = np.array([1.0, 2.0, 3.0]), np.array([5.0, 3.0, 2.0])
    assert find_quantile_floor(delays, weight, 0.1) == 3.0
    assert find_quantile_floor(delays, weight, 0.2) == 2.0
    assert find_quantile_floor(delays, weight, 0.5) == 1.0
