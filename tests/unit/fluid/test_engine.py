"""The fluid engine's tables: same shape as the packets', tagged, null where rates do not say."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

import trunkline as tl
from trunkline.fluid.engine import list_omissions, solve_without_failures
from trunkline.fluid.focus import focus_network
from trunkline.fluid.port_queues import read_port_queues
from trunkline.fluid.shortest_paths import get_answer_bytes
from trunkline.fluid.stream_paths import _trace_with_packets, trace_streams
from trunkline.fluid.verification import verify_fluid
from trunkline.network import compile
from trunkline.results import SCHEMAS, Results

EXAMPLES = sorted(
    each.name for each in files("trunkline").joinpath("examples").iterdir() if ".yaml" in each.name
)


def example(name: str) -> tl.Scenario:
    return tl.loads(files("trunkline").joinpath("examples", name).read_text("utf-8"))


def fluid(name: str) -> Results:
    return tl.run(example(name), engine="fluid")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_its_tables_with_the_rows_of_the_packets(name: str) -> None:
    if "\nsignalling:" in example(name).text or "ospf:" in example(name).text:
        with pytest.raises(ValueError, match=r"leave `\w+` out"):
            fluid(name)
        return
    found = fluid(name)
    network = compile(example(name)).data
    assert len(found.flows) == len(network["flows"])
    assert len(found.ports) == len(read_port_queues(network).level)
    assert found.provenance.engine == "fluid"
    assert found.to_json()["engine"] == "fluid"
    for table, fields in SCHEMAS.items():
        assert found.tables[table].to_polars().columns == [field.name for field in fields]
    assert "fluid engine" in found.render(width=100)


@pytest.mark.parametrize("name", ["diffserv-over-mpls.yaml", "label-stack.yaml", "trunks.yaml"])
def test_labelled_packets_take_their_paths_with_their_labels(name: str) -> None:
    scenario = example(name)
    sent, found = tl.run(scenario), fluid(name)
    for ours, theirs in zip(sent.ports.rows(), found.ports.rows(), strict=True):
        # What carries packets in the one does in the other, but for the last few of a run.
        assert (ours["packets_sent"] or 0) < 5 or (theirs["packets_sent"] or 0) > 0, ours
        assert theirs["packets_sent"] is None or theirs["packets_sent"] == 0 or ours["packets_sent"]


def test_both_legs_of_one_plus_one_are_loaded_and_one_delivers() -> None:
    text = """
trunkline: 1
nodes: [A, B, C, D]
links: {A-B: {rate: 1 Mbit/s}, B-D: {rate: 1 Mbit/s}, A-C: {rate: 1 Mbit/s}, C-D: {rate: 1 Mbit/s}}
paths: {p: {route: [A, B, D], php: false}, q: {route: [A, C, D], php: false}}
trunks: {t: {path: p, flows: [f]}}
protections: {twice: {path: p, kind: one-plus-one, backup: q}}
flows: {f: {agent: udp, from: A, to: D, rate: 100 kbit/s, size: 500 B}}
run: {duration: 1 s}
"""
    found = tl.run(tl.loads(text), engine="fluid")
    # 500 B and a label of 4 B.
    for link in ("A->B", "A->C", "B->D", "C->D"):
        value = found.ports.where(link=link, **{"class": "default"})
        assert value["throughput_bit_s"] == pytest.approx(100_800)
    assert found.flows.where(flow="f")["throughput_bit_s"] == pytest.approx(100_000)


def test_notes_name_what_is_left_out() -> None:
    assert any(
        "moments of a failure" in note
        for note in list_omissions(compile(example("protected-ring.yaml")).data)
    )
    assert list_omissions(compile(example("md1.yaml")).data) == ()


def test_verdict_agrees_where_it_should_and_differs_where_the_model_is_wrong() -> None:
    network = compile(example("wfq-shares.yaml")).to_json()
    verdict = verify_fluid(network, [1])
    assert verdict.agrees
    assert verdict.reference.startswith("fluid")
    # TCP's window is halved at each loss, and with a queue of five packets the link then idles.
    short = example("hello.yaml").text.replace("50 packets", "5 packets")
    assert short != example("hello.yaml").text
    other = verify_fluid(compile(tl.loads(short)).to_json(), [1, 2, 3, 4, 5])
    assert other.outcome == "differs"
    assert {"load"} <= {row.measure for row in other.rows if row.outcome == "differs"}
    single = verify_fluid(compile(example("hello.yaml")).to_json(), [1, 2])
    assert any("mean delay" in printed for printed in single.not_compared)


def test_hops_follow_each_other_from_source_to_destination() -> None:
    network = compile(example("diffserv-over-mpls.yaml")).data
    value = trace_streams(network, np.full(len(network["flows"]), 100))
    for stream in range(len(value.flow)):
        hops = np.flatnonzero(value.stream == stream)
        links = [network["links"][link] for link in value.link[hops]]
        flow = network["flows"][value.flow[stream]]
        assert links[0]["from"] == flow["src"]
        assert links[-1]["to"] == flow["dst"]
        for one, two in pairwise(links):
            assert one["to"] == two["from"]


@pytest.mark.parametrize(
    "name", ["priority-voice.yaml", "wfq-shares.yaml", "does-50-ms-matter.yaml"]
)
def test_routing_in_arrays_is_the_packet_engines(name: str) -> None:
    network = compile(example(name)).data
    sizes = np.full(len(network["flows"]), 100)
    value = trace_streams(network, sizes)
    back = [f for f, flow in enumerate(network["flows"]) if get_answer_bytes(flow)]
    hops, lost = _trace_with_packets(network, sizes, back, np.arange(len(value.flow)))
    assert not lost.any()
    stream, _, step, link, class_, header = hops
    for ours, theirs in zip(
        (value.stream, value.step, value.link, value.class_, value.header),
        (stream, step, link, class_, header),
        strict=True,
    ):
        assert ours.tolist() == theirs.tolist()


def test_a_focus_keeps_the_flows_over_a_link_and_makes_background_of_the_others() -> None:
    scenario = example("priority-voice.yaml")
    network = compile(scenario).data
    with pytest.raises(ValueError, match=r"there is no link .* R1-R2"):
        focus_network(network, ["R1-R2"])
    narrow = focus_network(network, ["phones->R1"]).network
    names = [flow["name"] for flow in narrow["flows"]]
    assert names[:10] == [f"call[{n}]" for n in range(10)]
    # Downloads meet the calls on R1->R2, in a class of their own, and on the last link.
    assert {"background R1->R2 default", "background R2->office default"} == set(names[10:])
    wide = solve_without_failures(network)
    thin = solve_without_failures(narrow)
    number = next(n for n, link in enumerate(network["links"]) if link["name"] == "R1->R2")
    queues_of = wide.queues.first[number], wide.queues.first[number] + 1
    for queue in queues_of:
        assert thin.rates.offered[queue] == pytest.approx(wide.rates.offered[queue], rel=1e-3)


def test_messages_are_refused_by_the_key_that_asks_for_them() -> None:
    lines = (
        "trunkline: 1",
        "nodes: [A, B, C]",
        "defaults: {link: {rate: 1 Mbit/s}}",
        "links: {A-B: {}, B-C: {}, C-A: {}}",
        "flows: {u: {agent: udp, from: A, to: C, rate: 1 kbit/s}}",
        "routing: {ospf: {}}",
        "run: {duration: 1 s}",
    )
    routed = tl.loads("\n".join(lines))
    with pytest.raises(ValueError, match="leave `ospf` out"):
        tl.run(routed, engine="fluid")


def test_a_network_with_conditioners_and_failures_is_followed() -> None:
    """The flow goes the long way after the cut; its conditioners let all pass, as ever here."""
    text = """
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, conditioner: edge, ingress: edge}}
links: {A-B: {}, B-C: {}, A-C: {}}
conditioners:
  edge:
    rules: [{profile: all}]
    profiles: {all: {meter: {kind: token-bucket, rate: 9 Mbit/s, burst: 3 kB}, red: drop}}
flows: {u: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}
failures: {cut: {link: A-B, at: 500 ms}}
rerouting: {detection: {kind: fixed, delay: 0 s}, spf_delay: 0 s}
run: {duration: 1 s}
"""
    found = tl.run(tl.loads(text), engine="fluid")
    used = {row["link"]: row["utilisation"] for row in found.ports.rows()}
    assert used["A->B"] == used["A->C"] == used["C->B"] == pytest.approx(0.05, rel=0.01)


def test_a_flow_of_which_nothing_arrives_has_no_part_in_the_mean_of_its_dscp() -> None:
    """`late` starts as the run ends: the delay of DF is that of `early`, 5 ms and 1000 B."""
    text = """
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 5 ms}}
flows:
  early: {agent: udp, from: A, to: B, rate: 1 Mbit/s, size: 1000 B}
  late: {agent: udp, from: A, to: B, rate: 1 Mbit/s, size: 1000 B, start: 1 s}
run: {duration: 1 s}
"""
    run = tl.run(tl.load(text), engine="fluid")
    assert run.flows.where(flow="late")["delay_mean_s"] is None
    (both,) = run.aggregates.rows()
    assert both["delay_mean_s"] == pytest.approx(0.0058)
    assert both["delay_mean_s"] == run.flows.where(flow="early")["delay_mean_s"]
    # A mean over time is 0 at a port that nothing comes to; a mean over packets is null there.
    idle = run.ports.where(link="B->A")
    assert (idle["queue_mean_packets"], idle["wait_mean_s"]) == (0, None)
