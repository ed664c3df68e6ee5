"""The recovery-time study: its draws, what NewReno does in its traces, and that it repeats."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from trunkline.results import Results
from trunkline.study import Reproduction, Study, find_study
from trunkline.study.language.random_draws import apply_draws
from trunkline.study.run.runner import StudyValues, build_plan, read_study_values, run_in_memory
from trunkline.study.run.session import perform_plan

DELAYS_A = ("0 ms", "50 ms", "1000 ms")


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study("develder2003")


def only(study: Study, cases: Sequence[str], runs: int | None = None) -> Study:
    """The study cut to some cases."""
    kept = {name: study.cases[name].model_copy(update={"runs": runs}) for name in cases}
    draws = [each for each in study.draws if set(each.cases or ()) <= kept.keys()]
    nothing = {
        "variants": [],
        "claims": [],
        "sentences": [],
        "overviews": [],
        "pictures": None,
        "published": [],
    }
    return study.model_copy(update={"cases": kept, "draws": draws, **nothing})


@pytest.fixture(scope="module")
def same(study: Study) -> dict[str, Results]:
    """Experiment a, first seed, by delay, and the traces."""
    small = only(study, ["a", "trace"])
    with perform_plan(build_plan(small, [1])) as runs:
        done = Reproduction(small, [1], read_study_values(small, runs), runs)
        found = dict(zip(DELAYS_A, done.get_kept_runs("a"), strict=True))
        return found | {"trace": done.get_kept_runs("trace")[0]}


def series(results: Results, measure: str, target: str) -> NDArray[np.float64]:
    rows = results.series.rows()
    chosen = [r["value"] for r in rows if (r["measure"], r["target"]) == (measure, target)]
    return np.array(chosen, dtype=float)


def test_draws_lie_in_the_stated_ranges_and_are_the_same_for_every_delay(study: Study) -> None:
    value = build_plan(only(study, ["b", "sweep"]), [1]).points
    made = [
        json.loads(apply_draws(value[0].network_json, value[0].draws, seed))
        for seed in range(1, 51)
    ]
    delays = [each["delay_ns"] for one in made for each in one["links"] if each["name"][0] in "SF"]
    starts = [each["start_ns"] for one in made for each in one["flows"]]
    assert len(delays) == len(starts) == 50 * 20
    assert 1e6 <= np.min(delays) < 2e6
    assert 98e6 < np.max(delays) < 100e6
    assert 0.1e9 <= np.min(starts) < 0.15e9
    assert 2.05e9 < np.max(starts) < 2.1e9
    # Uniform on [1, 100) ms: mean 50.5 ms, standard error of 1000 draws 28.6 / sqrt(1000) = 0.9.
    assert abs(np.mean(delays) / 1e6 - 50.5) < 3.6
    both = {each["name"]: each["delay_ns"] for each in made[6]["links"]}
    assert all(both[f"A->S{n}"] == both[f"S{n}->A"] for n in range(10))
    none, some = (json.loads(apply_draws(value[n].network_json, value[n].draws, 7)) for n in (0, 2))
    assert none["flows"] == some["flows"]
    assert none["links"] == some["links"]
    assert none["recovery"] != some["recovery"]


@pytest.mark.slow
def test_before_the_failure_the_round_trip_fills_pipe_and_queue(same: dict[str, Results]) -> None:
    """Five windows of 30 packets: 100 packets of pipe at 8 Mbit/s and 100 ms, about 50 queued."""
    queue = series(same["0 ms"], "queue-packets", "A->4")[50:99]
    assert queue.min() >= 44
    assert queue.max() <= 51
    utilisation = series(same["0 ms"], "utilisation", "A->4")[50:99]
    assert np.allclose(utilisation, 1.0, atol=1e-6)
    # 8 of 10 Mbit/s, and the label's 4 bytes on 1000.
    backbone = series(same["0 ms"], "utilisation", "8->9")[50:99]
    assert np.allclose(backbone, 0.8032, atol=2e-3)


def test_rfc6582_s3_2_each_partial_ack_lets_one_segment_go_again(same: dict[str, Results]) -> None:
    """Several losses in a window: one retransmission a round trip of 100 ms or more."""
    again = [
        int(row["time_ns"] or 0) / 1e6
        for row in same["trace"].packets.rows()
        if (row["event"], row["flow"], row["direction"]) == ("sent", "switched[0]", "forward")
        and row["retransmission"] == 1
        and 10_000 < int(row["time_ns"] or 0) / 1e6 < 11_400
    ]
    assert len(again) >= 5
    steps = np.diff(again)
    assert steps.min() > 100
    assert steps.max() < 200


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


def test_gain_and_timeouts_of_experiment_a_are_those_of_ns2(study: Study) -> None:
    """24 of our seeds beside 60 of ns-2; there goodput is what is acknowledged at the source."""
    ours = run_in_memory(only(study, ["a"]), range(1, 25)).columns

    def gain(delay_ms: int) -> NDArray[np.float64]:
        total = [theirs(ms, "switched_1_s") + theirs(ms, "fixed_1_s") for ms in (delay_ms, 0)]
        ratio: NDArray[np.float64] = 100 * (total[0] / total[1] - 1)
        return ratio

    assert alike(ours["a", "first second"][1], gain(50))
    assert alike(ours["a", "first second"][2], gain(1000))
    assert theirs(0, "timeouts").mean() < 0.2
    timeouts = ours["a", "timed out"] * 5 / 100
    assert timeouts[0].mean() < 0.2
    assert alike(timeouts[1], theirs(50, "timeouts"))
    assert timeouts[0].mean() < timeouts[1].mean() < timeouts[2].mean() == 5


def test_runs_repeat_on_any_number_of_threads(study: Study) -> None:
    small = only(study, ["b", "sweep"])
    small = small.model_copy(update={"cases": {"b": small.cases["b"]}})

    def once(threads: int) -> StudyValues:
        return run_in_memory(small, [1, 2], threads=threads)

    assert once(1).hash == once(2).hash
