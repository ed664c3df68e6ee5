"""Echo flows and processing from the language to the tables, by hand."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline as tl

# 8 Mbit/s: a byte takes 1 us; two links of 5 ms each way.
BASE = """
trunkline: 1
nodes: {{a: {{}}, b: {{{node}}}, c: {{}}}}
defaults: {{link: {{rate: 8 Mbit/s, delay: 5 ms}}}}
links: {{a-b: {{}}, b-c: {link}}}
flows: {{e: {{agent: echo, from: a, to: c, interval: 10 ms, stop: 1 s{keys}}}}}
run: {{duration: 3 s}}
"""


def row(keys: str = "", node: str = "", link: str = "{}") -> dict[str, Any]:
    results = tl.run(tl.loads(BASE.format(keys=keys, node=node, link=link)))
    (found,) = results.echoes.rows()
    return dict(found)


def test_rfc792_ping_sees_round_trips_only() -> None:
    # 84 B take 84 us on each of four links, and 4 * 5 ms.
    found = row()
    assert (found["requests"], found["replies"], found["lost"]) == (100, 100, 0)
    assert found["rtt_min_ns"] == found["rtt_p99_ns"] == found["rtt_max_ns"] == 20_336_000
    assert found["loss_ratio"] == 0
    for column in (
        "there_mean_s",
        "back_mean_s",
        "lost_there",
        "loss_back_ratio",
        "reordered_there",
    ):
        assert found[column] is None


def test_rfc5357_twamp_tells_the_two_ways_apart() -> None:
    # There 2 (100 us + 5 ms), back 2 (50 us + 5 ms).
    found = row(", protocol: udp, size: 100 B, reply: 50 B")
    assert (found["there_max_ns"], found["back_max_ns"]) == (10_200_000, 10_100_000)
    assert found["rtt_mean_s"] == pytest.approx(0.0203)


def test_rfc6673_lost_is_what_was_dropped_or_came_too_late() -> None:
    # Requests 3, 4 and 5 are lost on the second link: 3 of 100, all on the way there.
    lost = "{lose: [{flow: e, segment: 3}, {flow: e, segment: 4}, {flow: e, segment: 5}]}"
    found = row(", protocol: udp", link=lost)
    assert (found["lost"], found["lost_there"], found["lost_back"]) == (3, 3, 0)
    assert found["loss_ratio"] == found["loss_there_ratio"] == pytest.approx(0.03)
    late = row(", timeout: 20.335 ms")
    assert (late["replies"], late["replies_late"], late["loss_ratio"]) == (0, 100, 1)
    assert late["rtt_mean_s"] is None


def test_replies_carry_the_class_of_requests() -> None:
    text = BASE.format(keys=", dscp: EF", node="", link="{account: true}")
    accounts = list(tl.run(tl.loads(text)).accounts.rows())
    assert {(each["link"], each["direction"], each["dscp"]) for each in accounts} == {
        ("b->c", "forward", "EF"),
        ("c->b", "reverse", "EF"),
    }


def test_processing_is_met_once_each_way() -> None:
    # b forwards requests and replies: twice 1 ms and 30 us. A time alone is `fixed`.
    assert row(node="processing: {fixed: 1 ms, ip_lookup: 30 us}")["rtt_min_ns"] == 22_396_000
    assert row(node="processing: 1 ms")["rtt_min_ns"] == 22_336_000
    assert row(node="processing: {label_lookup: 1 s}")["rtt_min_ns"] == 20_336_000


def test_bounds_of_echo_flows_are_judged() -> None:
    sla = "slas: {s: {flow: e, at_most: {rtt_p99: 20 ms, rtt_max: 21 ms, echo_loss: 0 %}}}"
    scenario = tl.loads(BASE.format(keys="", node="", link="{}") + sla)
    levels = tl.judge(scenario, [tl.run(scenario)])
    assert [level.met for level in levels] == [False, True, True]


PROCESSED = """\
trunkline: 1
nodes: {A: {}, B: {processing: {fixed: 2 ms}}, C: {}, D: {}}
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {A-B: {}, B-C: {rate: 1 Mbit/s}, C-D: {}}
flows:
  udp: {agent: udp, from: A, to: D, rate: 800 kbit/s, size: 500 B, arrivals: poisson}
  tcp: {agent: tcp, from: A, to: D}
run: {duration: 2 s}
"""


def test_a_trace_changes_nothing_where_nodes_process() -> None:
    """Runs without a trace may take hops without an event: not where packets wait for a node."""
    plain, traced = (
        tl.run(tl.loads(PROCESSED, overrides={"run.trace": word})) for word in ("false", "true")
    )
    assert list(plain.flows.rows()) == list(traced.flows.rows())
    assert list(plain.ports.rows()) == list(traced.ports.rows())


def test_defaults_are_of_every_echo_flow_that_does_not_set_them() -> None:
    text = BASE.format(keys="", node="", link="{}").replace(
        "defaults: {", "defaults: {echo: {size: 100 B, dscp: EF, interval: 20 ms}, "
    )
    results = tl.run(tl.loads(text))
    # 1 s of one each 10 ms, its own; 100 B take 100 us on each of four links.
    (found,) = results.echoes.rows()
    assert (found["requests"], found["rtt_max_ns"]) == (100, 20_400_000)
    assert list(results.flows["dscp"]) == ["EF"]
