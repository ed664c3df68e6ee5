"""Transfers from the language to the results: loads that are reached, bins, pages, quantiles."""

from __future__ import annotations

import subprocess
import sys

import pytest

import trunkline as tl
from trunkline.results import Results

BASE = """
trunkline: 1
nodes: [s, a, b, c]
defaults: {{tcp: {{variant: sack, window: 200 packets, rto: {{min: 200 ms}}}}}}
links:
  s-a: {{rate: 1 Gbit/s, delay: 1 ms, header: 26 B}}
  a-b: {{rate: 100 Mbit/s, delay: 5 ms, header: 26 B}}
  b-c: {{rate: 1 Gbit/s, delay: 1 ms, header: 26 B}}
flows:
  w: {{agent: tcp, from: s, to: c, {flow}}}
run: {{duration: {duration}, warm_up: 1 s}}
"""


def run(flow: str, duration: str = "21 s", seed: int = 1) -> Results:
    return tl.run(tl.loads(BASE.format(flow=flow, duration=duration)), seed=seed)


SIZES = (
    "20 kB",
    "{exponential: 20 kB}",
    "3gpp-main",
    "{pareto: {shape: 1.3, min: 4 kB, max: 1 MB}}",
    "{lognormal: {mean: 20 kB, sd: 30 kB, max: 500 kB}}",
    "{weibull: {shape: 0.8, scale: 20 kB}}",
)


@pytest.mark.parametrize("size", SIZES)
def test_a_load_is_reached_within_2_per_cent(size: str) -> None:
    # 40 % of 100 Mbit/s for 40 s is 200 MB: ten thousand transfers, whose sum varies by some 1 %.
    flow = f"transfers: {{load: 40 %, of: a->b, size: {size}}}"
    rows = [row for seed in (1, 2) for row in run(flow, "41 s", seed).ports.rows()]
    wire = [int(str(row["bytes_offered"])) for row in rows if row["link"] == "a->b"]
    assert sum(wire) * 8 / 2 / 40 / 100e6 == pytest.approx(0.4, rel=0.02)


def test_bins_and_rows_say_the_same() -> None:
    result = run("transfers: {load: 20 Mbit/s, size: storage, bins: [8 kB, 64 kB], record: true}")
    rows = [row for row in result.transfers.rows() if row["fct_s"] is not None]
    found = {str(row["sizes"]): row for row in result.completions.rows()}
    assert list(found) == ["all", "to 8 kB", "to 64 kB", "above 64 kB"]
    limits = {"to 8 kB": (0, 8000), "to 64 kB": (8000, 64_000), "above 64 kB": (64_000, 10**9)}
    for sizes, (low, high) in limits.items():
        times = sorted(
            float(str(r["fct_s"])) for r in rows if low < int(str(r["size_bytes"])) <= high
        )
        assert found[sizes]["finished"] == len(times)
        assert float(str(found[sizes]["fct_mean_s"])) == pytest.approx(sum(times) / len(times))
        exact = times[-(-len(times) * 95 // 100) - 1]
        assert exact <= float(str(found[sizes]["fct_p95_s"])) <= exact * 65 / 64
    assert all(float(str(row["slowdown"])) >= 1 for row in rows)


def test_runs_without_transfers_have_the_hash_of_before() -> None:
    result = run("size: 100 kB")
    assert len(result.completions) == len(result.transfers) == 0


def test_demands_become_transfers_at_their_rate() -> None:
    text = """
trunkline: 1
nodes: [a, b]
links: {a-b: {rate: 100 Mbit/s, delay: 1 ms}}
demands:
  d: {from: a, to: b, rate: 20 Mbit/s, class: web}
traffic:
  web: {agent: tcp, variant: sack, window: 100 packets, transfers: {size: 30 kB}}
run: {duration: 40 s}
"""
    result = tl.run(tl.loads(text))
    (flow,) = result.flows.rows()
    assert float(str(flow["offered_bit_s"])) == pytest.approx(20e6, rel=0.03)


def test_levels_of_pages_are_judged() -> None:
    text = BASE.format(flow="pages: {users: 4, reading: 1 s}", duration="21 s")
    text += "slas: {quick: {flow: w, at_most: {page_p95: 10 s, fct_p99: 1 ms}}}\n"
    scenario = tl.loads(text)
    from trunkline.stats import judge_bounds

    levels = judge_bounds(scenario.list_sla_bounds(), [tl.run(scenario)])
    assert {level.bound.measure: level.met for level in levels} == {
        "fct_p99": False,
        "page_p95": True,
    }


MILLION = """
import trunkline as tl
run = tl.run(tl.loads('''
trunkline: 1
nodes: [S, A, D]
links: {S-A: {rate: 10 Gbit/s, delay: 0.1 ms}, A-D: {rate: 1 Gbit/s, delay: 1 ms}}
flows:
  w: {agent: tcp, from: S, to: D, transfers: {load: 60 %, of: A->D, size: {exponential: 10 kB}}}
run: {duration: 150 s}
'''))
row = run.completions.where(flow="w", sizes="all")
# Not getrusage: its peak is that of the process which began this one, if that was larger.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(row["started"], row["unfinished"], peak)
"""


@pytest.mark.slow
def test_a_million_transfers_cost_the_memory_of_the_open_ones() -> None:
    # 600 Mbit/s of 10 kB and their headers, some 7300 a second: a million in 150 s, each a
    # connection. All at once they would need gigabytes.
    done = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, check=True)
    started, unfinished, peak_kib = map(int, done.stdout.split())
    assert started > 1_000_000
    assert unfinished < 1000
    assert peak_kib < 1_000_000


STOPPED = """
trunkline: 1
nodes: [S, D]
links: {{S-D: {{rate: {rate}, delay: 20 ms}}}}
flows: {{f: {{agent: tcp, from: S, to: D, start_jitter: {jitter}, stop: 2 s, {what}}}}}
run: {{duration: 12 s, warm_up: 1 s}}
"""


@pytest.mark.parametrize("rate", ["500 kbit/s", "20 Mbit/s"])
@pytest.mark.parametrize("jitter", ["0 s", "10 s"])
@pytest.mark.parametrize(
    "what",
    [
        "pages: {users: 5, reading: 50 ms, record: true}",
        "video: {players: 3, spread: 4 s, record: true}",
        "video: {chunk: 500 ms, buffer: 1 s, record: true}",
        "transfers: {every: 100 ms, size: 20 kB, record: true}",
    ],
)
def test_after_its_stop_nobody_asks_for_anything(rate: str, jitter: str, what: str) -> None:
    """`stop` of docs/reference/workloads.md: what was asked for before comes, and nothing more.

    A run with packets in a place where they cannot be, or an event in the past, is no run: all
    transfers are complete ten seconds later.
    """
    for seed in range(1, 6):
        run = tl.run(tl.loads(STOPPED.format(rate=rate, jitter=jitter, what=what)), seed=seed)
        asks = "f" if "transfers" in what else "f.requests"
        for row in run.transfers.rows():
            assert row["flow"] != asks or float(str(row["start_s"])) < 2
            if rate == "20 Mbit/s":
                assert row["finish_s"] is not None


def test_of_a_film_that_stops_only_the_time_until_then_is_watched() -> None:
    """A chunk of 4 s at 400 kbit/s over 200 kbit/s: the player runs dry after c + 4 s, c > 8 s."""
    text = STOPPED.format(rate="200 kbit/s", jitter="0 s", what="video: {ladder: [400 kbit/s]}")
    text = text.replace("stop: 2 s", "stop: 15 s").replace("duration: 12 s", "duration: 60 s")
    (row,) = tl.run(tl.loads(text)).videos.rows()
    start_up, stalled = float(str(row["start_up_s"])), float(str(row["stalled_s"]))
    assert 8 < start_up < 10
    assert stalled == pytest.approx(15 - start_up - 4)
    assert row["stall_ratio"] == pytest.approx(stalled / (15 - start_up))
    assert row["chunks"] == 1


def test_a_player_who_never_began_has_no_times() -> None:
    text = STOPPED.format(rate="20 Mbit/s", jitter="0 s", what="video: {spread: 1000 s}")
    (row,) = tl.run(tl.loads(text)).videos.rows()
    assert (row["began_s"], row["start_up_s"], row["stall_ratio"]) == (None, None, None)


TWO_WAYS = """
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s}}
links: {S-A: {delay: 1 ms}, A-T: {delay: 1 ms}, S-B: {delay: 10 ms}, B-T: {delay: 10 ms}}
paths: {near: {route: [S, A, T]}, far: {route: [S, B, T]}}
trunks: {n: {path: near, flows: a}, f: {path: far, flows: b}}
flows:
  a: {agent: tcp, from: S, to: T, transfers: {load: 10 kbit/s, size: {fixed: 1 kB}}}
  b: {agent: tcp, from: S, to: T, transfers: {load: 10 kbit/s, size: {fixed: 1 kB}}}
run: {duration: 20 s}
"""


@pytest.mark.parametrize(("flow", "delay_s"), [("a", 0.002), ("b", 0.020)])
def test_the_least_time_of_a_transfer_is_that_of_its_own_path(flow: str, delay_s: float) -> None:
    """Alone a packet of 1040 B takes 0.832 ms a link; a label of 4 B more makes it 3.2 us."""
    result = tl.run(tl.loads(TWO_WAYS))
    row = result.completions.where(flow=flow, sizes="all")
    assert row["fct_mean_s"] == pytest.approx(delay_s + 2 * 0.832e-3 + 3.2e-6, rel=1e-9)
    assert row["slowdown_mean"] == pytest.approx(1 + 3.2e-6 / (delay_s + 2 * 0.832e-3), rel=1e-6)
