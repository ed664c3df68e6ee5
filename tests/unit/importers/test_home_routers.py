"""Shapers of home routers as their tools run them: wondershaper and SQM, imported and run.

Source: the commands of wondershaper 1.1 and 1.4 and of SQM's simple.qos and piece_of_cake.qos.
"""

import pytest
import yaml

from trunkline.engine.packet_engine import simulate
from trunkline.importers import Addresses, ImportFault, read_tc
from trunkline.network import compile
from trunkline.scenario import load

WONDER = """\
+ tc qdisc del dev eth0 root
+ '[' -n 2000 ']'
+ tc qdisc add dev eth0 root handle 1: htb default 20
+ tc class add dev eth0 parent 1: classid 1:1 htb rate 2000kbit prio 5
+ tc class add dev eth0 parent 1:1 classid 1:10 htb rate 800kbit ceil 1900kbit prio 1
+ tc class add dev eth0 parent 1:1 classid 1:20 htb rate 800kbit ceil 1900kbit prio 2
+ tc class add dev eth0 parent 1:1 classid 1:30 htb rate 400kbit ceil 1800kbit prio 3
+ tc qdisc add dev eth0 parent 1:10 handle 10: sfq perturb 10 quantum 6000
+ tc qdisc add dev eth0 parent 1:20 handle 20: sfq perturb 10 quantum 6000
+ tc qdisc add dev eth0 parent 1:30 handle 30: sfq perturb 10 quantum 6000
+ tc filter add dev eth0 parent 1: protocol ip prio 10 u32 match ip tos 0x10 0xff flowid 1:10
+ tc filter add dev eth0 parent 1: protocol ip prio 11 u32 match ip protocol 1 0xff flowid 1:10
+ tc filter add dev eth0 parent 1: protocol ip prio 12 u32 match ip protocol 6 0xff \
match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 flowid 1:10
+ tc filter add dev eth0 parent 1: protocol ip prio 15 u32 match ip dport 80 0xffff flowid 1:30
+ tc filter add dev eth0 parent 1: protocol ip prio 18 u32 match ip dst 0.0.0.0/0 flowid 1:20
+ modprobe ifb numifbs=1
+ ip link set dev ifb0 up
+ tc qdisc add dev eth0 handle ffff: ingress
+ tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 \
action mirred egress redirect dev ifb0
+ tc qdisc add dev ifb0 root handle 1: htb default 10
+ tc class add dev ifb0 parent 1: classid 1:1 htb rate 8000kbit
+ tc class add dev ifb0 parent 1:1 classid 1:10 htb rate 8000kbit ceil 8000kbit prio 0
"""
"""What wondershaper runs for 2 and 8 Mbit/s, as `sh -x` shows it."""
WONDER_CBQ = """\
DOWNLINK=3500
UPLINK=180
DEV=eth0
tc qdisc del dev $DEV root 2> /dev/null > /dev/null
tc qdisc add dev $DEV root handle 1: cbq avpkt 1000 bandwidth 10mbit
tc class add dev $DEV parent 1: classid 1:1 cbq rate ${UPLINK}kbit allot 1500 prio 5 \
bounded isolated
tc class add dev $DEV parent 1:1 classid 1:10 cbq rate ${UPLINK}kbit allot 1600 prio 1 avpkt 1000
tc class add dev $DEV parent 1:1 classid 1:20 cbq rate $[9*$UPLINK/10]kbit allot 1600 prio 2 \
avpkt 1000
tc qdisc add dev $DEV parent 1:10 handle 10: sfq perturb 10
tc qdisc add dev $DEV parent 1:20 handle 20: sfq perturb 10
tc filter add dev $DEV parent 1:0 protocol ip prio 10 u32 match ip tos 0x10 0xff flowid 1:10
tc filter add dev $DEV parent 1: protocol ip prio 18 u32 match ip dst 0.0.0.0/0 flowid 1:20
tc qdisc add dev $DEV handle ffff: ingress
tc filter add dev $DEV parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 \
police rate ${DOWNLINK}kbit burst 10k drop flowid :1
"""
"""The form of wondershaper before HTB, whose classes are promised more than the line."""
SQM = """\
ip link add name ifb4wan type ifb
iptables -t mangle -N QOS_MARK_wan
iptables -t mangle -A QOS_MARK_wan -j MARK --set-mark 0x2/0xff
iptables -t mangle -A QOS_MARK_wan -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
iptables -t mangle -A QOS_MARK_wan -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
iptables -t mangle -A QOS_MARK_wan -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
iptables -t mangle -A QOS_MARK_wan -m tos --tos Minimize-Delay -j MARK --set-mark 0x1/0xff
iptables -t mangle -A POSTROUTING -o wan -m mark --mark 0x00/0xff -g QOS_MARK_wan
iptables -t mangle -A OUTPUT -p udp -m multiport --ports 123,53 -j DSCP --set-dscp-class AF42
tc qdisc add dev wan root handle 1: stab mtu 2047 tsize 512 mpu 68 overhead 44 linklayer atm \
htb default 12
tc class add dev wan parent 1: classid 1:1 htb quantum 1500 rate 1900kbit ceil 1900kbit \
burst 1600b cburst 1600b
tc class add dev wan parent 1:1 classid 1:10 htb quantum 1500 rate 1900kbit ceil 1900kbit prio 0
tc class add dev wan parent 1:1 classid 1:11 htb quantum 1500 rate 128kbit ceil 633kbit prio 1
tc class add dev wan parent 1:1 classid 1:12 htb quantum 1500 rate 316kbit ceil 1884kbit prio 2
tc class add dev wan parent 1:1 classid 1:13 htb quantum 1500 rate 316kbit ceil 1884kbit prio 3
tc qdisc add dev wan parent 1:11 handle 110: fq_codel limit 1001 target 9.6ms noecn quantum 300
tc qdisc add dev wan parent 1:12 handle 120: fq_codel limit 1001 target 9.6ms noecn quantum 300
tc qdisc add dev wan parent 1:13 handle 130: fq_codel limit 1001 target 9.6ms noecn quantum 300
tc filter add dev wan parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
tc filter add dev wan parent 1:0 protocol ip prio 1 handle 1 fw classid 1:11
tc filter add dev wan parent 1:0 protocol ip prio 2 handle 2 fw classid 1:12
tc filter add dev wan parent 1:0 protocol ip prio 3 handle 3 fw classid 1:13
tc filter add dev wan parent 1:0 protocol ipv6 prio 4 handle 1 fw classid 1:11
tc filter add dev wan parent 1:0 protocol arp prio 7 handle 1 fw classid 1:11
tc filter add dev wan parent 1:0 protocol ip prio 8 u32 match ip protocol 1 0xff flowid 1:13
tc qdisc add dev wan handle ffff: ingress
tc qdisc add dev ifb4wan root handle 1: htb default 12
tc class add dev ifb4wan parent 1: classid 1:1 htb quantum 1500 rate 19000kbit ceil 19000kbit
tc class add dev ifb4wan parent 1:1 classid 1:11 htb quantum 1500 rate 32kbit ceil 6333kbit prio 1
tc class add dev ifb4wan parent 1:1 classid 1:12 htb quantum 1500 rate 3166kbit ceil 18984kbit \
prio 2
tc qdisc add dev ifb4wan parent 1:11 handle 110: fq_codel limit 1001 target 5ms ecn quantum 500
tc qdisc add dev ifb4wan parent 1:12 handle 120: fq_codel limit 1001 target 5ms ecn quantum 1500
tc filter add dev ifb4wan parent 1:0 protocol ip prio 20 u32 match ip tos 0xb8 0xfc classid 1:11
tc filter add dev ifb4wan parent 1:0 protocol ipv6 prio 21 u32 match ip6 priority 0xb8 0xfc \
classid 1:11
tc filter add dev wan parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 \
action mirred egress redirect dev ifb4wan
"""
"""What SQM's simple.qos runs for 1.9 and 19 Mbit/s."""
SQM_CAKE = """\
tc qdisc add dev wan root stab mtu 2047 tsize 512 mpu 68 overhead 44 linklayer atm \
cake bandwidth 1900kbit besteffort nat dual-srchost
tc qdisc add dev wan handle ffff: ingress
tc qdisc add dev ifb4wan root cake bandwidth 19mbit overhead 44 mpu 68 besteffort wash ingress \
nat dual-dsthost
tc filter add dev wan parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 \
action mirred egress redirect dev ifb4wan
"""
"""What SQM's piece_of_cake.qos runs."""
ACCESS = """\
trunkline: 1
nodes: [home, isp]
links:
  home-isp: {rate: 100 Mbit/s, delay: 10 ms, FORWARD, BACKWARD}
flows:
  up: {agent: tcp, from: home, to: isp}
  down: {agent: tcp, from: isp, to: home}
  call: {agent: udp, from: home, to: isp, rate: 64 kbit/s, size: 200 B, dscp: EF}
run: {duration: 12 s, warm_up: 4 s}
"""


@pytest.mark.parametrize(
    ("script", "lines", "up", "down"),
    [
        (WONDER, [13], 2e6, 8e6),
        (WONDER_CBQ, [], 180e3, 3.5e6),
        (SQM, [9], 1.9e6, 18.984e6),
        (SQM_CAKE, [], 1.9e6, 19e6),
    ],
    ids=["wondershaper", "wondershaper-cbq", "simple", "piece-of-cake"],
)
def test_shapers_as_they_are_found_run_at_the_rates_that_they_set(
    script: str, lines: list[int], up: float, down: float
) -> None:
    known = Addresses({}, {80: "down"})
    if lines:
        with pytest.raises(ImportFault) as caught:
            read_tc(script, addresses=known)
        assert [each.line for each in (caught.value, *caught.value.others)] == lines
    made = read_tc(script, addresses=known, partial=True)
    absent = "protocol 1 is not in the simulator"
    has_icmp = any(each.reason == absent for each in made.account.left_out)
    assert has_icmp == ("match ip protocol 1 " in script)
    assert set(lines) <= {each.line for each in made.account.left_out}
    ports = dict(made.ports)
    out, *behind = ports
    into = f"port: {behind[0]}" if behind else f"ingress: {next(iter(made.conditioners))}"
    text = ACCESS.replace("FORWARD", f"forward: {{port: {out}}}")
    text = text.replace("BACKWARD", f"backward: {{{into}}}")
    sections = {"ports": ports, "conditioners": dict(made.conditioners)}
    (results,) = simulate(compile(load(text + yaml.safe_dump(sections))), seeds=[1])
    rows = results.ports.rows()
    used = sum(float(row["throughput_bit_s"]) for row in rows if row["link"] == "home->isp")
    assert up * 0.9 < used <= up * 1.001
    # Behind 180 kbit/s the acknowledgements of what comes in wait for `up`, and a policer drops.
    least = 0.1 if made.conditioners else 0.85
    rates = {row["flow"]: float(row["throughput_bit_s"]) for row in results.flows.rows()}
    assert down * least < rates["down"] <= down
    assert rates["call"] == pytest.approx(64e3, rel=0.05)


SQM_CONFIG = """\
config queue 'wan'
\toption enabled '1'
\toption interface 'wan'
\toption download '19000'
\toption upload '1900'
\toption script 'SCRIPT'
\toption qdisc 'fq_codel'
\toption linklayer 'atm'
\toption overhead '44'
\toption squash_ingress '0'
\toption debug_logging '0'
"""


@pytest.mark.parametrize(
    ("script", "up"),
    [
        ("piece_of_cake.qos", 1.9e6), ("layer_cake.qos", 1.9e6), ("simple.qos", 1.9e6),
        ("simplest.qos", 1.9e6), ("simplest_tbf.qos", 1.9e6),
    ],
)  # fmt: skip
def test_etc_config_sqm_shapes_both_directions(script: str, up: float) -> None:
    made = read_tc(SQM_CONFIG.replace("SCRIPT", script))
    assert list(made.ports) == ["wan", "ifb4wan"]
    text = ACCESS.replace("FORWARD", "forward: {port: wan}")
    text = text.replace("BACKWARD", "backward: {port: ifb4wan}")
    (results,) = simulate(compile(load(text + yaml.safe_dump(made.to_dict()))), seeds=[1])
    used = {"home->isp": 0.0, "isp->home": 0.0}
    for row in results.ports.rows():
        used[str(row["link"])] += float(row["throughput_bit_s"])
    assert up * 0.9 < used["home->isp"] <= up * 1.001
    assert up * 8.5 < used["isp->home"] <= 19e6 * 1.001
    left_out = {each.element for each in made.account.left_out}
    assert "option debug_logging" in left_out
    read = sum(each.count for each in made.account.read if each.element.startswith("option"))
    assert read + sum(each.startswith("option") for each in left_out) == 10


def test_etc_config_sqm_simple_qos_is_what_its_script_runs() -> None:
    # simple.qos marks by iptables what this finds by the DSCP: the classes are the same.
    config = SQM_CONFIG.replace("SCRIPT", "simple.qos")
    made, run = (read_tc(text, partial=True).ports["wan"]["classes"] for text in (config, SQM))
    keys = ("priority", "rate", "ceil", "quantum")
    shares = [
        sorted(tuple(each[key] for key in keys) for each in classes.values() if "parent" in each)
        for classes in (made, run)
    ]
    # The script has a class 1:10 besides, which takes no packet.
    assert shares[0] == [each for each in shares[1] if each[0] > 0]


def test_etc_config_sqm_a_script_that_is_not_known_is_refused() -> None:
    with pytest.raises(ImportFault, match=r"^6:17: the script mine.qos is not read; known: piece"):
        read_tc(SQM_CONFIG.replace("SCRIPT", "mine.qos"))
    off = SQM_CONFIG.replace("SCRIPT", "simple.qos").replace("enabled '1'", "enabled '0'")
    assert read_tc(off).ports == {}
    assert [each.reason for each in read_tc(off).account.left_out] == ["it is not enabled"]
