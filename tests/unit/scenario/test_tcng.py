"""Configurations in tcng: those of Avallone et al. (2003), and what is not read."""

from typing import Any

import pytest

from trunkline.network import compile
from trunkline.scenario import Scenario, load
from trunkline.scenario.tcng import TcngError, read
from trunkline.studies.avallone2003 import testbed

BEST_EFFORT = """
// Output interface (towards Zeus)
eth1 cbq(bandwidth 100Mbps, avpkt 1000B,
allot 1514B, maxburst
5p) {
    class(rate 2.8Mbps, bounded) if 1
}
"""
DEFINES = """
#define FIFO_EF_PARAM  limit 10kB
#define RED_DE_PARAM  bandwidth 1.0Mbps, limit 120kB, min 10kB, max 100kB, avpkt 1000B, burst 11kB, probability 0.3
#define CBQ_QDISC_PARAM bandwidth 100Mbps, avpkt 1000B, allot 1514B, maxburst 10p
"eth1" cbq(CBQ_QDISC_PARAM) {
    class(rate 0.8Mbps, bounded, ewma 4) if ip_dscp == 0x2e { fifo(FIFO_EF_PARAM); }
    class(rate 1.0Mbps, bounded, prio 2, ewma 4) if 1 { red(RED_DE_PARAM); }
}
"""  # noqa: E501 - one line in the document too


def classes(port: dict[str, Any]) -> dict[str, Any]:
    scenario = Scenario.model_validate(
        {
            "nodes": ["A", "B"],
            "links": {"A-B": {"rate": "100 Mbit/s", "port": "p"}},
            "ports": {"p": port},
            "run": {"duration": "1 s"},
        }
    )
    return {each["name"]: each for each in compile(scenario).ports[0]["classes"]}


def of_study(name: str) -> dict[str, Any]:
    ports = compile(load(testbed.FOLDER / f"{name}.yaml")).ports
    (router,) = [each for each in ports if each["name"] == "router"]
    return {each["name"]: each for each in router["classes"]}


def test_section_2_1_best_effort_is_the_port_of_the_study() -> None:
    ports, words = read(BEST_EFFORT)
    assert classes(ports["eth1"]) == of_study("best-effort")
    assert words[0] == "eth1: class-based queueing of 1 class(es)"


def test_section_2_2_parameters_give_the_classes_of_the_study() -> None:
    ports, _ = read(DEFINES)
    ours, theirs = classes(ports["eth1"]), of_study("diffserv")
    assert ports["eth1"]["classify"] == [{"dscp": "EF", "class": "EF"}]
    for name in ("EF", "default"):
        wanted = theirs[name]["share"] | {"parent": None}  # the study's classes have a root
        assert ours[name]["share"] == wanted
        assert ours[name]["queue"] == theirs[name]["queue"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "eth0 hfsc { }",
            "line 1: there is no queueing discipline hfsc here; cbq, prio, fifo and red are read",
        ),
        ("eth0 cbq {\n class(bounded) if 1\n}", "line 2: a class of cbq needs a rate"),
        (
            "eth0 cbq {\n\n class(rate 1Mbps) if tcp_dport == 80\n}",
            "line 3: a condition on tcp_dport is not read, only ip_dscp == and 1",
        ),
        (
            "eth0 cbq {\n class(rate 1Mbit)\n}",
            "line 2: 1Mbit is no number with bps, kbps, Mbps, Gbps",
        ),
        ("eth0 fifo (limit 10p, burst 3p)", "line 1: fifo has no parameter burst that is read"),
        ("#include <x>\n", "line 1: #include is not read, only #define"),
        ("eth0 cbq {\n", "line 2: ends where class is expected"),
        ("eth0 prio { class if ip_dscp == 64 }", "line 1: DSCP 64 is above 63"),
    ],
)
def test_what_is_not_read_names_its_line(text: str, message: str) -> None:
    with pytest.raises(TcngError) as caught:
        read(text)
    assert str(caught.value) == message
