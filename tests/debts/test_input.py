"""What a user may write, name or ask for by mistake: one clear answer each, never a traceback.

Every case is the smallest input that once met a traceback, silence or a wrong word.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from trunkline.cli import main
from trunkline.importers import ImportFault, read_tc
from trunkline.report import results_server
from trunkline.report.findings import list_run_facts
from trunkline.report.reported_run import ReportedRun
from trunkline.results import store
from trunkline.study.language.formula import FormulaError, parse_formula

CHAIN: dict[str, Any] = {
    "trunkline": 1,
    "nodes": ["A", "B", "C"],
    "links": {"A-B": {}, "B-C": {}},
    "defaults": {"link": {"rate": "1 Mbit/s", "delay": "1 ms"}},
    "flows": {"voice": {"agent": "udp", "from": "A", "to": "C", "rate": "100 kbit/s"}},
    "run": {"duration": "1 s"},
}


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit status, output and talk of a command, as a shell would see them."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    found = capsys.readouterr()
    return int(ended.value.code or 0), found.out, found.err


def faults(scenario: dict[str, Any]) -> list[str]:
    with pytest.raises(tl.ScenarioError) as caught:
        tl.load(scenario)
    return [f"{each.path}: {each.message}" for each in caught.value.diagnostics]


def doubts(scenario: dict[str, Any]) -> list[str]:
    return [f"{each.path}: {each.message}" for each in tl.load(scenario).warnings]


def test_a_tunnel_that_does_not_exist_is_told_at_its_name() -> None:
    """D1."""
    paths = {"inner": {"route": ["A", "C"], "through": "nosuch", "diffserv": {"map": {"EF": 5}}}}
    assert "paths[inner].through[0]: there is no path nosuch" in faults(CHAIN | {"paths": paths})


@pytest.mark.parametrize("coordinate", ["nan", float("inf"), "-inf"])
def test_a_position_is_finite(coordinate: object) -> None:
    """D2."""
    nodes = {"A": {"position": [0, coordinate]}, "B": {}, "C": {}}
    assert faults(CHAIN | {"nodes": nodes}) == [
        "nodes[A].position[1]: a finite number is expected here"
    ]


def test_an_empty_limit_is_no_limit_by_mistake() -> None:
    """D3."""
    ports = {"p": {"queue": {"limit": []}}}
    assert faults(CHAIN | {"ports": ports}) == [
        "ports[p].queue.limit: a queue limit is one in packets, one in bytes, or one of each"
    ]


@pytest.mark.parametrize(
    "formula", ["good < wait", "a < b and c < d", "1e400 * good", "good + -1e999"]
)
def test_a_column_is_a_finite_number_not_a_comparison(formula: str) -> None:
    """D4."""
    with pytest.raises(FormulaError):
        parse_formula(formula, claim=False)


class TestDamagedResults:
    """D5."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        scenario = tl.load(CHAIN)
        network = tl.compile(scenario).to_json()
        return store.write_results([tl.run(scenario)], tmp_path / "results", network_json=network)

    @pytest.mark.parametrize("table", ["flows.parquet", "ports.parquet"])
    def test_a_truncated_table(self, folder: Path, table: str) -> None:
        content = (folder / table).read_bytes()
        (folder / table).write_bytes(content[: len(content) // 2])
        with pytest.raises(store.UnreadableResultsError, match=f"{table} is damaged"):
            store.read_results(folder)

    def test_a_table_of_another_program(self, folder: Path) -> None:
        import polars as pl

        frame = pl.read_parquet(folder / "flows.parquet")
        strange = frame.select(pl.all().cast(pl.String))
        strange.write_parquet(folder / "flows.parquet")
        with pytest.raises(store.UnreadableResultsError, match="another program"):
            store.read_results(folder)

    @pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 100_000])
    def test_a_network_that_is_none(
        self, folder: Path, content: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "network.json").write_text(content, "utf-8")
        with pytest.raises(store.UnreadableResultsError, match=r"network\.json is damaged"):
            ReportedRun.read_folder(folder)
        status, _, talk = command(capsys, "report", str(folder))
        assert (status, "Traceback" in talk) == (2, False)
        assert "network.json is damaged" in talk

    @pytest.mark.parametrize("content", ["", "[]", "[" * 100_000])
    def test_a_record_that_is_none(self, folder: Path, content: str) -> None:
        (folder / "run.json").write_text(content, "utf-8")
        with pytest.raises(store.UnreadableResultsError, match=r"run\.json is damaged"):
            store.read_results(folder)

    def test_a_manifest_nested_beyond_measure(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "manifest.json").write_text("[" * 100_000, "utf-8")
        status, _, talk = command(capsys, "study", "status", str(tmp_path))
        assert (status, "Traceback" in talk) == (2, False)
        assert "manifest.json is damaged" in talk


class TestScriptsOfTc:
    """D6."""

    def test_variables_that_grow_without_bound(self) -> None:
        lines = ["A=xxxxxxxx"] + [
            f"{new}={f'${old}' * 8}" for old, new in zip("ABCDEFG", "BCDEFGH", strict=False)
        ]
        with pytest.raises(ImportFault, match="variables expand to more than 1000000 characters"):
            read_tc("\n".join([*lines, "tc qdisc add dev $H root pfifo"]))

    def test_a_filter_by_a_mark_that_nothing_sets_is_noted(self) -> None:
        made = read_tc(
            "tc qdisc add dev eth0 root handle 1: prio\n"
            "tc filter add dev eth0 parent 1: prio 1 handle 7 fw classid 1:1\n"
            "tc filter add dev eth0 parent 1: prio 1 handle 8 fw classid 1:1\n"
            "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 8\n"
        )
        noted = made.account.assumed[0]
        assert (noted.line, noted.element) == (2, "handle 7 fw")
        assert "nothing in this file sets mark 7" in noted.reason

    def test_all_that_is_not_read_is_told_at_once(self) -> None:
        """What is missed because of a refused command is no fault of its own."""
        with pytest.raises(ImportFault) as caught:
            read_tc(
                "tc qdisc add dev eth0 root handle 1: prio\n"
                "tc qdisc add dev eth0 parent 1:1 handle 2: choke\n"
                "tc filter add dev eth0 parent 2: prio 1 matchall action drop\n"
                "tc filter add dev eth0 parent 1: prio 1 u32 match ip protocol 1 0xff classid 1:1\n"
                "tc filter add dev eth0 parent 1: prio 2 basic match ipset(a src) classid 1:1\n"
                "tc filter add dev eth0 parent 1: prio 3 matchall action mirred egress\n"
            )
        lines = caught.value.render("old.sh").splitlines()
        # Of ICMP alone no packet is taken (line 4): that is left out, not refused.
        assert [line.split(":")[1] for line in lines] == ["2", "5", "6"]
        assert all(line.startswith("old.sh:") for line in lines)


class TestKeysThatDoNothing:
    """D8."""

    @pytest.mark.parametrize("flow", ["voice", "all"])
    @pytest.mark.parametrize("measure", ["cwnd", "ssthresh", "srtt", "state"])
    def test_a_udp_flow_has_no_window(self, flow: str, measure: str) -> None:
        probes = [{"measure": measure, "flow": flow, "every": "100 ms"}]
        assert faults(CHAIN | {"probes": probes}) == [
            f"probes[0].flow[0]: a UDP flow has no {measure}"
        ]

    def test_windows_of_all_flows_are_those_of_the_tcp_flows(self) -> None:
        flows = CHAIN["flows"] | {"bulk": {"agent": "tcp", "from": "A", "to": "C"}}
        probes = [{"measure": "cwnd", "flow": "all", "every": "100 ms"}]
        assert doubts(CHAIN | {"flows": flows, "probes": probes}) == []

    def test_a_step_longer_than_the_run_is_doubted(self) -> None:
        probes = [{"measure": "throughput", "flow": "voice", "every": "2 s"}]
        scenario = CHAIN | {"probes": probes}
        assert doubts(scenario) == [
            "probes[0].every: the run ends before the first step does: nothing is recorded"
        ]
        assert len(tl.run(tl.load(scenario)).tables["series"]) == 0


class TestWords:
    """D9."""

    TEXT = "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 10 kbps}}\nrun: {duration: 10 ms}\n"

    def test_bps_is_answered_in_the_unit_that_was_meant(self) -> None:
        assert [each.hint for each in tl.loads(self.TEXT).warnings] == ["write 10 kbit/s"]

    def test_a_warning_shows_its_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "slow.yaml"
        file.write_text(self.TEXT, "utf-8")
        status, _, talk = command(capsys, "compile", str(file))
        assert status == 0
        assert "  3 | links: {A-B: {rate: 10 kbps}}\n    |" in talk
        assert "^^^^^^^ given 10 kbps" in talk

    def test_of_very_many_errors_the_first_are_shown_and_the_rest_counted(self) -> None:
        keys = "".join(f"key{number}: 1\n" for number in range(4_000))
        with pytest.raises(tl.ScenarioError) as caught:
            tl.loads(self.TEXT + keys)
        text = caught.value.render()
        assert len(caught.value.diagnostics) == 4_001
        assert text.endswith("\n\n... and 3951 more")
        assert len(text) < 50_000

    def test_the_version_is_an_option_too(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command(capsys, "--version") == (0, f"trunkline {tl.__version__}\n", "")


class TestServer:
    """D10."""

    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[results_server.ResultsServer]:
        (tmp_path / "large.csv").write_bytes(b"0123456789" * 300_000)
        (tmp_path / "page.html").write_text("<p>hello</p>", "utf-8")
        made = results_server.ResultsServer(tmp_path)
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        made.stopping.set()
        made.shutdown()
        thread.join()
        made.server_close()

    def ask(
        self, server: results_server.ResultsServer, path: str, method: str = "GET"
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        connection.request(method, f"/{server.token}/{path}")
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, dict(answer.getheaders())

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("files/%ff.csv", 400),
            (f"files/{'a' * 300}.csv", 404),
            (f"files/{'%C3%A4' * 200}.csv", 404),
            (f"files/{'a/' * 3000}b.csv", 404),
        ],
    )
    def test_names_that_no_file_has_are_answered(
        self, server: results_server.ResultsServer, path: str, status: int
    ) -> None:
        assert self.ask(server, path)[0] == status

    def test_files_come_piece_by_piece_and_whole(
        self, server: results_server.ResultsServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read into memory"))
        status, content, headers = self.ask(server, "files/large.csv")
        assert (status, headers["Content-Length"]) == (200, "3000000")
        assert content == b"0123456789" * 300_000

    def test_a_page_of_the_folder_fetches_nothing(
        self, server: results_server.ResultsServer
    ) -> None:
        policy = self.ask(server, "files/page.html")[2]["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "sandbox" in policy

    @pytest.mark.parametrize("path", ["", "files/large.csv", "files/none.csv", "events"])
    def test_head_is_get_without_content(
        self, server: results_server.ResultsServer, path: str
    ) -> None:
        """RFC 9110 section 9.3.2."""
        status, content, headers = self.ask(server, path, "HEAD")
        assert content == b""
        if path != "events":
            of_get = self.ask(server, path)
            assert (status, headers["Content-Length"]) == (of_get[0], str(len(of_get[1])))


class TestWaysThatAreDown:
    """D11."""

    RING: dict[str, Any] = CHAIN | {
        "links": {"A-B": {}, "B-C": {}, "A-C": {"metric": 3}},
        "failures": {"cut": {"link": "B-C", "at": "0 s"}},
    }
    LOST = "flows[voice]: the way of flow voice to C is down in the whole run: nothing arrives"

    def test_a_flow_over_a_link_that_is_down_from_the_start(self) -> None:
        assert doubts(self.RING) == [self.LOST]
        assert tl.run(tl.load(self.RING)).flows.where(flow="voice")["packets_delivered"] == 0

    def test_rerouting_finds_the_other_way(self) -> None:
        scenario = self.RING | {"rerouting": {"spf_delay": "10 ms"}}
        assert doubts(scenario) == []
        assert tl.run(tl.load(scenario)).flows.where(flow="voice")["packets_delivered"] > 0

    def test_rerouting_finds_none_where_there_is_none(self) -> None:
        links = {"A-B": {}, "B-C": {}}
        assert doubts(self.RING | {"links": links, "rerouting": {}}) == [self.LOST]

    def test_a_repair_within_the_run_is_no_doubt(self) -> None:
        failures = {"cut": {"link": "B-C", "at": "0 s", "repair": "500 ms"}}
        assert doubts(self.RING | {"failures": failures}) == []

    def test_a_trunk_on_a_path_without_protection(self) -> None:
        lsps = {"paths": {"p": {"route": ["A", "B", "C"]}, "q": {"route": ["A", "C"]}}}
        trunks = {"trunks": {"t": {"path": "p", "flows": "voice"}}}
        scenario = self.RING | lsps | trunks
        assert doubts(scenario) == [self.LOST]
        backup = {"protections": {"b": {"path": "p", "kind": "backup", "backup": "q"}}}
        assert doubts(scenario | backup) == []

    def test_a_report_points_out_a_path_without_protection(self) -> None:
        scenario = tl.load(
            self.RING
            | {
                "paths": {"p": {"route": ["A", "B", "C"]}, "q": {"route": ["A", "C"]}},
                "trunks": {"t": {"path": "p", "flows": "voice"}},
                "failures": {"cut": {"link": "B-C", "at": "500 ms"}},
            }
        )

        def found(scenario: tl.Scenario) -> list[str]:
            network = json.loads(tl.compile(scenario).to_json())
            facts = list_run_facts(ReportedRun("", "", network, [tl.run(scenario)]))
            return [f"{each.text}: {each.detail}" for each in facts if "protection" in each.text]

        assert found(scenario) == [
            "Path p has no protection: it crosses B->C, which failure cut takes down"
        ]
        guarded = tl.Scenario.model_validate(
            scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
            | {"protections": {"b": {"path": "p", "kind": "backup", "backup": "q"}}}
        )
        assert not any("has no protection" in each for each in found(guarded))


def test_text_of_one_line_is_text() -> None:
    """A one-line text given to `load` is taken for the name of a file."""
    text = "{trunkline: 1, nodes: [A], run: {duration: 1 s}}"
    assert tl.loads(text).run.duration == 10**9
    with pytest.raises(tl.ScenarioError, match="cannot be read"):
        tl.load(text)
