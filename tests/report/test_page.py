"""What is in a report, without a browser: it agrees with the tables, and is made the same again."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest

import trunkline as tl
from trunkline.network.identity import hash_without_probes
from trunkline.report import (
    chart_library,
    charts,
    distributions,
    failure_load,
    findings,
    grids,
    page,
    user_experience,
    write_report,
)
from trunkline.report.reported_run import ReportedRun
from trunkline.report.topology import draw_network
from trunkline.results import store


def data_of(text: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" class="data">(.*?)</script>', text, re.S)
    assert found is not None
    return dict(json.loads(found[1]))


def test_the_same_results_give_the_same_bytes(protected, page_of_protected, tmp_path):
    again = write_report(protected, tmp_path / "page.html")
    assert again.read_bytes() == page_of_protected.read_bytes()


def test_drops_of_the_series_add_up_to_those_of_the_table(protected):
    exhibit = ReportedRun.read_folder(protected)
    counted = exhibit.probed.runs[0].series
    step = exhibit.probed.step_ns / 1e9
    rows = zip(counted["measure"], counted["value"], counted["probe"], strict=True)
    probed = sum(
        value * step
        for measure, value, probe in rows
        if measure == "drops" and probe >= exhibit.probed.first_probe
    )
    # The probe counts what the queue refuses, not what a failure of the link costs.
    table = [row for row in exhibit.first_run.drops.rows() if row["cause"] == "queue_full"]
    assert probed == pytest.approx(sum(int(row["packets"]) for row in table), abs=0.5)


def test_the_distribution_passes_through_the_percentiles_of_the_table(tmp_path, run_example):
    exhibit = ReportedRun.read_folder(run_example(tmp_path / "results", "hello", range(1, 2)))
    chart = distributions.build_delay_chart(exhibit)
    assert chart is not None
    line = chart.lines[0]
    row = exhibit.first_run.flows.where(flow="tcp")
    for share, name in ((0.5, "delay_p50_s"), (0.9, "delay_p90_s"), (0.99, "delay_p99_s")):
        at = line.values.index(share)
        # An octave has 64 buckets of one width: at most 1/64 of the delay.
        assert line.x[at] == pytest.approx(row[name], rel=1 / 64)


def test_a_run_that_does_not_repeat_is_refused(protected, tmp_path):
    runs = store.read_results(protected)
    network = json.loads((protected / store.NETWORK_FILE).read_text())
    network["links"][0]["delay_ns"] += 1
    changed = store.write_results(runs, tmp_path / "changed", network_json=json.dumps(network))
    with pytest.raises(RuntimeError, match="does not repeat"):
        write_report(changed)


def test_the_report_of_a_kernels_run_repeats_nothing_and_says_why(protected, tmp_path):
    runs = store.read_results(protected)
    for run in runs:
        run.provenance = replace(run.provenance, version="0.1.0 linux 6.1.192 uml")
    of_kernel = store.write_results(
        runs, tmp_path / "kernel", network_json=(protected / store.NETWORK_FILE).read_text()
    )
    text = write_report(of_kernel).read_text()
    assert "Linux 6.1.192 uml ran it, and the report repeats runs of the simulator alone" in text


def test_the_drawing_keeps_the_places_of_the_scenario(tmp_path, run_example):
    drawing = draw_network(
        ReportedRun.read_folder(run_example(tmp_path / "results", "trunks", range(1, 2)))
    )
    at = {spot.name: (spot.x, spot.y) for spot in drawing.spots}
    # S1 [0, 2], S2 [0, 1], R1 [1, 1], D1 [6, 2]: x to the right, y upward.
    assert at["S1"][0] == at["S2"][0] < at["R1"][0] < at["D1"][0]
    assert at["S1"][1] == at["D1"][1] < at["S2"][1] == at["R1"][1]
    widths = {lane.name: lane for lane in drawing.lanes}
    assert widths["R2->R4"].level > widths["R4->R2"].level


def test_a_backup_is_told_from_the_path_it_protects(protected):
    routes = {
        route.name: route for route in draw_network(ReportedRun.read_folder(protected)).routes
    }
    assert not routes["working"].backup
    assert routes["backup"].backup
    assert routes["backup"].about.startswith("backup of working; 4 links: 4->8 8->9 9->10 10->7")


def test_links_that_failed_are_marked_with_what_that_cost(protected):
    # 5-6 is the link that fails; no port of it drops, all it loses is by the failure: the counts of
    # the table of drops, over the packets that came to the port and those that found it down.
    exhibit = ReportedRun.read_folder(protected)
    lanes = {lane.name: lane for lane in draw_network(exhibit).lanes}
    for name in ("5->6", "6->5"):
        came = lost = never_came = 0
        for run in exhibit.runs:
            for row in run.drops.rows():
                if row["link"] == name:
                    assert row["cause"] in ("failed_queued", "failed_in_flight", "link_down")
                    lost += row["packets"]
                    never_came += row["packets"] if row["cause"] == "link_down" else 0
            came += sum(row["packets_offered"] for row in run.ports.rows() if row["link"] == name)
        assert lost > never_came > 0
        assert lanes[name].loss == pytest.approx(lost / (came + never_came))
        assert f"{lost / 2:g} of them by its failure" in lanes[name].about
    assert lanes["6->7"].loss == 0
    ports = next(grid for grid in grids.build_grids(exhibit) if grid.key == "ports")
    at = [name for name, _ in ports.heads].index("by failure")
    assert {row[0].text for row in ports.rows if row[at].sort} == {"5->6", "6->5"}


def test_what_a_failure_takes_from_the_wire_is_no_loss_of_a_class(run_example, tmp_path):
    exhibit = ReportedRun.read_folder(
        run_example(tmp_path / "results", "protected-ring", range(1, 2))
    )
    losses = findings._compute_losses(exhibit)
    dropped = {
        f"{row['link']}, class {row['class']}": row["packets_dropped"] / row["packets_offered"]
        for row in exhibit.first_run.ports.rows()
        if row["packets_dropped"]
    }
    assert {name: loss for name, loss in losses.items() if loss} == pytest.approx(dropped)


def test_links_while_something_is_down_are_told_from_the_rest(protected):
    exhibit = ReportedRun.read_folder(protected)
    # The scenario: 5-6 is down from 5 s to 10 s of 15 s, and 8->9 then has to carry both groups.
    assert sorted(failure_load.find_down_times(exhibit)) == [
        ("5->6", 5.0, 10.0),
        ("6->5", 5.0, 10.0),
    ]
    found = {each.link: each for each in failure_load.compute_failure_loads(exhibit)}
    assert found["5->6"].use_down == found["6->5"].use_down == 0
    assert found["4->8"].use_up < 0.02 < found["4->8"].use_down
    # Both times together are the run: what the link carried in all is in the table of ports.
    for link, each in found.items():
        row = next(row for row in exhibit.first_run.ports.rows() if row["link"] == link)
        total = (5 * each.use_down + 10 * each.use_up) / 15
        assert total == pytest.approx(row["utilisation"], rel=0.02, abs=0.002)
    refused = sum(row["packets_dropped"] for row in exhibit.first_run.ports.rows())
    assert 0 < sum(each.dropped for each in found.values()) < refused
    table = next(grid for grid in grids.build_grids(exhibit) if grid.key == "stress")
    uses = [row[2].sort for row in table.rows]
    assert uses == sorted(uses, reverse=True)


def test_nothing_is_said_of_stress_where_nothing_fails(tmp_path, run_example):
    short = {"run.duration": "12 s"}
    exhibit = ReportedRun.read_folder(
        run_example(tmp_path / "results", "trunks", range(1, 2), **short)
    )
    assert failure_load.compute_failure_loads(exhibit) == []
    assert "stress" not in {grid.key for grid in grids.build_grids(exhibit)}


def test_a_flow_has_one_colour_in_every_chart(tmp_path, run_example):
    # udp, tcp1, tcp2: the first has no congestion window, and the others keep their colours there.
    folder = run_example(tmp_path / "results", "trunks", range(1, 2), **{"run.duration": "12 s"})
    colours = {
        chart.key: {line.name: line.colour for line in chart.lines}
        for chart in charts.build_time_charts(ReportedRun.read_folder(folder))
    }
    assert colours["rate"] == colours["delay"] == {"udp": 0, "tcp1": 1, "tcp2": 2}
    assert colours["cwnd"] == {"tcp1": 1, "tcp2": 2}
    for one in ("queue", "use"):
        assert len(set(colours[one].values())) == len(colours[one])
    both = colours["queue"].keys() & colours["use"].keys()
    assert both
    assert all(colours["queue"][name] == colours["use"][name] for name in both)


def test_marks_of_a_text_are_set_and_nothing_else():
    assert page.format_prose("as `rate` of a->b, <i> & c") == (
        'as <code>rate</code> of <span class="short">a-&gt;b,</span> &lt;i&gt; &amp; c'
    )
    # A number is not parted from its thousands or its unit; what may be copied stays as it is.
    assert page.format_prose("2 245 of 12 packets in 5 ms, `rate=2 Mbit/s`, 3 runs") == (
        "2\xa0245 of 12\xa0packets in 5\xa0ms, <code>rate=2 Mbit/s</code>, 3 runs"
    )
    assert page.format_prose("`<b>` ` \u202e") == "<code>&lt;b&gt;</code> ` \\u202e"


def test_only_our_own_scripts_may_run(page_of_protected):
    text = page_of_protected.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    script = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"sha256-{digest}" in policy[1]
    assert not re.search(r"\son\w+=|\sstyle=", re.sub(r"<script.*?</script>", "", text, flags=re.S))


def test_data_cannot_end_its_script():
    assert "<" not in page.encode_json({"</script>": "<!--", "a": "&"})
    assert json.loads(page.encode_json({"</script>": "<!-- & -->"})) == {"</script>": "<!-- & -->"}


def test_long_series_keep_their_extremes(tmp_path, monkeypatch, run_example):
    exhibit = ReportedRun.read_folder(run_example(tmp_path / "results", "hello", range(1, 2)))
    monkeypatch.setattr(charts, "MAX_LINE_POINTS", 20)
    made = {chart.key: chart for chart in charts.build_time_charts(exhibit)}
    line = made["queue"].lines[0]
    series = next(
        each
        for each in charts.collect_series(exhibit)
        if (each.measure, each.target) == ("queue-packets", line.name)
    )
    assert len(line.values) <= 20
    assert max(line.high) == series.values.max()
    assert min(line.low) == series.values.min()


def test_without_the_charts_library_the_charts_are_still_pictures(protected, tmp_path, monkeypatch):
    chart_library.load_chart_library.cache_clear()
    monkeypatch.setattr(chart_library, "LIBRARY_FILE", tmp_path / "missing.js")
    try:
        text = write_report(protected, tmp_path / "page.html").read_text()
    finally:
        chart_library.load_chart_library.cache_clear()
    assert text.count('<svg class="still"') == 8
    assert "The charts are still pictures" in text
    assert 'id="library"' not in text


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no results"):
        write_report(tmp_path)


def test_results_without_their_network_are_refused_in_words(protected, tmp_path):
    bare = store.write_results(store.read_results(protected), tmp_path / "bare")
    with pytest.raises(FileNotFoundError, match=r"has no network\.json"):
        write_report(bare)


def test_the_packets_of_a_traced_run_are_its_own(tmp_path, run_example):
    set_ = {"run.trace": "on", "run.duration": "1 s"}
    results = run_example(tmp_path / "results", "label-stack", range(1, 2), **set_)
    data = data_of(write_report(results, tmp_path / "page.html").read_text())
    traced = store.read_results(results)[0].packets
    trip = data["packets"]["trips"][0]
    mine = [row for row in traced.rows() if row["packet"] == trip["packet"]]
    queued = [row for row in mine if row["event"] == "queued"]
    assert [hop[4] for hop in trip["hops"]] == [row["stack"] or "" for row in queued]
    assert [hop[2] for hop in trip["hops"]] == [row["wait_ns"] for row in queued]
    assert max(len(hop[4].split()) for hop in trip["hops"]) == 4
    assert trip["fate"][0] == mine[-1]["event"] == "delivered"


def test_the_command_writes_the_page_and_says_where(protected, trunkline, tmp_path):
    done = trunkline("report", str(protected), "--out", "page.html", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (tmp_path / printed["report"]).stat().st_size == printed["bytes"]
    refused = trunkline("report", ".")
    assert refused.returncode == 2
    assert "holds no results" in refused.stderr


def test_a_run_writes_its_report_unless_told_not_to(trunkline, tmp_path):
    assert trunkline("examples", "copy", "label-stack").returncode == 0
    done = trunkline("run", "label-stack.yaml", "--out", "with")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "with" / "report.html").is_file()
    assert trunkline("run", "label-stack.yaml", "--out", "without", "--no-report").returncode == 0
    assert not (tmp_path / "without" / "report.html").exists()
    assert (tmp_path / "with" / "flows.parquet").read_bytes() == (
        tmp_path / "without" / "flows.parquet"
    ).read_bytes()


def test_a_study_of_many_points_has_a_table_and_a_chart_for_each_value(trunkline, tmp_path):
    (tmp_path / "queue.yaml").write_text(
        "trunkline: 1\n"
        "parameters: {load: 0.5}\n"
        "nodes: [a, b]\n"
        "links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}}\n"
        "flows:\n"
        "  f: {agent: udp, from: a, to: b, rate: '${load * 1 Mbit/s}', arrivals: poisson}\n"
        "run: {duration: 5 s}\n"
    )
    (tmp_path / "wait.yaml").write_text(
        "study: 1\nname: wait\ntitle: Wait\nscenario: queue.yaml\nruns: 3\n"
        "grid: {load: ['0.2', '0.6']}\n"
        "columns: {wait: {table: ports, where: {link: a->b}, measure: wait_mean_s, unit: ms}}\n"
    )
    assert trunkline("study", "run", "wait.yaml", "--progress", "none").returncode == 0
    shown = json.loads(trunkline("study", "show", "wait-study", "--json").stdout)
    done = trunkline("report", "wait-study", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text()
    (chart,) = data_of(text)["charts"]
    assert chart["categories"] == ["0.2", "0.6"]
    means = [point["values"]["wait"]["mean"] for point in shown["points"]]
    assert chart["lines"][0]["values"] == means
    assert "6 of 6" in text
    assert "Every point has an interval" in text


def test_completion_times_pass_through_the_percentiles_of_the_table(tmp_path, run_example):
    exhibit = ReportedRun.read_folder(
        run_example(tmp_path / "film", "video-and-downloads", range(1, 2))
    )
    chart = user_experience.build_completion_chart(exhibit)
    assert chart is not None
    lines = {line.name: line for line in chart.lines}
    assert set(lines) == {"by-rate", "by-buffer", "downloads"}
    for name, line in lines.items():
        row = exhibit.first_run.completions.where(flow=name, sizes="all")
        finished = row["finished"] / row["started"]
        assert line.values[-1] == pytest.approx(finished, rel=1e-4)
        for share, column in ((0.5, "fct_p50_s"), (0.95, "fct_p95_s")):
            at = distributions.QUANTILE_SHARES.index(share)
            assert line.values[at] == pytest.approx(share * finished, rel=1e-4)
            assert line.x[at] == pytest.approx(row[column], rel=1 / 64)
    assert user_experience.build_score_chart(exhibit) is None


def test_scores_are_the_means_of_the_calls_of_each_class(tmp_path, run_example):
    exhibit = ReportedRun.read_folder(run_example(tmp_path / "calls", "calls-in-af", range(1, 2)))
    chart = user_experience.build_score_chart(exhibit)
    assert chart is not None
    assert chart.categories == ["EF", "AF41", "DF"]
    calls = list(exhibit.first_run.calls.rows())
    for prefix, value in zip(("in-ef", "in-af", "in-df"), chart.lines[0].values, strict=True):
        of = [row["mos"] for row in calls if row["flow"].startswith(prefix)]
        assert len(of) == 10
        assert value == pytest.approx(sum(of) / 10, rel=1e-3)


ROUTED = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {A-B: {}, B-C: {}, A-C: {metric: 9}}
routing: {ospf: {}, ldp: {}}
flows: {ping: {agent: echo, from: A, to: C, interval: 50 ms}}
failures: {cut: {link: A-B, at: 1 s}}
run: {duration: 3 s}
"""


def test_a_report_holds_flows_that_are_neither_tcp_nor_udp(tmp_path, run_example):
    """Messages of routing and signalling, and echoes, are watched as UDP is."""
    scenario = tl.loads(ROUTED)
    traced = tl.loads(ROUTED, overrides={"run.trace": True})
    tl.save(tl.run(traced), traced, tmp_path / "traced")
    tl.save(tl.run(scenario), scenario, tmp_path / "routed")
    for folder in (
        tmp_path / "routed",
        tmp_path / "traced",
        run_example(tmp_path / "moved", "make-before-break", [1]),
    ):
        exhibit = ReportedRun.read_folder(folder)
        flows = {str(name) for name in exhibit.first_run.flows["flow"]}
        assert flows & {"ospf", "rsvp-te"}
        written = write_report(folder, tmp_path / "page.html").read_text("utf-8")
        for grid in grids.build_grids(exhibit):
            if grid.rows:
                assert grid.title in written
        (chart,) = [
            each
            for each in charts.build_time_charts(exhibit)
            if each.title == "Throughput of flows"
        ]
        assert flows == {line.name for line in chart.lines}


def test_a_verdict_beside_results_is_on_their_page_with_its_score(tmp_path, run_example):
    """`verify --prove --json` as `verdict.json`: 29 of 30 agree, 45 % would have been caught."""
    folder = run_example(tmp_path / "results", "hello", range(1, 2))
    before = write_report(folder, tmp_path / "before.html").read_text()
    rows = [{"outcome": "agrees"}] * 29 + [{"outcome": "undecided"}]
    network = json.loads((folder / store.NETWORK_FILE).read_text())
    verdict = {
        "scenario": "hello",
        "network": hash_without_probes(network | {"probes": [{"measure": "cwnd"}]}),
        "outcome": "undecided",
        "reference": "linux 6.1",
        "rows": rows,
        "not_compared": ["mean delay, of tcp", "coloured, of a"],
        "power": [{"share": 0.0075}, {"share": None}],
        "proof": {"score": 0.4545},
    }
    document = {"schema": 1, "outcome": "undecided", "verdicts": [verdict]}
    (folder / store.VERDICT_FILE).write_text(json.dumps(document))
    text = write_report(folder, tmp_path / "after.html").read_text()
    for sentence in (
        "29 of 30 comparisons agree with linux 6.1; 2 kinds of values not compared; at most 0.75 % "
        "could have hidden in one",
        "of single mistakes that show, it would have caught 45 %",
    ):
        assert sentence in text.replace("\N{NO-BREAK SPACE}", " ")
        assert sentence not in before
    verdict["network"] = hash_without_probes(network | {"links": network["links"][:1]})
    (folder / store.VERDICT_FILE).write_text(json.dumps(document))
    stale = write_report(folder, tmp_path / "stale.html").read_text()
    assert "is of another network: hello" in stale
    assert "comparisons agree" not in stale
    (folder / store.VERDICT_FILE).write_text("{}")
    with pytest.raises(store.UnreadableResultsError, match="holds no verdict"):
        write_report(folder, tmp_path / "never.html")
    assert not (tmp_path / "never.html").exists()
