"""Congestion marks: who wrote them, who got them, and what a sender's probes show of its answer."""

from __future__ import annotations

from statistics import fmean

import pytest

from trunkline.api import run
from trunkline.results import Results
from trunkline.scenario import load

ONE_QUEUE = """
trunkline: 1
nodes: [S, R, D]
ports:
  step: {queue: {limit: 100 packets, aqm: {kind: step, threshold: 5 packets}}}
links: {S-R: {rate: 1 Gbit/s, delay: 1 ms}, R-D: {rate: 10 Mbit/s, delay: 10 ms, port: step}}
"""
DCTCP = "agent: tcp, from: S, to: D, congestion: dctcp, ecn: true"


def run_text(text: str) -> Results:
    return run(load(text))


@pytest.mark.parametrize(("threshold", "marked"), [(5, 3), (0, 8), (8, 0)])
def test_a_first_window_is_marked_where_the_queue_is_above_the_threshold(
    threshold: int, marked: int
) -> None:
    """RFC 8257 section 3.1, by hand: ten segments arrive within one transmission time.

    The first is being sent, the second finds no other waiting, the tenth eight.
    """
    text = ONE_QUEUE.replace("threshold: 5", f"threshold: {threshold}")
    results = run_text(f"{text}flows: {{a: {{{DCTCP}, size: 14600 B}}}}\nrun: {{duration: 1 s}}\n")
    row = {
        "flow": "a",
        "direction": "forward",
        "link": "R->D",
        "class": "default",
        "precedence": 0,
        "packets": marked,
        "bytes": 1500 * marked,
    }
    assert list(results.marks.rows()) == ([row] if marked else [])
    assert results.ports.where(link="R->D")["packets_marked"] == marked
    assert results.flows["packets_ce"] == [marked]
    assert ("marked" in results.render(show_all=True)) == (marked > 0)
    assert results.to_json()["marks"] == ([row] if marked else [])


def test_marks_are_those_of_the_packets_in_a_trace() -> None:
    """Three flows and a warm-up: each mark of the tables is a packet with CE in the trace."""
    flows = "".join(f"  f{n}: {{{DCTCP}, start: {n} ms}}\n" for n in range(3))
    results = run_text(
        f"{ONE_QUEUE}flows:\n{flows}"
        "probes: [{link: R->D, measure: marks, every: 100 ms}]\n"
        "run: {duration: 1 s, warm_up: 300 ms, trace: on}\n"
    )
    trace = list(results.packets.rows())
    for name in ("f0", "f1", "f2"):
        arrived = [
            row["packet"]
            for row in trace
            if (row["event"], row["ecn"], row["flow"]) == ("delivered", "CE", name)
            and row["time_ns"] >= 300_000_000
        ]
        assert results.flows.where(flow=name)["packets_ce"] == len(arrived) > 20
    queued = [
        row
        for row in trace
        if (row["event"], row["ecn"], row["link"]) == ("queued", "CE", "R->D")
        and row["time_ns"] >= 300_000_000
    ]
    assert sum(results.marks["packets"]) == len(queued)
    assert results.ports.where(link="R->D")["packets_marked"] == len(queued)
    per_step = zip(results.series["time_ns"], results.series["value"], strict=True)
    probed = sum(value / 10 for at, value in per_step if at > 300_000_000)
    assert probed == pytest.approx(len(queued))


def test_pace_and_flight_are_those_of_the_window() -> None:
    """`tcp_update_pacing_rate`: twice a window a round trip in slow start, else 1.2 times."""
    results = run_text(
        f"{ONE_QUEUE}flows: {{a: {{{DCTCP}, pacing: true}}}}\n"
        "probes: [{flow: a, every: 5 ms, "
        "measure: [inflight, pacing-rate, cwnd, ssthresh, srtt, goodput]}]\n"
        "run: {duration: 1 s}\n"
    )
    steps: dict[int, dict[str, float]] = {}
    for row in results.series.rows():
        steps.setdefault(row["time_ns"], {})[row["measure"]] = row["value"]
    assert steps[5_000_000]["inflight"] == 10
    assert steps[5_000_000]["pacing-rate"] is None
    known = [step for step in steps.values() if step["pacing-rate"] is not None]
    assert len(known) > 100
    for step in known:
        gain = 2.0 if step["cwnd"] < step["ssthresh"] / 2 else 1.2
        window = max(step["cwnd"], step["inflight"]) * 1460 * 8
        # The window may have opened since the last acknowledgement, and segments have left.
        assert 0.8 < step["pacing-rate"] * step["srtt"] / (gain * window) < 1.2
    # Little's law: segments in the network are their rate times their round trip.
    later = [step for at, step in steps.items() if at > 500_000_000]
    flight, round_trip = (fmean(step[name] for step in later) for name in ("inflight", "srtt"))
    goodput = fmean(step["goodput"] for step in later)
    assert flight == pytest.approx(goodput * round_trip / (1460 * 8), rel=0.05)
