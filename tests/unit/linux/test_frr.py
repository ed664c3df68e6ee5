"""FRR's configurations from a scenario, what FRR lacks, and what its routers are seen to do."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import struct
import time
from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.linux.guest import frr_daemons
from trunkline.linux.guest.readiness import RunnerNotReady, choose_runner
from trunkline.linux.judge.control_plane import compute_margin_s, find_last_routes
from trunkline.linux.judge.label_comparison import compare_labels
from trunkline.linux.outcome import label_use, routing_daemons
from trunkline.linux.plan.agent_orders import write_orders
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.command_target import GUEST_TARGET
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan as plan_of
from trunkline.linux.plan.dry_run import LabelChange
from trunkline.network import compile
from trunkline.scenario import load

SQUARE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-T: {}, S-B: {metric: 2}, B-T: {metric: 2}}
flows: {f: {agent: udp, from: S, to: T, rate: 80 kbit/s, size: 500 B}}
failures: {cut: {link: A-T, at: 1 s, repair: 2 s}}
routing: {ospf: {OSPF}}
run: {duration: 4 s}
"""
GROUND = replace(GUEST_TARGET, control="frr")


def planned(ospf: str = "{}", text: str = SQUARE) -> CompiledPlan:
    written = text.replace("{OSPF}", ospf)
    return plan_of(compile(load(written)).to_json(), target=GROUND)


def labelled(ldp: str = "{}") -> str:
    return SQUARE.replace("{ospf: {OSPF}}", f"{{ospf: {{OSPF}}, ldp: {ldp}}}")


def reasons(ospf: str, text: str = SQUARE) -> str:
    with pytest.raises(UnsupportedError) as refused:
        planned(ospf, text)
    return str(refused.value)


class TestConfiguration:
    def test_rfc2328_appendix_c3_interfaces_have_the_links_cost_and_timers(self) -> None:
        timers = "{hello: 2 s, dead: 7 s, resend: 3 s, lsa_interval: 400 ms}"
        lines = planned(timers).schedules["n0.ospfd.conf"].decode().splitlines()
        at = lines.index("interface l2a")
        assert {
            " ip ospf network point-to-point",
            " ip ospf cost 2",
            " ip ospf hello-interval 2",
            " ip ospf dead-interval 7",
            " ip ospf retransmit-interval 3",
        } <= set(lines[at : lines.index("exit", at)])
        assert " timers throttle lsa all 400" in lines
        # RFC 2328 appendix B: an LSA may come no sooner than MinLSArrival, or all were discarded.
        assert " timers lsa min-arrival 400" in lines

    def test_the_back_off_is_that_of_the_scenario_in_milliseconds(self) -> None:
        spf = "{spf: {kind: backoff, initial: 20 ms, second: 300 ms, maximum: 2 s}}"
        text = planned(spf).schedules["n3.ospfd.conf"].decode()
        assert " timers throttle spf 20 300 2000\n" in text

    def test_each_router_starts_zebra_before_ospfd_and_has_no_route_of_the_plan(self) -> None:
        made = planned()
        expected = [(each.node, each.command[0]) for each in made.plan.daemons]
        assert expected[:4] == [("n0", "zebra"), ("n0", "ospfd"), ("n1", "zebra"), ("n1", "ospfd")]
        assert not [line for node in made.plan.nodes for line in node.ip if "route add" in line]
        orders = write_orders(made.plan).decode()
        assert "\ndaemon n0 /tmp/n0/zebra.log zebra -d " in orders
        assert f"\nsettle {made.plan.settle_ns}\n" in orders

    def test_a_device_goes_down_when_its_node_notices_and_comes_up_with_its_neighbour(self) -> None:
        detection = "{detection: {kind: loss-of-signal, delay: 30 ms}}"
        done = [
            (each.at_ns, each.node, each.line)
            for each in planned(detection).plan.changes
            if "down" in each.line.split() or "neigh" in each.line or each.line.endswith(" up")
        ]
        down, up = 1_030_000_000, 2_030_000_000
        assert {each[:2] for each in done} == {(at, node) for at in (down, up) for node in _ENDS}
        assert (down, "n1", "link set l1a down") in done
        assert (up, "n3", "link set l1b up") in done
        neighbour = "neigh replace 10.0.0.5 lladdr 02:00:00:00:01:01 dev l1b nud permanent"
        assert (up, "n3", neighbour) in done

    def test_rfc5036_s3_5_2_ldpd_has_the_scenarios_timers_and_an_address_of_its_node(self) -> None:
        timers = "{control: ordered, hello: 2 s, hello_hold: 6 s, keepalive: 30 s}"
        made = planned(text=labelled(timers))
        lines = made.schedules["n1.ldpd.conf"].decode().splitlines()
        own = made.traffic.route_addresses.get_address(1, 0)
        assert {
            f" router-id {own}",
            " ordered-control",
            f"  discovery transport-address {own}",
            "  discovery hello interval 2",
            "  discovery hello holdtime 6",
            "  session holdtime 30",
            "  label local allocate host-routes",
            "  interface l0b",
            "  interface l1a",
        } <= set(lines)
        (daemon,) = [
            each.command
            for each in made.plan.daemons
            if each.node == "n1" and each.command[0] == "ldpd"
        ]
        assert daemon[daemon.index("--ctl_socket") + 1] == "/tmp/n1"
        (node,) = [each for each in made.plan.nodes if each.name == "n1"]
        assert ("net/mpls/conf/l1a/input", "1") in node.sysctls

    def test_rfc6720_ldpd_looks_at_the_ttl_of_segments_if_the_scenario_does(self) -> None:
        for gtsm, off in (("on", 0), ("off", 1)):
            made = planned(text=labelled(f"{{gtsm: {gtsm}}}"))
            lines = made.schedules["n1.ldpd.conf"].decode().splitlines()
            assert lines.count("  ttl-security disable") == off

    def test_without_ldp_there_is_no_ldpd(self) -> None:
        assert {each.command[0] for each in planned().plan.daemons} == {"zebra", "ospfd"}


_ENDS = ("n1", "n3")


class TestLacking:
    @pytest.mark.parametrize(
        ("ospf", "expected"),
        [
            ("{fib_update: 10 ms}", "fib_update: zebra has its own delay; nearest: 0 s"),
            ("{compute: 1 ms}", "compute: the daemons take no time in virtual time"),
            ("{processing: 1 ms}", "processing: the daemons take no time in virtual time"),
            ("{hello: 0 s}", "hello: FRR finds its neighbours by hellos; nearest: 10 s"),
            ("{hello: 2500 ms}", "hello: FRR counts whole seconds; nearest: 2 s"),
            ("{lsa_interval: 6 s}", "lsa_interval: FRR takes 0 to 5000 ms; nearest: 5 s"),
            ("{spf: {kind: rfc8405}}", "spf: FRR's ospfd has no rfc8405; nearest: backoff"),
        ],
    )
    def test_what_frr_has_not_is_refused_with_what_is_nearest(
        self, ospf: str, expected: str
    ) -> None:
        assert expected in reasons(ospf)

    def test_a_network_without_ospf_is_refused(self) -> None:
        text = SQUARE.replace("routing: {ospf: {OSPF}}\n", "")
        assert "FRR routes by OSPF here" in reasons("", text)

    def test_paths_and_tcp_are_refused(self) -> None:
        text = SQUARE.replace("agent: udp, from: S, to: T, rate: 80 kbit/s, size: 500 B", "TCP")
        text = text.replace("TCP", "agent: tcp, from: S, to: T")
        text += "paths: {p: {route: [S, A, T]}}\n"
        expected = reasons("{}", text)
        assert "labels over a device that goes down are lost" in expected
        assert "flow f: what TCP takes from its route" in expected

    @pytest.mark.parametrize(
        ("ldp", "expected"),
        [
            ("{start: 1 s}", "start: the daemons run before time zero; nearest: 0 s"),
            ("{keepalive: 9 s}", "keepalive: FRR takes 15 s or more; nearest: 15 s"),
            ("{retry: 20 s}", "retry: FRR's is set; nearest: 15 s"),
            ("{hello: 1500 ms}", "hello: FRR counts whole seconds; nearest: 1 s"),
            ("{igp_sync: on}", "igp_sync: FRR's is not set up here; nearest: off"),
        ],
    )
    def test_what_ldpd_has_not_is_refused_with_what_is_nearest(
        self, ldp: str, expected: str
    ) -> None:
        assert expected in reasons("{}", labelled(ldp))

    def test_a_delay_of_the_router_at_the_cut_is_refused(self) -> None:
        assert "local_delay: FRR's ospfd has none" in reasons("{local_delay: 1 s}")

    def test_a_drain_by_metric_is_refused(self) -> None:
        window = "maintenance: {work: {link: S-A, from: 1 s, to: 2 s}}\n"
        assert "nothing drains the link; nearest: drain: none" in reasons("{}", SQUARE + window)

    def test_without_control_ospf_is_refused_and_names_the_option(self) -> None:
        with pytest.raises(UnsupportedError, match="nearest: --control frr"):
            plan_of(compile(load(SQUARE.replace("{OSPF}", "{}"))).to_json())

    def test_daemons_that_are_not_there_are_named_with_what_fetches_them(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        if Path("/usr/lib/frr/ospfd").exists():
            pytest.skip("this system has FRR")
        with pytest.raises(RunnerNotReady, match="ospfd: trunkline linux setup --control frr"):
            choose_runner(None, "frr")


ZERO = 100 * 10**9
"""The guest's clock at time zero, 00:01:40."""


def left(folder: Path, changes: dict[int, list[str]], shown: dict[int, list[str]]) -> Path:
    for node in range(4):
        text = "".join(f"{line}\n" for line in changes.get(node, []))
        (folder / f"n{node}.changes").write_text(f"{ZERO}\n{text}")
        (folder / f"n{node}.routes").write_text("".join(f"{e}\n" for e in shown.get(node, [])))
        (folder / f"n{node}.ospfd.log").write_text("")
    return folder


def via(address: str, far: str, device: str) -> str:
    return f"{address} nhid 9 via {far} dev {device} proto ospf metric 20 "


class TestWaiting:
    def test_a_poll_that_finds_nothing_waits_and_one_that_finds_something_does_not(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        if shutil.which("gcc") is None:
            pytest.skip("no compiler")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        place = tmp_path / "trunkline" / "linux" / "frr" / "root"
        place.mkdir(parents=True)
        frr_daemons.compile_poll()
        ppoll = ctypes.CDLL(str(place / "poll.so")).ppoll
        reading, writing = os.pipe()
        # struct pollfd {int fd; short events, revents;}, struct timespec {long s, ns;}
        wanted = struct.Struct("ihh")
        files = ctypes.create_string_buffer(wanted.pack(reading, select.POLLIN, 0))
        at_once = ctypes.create_string_buffer(struct.pack("ll", 0, 0))
        before = time.monotonic_ns()
        assert ppoll(files, 1, at_once, None) == 0
        assert time.monotonic_ns() - before >= 5000
        # The caller's time is as it was: FRR may use it again.
        assert at_once.raw[:16] == struct.pack("ll", 0, 0)
        os.write(writing, b"1")
        assert ppoll(files, 1, at_once, None) == 1
        assert wanted.unpack(files.raw[: wanted.size]) == (reading, select.POLLIN, select.POLLIN)


class TestOutcome:
    def test_routes_are_followed_from_before_time_zero_to_the_end(self, tmp_path: Path) -> None:
        made = planned()
        target = made.traffic.route_addresses.get_address(3, 0)
        first, then = via(target, "10.0.0.2", "l0a"), via(target, "10.0.0.10", "l2a")
        changes = [
            f"[1970-01-01T00:01:02.000001] {first}",
            "[1970-01-01T00:01:41.500000] broadcast 10.0.0.7 dev l1a table local proto kernel",
            f"[1970-01-01T00:01:41.072238] {then}",
        ]
        found = routing_daemons.read_routes(made, left(tmp_path, {0: changes}, {0: [then]}))
        out = {
            side.device: link
            for link, side in enumerate(made.wiring.sending_ends)
            if side.node == 0
        }
        assert found.first == {(0, 3): out["l0a"]}
        assert found.last == {(0, 3): out["l2a"]}
        assert found.steps == [routing_daemons.RouteStep(1_072_238_000, 0, 3, out["l2a"])]

    def test_a_device_that_goes_down_takes_its_routes_though_the_kernel_says_nothing(
        self, tmp_path: Path
    ) -> None:
        made = planned()
        target = made.traffic.route_addresses.get_address(3, 0)
        before = f"[1970-01-01T00:01:02.000001] {via(target, '10.0.0.6', 'l1a')}"
        after = f"[1970-01-01T00:01:41.070000] {via(target, '10.0.0.1', 'l0b')}"
        found = routing_daemons.read_routes(made, left(tmp_path, {1: [before, after]}, {}))
        assert [(step.time_ns, step.link < 0) for step in found.steps] == [
            (1_010_000_000, True),
            (1_070_000_000, False),
        ]

    def test_the_timeline_has_the_simulators_failures_and_the_daemons_steps(
        self, tmp_path: Path
    ) -> None:
        made = planned()
        folder = left(tmp_path, {}, {})
        log = [
            "1970/01/01 00:01:41.010000 OSPF: [P1M54-723X6] "
            "LSA[Type1,id(10.255.0.2),ar(10.255.0.2)]: Install router-LSA to Area 0.0.0.0",
            "1970/01/01 00:01:41.014100 OSPF: [P1M54-723X6] "
            "LSA[Type1,id(10.255.0.4),ar(10.255.0.4)]: Install router-LSA to Area 0.0.0.0",
            "1970/01/01 00:01:41.060000 OSPF: [S1FG7-WJ415] "
            "ospf_spf_calculate: Start: running Dijkstra for area 0.0.0.0",
        ]
        (folder / "n1.ospfd.log").write_text("\n".join(log))
        rows = routing_daemons.read_timeline(made, folder)
        from trunkline import _core
        from trunkline.results.decode.columns import RawRows

        table = RawRows(rows)
        expected = [
            (time, _core.TIMELINE_EVENTS[event])
            for time, event, node in zip(
                table["time_ns"], table["event"], table["node"], strict=True
            )
            if node == 1 and time < 2 * 10**9
        ]
        assert (
            expected
            == [
                (1_010_000_000, "detected"),
                (1_010_000_000, "lsa-originated"),
                (1_014_100_000, "lsa-learnt"),
                (1_060_000_000, "spf"),
                (1_010_000_000, "rerouted"),
            ][: len(expected)]
        )


class TestLabels:
    """A to T by S and B after the cut: FRR's labels are 16 to 18, the simulator's from 300000."""

    @staticmethod
    def kernel(folder: Path, swap: str) -> dict[label_use.NodeFec, label_use.LabelUse]:
        made = planned(text=labelled())
        end = made.traffic.route_addresses.get_address(3, 0)
        left(folder, {}, {1: [f"{end} nhid 9  encap mpls  18 via 10.0.0.1 dev l0b proto ospf "]})
        for node in range(4):
            (folder / f"n{node}.labels").write_text("")
            (folder / f"n{node}.ldpd.log").write_text("")
        (folder / "n1.labels").write_text(f"16 as to {swap} via inet 10.0.0.1 dev l0b proto 193 \n")
        shown_text = (
            "1970/01/01 00:01:41 LDP: msg[out]: label mapping: lsr-id 1.1.1.1, fec {}/32, label {}"
        )
        (folder / "n1.ldpd.log").write_text(shown_text.format(end, 16))
        (folder / "n0.ldpd.log").write_text(shown_text.format(end, 18))
        return label_use.read_kernel_labels(made, folder)

    def test_rfc3031_s3_10_a_label_counts_if_the_next_hop_has_told_it(self, tmp_path: Path) -> None:
        (key,) = found = self.kernel(tmp_path, "18")
        assert key == (1, 3)
        assert found[key][1:] == ("label", "label")

    def test_a_label_that_the_next_hop_has_not_told_is_another(self, tmp_path: Path) -> None:
        found = self.kernel(tmp_path, "17")
        assert found[1, 3][1:] == ("label", "label 17, not 18")

    def test_the_simulators_labels_at_the_end_are_those_that_came_last(self) -> None:
        rows = [
            LabelChange(5, 1, 3, 300_002, 2, 3),
            LabelChange(70, 1, 3, 300_002, -1, -1),
            LabelChange(80, 1, 3, 300_002, 1, 300_002),
            LabelChange(95, 1, 3, 300_002, 2, 3),
        ]
        assert label_use.read_simulator_labels(rows, 90) == {
            (1, 3): label_use.LabelUse(1, "label", "label")
        }
        assert label_use.read_simulator_labels(rows, 75) == {}
        assert label_use.read_simulator_labels(rows, 60) == {
            (1, 3): label_use.LabelUse(2, label_use.NO_LABEL, label_use.NO_LABEL)
        }

    def test_a_route_written_anew_with_the_same_label_is_no_change(self, tmp_path: Path) -> None:
        made = planned(text=labelled())
        end = made.traffic.route_addresses.get_address(3, 0)
        with_label = f"{end} nhid 8  encap mpls  18 via 10.0.0.1 dev l0b proto ospf "
        shown_text = [
            f"[1970-01-01T00:01:30.000000] {with_label}",
            f"[1970-01-01T00:01:41.070000] {via(end, '10.0.0.1', 'l0b')}",
            f"[1970-01-01T00:01:41.080000] {with_label}",
        ]
        left(tmp_path, {1: shown_text}, {})
        seen = label_use.read_label_changes(made, tmp_path, 1)
        assert [each.time_ns for each in seen] == [-10 * 10**9, 1_070_000_000, 1_080_000_000]
        others = {node: [] for node in (0, 2, 3)}
        data = json.loads(compile(load(labelled().replace("{OSPF}", "{}"))).to_json())
        rows = compare_labels(data, made.dry_run, {}, {1: seen, **others}, 0.025)
        # The simulator's A has another next hop after the cut; here the kernel's has what it had.
        assert [row.difference for row in rows if row.measure == "changes of labels"][1] == -1.0


class TestJudgement:
    def test_rfc2328_s10_5_a_repaired_neighbour_waits_for_a_hello(self) -> None:
        data = json.loads(compile(load(SQUARE.replace("{OSPF}", "{hello: 3 s}"))).to_json())
        assert compute_margin_s(data, "failure at 1 s") == pytest.approx(0.014)
        assert compute_margin_s(data, "repair at 2 s") == pytest.approx(0.014 + 3 + 5 + 0.2)

    def test_the_simulators_last_routes_follow_its_changes(self) -> None:
        text = SQUARE.replace(", repair: 2 s", "")
        made = planned(text=text)
        data = json.loads(compile(load(text.replace("{OSPF}", "{}"))).to_json())
        last = find_last_routes(data, made.dry_run)
        links = {link["name"]: index for index, link in enumerate(data["links"])}
        assert (last[0, 3], last[1, 3]) == (links["S->B"], links["A->S"])
        assert len(last) == 12
