"""Queues by drop precedence as series, against the whole queue and the share that is sent."""

from __future__ import annotations

import trunkline as tl

SCENARIO = """
trunkline: 1
nodes: [A, R, B]
links:
  A-R: {rate: 100 Mbit/s}
  R-B: {rate: 1 Mbit/s, forward: {port: af}}
ports:
  af:
    classify:
      - {dscp: AF11, class: af, precedence: 0}
      - {dscp: AF13, class: af, precedence: 2}
    classes:
      af:
        queue:
          limit: 40 packets
          aqm:
            kind: rio-d
            precedences:
              - {min_th: 10 packets, max_th: 20 packets, max_p: 0.1}
              - {min_th: 10 packets, max_th: 20 packets, max_p: 0.1}
              - {min_th: 4 packets, max_th: 8 packets, max_p: 0.5}
flows:
  green: {agent: udp, from: A, to: B, rate: 0.8 Mbit/s, size: 1000 B, dscp: AF11}
  red: {agent: udp, from: A, to: B, rate: 0.8 Mbit/s, size: 1000 B, dscp: AF13, jitter: 50 %}
probes:
  - {link: R->B, measure: queue-packets, every: 100 ms}
  - {link: R->B, measure: queue-packets, precedence: [0, 1, 2], every: 100 ms}
  - {link: R->B, measure: queue-average, precedence: [0, 2], every: 100 ms}
run: {duration: 20 s, warm_up: 2 s}
"""


def series() -> dict[int, list[float]]:
    """Values by probe."""
    frame = tl.run(tl.load(SCENARIO), seed=1).series.to_polars()
    return {
        number: frame.filter(frame["probe"] == number)["value"].to_list() for number in range(6)
    }


def test_the_precedences_of_a_queue_add_up_to_the_queue() -> None:
    total, green, yellow, red, *_ = series().values()
    assert [sum(each) for each in zip(green, yellow, red, strict=True)] == total
    assert set(yellow) == {0.0}
    assert max(green) > 0
    assert max(red) > 0


def test_rio_d_averages_each_precedence_by_itself() -> None:
    """Red stays below its own upper threshold of 8; green, below its own, holds more."""
    *_, green, red = series().values()
    assert max(red) < 9
    assert sum(green[100:]) > sum(red[100:])
