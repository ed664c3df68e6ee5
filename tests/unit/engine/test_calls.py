"""Calls from the language to the score: packets of codecs, playout, talk spurts."""

from __future__ import annotations

import pytest

import trunkline as tl
from trunkline.results import Results

BASE = """
trunkline: 1
nodes: [a, b]
links: {{a-b: {{rate: 1 Mbit/s, delay: 10 ms}}}}
flows: {{c: {{agent: udp, from: a, to: b, call: {{{call}}}}}}}
run: {{duration: {duration}}}
"""


def run(call: str, duration: str = "10 s") -> Results:
    return tl.run(tl.loads(BASE.format(call=call, duration=duration)))


def test_g711_sends_200_bytes_every_20_ms() -> None:
    # 64 kbit/s for 20 ms are 160 B, and 12 + 8 + 20 B of RTP, UDP and IP: 80 kbit/s.
    (flow,) = run("silence: off").flows.rows()
    assert (flow["packets_sent"], flow["bytes_sent"]) == (500, 100_000)


def test_a_packet_is_late_when_it_takes_longer_than_the_playout() -> None:
    # 200 B take 1.6 ms at 1 Mbit/s, and 10 ms on the way: 11.6 ms each.
    (call,) = run("silence: off, playout: 11.6 ms").calls.rows()
    assert call["packets_late"] == 0
    # 20 ms of packetization and 11.6 ms: Idd 0, Ie,eff 0: R 93.2, MOS 4.409 (G.107).
    assert float(str(call["mouth_to_ear_s"])) == pytest.approx(0.0316)
    assert float(str(call["mos"])) == pytest.approx(4.409, abs=0.001)
    (call,) = run("silence: off, playout: 11.5 ms").calls.rows()
    assert call["packets_late"] == 500
    assert float(str(call["loss_ratio"])) == 1
    # All lost at Bpl 4.3: Ie,eff = 95 * 100 / 104.3 = 91.08, R 2.12: MOS 1.
    assert float(str(call["mos"])) == pytest.approx(1.0, abs=0.1)


def test_talk_spurts_last_as_long_as_p59_says() -> None:
    # 1.004 s of 2.591 s: an activity of 38.75 %. 2000 s hold 770 spurts: some 5 % of spread.
    (flow,) = run("codec: g729a", "2000 s").flows.rows()
    assert int(str(flow["packets_sent"])) / 100_000 == pytest.approx(0.3875, rel=0.15)


def test_opus_has_no_score_unless_its_factors_are_given() -> None:
    (call,) = run("codec: opus").calls.rows()
    assert (call["mos"], call["r_factor"]) == (None, None)
    assert call["packets_late"] == 0
    (call,) = run("codec: opus, ie: 0, bpl: 10").calls.rows()
    assert float(str(call["mos"])) == pytest.approx(4.409, abs=0.001)
