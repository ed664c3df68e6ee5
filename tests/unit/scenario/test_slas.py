"""Service level agreements: what the file says and what it means in terms of the results."""

from __future__ import annotations

from trunkline.network import compile
from trunkline.results import SCHEMAS, dscp
from trunkline.scenario import Scenario, load
from trunkline.scenario.resolved.slas import _list_bounds
from trunkline.scenario.scenario import reload_text
from trunkline.scenario.sla import LowerBounds, Sla, UpperBounds, get_row_of_dscp

PLAIN = """\
# Two calls
trunkline: 1
parameters: {late: 20 ms}
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
flows:
  call: {agent: udp, replicate: 2, from: A, to: B, rate: 1 Mbit/s, dscp: EF}
  data: {agent: tcp, from: A, to: B}
run: {duration: 1 s}
"""
SLAS = """\
slas:
  voice: {flow: [call], at_most: {delay_p99: $late, loss: 0.1 %}, at_least: {goodput: 960 kbit/s}}
  expedited: {dscp: EF, at_most: {jitter: 1 ms}}
  everyone: {flow: all, at_least: {throughput: 500 kbit/s}}
"""


def loaded() -> Scenario:
    return load(PLAIN + SLAS)


def test_bounds_are_in_units_of_the_tables() -> None:
    found = [(b.sla, b.rows, b.column, b.at, b.value) for b in loaded().list_sla_bounds()]
    calls = ("call[0]", "call[1]")
    assert found == [
        ("voice", calls, "delay_p99_s", "most", 0.02),
        ("voice", calls, "loss_ratio", "most", 0.001),
        ("voice", calls, "goodput_bit_s", "least", 960_000.0),
        ("expedited", ("EF",), "jitter_s", "most", 0.001),
        ("everyone", (*calls, "data"), "throughput_bit_s", "least", 500_000.0),
    ]


def test_every_measure_is_a_column_of_both_tables() -> None:
    of_videos = {"stall", "start_up"}
    assert {"stall_ratio", "start_up_s"} <= {field.name for field in SCHEMAS["videos"]}
    times = [
        name for name in UpperBounds.model_fields if name not in {"loss", "echo_loss", *of_videos}
    ]
    of_transfers = {f"{name}_s" for name in times if name.startswith(("fct_", "page_"))}
    of_echoes = {f"{name}_s" for name in times if name.startswith("rtt_")}
    assert of_echoes <= {field.name for field in SCHEMAS["echoes"]}
    columns = {f"{name}_s" for name in times} - of_transfers - of_echoes
    completions = {field.name for field in SCHEMAS["completions"]}
    assert {name.replace("page_", "fct_") for name in of_transfers} <= completions
    columns |= {"loss_ratio"} | {
        f"{name}_bit_s" for name in LowerBounds.model_fields if name != "mos"
    }
    for table in ("flows", "aggregates"):
        assert columns <= {field.name for field in SCHEMAS[table]}


def test_dscps_bear_the_names_of_the_table_of_aggregates() -> None:
    assert [get_row_of_dscp(each) for each in range(64)] == [
        dscp.name_code_point(each) for each in range(64)
    ]


def test_agreements_are_no_part_of_the_network() -> None:
    assert compile(loaded()).to_json() == compile(load(PLAIN)).to_json()


def test_a_dump_says_the_same() -> None:
    assert load(loaded().dump()).list_sla_bounds() == loaded().list_sla_bounds()


def test_the_text_of_a_scenario_with_overrides_holds_them_and_the_head_of_the_file() -> None:
    changed = load(PLAIN + SLAS, overrides={"late": "30 ms"})
    assert changed.text.startswith("# Two calls\n#\n# Set: late=30 ms\ntrunkline: 1\n")
    assert reload_text(changed.text).list_sla_bounds()[0].value == 0.03
    assert load(changed.text) == changed
    assert loaded().text == PLAIN + SLAS


def test_each_bound_is_judged_by_the_rows_and_the_column_of_its_measure() -> None:
    """Times of pages stand below those of transfers, in rows of their own."""
    found = {}
    for kind in (UpperBounds, LowerBounds):
        side = "at_most" if kind is UpperBounds else "at_least"
        for measure in kind.model_fields:
            bounds = {side: kind.model_construct(**{measure: 3})}
            sla = Sla.model_validate({"flow": "data"}).model_copy(update=bounds)
            [bound] = _list_bounds(loaded().resolve(), "x", sla)
            found[measure] = (bound.table, bound.column, bound.sizes)
    statistics = ("mean", "p50", "p90", "p95", "p99", "max")
    expected = {
        "jitter": ("flows", "jitter_s", ""),
        "loss": ("flows", "loss_ratio", ""),
        "goodput": ("flows", "goodput_bit_s", ""),
        "throughput": ("flows", "throughput_bit_s", ""),
        "echo_loss": ("echoes", "loss_ratio", ""),
        "start_up": ("videos", "start_up_s", ""),
        "stall": ("videos", "stall_ratio", ""),
        "mos": ("calls", "mos", ""),
    }
    for each in (*statistics, "p999", "range"):
        expected[f"delay_{each}"] = ("flows", f"delay_{each}_s", "")
    for each in statistics:
        expected[f"fct_{each}"] = ("completions", f"fct_{each}_s", "all")
        expected[f"page_{each}"] = ("completions", f"fct_{each}_s", "pages")
    for each in ("mean", "p50", "p95", "p99", "max"):
        expected[f"rtt_{each}"] = ("echoes", f"rtt_{each}_s", "")
    assert found == expected


def test_each_bound_is_in_the_unit_of_its_column() -> None:
    """20 ms are 0.02 s and 5 % are 0.05 of the base unit; a rate and a mean opinion score stay."""
    resolved = loaded().resolve()
    shares = {"loss", "echo_loss", "stall"}
    for measure in UpperBounds.model_fields:
        limit = 0.05 if measure in shares else 20_000_000
        sla = Sla.model_validate({"flow": "data"}).model_copy(
            update={"at_most": UpperBounds.model_construct(**{measure: limit})}
        )
        [bound] = _list_bounds(resolved, "x", sla)
        unit, value = ("1", 0.05) if measure in shares else ("s", 0.02)
        assert (bound.unit, bound.value, bound.at, bound.rows) == (unit, value, "most", ("data",))
        assert bound.measure == measure
        column = next(each for each in SCHEMAS[bound.table] if each.name == bound.column)
        assert column.unit in ({"1", "%"} if measure in shares else {"s"}), bound.column
    for measure in LowerBounds.model_fields:
        sla = Sla.model_validate({"flow": "data"}).model_copy(
            update={"at_least": LowerBounds.model_construct(**{measure: 3})}
        )
        [bound] = _list_bounds(resolved, "x", sla)
        assert (bound.value, bound.at) == (3, "least")
        assert bound.unit == ("MOS" if measure == "mos" else "bit/s")
