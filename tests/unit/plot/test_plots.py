"""Named plots: each draws what the tables hold, and says what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trunkline.cli.plot_command import PLOT_KINDS as LISTED, label_folders
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.plot import save_figure
from trunkline.plot.distribution import compute_densities, fit_distribution
from trunkline.plot.kinds import OVER_TIME_KINDS, PLOT_KINDS, draw
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.stats.histogram import Histogram, read_flow_delays

TEXT = """
trunkline: 1
nodes: [S, R, D]
links:
  S-R: {rate: 100 Mbit/s, delay: 1 ms}
  R-D: {rate: 5 Mbit/s, delay: 10 ms, port: narrow}
ports:
  narrow: {queue: {limit: 20 packets}}
flows:
  tcp: {agent: tcp, from: S, to: D}
  noise: {agent: udp, from: S, to: D, rate: 500 kbit/s, size: 500 B, arrivals: poisson}
probes:
  - {flow: tcp, measure: [cwnd, ssthresh, throughput, goodput, delay], every: 100 ms}
  - {flow: tcp, measure: [srtt, rtt, rto, pacing-rate, inflight], every: 100 ms}
  - {link: R->D, measure: [queue-packets, queue-bytes, utilisation, marks], every: 100 ms}
run: {duration: 4 s, trace: on}
"""
TRANSFERS = """
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 5 Mbit/s, delay: 10 ms}}
flows: {web: {agent: tcp, from: S, to: D, transfers: {every: 100 ms, size: 5 kB}}}
run: {duration: 4 s}
"""
OF_SOME = ("published", "completions", "convergence", "red-curves", "scores")
OF_ANY = [kind for kind in PLOT_KINDS if kind not in OF_SOME]
"""Kinds of plots that any run has something for."""
CELLS = [
    {
        "table": "1",
        "row": row,
        "column": "c",
        "unit": "Mbit/s",
        "published": published,
        "ours": ours,
        "low": ours - 0.1,
        "high": ours + 0.1,
        "note": "",
    }
    for row, published, ours in (("a", 1.0, 1.1), ("b", 2.0, 1.9))
]


@pytest.fixture(scope="module")
def runs() -> list[Results]:
    return simulate(compile(load(TEXT)), seeds=[1, 2, 3])


@pytest.fixture(scope="module")
def sources(runs: list[Results]) -> list[PlotSource]:
    return [PlotSource("a", runs), PlotSource("b", runs[:1])]


def lines(figure: Any) -> dict[str, tuple[list[float], list[float]]]:
    """Points of each line with a name."""
    drawn = figure.axes[0].get_lines()
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in drawn}


def test_completions_are_drawn_up_to_the_share_that_finished() -> None:
    done = simulate(compile(load(TRANSFERS)), seeds=[1])
    (line,) = lines(draw("completions", [PlotSource("a", done)], PlotChoice())).values()
    row = next(row for row in done[0].completions.rows() if row["sizes"] == "all")
    finished, unfinished = int(row["finished"] or 0), int(row["unfinished"] or 0)
    assert finished > 10
    assert line[1][-1] == pytest.approx(finished / (finished + unfinished))
    assert line[1] == sorted(line[1])


def test_the_command_lists_every_kind() -> None:
    assert tuple(LISTED) == PLOT_KINDS


@pytest.mark.parametrize(
    ("kind", "ending"),
    [("bars", "png"), ("bars", "pdf"), *((kind, "svg") for kind in OF_ANY)],
)
def test_every_kind_is_drawn_in_every_format_with_the_same_bytes(
    kind: str, ending: str, sources: Sequence[PlotSource], tmp_path: Path
) -> None:
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    files = []
    for name in ("one", "two"):
        path = save_figure(draw(kind, sources, PlotChoice()), tmp_path / f"{name}.{ending}")
        files.append(path.read_bytes())
    assert files[0].startswith(starts)
    assert files[0] == files[1]
    assert len(files[0]) > 4000


def test_over_time_draws_the_series_of_the_table(runs: list[Results]) -> None:
    found = lines(draw("cwnd", [PlotSource("a", runs[:1])], PlotChoice()))
    rows = [row for row in runs[0].series.rows() if row["measure"] == "cwnd"]
    assert found["tcp"] == ([row["time_s"] for row in rows], [row["value"] for row in rows])
    assert "tcp, ssthresh" in found


def test_over_time_draws_the_mean_over_the_seeds(runs: list[Results]) -> None:
    times, values = lines(draw("throughput", [PlotSource("a", runs)], PlotChoice()))["tcp"]
    by_seed = [
        [r["value"] for r in run.series.rows() if r["measure"] == "throughput"] for run in runs
    ]
    expected = [sum(step) / 3 * 1e-6 for step in zip(*by_seed, strict=True)]
    assert values == pytest.approx(expected)
    shown, _ = lines(draw("throughput", [PlotSource("a", runs)], PlotChoice(since=1.0, until=2.0)))[
        "tcp"
    ]
    assert shown == [at for at in times if 1.0 <= at <= 2.0]


def test_the_time_sequence_graph_has_every_segment_loss_and_acknowledgement(
    runs: list[Results],
) -> None:
    found = lines(draw("time-sequence", [PlotSource("a", runs[:1])], PlotChoice()))
    packets = [row for row in runs[0].packets.rows() if row["flow"] == "tcp"]

    def count(**wanted: Any) -> int:
        return sum(all(row[name] == value for name, value in wanted.items()) for row in packets)

    assert len(found["sent"][0]) == count(event="sent", direction="forward", retransmission=0)
    assert len(found["sent again"][0]) == count(event="sent", direction="forward", retransmission=1)
    assert len(found["lost"][0]) == count(event="dropped", direction="forward") > 0
    assert len(found["acknowledged"][0]) == count(event="delivered", direction="reverse")


def test_the_distribution_rises_to_one_through_the_median(runs: list[Results]) -> None:
    at, share = lines(draw("cdf", [PlotSource("a", runs[:1])], PlotChoice(frozenset({"tcp"}))))[
        "tcp"
    ]
    assert share[0] == 0.0
    assert share[-1] == 1.0
    assert share == sorted(share)
    median = next(x for x, y in zip(at, share, strict=True) if y >= 0.5)
    known = runs[0].flows.where(flow="tcp")["delay_p50_s"]
    assert median == pytest.approx(float(known or 0) * 1e3, rel=1 / 64)


def test_densities_sum_to_what_they_cover(runs: list[Results]) -> None:
    found = read_flow_delays(runs[0], "tcp")
    edges, density = compute_densities(found)
    covered = sum(each * (b - a) for each, a, b in zip(density, edges, edges[1:], strict=False))
    assert 0.995 <= covered <= 1.0001


def test_a_fit_of_exponential_delays_finds_their_mean() -> None:
    """Counts of an exponential law with mean 10 ms above 5 ms, in buckets of 0.2 ms."""
    law = lambda ms: 1 - math.exp(-(ms - 5) / 10)  # noqa: E731
    ends = [5 + 0.2 * k for k in range(1, 400)]
    counts = {int(end * 1e6): round(1e6 * (law(end) - law(end - 0.2))) for end in ends}
    fit = fit_distribution(Histogram(counts), "best")
    assert fit is not None
    assert fit.about.startswith(("exponential", "gamma"))
    assert fit.distance < 0.02
    exponential = fit_distribution(Histogram(counts), "exponential")
    assert exponential is not None
    assert exponential.pdf(15.0) == pytest.approx(math.exp(-1) / 10, rel=0.05)


def test_packets_that_did_not_wait_are_told_apart() -> None:
    """30 % at 1 ms, the others exponential with mean 2 ms above it: M/M/1 at a load of 0.7."""
    law = lambda ms: 1 - math.exp(-(ms - 1) / 2)  # noqa: E731
    counts = {1_000_000: 300_000}
    for k in range(1, 400):
        end = 1 + 0.05 * k
        counts[int(end * 1e6)] = round(700_000 * (law(end) - law(end - 0.05)))
    fit = fit_distribution(Histogram(counts), "best")
    assert fit is not None
    assert fit.about.startswith(("30% at the least; exponential", "30% at the least; gamma"))
    assert fit.distance < 0.02
    assert fit.pdf(3.0) == pytest.approx(0.7 * math.exp(-1) / 2, rel=0.05)


def test_bars_have_the_means_of_the_runs(runs: list[Results]) -> None:
    figure = draw("bars", [PlotSource("a", runs)], PlotChoice(measure="throughput_bit_s"))
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    for flow, height in zip(("tcp", "noise"), heights, strict=True):
        each = [float(run.flows.where(flow=flow)["throughput_bit_s"] or 0) for run in runs]
        assert height == pytest.approx(sum(each) / 3 * 1e-6)


def test_published_draws_a_point_a_cell_and_refuses_other_results(runs: list[Results]) -> None:
    record = {"cells": CELLS}
    figure = draw("published", [PlotSource("s", record=record)], PlotChoice())
    points = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert [(p.get_xdata()[0], p.get_ydata()[0]) for p in points] == [(1.0, 1.1), (2.0, 1.9)]
    with pytest.raises(MissingData, match="no reproduction"):
        draw("published", [PlotSource("a", runs)], PlotChoice())


@pytest.mark.parametrize("kind", [*OVER_TIME_KINDS, "time-sequence"])
def test_what_is_missing_comes_with_what_to_add(kind: str) -> None:
    text = TEXT[: TEXT.index("probes:")] + "run: {duration: 1 s}"
    bare = simulate(compile(load(text)), seeds=[1])
    with pytest.raises(MissingData) as raised:
        draw(kind, [PlotSource("a", bare)], PlotChoice())
    message = str(raised.value)
    assert "add to the scenario" in message
    # What it says to add is right: with it the plot is drawn.
    added = "\n".join(line[2:] for line in message.splitlines()[1:] if line.startswith("  "))
    again = text.replace("run: {duration: 1 s}", "run: {duration: 1 s, trace: on}")
    if kind != "time-sequence":
        again = f"{text}\n{added}\n"
    draw(kind, [PlotSource("a", simulate(compile(load(again)), seeds=[1]))], PlotChoice())


def test_a_name_that_nothing_has_is_refused(sources: Sequence[PlotSource]) -> None:
    for kind in ("cwnd", "queue", "cdf", "bars", "time-sequence"):
        with pytest.raises(MissingData, match="nothing to draw is called"):
            draw(kind, sources, PlotChoice(frozenset({"tpc"})))
    with pytest.raises(MissingData, match="goodput_bit_s"):
        draw("bars", sources, PlotChoice(measure="goodput_bits"))


def test_labels_are_as_long_as_it_takes_to_tell_folders_apart() -> None:
    assert label_folders(("/a/x", "/a/y")) == [("/a/x", "x"), ("/a/y", "y")]
    assert label_folders(("/a/x", "/b/x")) == [("/a/x", "a/x"), ("/b/x", "b/x")]


def test_plot_draws_folders_over_each_other(trunkline: Any, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(TEXT.replace("4 s", "1 s"))
    for name in ("one", "two"):
        trunkline("run", str(tmp_path / "s.yaml"), "--no-report", "--out", str(tmp_path / name))
    folders = [str(tmp_path / name) for name in ("one", "two")]
    picture = tmp_path / "p.svg"
    done = trunkline("plot", *folders, "cwnd", "-o", str(picture))
    assert done.returncode == 0, done.stderr
    for label in ("one: tcp", "two: tcp"):
        assert label in picture.read_text()
    for words, printed in (
        (["kwnd"], "did you mean cwnd"),
        (["cwnd", "-o", "p.gif"], "a picture ends in"),
        (["published"], "no reproduction"),
    ):
        wrong = trunkline("plot", *folders, *words)
        assert wrong.returncode == 2
        assert printed in wrong.stderr
    assert "Kinds:" in trunkline("plot", "--help").stdout
