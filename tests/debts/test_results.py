"""Results and probes say what they hold, by one convention each; docstrings number the faults."""

from __future__ import annotations

import math

import pytest

import trunkline as tl
from trunkline.results.render import quantity
from trunkline.scenario import ScenarioError
from trunkline.study.run.measure import measure, of_columns

TWO_CLASSES = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 800 kbit/s, port: edge}}
ports:
  edge:
    scheduler: priority
    classify: [{dscp: EF, class: ef}]
    classes: {ef: {}, default: {}}
flows:
  first: {agent: udp, from: A, to: B, dscp: EF, rate: 800 kbit/s, size: 1000 B, stop: 5 ms}
  other: {agent: udp, from: A, to: B, rate: 800 kbit/s, size: 1000 B, stop: 5 ms}
"""


def test_an_average_queue_of_a_port_with_several_classes_needs_the_class() -> None:
    """C2. The average of the first class alone is not that of the port."""
    probe = "[{link: A->B, measure: queue-average, every: 1 ms}]"
    with pytest.raises(ScenarioError, match="average queue for each class"):
        tl.run(tl.load(f"{TWO_CLASSES}\nprobes: {probe}\nrun: {{duration: 10 ms}}\n"))


def test_less_than_the_clock_can_count_is_nothing() -> None:
    """C5. The estimator of jitter decays without end; the clock counts whole nanoseconds."""
    assert quantity(1.481e-69, "s") == "0 s"
    assert quantity(2.128e-7, "s") == "212.8 ns"


CALLS = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s, delay: 10 ms}}
flows:
  call: {agent: udp, from: A, to: B, rate: 64 kbit/s, size: 160 B, replicate: 4}
run: {duration: 1 s}
"""


@pytest.mark.parametrize("over", ["mean", "min", "max", "p95"])
def test_a_delay_of_many_flows_is_taken_over_them_as_asked(over: str) -> None:
    """C6. Four calls with a p99 near 10 ms have no delay of 40 ms."""
    run = tl.run(tl.load(CALLS))
    column = {"table": "flows", "measure": "delay_p99_s", "where": {"flow": "call[*]"}}
    said = of_columns({"d": {**column, "unit": "ms", "scale": 1e-3, "over": over}})
    each = [1e3 * float(value or math.nan) for value in run.flows["delay_p99_s"]]
    assert len(each) == 4
    value = measure(said)(run)["d"]
    assert isinstance(value, float)
    # The fourth of four is the value of rank ceil(0.95 * 4).
    wanted = {"mean": math.fsum(each) / 4, "min": min(each), "max": max(each), "p95": max(each)}
    assert value == pytest.approx(wanted[over])
    assert 9 < value < 20
