"""The recovery-time study: its draws, what NewReno does in its traces, and that it repeats."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from trunkline import network, scenario
from trunkline.studies.develder2003 import experiments
from trunkline.studies.develder2003.experiments import DELAYS_A, DELAYS_B, FOLDER, SameRoundTrip
from trunkline.studies.develder2003.outcome import Outcome, published
from trunkline.study import reproduce


@pytest.fixture(scope="module")
def same() -> SameRoundTrip:
    return experiments.same_round_trip([1, 2])


def test_draws_lie_in_the_stated_ranges_and_are_the_same_for_every_delay() -> None:
    delays, starts = zip(*(experiments.draws(seed) for seed in range(1, 51)), strict=True)
    assert 1e6 <= np.min(delays) < 2e6
    assert 98e6 < np.max(delays) < 100e6
    assert 0.1e9 <= np.min(starts) < 0.15e9
    assert 2.05e9 < np.max(starts) < 2.1e9
    # Uniform on [1, 100) ms: mean 50.5 ms, standard error of 1000 draws 28.6 / sqrt(1000) = 0.9.
    assert abs(np.mean(delays) / 1e6 - 50.5) < 3.6
    compiled = json.loads(network.compile(scenario.load(FOLDER / "b.yaml")).to_json())
    none, some = (json.loads(experiments.drawn(compiled, 7, ms)) for ms in (0, 250))
    assert none["flows"] == some["flows"]
    assert none["links"] == some["links"]
    assert none["recovery"] != some["recovery"]


def test_before_the_failure_the_round_trip_fills_pipe_and_queue(same: SameRoundTrip) -> None:
    """Five windows of 30 packets: 100 packets of pipe at 8 Mbit/s and 100 ms, about 50 queued."""
    queue = same.links["0 ms", "queue-packets", "A->4"][50:99]
    assert queue.min() >= 44
    assert queue.max() <= 51
    assert np.allclose(same.links["0 ms", "utilisation", "A->4"][50:99], 1.0, atol=1e-6)
    # 8 of 10 Mbit/s, and the label's 4 bytes on 1000.
    backbone = same.links["0 ms", "utilisation", "8->9"][50:99]
    assert np.allclose(backbone, 0.8032, atol=2e-3)


def test_rfc6582_s3_2_each_partial_ack_lets_one_segment_go_again(same: SameRoundTrip) -> None:
    """Several losses in a window: one retransmission a round trip of 100 ms or more."""
    rows = same.traces["0 ms"].packets.rows()
    again = [
        int(row["time_ns"] or 0) / 1e6
        for row in rows
        if (row["event"], row["flow"], row["direction"]) == ("sent", "switched[0]", "forward")
        and row["retransmission"] == 1
        and 10_000 < int(row["time_ns"] or 0) / 1e6 < 11_400
    ]
    assert len(again) >= 5
    steps = np.diff(again)
    assert steps.min() > 100
    assert steps.max() < 200


def test_timeouts_come_with_the_delay(same: SameRoundTrip) -> None:
    shares = [float(same.timed_out[delay].mean()) for delay in DELAYS_A]
    assert shares[0] < shares[1] < shares[2] == 1.0


NS2 = Path(__file__).parents[3] / "crates" / "engine" / "tests" / "ns2" / "switch.csv"


def theirs(delay_ms: int, column: str) -> NDArray[np.float64]:
    """A column of ns-2's runs with a delay, by seed."""
    with NS2.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        return np.array([float(row[column]) for row in rows if int(row["delay_ms"]) == delay_ms])


def alike(ours: NDArray[np.float64], ns2: NDArray[np.float64]) -> bool:
    """Whether the 99 % interval of the difference of two means holds zero."""
    error = np.sqrt(ours.var(ddof=1) / len(ours) + ns2.var(ddof=1) / len(ns2))
    return bool(abs(ours.mean() - ns2.mean()) < 2.6 * error)


def test_gain_and_timeouts_of_experiment_a_are_those_of_ns2() -> None:
    """24 of our seeds beside 60 of ns-2; there goodput is what is acknowledged at the source."""
    ours = experiments.same_round_trip(range(1, 25))

    def gain(delay_ms: int) -> NDArray[np.float64]:
        total = [theirs(ms, "switched_1_s") + theirs(ms, "fixed_1_s") for ms in (delay_ms, 0)]
        ratio: NDArray[np.float64] = 100 * (total[0] / total[1] - 1)
        return ratio

    assert alike(ours.gains("50 ms"), gain(50))
    assert alike(ours.gains("1000 ms"), gain(1000))
    assert theirs(0, "timeouts").mean() < 0.2
    assert ours.timed_out["0 ms"].mean() * 5 < 0.2
    assert alike(ours.timed_out["50 ms"] * 5, theirs(50, "timeouts"))


def test_runs_repeat_on_any_number_of_threads() -> None:
    once, again = (
        experiments.mixed_round_trips("as stated", {}, [1, 2], threads=threads)
        for threads in (1, 2)
    )
    assert once.hashes == again.hashes
    assert np.array_equal(once.goodput, again.goodput)


def test_every_published_value_has_a_cell() -> None:
    done = reproduce("develder2003", seeds=2)
    assert isinstance(done, Outcome)
    cells = {(cell.table, cell.row, cell.column) for cell in done.cells}
    assert set(published()) <= cells
    gains = {row for table, row, column in cells if (table, column) == ("b", "gain")}
    assert gains == set(DELAYS_B[1:])
    assert {claim["held"] for claim in done.to_json()["claims"]} <= {True, False}
