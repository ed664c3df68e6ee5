"""The study of classic QoS with the senders of today: a run of two seeds holds its large claims."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.study import Reproduction


def test_the_large_effects_show_in_two_seeds(
    reproduce_once: Callable[[str], Reproduction],
) -> None:
    cells = reproduce_once("today2026").cells
    means = {(cell.table, cell.row, cell.column): cell.ours.mean for cell in cells}
    # What a flow loses by an answer to losses that its neighbour does not give is a factor, not a
    # matter of seeds; a queue for each flow gives each a quarter of 10 * 1460/1500 Mbit/s.
    assert means["drop-tail", "bbr", "part of Reno"] < 60
    assert abs(means["fq-codel", "bbr", "Reno"] - 4.87) < 0.15
    assert means["policer", "10 kB", "reno"] < 2.5
    assert means["policer", "10 kB", "bbr"] > 9
    assert means["assured", "no profile", "bbr"] > means["assured", "no profile", "reno"] * 2
