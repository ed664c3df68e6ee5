"""Scripts of tc: what they become, worked by hand, and what is not read."""

from itertools import pairwise
from typing import Any

import pytest

from trunkline.importers import Addresses, Imported, ImportFault, read_tc
from trunkline.scenario import Scenario

HOSTS = Addresses({"10.0.0.1": "h1", "10.0.0.2": "h2", "10.1.0.1": "h3"}, {5001: "voice"})


def imported(script: str) -> Imported:
    """What a script becomes; a scenario must take it."""
    made = read_tc(script, addresses=HOSTS)
    nodes = ["h1", "h2", "h3", "A", "B"]
    links: dict[str, Any] = {f"{one}-{two}": {"rate": "100 Mbit/s"} for one, two in pairwise(nodes)}
    for index, name in enumerate(made.ports):
        links[f"{nodes[index]}-{nodes[index + 1]}"]["forward"] = {"port": name}
    flows = {"voice": {"agent": "udp", "from": "h1", "to": "B", "rate": "1 Mbit/s"}}
    extra = {"nodes": nodes, "links": links, "flows": flows, "run": {"duration": "1 s"}}
    Scenario.model_validate(made.to_dict() | extra)
    return made


def port(script: str, device: str = "eth0") -> dict[str, Any]:
    return imported(script).ports[device]


AF = """
tc qdisc add dev eth0 handle 1:0 root dsmark indices 64 set_tc_index
tc filter add dev eth0 parent 1:0 protocol ip prio 1 tcindex mask 0xfc shift 2 pass_on
tc qdisc add dev eth0 parent 1:0 handle 2:0 cbq bandwidth 10Mbit cell 8 avpkt 1000 mpu 64
tc filter add dev eth0 parent 2:0 protocol ip prio 1 tcindex mask 0xf0 shift 4 pass_on
tc class add dev eth0 parent 2:0 classid 2:1 cbq bandwidth 10Mbit rate 1500Kbit avpkt 1000 \\
  prio 6 bounded isolated allot 1514 weight 1 maxburst 21
tc filter add dev eth0 parent 2:0 protocol ip prio 1 handle 1 tcindex classid 2:1
tc qdisc add dev eth0 parent 2:1 gred setup DPs 3 default 2 grio
tc qdisc change dev eth0 parent 2:1 gred limit 60KB min 15KB max 45KB burst 20 avpkt 1000 \\
  bandwidth 10Mbit DP 1 probability 0.02 prio 2
tc qdisc change dev eth0 parent 2:1 gred limit 60KB min 15KB max 45KB burst 20 avpkt 1000 \\
  bandwidth 10Mbit DP 2 probability 0.04 prio 3
tc filter add dev eth0 parent 1:0 protocol ip prio 1 handle 10 tcindex classid 1:111
tc filter add dev eth0 parent 1:0 protocol ip prio 1 handle 12 tcindex classid 1:112
tc class add dev eth0 parent 2:0 classid 2:5 cbq bandwidth 10Mbit rate 3Mbit avpkt 1000 prio 7 \\
  allot 1514 weight 1 maxburst 21
tc qdisc add dev eth0 parent 2:5 pfifo limit 30
tc filter add dev eth0 parent 2:0 protocol ip prio 2 handle 0 tcindex mask 0 classid 2:5 pass_on
"""


def test_dsmark_tcindex_and_gred_make_the_assured_class() -> None:
    # AF11 is DSCP 10: octet 0x28, index 0x28, key (0x28 & 0xfc) >> 2 = 10, so index 0x111; in cbq
    # (0x111 & 0xf0) >> 4 = 1, class 2:1; gred takes 0x111 & 15 = 1. AF12 is 12: 0x112.
    made = port(AF)
    assert made["classify"][-2:] == [
        {"dscp": "AF11", "class": "AF1", "precedence": 1},
        {"dscp": "AF12", "class": "AF1", "precedence": 2},
    ]
    # DSCP 4 is index 0x10, which no handle takes, and in cbq (0x10 & 0xf0) >> 4 is 1 as well.
    assert made["classify"][0] == {"dscp": 4, "class": "AF1"}
    af = made["classes"]["AF1"]
    assert (af["rate"], af["priority"]) == ("1500000 bit/s", 5)
    assert (af["bounded"], af["isolated"]) == (True, True)
    aqm = af["queue"]["aqm"]
    assert (aqm["kind"], aqm["default_dp"], aqm["grio"], aqm["age"]) == ("gred", 2, True, "plog")
    # 15KB of tc are 15 * 1024 B.
    assert [(dp["dp"], dp["min"], dp["prio"]) for dp in aqm["dps"]] == [
        (1, "15360 B", 2),
        (2, "15360 B", 3),
    ]
    assert made["classes"]["default"]["queue"] == {"limit": "30 packets"}


def test_cbq_quanta_share_the_allot_of_one_priority_by_weight() -> None:
    # Linux: allot * weight * n / sum of weights; tc's weight is the rate: 1514 * 1 * 2 / 4 = 757.
    made = port(
        "tc qdisc add dev eth0 root handle 1: cbq bandwidth 10mbit avpkt 1000\n"
        "tc class add dev eth0 parent 1: classid 1:1 cbq bandwidth 10mbit rate 1mbit allot 1514 "
        "prio 5 avpkt 1000\n"
        "tc class add dev eth0 parent 1: classid 1:2 cbq bandwidth 10mbit rate 3mbit allot 1514 "
        "prio 5 avpkt 1000\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc "
        "flowid 1:1\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match u32 0 0 flowid 1:2\n"
    )
    found_value = {name: each["quantum"] for name, each in made["classes"].items()}
    assert found_value == {"EF": "757 B", "default": "2271 B"}
    assert "bounded" not in made["classes"]["EF"]


def test_what_no_class_takes_the_link_of_cbq_sends_last() -> None:
    made = port(
        "tc qdisc add dev eth0 root handle 1: cbq bandwidth 10mbit avpkt 1000\n"
        "tc class add dev eth0 parent 1: classid 1:1 cbq bandwidth 10mbit rate 1mbit avpkt 1000\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xff "
        "flowid 1:1\n"
    )
    assert made["classes"]["default"]["rate"] == "10000000 bit/s"
    assert made["classes"]["default"]["priority"] == 7
    assert made["classify"] == [{"dscp": "EF", "class": "EF"}]


def test_prio_takes_bands_by_the_type_of_service_where_no_filter_does() -> None:
    # priomap 1 2 2 2 1 2 0 0 ...: minimum delay (0x10) is priority 6, band 0; maximum throughput
    # (0x08) priority 2, band 2; else band 1. EF is 0xb8: bits 0x18, index 12: priority 4, band 1.
    made = port("tc qdisc add dev eth0 root handle 1: prio\n")
    assert made["scheduler"] == "priority"
    rules = [rule for rule in made["classify"] if isinstance(rule["dscp"], list)]
    bands = {str(dscp): rule["class"] for rule in rules for dscp in rule["dscp"]}
    # DSCP 4 is octet 0x10, DSCP 2 is 0x08.
    assert (bands["4"], bands["2"]) == ("class-1-1", "class-1-3")
    assert bands.get("EF", "default") == "default"
    assert {name: found_value["priority"] for name, found_value in made["classes"].items()} == {
        "class-1-1": 0,
        "default": 1,
        "class-1-3": 2,
    }


def test_tbf_inside_prio_shapes_a_class() -> None:
    made = port(
        "tc qdisc add dev eth0 handle 1: root prio\n"
        "tc qdisc add dev eth0 parent 1:1 tbf rate 1mbit burst 1.5kb limit 3kb\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc "
        "flowid 1:1\n"
        "tc qdisc add dev eth0 parent 1:2 red limit 60kb min 15kb max 45kb avpkt 1000 burst 20 "
        "probability 0.4\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match u32 0 0 flowid 1:2\n"
    )
    assert made["scheduler"] == "shaped"
    assert made["classes"]["EF"] == {
        "priority": 0,
        "rate": "1000000 bit/s",
        "burst": "1536 B",
        "queue": {"limit": "3072 B"},
    }
    aqm = made["classes"]["default"]["queue"]["aqm"]
    assert (aqm["kind"], aqm["age"], aqm["idle_ageing"]) == ("red-linux", "max-p", False)


def test_tbf_holds_what_passes_within_its_latency() -> None:
    # 1 Mbit/s for 50 ms is 6250 B, and the bucket of 1540 B.
    made = port("tc qdisc add dev eth0 root tbf rate 1mbit burst 1540 latency 50ms\n")
    assert made["classes"]["default"]["queue"] == {"limit": "7790 B"}


HTB = """
DEV=eth0
/sbin/tc qdisc del dev $DEV root 2>/dev/null
/sbin/tc qdisc add dev $DEV root handle 1: htb default 30
/sbin/tc class add dev $DEV parent 1: classid 1:1 htb rate 6mbit burst 15k
/sbin/tc class add dev $DEV parent 1:1 classid 1:10 htb rate 5mbit burst 15k
/sbin/tc class add dev $DEV parent 1:1 classid 1:30 htb rate 1kbit ceil 6mbit burst 15k
U32="/sbin/tc filter add dev $DEV protocol ip parent 1:0 prio 1 u32"
$U32 match ip dport 5001 0xffff flowid 1:10
$U32 match ip src 10.0.0.0/24 flowid 1:10
"""


def test_htb_with_ports_and_addresses_by_the_names_given() -> None:
    made = port(HTB)
    assert made["scheduler"] == "htb"
    assert made["classify"] == [
        {"flow": "voice", "class": "class-1-10"},
        {"source": ["h1", "h2"], "class": "class-1-10"},
    ]
    assert made["classes"]["root"] == {"rate": "6000000 bit/s", "burst": "15360 B"}
    # r2q 10: 5 Mbit/s are 625000 B/s, a tenth of it 62500 B; 12 B is less than 1000 B.
    assert made["classes"]["class-1-10"]["quantum"] == "62500 B"
    assert made["classes"]["default"]["quantum"] == "1000 B"
    assert made["classes"]["default"]["ceil"] == "6000000 bit/s"


def test_fw_takes_marks_and_the_last_mark_stays() -> None:
    made = port(
        "iptables -t mangle -A PREROUTING -i eth1 -s 10.0.0.1 -j MARK --set-mark 1\n"
        "iptables -t mangle -A PREROUTING -p udp -m dscp --dscp-class EF -j MARK --set-mark 2\n"
        "tc qdisc add dev eth0 root handle 1: prio bands 3\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 handle 1 fw classid 1:1\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 handle 2 fw classid 1:2\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match u32 0 0 classid 1:3\n"
    )
    assert made["classify"] == [
        {"dscp": "EF", "protocol": "udp", "class": "class-1-2"},
        {"source": "h1", "class": "class-1-1"},
    ]


def test_filters_without_prio_go_before_those_there_are() -> None:
    made = port(
        "tc qdisc add dev eth0 root handle 1: prio\n"
        "tc filter add dev eth0 parent 1: protocol ip u32 match u32 0 0 flowid 1:2\n"
        "tc filter add dev eth0 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:1\n"
    )
    assert made["classify"] == [{"dscp": "EF", "class": "EF"}]


def test_dsmark_alone_marks_at_the_far_end_of_its_link() -> None:
    made = imported(
        "tc qdisc add dev eth0 root handle 1: dsmark indices 8 default_index 2\n"
        "tc class change dev eth0 classid 1:1 dsmark mask 0x3 value 0xb8\n"
        "tc class change dev eth0 classid 1:2 dsmark mask 0x3 value 0x28\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.1.0.1 flowid 1:1\n"
    )
    marks = made.conditioners["eth0-mark"]
    assert marks["profiles"][marks["rules"][0]["profile"]] == {"green": {"dscp": "EF"}}
    assert marks["rules"][0]["source"] == "h3"
    written = {
        dscp: marks["profiles"][rule["profile"]]
        for rule in marks["rules"][1:]
        for dscp in ([rule["dscp"]] if not isinstance(rule.get("dscp"), list) else rule["dscp"])
        if "profile" in rule
    }
    # AF11 itself stays what it is: a rule without a profile, or none.
    assert written["DF"] == {"green": {"dscp": "AF11"}}
    assert "AF11" not in written


def test_a_second_policer_for_what_exceeds_the_first_is_rfc_4115() -> None:
    made = imported(
        "tc qdisc add dev eth0 handle ffff: ingress\n"
        "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 match ip tos 0x28 0xfc "
        "police rate 1mbit burst 10k continue flowid :1\n"
        "tc filter add dev eth0 parent ffff: protocol ip prio 2 u32 match ip tos 0x28 0xfc "
        "police rate 500kbit burst 5k drop flowid :2\n"
        "tc qdisc add dev eth1 root handle 1: dsmark indices 8\n"
        "tc class change dev eth1 classid 1:1 dsmark mask 0x3 value 0x28\n"
        "tc class change dev eth1 classid 1:2 dsmark mask 0x3 value 0x30\n"
    )
    profile = made.conditioners["eth0-ingress"]["profiles"]["af11"]
    assert profile["meter"] == {
        "kind": "rfc4115",
        "cir": "1000000 bit/s",
        "cbs": "10240 B",
        "eir": "500000 bit/s",
        "ebs": "5120 B",
    }
    assert (profile.get("green"), profile["yellow"], profile["red"]) == (
        None,
        {"dscp": "AF12"},
        "drop",
    )


def test_flower_and_clsact_choose_for_htb_by_dscp_and_by_tc() -> None:
    made = port(
        "tc qdisc add dev eth0 clsact\n"
        "tc qdisc add dev eth0 root handle 1: htb default 30\n"
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit\n"
        "tc class add dev eth0 parent 1: classid 1:30 htb rate 2mbit\n"
        "tc filter add dev eth0 egress protocol ip prio 1 flower ip_tos 0xb8/0xfc "
        "action skbedit priority 1:10 action ok\n"
        "tc filter add dev eth0 egress protocol mpls_uc prio 2 flower mpls_tc 5 "
        "action skbedit priority 1:10 action ok\n"
    )
    first, *others = made["classify"]
    assert first == {"tc": 5, "class": "EF"}
    assert {"dscp": "EF", "class": "EF"} in others


def test_the_queue_of_a_device_is_as_long_as_the_script_makes_it() -> None:
    script = "ip link set dev eth0 txqueuelen 30\ntc qdisc add dev eth0 root pfifo\n"
    assert port(script) == {"queue": {"limit": "30 packets"}}
    assert port("tc qdisc add dev eth0 root bfifo limit 10kb\n") == {"queue": {"limit": "10240 B"}}


def test_several_devices_are_several_ports() -> None:
    made = imported(
        "tc qdisc add dev eth0 root pfifo limit 10\ntc qdisc add dev eth1 root pfifo limit 20\n"
    )
    assert {name: found_value["queue"]["limit"] for name, found_value in made.ports.items()} == {
        "eth0": "10 packets",
        "eth1": "20 packets",
    }


def test_devices_have_names_of_the_language_and_those_renamed_are_noted() -> None:
    names = ("all", "a@b", "a_b", "eth0")
    made = imported("".join(f"tc qdisc add dev {name} root pfifo limit 10\n" for name in names))
    assert list(made.ports) == ["all_2", "a_b", "a_b_2", "eth0"]
    assert [(each.line, each.element, each.reason) for each in made.account.assumed] == [
        (1, "the name all of a device", "its port is all_2"),
        (2, "the name a@b of a device", "its port is a_b"),
        (3, "the name a_b of a device", "its port is a_b_2"),
    ]


def test_drr_has_its_quanta_and_a_class_without_one_the_longest_frame() -> None:
    # sch_drr: quantum = psched_mtu(dev), the MTU of 1500 B and Ethernet's 14 B.
    made = port(
        "tc qdisc add dev eth0 root handle 1: drr\n"
        "tc class add dev eth0 parent 1: classid 1:1 drr quantum 4500\n"
        "tc class add dev eth0 parent 1: classid 1:2 drr\n"
        "tc qdisc add dev eth0 parent 1:2 bfifo limit 20000\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 flower ip_tos 0x28/0xfc classid 1:1\n"
        "tc filter add dev eth0 parent 1: protocol all prio 2 matchall classid 1:2\n"
    )
    assert made == {
        "scheduler": "drr",
        "classify": [{"dscp": "AF11", "class": "AF1"}],
        "classes": {
            "AF1": {"quantum": "4500 B", "queue": {"limit": "1000 packets"}},
            "default": {"quantum": "1514 B", "queue": {"limit": "20000 B"}},
        },
    }


def test_what_changes_nothing_is_listed_with_its_line() -> None:
    made = imported(
        "modprobe sch_cbq\n"
        "tc qdisc add dev eth0 root handle 1: cbq bandwidth 1mbit avpkt 1000 cell 8\n"
    )
    assert [(each.line, each.element) for each in made.account.left_out] == [
        (1, "modprobe sch_cbq"),
        (2, "cell 8"),
    ]


KNOWN_QDISCS = (
    "cbq, htb, hfsc, drr, prio, dsmark, gred, red, tbf, pfifo, bfifo, pfifo_fast, netem, "
    "ingress, clsact, codel, fq_codel, pie, fq_pie, sfq, fq, cake"
)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "tc qdisc add dev eth0 root hhf limit 10\n",
            "1:28: there is no queueing discipline hhf here; nearest: pfifo, or drr with a class "
            f"for each flow; known: {KNOWN_QDISCS}",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: htb default 10\n"
            "tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit\n"
            "tc qdisc add dev eth0 parent 1:10 skbprio limit 1024\n",
            "3:35: there is no queueing discipline skbprio here; nearest: gred, with a virtual "
            f"queue for each priority; known: {KNOWN_QDISCS}",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: drr\n"
            "tc class add dev eth0 parent 1: classid 1:1 drr\n",
            "1:38: what no filter takes drr drops; known: a filter for the rest: matchall",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: htb\n"
            "tc class add dev eth0 parent 1: classid 1:1 htb rate 5Mbps/s\n",
            "2:54: 5Mbps/s is no rate; known: a number with bit, kbit, mbit, gbit, tbit, kibit, "
            "mibit, gibit, tibit, bps, kbps, mbps, gbps, tbps, kibps, mibps, gibps, tibps",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: prio\n"
            "tc filter add dev eth0 parent 1: protocol ip prio 1 route to 3 flowid 1:1\n",
            "2:53: there is no filter route here; known: u32, fw, tcindex, flower, basic, matchall",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: prio\n"
            "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.9.0.1 "
            "flowid 1:1\n",
            "2:70: no node is known by 10.9.0.1; say which node it is: --node 10.9.0.1=NAME; "
            "known: 10.0.0.1=h1, 10.0.0.2=h2, 10.1.0.1=h3",
        ),
        (
            "tc qdisc add dev eth0 parent 1:1 pfifo\n",
            "1:34: device eth0 has no discipline 1:; known: none yet",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: hfsc default 9\n"
            "tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 1mbit\n",
            "1:38: what no filter takes hfsc drops; known: default 1",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: cbq bandwidth 1mbit avpkt 1000\n"
            "tc class add dev eth0 parent 1: classid 1:1 cbq rate 1mbit avpkt 1000 minidle 5\n",
            "2:71: cbq has no option minidle that is read; known: bandwidth, rate, avpkt, allot, "
            "weight, maxburst, ewma, prio, minburst, mpu, cell, bounded, borrow, isolated, "
            "sharing, overhead, linklayer, defmap, split, estimator",
        ),
        (
            "tc qdisc add dev eth0 handle ffff: ingress\n"
            "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 match u32 0 0 "
            "police rate 1mbit drop flowid :1\n",
            "2:74: police needs a rate and a burst; known: rate RATE burst SIZE",
        ),
        ("tc monitor\n", "1:4: tc monitor is not read; known: qdisc, class, filter"),
        (
            "tc qdisc add dev eth0 root tbf rate 1mbit burst 99999999999 limit 3kb\n",
            "1:28: classes.default.burst = 99999999999 B: a size must be from 1 B to 2000000000 B",
        ),
        (
            "tc qdisc add dev eth0 root red limit 10kb min 8kb\n",
            "1:28: min 8192 B, max 2560 B, limit 10240 B; known: min below max up to limit",
        ),
    ],
)
def test_what_is_not_read_names_its_place_and_what_is_known(script: str, message: str) -> None:
    with pytest.raises(ImportFault) as caught:
        imported(script)
    assert str(caught.value) == message


EDGE = """#! /bin/sh -x
IPROUTE=/usr/src/iproute2-current
TC=$IPROUTE/tc/tc
IPCHAINS=/sbin/ipchains
insmod /lib/modules/$KVER/sch_dsmark.o
INDEV=eth2
EGDEV="dev eth1"
meter1=" police index 1 rate 1500kbit burst 90k "
meter2=" police index 2 rate 1mbit burst 90k "
$IPCHAINS -A input -i $INDEV -s 0/0 -m 2
$IPCHAINS -A input -i $INDEV -s 10.0/24 -m 1
$TC qdisc add dev $INDEV handle ffff: ingress
$TC filter add dev $INDEV parent ffff: protocol ip prio 4 handle 1: u32 divisor 1
$TC filter add dev $INDEV parent ffff: protocol ip prio 5 handle 1 fw \\
$meter1 \\
continue flowid 4:1
$TC filter add dev $INDEV parent ffff: protocol ip prio 6 handle 1 fw flowid 4:2
$TC filter add dev $INDEV parent ffff: protocol ip prio 7 u32 match ip src 0/0\\
$meter2 \\
drop flowid 4:3
$TC qdisc add $EGDEV handle 1:0 root dsmark indices 64
$TC class change $EGDEV classid 1:1 dsmark mask 0x3 \\
       value 0x88
$TC class change $EGDEV classid 1:2 dsmark mask 0x3 value 0x90
$TC class change $EGDEV classid 1:3 dsmark mask 0x3 value 0x0
$TC qdisc ls $EGDEV
"""


def test_an_edge_of_the_time_marks_by_source_and_meter() -> None:
    made = imported(EDGE)
    found_value = made.conditioners["eth2-ingress"]
    # The subnet has mark 1: in profile octet 0x88, AF41, out of it 0x90, AF42. All else is policed
    # and becomes default traffic.
    first, rest = found_value["rules"]
    assert first["source"] == ["h1", "h2"]
    assert "source" not in rest
    subnet, others = (found_value["profiles"][rule["profile"]] for rule in found_value["rules"])
    assert (subnet["green"], subnet["red"]) == ({"dscp": "AF41"}, {"dscp": "AF42"})
    assert (others["green"], others["red"]) == ({"dscp": "DF"}, "drop")
    assert [each["meter"]["rate"] for each in (subnet, others)] == [
        "1500000 bit/s",
        "1000000 bit/s",
    ]
    assert [each.element for each in made.account.left_out] == [
        "insmod /lib/modules/$KVER/sch_dsmark.o",
        "/usr/src/iproute2-current/tc/tc filter add dev eth2 parent",
        "/usr/src/iproute2-current/tc/tc qdisc ls dev eth1",
    ]
    assert made.account.assumed[0].render().startswith("-i eth2 (2, first in line 10)")


def test_a_policer_may_be_shared_by_packets_that_fare_alike() -> None:
    made = imported(
        "tc qdisc add dev eth0 handle ffff: ingress\n"
        "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 match ip tos 0x28 0xfc "
        "police index 7 rate 1mbit burst 10k drop flowid :1\n"
        "tc filter add dev eth0 parent ffff: protocol ip prio 2 u32 match ip tos 0x30 0xfc "
        "police index 7 rate 1mbit burst 10k drop flowid :1\n"
    )
    found_value = made.conditioners["eth0-ingress"]
    assert [rule["profile"] for rule in found_value["rules"]] == ["af11", "af11"]
    with pytest.raises(ImportFault) as caught:
        imported(EDGE.replace("index 2", "index 1"))
    assert "policer 1 is shared by packets that fare differently behind it" in str(caught.value)


HOME = """\
tc qdisc add dev wan root handle 1: htb default 12
tc class add dev wan parent 1: classid 1:1 htb rate 9500kbit
tc class add dev wan parent 1:1 classid 1:11 htb rate 2mbit ceil 9500kbit prio 1
tc class add dev wan parent 1:1 classid 1:12 htb rate 7mbit ceil 9500kbit prio 2
tc qdisc add dev wan parent 1:11 fq_codel quantum 300 noecn
tc qdisc add dev wan parent 1:12 pie target 20ms alpha 2 beta 20
tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:11
tc qdisc add dev wan handle ffff: ingress
tc filter add dev wan parent ffff: protocol all basic action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root cake bandwidth 45mbit besteffort dual-dsthost nat ingress rtt 50ms
tc qdisc add dev lan root sfq perturb 10 depth 60
tc qdisc add dev dsl root tbf rate 1mbit burst 5kb latency 50ms peakrate 2mbit mtu 1600
"""


def test_a_home_router_with_flow_queues_ifb_and_cake() -> None:
    made = imported(HOME)
    wan = made.ports["wan"]["classes"]
    assert wan["EF"]["queue"] == {
        "limit": "10240 packets",
        "flows": {"kind": "fq-codel", "quantum": "300 B"},
        "aqm": {"kind": "codel", "arithmetic": "linux"},
    }
    # tc-pie(8): alpha and beta are in sixteenths.
    assert wan["default"]["queue"]["aqm"] == {
        "kind": "pie",
        "target": "20000000 ns",
        "alpha": 0.125,
        "beta": 1.25,
        "arithmetic": "linux",
    }
    # tc-cake(8): the target is a twentieth of the rtt.
    cake = made.ports["ifb0"]
    assert (cake["scheduler"], cake["bandwidth"]) == ("cake", "45000000 bit/s")
    assert cake["classes"]["default"]["queue"] == {
        "flows": {"kind": "cake", "hosts": "destination"},
        "aqm": {"kind": "cobalt", "target": "2500000 ns", "interval": "50000000 ns"},
    }
    assert made.ports["lan"]["queue"]["flows"]["flow_limit"] == "60 packets"
    dsl = made.ports["dsl"]["classes"]["default"]
    assert (dsl["peak_rate"], dsl["min_burst"]) == ("2000000 bit/s", "1600 B")
    assert any("comes in at wan goes through ifb0" in each.reason for each in made.account.assumed)


def test_tc_cake_without_a_word_has_the_tins_of_diffserv3() -> None:
    port = read_tc("tc qdisc add dev eth0 root cake bandwidth 8mbit\n").ports["eth0"]
    assert {name: found_value["rate"] for name, found_value in port["classes"].items()} == {
        "voice": "25 %",
        "bulk": "6.25 %",
        "default": "100 %",
    }
    four = read_tc("tc qdisc add dev eth0 root cake bandwidth 8mbit diffserv4 flows\n")
    assert four.ports["eth0"]["preset"] == "cake-diffserv4"


def test_partial_leaves_out_what_is_not_read_and_says_so() -> None:
    script = (
        "tc qdisc add dev eth0 root hhf\n"
        "tc qdisc add dev eth1 root fq_codel\n"
        "tc qdisc add dev eth2 root cake bandwidth 1mbit fwmark 0xff rtt 50ms\n"
    )
    with pytest.raises(ImportFault) as caught:
        read_tc(script)
    assert [each.line for each in (caught.value, *caught.value.others)] == [1, 3]
    made = read_tc(script, partial=True)
    # An option without a counterpart costs that option alone.
    assert list(made.ports) == ["eth1", "eth2"]
    assert made.ports["eth2"]["classes"]["default"]["queue"]["aqm"]["interval"] == "50000000 ns"
    assert [(each.line, each.element) for each in made.account.left_out][1:] == [(3, "fwmark 0xff")]
    # A loop leaves no command whole: nothing can be said of the rest.
    with pytest.raises(ImportFault, match=r"^2:1: for is not read"):
        read_tc("tc qdisc add dev eth1 root sfq\nfor x in 1 2; do\n", partial=True)
