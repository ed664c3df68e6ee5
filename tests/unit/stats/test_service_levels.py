"""Runs held to bounds, worked by hand."""

from __future__ import annotations

import pytest

from trunkline.results import Column, Provenance, Results, Table
from trunkline.results.schemas import find_field
from trunkline.results.terminal_tables import render_to_text
from trunkline.scenario.sla import SlaBound
from trunkline.stats import judge_bounds, mean_interval
from trunkline.stats.service_levels import (
    Level,
    _format_mean,
    build_levels_table,
    format_promise,
)

from ..results.raw import column, network, tables


def run(seed: int, *, delay_p99_ns: int = 4_900_000, lost: int = 10) -> Results:
    """A run of 8 s in which `call` is given a 99th percentile of delay and packets lost of 100."""
    raw = tables()
    raw["flows"]["delay_p99_ns"] = column("i64", delay_p99_ns, 8_900_000, -1)
    raw["flows"]["packets_dropped"] = column("i64", lost, 1, 0)
    made = Provenance.for_network(scenario="", network_json="{}", version="1", seed=seed)
    return Results.from_raw(raw, network(), made)


def late(value: float, *rows: str) -> SlaBound:
    return SlaBound("s", "flows", rows, "delay_p99", "delay_p99_s", "s", "most", value)


def lossy(value: float) -> SlaBound:
    return SlaBound("s", "flows", ("call",), "loss", "loss_ratio", "1", "most", value)


def test_a_bound_is_kept_up_to_the_bound_itself() -> None:
    # 4.9 ms against 4.9 ms: kept, nothing left; against 4.8 ms: broken by 0.1 ms.
    kept, broken = judge_bounds([late(0.0049, "call"), late(0.0048, "call")], [run(1)])
    assert kept.met
    assert kept.margin == 0
    assert not broken.met
    assert broken.margin == pytest.approx(-0.0001)


def test_the_worst_flow_counts() -> None:
    # call 4.9 ms, web 8.9 ms: a bound of 5 ms is broken by web, by 3.9 ms.
    (level,) = judge_bounds([late(0.005, "call", "web")], [run(1)])
    assert (level.met, level.worst, level.worst_row) == (False, 0.0089, "web")
    assert level.margin == pytest.approx(-0.0039)


def test_rates_are_bounded_from_below() -> None:
    # call hands over 15 480 B in 8 s: 15 480 bit/s; 15 000 bit/s are kept with 480 bit/s left.
    bound = SlaBound(
        "s", "flows", ("call",), "goodput", "goodput_bit_s", "bit/s", "least", 15_000.0
    )
    (level,) = judge_bounds([bound], [run(1)])
    assert level.met
    assert level.margin == 480


def test_aggregates_are_judged_by_their_own_row() -> None:
    # DF is web and idle: 1 of 50 lost, 2 %.
    bound = SlaBound("s", "aggregates", ("DF",), "loss", "loss_ratio", "1", "most", 0.01)
    (level,) = judge_bounds([bound], [run(1)])
    assert (level.met, level.worst) == (False, 0.02)


def test_every_run_must_keep_it_though_the_mean_does() -> None:
    # 1, 2 and 6 of 100 lost: mean 3 %, within 5 %, but one of three runs is beyond.
    (level,) = judge_bounds([lossy(0.05)], [run(4, lost=1), run(5, lost=2), run(6, lost=6)])
    assert (level.met, level.kept, level.worst, level.worst_seed) == (False, 2, 0.06, 6)
    assert level.interval is not None
    assert level.interval.mean == pytest.approx(0.03)
    # Deviation sqrt((4 + 1 + 9) / 2) = 2.6458 %; t(0.975, 2) = 4.302653; over sqrt(3).
    assert level.interval.half_width == pytest.approx(0.065724, abs=1e-6)


def test_a_measure_without_a_value_is_broken() -> None:
    (level,) = judge_bounds([late(1.0, "call", "idle")], [run(1)])
    assert (level.met, level.worst, level.worst_row) == (False, None, "idle")
    assert level.margin is None
    assert level.interval is None
    assert level.to_json()["values"] == [None]


@pytest.mark.parametrize("lost", [(1, 1, 9), (9, 1, 1), (1, 9, 9), (9, 9, 9), (1, 1, 1)])
def test_a_run_that_breaks_the_bound_decides_whatever_sent_nothing_in_others(
    lost: tuple[int, ...],
) -> None:
    """`idle` sends nothing; 1 of 100 lost keeps 5 %, 9 do not: each run counts once."""
    bound = SlaBound("s", "flows", ("call", "idle"), "loss", "loss_ratio", "1", "most", 0.05)
    (level,) = judge_bounds([bound], [run(seed, lost=each) for seed, each in enumerate(lost)])
    broken = sum(each == 9 for each in lost)
    assert (level.kept, level.unjudged) == (0, len(lost) - broken)
    assert level.outcome == ("broken" if broken else "not judged")


def test_flows_that_just_keep_a_bound_do_not_judge_one_that_sent_nothing() -> None:
    """10 of 100 lost are 10 %."""
    bound = SlaBound("s", "flows", ("call", "idle"), "loss", "loss_ratio", "1", "most", 0.1)
    (level,) = judge_bounds([bound], [run(1, lost=10)])
    assert (level.outcome, level.worst_row) == ("not judged", "idle")


def test_an_aggregate_that_sent_nothing_is_not_judged() -> None:
    """EF is silent; DF loses 2 %. The table by DSCP says so, whatever the flows sent."""
    made = replace_table(
        run(1), "aggregates", dscp=["EF", "DF"], packets_sent=[0, 50], loss_ratio=[None, 0.02]
    )
    for most, outcome in ((0.05, "not judged"), (0.01, "broken")):
        bound = SlaBound("s", "aggregates", ("EF", "DF"), "loss", "loss_ratio", "1", "most", most)
        (level,) = judge_bounds([bound], [made])
        assert (level.outcome, level.worst_row) == (outcome, "EF" if most == 0.05 else "DF")


def test_runs_of_another_scenario_are_refused() -> None:
    with pytest.raises(ValueError, match="SLA s: the flows of these runs have no nobody"):
        judge_bounds([late(1.0, "nobody")], [run(1)])
    with pytest.raises(ValueError, match="at least one run"):
        judge_bounds([lossy(0.1)], [])


def test_the_table_shows_bound_worst_and_margin() -> None:
    text = render_to_text(
        [build_levels_table(judge_bounds([late(0.005, "call", "web"), lossy(0.2)], [run(1)]))],
        width=100,
    )
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "s 2 flows delay_p99 at most 5 ms BROKEN 8.9 ms -3.9 ms" in lines
    assert "s call loss at most 20 % met 10 % 10 %" in lines
    assert format_promise(lossy(0.001)) == "loss at most 0.1 %"


def test_of_more_bounds_than_fit_the_broken_are_shown() -> None:
    bounds = [lossy(0.2)] * 100 + [lossy(0.05)]
    text = render_to_text([build_levels_table(judge_bounds(bounds, [run(1)]))], width=100)
    assert "41 more" in text
    assert text.count("BROKEN") == 1


def replace_table(made: Results, name: str, **columns: list[str | float | None]) -> Results:
    """The run with another table of these columns alone."""
    fields = [find_field(name, each) for each in columns]
    columns_made = {each: Column(values) for each, values in columns.items()}
    made.tables[name] = Table(name, fields, columns_made)
    return made


def test_the_worst_player_of_a_flow_counts_and_one_without_a_value_is_worse() -> None:
    """call has players of 5, 20 and 10 %, web of 15 and 1 %."""
    bound = SlaBound("s", "videos", ("call", "web"), "stalls", "stall_ratio", "1", "most", 0.1)
    players = ["call", "call", "web", "call", "web"]
    ratios = [0.05, 0.2, 0.15, 0.1, 0.01]
    made = replace_table(run(1), "videos", flow=players, stall_ratio=ratios)
    (level,) = judge_bounds([bound], [made])
    assert (level.worst, level.worst_row, level.met) == (0.2, "call", False)
    made = replace_table(run(1), "videos", flow=players, stall_ratio=[*ratios[:4], None])
    (level,) = judge_bounds([bound], [made])
    assert (level.worst, level.worst_row) == (None, "web")
    # A rate is bounded from below: the least is the worst.
    rates = SlaBound("s", "videos", ("call",), "rate", "bit_rate_bit_s", "bit/s", "least", 4.0)
    made = replace_table(run(1), "videos", flow=["call"] * 3, bit_rate_bit_s=[5.0, 3.0, 9.0])
    (level,) = judge_bounds([rates], [made])
    assert (level.worst, level.margin) == (3.0, -1.0)


def test_completions_are_judged_by_the_kind_of_the_bound() -> None:
    made = replace_table(
        run(1),
        "completions",
        flow=["call", "call", "call"],
        sizes=["up to 10 kB", "all", "pages"],
        fct_p95_s=[1.0, 2.0, 3.0],
    )
    for sizes, value in (("all", 2.0), ("pages", 3.0)):
        bound = SlaBound(
            "s", "completions", ("call",), "time", "fct_p95_s", "s", "most", 1.0, sizes
        )
        (level,) = judge_bounds([bound], [made])
        assert level.worst == value


def test_the_first_of_equal_rows_and_runs_is_named() -> None:
    (level,) = judge_bounds([lossy(0.05)], [run(4, lost=1), run(5, lost=6), run(6, lost=6)])
    assert (level.worst, level.worst_seed) == (0.06, 5)


def test_the_mean_of_runs_is_in_the_unit_of_the_bound() -> None:
    """Shares in per cent: 1 and 3 of 100, half 12.706 %; times in ms; one run has no interval."""
    runs = [run(4, lost=1), run(5, lost=3)]
    texts = [
        render_to_text([build_levels_table(judge_bounds([lossy(0.1), late(0.005, "call")], some))],
                       width=120)
        for some in (runs, runs[:1])
    ]  # fmt: skip
    lines = [" ".join(line.split()) for line in texts[0].splitlines()]
    assert "s call loss at most 10 % met 2 ± 13 % 2 of 2 3 % 7 %" in lines
    assert "s call delay_p99 at most 5 ms met 4.9 ± 0 ms 2 of 2 4.9 ms 100 µs" in lines
    assert "mean" not in texts[1].splitlines()[2]
    assert _format_mean(mean_interval([0.02]), "1") == "2 %"
    assert _format_mean(mean_interval([0.02, 0.02]), "s") == "20 ± 0 ms"
    assert _format_mean(None, "s") == "–"


def test_as_many_bounds_as_fit_are_shown_in_their_order() -> None:
    bounds = [lossy(0.2)] * 59 + [lossy(0.05)]
    text = render_to_text([build_levels_table(judge_bounds(bounds, [run(1)]))], width=100)
    assert "more" not in text
    more = render_to_text(
        [build_levels_table(judge_bounds([*bounds, lossy(0.04)], [run(1)]))], width=100
    )
    assert "Service levels (60, the broken first; 1 more)" in more
    assert more.count("BROKEN") == 2


def test_bounds_that_are_not_judged_do_not_take_the_place_of_broken_ones() -> None:
    bound, values = lossy(0.05), (0.06,)
    silent = Level(bound, values, 0, None, "call", 1, unjudged=1)
    broken, met = (Level(bound, values, kept, 0.06, "call", 1, unjudged=0) for kept in (0, 1))
    text = render_to_text([build_levels_table([met] * 30 + [silent] * 60 + [broken])], width=100)
    assert "Service levels (60, the broken first; 31 more)" in text
    lines = [line for line in text.splitlines() if "loss at most" in " ".join(line.split())]
    assert "BROKEN" in lines[0]
    assert all("not judged" in line for line in lines[1:])
    assert len(lines) == 60
