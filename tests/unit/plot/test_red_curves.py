"""Drop curves: corners worked by hand from the sources that plot.red_curves names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trunkline.network import compile
from trunkline.plot.kinds import draw
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource
from trunkline.plot.red_curves import iterate_drop_curves
from trunkline.scenario import load

TEXT = """
trunkline: 1
nodes: [S, D]
links:
  S-D: {rate: 5 Mbit/s, delay: 10 ms, port: narrow}
ports:
  narrow: {queue: {limit: 100 packets, aqm: AQM}}
flows:
  f: {agent: udp, from: S, to: D, rate: 1 Mbit/s}
run: {duration: 1 s}
"""
TC = "min: 30 kB, max: 100 kB, avpkt: 1000 B, burst: 50 packets, probability: 0.02"


def network(aqm: str, folder: Path) -> dict[str, Any]:
    file = folder / "s.yaml"
    file.write_text(TEXT.replace("AQM", aqm))
    found: dict[str, Any] = json.loads(compile(load(file)).to_json())
    return found


@pytest.mark.parametrize(
    ("aqm", "unit", "corners"),
    [
        # FJ93 figure 2: 0 at min_th, max_p at max_th, all from there on.
        (
            "{kind: red, min_th: 5 packets, max_th: 15 packets, max_p: 0.02}",
            "packets",
            [(5, 0), (15, 0.02), (15, 1)],
        ),
        # Floyd 2000: gentle ends at twice max_th.
        (
            "{kind: red, min_th: 5 kB, max_th: 15 kB, max_p: 0.02, gentle: on}",
            "kB",
            [(5, 0), (15, 0.02), (30, 1)],
        ),
        (f"{{kind: red-linux, {TC}}}", "kB", [(30, 0), (100, 0.02), (100, 1)]),
        # tc_red.c: 0.02 / 70000 * 2^22 = 1.198 > 1 >= 0.599: Plog 22, and 70000 / 2^22 = 0.01669.
        (
            f"{{kind: red-linux, age: plog, {TC}}}",
            "kB",
            [(30, 0), (100, 0.016689), (100, 1)],
        ),
    ],
)
def test_fj93_fig2_and_tc_red_corners(
    aqm: str, unit: str, corners: list[tuple[float, float]], tmp_path: Path
) -> None:
    (found,) = iterate_drop_curves(network(aqm, tmp_path))
    assert found.unit == unit
    assert [at for at, _ in found.corners] == pytest.approx([at for at, _ in corners])
    assert [p for _, p in found.corners] == pytest.approx([p for _, p in corners], abs=1e-6)


def test_seddigh1999_table2_has_a_curve_for_each_precedence(tmp_path: Path) -> None:
    aqm = """{kind: rio-c, precedences: [
        {min_th: 40 packets, max_th: 55 packets, max_p: 0.02},
        {min_th: 25 packets, max_th: 40 packets, max_p: 0.05},
        {min_th: 10 packets, max_th: 25 packets, max_p: 0.1}]}"""
    found = list(iterate_drop_curves(network(aqm, tmp_path)))
    assert [each.name for each in found] == [f"narrow precedence {n}" for n in range(3)]
    assert [each.corners[1] for each in found] == [(55, 0.02), (40, 0.05), (25, 0.1)]


def test_ports_without_red_or_with_other_units_are_told(tmp_path: Path) -> None:
    plain = PlotSource("plain", network=network("drop-tail", tmp_path))
    with pytest.raises(MissingData, match="no port has an aqm of the RED family"):
        draw("red-curves", [plain], PlotChoice())
    packets = network("{kind: red, min_th: 5 packets, max_th: 15 packets}", tmp_path)
    kilobytes = network("{kind: red, min_th: 5 kB, max_th: 15 kB}", tmp_path)
    sources = [PlotSource("a", network=packets), PlotSource("b", network=kilobytes)]
    with pytest.raises(MissingData, match="some ports count packets, others bytes"):
        draw("red-curves", sources, PlotChoice())
    assert draw("red-curves", sources[:1], PlotChoice(only=frozenset({"narrow"}))).axes
    with pytest.raises(MissingData, match="did you mean narrow"):
        draw("red-curves", sources[:1], PlotChoice(only=frozenset({"narow"})))
