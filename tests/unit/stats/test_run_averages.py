from __future__ import annotations

import pytest

from trunkline.results import Column, Results, Table
from trunkline.stats import average_runs
from trunkline.stats.run_averages import AveragedRow

from ..results.raw import column, network, tables


def runs() -> list[Results]:
    made = []
    for delivered in (18_000, 20_000, 22_000):
        raw = tables()
        raw["flows"]["bytes_delivered"] = column("i64", delivered, 0, 0)
        made.append(Results.from_raw(raw, network(), None))  # type: ignore[arg-type]
    return made


def row(name: str) -> AveragedRow:
    return next(row for row in average_runs(runs()) if row.key == {"flow": name})


def test_means_and_intervals_are_over_runs() -> None:
    # 18, 20, 22 kbit/s: mean 20, deviation 2; t(0.975, 2) = 4.302653; 4.302653 * 2 / sqrt(3).
    interval = row("call").measures["throughput_bit_s"]
    assert interval.mean == 20_000
    assert interval.half_width == pytest.approx(4968.28, abs=0.01)


def test_a_measure_that_is_null_in_every_run_is_left_out() -> None:
    assert "delay_mean_s" not in row("idle").measures
    assert "delay_mean_s" in row("web").measures


def test_tables_without_a_key_are_refused() -> None:
    with pytest.raises(ValueError, match="'drops' has no rows to average; choose from flows"):
        average_runs(runs(), "drops")


def test_columns_of_one_table_are_of_one_length() -> None:
    fields = runs()[0].tables["paths"].fields[:2]
    columns = {"path": Column(["a", "b"]), "packets": Column(["c"])}
    with pytest.raises(ValueError, match=r"columns of paths differ in length: \[1, 2\]"):
        Table("paths", fields, columns)
