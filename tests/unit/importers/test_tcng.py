"""Configurations in tcng: those of Avallone et al. (2003), other forms, and what is not read."""

from typing import Any

import pytest
import yaml

from trunkline.importers import Addresses, Imported, ImportFault, read_tc, read_tcng
from trunkline.network import compile
from trunkline.scenario import load
from trunkline.study.language.catalogue import STUDIES_FOLDER as STUDIES

FOLDER = STUDIES / "avallone2003"

# Section 2.1 of the document to the letter, but for `maxburst sp`, which no program ever read.
BEST_EFFORT = """
// Output interface (towards Zeus)
eth1 cbq(bandwidth 100Mbps, avpkt 1000B,
allot 1514B, maxburst
5p) {
    class(rate 2.8Mbps, bounded) if 1
}
"""
# Section 2.2 to the letter, line breaks of the printed columns undone.
PROFILES = """
#define EF_PROFILE      rate 1.1Mbps, burst 10kB
#define AF11_PROFILE rate 0.9Mbps, burst 10kB, peakrate 1.2Mbps
#define AF12_PROFILE rate 0.9Mbps, burst 5kB
#define DE_PROFILE      rate 1.5Mbps, burst 15kB
#define CBQ_QDISC_PARAM bandwidth 100Mbps, avpkt 1000B, allot 1514B, maxburst 10p
#define FIFO_EF_PARAM limit 10kB
#define RED_DE_PARAM  bandwidth 1.0Mbps, limit 120kB, min 10kB, max 100kB, avpkt 1000B, burst 11kB, probability 0.3
#define GRED_AF1_PARAM  bandwidth 1.0Mbps, limit 120kB, min 30kB, max 100kB, avpkt 1000B, burst 35kB
"""  # noqa: E501 - one line in the document too


def text_of(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def with_imported(study: str, made: Imported) -> str:
    """The study's network with its ports and conditioners replaced by imported ones."""
    scenario = yaml.safe_load(text_of(f"{study}.yaml"))
    scenario["ports"]["router"] = made.ports["eth1"]
    if made.conditioners:
        scenario["conditioners"] = {"edge": made.conditioners["eth0-ingress"]}
    return compile(load(yaml.safe_dump(scenario, sort_keys=False))).to_json()


def of_study(study: str) -> str:
    return compile(load(text_of(f"{study}.yaml"))).to_json()


@pytest.mark.parametrize("study", ["best-effort", "mpls"])
def test_section_2_1_best_effort_is_the_network_of_the_study(study: str) -> None:
    made = read_tcng(BEST_EFFORT)
    assert with_imported(study, made) == of_study(study)
    assert made.sentences[0] == "eth1: class-based queueing of 1 class(es)"
    assert read_tcng(text_of("best-effort.tcng")).ports == made.ports


@pytest.mark.parametrize("study", ["diffserv", "diffserv-over-mpls"])
@pytest.mark.parametrize("file", ["diffserv.tcng", "diffserv.tc"])
def test_section_2_2_diffserv_is_the_network_of_the_study(study: str, file: str) -> None:
    read = read_tcng if file.endswith("tcng") else read_tc
    assert with_imported(study, read(text_of(file))) == of_study(study)


def test_section_2_2_the_file_of_the_study_has_the_parameters_as_printed() -> None:
    printed = [" ".join(line.split()) for line in PROFILES.strip().splitlines()]
    ours = [" ".join(line.split()) for line in text_of("diffserv.tcng").splitlines()]
    assert [line for line in ours if line.startswith("#define")] == printed


def port(text: str, **known: Any) -> dict[str, Any]:
    return read_tcng(text, addresses=Addresses(**known)).ports["eth0"]


def test_classes_with_conditions_of_their_own_go_in_order() -> None:
    made = port(
        "eth0 cbq (bandwidth 10Mbps, avpkt 1000B) {\n"
        " class (rate 1Mbps) if ip_dscp == 0x2e || ip_tos & 0xe0 == 0xc0 { fifo (limit 20p); }\n"
        " class (rate 2Mbps) if ip_src:24 == 10.0.0.0 && tcp_dport == PORT_HTTP;\n"
        " class (rate 7Mbps) if 1;\n}\n",
        nodes={"10.0.0.7": "h1"},
        flows={80: "web"},
    )
    # Octets 0xc0 to 0xdf: DSCPs 48 to 55.
    assert made["classify"][0] == {
        "dscp": ["EF", "CS6", 49, 50, 51, 52, 53, 54, 55],
        "class": "class-1-1",
    }
    assert made["classify"][1] == {
        "flow": "web",
        "protocol": "tcp",
        "source": "h1",
        "class": "class-1-2",
    }
    assert made["classes"]["class-1-1"]["queue"] == {"limit": "20 packets"}


def test_a_field_names_bits_of_the_octet() -> None:
    made = port(
        "field class_bits = ip_tos & 0xe0;\n"
        "eth0 prio { class if class_bits == 0xa0; class if 1; }\n"
    )
    # 0xa0 to 0xbf: DSCPs 40 to 47.
    (rule,) = made["classify"]
    assert [rule["dscp"][0], rule["dscp"][6], len(rule["dscp"])] == ["CS5", "EF", 8]


@pytest.mark.parametrize(
    ("meter", "kind", "keys"),
    [
        ("trTCM(cir 1Mbps, cbs 10kB, pir 2Mbps, pbs 20kB)", "trtcm", {"pir": "2000000 bit/s"}),
        ("srTCM(cir 1Mbps, cbs 10kB, ebs 20kB)", "srtcm", {"ebs": "20000 B"}),
    ],
)
def test_a_meter_of_three_colours_writes_a_dscp_for_each(
    meter: str, kind: str, keys: dict[str, str]
) -> None:
    name = meter.partition("(")[0]
    made = read_tcng(
        f"$m = {meter};\n"
        "eth1 { ingress {\n"
        f"  class (1) if ip_dscp == AF11 && {name}_green($m);\n"
        f"  class (2) if ip_dscp == AF11 && {name}_yellow($m);\n"
        f"  drop if ip_dscp == AF11 && {name}_red($m);\n"
        "} }\n"
        "eth0 { egress { dsmark (indices 4) {\n"
        "  class (1, mask 0x3, value 0x28); class (2, mask 0x3, value 0x30); } } }\n"
    )
    (profile,) = made.conditioners["eth1-ingress"]["profiles"].values()
    assert profile["meter"]["kind"] == kind
    assert keys.items() <= profile["meter"].items()
    assert (profile.get("green"), profile["yellow"], profile["red"]) == (
        None,
        {"dscp": "AF12"},
        "drop",
    )


def test_slb_or_drop_polices_and_dlb_has_two_buckets() -> None:
    made = read_tcng(
        "$p = SLB(cir 1Mbps, cbs 10kB);\n$q = DLB(cir 1Mbps, cbs 10kB, pir 2Mbps, pbs 2kB);\n"
        "eth1 { ingress {\n"
        "  class (1) if ip_dscp == EF && SLB_else_drop($p);\n"
        "  class (1) if ip_dscp == CS5 && DLB_else_drop(&$q);\n} }\n"
    )
    profiles = made.conditioners["eth1-ingress"]["profiles"]
    assert profiles["ef"] == {
        "meter": {"kind": "token-bucket", "rate": "1000000 bit/s", "burst": "10000 B"},
        "red": "drop",
    }
    assert profiles["cs5"]["meter"]["peak_burst"] == "2000 B"


def test_a_bucket_used_twice_is_one_bucket() -> None:
    text = (
        "$p = bucket(rate 1Mbps, burst 10kB);\n"
        "eth1 { ingress {\n"
        "  class (1) if ip_dscp == AF11 && (conform $p && count $p || drop);\n"
        "  class (1) if ip_dscp == AF12 && (conform $p && count $p || drop);\n} }\n"
    )
    found_value = read_tcng(text).conditioners["eth1-ingress"]
    assert [rule["profile"] for rule in found_value["rules"]] == ["af11", "af11"]
    with pytest.raises(ImportFault, match="shared by packets that fare differently"):
        read_tcng(text.replace("$p || drop);\n} }", "$p);\n} }"))


# As the study of Avallone et al. (2003) prints them, in columns of its paper.
PRINTED = """#define DE_PROFILE      rate 1.5Mbps, burst
15kB

#define RED_DE_PARAM  bandwidth 1.0Mbps,
limit 120kB, min 10kB, max 100kB, avpkt
1000B, burst 11kB, probability 0.3
"""


def test_definitions_broken_in_print_go_on_in_the_next_line() -> None:
    broken = read_tcng(PRINTED + "eth1 red(RED_DE_PARAM)\n")
    total = PRINTED.replace(",\nlimit", ", limit").replace("avpkt\n", "avpkt ")
    assert broken.ports == read_tcng(total + "eth1 red(RED_DE_PARAM)\n").ports
    assert broken.ports["eth1"]["queue"]["aqm"]["probability"] == 0.3
    with pytest.raises(ImportFault, match=r"^8:6: there is no queueing discipline sfq"):
        read_tcng(PRINTED + "\neth1 sfq\n")


def test_a_number_of_packets_that_is_none_is_shown_whole() -> None:
    with pytest.raises(ImportFault, match=r"^1:20: sp is no number of packets; known: 10p"):
        read_tcng("eth1 cbq (maxburst sp) { class (rate 2.8Mbps, bounded) if 1 }\n")


def test_drop_where_packets_come_in_needs_no_meter() -> None:
    made = read_tcng("eth1 { ingress { drop if ip_proto == IPPROTO_UDP; class (1) if 1; } }\n")
    assert made.conditioners["eth1-ingress"] == {
        "rules": [{"protocol": "udp", "profile": "profile-1"}],
        "profiles": {"profile-1": {"green": "drop"}},
    }


KNOWN_FIELDS = (
    "ip_dscp, ip_tos, ip_src, ip_dst, ip_proto, tcp_sport, tcp_dport, udp_sport, udp_dport, "
    "tc_index, meta_nfmark, conform, count, drop, SLB_ok, SLB_else_drop, srTCM_green, "
    "trTCM_green, 1"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "eth0 hfsc { }",
            "1:6: there is no queueing discipline hfsc here; nearest: htb; known: cbq, htb, prio, "
            "dsmark, gred, red, tbf, fifo",
        ),
        ("eth0 cbq {\n class(bounded) if 1\n}", "2:2: a class of cbq needs a rate"),
        (
            "eth0 cbq {\n\n class(rate 1Mbps) if ip_ttl == 80\n}",
            f"3:23: a condition on ip_ttl is not read; known: {KNOWN_FIELDS}",
        ),
        (
            "eth0 cbq {\n class(rate 1Mbit)\n}",
            "2:13: 1Mbit is no rate; known: a number with bps, kbps, mbps, gbps, tbps",
        ),
        (
            "eth0 fifo (limit 10kB, burst 3p)",
            "1:30: fifo has no parameter burst that is read; known: limit",
        ),
        (
            "#include <x>\n",
            "1:10: the file x is not included; known: fields.tc, ports.tc, meters.tc, ip.tc, "
            "values.tc, idioms.tc",
        ),
        ("eth0 cbq {\n", "2:1: the configuration ends where more is expected"),
        (
            "eth0 prio { class if ip_dscp == 64 }",
            "1:33: DSCP 64 is out of range; known: 0 to 63",
        ),
        (
            "eth0 { ingress { class (1) if conform $p; } }",
            "1:39: there is no meter $p; known: none",
        ),
        (
            "$p = leaky(rate 1Mbps);",
            "1:6: $p = leaky is not read; known: bucket, police, SLB, DLB, srTCM, trTCM",
        ),
    ],
)
def test_what_is_not_read_names_its_place(text: str, message: str) -> None:
    with pytest.raises(ImportFault) as caught:
        read_tcng(text)
    assert str(caught.value) == message
