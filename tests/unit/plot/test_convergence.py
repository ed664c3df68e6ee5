"""What followed a cut: times by hand of routers and of a signalled path, and the picture."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest

import trunkline as tl
from trunkline.plot.kinds import draw
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource
from trunkline.results.convergence import list_answered_changes

LOOP = files("trunkline.examples").joinpath("micro-loop.yaml").read_text("utf-8")
MS = 1_000_000
PATH = """
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: 4 ms}
  B-D: {rate: 10 Mbit/s, delay: 4 ms}
  A-C: {rate: 10 Mbit/s, delay: 6 ms, metric: 2}
  C-D: {rate: 10 Mbit/s, delay: 6 ms}
paths: {p: {from: A, to: D, route: auto, bandwidth: 4 Mbit/s}}
trunks: {t: {path: p, flows: all}}
flows: {f: {agent: udp, from: A, to: D, rate: 4 Mbit/s, size: 1000 B, start: 100 ms}}
failures: {cut: {link: B-D, at: 1 s}}
signalling: {kind: rsvp-te, when_down: discard}
run: {duration: 2 s}
"""


@pytest.fixture(scope="module")
def loop() -> tl.Results:
    return tl.run(tl.loads(LOOP))


def test_rfc2328_s13_each_router_computes_20_ms_after_the_news_and_a_is_late(
    loop: tl.Results,
) -> None:
    """T's LSA has one neighbour left: 84 + 12 bytes at 100 Mbit/s, 2 ms a link."""
    (change,) = list_answered_changes(loop)
    assert (change.at_ns, change.kind, set(change.links)) == (
        1000 * MS,
        "failure",
        {"B->T", "T->B"},
    )
    of = {step.name: step for step in change.steps}
    hop = 96 * 80 + 2 * MS
    heard = [of[name].heard_ns for name in ("T", "C", "A", "S")]
    assert [later - before for before, later in pairwise(heard)] == [hop] * 3
    for step in change.steps:
        assert step.computed_ns == step.heard_ns + 20 * MS
    ended = {name: step.ended_ns for name, step in of.items()}
    assert ended["A"] == of["A"].heard_ns + 220 * MS
    assert ended["B"] == of["B"].heard_ns + 30 * MS
    # Neither has another way to anywhere.
    assert ended["S"] is None
    assert ended["C"] is None


def test_rfc791_s3_2_packets_of_the_loop_die_after_the_hops_of_their_ttl(loop: tl.Results) -> None:
    """B sends the first packet back with its new routes; 62 hops of 2 ms and more later it dies."""
    (change,) = list_answered_changes(loop)
    began = next(step.ended_ns for step in change.steps if step.name == "B")
    rows = loop.packets.rows()
    first = next(row["time_ns"] for row in rows if row["cause"] == "ttl_expired")
    assert began is not None
    assert 62 * 2 * MS <= first - began <= 64 * 2.2 * MS
    prompt = tl.run(tl.loads(LOOP, overrides={"slow": "0 ms"}))
    assert "ttl_expired" not in prompt.drops["cause"]


def test_a_head_knows_by_the_path_err_and_uses_the_path_of_the_first_resv() -> None:
    """PathErr: 10 ms, 104 bytes and 4 ms; Path and Resv: 560 bytes in all and four times 6 ms."""
    (change,) = list_answered_changes(tl.run(tl.loads(PATH)))
    (step,) = change.steps
    assert step.name == "path p"
    assert step.heard_ns - change.at_ns == 10 * MS + 104 * 800 + 4 * MS
    assert step.ended_ns == step.heard_ns + 560 * 800 + 24 * MS


def test_a_run_without_routing_has_nothing_to_draw(loop: tl.Results) -> None:
    figure = draw("convergence", [PlotSource("loop", [loop])], PlotChoice())
    bars, losses = figure.axes
    assert [label.get_text() for label in bars.get_yticklabels()] == ["T", "C", "A", "S", "B"]
    legend = losses.get_legend()
    assert legend is not None
    entries = dict(text.get_text().split(": ") for text in legend.get_texts())
    lost = sum(row["packets"] for row in loop.drops.rows())
    assert sum(map(int, entries.values())) == lost
    still = tl.run(tl.loads(PATH[: PATH.index("failures")] + "run: {duration: 1 s}"))
    assert list_answered_changes(still) == []
    with pytest.raises(MissingData, match="no failure that routing or signalling followed"):
        draw("convergence", [PlotSource("still", [still])], PlotChoice())
