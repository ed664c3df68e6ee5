"""The three lines above the tables, worked by hand for runs of a simple overload."""

from __future__ import annotations

import trunkline as tl

# 2 Mbit/s into 1 Mbit/s in packets of 1000 B: one goes out every 8 ms, two come in.
OVERLOAD = """
trunkline: 1
nodes: [a, b, c]
links:
  a-b: {rate: 100 Mbit/s, delay: 1 ms}
  b-c: {rate: 1 Mbit/s, delay: 1 ms, port: p}
ports: {p: {queue: {limit: 10 packets}}}
flows: {f: {agent: udp, from: a, to: c, rate: RATE, size: 1000 B}}
run: {duration: 12 s, warm_up: 2 s}
"""


def lines(rate: str, seeds: tuple[int, ...] = (1,)) -> list[str]:
    from trunkline.results.headline import headline

    return headline(tl.run_many(tl.loads(OVERLOAD.replace("RATE", rate)), seeds=seeds))


def test_an_overloaded_link_is_full_and_half_of_the_packets_are_lost_there():
    lost, waits, full = lines("2 Mbit/s")
    # 10 s x 2 Mbit/s / 8000 bit = 2500 packets, of which 10 s / 8 ms = 1250 go out.
    assert lost == "Lost:  1250 of 2500 packets (50 %), all of f at b->c (queue_full)"
    # A packet that finds room joins nine, and one is on the wire: 9 x 8 ms to 10 x 8 ms.
    assert 72 <= float(waits.split()[1]) <= 80
    assert "ms on average at b->c, where up to 10 packets queue" in waits
    assert "the slowest flow is f" in waits
    assert full == "Full:  b->c 100 % used"


def test_without_load_nothing_is_lost_nobody_waits_and_no_link_is_full():
    # 0.5 Mbit/s, evenly spaced: each packet is gone before the next comes.
    assert lines("500 kbit/s", (1, 2)) == [
        "Lost:  nothing",
        "Waits: nobody",
        "Full:  no link; b->c is the busiest, 50 % used",
    ]


def test_long_tables_are_cut_and_all_shows_them():
    many = OVERLOAD.replace("f: {", "f: {replicate: 14, ").replace("RATE", "10 kbit/s")
    run = tl.run(tl.loads(many))
    assert "Flows (the busiest; 4 more: --all)" in run.render(width=120)
    whole = run.render(width=120, whole=True)
    assert "more: --all" not in whole
    assert all(f"f[{number}] " in whole for number in range(14))
