"""Connections that open and close, from the scenario to traces and captures."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from trunkline import network
from trunkline.engine import simulate
from trunkline.trace import write_capture

SCENARIO = """
trunkline: 1
nodes: [S, D]
links: {S-D: {rate: 10 Mbit/s, delay: 20 ms, loss: 1 %}}
flows: {tcp: {agent: tcp, from: S, to: D, connect: true, size: 200 kB, replicate: 8}}
run: {duration: 60 s, trace: true}
"""


def test_rfc9293_s3_4_a_syn_comes_before_the_first_byte(tmp_path: Path) -> None:
    """The SYN is the only segment without ACK; a capture shows both flags and the options' room."""
    compiled = network.compile(tl.loads(SCENARIO))
    run = simulate(compiled.to_json(), seeds=[1])[0]
    rows = run.packets.to_polars()
    first = rows.filter((rows["flow"] == "tcp[0]") & (rows["event"] == "sent"))[:3]
    assert first["tcp_flags"].to_list() == ["SYN", "SYN ACK", "ACK"]
    assert first["seq"].to_list() == [-1, -1, 0]
    assert first["ip_bytes"].to_list() == [48, 48, 40]
    path = tmp_path / "capture.pcapng"
    write_capture(run, compiled.data, path)
    frame = path.read_bytes()
    # Ports 1024 and 9, sequence number 0, 7 words of header: 20 + 8 B, SYN alone.
    assert bytes([4, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x70, 2]) in frame


def test_rfc9293_s3_6_all_bytes_arrive_and_threads_do_not_matter() -> None:
    """200,000 B of each of eight flows over a line that loses, the same on one thread and two."""
    compiled = network.compile(tl.loads(SCENARIO.replace(", trace: true", ""))).to_json()
    one, two = (simulate(compiled, seeds=[1], threads=threads)[0] for threads in (1, 2))
    assert one.hash() == two.hash()
    received = one.flows["goodput_bytes"]
    assert [
        value for value, flow in zip(received, one.flows["flow"], strict=True) if flow != "all"
    ] == [200_000] * 8


@pytest.mark.parametrize(("connect", "round_trips"), [(False, 1), (True, 2)])
def test_rfc9293_s3_5_a_transfer_alone_has_a_slowdown_of_one(
    connect: bool, round_trips: int
) -> None:
    """One segment over 20 ms: half a round trip, or one and a half; the floor knows both."""
    text = f"""
trunkline: 1
nodes: [S, D]
links: {{S-D: {{rate: 1 Gbit/s, delay: 20 ms}}}}
flows:
  web:
    agent: tcp
    from: S
    to: D
    connect: {str(connect).lower()}
    transfers: {{arrivals: poisson, size: 1000 B, every: 1 s}}
run: {{duration: 60 s}}
"""
    run = simulate(network.compile(tl.loads(text)).to_json(), seeds=[1])[0]
    row = next(iter(run.completions.rows()))
    assert row["slowdown_mean"] == pytest.approx(1, abs=0.001)
    assert row["fct_mean_ns"] == pytest.approx((2 * round_trips - 1) * 20e6, rel=0.001)
