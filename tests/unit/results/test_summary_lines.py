"""The three lines above the tables, worked by hand for runs of a simple overload."""

from __future__ import annotations

import trunkline as tl
from trunkline.results.terminal_tables import select_busiest

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


WORDS = ("Lost: ", "Waits: ", "Full: ")


def lines(rate: str, seeds: tuple[int, ...] = (1,)) -> list[str]:
    from trunkline.results.summary_lines import build_summary_lines

    return build_summary_lines(tl.run_many(tl.loads(OVERLOAD.replace("RATE", rate)), seeds=seeds))


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


def test_in_a_run_too_short_for_a_packet_no_link_is_said_to_be_full_or_idle():
    slow = OVERLOAD.replace("1 Mbit/s, delay", "8 bit/s, delay").replace("RATE", "2 Mbit/s")
    slow = slow.replace("rate: 100 Mbit/s", "rate: 9 bit/s")
    run = tl.run(tl.loads(slow.replace("duration: 12 s, warm_up: 2 s", "duration: 20 ms")))
    assert run.render(width=100).splitlines()[2] == "Full:  not known, no packet has left a port"


def test_what_an_engine_does_not_know_is_not_said_to_be_nothing():
    # The fluid engine leaves the rate of media open: S->R and R->D carry them, 100 kbit/s go back.
    text = OVERLOAD.replace(
        "flows: {f: {agent: udp, from: a, to: c, rate: RATE, size: 1000 B}}",
        "flows: {f: {agent: udp, from: a, to: c, media: {}},"
        " g: {agent: udp, from: c, to: b, rate: 100 kbit/s, size: 1000 B}}",
    )
    shown = tl.run(tl.loads(text), engine="fluid").render(width=100).splitlines()
    lost, waits, full = (next(each for each in shown if each.startswith(word)) for word in WORDS)
    assert lost == "Lost:  not known at a->b, b->c"
    assert waits.endswith("not known at a->b, b->c")
    assert full == "Full:  not known at a->b, b->c; of the others c->b is the busiest, 10 % used"


def test_a_line_that_is_too_wide_goes_on_below_its_first_word():
    shown = tl.run(tl.loads(OVERLOAD.replace("RATE", "2 Mbit/s"))).render(width=80).splitlines()
    at = next(number for number, line in enumerate(shown) if line.startswith("Waits: "))
    assert max(map(len, shown[: at + 3])) <= 80
    assert shown[at + 1].startswith(" " * 7 + "is f, 99th percentile")
    assert shown[at + 2].startswith("Full:  ")


def test_long_tables_are_cut_and_all_shows_them():
    many = OVERLOAD.replace("f: {", "f: {replicate: 20, ").replace("RATE", "10 kbit/s")
    run = tl.run(tl.loads(many))
    assert "Flows (the busiest of each kind; 5 more: --all)" in run.render(width=120)
    all_rows = run.render(width=120, show_all=True)
    assert "more: --all" not in all_rows
    assert all(f"f[{number}] " in all_rows for number in range(20))


def test_of_flows_that_are_alike_one_is_shown_before_a_second():
    names = [f"down[{number}]" for number in range(30)] + ["call[0]", "call[1]", "ping"]
    sizes = [1000.0 + number for number in range(30)] + [5.0, 6.0, 1.0]
    assert [names[row] for row in select_busiest(names, sizes, 3)] == [
        "down[29]",
        "call[1]",
        "ping",
    ]
    # What room is left goes to the busiest of the others; of fewer kinds than rows all are there.
    assert [names[row] for row in select_busiest(names, sizes, 4)][:2] == ["down[28]", "down[29]"]
    assert select_busiest(names, sizes, None) == list(range(33))


def test_a_small_run_shows_its_flows_and_names_the_tables_that_all_adds():
    run = tl.run(tl.loads(OVERLOAD.replace("RATE", "2 Mbit/s")))
    short, all_rows = run.render(width=120), run.render(width=120, show_all=True)
    titles = ("Ports", "Drops")
    assert "\nFlows " in short
    assert "\n--all also shows: ports, drops\n" in short
    assert not any(f"\n{title} " in short for title in titles)
    assert "--all also" not in all_rows
    assert all(f"\n{title} " in all_rows for title in titles)


def test_with_flows_left_out_their_aggregates_sum_them_up():
    many = OVERLOAD.replace("f: {", "f: {replicate: 20, ").replace("RATE", "10 kbit/s")
    other = "flows: {g: {agent: udp, from: a, to: c, rate: 8 kbit/s, size: 100 B, dscp: EF}, "
    run = tl.run(tl.loads(many.replace("flows: {", other)))
    short = run.render(width=120)
    assert "\nAggregates " in short
    assert "aggregates" not in short[short.index("--all also shows") :]
