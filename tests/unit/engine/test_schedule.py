"""Packet schedules: saved, read back, replayed."""

from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.engine.schedule import format_schedule_csv, record_schedule
from trunkline.network import compile
from trunkline.scenario import load

TEXT = """
trunkline: 1
name: replay
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows:
  drawn: {agent: udp, from: A, to: B, rate: 400 kbit/s, start: 0.5 s, %s}
  other: {agent: udp, from: A, to: B, rate: 700 kbit/s, arrivals: poisson}
  tcp: {agent: tcp, from: A, to: B}
run: {duration: 5 s, seed: 7}
"""
DRAWN = "arrivals: poisson, size: {choice: {sizes: [100 B, 1500 B]}}, tick: 3 ms"


def test_a_saved_schedule_replays_the_same_run(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.yaml"
    drawn.write_text(TEXT % DRAWN)
    scenario = load(drawn)
    listed = record_schedule(scenario, "drawn")
    assert len(listed.times_ns) > 100
    assert {time % 3_000_000 for time in listed.times_ns} == {1_000_000}  # 0.5 s is 1 ms after one
    (tmp_path / "drawn.csv").write_text(format_schedule_csv(listed))
    replayed = tmp_path / "replayed.yaml"
    replayed.write_text(TEXT % "arrivals: schedule, schedule: drawn.csv")
    text = replayed.read_text().replace("rate: 400 kbit/s, ", "")
    replayed.write_text(text)
    runs = [simulate(compile(load(each)), seeds=[7])[0] for each in (drawn, replayed)]
    assert runs[0].hash() == runs[1].hash()
    assert format_schedule_csv(record_schedule(load(replayed), "drawn")) == format_schedule_csv(
        listed
    )


def test_a_schedule_is_of_an_udp_flow_that_exists(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT % DRAWN)
    with pytest.raises(LookupError, match="there is no flow 'none'; flows: drawn, other, tcp"):
        record_schedule(load(file), "none")
    with pytest.raises(LookupError, match="flow tcp is a TCP flow"):
        record_schedule(load(file), "tcp")
