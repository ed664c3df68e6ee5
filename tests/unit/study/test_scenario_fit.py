"""Scenarios fitted to measurements: known parameters of our own runs are recovered."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import trunkline as tl
from trunkline.importers.traffic.measured_values import MeasurementError, read_measured_values
from trunkline.scenario.expression import parse_scalar
from trunkline.study.errors import StudyError
from trunkline.study.fit.scenario_fit import fit_scenario

SCENARIO = """
trunkline: 1
name: access
parameters: {capacity: 5 Mbit/s, queue: 20 packets}
nodes: [S, R]
links: {S-R: {rate: $capacity, delay: 5 ms, forward: {port: short}}}
ports: {short: {queue: {limit: $queue}}}
flows:
  data: {agent: udp, from: S, to: R, arrivals: poisson, rate: 3 Mbit/s, size: 1000 B}
  ping: {agent: echo, from: S, to: R, interval: 20 ms}
run: {duration: 20 s}
"""
PRIORS = {
    "capacity": {"from": "2 Mbit/s", "to": "5 Mbit/s"},
    "queue": {"from": "4 packets", "to": "40 packets", "step": "2 packets"},
}
# iproute2 6.1, tc -s qdisc show, with the numbers replaced.
TC_SHOWN = """qdisc tbf 1: dev S->R root refcnt 2 rate 3Mbit burst 5Kb lat 50ms
 Sent {bytes} bytes {sent} pkt (dropped {dropped}, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc pfifo 10: dev S->R parent 1:1 limit 12p
 Sent 1 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario, and what a run with 2.8 Mbit/s and 12 packets gave, as three files."""
    folder = tmp_path_factory.mktemp("fit")
    file = folder / "access.yaml"
    file.write_text(SCENARIO)
    truth = tl.run(
        tl.load(file, overrides={"capacity": "2.8 Mbit/s", "queue": "12 packets"}), seed=99
    )
    port = next(row for row in truth.ports.to_polars().to_dicts() if row["link"] == "S->R")
    (folder / "tc.txt").write_text(
        TC_SHOWN.format(
            bytes=port["bytes_sent"], sent=port["packets_sent"], dropped=port["packets_dropped"]
        )
    )
    data = next(row for row in truth.flows.to_polars().to_dicts() if row["flow"] == "data")
    echo = truth.echoes.to_polars().to_dicts()[0]
    document = {
        "metadata": {"SERIES_META": {"data": {"UNITS": "Mbits/s"}, "ping": {"UNITS": "ms"}}},
        "results": {
            "data": [data["throughput_bit_s"] / 1e6, None],
            "ping": [echo["rtt_mean_s"] * 1e3],
        },
    }
    (folder / "rrul.flent.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    return folder


@pytest.mark.parametrize("name", ["tc.txt", "rrul.flent.gz"])
def test_parameters_behind_our_own_run_are_recovered(folder: Path, name: str) -> None:
    found = fit_scenario(
        folder / "access.yaml", folder / name, PRIORS, trials=24, live_points=40, check=False
    )
    verdicts = {each.name: each for each in found.inference.verdicts}
    capacity = verdicts["capacity"]
    # Of mixed units: 2750 kbit/s and 3 Mbit/s.
    scale = {"kbit/s": 1e-3, "Mbit/s": 1.0, "bit/s": 1e-6}
    low, high = (
        float(number) * scale[unit]
        for number, _, unit in (text.partition(" ") for text in (capacity.low, capacity.high))
    )
    assert low <= 2.8 <= high
    # Two values of flent leave room for a misfit; counts of tc are exact.
    assert capacity.is_determined or name != "tc.txt"
    queue = verdicts["queue"]
    assert int(queue.low.split()[0]) <= 12 <= int(queue.high.split()[0])


# What a Linux kernel measured: 6.1 in user mode, run by `--engine linux --seed 11` with capacity
# 420 kbit/s, queue 12 and background 120 kbit/s (the packets that reach R, 64 B of each), and with
# 560 kbit/s, 8 packets and 120 kbit/s (the counts of the root discipline at S).
MEASURED = Path(__file__).parent / "measured"
KERNEL_SCENARIO = """
trunkline: 1
name: access
parameters: {capacity: 1 Mbit/s, queue: 50 packets, background: 50 kbit/s}
nodes: [S, R]
links: {S-R: {rate: $capacity, delay: 10 ms, forward: {port: short}}}
ports: {short: {queue: {limit: $queue}}}
flows:
  data: {agent: udp, from: S, to: R, arrivals: poisson, rate: 400 kbit/s, size: 1000 B}
  calls: {agent: udp, from: S, to: R, arrivals: poisson, rate: $background, size: 500 B}
run: {duration: 12 s}
"""
CAPTURED_FLOWS = {
    "udp 10.0.0.1:1024->10.0.0.2:9": "data",
    "udp 10.0.0.1:1025->10.0.0.2:9": "calls",
}
KERNEL_PRIORS = {
    "capacity": {"from": "300 kbit/s", "to": "700 kbit/s"},
    "queue": {"from": "2 packets", "to": "30 packets", "step": "1 packets"},
    "background": {"from": "20 kbit/s", "to": "300 kbit/s"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "free", "known", "truth", "determined"),
    [
        (
            "linux-capture.pcapng.gz",
            ["capacity", "queue", "background"],
            {},
            {"capacity": 420e3, "queue": 12, "background": 120e3},
            {"capacity", "background"},
        ),
        (
            "linux-counters.json",
            ["queue", "background"],
            {"capacity": "560 kbit/s"},
            {"queue": 8, "background": 120e3},
            {"background"},
        ),
    ],
)
def test_parameters_of_a_linux_kernel_are_recovered_within_their_intervals(
    tmp_path: Path,
    file: str,
    free: list[str],
    known: dict[str, str],
    truth: dict[str, float],
    determined: set[str],
) -> None:
    scenario = tmp_path / "access.yaml"
    text = KERNEL_SCENARIO
    for name, value in known.items():
        text = text.replace(f"{name}: 1 Mbit/s", f"{name}: {value}")
    scenario.write_text(text)
    found = fit_scenario(
        scenario,
        MEASURED / file,
        {name: KERNEL_PRIORS[name] for name in free},
        matches=CAPTURED_FLOWS if "capture" in file else {},
        trials=32,
        live_points=60,
        misfit=False,
        check=False,
    )
    verdicts = {each.name: each for each in found.inference.verdicts}
    for name, value in truth.items():
        low, high = (read_base(getattr(verdicts[name], end)) for end in ("low", "high"))
        assert low <= value <= high, name
    assert {name for name in truth if verdicts[name].is_determined} == determined


def read_base(text: str) -> float:
    """A quantity in bit/s or packets."""
    quantity = parse_scalar(text)
    assert quantity is not None
    return float(quantity.value)


def test_json_of_tc_says_the_same_as_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TC_SHOWN.format(bytes=9, sent=7, dropped=2))
    listed = [{"kind": "tbf", "dev": "S->R", "root": True, "packets": 7, "drops": 2}]
    listed.append({"kind": "pfifo", "dev": "S->R", "packets": 1, "drops": 0})
    (tmp_path / "a.json").write_text(json.dumps(listed))
    text = read_measured_values(tmp_path / "a.txt")
    assert text == read_measured_values(tmp_path / "a.json")
    assert [(each.measure, each.value) for each in text] == [("sent", 7.0), ("dropped", 2.0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "neither a capture, nor a file of flent, nor what tc"),
        (b"{", "the JSON is damaged"),
        (b"\x1f\x8b123", "the compressed file is damaged"),
        (b"\xff\xfe\x00", "neither pcap nor pcapng"),
    ],
)
def test_a_file_that_holds_nothing_measured_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(MeasurementError, match=message):
        read_measured_values(tmp_path / "x")


@pytest.mark.parametrize(
    ("priors", "matches", "message"),
    [
        ({}, {}, "nothing to fit: give a prior"),
        ({"capacity": "[1 Mbit/s"}, {}, "prior of capacity"),
        ({"capacity": "7"}, {}, "prior of capacity: a prior is a range"),
        (PRIORS, {"eth0": "S->R"}, "'eth0' was not measured; the file has: S->R"),
        (PRIORS, {"S->R": "R->T"}, "the scenario has no direction of a link 'R->T'"),
        (PRIORS, {"S->R": ""}, "no measured value is left"),
        ({"sped": "[1 Mbit/s, 2 Mbit/s]"}, {}, "neither a parameter nor a path"),
    ],
)
def test_a_fit_to_a_measurement_that_cannot_be_is_refused(
    folder: Path, priors: dict[str, str], matches: dict[str, str], message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        fit_scenario(folder / "access.yaml", folder / "tc.txt", priors, matches=matches)
