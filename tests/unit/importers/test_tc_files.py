"""Files of the real world for `import tc`: scripts, traces, batches, listings, marks.

Each test names the input that it is after by its number, or is a sibling of such an input.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from trunkline.cli.export_command import command as export
from trunkline.engine.packet_engine import simulate
from trunkline.importers import Addresses, Imported, ImportFault, read_tc
from trunkline.network import compile
from trunkline.scenario import load

HTB = """\
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 10mbit
"""
TO_FW = "tc filter add dev eth0 parent 1: protocol ip prio 1 handle 0x1/0xff fw classid 1:10\n"
EF_JOINS = [{"dscp": "EF", "class": "EF"}]


def read_port(script: str, **addresses: Any) -> dict[str, Any]:
    return read_tc(script, addresses=Addresses(**addresses)).ports["eth0"]


def note_reasons(made: Imported) -> str:
    entries = (*made.account.left_out, *made.account.assumed)
    return "; ".join(f"{each.element}: {each.reason}" for each in entries)


@pytest.mark.parametrize(
    "rule",
    [
        "iptables -w 1 -t mangle -A POSTROUTING -o eth0 -m dscp --dscp-class EF "
        "-j MARK --set-mark 0x1/0xff",
        "iptables -w -t mangle -I PREROUTING -m dscp --dscp 0x2e -j MARK --or-mark 1",
        "iptables -t mangle -A OUTPUT -m dscp --dscp-class EF -j CLASSIFY --set-class 1:10",
        "nft add rule ip mangle postrouting ip dscp ef counter meta mark set 0x1",
        "nft add rule inet mangle post oifname eth0 ip dscp ef meta mark set mark or 1",
        "nft add rule inet mangle post ip dscp ef meta priority set 1:10",
    ],
)
def test_20_marks_under_a_mask_of_iptables_and_nft(rule: str) -> None:
    assert read_port(f"{rule}\n{HTB}{TO_FW}")["classify"] == EF_JOINS


def test_20_a_mark_for_another_device_says_nothing() -> None:
    rule = "iptables -t mangle -A POSTROUTING -o eth1 -m dscp --dscp-class EF -j MARK --set-mark 1"
    assert "classify" not in read_port(f"{rule}\n{HTB}{TO_FW}")


def test_iptables_extensions_8_set_mark_keeps_the_bits_outside_its_mask() -> None:
    # 0x10 of the first rule and 0x1 of the second: 0x11, which 0x11/0xff takes and 0x1/0xff not.
    rules = (
        "iptables -t mangle -A POSTROUTING -m dscp --dscp-class EF -j MARK --set-mark 0x10/0xf0\n"
        "iptables -t mangle -A POSTROUTING -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xf\n"
    )
    assert "classify" not in read_port(rules + HTB + TO_FW)
    assert read_port(rules + HTB + TO_FW.replace("0x1/", "0x11/"))["classify"] == EF_JOINS


def test_iptables_8_return_ends_a_chain_and_the_chains_behind_go_on() -> None:
    marks = (
        "iptables -t mangle -A PREROUTING -m dscp --dscp-class EF -j MARK --set-mark 1\n"
        "iptables -t mangle -A PREROUTING -m dscp --dscp-class EF -j RETURN\n"
        "iptables -t mangle -A PREROUTING -j MARK --set-mark 2\n"
    )
    assert read_port(marks + HTB + TO_FW)["classify"] == EF_JOINS
    last = "iptables -t mangle -A POSTROUTING -j MARK --set-mark 2\n"
    assert "classify" not in read_port(marks + last + HTB + TO_FW)


def test_iptables_8_insert_goes_before_what_is_there() -> None:
    marks = (
        "iptables -t mangle -A PREROUTING -m dscp --dscp-class EF -j MARK --set-mark 1\n"
        "iptables -t mangle -I PREROUTING -j MARK --set-mark 2\n"
    )
    assert read_port(marks + HTB + TO_FW)["classify"] == EF_JOINS


TRACE = """\
+ DEV=eth0
RTNETLINK answers: No such file or directory
+ tc qdisc add dev eth0 root handle 1: htb default 20
+ tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
+ tc class add dev eth0 parent 1: classid 1:20 htb rate 3mbit
+ for d in "${LIST[@]}"
+ case "$x" in
+ [[ -n '' ]]
it's done (at last)
+ sudo tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10
+ for i in $(seq 2)
++ cat /sys/class/net/eth0/mtu
+ echo it's
+ :
"""


def test_21_a_trace_of_bash_or_dash_with_other_lines_between() -> None:
    made = read_tc(TRACE)
    assert made.ports["eth0"]["classify"] == EF_JOINS
    assert [(each.line, each.count) for each in made.account.left_out] == [(1, 8), (2, 2)]


def test_23_sch_htb_takes_its_last_priority_for_all_above() -> None:
    made = read_tc(HTB.replace("rate 10mbit", "rate 10mbit prio 20"))
    assert made.ports["eth0"]["classes"]["default"]["priority"] == 7
    assert "prio 20: htb takes its last priority, 7, for all above" in note_reasons(made)
    with pytest.raises(ImportFault, match="-1 is no priority of htb"):
        read_tc(HTB.replace("rate 10mbit", "rate 10mbit prio -1"))


@pytest.mark.parametrize(
    "wrapper",
    ["sudo", "sudo -E", "sudo -u root", "env A=1", "nice -n 5", "exec", "/usr/bin/sudo -n nice",
     "timeout 5", "time", "command", "busybox"],
)  # fmt: skip
def test_24_programs_that_run_another_are_passed_over(wrapper: str) -> None:
    made = read_tc("".join(f"{wrapper} {line}\n" for line in HTB.splitlines()))
    assert made.ports == read_tc(HTB).ports
    assert made.account.left_out == ()


@pytest.mark.parametrize(
    "wrapper", ["ip netns exec r1 tc", "tc -n r1", "tc -netns r1", "docker exec -it r1 tc"]
)
def test_24_devices_of_a_namespace_have_its_name(wrapper: str) -> None:
    other = HTB.replace("tc ", f"{wrapper} ").replace("1mbit", "2mbit")
    assert list(read_tc(HTB + other).ports) == ["eth0", "r1-eth0"]


HFSC = """\
tc qdisc add dev eth0 root handle 1: hfsc default 30
tc class add dev eth0 parent 1: classid 1:1 hfsc ls m2 10mbit ul m2 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 hfsc rt m1 2mbit d 10ms m2 500kbit ls m2 500kbit
tc class add dev eth0 parent 1:1 classid 1:20 hfsc sc umax 1500 dmax 30ms rate 100kbit
tc class add dev eth0 parent 1:1 classid 1:30 hfsc ls rate 9500kbit ul rate 10mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 1:20
"""


def test_25_hfsc_has_its_service_curves() -> None:
    made = read_port(HFSC)
    assert made["scheduler"] == "hfsc"
    voice, data = made["classes"]["EF"], made["classes"]["default"]
    assert voice["real_time"] == {"m1": "2000000 bit/s", "d": "10000000 ns", "m2": "500000 bit/s"}
    assert voice["link_share"] == "500000 bit/s"
    assert data["link_share"], data["upper_limit"] == ("9500000 bit/s", "10000000 bit/s")
    # q_hfsc.c: 1500 B in 30 ms are 400 kbit/s, above the rate: concave. `sc` is both curves.
    both = {"m1": "400000 bit/s", "d": "30000000 ns", "m2": "100000 bit/s"}
    assert made["classes"]["AF1"]["real_time"] == made["classes"]["AF1"]["link_share"] == both


def test_q_hfsc_a_delay_longer_than_the_rate_needs_is_convex() -> None:
    # 1500 B at 1 Mbit/s take 12 ms of the 30: nothing for the first 18.
    script = HFSC.replace("umax 1500 dmax 30ms rate 100kbit", "umax 1500 dmax 30ms rate 1mbit")
    curve = read_port(script)["classes"]["AF1"]["real_time"]
    assert curve == {"d": "18000000 ns", "m2": "1000000 bit/s"}


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ("ls 5mbit", "ls is followed by no service curve"),
        ("rt m2 0", "a service curve has two zero slopes"),
        ("ul rate 1mbit", "an upper limit without link sharing"),
        ("", "a class of hfsc needs a service curve"),
        ("rt umax 1500 rate 1mbit", "umax is given but dmax is zero"),
    ],
)
def test_25_curves_that_tc_refuses_are_refused(curve: str, message: str) -> None:
    script = HFSC + f"tc class add dev eth0 parent 1:1 classid 1:40 hfsc {curve}\n"
    with pytest.raises(ImportFault, match=rf"^8:.*{message}"):
        read_tc(script)


def test_27_a_burst_of_red_that_tc_refuses_is_refused() -> None:
    red = "tc qdisc add dev eth0 root red limit 100000 min 20000 max 60000 avpkt 1000 burst "
    with pytest.raises(ImportFault, match=r"^1:28: burst 5 is too small for min 20000 B.*burst 20"):
        read_tc(f"{red}5 bandwidth 10mbit\n")
    # tc_red.c: burst + 1 - min / avpkt is 1 here, which it takes.
    assert read_port(f"{red}20 bandwidth 10mbit\n")["queue"]["aqm"]["burst"] == "20 packets"


@pytest.mark.parametrize(
    "script",
    [
        "tc qdisc add dev eth0 root handle 1: stab linklayer atm overhead 40 mtu 2047 tsize 512 "
        "htb default 12\ntc class add dev eth0 parent 1: classid 1:12 htb rate 790kbit\n",
        "tc qdisc add dev eth0 root handle 1: htb default 12\n"
        "tc class add dev eth0 parent 1: classid 1:12 htb rate 790kbit linklayer adsl mpu 40\n",
        "tc qdisc add dev eth0 root cake bandwidth 790kbit pppoe-llcsnap\n",
        "tc qdisc add dev eth0 root cake bandwidth 790kbit atm overhead 40\n",
    ],
)
def test_30_cells_are_left_out_with_what_they_cost(script: str) -> None:
    # ceil(80 / 48) = 2 cells of 53 B for 40 B: 2.65 times; 33 cells for 1500 B: 1.166.
    assert "lower the rates for it" in note_reasons(read_tc(script))


def test_30_options_of_cake_without_a_counterpart_are_left_out_alone() -> None:
    script = "tc qdisc add dev eth0 root cake bandwidth 1mbit ack-filter srchost rtt 30ms\n"
    with pytest.raises(ImportFault, match="ack-filter of cake has no counterpart"):
        read_tc(script)
    made = read_tc(script, partial=True)
    assert made.ports["eth0"]["bandwidth"] == "1000000 bit/s"
    assert [each.element for each in made.account.left_out] == ["ack-filter", "srchost"]


def test_sch_cake_diffserv8_has_eight_tins_each_seven_eighths_of_the_one_below() -> None:
    made = read_port("tc qdisc add dev eth0 root cake bandwidth 8mbit diffserv8\n")
    rates = [each["rate"] for each in made["classes"].values()]
    assert rates[-2:] == ["87.5 %", "100 %"]
    by_dscp = {
        dscp: rule["class"]
        for rule in made["classify"]
        for dscp in (rule["dscp"] if isinstance(rule["dscp"], list) else [rule["dscp"]])
    }
    # sch_cake.c: CS6 tin 7, EF tin 6, CS2 tin 5, AF21 tin 4, AF41 tin 3, DF tin 2, CS1 tin 1, LE 0.
    assert [by_dscp.get(dscp) for dscp in ("CS6", "EF", "CS2", "AF21", "AF41", "DF", "CS1")] == [
        "tin-7", "tin-6", "tin-5", "tin-4", "tin-3", None, "tin-1",
    ]  # fmt: skip


DIRECT = """\
tc qdisc add dev eth0 root handle 1: htb default 9
tc class add dev eth0 parent 1: classid 1:2 htb rate 1mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 10.0.2.7/32 classid 1:2
"""


@pytest.mark.parametrize("default", ["default 9", "", "default 0"])
def test_31_htb_sends_directly_what_reaches_no_leaf(default: str) -> None:
    made = read_tc(DIRECT.replace("default 9", default), addresses=Addresses({"10.0.2.7": "D"}, {}))
    classes = made.ports["eth0"]["classes"]
    assert (classes["default"]["rate"], classes["default"]["priority"]) == ("100 %", 0)
    assert classes["class-1-2"]["priority"] == 1
    assert "goes past htb, unshaped and first" in note_reasons(made)


def test_sch_htb_a_filter_to_the_discipline_itself_sends_directly() -> None:
    script = HTB + (
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc "
        "flowid 1:0\n"
    )
    made = read_port(script)
    assert made["classify"] == EF_JOINS
    assert made["classes"]["EF"]["rate"] == "100 %"


def test_sch_htb_a_class_below_none_stands_at_the_top() -> None:
    made = read_tc(HTB + "tc class add dev eth0 parent 1:99 classid 1:30 htb rate 1mbit\n")
    assert "parent" not in made.ports["eth0"]["classes"]["class-1-30"]
    assert "htb puts this one at the top" in note_reasons(made)


def test_32_a_file_for_tc_batch_has_no_word_tc() -> None:
    batch = "# comment\n" + HTB.replace("tc ", "")
    assert read_tc(batch).ports == read_tc(HTB).ports
    here = f"tc -force -batch - <<'END'\n{HTB.replace('tc ', '')}END\n"
    assert read_tc(here).ports == read_tc(HTB).ports
    with pytest.raises(ImportFault, match=r"^1:7: the commands of shaper.tc are not here"):
        read_tc("tc -b shaper.tc\n")


def test_posix_s2_7_4_a_here_document_of_another_program_is_passed_over() -> None:
    assert read_tc(f"cat <<-EOF\n(a | b) `c`\n\tEOF\n{HTB}").ports == read_tc(HTB).ports


def test_posix_s2_9_5_a_function_without_tc_is_passed_over_and_runs_what_it_is_given() -> None:
    script = 'run() {\n  echo "{ $1"; shift\n  "$@" || exit 1\n}\nup() { ip link set "$1" up; }\n'
    script += "up eth0\n" + "".join(f"run 'undo it' {line}\n" for line in HTB.splitlines())
    made = read_tc(script)
    assert made.ports == read_tc(HTB).ports
    assert [each.element for each in made.account.left_out] == ["run()", "up()", "up eth0"]


def test_tc_api_filters_without_prio_go_behind_those_with_one() -> None:
    # cls_api.c, tcf_auto_prio: from 0xC000 down, whatever small numbers are given.
    script = HTB + (
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc "
        "flowid 1:10\n"
        "tc filter add dev eth0 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:20\n"
    )
    assert read_port(script)["classify"] == EF_JOINS


def test_the_scripts_that_export_writes_are_read(tmp_path: Any) -> None:
    scenario = tmp_path / "a.yaml"
    scenario.write_text("""\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s, delay: 1 ms, forward: {port: p}}}
ports:
  p:
    scheduler: htb
    classify: [{dscp: EF, class: EF}]
    classes:
      EF: {rate: 2 Mbit/s, priority: 1}
      default: {rate: 6 Mbit/s, queue: {limit: 50 packets}}
flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s, dscp: EF}}
run: {duration: 1 s}
""")
    shown_text = CliRunner().invoke(
        export, [str(scenario), "--to", "linux", "-o", str(tmp_path / "out")]
    )
    assert shown_text.exit_code == 0, shown_text.output
    made = read_tc((tmp_path / "out" / "n0-A.sh").read_text())
    (port,) = made.ports.values()
    assert port["scheduler"] == "htb"
    assert port["classify"] == EF_JOINS
    assert {name: each["rate"] for name, each in port["classes"].items()} == {
        "EF": "2000000 bit/s",
        "default": "6000000 bit/s",
    }
    assert port["classes"]["default"]["queue"] == {"limit": "50 packets"}
    assert "give the link 10000000 bit/s" in note_reasons(made)


LISTING = """\
$ tc -s -d qdisc show dev eth0
qdisc htb 1: root refcnt 2 r2q 10 default 0x20 direct_packets_stat 3 ver 3.17 direct_qlen 1000
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 20: parent 1:20 limit 10240p flows 1024 quantum 300 target 5ms interval 100ms \
memory_limit 32Mb ecn drop_batch 64
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
$ tc -s -d class show dev eth0
class htb 1:10 parent 1:1 prio 1 quantum 12500 rate 1Mbit ceil 2Mbit linklayer ethernet burst \
1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:1 root rate 10Mbit ceil 10Mbit linklayer ethernet burst 1600b/1 mpu 0b cburst \
1600b/1 mpu 0b level 7
class htb 1:20 parent 1:1 leaf 20: prio 2 quantum 100000 rate 8Mbit ceil 10Mbit linklayer \
ethernet burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
class fq_codel 20:3f parent 20:
 (dropped 0, overlimits 0 requeues 0)
$ tc -s -d filter show dev eth0
filter parent 1: protocol ip pref 1 u32 chain 0
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid \
1:10 not_in_hw (rule hit 0 success 0)
  match 00b80000/00fc0000 at 0 (success 0 )
filter parent 1: protocol ip pref 2 flower chain 0
filter parent 1: protocol ip pref 2 flower chain 0 handle 0x1 classid 1:10
  eth_type ipv4
  ip_tos 0x28/0xfc
  not_in_hw
filter parent 1: protocol ip pref 3 fw chain 0
filter parent 1: protocol ip pref 3 fw chain 0 handle 0x1 classid 1:10
$ tc filter show dev eth0 ingress
filter parent ffff: protocol ip pref 1 u32 chain 0
filter parent ffff: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 \
terminal flowid not_in_hw
  match 00000000/00000000 at 0
\taction order 1:  police 0x1 rate 1Mbit burst 10Kb mtu 2Kb action drop overhead 0b
\tref 1 bind 1
"""


def test_what_tc_shows_with_statistics_is_read() -> None:
    made = read_tc("qdisc ingress ffff: dev eth0 parent ffff:fff1 ----------------\n" + LISTING)
    port = made.ports["eth0"]
    assert port["classify"] == [{"dscp": ["EF", "AF11"], "class": "class-1-10"}]
    assert port["classes"]["class-1-10"]["parent"] == "root"
    assert port["classes"]["class-1-10"]["ceil"] == "2000000 bit/s"
    assert port["classes"]["default"]["queue"]["flows"]["quantum"] == "300 B"
    (profile,) = made.conditioners["eth0-ingress"]["profiles"].values()
    assert (profile["meter"]["burst"], profile["red"]) == ("10240 B", "drop")
    # A listing of one device without the command names none.
    nameless = "".join(line for line in LISTING.splitlines(True) if line[0] != "$")
    assert list(read_tc(nameless.split("filter parent ffff:")[0]).ports) == ["port"]


WHOLE = (
    HTB
    + HFSC.replace("eth0", "eth1")
    + """\
tc qdisc add dev eth2 root handle 1: prio bands 3
tc qdisc add dev eth2 parent 1:1 tbf rate 1mbit burst 5k latency 10ms
tc qdisc add dev eth2 parent 1:2 red limit 60kb min 15kb max 45kb avpkt 1000 burst 20
tc qdisc add dev eth3 root fq_codel limit 1000 ecn
tc qdisc add dev eth4 root cake bandwidth 10mbit nat
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 match u32 0 0 police rate 1mbit burst 9k
tc filter add dev eth0 parent 1: protocol ip prio 1 handle 1 fw classid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 flower ip_tos 0xb8/0xfc classid 1:10
tc filter del dev eth0 parent 1: prio 2
tc class add dev eth0 parent 1: classid 1:30 htb rate 1mbit
tc class del dev eth0 classid 1:30
iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 1
nft add rule ip mangle postrouting ip dscp ef meta mark set 1
"""
)
LEFT_OUT = """\
modprobe sch_htb
tc qdisc show dev eth0
tc filter add dev eth0 parent 1: protocol ipv6 prio 4 handle 1 fw classid 1:10
ip link set dev eth0 up
iptables -t mangle -F
"""


def test_each_command_is_read_or_left_out() -> None:
    account = read_tc(WHOLE + LEFT_OUT).account
    assert sum(each.count for each in account.read) == len(WHOLE.splitlines())
    commands = [each for each in account.left_out if " " in each.element]
    assert [each.count for each in commands] == [1] * len(LEFT_OUT.splitlines())
    assert [each.element for each in account.left_out if each not in commands] == ["ecn", "nat"]


@pytest.mark.parametrize(
    "place",
    # What `filter del` deletes is found by its place.
    [place for place, line in enumerate(WHOLE.splitlines()) if "filter del" not in line],
)
def test_no_word_of_a_command_is_passed_over(place: int) -> None:
    lines = WHOLE.splitlines()
    lines[place] += " unheard-of"
    with pytest.raises(ImportFault) as caught:
        read_tc("\n".join(lines))
    assert caught.value.line == place + 1


def test_what_the_file_does_not_say_is_assumed() -> None:
    rules = [each.reason for each in read_tc(HTB).account.assumed]
    assert rules == ["1000 packets, where nothing sets it (limit, txqueuelen)"]
    assert read_tc("ip link set eth0 txqueuelen 50\n" + HTB).account.assumed == ()


def test_marks_of_a_namespace_are_for_its_devices() -> None:
    rule = "iptables -t mangle -A POSTROUTING -m dscp --dscp-class EF -j MARK --set-mark 1\n"
    inside = "".join(f"ip netns exec r1 {line}\n" for line in (HTB + TO_FW).splitlines())
    made = read_tc(rule + HTB + TO_FW + inside)
    assert made.ports["eth0"]["classify"] == EF_JOINS
    assert "classify" not in made.ports["r1-eth0"]


NETEM = """\
tc qdisc add dev eth0 root handle 5: netem delay 20ms 2ms distribution normal loss 0.1% limit 5000
tc qdisc add dev eth0 parent 5: handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 10mbit
"""


def test_netem_around_a_discipline_or_in_a_class_is_what_the_link_should_have() -> None:
    made = read_tc(NETEM)
    assert made.ports == read_tc(HTB).ports
    assert [each.element for each in made.account.left_out] == [
        "delay 20ms 2ms", "distribution normal", "loss 0.1%",
    ]  # fmt: skip
    inside = HTB + "tc qdisc add dev eth0 parent 1:20 netem rate 5mbit limit 30\n"
    made = read_tc(inside)
    assert made.ports["eth0"]["classes"]["default"]["queue"] == {"limit": "30 packets"}
    assert "rate 5mbit: the rate is the link's: give it this one" in note_reasons(made)


@pytest.mark.parametrize(
    "head",
    ["DEV=$(ip route | awk '/default (via)/ {print $5}')", 'DEV="$(echo "a)b")"', "DEV=`cat x`",
     "DEV=$1", "source ./config.sh", ". ./config.sh"],
)  # fmt: skip
def test_a_device_that_only_the_run_knows_is_called_by_its_variable(head: str) -> None:
    made = read_tc(f"{head}\n" + HTB.replace("eth0", '"$DEV"'))
    assert made.ports == {"DEV": read_tc(HTB).ports["eth0"]}
    assert "is not known here: it is called DEV" in note_reasons(made)


def test_a_number_that_a_command_printed_is_refused() -> None:
    script = "RATE=$(cat rate)\n" + HTB.replace("10mbit", "${RATE}mbit")
    with pytest.raises(ImportFault, match=r"^4:55: the value of variable RATE is what a command"):
        read_tc(script)
    with pytest.raises(ImportFault, match=r"^1:1: this substitution has no end"):
        read_tc("RATE=$(cat rate\n" + HTB)


def test_a_filter_for_a_protocol_that_no_packet_has_takes_none() -> None:
    script = HTB + (
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip protocol 1 0xff "
        "flowid 1:10\niptables -t mangle -A POSTROUTING -p icmp -j MARK --set-mark 1\n"
    )
    made = read_tc(script)
    assert made.ports == read_tc(HTB).ports
    assert [each.reason for each in made.account.left_out] == [
        "protocol 1 is not in the simulator",
        "protocol icmp is not in the simulator",
    ]


def test_nsenter_names_a_namespace_by_its_process() -> None:
    script = HTB.replace("tc ", 'nsenter -t "$PID" -n tc ')
    assert list(read_tc(script).ports) == ["PID-eth0"]


def test_iptables_extensions_8_multiport_names_several_flows() -> None:
    rule = (
        "iptables -t mangle -A POSTROUTING -p tcp -m multiport --dports 80,443 -j MARK --set-mark 1"
    )
    made = read_port(f"{rule}\n{HTB}{TO_FW}", flows={80: "web", 443: "tls"})
    assert made["classify"] == [{"protocol": "tcp", "flow": ["tls", "web"], "class": "class-1-10"}]


LINK = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 20 Mbit/s, delay: 1 ms, forward: {port: eth0}}}
flows:
  ef: {agent: udp, from: A, to: B, rate: 5 Mbit/s, size: 1000 B, dscp: EF}
  af: {agent: udp, from: A, to: B, rate: 5 Mbit/s, size: 1000 B, dscp: AF11}
  rest: {agent: udp, from: A, to: B, rate: REST, size: 1000 B}
run: {duration: 4 s, warm_up: 1 s}
"""


def run_rates(script: str, rest: str) -> dict[str, float]:
    text = LINK.replace("REST", rest) + yaml.safe_dump(read_tc(script).to_dict())
    (results,) = simulate(compile(load(text)), seeds=[1])
    return {str(row["flow"]): float(row["throughput_bit_s"]) / 1e6 for row in results.flows.rows()}


@pytest.mark.parametrize(
    ("rest", "shares"),
    # What goes past htb is sent first: all of 15 Mbit/s; of 23.5 all that the link has.
    [("10 Mbit/s", (1.0, 5.0, 10.0)), ("18.5 Mbit/s", (0.0, 4.6, 15.4))],
)
def test_31_what_goes_past_htb_runs_unshaped_and_first(
    rest: str, shares: tuple[float, ...]
) -> None:
    script = DIRECT.replace("match ip dst 10.0.2.7/32", "match ip tos 0xb8 0xfc")
    rates = run_rates(script, rest)
    assert [rates[flow] for flow in ("ef", "af", "rest")] == pytest.approx(shares, abs=0.05)


def test_25_hfsc_runs_at_its_curves() -> None:
    # EF has 0.5 Mbit/s of real time and of link sharing, AF11 1 Mbit/s; the rest shares 10 Mbit/s.
    script = HFSC.replace("rate 100kbit", "rate 1mbit").replace("rate 9500kbit", "rate 8500kbit")
    rates = run_rates(script, "18.5 Mbit/s")
    assert [rates[flow] for flow in ("ef", "af", "rest")] == pytest.approx([0.5, 1, 8.5], abs=0.02)


def test_a_listing_of_a_host_with_hardware_queues_is_one_port() -> None:
    listing = """\
qdisc noqueue 0: dev lo root refcnt 2
qdisc mq 0: dev eth0 root
qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024 quantum 1514 target 5ms interval \
100ms memory_limit 32Mb ecn drop_batch 64
qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms interval \
100ms memory_limit 32Mb ecn drop_batch 64
qdisc sfq 10: dev eth1 root refcnt 2 limit 127p quantum 1514b depth 127 flows 128/1024 divisor \
1024 perturb 10sec
qdisc fq 8001: dev eth2 root refcnt 2 limit 10000p flow_limit 100p buckets 1024 orphan_mask 1023 \
quantum 3028b initial_quantum 15140b low_rate_threshold 550Kbit refill_delay 40ms timer_slack \
10us horizon 10s horizon_drop
"""
    made = read_tc(listing)
    kinds = {name: port["queue"]["flows"]["kind"] for name, port in made.ports.items()}
    assert kinds == {"eth0": "fq-codel", "eth1": "sfq", "eth2": "fq"}
    assert "mq of eth0: one port stands for its 2 queues" in note_reasons(made)
    inner = """\
qdisc mq 8001: dev eth0 root
qdisc htb 1: dev eth0 parent 8001:1 r2q 10 default 0x2 direct_packets_stat 0 direct_qlen 1000
qdisc pfifo 20: dev eth0 parent 1:2 limit 7p
class htb 1:2 dev eth0 root leaf 20: prio 0 rate 1Mbit ceil 1Mbit burst 1600b cburst 1600b
"""
    assert read_port(inner)["classes"]["default"]["queue"] == {"limit": "7 packets"}
