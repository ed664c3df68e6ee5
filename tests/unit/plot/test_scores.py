"""Opinion scores of calls by class, against the table."""

from __future__ import annotations

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.plot.kinds import draw
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource
from trunkline.plot.scores import SATISFACTION_LEVELS
from trunkline.results.e_model import compute_mos
from trunkline.scenario import load

CALLS = """
trunkline: 1
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 10 ms, loss: 2 %}}
flows:
  gold: {replicate: 3, agent: udp, from: a, to: b, dscp: EF, call: {codec: g729a, silence: off}}
  rest: {replicate: 2, agent: udp, from: a, to: b, call: {codec: g711, silence: off}}
  mute: {agent: udp, from: a, to: b, dscp: AF41, call: {codec: opus}}
run: {duration: 5 s}
"""


def test_bars_are_the_means_of_classes_and_ends_their_worst_and_best_calls() -> None:
    runs = simulate(compile(load(CALLS)), seeds=[1, 2])
    (axes,) = draw("scores", [PlotSource("lossy", runs)], PlotChoice()).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["EF", "DF"]
    ends = [path.vertices[:, 1] for path in axes.collections[0].get_paths()]
    for name, bar, (low, high) in zip(("gold", "rest"), axes.patches, ends, strict=True):
        rows = [
            row for run in runs for row in run.calls.rows() if str(row["flow"]).startswith(name)
        ]
        scores = [float(row["mos"] or 0) for row in rows]
        assert bar.get_y() + bar.get_height() == pytest.approx(sum(scores) / len(scores))
        assert (low, high) == pytest.approx((min(scores), max(scores)))


def test_g107_annex_b_table_b1_satisfaction_ends_at_these_scores() -> None:
    """R of 80, 70 and 60 are MOS 4.03, 3.60 and 3.10 in the table, which rounds 4.024 up."""
    for rating, (score, _) in zip((80, 70, 60), SATISFACTION_LEVELS, strict=True):
        assert compute_mos(rating) == pytest.approx(score, abs=0.01)


def test_without_a_score_it_says_so() -> None:
    runs = simulate(compile(load(CALLS)), seeds=[1])
    with pytest.raises(MissingData, match="no call has a score"):
        draw("scores", [PlotSource("a", runs)], PlotChoice(only=("mute",)))
