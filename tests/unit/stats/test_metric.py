"""Metrics by name."""

from __future__ import annotations

import pytest

from trunkline.results import Column, Table
from trunkline.results.schemas import find_field
from trunkline.stats.metric import Metric, collect_values, find_flow_of_row, parse_metric

from .test_run_averages import runs


def test_a_metric_is_a_column_of_a_table_and_maybe_one_row() -> None:
    assert parse_metric("goodput_bit_s") == Metric("flows", "goodput_bit_s")
    assert parse_metric("ports.wait_mean_s@R1->R2/default") == Metric(
        "ports", "wait_mean_s", "R1->R2/default"
    )
    assert str(parse_metric("loss_ratio@web")) == "flows.loss_ratio@web"


def test_a_row_of_a_table_by_flow_is_that_of_its_flow() -> None:
    assert find_flow_of_row("flows.loss_ratio", "a/b") == "a/b"
    assert find_flow_of_row("completions.started", "a/b/all") == "a/b"
    assert find_flow_of_row("ports.wait_mean_s", "R1->R2/default") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drops.packets", "no table 'drops'; choose from flows"),
        ("flows.dscp", "flows has no measure 'dscp'"),
        ("delay_p98_s", r"did you mean delay_p9\d?_s\?$"),
        ("zzz", "it has packets_sent, "),
    ],
)
def test_a_wrong_metric_names_the_nearest(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_metric(text)


def test_values_are_by_metric_and_row_with_null_where_nothing_arrived() -> None:
    found = collect_values(
        runs(), [parse_metric("throughput_bit_s@call"), parse_metric("delay_mean_s")]
    )
    assert found["flows.throughput_bit_s", "call"] == [18_000, 20_000, 22_000]
    assert found["flows.delay_mean_s", "idle"] == [None, None, None]
    assert found["flows.delay_mean_s", "web"] == [0.004] * 3
    with pytest.raises(ValueError, match="no row 'cal'; did you mean call"):
        collect_values(runs(), [parse_metric("delay_mean_s@cal")])
    dropped = collect_values(runs(), [parse_metric("summary.packets_dropped")])
    assert dropped == {("summary.packets_dropped", "run"): [13] * 3}
    alone = collect_values(runs()[:1], [parse_metric("delay_mean_s")])
    assert [*alone] == [("flows.delay_mean_s", name) for name in ("call", "web", "idle")]
    with pytest.raises(ValueError, match="no row 'cal'; did you mean call"):
        collect_values(runs()[:1], [parse_metric("delay_mean_s@cal")])


def test_a_row_that_one_run_lacks_is_refused() -> None:
    """A value a run is promised: a row that only some have gives no column."""
    first, second, last = runs()
    table = last.tables["flows"]
    columns = {name: Column(list(table[name])) for name in ("flow", "delay_mean_s")}
    columns["flow"] = Column(["other", "web", "idle"])
    fields = [find_field("flows", name) for name in columns]
    last.tables["flows"] = Table("flows", fields, columns)
    for text in ("delay_mean_s@call", "delay_mean_s"):
        with pytest.raises(ValueError, match="no row 'call'"):
            collect_values([first, second, last], [parse_metric(text)])
    with pytest.raises(ValueError, match="no row 'other'"):
        collect_values([first, second, last], [parse_metric("delay_mean_s@other")])
