"""What runs will take, foreseen, against what they took."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from trunkline.engine import forecast as forecasts, simulate
from trunkline.engine.forecast import estimate_packet_hops, forecast_runs
from trunkline.network import compile
from trunkline.scenario import load

from ...conftest import RunCommand

CBR = """
trunkline: 1
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}}
flows: {f: {agent: udp, from: a, to: b, rate: 800 kbit/s, size: 500 B}}
run: {duration: 20 s}
"""


def written(duration: str, **more: str) -> str:
    overrides = {"run.duration": duration, **{k.replace("__", "."): v for k, v in more.items()}}
    return compile(load(CBR, overrides=overrides)).to_json()


def test_no_more_packets_than_are_offered_and_fit_on_the_links() -> None:
    # 800 kbit/s and two directions of 1 Mbit/s for 20 s in packets of 500 B: 2.8 * 20e6 / 4000.
    assert estimate_packet_hops(written("20 s")) == pytest.approx(14_000)


def test_a_run_that_ends_within_the_look_is_counted_and_not_foreseen() -> None:
    (total,) = simulate(written("20 s"), seeds=[1])
    seen = forecast_runs([written("20 s")], 7)
    assert seen.events == 7 * int(total.summary["events"] or 0)


def test_a_longer_run_is_foreseen_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    # CBR: each second of it is like the others.
    (total,) = simulate(written("20 s"), seeds=[1])
    monkeypatch.setattr(forecasts, "OBSERVATION_S", 0.02)
    seen = forecast_runs([written("2000000 s")], 1)
    assert seen.events == pytest.approx(100_000 * int(total.summary["events"] or 0), rel=0.01)
    assert seen.core_s > 1
    assert str(seen).startswith(f"about {seen.events:.2g} events, ")


def test_memory_is_foreseen_to_grow_where_packets_are_traced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forecasts, "OBSERVATION_S", 0.2)
    traced = forecast_runs([written("2000000 s", run__trace="true")], 1)
    plain = forecast_runs([written("2000000 s")], 1)
    assert traced.memory > 100e9  # 200 million packets, each with several events of some 30 B.
    assert plain.memory < 2e9


def test_what_does_not_move_has_no_end_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = "stopped at 0 s of the run: 7 events, 0 packets in the network, 0 of them in ports"
    monkeypatch.setattr(forecasts, "stream_runs", lambda *a, **_: a[1](0, "time", stuck))
    seen = forecast_runs([written("20 s")], 2)
    assert math.isinf(seen.core_s)
    assert seen.to_json()["events"] is None


def test_b24_a_slip_of_the_pen_is_refused_and_a_limit_of_time_runs_it_all_the_same(
    trunkline: RunCommand, tmp_path: Path
) -> None:
    (tmp_path / "cbr.yaml").write_text(CBR)
    # 1e9 s at 25 million packets a second: 1e17 events, centuries on any machine.
    absurd = ("--set", "flows.f.rate=100 Gbit/s", "--set", "links.a-b.rate=100 Gbit/s")
    words = ("run", "cbr.yaml", *absurd, "--set", "run.duration=1000000000 s", "--out", "out")
    done = trunkline(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: about ")
    assert "days of one core" in done.stderr
    assert "run it anyway with --limit-time SECONDS" in done.stderr
    assert not (tmp_path / "out").exists()
    done = trunkline(*words, "--limit-time", "0.3")
    assert done.returncode == 4
    assert done.stderr.startswith("error[time]: the time limit is reached")


def test_b24_a_study_is_looked_at_before_it_begins(trunkline: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "cbr.yaml").write_text(CBR)
    (tmp_path / "study.yaml").write_text(
        "study: 1\nname: long\ntitle: long\nscenario: cbr.yaml\nruns: 1000000\n"
        "grid: {run.duration: [1 s, 1000000 s, 2000000 s]}\n"
        "columns: {rate: {measure: goodput_bit_s, unit: Mbit/s, where: {flow: f}}}\n"
    )
    done = trunkline("study", "run", "study.yaml")
    assert done.returncode == 2
    assert "3000000 runs: about " in done.stderr
    assert not (tmp_path / "long-study").exists()
    done = trunkline("study", "run", "study.yaml", "--dry-run", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"] == 3_000_000
