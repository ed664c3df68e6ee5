"""Networks as commands: labels, classes, traffic classes, queues, and what the kernel lacks."""

from __future__ import annotations

import pytest

from trunkline.linux.plan.command_script import UnsupportedError, UnsupportedFeature
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan as plan_of
from trunkline.network import compile
from trunkline.scenario import load

DIFFSERV = """\
trunkline: 1
nodes: [S, A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, port: phb}}
links: {S-A: {}, A-B: {}, B-C: {}, C-D: {}}
ports:
  phb:
    scheduler: priority
    classify:
      - {dscp: EF, class: EF}
      - {dscp: AF12, class: AF1, precedence: 1}
    classes: {EF: {}, AF1: {}, default: {}}
paths:
  e: {route: [A, B, C], php: PHP, diffserv: {kind: e-lsp, map: {DF: 0, EF: 5}}}
  l: {route: [A, B, C], php: PHP, diffserv: {kind: l-lsp, scheduling_class: AF1}}
trunks:
  rest: {path: e, flows: all}
  af1: {path: l, flows: all, dscp: [AF12]}
flows:
  voice: {agent: udp, from: S, to: D, rate: 1 Mbit/s, dscp: EF}
  data: {agent: udp, from: S, to: D, rate: 8 Mbit/s, dscp: AF12}
run: {duration: 10 ms}
"""
LINE = """\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s, delay: 1 ms, {link}}}}}
ports: {{one: {{{port}}}}}
flows: {{cbr: {{agent: udp, from: A, to: B, rate: 1 Mbit/s}}}}
run: {{duration: 10 ms}}
"""


def planned(text: str) -> CompiledPlan:
    return plan_of(compile(load(text)).to_json())


def line(port: str, link: str = "port: one") -> CompiledPlan:
    return planned(LINE.format(port=port, link=link))


def tc(compiled: CompiledPlan, node: int) -> list[str]:
    return list(compiled.plan.nodes[node].tc)


class TestRfc3031:
    def test_s3_11_ftn_entries_are_routes_with_labels(self) -> None:
        ip = planned(DIFFSERV.replace("PHP", "true")).plan.nodes[1].ip
        assert "route add 10.128.0.1/32 table 100 encap mpls 16 via inet 10.0.0.6 dev l1a" in ip
        # DSCP 46 is 0x2e: the mark of what comes with EF.
        assert "rule add fwmark 0x12e/0xfff to 10.128.0.1/32 table 100" in ip
        assert "rule add fwmark 0x10c/0xfff to 10.128.0.1/32 table 101" in ip

    def test_s3_16_the_last_but_one_node_pops(self) -> None:
        popped = planned(DIFFSERV.replace("PHP", "true")).plan.nodes[2].mpls
        assert popped == (
            "route add 16 via inet 10.0.0.10 dev l2a",
            "route add 17 via inet 10.0.0.10 dev l2a",
        )

    def test_s3_10_labels_are_swapped_and_popped_at_the_end(self) -> None:
        nodes = planned(DIFFSERV.replace("PHP", "false")).plan.nodes
        assert nodes[2].mpls[0] == "route add 16 as 16 via inet 10.0.0.10 dev l2a"
        assert nodes[3].mpls == ("route add 16 dev lo", "route add 17 dev lo")
        assert ("net/mpls/conf/l2b/input", "1") in nodes[3].sysctls


class TestRfc3270:
    def test_s3_2_the_ingress_writes_tc_by_dscp_below_the_label(self) -> None:
        # EF on label 16: TC 5. The DSCP is in the second byte behind a label of 4 B; 46 << 2.
        lines = tc(planned(DIFFSERV.replace("PHP", "true")), 1)
        match = "match u32 0x00010000 0xfffff000 at 0 match u8 0xb8 0xfc at 5"
        (found,) = [each for each in lines if match in each]
        assert "action mpls modify tc 5 pipe action skbedit priority 10:1" in found

    def test_s3_3_a_swap_writes_back_the_tc_that_the_packet_came_with(self) -> None:
        lines = tc(planned(DIFFSERV.replace("PHP", "false")), 2)
        # The first entry of the node, TC 5: mark 0x1000 + 5.
        assert any(
            "dev l1b ingress" in each and "mpls_label 16 mpls_tc 5" in each and "0x1005" in each
            for each in lines
        )
        (found,) = [each for each in lines if "match mark 0x1005 " in each]
        assert "dev l2a egress protocol mpls_uc" in found
        assert "mpls modify tc 5 pipe action skbedit priority 10:1" in found

    def test_linux_tc_zero_leaves_the_kernels_zeros(self) -> None:
        text = DIFFSERV.replace("PHP", "false").replace(
            "kind: e-lsp", "linux_tc_zero: true, kind: e-lsp"
        )
        lines = [each for node in (1, 2) for each in tc(planned(text), node)]
        # Neither its push (label 16) nor its swap (mark 0x1005) gets a TC; the other's do.
        written = [each for each in lines if "mpls modify tc" in each]
        assert not [
            each for each in written if "0x00010000" in each or "match mark 0x1005 " in each
        ]
        assert [each for each in written if "0x00011000" in each]
        assert [each for each in written if "match mark 0x100a " in each]


class TestPorts:
    def test_a_fifo_is_a_link_an_htb_with_a_wire_behind_it(self) -> None:
        lines = tc(line("queue: {limit: 50 packets}"), 0)
        assert lines[:3] == [
            "qdisc add dev l0a root handle 1: stab overhead -14 linklayer ethernet htb default 1",
            # A bucket of one microsecond: 10 Mbit/s * 1 us = 1.25 B.
            "class add dev l0a parent 1: classid 1:1 htb rate 10000000bit ceil 10000000bit "
            "burst 2b cburst 2b quantum 60000",
            "qdisc add dev l0a parent 1:1 handle 100: pfifo limit 50",
        ]
        assert (
            "qdisc add dev w0b root handle 1: netem limit 1000000 delay 1000.000us "
            "rate 10000000bit -14"
        ) in tc(line("queue: {limit: 50 packets}"), 1)

    def test_bytes_are_those_of_the_scenarios_link(self) -> None:
        assert "stab overhead 4 " in tc(line("", "port: one, header: 18 B"), 0)[0]
        assert "stab" not in tc(line("", "port: one, header: 14 B"), 0)[0]

    def test_what_is_in_service_has_left_the_kernels_queue(self) -> None:
        lines = tc(line("queue: {limit: 50 packets, counts_in_service: true}"), 0)
        assert "pfifo limit 49" in lines[2]

    def test_quanta_of_drr_are_those_of_the_engine(self) -> None:
        port = (
            "scheduler: drr, classes: {a: {weight: 2}, b: {weight: 1}, default: {quantum: 700 B}}"
        )
        lines = " ".join(tc(line(port), 0))
        for classid, quantum in (("10:1", 3000), ("10:2", 1500), ("10:3", 700)):
            assert f"classid {classid} drr quantum {quantum}" in lines

    def test_htb_is_a_tree_below_the_links_own_class(self) -> None:
        port = (
            "scheduler: htb, classes: {all: {rate: 4 Mbit/s, burst: 2 kB, cburst: 2 kB}, "
            "default: {parent: all, rate: 1 Mbit/s, ceil: 4 Mbit/s, burst: 5 kB, cburst: 2 kB, "
            "priority: 3}}"
        )
        lines = tc(line(port), 0)
        assert lines[2:5] == [
            "qdisc add dev l0a parent 1:1 handle 10: htb",
            # Quanta are Linux's own: rate / 8 / 10, 1000 to 200000 B.
            "class add dev l0a parent 10: classid 10:1 htb rate 4000000bit ceil 4000000bit "
            "burst 2000b cburst 2000b prio 0 quantum 50000",
            "class add dev l0a parent 10:1 classid 10:2 htb rate 1000000bit ceil 4000000bit "
            "burst 5000b cburst 2000b prio 3 quantum 12500",
        ]

    def test_red_gets_its_parameters_as_they_are(self) -> None:
        red = (
            "queue: {limit: 60 kB, aqm: {kind: red-linux, min: 10 kB, max: 30 kB, avpkt: 1000 B, "
            "burst: 17 packets, bandwidth: 10 Mbit/s, probability: 0.1, idle_ageing: false}}"
        )
        made = line(red)
        assert (
            "red limit 60000 min 10000 max 30000 avpkt 1000 burst 17 bandwidth 10000000bit "
            "probability 0.100000000"
        ) in tc(made, 0)[2]
        assert made.notes == ()

    def test_idle_ageing_is_told_as_a_difference(self) -> None:
        red = (
            "queue: {limit: 60 kB, aqm: {kind: red-linux, min: 10 kB, max: 30 kB, "
            "burst: 17 packets, bandwidth: 10 Mbit/s, probability: 0.1}}"
        )
        assert "does not age" in line(red).notes[0]


class TestWhatTheKernelLacks:
    @pytest.mark.parametrize(
        ("port", "lacks", "nearest"),
        [
            ("scheduler: wfq, classes: {a: {}, default: {}}", "wfq", "drr"),
            (
                "scheduler: cbq, classes: {a: {rate: 1 Mbit/s}, default: {rate: 1 Mbit/s}}",
                "cbq",
                "htb",
            ),
            (
                "queue: {aqm: {kind: rio-c, precedences: "
                "[{min_th: 5 packets, max_th: 15 packets, max_p: 0.1}]}}",
                "rio-c",
                "gred with grio",
            ),
        ],
    )
    def test_it_is_named_with_what_is_nearest(self, port: str, lacks: str, nearest: str) -> None:
        with pytest.raises(UnsupportedError) as caught:
            line(port)
        (reason,) = caught.value.reasons
        assert f"no {lacks}; nearest: {nearest}" in reason.text

    def test_all_reasons_are_given_at_once(self) -> None:
        port = "scheduler: wfq, classes: {a: {}, default: {}}"
        text = LINE.format(port=port, link="port: one").replace(
            "rate: 1 Mbit/s}", "rate: 1 Mbit/s, size: 40 B}"
        )
        with pytest.raises(UnsupportedError, match="44 B"):
            planned(text)

    def test_names_cannot_steer_the_terminal(self) -> None:
        error = UnsupportedError(
            [UnsupportedFeature("port \x1b[2J: the Linux kernel has no wfq", ())]
        )
        assert "\x1b" not in error.render()


# 250 ms and 100 ms have 50 ms in common; 333 ms and 100 ms 1 ms; with 7 us it would be 1 us.
@pytest.mark.parametrize(
    ("step", "sampled_ms"), [("250 ms", 50), ("333 ms", 1), ("2 s", 100), ("10007 us", 10.007)]
)
def test_tcp_is_sampled_at_the_times_of_its_probes(step: str, sampled_ms: float) -> None:
    text = LINE.format(port="", link="port: one").replace(
        "udp, from: A, to: B, rate: 1 Mbit/s", "tcp, from: A, to: B"
    )
    text += f"probes: [{{flow: cbr, measure: goodput, every: {step}}}]\n"
    (flow,) = planned(text).plan.tcp
    assert flow.sample_ns == sampled_ms * 1e6


@pytest.mark.parametrize(
    "rest", ["", ", connect: true, transfers: {size: 10 kB, load: 10 %, of: A->B}"]
)
def test_what_a_filter_matches_is_spelt_as_tc_flower_spells_it(rest: str) -> None:
    # tc-flower(8): dst_port and src_port, of the way there and of the way back.
    profile = "{meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 9 kB}, red: drop}"
    written = LINE.format(link="ingress: edge", port="").replace("ports: {one: {}}\n", "")
    written = written.replace("cbr: {agent: udp", "tcp: {agent: tcp").replace(
        ", rate: 1 Mbit/s}", f"{rest}}}"
    )
    rules = f"{{rules: [{{protocol: tcp, profile: p}}], profiles: {{p: {profile}}}}}"
    edge = f"conditioners: {{edge: {rules}}}\n"
    found_value = planned(written + edge).plan
    words = [each.split() for node in found_value.nodes for each in node.tc if " flower " in each]
    assert {word for line in words for word in line if word.endswith("port")} <= {
        "dst_port",
        "src_port",
    }
    assert any("dst_port" in line for line in words)
