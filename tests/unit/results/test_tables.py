from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from trunkline.results import SCHEMAS, Results, dscp as code_points, store
from trunkline.stats import average_runs

from .raw import column, network, tables


def test_names_stand_in_place_of_indices(results: Results) -> None:
    assert results.flows["flow"] == ["call", "web", "idle"]
    assert results.flows["source"] == ["A", "B", "B"]
    assert results.flows["dscp"] == ["EF", "DF", "DF"]
    ports = results.ports
    assert list(zip(ports["link"], ports["class"], strict=True)) == [
        ("A->B", "voice"),
        ("A->B", "rest"),
        ("B->A", "all"),
    ]
    assert results.drops["link"] == ["A->B", "A->B", None]
    assert results.drops["class"] == ["voice", "rest", None]
    assert results.drops["cause"] == ["queue_full", "early", "queue_full"]
    assert results.drops["direction"] == ["forward", "reverse", "forward"]
    assert results.series["target"] == ["web", "A->B", "web", "A->B"]
    assert results.series["class"] == [None, "rest", None, "rest"]


def test_a_data_frame_has_the_columns_that_are_named_before_and_after_the_whole(
    results: Results,
) -> None:
    flows = results.flows
    for _ in range(2):
        some = flows.to_polars("dscp", "flow")
        assert some.columns == ["dscp", "flow"]
        assert some["flow"].to_list() == ["call", "web", "idle"]
        with pytest.raises(KeyError, match="flows has no column 'speed'; it has flow, "):
            flows.to_polars("flow", "speed")
        assert flows.to_polars().columns == list(flows.columns)


def test_rates_are_over_the_measured_time(results: Results) -> None:
    # 10 s less 2 s of warm-up: 18000 B * 8 / 8 s = 18 kbit/s; payload 15480 * 8 / 8 = 15.48 kbit/s.
    call = results.flows.where(flow="call")
    assert call["throughput_bit_s"] == 18_000.0
    assert call["goodput_bit_s"] == 15_480.0
    assert call["offered_bit_s"] == 20_000.0
    assert call["loss_ratio"] == 0.1
    # 20000 B * 8 / 8 s = 20 kbit/s of 1 Mbit/s.
    assert results.ports.where(link="A->B", **{"class": "voice"})["utilisation"] == 0.02


def test_delays_of_a_flow_without_packets_are_null(results: Results) -> None:
    idle = results.flows.where(flow="idle")
    assert idle["delay_mean_s"] is None
    assert idle["delay_min_ns"] is None
    assert idle["loss_ratio"] is None
    web = results.flows.where(flow="web")
    assert web["delay_mean_s"] == 0.004
    assert web["delay_range_s"] == 0.006
    assert web["finished_s"] == 7.5
    assert results.flows["finished_ns"] == [None, 7_500_000_000, None]


def test_aggregates_gather_flows_by_dscp(results: Results) -> None:
    best_effort = results.aggregates.where(dscp="DF")
    assert best_effort["flows"] == 2
    assert best_effort["packets_delivered"] == 49
    # Only `web` delivered, so the means are its own.
    assert best_effort["delay_mean_s"] == 0.004
    assert best_effort["delay_min_ns"] == 3_000_000
    assert best_effort["delay_max_ns"] == 9_000_000


def test_mean_delay_of_an_aggregate_weighs_packets(results: Results) -> None:
    raw = tables()
    raw["flows"]["packets_timed"] = column("i64", 90, 30, 10)
    raw["flows"]["delay_mean_ns"] = column("f64", 2e6, 4e6, 8e6)
    made = Results.from_raw(raw, network(), results.provenance)
    # (30 * 4 ms + 10 * 8 ms) / 40 = 5 ms.
    assert made.aggregates.where(dscp="DF")["delay_mean_s"] == pytest.approx(0.005)


def _with_delays(results: Results, upper_ms: list[int], flows: list[int]) -> Results:
    """The flows `web` (1) and `idle` (2), both DF, deliver two packets a bucket."""
    raw = tables()
    raw["flows"]["packets_timed"] = column("i64", 90, 30, 10)
    raw["flows"]["delays_compared"] = column("i64", 89, 29, 9)
    raw["flows"]["jitter_ns"] = column("f64", 1e6, 2e6, 6e6)
    raw["flows"]["delay_max_ns"] = column("i64", *[10_000_000] * 3)
    raw["flows"]["reordered"] = column("i64", 5, 3, 4)
    raw["delays"] = {
        "flow": column("i64", *flows),
        "upper_ns": column("i64", *(1_000_000 * upper for upper in upper_ms)),
        "packets": column("i64", *(2 for _ in flows)),
    }
    return Results.from_raw(raw, network(), results.provenance)


def test_percentiles_of_an_aggregate_are_those_of_all_its_packets(results: Results) -> None:
    # web 1, 2, 3 ms and idle 3, 4, 9 ms, two packets each: 1 1 2 2 3 3 3 3 4 4 9 9.
    # Rank ceil(0.5 * 12) = 6: 3 ms; ceil(0.9 * 12) = 11: 9 ms. AF or EF flows do not count.
    made = _with_delays(results, [7, 1, 2, 3, 3, 4, 9], [0, 1, 1, 1, 2, 2, 2])
    best_effort = made.aggregates.where(dscp="DF")
    assert best_effort["delay_p50_s"] == 0.003
    assert best_effort["delay_p90_s"] == 0.009
    # Weighted by packets: (30 * 2 ms + 10 * 6 ms) / 40 = 3 ms. Sum: 3 + 4.
    assert best_effort["jitter_s"] == 0.003
    assert best_effort["reordered"] == 7


def test_percentiles_of_an_aggregate_over_runs_are_of_the_merged_histograms(
    results: Results,
) -> None:
    # DF: 1 1 2 2 in one run, 5 5 6 6 in the other: median of all eight, rank 4, is 2 ms.
    runs = [_with_delays(results, ends, [1, 2]) for ends in ([1, 2], [5, 6])]
    row = next(row for row in average_runs(runs, "aggregates") if row.key == {"dscp": "DF"})
    assert row.measures["delay_p50_s"].mean == pytest.approx(0.002)


def test_rfc2597_and_rfc2474_names_of_code_points() -> None:
    # RFC 2597 section 6: AF11 = 001010, AF43 = 100110. RFC 2474 section 4.2.2.2: CS6 = 110000.
    assert code_points.name_code_point(0b001010) == "AF11"
    assert code_points.name_code_point(0b100110) == "AF43"
    assert code_points.name_code_point(0b110000) == "CS6"
    assert code_points.name_code_point(0b101110) == "EF"
    assert code_points.name_code_point(63) == "63"


def test_arrow_readers_take_the_tables(results: Results) -> None:
    table = pa.table(results.flows)
    assert table.schema.field("flow").type in (pa.string(), pa.large_string(), pa.string_view())
    assert table.schema.field("bytes_sent").type == pa.int64()
    assert table.schema.field("delay_mean_s").type == pa.float64()
    assert table.column("delay_mean_s").null_count == 1
    flows = results.flows.to_polars()  # noqa: F841 - read by name in the query
    query = "select flow from flows where loss_ratio > 0.05"
    assert duckdb.sql(query).fetchall() == [("call",)]
    assert pl.DataFrame(results.flows).equals(results.flows.to_polars())


def test_numbers_reach_numpy_without_a_copy() -> None:
    raw = tables()
    data = raw["flows"]["bytes_sent"][1]
    made = Results.from_raw(raw, network(), None)  # type: ignore[arg-type]
    array = made.flows.to_numpy()["bytes_sent"]
    assert array.__array_interface__["data"][0] == _address(data)


def test_a_double_that_is_null_is_not_a_number_in_numpy(results: Results, tmp_path: Path) -> None:
    """From memory and from disk alike: what draws it must not see a number there."""
    (stored,) = store.read_results(store.write_results([results], tmp_path / "out"))
    for run in (results, stored):
        array = run.flows.column("delay_mean_s").to_array()
        assert array[:2].tolist() == [0.002, 0.004]
        assert np.isnan(array[2])


def _address(data: bytes) -> int:
    address: int = np.frombuffer(data, dtype="u1").__array_interface__["data"][0]
    return address


def test_every_table_has_the_columns_of_its_schema(results: Results) -> None:
    for name, fields in SCHEMAS.items():
        frame = results.tables[name].to_polars()
        types = {"str": pl.String, "i64": pl.Int64, "f64": pl.Float64}
        assert dict(frame.schema) == {field.name: types[field.kind] for field in fields}


def test_json_has_base_units_and_no_nanoseconds(results: Results) -> None:
    written = json.loads(json.dumps(results.to_json(), allow_nan=False))
    assert written["schema"] == 1
    assert written["hash"] == results.hash()
    tables = {"flows", "aggregates", "ports", "paths", "drops", "colours", "accounts", "timeline"}
    measured = {
        "marks",
        "calls",
        "echoes",
        "videos",
        "completions",
        "lsps",
        "control",
        "signalling",
    }
    assert set(written) == {"schema", "engine", "hash"} | measured | tables
    assert written["flows"][0]["goodput_bit_s"] == 15_480.0
    assert written["flows"][2]["delay_mean_s"] is None
    keys = {key for table in ("flows", "ports") for key in written[table][0]}
    assert not [key for key in keys if key.endswith("_ns")]


def test_hash_covers_integers_and_names_but_no_floats(results: Results) -> None:
    def hash_with(table: str, name: str, value: tuple[str, bytes]) -> str:
        raw = tables()
        raw[table][name] = value
        return Results.from_raw(raw, network(), results.provenance).hash()

    same = hash_with("flows", "delay_mean_ns", column("f64", 2e6 + 1e-9, 4e6, float("nan")))
    assert same == results.hash()
    assert hash_with("summary", "events", column("i64", 999)) == results.hash()
    assert hash_with("drops", "bytes", column("i64", 2_001, 80, 1_500)) != results.hash()
    assert hash_with("drops", "cause", column("u8", 1, 1, 0)) != results.hash()


def test_hostile_names_stay_text(results: Results) -> None:
    hostile = network()
    hostile["flows"][0]["name"] = "<script>[red]\x1b[31m\u202e"
    made = Results.from_raw(tables(), hostile, results.provenance)
    page = made._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    shown = made.render(width=200, show_all=True)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<script>[red]\\x1b[31m\\u202e" in shown


def test_terminal_tables_show_each_busy_port_and_drop(results: Results) -> None:
    shown = results.render(width=160, show_all=True)
    assert "15.48 kbit/s" in shown
    assert "10 %" in shown
    assert "queue_full" in shown
    assert "B->A" not in shown  # nothing was offered to it
    assert results.hash()[:16] in shown


def test_unknown_column_names_those_there_are(results: Results) -> None:
    with pytest.raises(KeyError, match="flows has no column 'goodput'; it has flow, source"):
        results.flows.column("goodput")


def test_jain_index_of_an_aggregate_is_that_of_1984() -> None:
    from trunkline.results.decode.fairness import make_jain_column

    # Jain, Chiu and Hawe: k of n users with equal shares have k / n; 1, 2 and 3: 36 / (3 * 14).
    index = make_jain_column([[5, 5, 5], [4, 4, 0, 0], [1, 2, 3], [0, 0]]).to_list()
    assert index == [1, 0.5, pytest.approx(36 / 42), None]
